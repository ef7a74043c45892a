//! Rows that are shown where they lie: one by its key, stretches of a table, and stretches of the
//! entries of an index with the rows they name. One statement each, in the order of the key.
//!
//! ```text
//! SELECT … FROM entries e LEFT JOIN rows r ON … WHERE e.… ORDER BY e.… LIMIT …
//! ```
//!
//! What all keys of a stretch begin with is not read from each of them.

use super::error::failed;
use super::tables::{Table, WRITER, prepared};
use crate::native::range::Bounds;
use crate::sql::join::Join;
use crate::sql::shown::{ROW_BYTES_USUAL, Shown, State};
use crate::sql::statement::{ScanForm, scan_segments};
use data::Result;
use data::entries::add_owner;
use data::record::{RecordShape, SCALARS_MAX, Scalar};
use data::store::{InColumns, Key, Lying, Named, Scan, Seen, Show, ShowNamed, Through, Versions};
use keyspace::key;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// The statements of a table's scans so far. They are few, and looked through faster than found.
#[derive(Debug, Default)]
pub(super) struct Scans {
    plain: Texts,
    joined: Texts,
    join: OnceLock<Option<Join>>,
}

type Texts = RwLock<Vec<(ScanForm, Arc<str>)>>;

/// The statement of a form, written the first time.
fn text(texts: &Texts, form: ScanForm, write: impl FnOnce() -> String) -> Arc<str> {
    let known = texts.read().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, text)) = known.iter().find(|(known, _)| *known == form) {
        return text.clone();
    }
    drop(known);
    let text: Arc<str> = write().into();
    texts.write().unwrap_or_else(PoisonError::into_inner).push((form, text.clone()));
    text
}

/// What the keys of a stretch begin with: its bytes, and how many segments they are.
struct Front {
    bytes: Vec<u8>,
    known: usize,
}

impl Table {
    /// Shows the row under a key, if it is there.
    pub(super) fn look(
        &self,
        connection: &Connection,
        (key, versions): (&Key, Versions),
        show: &mut Show<'_>,
    ) -> Result<()> {
        let mut statement = self.getter(connection)?;
        self.bind_key(&mut statement, key)?;
        let mut rows = statement.raw_query();
        let Some(row) = rows.next().map_err(failed)? else { return Ok(()) };
        let mut bytes = key.as_ref().to_vec();
        let mut fields = [Scalar::Null; SCALARS_MAX];
        let record = self.shown_record().map(|record| (record, &mut fields));
        show(&self.seen((row, 0), &mut bytes, record, versions)?)?;
        Ok(())
    }

