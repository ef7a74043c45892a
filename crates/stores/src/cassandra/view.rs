//! What a table is for the rows of one space: several collections may share it.
//!
//! ```text
//! key ─▶ partition cells, clustering cells ─▶ WHERE      columns ─▶ row.rs ─▶ row
//! ```

use super::cells::{FieldCell, OrderCell};
use super::columns::{direct, expires, held, is_own, key_part, ordered, with_attempt};
use super::known::{Selects, Wholes};
use super::tables::{Named, Table};
use super::value::{self, Cell};
use crate::sql::content::{Of, Place};
use crate::sql::find::Finder;
use crate::sql::table::{Part, unmatched};
use bytes::Bytes;
use data::record::RecordShape;
use data::schema::{CollectionSchema, ContentShape, KeyShape, time_of};
use data::store::Key;
use data::{Error, ErrorKind, Result, Value};
use keyspace::key::{self, KeyReader};
use keyspace::layout::cql::{CqlTable, CqlType};
use keyspace::layout::tables::plain_member;
use keyspace::model::Type;
use scylla::statement::prepared::PreparedStatement;
use std::sync::{Arc, OnceLock};

/// What a table is for the rows of one space.
#[derive(Debug)]
pub(super) struct View {
    /// The table.
    pub(super) table: Arc<Table>,
    /// The number of the space.
    pub(super) space: u16,
    /// Whose rows they are; nothing for the slices of another table.
    pub(super) of: Option<Of>,
    key: KeyShape,
    /// What the columns of the partition and of the order hold.
    pub(super) parts: Vec<KeyPart>,
    /// The column, its type and what it holds, of each column that rows of this space have.
    pub(super) holds: Vec<(usize, Type, Held)>,
    /// The columns of the content, in the order in which it is put together.
    pub(super) content: Vec<usize>,
    /// The columns of what the protocol keeps with rows.
    pub(super) places: Places,
    /// The record that rows are, where its fields are cells of their own.
    pub(super) direct: Option<RecordShape>,
    /// The cells of those fields, in its order.
    pub(super) fields: Vec<FieldCell>,
    /// What the cells that order rows become in a key.
    pub(super) order: Vec<OrderCell>,
    /// Where the end of a row stands.
    pub(super) expires: Option<usize>,
    /// Whether the last segment is the attempt that wrote an entry.
    pub(super) has_attempt: bool,
    /// Whether rows have all columns beside the key, and those are the fields of a record.
    pub(super) is_fields_alone: bool,
    /// Whether rows never change once they are written, under keys that are new.
    pub(super) is_written_once: bool,
    /// The statements that put a row which lasts, and one which ends, once they are prepared.
    pub(super) inserts: [OnceLock<Arc<PreparedStatement>>; 2],
    /// Those that read stretches.
    pub(super) selects: Selects,
    /// Which partitions ranges are.
    pub(super) wholes: Wholes,
}

/// The columns of what the protocol keeps with rows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Places {
    pub(super) previous: Option<usize>,
    pub(super) sums: Option<usize>,
    pub(super) dead: Option<usize>,
    pub(super) entries: Option<usize>,
    pub(super) claims: Option<usize>,
}

impl Places {
    fn of(holds: &[(usize, Type, Held)]) -> Places {
        let place = |wanted: Held| {
            holds.iter().find(|(_, _, held)| *held == wanted).map(|(place, _, _)| *place)
        };
        Places {
            previous: place(Held::Previous),
            sums: place(Held::Sums),
            dead: place(Held::Dead),
            entries: place(Held::Entries),
            claims: place(Held::Claims),
        }
    }
}

/// What a column of a key holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum KeyPart {
    /// Always this text.
    Text(String),
    /// The start of the time slice.
    Slice,
    /// A segment of the key.
    Segment(usize),
    /// The segments after the bar, encoded.
    Rest,
}

/// What a column beside the key holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Held {
    /// What rows are made of: see [`Part`].
    Part(Part),
    /// The commits before.
    Previous,
    /// What each commit has brought a counter to.
    Sums,
    /// Whether the row is dead; nothing of a row that is not there.
    Dead,
    /// Entries that belong to the row.
    Entries,
    /// Claims that belong to it.
    Claims,
}

