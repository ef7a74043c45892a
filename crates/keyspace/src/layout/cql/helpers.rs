//! Tables that no collection asked for: directories of slices, the catalogue, calls done before.

use super::super::tables::{Column, Holds, Names, Purpose, Table, remembers_calls};
use super::rows::Columns;
use super::{CqlTable, CqlType};
use crate::model::{Bucket, Key, Keyspace};

/// The catalogue, and where a call could be done twice, the calls.
pub(super) fn store_wide(keyspace: &Keyspace, names: &mut Names) -> Vec<CqlTable> {
    let mut tables = vec![catalogue(names)];
    if remembers_calls(keyspace) {
        tables.push(calls(names));
    }
    tables
}

fn catalogue(names: &mut Names) -> CqlTable {
    let columns = vec![
        Column::group("name".to_string(), CqlType::Text, Holds::Internal),
        Column::value("format".to_string(), CqlType::Int, Holds::Internal),
        Column::value("file".to_string(), CqlType::Text, Holds::Internal),
        Column::value("hash".to_string(), CqlType::Blob, Holds::Internal),
        Column::value("at".to_string(), CqlType::Timestamp, Holds::WrittenAt),
    ];
    helper(
        names.claim_own("keyway"),
        Purpose::Catalogue,
        columns,
        "helper: the keyspace file these tables hold, and their format",
        "The keyspace file these tables hold",
    )
}

fn calls(names: &mut Names) -> CqlTable {
    let columns = vec![
        Column::group("caller".to_string(), CqlType::Text, Holds::Internal),
        Column::group("key".to_string(), CqlType::Text, Holds::Internal),
        Column::value("id".to_string(), CqlType::Uuid, Holds::Internal),
        Column::value("at".to_string(), CqlType::Timestamp, Holds::WrittenAt),
    ];
    helper(
        names.claim_own("keyway_calls"),
        Purpose::Calls,
        columns,
        "helper: the commit that stands for an idempotency key which is not a commit id itself",
        "Commits by the idempotency keys of callers",
    )
}

fn helper(
    name: String,
    purpose: Purpose,
    columns: Vec<Column<CqlType>>,
    remark: &str,
    comment: &str,
) -> CqlTable {
    let is_conditional = !matches!(purpose, Purpose::Slices { .. });
    let (remarks, comment) = (vec![remark.to_string()], comment.to_string());
    let table = Table { name, purpose, columns, expires: None, remarks, comment };
    CqlTable { table, is_conditional, compaction: None }
}

/// The tables, each with a bucket followed by its directory.
pub(super) fn with_directories(
    keyspace: &Keyspace,
    tables: Vec<CqlTable>,
    names: &mut Names,
) -> Vec<CqlTable> {
    let mut all = Vec::new();
    for table in tables {
        let directory = sliced_key(keyspace, &table.table.purpose)
            .map(|(key, bucket)| directory(keyspace, key, bucket, &table, names));
        all.push(table);
        all.extend(directory);
    }
    all
}

/// The key and the bucket a table goes by, if it has one.
fn sliced_key<'a>(keyspace: &'a Keyspace, purpose: &Purpose) -> Option<(&'a Key, &'a Bucket)> {
    match purpose {
        Purpose::Rows(members) => {
            let collection = keyspace.collection(&members.first()?.collection)?;
            Some((&collection.key, collection.bucket.as_ref()?))
        }
        Purpose::Entries { collection, index, .. } => {
            let index = keyspace.collection(collection)?.index(index)?;
            Some((&index.key, index.bucket.as_ref()?))
        }
        _ => None,
    }
}

fn directory(
    keyspace: &Keyspace,
    key: &Key,
    bucket: &Bucket,
    table: &CqlTable,
    names: &mut Names,
) -> CqlTable {
    let of = &table.table.name;
    let mut columns = Columns::new(&[]);
    columns.partition(key, None, keyspace.separator);
    let descending = key.segment(&bucket.by).is_some_and(|segment| segment.descending);
    let name = columns.names.claim_own("bucket");
    columns.columns.push(Column::order(name, CqlType::Timestamp, Holds::Slice, descending));
    helper(
        names.claim_with(of, "_buckets"),
        Purpose::Slices { table: of.clone() },
        columns.columns,
        &format!("helper: the slices each group of {of} has, so that no empty one is read"),
        &format!("Slices of {of}"),
    )
}
