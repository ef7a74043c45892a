//! One table as it is and as the layout has it: made, changed where that is free, or refused.
//!
//! | found | done |
//! |---|---|
//! | no table | made |
//! | ours, empty, different | made anew |
//! | a field is new | a column; older rows answer its default |
//! | a field is gone | its column stays |
//! | anything else, or somebody else's table | refused, with every difference |
//! | a judged table whose reads repair nothing | refused: `docs/design/2026-11-quorum-reads.md` |

use super::catalogue::{Inventory, Making};
use super::value;
use data::{Error, ErrorKind, Result};
use keyspace::layout::cql::{CqlLayout, CqlTable, CqlType};
use keyspace::layout::tables::{Column as Wanted, Role};
use keyspace::layout::words::Dialect;
use keyspace::model::StoreKind;

/// A column as the server has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) native: String,
    /// `partition_key`, `clustering`, `regular`, `static`.
    pub(super) kind: String,
    /// `asc`, `desc`, `none`.
    pub(super) order: String,
    /// The place among those of its kind.
    pub(super) position: i32,
}

/// Whether all tables of a layout are there with all their columns.
pub(super) fn is_made(layout: &CqlLayout, found: &Inventory) -> bool {
    layout.tables.iter().all(|table| match found.get(&table.table.name) {
        Some(columns) => differences(table, columns).is_empty() && added(table, columns).is_empty(),
        None => false,
    })
}

/// Refuses a helper table of another program.
pub(super) fn check_catalogue(name: &str, columns: &[Column]) -> Result<()> {
    let has = |name: &str| columns.iter().any(|column| column.name == name);
    match has("name") && has("catalogue") && has("tables") {
        true => Ok(()),
        false => Err(refused(name, &["its columns are not those of Keyway".to_string()])),
    }
}

/// Refuses judged tables of which a version that one caller has read may be hidden from the next.
/// ScyllaDB has no such setting.
pub(super) async fn check_repair(making: &Making<'_>) -> Result<()> {
    if making.kind == StoreKind::Scylla {
        return Ok(());
    }
    let asked = "SELECT table_name, read_repair FROM system_schema.tables WHERE keyspace_name = ?";
    for row in making.texts(asked, &[value::text(making.place)]).await? {
        let [Some(name), Some(repair)] = row.as_slice() else { continue };
        let mut judged = making.layout.tables.iter().filter(|table| table.is_conditional);
        if !repair.eq_ignore_ascii_case("BLOCKING") && judged.any(|of| of.table.name == *name) {
            return Err(Error::new(
                ErrorKind::Mismatch,
                "reads of a table do not repair what they find: ALTER TABLE with read_repair = \
                 'BLOCKING'",
            )
            .with("table", name)
            .with("read_repair", repair));
        }
    }
    Ok(())
}

/// Makes a table what the layout says; `was` is the name it had.
pub(super) async fn make(
    making: &Making<'_>,
    table: &CqlTable,
    was: Option<&str>,
    found: &Inventory,
) -> Result<()> {
    let name = &table.table.name;
    if let Some((was, columns)) =
        was.filter(|was| was != name).and_then(|was| Some((was, found.get(was)?)))
    {
        if making.has_rows(was, columns).await? {
            let moved = format!("its rows are in `{was}`, and Cassandra cannot rename a table");
            return Err(refused(name, &[moved]));
        }
        making.run(&format!("DROP TABLE IF EXISTS {}", Dialect::Cql.name(was))).await?;
    }
    let Some(columns) = found.get(name) else { return making.run(&table.statement()).await };
    let differences = differences(table, columns);
    if differences.is_empty() {
        for column in added(table, columns) {
            let (table, column, native) =
                (Dialect::Cql.name(name), Dialect::Cql.name(&column.name), &column.native);
            making.run(&format!("ALTER TABLE {table} ADD {column} {native}")).await?;
        }
        return Ok(());
    }
    if was.is_some() && !making.has_rows(name, columns).await? {
        making.run(&format!("DROP TABLE {}", Dialect::Cql.name(name))).await?;
        return making.run(&table.statement()).await;
    }
    Err(refused(name, &differences))
}

/// The columns that a table has not yet.
fn added<'t>(table: &'t CqlTable, columns: &[Column]) -> Vec<&'t Wanted<CqlType>> {
    let is_new = |wanted: &&Wanted<CqlType>| {
        wanted.role == Role::Value && !columns.iter().any(|column| column.name == wanted.name)
    };
    table.table.columns.iter().filter(is_new).collect()
}

/// What cannot be changed.
fn differences(table: &CqlTable, columns: &[Column]) -> Vec<String> {
    let mut differences = Vec::new();
    let (mut group, mut order) = (0, 0);
    for wanted in &table.table.columns {
        let (kind, position, direction) = match wanted.role {
            Role::Group => {
                group += 1;
                ("partition_key", group - 1, "none")
            }
            Role::Order { descending } => {
                order += 1;
                ("clustering", order - 1, if descending { "desc" } else { "asc" })
            }
            Role::Value => ("regular", -1, "none"),
        };
        let Some(column) = columns.iter().find(|column| column.name == wanted.name) else {
            if wanted.role != Role::Value {
                differences.push(format!("`{}` is not there", wanted.name));
            }
            continue;
        };
        let native = wanted.native.to_string();
        if column.native != native {
            differences.push(format!("`{}` is {}, not {native}", wanted.name, column.native));
        }
        if column.kind != kind || column.position != position || column.order != direction {
            differences.push(format!("`{}` has another part in the key", wanted.name));
        }
    }
    let in_key = |column: &&Column| column.kind == "partition_key" || column.kind == "clustering";
    let wanted = |column: &&Column| table.table.columns.iter().any(|w| w.name == column.name);
    for column in columns.iter().filter(in_key).filter(|column| !wanted(column)) {
        differences.push(format!("`{}` is part of its key", column.name));
    }
    differences
}

fn refused(table: &str, differences: &[String]) -> Error {
    let refused = Error::new(
        ErrorKind::Mismatch,
        "a table is not as the layout has it; drop it, or mend what differs",
    )
    .with("table", table);
    differences.iter().fold(refused, |error, difference| error.with("but", difference))
}
