//! Answers: rows that are decoded when somebody looks, and what writes and counters came to.

use super::members::{MemberReader, SegmentReader};
use super::next::Cursor;
use crate::clock::Milliseconds;
use crate::error::{Error, ErrorKind, Result};
use crate::record::{RecordReader, ScalarReader};
use crate::schema::{CollectionSchema, ContentShape, IndexSchema, Schema, Source};
use crate::session::Usage;
use crate::store::{Key, Lying, Seen, Version, Versions};
use crate::value::Value;
use bytes::Bytes;
use keyspace::model::{Atomicity, Pattern, Type};
use keyspace::plan::hides_owner;
use std::sync::Arc;

/// What a call is answered, and what it cost.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The answer.
    pub answer: Answer,
    /// What it cost.
    pub usage: Usage,
}

/// What a call is answered.
#[derive(Clone, Debug)]
pub enum Answer {
    /// `get`: the row, if it is there.
    Row(Option<Record>),
    /// `get` with `many`: the rows, in the order of the keys.
    Rows(Vec<Option<Record>>),
    /// `list` and `near`.
    Page {
        /// The rows.
        rows: Vec<Record>,
        /// Where to go on; nothing at the end.
        next: Option<Cursor>,
    },
    /// `insert`, `put`, `update`, `delete`, `take`, and `add` on a field of a record.
    Changed(Changed),
    /// A change with `many`.
    ChangedRows(Vec<Changed>),
    /// `add` on a counter.
    Total(i64),
    /// `add` on a window.
    Window {
        /// Whether it counted.
        allowed: bool,
        /// What may still be added.
        remaining: i64,
        /// When the window ends.
        resets_at: Milliseconds,
    },
    /// `atomic`: what each step that runs a pattern is answered.
    Results(Vec<Answer>),
}

/// A changed row.
#[derive(Clone, Debug)]
pub struct Changed {
    /// Its key.
    pub key: Key,
    /// Its version, if it has one.
    pub version: Option<Version>,
    /// The row as it now is; nothing where it was removed.
    pub row: Option<Record>,
    /// Whether it was there before, and nothing was written.
    pub existed: bool,
}

/// A row of an answer; its members are decoded when asked for.
#[derive(Clone, Debug)]
pub struct Record {
    /// What it shows.
    pub shape: Arc<AnswerShape>,
    /// The row's own key, or the entry's where the entry alone is the answer.
    pub key: Key,
    /// The row's content, or what the entry keeps.
    pub content: Bytes,
    /// The row's version, if it has one.
    pub version: Option<Version>,
    /// When the row ends.
    pub expires: Option<Milliseconds>,
}

/// Which members of a row an answer shows, and where they are found.
#[derive(Debug)]
pub struct AnswerShape {
    /// The collection.
    pub collection: Arc<CollectionSchema>,
    /// The index whose entries are the answer, where no record is read.
    pub covering: Option<Arc<IndexSchema>>,
    /// The members, in the order in which they are shown.
    pub members: Vec<AnswerMember>,
    /// Whether they are all that a row has, in its order.
    is_whole: bool,
}

/// A member of an answered row.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerMember {
    /// Its name in the file.
    pub name: String,
    /// Its name as people see it.
    pub shown: String,
    /// The same as it stands in JSON, before its value: `"name":`.
    pub label: String,
    /// Its type.
    pub member_type: Type,
    /// Where it is found.
    pub at: At,
}

/// Where a member of an answered row is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// A segment of the key (the row's own, or the covering entry's).
    Segment(usize),
    /// A slot of the content (the row's, or a kept field of the covering entry's).
    Slot(usize),
    /// A segment of the owner's key, which a covering claim holds.
    OwnerSegment(usize),
}

impl AnswerShape {
    /// Everything a row of a collection has.
    pub fn whole(schema: &Schema, collection: &Arc<CollectionSchema>) -> Self {
        let keyspace = schema.keyspace();
        let segments = collection.key.names.iter().zip(&collection.key.types).enumerate();
        let segments = segments.map(|(position, (name, of))| (name, of, At::Segment(position)));
        let slots = collection.slots.iter().enumerate();
        let slots = slots.map(|(position, slot)| (&slot.name, &slot.slot_type, At::Slot(position)));
        let members = segments.chain(slots).map(|(name, of, at)| {
            let shown = keyspace.shown(name);
            // Names are letters, digits and `_`: nothing in them needs to be escaped.
            let label = format!("\"{shown}\":");
            AnswerMember { name: name.clone(), shown, label, member_type: of.clone(), at }
        });
        let members = members.collect();
        AnswerShape { collection: collection.clone(), covering: None, members, is_whole: true }
    }