impl View {
    /// The view of a collection or an index; `kind` tells its rows from others of the table.
    pub(super) fn new(
        (layout, table): (&CqlTable, &Arc<Table>),
        finder: &Finder<'_>,
        of: Of,
        kind: Option<&str>,
    ) -> Result<View> {
        let collection = finder.collection;
        let (key, has_attempt) = with_attempt(of.key().clone());
        let columns = ordered(layout);
        let mut parts = Vec::new();
        for column in columns.iter().take(table.key()) {
            parts.push(key_part(column, &parts, kind));
        }
        let mut holds = Vec::new();
        for (place, column) in columns.iter().enumerate().skip(table.key()) {
            if is_own(column, collection)
                && let Some((value_type, held)) = held(finder, &column.holds)
            {
                holds.push((place, value_type, held));
            }
        }
        let expires = expires(layout, &columns, finder);
        let model = &collection.model;
        let is_new = model.key.segments().any(|segment| segment.default.is_some());
        let mut view = View {
            table: table.clone(),
            space: key.space,
            of: None,
            key,
            parts,
            holds,
            content: Vec::new(),
            places: Places::default(),
            direct: None,
            fields: Vec::new(),
            order: Vec::new(),
            expires,
            has_attempt,
            is_fields_alone: false,
            is_written_once: model.immutable && is_new && !table.is_conditional,
            inserts: Default::default(),
            selects: Selects::default(),
            wholes: Wholes::default(),
        };
        view.of = Some(view.contents(finder, of)?);
        view.direct = view.collection().and_then(|collection| direct(collection));
        view.fields = view.field_cells();
        let is_field = |held: &Held| matches!(held, Held::Part(Part::Slot(_)));
        view.is_fields_alone = table.key() + view.holds.len() == table.columns.len()
            && view.holds.iter().all(|(_, _, held)| is_field(held));
        view.order = view.order_cells();
        view.places = Places::of(&view.holds);
        Ok(view)
    }

    /// The view on the slices of another table.
    pub(super) fn directory((layout, table): (&CqlTable, &Arc<Table>), key: KeyShape) -> View {
        let mut parts = Vec::new();
        for column in ordered(layout).iter().take(table.key()) {
            parts.push(key_part(column, &parts, None));
        }
        let mut view = View {
            table: table.clone(),
            space: key.space,
            of: None,
            key,
            parts,
            holds: Vec::new(),
            content: Vec::new(),
            places: Places::default(),
            direct: None,
            fields: Vec::new(),
            order: Vec::new(),
            expires: None,
            has_attempt: false,
            is_fields_alone: false,
            is_written_once: false,
            inserts: Default::default(),
            selects: Selects::default(),
            wholes: Wholes::default(),
        };
        view.order = view.order_cells();
        view
    }

    /// Finds the columns that the content is made of.
    fn contents(&mut self, finder: &Finder<'_>, of: Of) -> Result<Of> {
        let find = |part: &Part| {
            let mut holds = self.holds.iter();
            holds.find(|(_, _, held)| *held == Held::Part(part.clone())).map(|(place, _, _)| *place)
        };
        match of {
            Of::Rows(collection) => {
                let mut content = Vec::new();
                for (number, slot) in collection.slots.iter().enumerate() {
                    content.push(find(&Part::Slot(number)).ok_or_else(|| unmatched(&slot.name))?);
                }
                self.content = content;
                Ok(Of::Rows(collection))
            }
            Of::Entries { collection, index, .. } => {
                let of = finder.index.ok_or_else(|| unmatched(collection.name()))?;
                let mut content = Vec::new();
                let mut place = |part: Part, name: &str| match find(&part) {
                    Some(column) => {
                        content.push(column);
                        Ok(Place::Content(content.len() - 1))
                    }
                    None => {
                        let mut segments = of.model.key.segments();
                        let in_key = segments.position(|s| plain_member(s) == Some(name));
                        in_key.map(Place::Segment).ok_or_else(|| unmatched(name))
                    }
                };
                let (mut owner, mut kept) = (Vec::new(), Vec::new());
                if of.model.unique {
                    for (number, name) in collection.key.names.iter().enumerate() {
                        owner.push(place(Part::Owner(number), name)?);
                    }
                }
                for (number, field) in of.model.keep.iter().enumerate() {
                    kept.push(place(Part::Kept(number), &field.value)?);
                }
                self.content = content;
                Ok(Of::Entries { collection, index, owner, kept })
            }
        }
    }

    /// The shape of its keys.
    pub(super) fn shape(&self) -> &KeyShape {
        &self.key
    }

    /// The collection whose rows they are; none for entries, claims and slices.
    pub(super) fn collection(&self) -> Option<&Arc<CollectionSchema>> {
        match &self.of {
            Some(Of::Rows(collection)) => Some(collection),
            _ => None,
        }
    }

    /// Whether its rows count something.
    pub(super) fn counts(&self) -> bool {
        self.collection().is_some_and(|collection| collection.content == ContentShape::Count)
    }

