//! A catalogue as JSON: what a store keeps, and what people see when they look.
//!
//! ```json
//! { "format": 1, "keyspace": "notebook", "spaces": { "notes": 1, "notes.notes_by_title": 2 }, … }
//! ```
//!
//! What cannot be wholly understood is refused: a number overlooked is a number given twice.

use super::Catalogue;
use super::essence::CollectionEssence;
use crate::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The number of this format. It changes when an older version could misread a catalogue.
const FORMAT: u64 = 1;

/// A stored catalogue.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: u64,
    keyspace: String,
    separator: String,
    last_space: u16,
    spaces: BTreeMap<String, u16>,
    dropped: BTreeMap<u16, String>,
    fields: BTreeMap<String, BTreeMap<String, u16>>,
    collections: BTreeMap<String, CollectionEssence>,
}

/// The bytes of a catalogue.
pub(super) fn write(catalogue: &Catalogue) -> Vec<u8> {
    let Catalogue { keyspace, spaces, fields, dropped, last_space, separator, collections } =
        catalogue.clone();
    let document = Document {
        format: FORMAT,
        keyspace,
        separator,
        last_space,
        spaces,
        dropped,
        fields,
        collections,
    };
    // Maps with text for keys, and texts and numbers in them: nothing that JSON cannot say.
    let mut bytes = serde_json::to_vec_pretty(&document).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// The catalogue of these bytes.
pub(super) fn read(bytes: &[u8]) -> Result<Catalogue> {
    let corrupt = || Error::new(ErrorKind::Corrupt, "the catalogue of the store cannot be read");
    let json: serde_json::Value =
        serde_json::from_slice(bytes).map_err(|error| corrupt().caused_by(error))?;
    let format = json.get("format").and_then(serde_json::Value::as_u64);
    match format {
        Some(FORMAT) => {}
        Some(newer) if newer > FORMAT => {
            return Err(Error::new(
                ErrorKind::Mismatch,
                "the store was written by a newer version of Keyway; use that one",
            )
            .with("format", newer)
            .with("format_known", FORMAT));
        }
        _ => return Err(corrupt().with("why", "its format is unknown")),
    }
    let document: Document =
        serde_json::from_value(json).map_err(|error| corrupt().caused_by(error))?;
    let Document { keyspace, separator, last_space, spaces, dropped, fields, collections, .. } =
        document;
    let catalogue =
        Catalogue { keyspace, spaces, fields, dropped, last_space, separator, collections };
    match catalogue.contradiction() {
        None => Ok(catalogue),
        Some(why) => Err(corrupt().with("why", why)),
    }
}

impl Catalogue {
    /// What cannot be true of it, if anything.
    fn contradiction(&self) -> Option<&'static str> {
        let spaces = self.spaces.values().chain(self.dropped.keys());
        if !are_distinct(spaces.copied(), self.last_space) {
            return Some("a space has a number twice, or one that was never given");
        }
        for (name, essence) in &self.collections {
            let Some(numbers) = self.fields.get(name).filter(|_| self.spaces.contains_key(name))
            else {
                return Some("a collection has no numbers");
            };
            if !are_distinct(numbers.values().copied(), essence.last_field) {
                return Some("a field has a number twice, or one that was never given");
            }
            if !numbers.keys().eq(essence.fields.keys()) {
                return Some("a field has no number");
            }
            let has_number = |index| self.spaces.contains_key(&format!("{name}.{index}"));
            if !essence.indexes.keys().all(has_number) {
                return Some("an index has no number");
            }
        }
        None
    }
}

fn are_distinct(numbers: impl Iterator<Item = u16>, last: u16) -> bool {
    let mut seen = BTreeSet::new();
    numbers.into_iter().all(|number| (1..=last).contains(&number) && seen.insert(number))
}
