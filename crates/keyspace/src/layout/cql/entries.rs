//! The table of an index.
//!
//! Entries of plain rows are written in one batch with their row. Those of conditional rows are
//! written before it and removed after it, each by its own attempt, which is why the attempt stands
//! in the key and no late write can touch another's entry. A claim is one conditional row a value.

use super::super::remarks::{comment, entries_remarks};
use super::super::tables::{Column, Holds, Names, Purpose, Table, owner_segments, plain_member};
use super::rows::{Columns, compaction};
use super::{CqlTable, CqlType};
use crate::model::{Collection, Index, Keyspace, Mode};

pub(super) fn table(
    keyspace: &Keyspace,
    collection: &Collection,
    index: &Index,
    names: &mut Names,
) -> CqlTable {
    let is_conditional = keyspace.mode(collection) == Mode::Conditional;
    let mut columns = Columns::new(keyspace, &[collection]);
    columns.partition(&index.key, index.bucket.as_ref(), keyspace.separator);
    for segment in index.key.rest_segments() {
        columns.clustering(segment);
    }
    if index.unique {
        for segment in owner_segments(collection, index) {
            let holds = Holds::Owner(segment.name.clone());
            columns.typed(&segment.name, &segment.segment_type, holds);
        }
    } else if is_conditional {
        let name = columns.names.claim_own("_att");
        columns.columns.push(Column::order(name, CqlType::Uuid, Holds::Attempt, false));
    }
    let in_key: Vec<&str> = index.key.segments().filter_map(plain_member).collect();
    for kept in index.keep.iter().filter(|kept| !in_key.contains(&kept.value.as_str())) {
        if let Some(kept_type) = collection.member_type(&kept.value) {
            columns.typed(&kept.value, kept_type, Holds::Field(kept.value.clone()));
        }
    }
    if index.unique {
        columns.value("_att", CqlType::Uuid, Holds::Attempt);
    }
    if index.unique || is_conditional {
        columns.value("_prev", CqlType::Uuid, Holds::Previous);
    }
    let expires = columns.expires(collection, Some(index));
    let table = Table {
        name: names.claim(&index.name.value),
        purpose: Purpose::Entries {
            collection: collection.name.value.clone(),
            index: index.name.value.clone(),
            unique: index.unique,
        },
        columns: columns.columns,
        expires,
        remarks: entries_remarks(keyspace, collection, index),
        comment: comment(&index.key, keyspace.separator, index.notes.as_deref()),
    };
    let compaction = compaction(keyspace, collection);
    CqlTable { table, is_conditional: index.unique, compaction }
}
