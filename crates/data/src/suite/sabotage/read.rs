//! Reads that go wrong.

use super::commit::counted;
use super::{Sabotage, SabotagedStore};
use crate::error::Result;
use crate::store::{Changes, End, Joined, Key, Keyed, Page, Position, Row, Scan, Stretch, Through};
use bytes::Bytes;

impl SabotagedStore {
    pub(super) async fn broken_get(&self, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        let mut rows = match self.sabotage {
            Sabotage::GetTorn if keys.len() > 1 => {
                let mut rows = Vec::new();
                for key in keys {
                    rows.extend(self.store.get(std::slice::from_ref(key)).await?);
                    std::thread::yield_now();
                }
                rows
            }
            Sabotage::KeysFolded => {
                let small = |key: &Key| Key::from(key.as_ref().to_ascii_lowercase());
                self.store.get(&keys.iter().map(small).collect::<Vec<_>>()).await?
            }
            Sabotage::GetSorted => {
                let mut sorted = keys.to_vec();
                sorted.sort();
                self.store.get(&sorted).await?
            }
            _ => self.store.get(keys).await?,
        };
        for (key, row) in keys.iter().zip(&mut rows) {
            self.change_row(key, row);
        }
        Ok(rows)
    }

    /// Changes a row on its way out.
    fn change_row(&self, key: &Key, row: &mut Option<Row>) {
        match self.sabotage {
            Sabotage::ReadsUncommitted | Sabotage::ReadsStale => {
                if let Some(shown) = self.memory().shown.remove(key) {
                    *row = shown;
                }
            }
            Sabotage::VersionCounted => {
                if let Some(row) = row.as_mut().filter(|row| row.version.is_some()) {
                    row.version = self.memory().written.get(key).map(|times| counted(*times));
                }
            }
            Sabotage::TombstoneHidden => {
                let dead = |row: &Row| row.trail.as_ref().is_some_and(|trail| trail.dead);
                if row.as_ref().is_some_and(dead) {
                    *row = None;
                }
            }
            _ => {}
        }
    }

    pub(super) async fn broken_through(&self, through: &Through<'_>) -> Result<Option<Joined>> {
        if self.sabotage == Sabotage::ThroughTorn {
            let entries = self.store.scan(through.scan).await?;
            std::thread::yield_now();
            let first = entries.rows.iter().take(through.named);
            let keys = first.map(|entry| through.owner(entry)).collect::<Result<Vec<_>>>()?;
            let rows = self.store.get(&keys).await?;
            let named = |(key, row): (Key, Option<Row>)| row.map(|row| Keyed { key, row });
            let rows = keys.into_iter().zip(rows).map(named).collect();
            return Ok(Some(Joined { entries, rows }));
        }
        let mut joined = self.store.scan_through(through).await?;
        if let Some(Joined { entries, rows }) = &mut joined {
            match self.sabotage {
                Sabotage::ThroughInner => {
                    let mut named = rows.iter();
                    entries.rows.retain(|_| named.next().is_none_or(Option::is_some));
                    rows.retain(Option::is_some);
                }
                Sabotage::ThroughSorted => {
                    rows.sort_by_key(|row| row.as_ref().map(|row| row.key.clone()));
                }
                _ => {}
            }
        }
        Ok(joined)
    }

    pub(super) async fn broken_stretch(
        &self,
        space: u16,
        mark: Option<&[u8]>,
        rows: usize,
    ) -> Result<Option<Stretch>> {
        let known = mark.filter(|_| self.sabotage != Sabotage::MarkForgotten);
        let mut stretch = self.store.walk_from(space, known, rows).await?;
        if let (Sabotage::MarkSkips, Some(_), Some(stretch)) = (self.sabotage, mark, &mut stretch) {
            stretch.rows.drain(..stretch.rows.len().min(1));
        }
        Ok(stretch)
    }

    pub(super) async fn broken_scan(&self, scan: &Scan) -> Result<Page> {
        let mut changed = scan.clone();
        match self.sabotage {
            Sabotage::ScanIncludesEnd => changed.range.end = behind(&scan.range.end),
            Sabotage::ScanSkipsStart => changed.range.start = behind(&scan.range.start),
            Sabotage::ReverseOfFirst | Sabotage::ReverseIgnored => changed.reverse = false,
            Sabotage::OneRowMore if scan.rows > 0 => changed.rows = scan.rows.saturating_add(1),
            Sabotage::ScanTorn => return self.torn_scan(scan).await,
            _ => {}
        }
        let mut page = self.store.scan(&changed).await?;
        match self.sabotage {
            Sabotage::ReverseOfFirst if scan.reverse => page.rows.reverse(),
            Sabotage::ScanDropsLast if page.end == End::Range => drop(page.rows.pop()),
            Sabotage::FullPageEnds if page.end == End::Rows => page.end = End::Range,
            Sabotage::ScanWithoutVersions => {
                page.rows.iter_mut().for_each(|keyed| keyed.row.version = None);
            }
            _ => {}
        }
        for Keyed { key, row } in &mut page.rows {
            let mut changed = Some(row.clone());
            self.change_row(key, &mut changed);
            if let Some(changed) = changed {
                *row = changed;
            }
        }
        Ok(page)
    }

    /// A page made of scans of one row each.
    async fn torn_scan(&self, scan: &Scan) -> Result<Page> {
        let mut left = scan.clone();
        let mut rows: Vec<Keyed> = Vec::new();
        left.rows = scan.rows.min(1);
        while rows.len() < scan.rows.max(1) {
            let page = self.store.scan(&left).await?;
            let Some(last) = page.rows.last().map(|keyed| keyed.key.clone()) else {
                return Ok(Page { rows, end: End::Range });
            };
            rows.extend(page.rows);
            left.range = left.range.after(&last, scan.reverse);
            std::thread::yield_now();
        }
        Ok(Page { rows, end: End::Rows })
    }

    pub(super) async fn broken_changes(&self, since: Position, rows: usize) -> Result<Changes> {
        let mut changes = self.store.changes(since, rows).await?;
        match self.sabotage {
            Sabotage::FeedSplits if !changes.changes.is_empty() => {
                changes.changes = self.store.changes(since, rows.saturating_mul(2)).await?.changes;
                changes.changes.truncate(rows);
            }
            Sabotage::FeedRepeats => {
                let repeated = self.memory().repeated.clone();
                let again = changes.changes.iter().filter(|change| repeated.contains(&change.id));
                let again: Vec<_> = again.cloned().collect();
                changes.changes.extend(again);
            }
            _ => {}
        }
        Ok(changes)
    }
}

/// The next possible key.
fn behind(key: &Bytes) -> Bytes {
    let mut next = key.to_vec();
    next.push(0);
    Bytes::from(next)
}
