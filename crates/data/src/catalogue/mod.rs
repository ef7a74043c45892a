//! The numbers a store has given to names: of collections, indexes and fields.
//!
//! ```text
//! stored catalogue ─┐
//!                   ├─ same keyspace? ─ renames ─ what differs? ─┬─▶ catalogue with more numbers
//! keyspace file ────┘                                            └─▶ every reason it does not fit
//! ```
//!
//! Numbers are given by name, once, and never used again; a store keeps its catalogue with its
//! data. With the numbers it keeps the *essence* of what they were given for, as much of the file
//! as decides about stored bytes, so that a changed file is known for what it changes. Whatever
//! would need rows to be written anew is refused while there are rows; an empty collection that
//! changed so begins anew, under new numbers, whatever may be left under the old ones.
//!
//! Nothing here reads or writes: bytes come in, bytes go out.

mod compare;
mod document;
mod essence;
mod evolve;
#[cfg(test)]
mod tests;

use crate::error::{Error, ErrorKind, Result};
use crate::value::Value;
use essence::CollectionEssence;
use keyspace::model::{Collection, Field, Keyspace};
use std::collections::BTreeMap;

/// The numbers of one store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalogue {
    /// The keyspace's name.
    pub keyspace: String,
    /// Numbers of collections (`users`), indexes (`users.users_by_email`) and directories of
    /// slices (`users/slices`), by name.
    pub spaces: BTreeMap<String, u16>,
    /// Numbers of fields, by collection and name; those of fields that were removed too.
    pub fields: BTreeMap<String, BTreeMap<String, u16>>,
    /// Numbers that are no longer used, with the name they had. What lies under them is of no use.
    pub dropped: BTreeMap<u16, String>,
    /// The largest number any space was given.
    last_space: u16,
    separator: String,
    collections: BTreeMap<String, CollectionEssence>,
}

/// The number of a body among the fields of a record: the last there is, and no field's.
pub const BODY_NUMBER: u16 = u16::MAX;

impl Catalogue {
    /// What an empty store would give a keyspace.
    pub fn fresh(keyspace: &Keyspace) -> Self {
        let mut catalogue = Catalogue {
            keyspace: keyspace.name.value.clone(),
            separator: keyspace.separator.to_string(),
            ..Catalogue::default()
        };
        for collection in &keyspace.collections {
            // What is left without a number, beyond 65,535 names, is refused by the schema.
            if catalogue.add(keyspace, collection).is_err() {
                break;
            }
        }
        catalogue
    }

    /// The catalogue a store has for a keyspace: what it kept, and numbers for what is new.
    /// `is_empty` says whether the space with a number has no rows. A file that does not fit what
    /// is stored is refused with every reason.
    ///
    /// The store keeps [`to_bytes`](Self::to_bytes) before it writes a row with the new numbers.
    pub fn open(
        stored: Option<&[u8]>,
        keyspace: &Keyspace,
        is_empty: &dyn Fn(u16) -> bool,
    ) -> Result<Catalogue> {
        match stored {
            None => Ok(Catalogue::fresh(keyspace)),
            Some(bytes) => document::read(bytes)?.evolve(keyspace, is_empty),
        }
    }

    /// The catalogue as a store keeps it: JSON with the number of its format.
    pub fn to_bytes(&self) -> Vec<u8> {
        document::write(self)
    }

    /// What a record written before a field was added answers for it: the constant default the
    /// field had then. A default that changes later changes new rows only.
    pub fn missing(&self, collection: &str, field: &Field) -> Value {
        let known = self.collections.get(collection).and_then(|c| c.fields.get(&field.name));
        match known {
            Some(known) if known.missing.is_null() => Value::Null,
            Some(known) => {
                let of = field.field_type.required();
                Value::from_json(&known.missing, of).unwrap_or(Value::Null)
            }
            None => essence::constant_default(field),
        }
    }

    /// Gives numbers to a collection and everything of it.
    fn add(&mut self, keyspace: &Keyspace, collection: &Collection) -> Result<()> {
        let name = &collection.name.value;
        self.give(name.clone())?;
        if collection.bucket.is_some() {
            self.give(format!("{name}/slices"))?;
        }
        for index in &collection.indexes {
            self.add_index(name, index.name.value.as_str(), index.bucket.is_some())?;
        }
        self.collections.insert(name.clone(), CollectionEssence::of(keyspace, collection));
        for field in collection.fields() {
            self.add_field(name, &field.name)?;
        }
        self.fields.entry(name.clone()).or_default();
        Ok(())
    }

    fn add_index(&mut self, collection: &str, index: &str, has_slices: bool) -> Result<()> {
        let name = format!("{collection}.{index}");
        if has_slices {
            self.give(format!("{name}/slices"))?;
        }
        self.give(name)
    }

    fn add_field(&mut self, collection: &str, field: &str) -> Result<()> {
        let Some(essence) = self.collections.get_mut(collection) else {
            return Err(Error::new(ErrorKind::Internal, "a field is of no collection"));
        };
        essence.last_field = next(essence.last_field, BODY_NUMBER - 1)?;
        let numbers = self.fields.entry(collection.to_string()).or_default();
        numbers.insert(field.to_string(), essence.last_field);
        Ok(())
    }

    fn give(&mut self, name: String) -> Result<()> {
        self.last_space = next(self.last_space, u16::MAX)?;
        self.spaces.insert(name, self.last_space);
        Ok(())
    }

    /// Retires the number of a space, if it has one.
    fn retire(&mut self, name: &str) {
        if let Some(number) = self.spaces.remove(name) {
            self.dropped.insert(number, name.to_string());
        }
    }
}

fn next(last: u16, largest: u16) -> Result<u16> {
    if last >= largest {
        return Err(Error::new(
            ErrorKind::TooLarge,
            "a store has given all its numbers; move its rows to a new one",
        )
        .with("largest", largest));
    }
    Ok(last + 1)
}
