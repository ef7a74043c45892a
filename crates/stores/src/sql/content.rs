//! What the columns beside a key hold, taken apart and put together again.
//!
//! ```text
//! content of a row    ◀─▶ its slots
//! content of an entry ◀─▶ the fields it keeps; of a claim, the key of its owner before them
//! ```

use super::table::unmatched;
use bytes::Bytes;
use data::entries::{claim, split_claim};
use data::schema::{CollectionSchema, IndexSchema, KeyShape};
use data::{Error, ErrorKind, Result, Value};
use std::sync::Arc;

/// Whose rows a table has, and where each value of them is.
#[derive(Clone, Debug)]
pub enum Of {
    /// Those of a collection: the slots stand first in the content, in their order.
    Rows(Arc<CollectionSchema>),
    /// The entries or claims of an index.
    Entries {
        /// The collection whose records they find.
        collection: Arc<CollectionSchema>,
        /// The position of the index in it.
        index: usize,
        /// The segments of the owner's key, of a claim.
        owner: Vec<Place>,
        /// The kept fields.
        kept: Vec<Place>,
    },
}

/// Where a value of an entry is: a segment of its key, or a column of its content.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// The segment with this number.
    Segment(usize),
    /// The column with this number among those of the content.
    Content(usize),
}

impl Of {
    /// The shape of the keys.
    pub fn key(&self) -> &KeyShape {
        match self {
            Of::Rows(collection) => &collection.key,
            Of::Entries { collection, index, .. } => {
                collection.indexes.get(*index).map_or(&collection.key, |index| &index.key)
            }
        }
    }

    /// The key of an owner, if it is a claim, and the slots or kept fields.
    pub fn take_apart(&self, value: &Bytes) -> Result<(Vec<Value>, Vec<Value>)> {
        match self {
            Of::Rows(collection) => Ok((Vec::new(), collection.decode(value)?)),
            Of::Entries { collection, index, .. } => {
                let of = index_of(collection, *index)?;
                let (owner, kept) = match of.model.unique {
                    true => {
                        let (owner, kept) = split_claim(value)?;
                        (collection.key.decode(&owner)?, kept)
                    }
                    false => (Vec::new(), value.clone()),
                };
                let kept = match of.keep.fields.is_empty() {
                    true => Vec::new(),
                    false => of.keep.decode(&kept)?,
                };
                Ok((owner, kept))
            }
        }
    }

    /// The content of these segments and columns.
    pub fn value(&self, segments: &[Value], content: &[Value]) -> Result<Bytes> {
        match self {
            Of::Rows(collection) => {
                // What follows the slots is the version and the end.
                collection.encode(content.get(..collection.slots.len()).unwrap_or(content))
            }
            Of::Entries { collection, index, owner, kept } => {
                let of = index_of(collection, *index)?;
                entry(collection, of, (owner, kept), segments, content)
            }
        }
    }
}

fn index_of(collection: &CollectionSchema, index: usize) -> Result<&Arc<IndexSchema>> {
    collection.indexes.get(index).ok_or_else(|| unmatched(collection.name()))
}

/// The content of an entry or claim.
fn entry(
    collection: &CollectionSchema,
    index: &IndexSchema,
    (owner, kept): (&[Place], &[Place]),
    segments: &[Value],
    content: &[Value],
) -> Result<Bytes> {
    let find = |places: &[Place]| {
        let found = places.iter().map(|place| match place {
            Place::Segment(place) => segments.get(*place),
            Place::Content(place) => content.get(*place),
        });
        let found: Option<Vec<Value>> = found.map(Option::<&Value>::cloned).collect();
        found.ok_or_else(|| Error::new(ErrorKind::Internal, "an entry has too few values"))
    };
    let kept = match kept.is_empty() {
        true => Bytes::new(),
        false => index.keep.encode(&find(kept)?)?,
    };
    match index.model.unique {
        true => claim(&collection.key.encode(&find(owner)?)?, &kept),
        false => Ok(kept),
    }
}