    /// The cells of a key: first those of the partition, then those that order rows.
    pub(super) fn key_cells(&self, key: &Key) -> Result<Vec<Cell>> {
        let mut cells = Vec::with_capacity(self.parts.len());
        self.add_key_cells(key, &mut cells)?;
        Ok(cells)
    }

    /// Adds the cells of a key.
    pub(super) fn add_key_cells(&self, key: &Key, cells: &mut Vec<Cell>) -> Result<()> {
        let mut segments = Vec::with_capacity(self.key.segments.len());
        self.key.each_value(key, |value| segments.push(value))?;
        let first = cells.len();
        for (part, column) in self.parts.iter().zip(&self.table.columns) {
            cells.push(match part {
                KeyPart::Text(text) => value::text(text),
                KeyPart::Slice => value::big(self.slice_start(&segments)?),
                KeyPart::Segment(place) => {
                    let segment = segments.get(*place).ok_or_else(too_few)?;
                    match value::key_cell(&column.native, segment) {
                        Some(cell) => cell,
                        None => {
                            let known = Value::from_segment(segment.clone());
                            self.segment_cell(column, *place, Some(&known))?
                        }
                    }
                }
                KeyPart::Rest => Cell::Bytes(self.rest(key)?),
            });
        }
        self.check_partition(cells.get(first..).unwrap_or_default())
    }

    /// The cell of a segment.
    pub(super) fn segment_cell(
        &self,
        column: &Named,
        place: usize,
        value: Option<&Value>,
    ) -> Result<Cell> {
        let (Some(value), Some(of)) = (value, self.key.types.get(place)) else {
            return Err(too_few());
        };
        let named = |error: Error| error.with("column", &column.name);
        value::cell(&column.native, of, value).map_err(named)
    }

    /// The UUIDs of a key that order rows and so must have one version, each with its name.
    pub(super) fn alike<'c>(
        &self,
        cells: &'c [Cell],
    ) -> impl Iterator<Item = (&str, u8)> + use<'_, 'c> {
        let columns = self.table.columns.iter().zip(&self.parts).zip(cells);
        let ordering = columns.skip(self.table.partition);
        ordering.filter_map(|((column, part), cell)| match (part, &column.native, cell.bytes()) {
            (KeyPart::Segment(number), CqlType::Uuid, Some(bytes)) if !self.is_attempt(*number) => {
                Some((self.key.names.get(*number)?.as_str(), bytes.get(6)? >> 4))
            }
            _ => None,
        })
    }

    /// Whether a segment is the attempt that wrote an entry.
    pub(super) fn is_attempt(&self, number: usize) -> bool {
        self.has_attempt && number + 1 == self.key.segments.len()
    }

    /// Where the slice of these segments begins.
    fn slice_start(&self, segments: &[key::Value<'_>]) -> Result<i64> {
        let missing = || Error::new(ErrorKind::Internal, "a slice is cut by nothing");
        let slices = self.key.slices.as_ref().ok_or_else(missing)?;
        let by = segments.get(self.key.group).ok_or_else(missing)?;
        // The directory has the number itself, the rows have a time.
        let number = match (self.of.is_some(), by) {
            (false, key::Value::I64(number)) => *number,
            _ => slices.number(time_of(by)),
        };
        Ok(number.saturating_mul(slices.every))
    }

    /// The encoded segments after the bar.
    fn rest(&self, key: &Key) -> Result<Bytes> {
        Ok(key.bytes().slice(self.group_end(key.as_ref())?..))
    }

    /// Where the group of a key ends.
    pub(super) fn group_end(&self, key: &[u8]) -> Result<usize> {
        let unreadable =
            |error| Error::new(ErrorKind::Corrupt, "a stored key cannot be read").caused_by(error);
        let mut reader = KeyReader::new(key).map_err(unreadable)?;
        for segment in self.key.segments.iter().take(self.key.group) {
            reader.skip(*segment).map_err(unreadable)?;
        }
        Ok(reader.offset())
    }

    /// Cassandra has no partition with an empty name.
    pub(super) fn check_partition(&self, cells: &[Cell]) -> Result<()> {
        let (1, Some(cell)) = (self.table.partition, cells.first()) else { return Ok(()) };
        match (cell.bytes(), self.table.columns.first()) {
            (Some([]), Some(column)) => Err(Error::new(
                ErrorKind::Argument,
                "Cassandra keeps no row whose group is an empty text or no bytes",
            )
            .with("column", &column.name)),
            _ => Ok(()),
        }
    }
}

fn too_few() -> Error {
    Error::new(ErrorKind::Internal, "a key has too few values")
}
