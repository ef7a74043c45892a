//! The entries of a row as bytes, one behind the other in one buffer.
//!
//! ```text
//! buffer │ key of an entry │ kept fields │ key of a claim │ length, owner's key, kept fields │ …
//! ```
//!
//! Most keys are written segment by segment from values that are borrowed. Where that does not
//! work, all sources are worked out first, and then it is known whether there is an entry at all or
//! what is wrong with it.

use super::{OWNER_LENGTH_BYTES, long_owner, member};
use crate::error::{Error, ErrorKind, Result};
use crate::evaluate::{RecordScope, evaluate, holds};
use crate::schema::{IndexSchema, Source, put};
use crate::value::Value;
use keyspace::key::{KeyType, KeyWriter};
use std::borrow::{Borrow, Cow};
use std::ops::Range;

/// An entry or a claim in a buffer.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    /// The position of the index in its collection.
    pub index: usize,
    /// Where its key lies.
    pub key: Range<usize>,
    /// Where its content lies.
    pub value: Range<usize>,
}

/// Adds every entry and claim of a row to a buffer, index by index.
pub(crate) fn write<V: Borrow<Value>>(
    record: &RecordScope<'_, V>,
    buffer: &mut Vec<u8>,
    found: &mut Vec<Written>,
) -> Result<()> {
    for (number, index) in record.collection.indexes.iter().enumerate() {
        let made = add_entries(record, (number, index), buffer, found);
        made.map_err(|error| error.with("index", index.name()))?;
    }
    Ok(())
}

/// Adds the entries of a record in one index.
fn add_entries<V: Borrow<Value>>(
    record: &RecordScope<'_, V>,
    (number, index): (usize, &IndexSchema),
    buffer: &mut Vec<u8>,
    found: &mut Vec<Written>,
) -> Result<()> {
    if let Some(when) = &index.model.when
        && !holds(when, record)?
    {
        return Ok(());
    }
    let start = buffer.len();
    if !index.is_plural {
        match write_key(record, index, buffer) {
            Some(true) => {
                let key = start..buffer.len();
                let value = content(record, index, buffer)?;
                found.push(Written { index: number, key, value });
                return Ok(());
            }
            Some(false) => return Ok(()),
            None => buffer.truncate(start),
        }
    }
    add_worked_out(record, (number, index), buffer, found)
}

/// Writes the key of the one entry a record has. False, and nothing written, if a source has no
/// value; nothing if it cannot be written so.
fn write_key<V: Borrow<Value>>(
    record: &RecordScope<'_, V>,
    index: &IndexSchema,
    buffer: &mut Vec<u8>,
) -> Option<bool> {
    let (shape, start) = (&index.key, buffer.len());
    let mut writer = KeyWriter::new(buffer, shape.space);
    let sources = index.sources.iter().zip(&index.quick).zip(&shape.segments).enumerate();
    for (position, ((source, quick), segment)) in sources {
        let computed;
        let value: &Value = match source {
            Source::Segment(at) => record.segments.get(*at)?.borrow(),
            Source::Slot(at) => record.slots.get(*at)?.borrow(),
            Source::Computed(_) => {
                computed = (*quick)?.value(record)?;
                &computed
            }
        };
        if value.is_null() {
            buffer.truncate(start);
            return Some(false);
        }
        if position < shape.group && value.as_text() == Some("") {
            return None;
        }
        put(&mut writer, *segment, value).ok()?;
    }
    Some(true)
}

/// Adds the entries of a record, all of whose sources are worked out before anything is written.
fn add_worked_out<V: Borrow<Value>>(
    record: &RecordScope<'_, V>,
    (number, index): (usize, &IndexSchema),
    buffer: &mut Vec<u8>,
    found: &mut Vec<Written>,
) -> Result<()> {
    let mut values: Vec<Cow<'_, Value>> = Vec::with_capacity(index.sources.len());
    let mut plural = None;
    for (position, source) in index.sources.iter().enumerate() {
        let value = match source {
            Source::Segment(at) => Cow::Borrowed(member(record.segments.get(*at))?),
            Source::Slot(at) => Cow::Borrowed(member(record.slots.get(*at))?),
            Source::Computed(expression) => match evaluate(expression, record, None)? {
                Value::List(elements) => {
                    plural = Some((position, elements));
                    Cow::Owned(Value::Bool(false))
                }
                value => Cow::Owned(value),
            },
        };
        if value.is_null() {
            return Ok(());
        }
        values.push(value);
    }
    let Some((position, elements)) = plural else {
        let key = key(index, &mut values, buffer)?;
        let value = content(record, index, buffer)?;
        found.push(Written { index: number, key, value });
        return Ok(());
    };
    let mut kept: Option<Range<usize>> = None;
    for element in elements {
        if let Some(value) = values.get_mut(position) {
            *value = Cow::Owned(element);
        }
        let key = key(index, &mut values, buffer)?;
        let value = match &kept {
            Some(value) => value.clone(),
            None => kept.insert(content(record, index, buffer)?).clone(),
        };
        found.push(Written { index: number, key, value });
    }
    Ok(())
}

/// Writes the key of these values, which have the types of their segments.
fn key(
    index: &IndexSchema,
    values: &mut [Cow<'_, Value>],
    buffer: &mut Vec<u8>,
) -> Result<Range<usize>> {
    let shape = &index.key;
    for (number, (value, segment)) in values.iter_mut().zip(&shape.segments).enumerate() {
        // A cell inside another function is a number.
        if let (Value::Cell(cell), KeyType::U64) = (value.as_ref(), segment.kind) {
            *value = Cow::Owned(Value::U64(*cell));
        }
        if number < shape.group && value.as_text() == Some("") {
            let name = shape.names.get(number).map_or("", String::as_str);
            return Err(Error::new(
                ErrorKind::Argument,
                "a text before the bar of an index is empty: leave such rows out with `when`",
            )
            .with("segment", name));
        }
    }
    let start = buffer.len();
    shape.append_whole(values.iter().map(AsRef::as_ref), buffer)?;
    Ok(start..buffer.len())
}

/// Writes the content of an entry or a claim.
fn content<V: Borrow<Value>>(
    record: &RecordScope<'_, V>,
    index: &IndexSchema,
    buffer: &mut Vec<u8>,
) -> Result<Range<usize>> {
    let start = buffer.len();
    if index.model.unique {
        buffer.extend_from_slice(&[0; OWNER_LENGTH_BYTES]);
        let segments = record.segments.iter().map(Borrow::borrow);
        record.collection.key.append_whole(segments, buffer)?;
        let length = buffer.len() - start - OWNER_LENGTH_BYTES;
        let length = u16::try_from(length).map_err(|_| long_owner())?;
        if let Some(place) = buffer.get_mut(start..).and_then(<[u8]>::first_chunk_mut) {
            *place = length.to_be_bytes();
        }
    }
    if !index.keep_slots.is_empty() {
        let kept = |slot: usize| record.slots.get(*index.keep_slots.get(slot)?).map(Borrow::borrow);
        index.keep.append(kept, buffer)?;
    }
    Ok(start..buffer.len())
}
