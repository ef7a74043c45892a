//! One row, or many, by whole keys: the collection's own, or a unique index's.

use super::range::model_key;
use super::rows::Finder;
use crate::error::{Error, ErrorKind, Result};
use crate::request::inputs::{CallInputs, Inputs};
use crate::request::prepare::Prepared;
use crate::request::segments::Filling;
use crate::request::{Answer, Call, Record, Showing};
use crate::session::Session;
use crate::store::{AtOnce, Key, Keyed, Row};

/// One row, or many.
pub(super) async fn get(session: &mut Session<'_>, call: &Call<'_>) -> Result<Answer> {
    let inputs = CallInputs::new(call, session.now);
    let prepared = call.pattern;
    if prepared.pattern.many.is_none() {
        let key = key_of(prepared, &inputs)?;
        return find_one(session, prepared, &inputs, key).await.map(Answer::Row);
    }
    let Some((each, rows)) = inputs.rows() else {
        return Err(Error::new(ErrorKind::Argument, "an argument is rows, not one value")
            .with("argument", "rows"));
    };
    let mut keys = Vec::with_capacity(rows.len());
    for (number, row) in rows.iter().enumerate() {
        let key = key_of(prepared, &inputs.row(each, row));
        keys.push(key.map_err(|error| error.with("row", number))?);
    }
    // Boxed, so that one row does not carry the room of many.
    Ok(Answer::Rows(Box::pin(find(session, prepared, &inputs, keys)).await?))
}

/// The key that a call names.
fn key_of(prepared: &Prepared, inputs: &dyn Inputs) -> Result<Key> {
    let shape = prepared.key()?;
    if let Some(values) = inputs.key_front(shape.segments.len()) {
        return shape.encode(values);
    }
    let collection = prepared.collection()?;
    let filling = Filling { collection: &collection.model, filled: &prepared.filled };
    let mut values = Vec::with_capacity(shape.segments.len());
    for segment in model_key(prepared)?.segments() {
        values.push(filling.required(segment, inputs)?);
    }
    shape.encode(&values)
}

/// One row. What needs a second read goes the way of many.
async fn find_one(
    session: &mut Session<'_>,
    prepared: &Prepared,
    inputs: &dyn Inputs,
    key: Key,
) -> Result<Option<Record>> {
    if prepared.index().is_some() || prepared.collection()?.model.is_counted() {
        let found = Box::pin(find(session, prepared, inputs, vec![key])).await?;
        return Ok(found.into_iter().next().flatten());
    }
    let row = session.get(std::slice::from_ref(&key)).await?.pop().flatten();
    found(session, prepared, inputs, (key, row))
}

/// One row by its own key, from a store that answers without waiting.
pub(super) fn get_at_once(
    session: &mut Session<'_>,
    store: &dyn AtOnce,
    call: &Call<'_>,
) -> Result<Answer> {
    let inputs = CallInputs::new(call, session.now);
    let key = key_of(call.pattern, &inputs)?;
    let row = session.get_at_once(store, &key)?;
    found(session, call.pattern, &inputs, (key, row)).map(Answer::Row)
}

/// The same row, shown as it is.
pub(super) fn show(
    session: &mut Session<'_>,
    store: &dyn AtOnce,
    call: &Call<'_>,
    showing: &mut Showing<'_>,
) -> Result<()> {
    let now = session.now;
    let key = key_of(call.pattern, &CallInputs::new(call, now))?;
    session.look_at_once(store, &key, showing.versions, &mut |row| {
        if row.is_live(now) {
            showing.show(row)?;
        }
        Ok(true)
    })
}

/// The record of a row that was read, if it is there and the caller's.
fn found(
    session: &Session<'_>,
    prepared: &Prepared,
    inputs: &dyn Inputs,
    (key, row): (Key, Option<Row>),
) -> Result<Option<Record>> {
    let finder = Finder::new(prepared, inputs)?;
    let live = row.filter(|row| row.is_live(session.now));
    let Some(row) = live else { return Ok(None) };
    let mut record = finder.of_row(Keyed { key, row })?;
    if let (Some(record), true) = (&mut record, prepared.pattern.fields.is_some()) {
        record.version = None;
    }
    Ok(record)
}

async fn find(
    session: &mut Session<'_>,
    prepared: &Prepared,
    inputs: &dyn Inputs,
    keys: Vec<Key>,
) -> Result<Vec<Option<Record>>> {
    let finder = Finder::new(prepared, inputs)?;
    let rows = session.get(&keys).await?;
    let mut found = Vec::new();
    let mut places = Vec::new();
    let mut records: Vec<Option<Record>> = Vec::with_capacity(keys.len());
    let counted = prepared.index().is_none() && prepared.collection()?.model.is_counted();
    for (place, (key, row)) in keys.into_iter().zip(rows).enumerate() {
        match row.filter(|row| row.is_live(session.now)) {
            Some(row) => {
                found.push(Keyed { key, row });
                places.push(place);
                records.push(None);
            }
            None => records.push(counted.then(|| finder.zero(key))),
        }
    }
    for (place, record) in places.into_iter().zip(finder.find(session, found).await?) {
        if let Some(slot) = records.get_mut(place) {
            *slot = record;
        }
    }
    // What asks for fields is answered these alone, so that it is the same whether or not an entry
    // was enough: no entry holds the version.
    if prepared.pattern.fields.is_some() {
        records.iter_mut().flatten().for_each(|record| record.version = None);
    }
    Ok(records)
}
