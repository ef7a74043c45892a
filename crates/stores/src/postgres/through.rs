//! Entries of an index with the rows they name: one statement, and so one state.
//!
//! ```text
//! SELECT … FROM entries e LEFT JOIN rows r ON … WHERE e.… ORDER BY e.… LIMIT …
//! ```

use super::Ready;
use super::read::{self, Answer, Question};
use super::row::raw;
use super::tables::Table;
use crate::sql::join::Join;
use crate::sql::shown::{ROW_BYTES_USUAL, Shown};
use data::Result;
use data::entries::add_owner;
use data::record::{SCALARS_MAX, Scalar};
use data::store::{End, Gathered, Joined, Named, Seen, ShowNamed, Through, Versions};
use std::sync::atomic::Ordering;

/// A stretch of an index with the rows that its entries name; nothing where no statement joins
/// them.
pub(super) async fn scan(ready: &Ready, through: &Through<'_>) -> Result<Option<Joined>> {
    let mut gathered = Gathered::default();
    let mut keep = |entry: &Seen<'_>, named: Named<'_>| gathered.keep(entry, named);
    let end = show(ready, through, (Shown::encoded(), &mut keep)).await?;
    Ok(end.map(|end| gathered.finish(end)))
}

/// Shows the same, one after the other.
pub(super) async fn each(
    ready: &Ready,
    (through, versions): (&Through<'_>, Versions),
    named: &mut ShowNamed<'_>,
) -> Result<Option<End>> {
    show(ready, through, (Shown::in_columns(versions), named)).await
}

async fn show(
    ready: &Ready,
    through: &Through<'_>,
    (mut shown, show): (Shown, &mut ShowNamed<'_>),
) -> Result<Option<End>> {
    let Through { scan, named, collection, index } = *through;
    if named == 0 {
        let mut entry = |entry: &Seen<'_>| show(entry, Named::Unread).map(|()| true);
        return read::each(ready, (scan, shown.versions), &mut entry).await.map(Some);
    }
    let entries = ready.tables.of_space(index.key.space)?;
    let rows = ready.tables.of_space(collection.key.space)?;
    let Some(join) = entries.join(rows) else { return Ok(None) };
    let limit = entries.joined_rows.load(Ordering::Relaxed).clamp(1, scan.rows);
    let form = (scan.reverse, shown.versions);
    let Some(question) = Question::new(entries, &scan.range, form, limit)? else {
        return Ok(Some(End::Range));
    };
    let text = entries.scan_through((rows, join), question.forms.clone(), question.known);
    let answer = read::answer(ready, (&text, &question.values)).await?;
    let both = Both { entries, rows, join, through };
    both.show(&answer, (&question.front, question.known), &mut shown, show)?;
    let is_full = answer.rows.len() >= limit;
    let end = match shown.end {
        Some(end) => end,
        // Fewer were asked for because they were large once.
        None if is_full || answer.is_cut => End::Bytes,
        None => End::Range,
    };
    match end {
        End::Bytes if is_full && shown.end.is_none() => {
            entries.joined_rows.store(limit.saturating_mul(2), Ordering::Relaxed);
        }
        End::Bytes => entries.joined_rows.store(shown.rows.max(1), Ordering::Relaxed),
        End::Range | End::Rows => {}
    }
    Ok(Some(end))
}

/// Entries and rows of one statement.
struct Both<'b> {
    entries: &'b Table,
    rows: &'b Table,
    join: &'b Join,
    through: &'b Through<'b>,
}

impl Both<'_> {
    /// Shows the entries of an answer with what they lead to.
    fn show(
        &self,
        answer: &Answer,
        (front, known): (&[u8], usize),
        shown: &mut Shown,
        show: &mut ShowNamed<'_>,
    ) -> Result<()> {
        let Both { entries, rows, join, through } = *self;
        let Through { scan, named, collection, index } = *through;
        let from = entries.shape.segments.len() - known;
        let versions = shown.versions;
        let own = from + entries.shape.content_read(versions).len();
        let theirs = rows.shape.content_read(versions).len();
        let proof = join.proof(versions).column(own, theirs);
        let record = rows.shown_record().filter(|_| shown.in_columns);
        let (mut entry, mut bytes) = (Vec::new(), Vec::with_capacity(ROW_BYTES_USUAL));
        let sieve = scan.range.sieve();
        for found in &answer.rows {
            entry.clear();
            entries.write_key(found, (front, known), &mut entry)?;
            if !sieve.contains(&entry) {
                continue;
            }
            let entry = entries.seen((found, from), &mut entry, None, versions)?;
            let mut fields = [Scalar::Null; SCALARS_MAX];
            let mut weight = entry.weight();
            let leads_to = if shown.rows >= named {
                Named::Unread
            } else if raw(found, proof)?.is_none() {
                Named::Nothing
            } else {
                bytes.clear();
                add_owner(collection, index, (entry.key, &entry.encoded()?), &mut bytes)?;
                let record = record.map(|record| (record, &mut fields));
                let row = rows.seen((found, own), &mut bytes, record, versions)?;
                weight += row.weight();
                Named::Row(row)
            };
            show(&entry, leads_to)?;
            if !shown.goes_on(true, weight, scan) {
                break;
            }
        }
        Ok(())
    }
}
