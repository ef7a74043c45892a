//! Tables that no collection asked for: directories of slices, the catalogue.

use super::super::tables::{Column, Holds, Names, Purpose, Table};
use super::rows::Columns;
use super::{CqlTable, CqlType};
use crate::model::{Bucket, Key, Keyspace};

/// The numbers the store has given, and its format.
pub(super) fn catalogue(names: &mut Names) -> CqlTable {
    let columns = vec![
        Column::group("name".to_string(), CqlType::Text, Holds::Internal),
        Column::value("format".to_string(), CqlType::Int, Holds::Internal),
        Column::value("catalogue".to_string(), CqlType::Json, Holds::Internal),
        Column::value("tables".to_string(), CqlType::Json, Holds::Internal),
        Column::value("at".to_string(), CqlType::Timestamp, Holds::WrittenAt),
    ];
    helper(
        names.claim_own("keyway"),
        Purpose::Catalogue,
        columns,
        "helper: the numbers this store has for names, and the table each number has",
        "The numbers this store has for names",
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
    let mut columns = Columns::new(keyspace, &[]);
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