    /// Shows the rows of a stretch of a scan, one after the other.
    pub(super) fn each(
        &self,
        connection: &Connection,
        (stretch, scan): (Bounds<'_>, &Scan),
        shown: &mut Shown,
        show: &mut Show<'_>,
    ) -> Result<()> {
        let form = ScanForm::of(&stretch, scan.reverse, shown.versions);
        let write = || WRITER.scan(&self.shape, form, form.equal);
        let text = text(&self.scans.plain, form, write);
        let first = self.shape.segments.len() - form.equal;
        let record = self.shown_record().filter(|_| shown.in_columns);
        let mut bytes = Vec::with_capacity(ROW_BYTES_USUAL);
        self.stretch(connection, &text, (stretch, scan.rows - shown.rows), |row, front| {
            bytes.clear();
            self.write_key(row, (&front.bytes, front.known), &mut bytes)?;
            let mut fields = [Scalar::Null; SCALARS_MAX];
            let record = record.map(|record| (record, &mut fields));
            let seen = self.seen((row, first), &mut bytes, record, form.versions)?;
            Ok(shown.goes_on(show(&seen)?, seen.weight(), scan))
        })
    }

    /// How its entries lead to rows of this table inside one statement, if they do.
    pub(super) fn join(&self, rows: &Table) -> Option<&Join> {
        self.scans.join.get_or_init(|| Join::new(&self.shape, &rows.shape)).as_ref()
    }

    /// Shows a stretch of entries, with the rows they name, one after the other.
    pub(super) fn each_through(
        &self,
        connection: &Connection,
        (rows, join): (&Table, &Join),
        (stretch, through): (Bounds<'_>, &Through<'_>),
        shown: &mut Shown,
        show: &mut ShowNamed<'_>,
    ) -> Result<()> {
        let Through { scan, named, collection, index } = *through;
        let form = ScanForm::of(&stretch, scan.reverse, shown.versions);
        let write = || WRITER.scan_through((&self.shape, &rows.shape), join, form, form.equal);
        let text = text(&self.scans.joined, form, write);
        let first = self.shape.segments.len() - form.equal;
        let own = first + self.shape.content_read(form.versions).len();
        let theirs = rows.shape.content_read(form.versions).len();
        let proof = join.proof(form.versions).column(own, theirs);
        let record = rows.shown_record().filter(|_| shown.in_columns);
        let (mut entry, mut bytes) = (Vec::new(), Vec::with_capacity(ROW_BYTES_USUAL));
        self.stretch(connection, &text, (stretch, scan.rows - shown.rows), |row, front| {
            entry.clear();
            self.write_key(row, (&front.bytes, front.known), &mut entry)?;
            let entry = self.seen((row, first), &mut entry, None, form.versions)?;
            let mut weight = entry.weight();
            let mut fields = [Scalar::Null; SCALARS_MAX];
            let leads_to = if shown.rows >= named {
                Named::Unread
            } else if row.get_ref(proof).map_err(failed)? == ValueRef::Null {
                Named::Nothing
            } else {
                bytes.clear();
                add_owner(collection, index, (entry.key, &entry.encoded()?), &mut bytes)?;
                let record = record.map(|record| (record, &mut fields));
                let found = rows.seen((row, own), &mut bytes, record, form.versions)?;
                weight += found.weight();
                Named::Row(found)
            };
            show(&entry, leads_to)?;
            Ok(shown.goes_on(true, weight, scan))
        })
    }

    /// Reads the rows of a stretch by a statement, until `take` has had enough.
    fn stretch(
        &self,
        connection: &Connection,
        text: &str,
        (stretch, rows_max): (Bounds<'_>, usize),
        mut take: impl FnMut(&Row<'_>, &Front) -> Result<bool>,
    ) -> Result<()> {
        let shape = self.shape.shape();
        let bytes = key::encode_front(shape.space, &shape.segments, &stretch.equal)?;
        let front = Front { bytes, known: stretch.equal.len() };
        let mut statement = prepared(connection, text)?;
        let mut number = self.bind_literal(&mut statement)?;
        for (segment, value) in scan_segments(stretch) {
            number += 1;
            self.bind_key_value(&mut statement, number, segment, value)?;
        }
        let limit = i64::try_from(rows_max).unwrap_or(i64::MAX);
        statement.raw_bind_parameter(number + 1, limit).map_err(failed)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(failed)? {
            if !take(row, &front)? {
                break;
            }
        }
        Ok(())
    }

    /// A row that a statement answers, whose key is in `bytes` and whose content begins with the
    /// column `first`: in its columns if it is such a record, else put together behind its key.
    #[inline(always)]
    fn seen<'r>(
        &self,
        (row, first): (&'r Row<'_>, usize),
        bytes: &'r mut Vec<u8>,
        record: Option<(&'r RecordShape, &'r mut [Scalar<'r>; SCALARS_MAX])>,
        versions: Versions,
    ) -> Result<Seen<'r>> {
        let Some((record, fields)) = record else {
            let key = bytes.len();
            let State { version, expires } = self.write_whole((row, first), bytes, versions)?;
            let (key, content) = bytes.split_at_checked(key).unwrap_or_default();
            return Ok(Seen { key, content: Lying::Encoded(content, None), version, expires });
        };
        let fields = fields.get_mut(..record.fields.len()).unwrap_or_default();
        let State { version, expires } = self.read_scalars((row, first), fields, versions)?;
        let content = Lying::InColumns(InColumns::new(record, fields));
        Ok(Seen { key: bytes, content, version, expires })
    }

    /// Adds the content of a row to its key, which a statement answers from the column `first` on.
    fn write_whole(
        &self,
        (row, first): (&Row<'_>, usize),
        bytes: &mut Vec<u8>,
        versions: Versions,
    ) -> Result<State> {
        if let Some(state) = self.write_content((row, first), bytes, versions)? {
            return Ok(state);
        }
        // Its values must be known.
        let key = Key::from(bytes.clone());
        let content = self.values(row, self.shape.content_read(versions), first)?;
        let row = self.shape.row_of(&self.shape.shape().decode(&key)?, content)?;
        bytes.extend_from_slice(&row.value);
        Ok(State { version: row.version, expires: row.expires })
    }
}
