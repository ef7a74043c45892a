//! Two stretches in one wait: one that says where to go on, and where that most likely is.

use super::usage::counting;
use super::{End, Error, Keyed, Page, Result, Scan, Seen, Session, Show, Versions};
use futures_util::future::try_join;
use std::sync::OnceLock;

impl Session<'_> {
    /// A stretch of one range, and at the same time the rows of another one that it will most
    /// likely lead to. If it does not, by what `is_right` says of it, none of those rows is shown,
    /// and nothing is said of their end.
    pub async fn each_guessed(
        &mut self,
        (scan, guess): (&Scan, &Scan),
        versions: Versions,
        is_right: &(dyn Fn(&Page) -> Result<bool> + Sync),
        show: &mut Show<'_>,
    ) -> Result<(Page, Option<End>)> {
        self.look_along(&scan.range);
        self.usage.round_trips += 1;
        let (store, right) = (self.store, OnceLock::new());
        let first = async {
            let page = store.scan(scan).await?;
            let is_right = is_right(&page)?;
            right.get_or_init(|| is_right);
            Ok::<Page, Error>(page)
        };
        // Rows that come before the other answer, or in vain.
        let mut early = Vec::new();
        let mut counted = counting(&mut self.usage, guess, show);
        let second = async {
            let mut meet = |row: &Seen<'_>| match right.get() {
                Some(true) if early.is_empty() => counted(row),
                _ => {
                    early.push(row.to_keyed()?);
                    Ok(true)
                }
            };
            if let Some(end) = store.each(guess, versions, &mut meet).await? {
                return Ok::<End, Error>(end);
            }
            let page = store.scan(guess).await?;
            early = page.rows;
            Ok(page.end)
        };
        let (page, mut end) = try_join(first, second).await?;
        let is_right = right.get() == Some(&true);
        for Keyed { key, row } in early.iter().filter(|_| is_right) {
            if !counted(&Seen::of(key, row))? {
                end = End::Rows;
                break;
            }
        }
        drop(counted);
        self.count(scan, &page)?;
        if !is_right {
            early.iter().for_each(|Keyed { key, row }| self.count_row(key, Some(row)));
            return Ok((page, None));
        }
        self.look_along(&guess.range);
        Ok((page, Some(end)))
    }
}
