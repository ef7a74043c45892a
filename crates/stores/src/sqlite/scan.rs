//! Stretches of a table, and of the entries of an index with the rows they name: one statement
//! each, in the order of the key.
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
use crate::sql::pack::{JoinedPack, Pack, ROW_BYTES_USUAL, State, end};
use crate::sql::statement::{ScanForm, scan_segments};
use data::Result;
use data::store::{End, Key, Scan, Seen, Show};
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

/// Rows that are shown, and how far that is.
pub(super) struct Shown<'s> {
    show: &'s mut Show<'s>,
    /// Rows so far.
    rows: usize,
    /// Bytes of keys and contents so far.
    weight: usize,
    /// Where the bytes of a row are put together.
    bytes: Vec<u8>,
    /// Why it ends, once it does.
    pub(super) end: Option<End>,
}

impl<'s> Shown<'s> {
    /// Nothing yet.
    pub(super) fn new(show: &'s mut Show<'s>) -> Self {
        Shown { show, rows: 0, weight: 0, bytes: Vec::with_capacity(ROW_BYTES_USUAL), end: None }
    }

    /// Shows the row that was put together, whose key has so many bytes, and says whether another
    /// may follow.
    fn show(&mut self, key: usize, state: State, scan: &Scan) -> Result<bool> {
        let (key, value) = self.bytes.split_at_checked(key).unwrap_or_default();
        let State { version, expires } = state;
        self.rows += 1;
        self.weight += self.bytes.len();
        let is_more = (self.show)(&Seen { key, value, held: None, version, expires })?;
        self.end = match is_more {
            true => end(self.rows, scan, self.weight),
            false => Some(End::Rows),
        };
        Ok(self.end.is_none())
    }
}

/// What the keys of a stretch begin with: its bytes, and how many segments they are.
struct Front {
    bytes: Vec<u8>,
    known: usize,
}

impl Table {
    /// Shows the rows of a stretch of a scan, one after the other.
    pub(super) fn each(
        &self,
        connection: &Connection,
        (stretch, scan): (Bounds<'_>, &Scan),
        shown: &mut Shown<'_>,
    ) -> Result<()> {
        let form = ScanForm::of(&stretch, scan.reverse);
        let write = || WRITER.scan(&self.shape, form, form.equal);
        let text = text(&self.scans.plain, form, write);
        let first = self.shape.segments.len() - form.equal;
        self.stretch(connection, &text, (stretch, scan.rows - shown.rows), |row, front| {
            shown.bytes.clear();
            self.write_key(row, (&front.bytes, front.known), &mut shown.bytes)?;
            let key = shown.bytes.len();
            let state = self.write_whole(row, first, &mut shown.bytes, 0)?;
            shown.show(key, state, scan)
        })
    }

    /// How its entries lead to rows of this table inside one statement, if they do.
    pub(super) fn join(&self, rows: &Table) -> Option<&Join> {
        self.scans.join.get_or_init(|| Join::new(&self.shape, &rows.shape)).as_ref()
    }

    /// Reads a stretch of entries, and the rows they name, into a pack, until that has enough.
    pub(super) fn scan_through(
        &self,
        connection: &Connection,
        (rows, join): (&Table, &Join),
        (stretch, scan): (Bounds<'_>, &Scan),
        pack: &mut JoinedPack<'_>,
    ) -> Result<()> {
        let form = ScanForm::of(&stretch, scan.reverse);
        let write = || WRITER.scan_through((&self.shape, &rows.shape), join, form, form.equal);
        let text = text(&self.scans.joined, form, write);
        let rows_max = scan.rows - pack.len();
        let own = self.shape.segments.len() + self.shape.content.len() - form.equal;
        let proof = join.proof.column(own, rows.shape.content.len());
        self.stretch(connection, &text, (stretch, rows_max), |row, front| {
            let has_row = row.get_ref(proof).map_err(failed)? != ValueRef::Null;
            pack.add(
                |entries| self.pack(row, front, entries),
                has_row,
                |bytes, key| rows.write_whole(row, own, bytes, key),
            )?;
            Ok(pack.end().is_none())
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

    /// Adds a row that has its segments first, but for those in front.
    #[inline]
    fn pack(&self, row: &Row<'_>, front: &Front, pack: &mut Pack) -> Result<bool> {
        let Front { bytes, known } = front;
        let first = self.shape.segments.len() - known;
        pack.add(
            |key| self.write_key(row, (bytes, *known), key).map(|()| true),
            |content, key| self.write_whole(row, first, content, key),
        )
    }

    /// Adds the content of a row, which a statement answers from the column `first` on; its key
    /// begins at `key`.
    #[inline]
    fn write_whole(
        &self,
        row: &Row<'_>,
        first: usize,
        bytes: &mut Vec<u8>,
        key: usize,
    ) -> Result<State> {
        if let Some(state) = self.write_content(row, first, bytes)? {
            return Ok(state);
        }
        // Its values must be known.
        let key = Key::from(bytes.get(key..).unwrap_or_default().to_vec());
        let content = self.values(row, &self.shape.content, first)?;
        let row = self.shape.row_of(&self.shape.shape().decode(&key)?, content)?;
        bytes.extend_from_slice(&row.value);
        Ok(State { version: row.version, expires: row.expires })
    }
}