    /// Whether it shows all that a row has, in its order.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// What a pattern answers: its `fields`, from the entry alone where that is enough.
    pub fn new(
        schema: &Schema,
        collection: &Arc<CollectionSchema>,
        index: Option<usize>,
        pattern: &Pattern,
    ) -> Result<Self> {
        let mut shape = AnswerShape::whole(schema, collection);
        if let Some(fields) = &pattern.fields {
            let asked = fields.iter().filter_map(|field| {
                shape.members.iter().find(|member| member.name == field.value).cloned()
            });
            shape.members = asked.collect();
            shape.is_whole = false;
        }
        // Entries of versioned rows that lie apart from them are only true if the row says so, and
        // an owner that the entry lacks is judged by the row.
        let index = index.and_then(|position| collection.indexes.get(position));
        let apart = schema.kind().atomicity() == Atomicity::Group;
        let alone = |index: &&Arc<IndexSchema>| {
            pattern.is_covered()
                && !(apart && collection.kept.has_version())
                && !hides_owner(pattern, &collection.model, &index.model)
        };
        if let Some(index) = index.filter(alone) {
            let found = shape.members.iter().map(|member| in_entry(collection, index, member));
            let found: Option<Vec<AnswerMember>> = found.collect();
            let missing = || Error::new(ErrorKind::Internal, "an entry does not cover its answer");
            shape.members = found.ok_or_else(missing)?;
            shape.covering = Some(index.clone());
            shape.is_whole = false;
        }
        Ok(shape)
    }
}

/// The same member where an entry holds it.
fn in_entry(
    collection: &CollectionSchema,
    index: &IndexSchema,
    member: &AnswerMember,
) -> Option<AnswerMember> {
    let at = match member.at {
        At::Segment(position) => {
            let held = index.sources.iter().position(|s| *s == Source::Segment(position));
            match held {
                Some(held) => At::Segment(held),
                None if index.model.unique => At::OwnerSegment(position),
                None => return None,
            }
        }
        At::Slot(slot) => {
            let in_key = index.sources.iter().position(|s| *s == Source::Slot(slot));
            match in_key {
                Some(held) => At::Segment(held),
                None => At::Slot(index.keep_slots.iter().position(|kept| *kept == slot)?),
            }
        }
        other => other,
    };
    let _ = collection;
    Some(AnswerMember { at, ..member.clone() })
}

/// A row where it lies: whoever is shown it looks at it once.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'r> {
    collection: &'r CollectionSchema,
    row: &'r Seen<'r>,
}

/// Whoever made a call, and is shown its rows.
pub(super) struct Showing<'s> {
    /// The collection of the rows.
    pub collection: &'s CollectionSchema,
    /// Whether their versions are looked at.
    pub versions: Versions,
    /// What looks at them.
    pub show: &'s mut (dyn FnMut(Shown<'_>) -> Result<()> + Send),
}

impl Showing<'_> {
    /// Shows a row.
    #[inline]
    pub fn show(&mut self, row: &Seen<'_>) -> Result<()> {
        (self.show)(Shown::new(self.collection, row))
    }
}

impl<'r> Shown<'r> {
    pub(super) fn new(collection: &'r CollectionSchema, row: &'r Seen<'r>) -> Self {
        Shown { collection, row }
    }

    /// Its members' values, all of them in the order of the collection, one after the other.
    pub fn reader(&self) -> Result<MemberReader<'r>> {
        let ContentShape::Record(record) = &self.collection.content else {
            return Err(misplaced());
        };
        let key = SegmentReader::new(self.row.key, &self.collection.key)?;
        Ok(match self.row.content {
            Lying::Encoded(value, held) => MemberReader::Row(key, record.reader(value, held)?),
            Lying::InColumns(columns) => {
                MemberReader::InColumns(key, ScalarReader::new(columns.fields()))
            }
        })
    }

    /// The same of a row that is short and has all of its fields; nothing of any other.
    #[inline(always)]
    pub fn short_readers(&self) -> Option<(SegmentReader<'r>, RecordReader<'r>)> {
        let ContentShape::Record(record) = &self.collection.content else { return None };
        let Lying::Encoded(value, held) = self.row.content else { return None };
        let fields = record.short_reader(value, held)?;
        Some((SegmentReader::new(self.row.key, &self.collection.key).ok()?, fields))
    }

    /// The same of a row whose fields are in columns; nothing of any other.
    #[inline(always)]
    pub fn column_readers(&self) -> Option<(SegmentReader<'r>, ScalarReader<'r>)> {
        let Lying::InColumns(columns) = self.row.content else { return None };
        let key = SegmentReader::new(self.row.key, &self.collection.key).ok()?;
        Some((key, ScalarReader::new(columns.fields())))
    }

    /// Its version, if it has one.
    pub fn version(&self) -> Option<Version> {
        self.row.version
    }
}

