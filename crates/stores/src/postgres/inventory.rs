//! What a schema of the database holds: its tables with their columns, keys, indexes and
//! constraints, read from the server's own catalogue in a few statements.

use super::catalogue::{Making, failed};
use data::Result;
use std::collections::HashMap;
use tokio_postgres::Row;

/// A table that is there, or anything else with its name.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// Its columns, in order.
    pub(super) columns: Vec<FoundColumn>,
    /// The columns of its primary key, in order.
    pub(super) key: Vec<String>,
    /// The names of its other indexes.
    pub(super) indexes: Vec<String>,
    /// Its constraints on one column: their names, the columns, what they say.
    pub(super) checks: Vec<(String, String, String)>,
}

/// A column that is there.
#[derive(Clone, Debug)]
pub(super) struct FoundColumn {
    pub(super) name: String,
    /// Its type, as the server writes it.
    pub(super) native: String,
    pub(super) required: bool,
    pub(super) collation: String,
    pub(super) has_default: bool,
}

const COLUMNS: &str = "\
    SELECT t.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull, \
    coalesce(c.collname::text, ''), a.atthasdef \
    FROM pg_namespace n JOIN pg_class t ON t.relnamespace = n.oid \
    LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped \
    LEFT JOIN pg_collation c ON c.oid = a.attcollation \
    WHERE n.nspname = $1 ORDER BY t.relname, a.attnum";

const KEYS: &str = "\
    SELECT t.relname::text, a.attname::text \
    FROM pg_namespace n JOIN pg_class t ON t.relnamespace = n.oid \
    JOIN pg_constraint p ON p.conrelid = t.oid AND p.contype = 'p' \
    CROSS JOIN unnest(p.conkey) WITH ORDINALITY AS k (number, place) \
    JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.number \
    WHERE n.nspname = $1 ORDER BY t.relname, k.place";

const INDEXES: &str = "\
    SELECT t.relname::text, x.relname::text \
    FROM pg_namespace n JOIN pg_class t ON t.relnamespace = n.oid \
    JOIN pg_index i ON i.indrelid = t.oid AND NOT i.indisprimary \
    JOIN pg_class x ON x.oid = i.indexrelid WHERE n.nspname = $1";

const CHECKS: &str = "\
    SELECT t.relname::text, p.conname::text, a.attname::text, pg_get_constraintdef(p.oid) \
    FROM pg_namespace n JOIN pg_class t ON t.relnamespace = n.oid \
    JOIN pg_constraint p ON p.conrelid = t.oid AND p.contype = 'c' \
    JOIN pg_attribute a ON a.attrelid = t.oid AND p.conkey = ARRAY[a.attnum] \
    WHERE n.nspname = $1";

/// Everything with a name in the schema.
pub(super) async fn read(making: Making<'_>) -> Result<HashMap<String, Found>> {
    let schema = &making.layout.schema;
    let mut found: HashMap<String, Found> = HashMap::new();
    for row in making.rows(COLUMNS, &[schema]).await? {
        let table = found.entry(text(&row, 0)?).or_default();
        // What has no columns, such as a sequence, has a name all the same.
        let Some(name) = row.try_get::<_, Option<String>>(1).map_err(failed)? else { continue };
        table.columns.push(FoundColumn {
            name,
            native: text(&row, 2)?,
            required: row.try_get(3).map_err(failed)?,
            collation: text(&row, 4)?,
            has_default: row.try_get(5).map_err(failed)?,
        });
    }
    for row in making.rows(KEYS, &[schema]).await? {
        found.entry(text(&row, 0)?).or_default().key.push(text(&row, 1)?);
    }
    for row in making.rows(INDEXES, &[schema]).await? {
        found.entry(text(&row, 0)?).or_default().indexes.push(text(&row, 1)?);
    }
    for row in making.rows(CHECKS, &[schema]).await? {
        let check = (text(&row, 1)?, text(&row, 2)?, text(&row, 3)?);
        found.entry(text(&row, 0)?).or_default().checks.push(check);
    }
    Ok(found)
}

fn text(row: &Row, place: usize) -> Result<String> {
    row.try_get(place).map_err(failed)
}
