//! Entries of an index with the rows they name: one statement, and so one state.
//!
//! ```text
//! SELECT … FROM entries e LEFT JOIN rows r ON … WHERE e.… ORDER BY e.… LIMIT …
//! ```

use super::Ready;
use super::connection::Lease;
use super::error::Fault;
use super::read::{self, Question, Tries};
use super::row::raw;
use super::tables::Table;
use crate::sql::join::Join;
use crate::sql::pack::JoinedPack;
use data::Result;
use data::store::{End, Joined, Page, Through};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::time::Instant;

/// Entries and rows of one statement.
struct Both<'b> {
    entries: &'b Table,
    rows: &'b Table,
    join: &'b Join,
    text: Arc<str>,
    question: Question<'b>,
    through: &'b Through<'b>,
}

/// A stretch of an index with the rows that its entries name; nothing where no statement joins
/// them.
pub(super) async fn scan(ready: &Ready, through: &Through<'_>) -> Result<Option<Joined>> {
    let Through { scan, named, collection, index } = *through;
    if named == 0 {
        let entries = read::scan(ready, scan).await?;
        return Ok(Some(Joined { entries, rows: Vec::new() }));
    }
    let entries = ready.tables.of_space(index.key.space)?;
    let rows = ready.tables.of_space(collection.key.space)?;
    let Some(join) = entries.join(rows) else { return Ok(None) };
    let limit = entries.joined_rows.load(Ordering::Relaxed).clamp(1, scan.rows);
    let Some(question) = Question::new(entries, &scan.range, scan.reverse, limit)? else {
        let entries = Page { rows: Vec::new(), end: End::Range };
        return Ok(Some(Joined { entries, rows: Vec::new() }));
    };
    let text = entries.scan_through((rows, join), question.forms.clone(), question.known);
    let both = Both { entries, rows, join, text, question, through };
    let mut tries = Tries::new();
    let pack = loop {
        let mut lease = ready.pool.lease(tries.until).await?;
        match both.read(&mut lease, tries.until).await {
            Ok((pack, is_whole)) => {
                if is_whole {
                    lease.give_back();
                }
                break pack;
            }
            Err(fault) => tries.failed(fault)?,
        }
    };
    let end = match pack.end() {
        Some(end) => end,
        // Fewer were asked for because they were large once.
        None if pack.len() == limit => End::Bytes,
        None => End::Range,
    };
    match end {
        End::Bytes if pack.len() == limit => {
            entries.joined_rows.store(limit.saturating_mul(2), Ordering::Relaxed);
        }
        End::Bytes => entries.joined_rows.store(pack.len(), Ordering::Relaxed),
        End::Range | End::Rows => {}
    }
    Ok(Some(pack.finish(end)))
}

impl<'b> Both<'b> {
    /// What a page holds of it, and whether that was all.
    async fn read(
        &self,
        lease: &mut Lease,
        until: Instant,
    ) -> Result<(JoinedPack<'b>, bool), Fault> {
        let Both { entries, rows, join, through, .. } = *self;
        let Question { values, front, known, .. } = &self.question;
        let own = entries.shape.segments.len() + entries.shape.content.len() - known;
        let proof = join.proof.column(own, rows.shape.content.len());
        let mut pack = JoinedPack::new(through);
        let read = lease.read((&self.text, values), until, |found| {
            pack.add(
                |pack| entries.pack(found, (front, *known), &through.scan.range, pack),
                raw(found, proof)?.is_some(),
                |bytes, key| rows.write_whole(found, own, bytes, key),
            )?;
            Ok(!matches!(pack.end(), Some(End::Bytes)))
        });
        let is_whole = read.await?;
        Ok((pack, is_whole))
    }
}