impl Record {
    /// The members' values, in the order of the shape.
    pub fn values(&self) -> Result<Vec<Value>> {
        match &self.shape.covering {
            None => self.row_values(),
            Some(index) => self.entry_values(index),
        }
    }

    /// The members' values, in the order of the shape, one after the other.
    #[inline]
    pub fn reader(&self) -> Result<MemberReader<'_>> {
        let collection = &self.shape.collection;
        let ContentShape::Record(record) = &collection.content else {
            return Ok(MemberReader::Values(self.values()?.into_iter()));
        };
        if !self.shape.is_whole {
            return Ok(MemberReader::Values(self.values()?.into_iter()));
        }
        let key = SegmentReader::new(self.key.as_ref(), &collection.key)?;
        Ok(MemberReader::Row(key, record.reader(&self.content, Some(&self.content))?))
    }

    /// The value of the member with this name.
    pub fn get(&self, name: &str) -> Result<Value> {
        let position = self.shape.members.iter().position(|member| member.name == name);
        let Some(position) = position else {
            return Err(Error::new(ErrorKind::Argument, "the answer has no such member")
                .with("member", name));
        };
        if let (None, Some(AnswerMember { at: At::Slot(slot), .. })) =
            (&self.shape.covering, self.shape.members.get(position))
        {
            return self.shape.collection.read(&self.content, *slot);
        }
        let missing = || Error::new(ErrorKind::Internal, "a row has fewer members than its shape");
        self.values()?.into_iter().nth(position).ok_or_else(missing)
    }

    /// The row as JSON, with the names people see.
    pub fn to_json(&self) -> Result<serde_json::Value> {
        let mut object = serde_json::Map::new();
        for (member, value) in self.shape.members.iter().zip(self.values()?) {
            object.insert(member.shown.clone(), value.to_json(&member.member_type));
        }
        Ok(serde_json::Value::Object(object))
    }

    fn row_values(&self) -> Result<Vec<Value>> {
        let collection = &self.shape.collection;
        if self.shape.is_whole {
            let mut values = Vec::with_capacity(self.shape.members.len());
            collection.key.decode_into(&self.key, &mut values)?;
            collection.decode_into(&self.content, &mut values)?;
            return Ok(values);
        }
        let needs_key = self.shape.members.iter().any(|m| matches!(m.at, At::Segment(_)));
        let segments = if needs_key { collection.key.decode(&self.key)? } else { Vec::new() };
        let whole = self.shape.members.len() >= collection.slots.len();
        let slots = if whole { collection.decode(&self.content)? } else { Vec::new() };
        let mut values = Vec::with_capacity(self.shape.members.len());
        let (mut segments, mut slots) = (segments, slots);
        for member in &self.shape.members {
            values.push(match member.at {
                At::Segment(at) => taken(&mut segments, at)?,
                At::Slot(at) if whole => taken(&mut slots, at)?,
                At::Slot(at) => collection.read(&self.content, at)?,
                At::OwnerSegment(_) => return Err(misplaced()),
            });
        }
        Ok(values)
    }

    fn entry_values(&self, index: &IndexSchema) -> Result<Vec<Value>> {
        let mut segments = index.key.decode(&self.key)?;
        let (owner, kept) = match index.model.unique {
            true => {
                let (owner, kept) = crate::entries::split_claim(&self.content)?;
                (self.shape.collection.key.decode(&owner)?, kept)
            }
            false => (Vec::new(), self.content.clone()),
        };
        let mut owner = owner;
        let mut values = Vec::with_capacity(self.shape.members.len());
        for member in &self.shape.members {
            values.push(match member.at {
                At::Segment(at) => taken(&mut segments, at)?,
                At::Slot(at) => index.keep.read(&kept, at)?,
                At::OwnerSegment(at) => taken(&mut owner, at)?,
            });
        }
        Ok(values)
    }
}

/// The value at a position, moved out where each is asked for once.
fn taken(values: &mut [Value], at: usize) -> Result<Value> {
    let value = values.get_mut(at).ok_or_else(misplaced)?;
    Ok(std::mem::replace(value, Value::Null))
}

#[cold]
pub(super) fn misplaced() -> Error {
    Error::new(ErrorKind::Internal, "a member is not where its shape says")
}
