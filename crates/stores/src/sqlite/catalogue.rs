//! The catalogue and the tables: read, held against a keyspace, made before they are used.
//!
//! ```text
//! keyway ─▶ catalogue ─ keyspace ─▶ schema ─▶ wanted tables ─┬─ there ─▶ nothing
//!                                                            ├─ ours, of another form ─▶ rebuilt
//!                                                            ├─ another program's ─▶ refused
//!                                                            └─ not there ─▶ made
//! ```
//!
//! All of it is one transaction, which excludes other processes. Tables of numbers that are no
//! longer used go: the catalogue lets a collection go only when it is empty.

use super::commit::Committer;
use super::error::failed;
use super::rebuild::{self, Moved};
use super::tables::Tables;
use data::catalogue::Catalogue;
use data::schema::Schema;
use data::{Error, ErrorKind, Result};
use keyspace::layout::sqlite::{SqliteTable, layout};
use keyspace::layout::tables::Purpose;
use keyspace::layout::words::Dialect;
use keyspace::model::{Keyspace, StoreKind};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The number of this form of the tables.
const FORMAT: i64 = 1;
/// An index that earlier versions had.
const CALLS_BY_TIME: &str = "keyway_calls_expires";
const CALLS_BY_TIME_MADE: &str = "CREATE INDEX keyway_calls_expires ON keyway_calls (at)";
const READ: &str = "SELECT format, catalogue, tables FROM keyway WHERE name <> 'cursor key'";
/// The secret that all programs share, in hexadecimal digits; no keyspace has this name.
const READ_SECRET: &str = "SELECT catalogue FROM keyway WHERE name = 'cursor key'";
const WRITE_SECRET: &str = "INSERT INTO keyway (name, format, catalogue, tables, at) \
                            VALUES ('cursor key', ?1, ?2, '{}', \
                            strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) ON CONFLICT DO NOTHING";
const WRITE: &str = "INSERT INTO keyway (name, format, catalogue, tables, at) \
                     VALUES (?1, ?2, ?3, ?4, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) \
                     ON CONFLICT (name) DO UPDATE SET format = excluded.format, \
                     catalogue = excluded.catalogue, tables = excluded.tables, at = excluded.at";

impl Committer {
    /// Makes the database ready for a keyspace.
    pub(super) fn ensure(&mut self, keyspace: &Arc<Keyspace>) -> Result<Arc<Tables>> {
        self.transaction(|connection| {
            let objects = Objects::read(connection)?;
            let wanted = layout(keyspace).tables;
            let known = Known::read(connection, &objects, &wanted)?;
            let is_empty = |space: u16| match known.tables.get(&space) {
                Some(name) if objects.has(name) => is_empty(connection, name),
                _ => true,
            };
            let stored = known.catalogue.as_deref().map(str::as_bytes);
            let catalogue = Catalogue::open(stored, keyspace, &is_empty)?;
            let schema = Schema::new(keyspace.clone(), StoreKind::Sqlite, catalogue)?;
            let tables = Tables::new(Arc::new(schema))?;
            let plan = Plan::new(&known, &objects, &wanted, tables.schema())?;
            plan.run(connection, &objects, &tables)?;
            let unused = objects.is_as(CALLS_BY_TIME, CALLS_BY_TIME_MADE);
            if unused {
                execute(connection, &format!("DROP INDEX {CALLS_BY_TIME}"))?;
            }
            known.update(connection, &tables, plan.numbers)?;
            Ok(Arc::new(tables))
        })
    }
}

impl Committer {
    /// The secret that is kept, or this one from now on. The database must be ready.
    pub(super) fn secret(&mut self, fresh: [u8; 32]) -> Result<[u8; 32]> {
        self.transaction(|connection| {
            let digits: String = fresh.iter().map(|byte| format!("{byte:02x}")).collect();
            // The column holds JSON.
            let text = format!("\"{digits}\"");
            connection.execute(WRITE_SECRET, (FORMAT, text)).map_err(failed)?;
            let read = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
            let kept = connection.query_row(READ_SECRET, [], read).map_err(failed)?;
            let damaged = || Error::new(ErrorKind::Corrupt, "the key of cursors is damaged");
            let (pairs, _) = kept.trim_matches('"').as_bytes().as_chunks::<2>();
            let byte = |pair: &[u8; 2]| {
                let text = std::str::from_utf8(pair).ok()?;
                u8::from_str_radix(text, 16).ok()
            };
            let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
            bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(damaged)
        })
    }
}

/// Whether a database says of itself that a keyspace is in it.
pub(super) fn holds(connection: &Connection) -> rusqlite::Result<bool> {
    // Another program may have a table of this name.
    let columns = "SELECT count(*) FROM pragma_table_info('keyway') \
                   WHERE name IN ('name', 'format', 'catalogue', 'tables')";
    let columns: i64 = connection.query_row(columns, [], |row| row.get(0))?;
    match columns {
        4 => Ok(connection.query_row(READ, [], |_| Ok(())).optional()?.is_some()),
        _ => Ok(false),
    }
}

/// Whether a table has no rows. One that cannot be read is taken to have some.
fn is_empty(connection: &Connection, table: &str) -> bool {
    let text = format!("SELECT 1 FROM {} LIMIT 1", Dialect::Sqlite.name(table));
    connection.query_row(&text, [], |_| Ok(())).optional().is_ok_and(|row| row.is_none())
}

/// What a database has of one name.
pub(super) struct Object {
    /// The table it belongs to.
    pub(super) table: String,
    /// The statement that made it, if it has one.
    pub(super) text: String,
}

/// Everything of a database that has a name, and the columns of its tables.
pub(super) struct Objects {
    named: HashMap<String, Object>,
    /// Table, column, storage class.
    columns: Vec<(String, String, String)>,
}

impl Objects {
    fn read(connection: &Connection) -> Result<Objects> {
        let text = "SELECT name, tbl_name, coalesce(sql, '') FROM sqlite_schema";
        let mut statement = connection.prepare(text).map_err(failed)?;
        let rows = statement.query_map([], |row| {
            Ok((row.get::<_, String>(0)?, Object { table: row.get(1)?, text: row.get(2)? }))
        });
        let named = rows.map_err(failed)?.collect::<rusqlite::Result<_>>().map_err(failed)?;
        let text = "SELECT m.name, c.name, c.type FROM sqlite_schema m, \
                    pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY m.name, c.cid";
        let mut statement = connection.prepare(text).map_err(failed)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        let columns = rows.map_err(failed)?.collect::<rusqlite::Result<_>>().map_err(failed)?;
        Ok(Objects { named, columns })
    }

    /// The columns of a table, each with its storage class.
    pub(super) fn columns(&self, table: &str) -> impl Iterator<Item = (String, String)> {
        let own = self.columns.iter().filter(move |(of, _, _)| of == table);
        own.map(|(_, name, storage)| (name.clone(), storage.clone()))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.named.contains_key(name)
    }

    /// Whether it is there, made by this statement.
    fn is_as(&self, name: &str, statement: &str) -> bool {
        self.named.get(name).is_some_and(|object| object.text == stored_text(statement))
    }

    /// What belongs to a table: its indexes and triggers, with their names.
    pub(super) fn of_table(&self, table: &str) -> impl Iterator<Item = (&String, &Object)> {
        self.named.iter().filter(move |(name, object)| object.table == table && *name != table)
    }
}

/// A statement as SQLite keeps it.
fn stored_text(statement: &str) -> String {
    statement.replacen(" IF NOT EXISTS", "", 1)
}

/// What the database says of itself.
struct Known {
    catalogue: Option<String>,
    /// The table of each number.
    tables: BTreeMap<u16, String>,
}

impl Known {
    fn read(connection: &Connection, objects: &Objects, wanted: &[SqliteTable]) -> Result<Known> {
        let none = Known { catalogue: None, tables: BTreeMap::new() };
        let helpers = wanted.iter().filter(|table| table.table.purpose.is_helper());
        for helper in helpers.filter(|helper| objects.has(&helper.table.name)) {
            let made = helper.statements();
            if !made.iter().all(|text| objects.is_as(&object_name(helper, text), text)) {
                return Err(foreign(&helper.table.name));
            }
        }
        if !objects.has("keyway") {
            return Ok(none);
        }
        let row = |row: &rusqlite::Row<'_>| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
        };
        let found = connection.query_row(READ, [], row).optional().map_err(failed)?;
        let Some((format, catalogue, tables)) = found else { return Ok(none) };
        if format != FORMAT {
            let message = "the database was written by another version of Keyway; use that one";
            return Err(Error::new(ErrorKind::Mismatch, message)
                .with("format", format)
                .with("format_known", FORMAT));
        }
        let tables = serde_json::from_str(&tables).map_err(|error| {
            Error::new(ErrorKind::Corrupt, "the list of tables in keyway cannot be read")
                .caused_by(error)
        })?;
        Ok(Known { catalogue: Some(catalogue), tables })
    }

    /// Writes what has changed.
    fn update(
        &self,
        connection: &Connection,
        tables: &Tables,
        numbers: BTreeMap<u16, String>,
    ) -> Result<()> {
        let schema = tables.schema();
        let catalogue = String::from_utf8_lossy(&schema.catalogue().to_bytes()).into_owned();
        if self.catalogue.as_ref() == Some(&catalogue) && self.tables == numbers {
            return Ok(());
        }
        let numbers = serde_json::to_string(&numbers).unwrap_or_default();
        let name = &schema.keyspace().name.value;
        let row = params![name, FORMAT, catalogue, numbers];
        connection.execute(WRITE, row).map_err(failed)?;
        Ok(())
    }
}

/// The name of what a statement of a table makes.
fn object_name(table: &SqliteTable, statement: &str) -> String {
    match (&table.sweep, statement.starts_with("CREATE INDEX")) {
        (Some(sweep), true) => sweep.clone(),
        _ => table.table.name.clone(),
    }
}

/// What is to be done.
struct Plan<'w> {
    /// Tables whose numbers are no longer used.
    drop: Vec<String>,
    /// Tables of ours that have another form or name now.
    moved: Vec<Moved<'w>>,
    /// Tables that are not there.
    make: Vec<&'w SqliteTable>,
    /// The table of each number.
    numbers: BTreeMap<u16, String>,
}

impl<'w> Plan<'w> {
    fn new(
        known: &Known,
        objects: &Objects,
        wanted: &'w [SqliteTable],
        schema: &Schema,
    ) -> Result<Plan<'w>> {
        let mut plan = Plan {
            drop: Vec::new(),
            moved: Vec::new(),
            make: Vec::new(),
            numbers: BTreeMap::new(),
        };
        let ours: BTreeSet<&String> = known.tables.values().collect();
        for table in wanted {
            let number = number(table, schema)?;
            plan.numbers.extend(number.map(|number| (number, table.table.name.clone())));
            let before = number.and_then(|number| known.tables.get(&number));
            match before.filter(|before| objects.has(before)) {
                Some(before) => {
                    let with_rest = rebuild::with_rest(table, objects, before);
                    let made = with_rest.statements();
                    let is_same = *before == table.table.name
                        && made.iter().all(|text| objects.is_as(&object_name(table, text), text));
                    if !is_same {
                        plan.moved.push(Moved { before: before.clone(), table, with_rest });
                    }
                }
                None if table.table.purpose.is_helper() && objects.has(&table.table.name) => {}
                None => plan.make.push(table),
            }
        }
        let used = |number: &u16| plan.numbers.contains_key(number);
        let unused = known.tables.iter().filter(|(number, _)| !used(number));
        plan.drop = unused.map(|(_, name)| name.clone()).filter(|name| objects.has(name)).collect();
        plan.refuse_foreign(objects, &ours)?;
        Ok(plan)
    }

    /// Refuses a name under which another program has something.
    fn refuse_foreign(&self, objects: &Objects, ours: &BTreeSet<&String>) -> Result<()> {
        let made = self.make.iter().copied().chain(self.moved.iter().map(|moved| moved.table));
        for table in made {
            let name = &table.table.name;
            if objects.has(name) && !ours.contains(name) {
                return Err(foreign(name));
            }
            let index = table.sweep.as_ref().and_then(|sweep| objects.named.get(sweep));
            if let (Some(sweep), Some(object)) = (&table.sweep, index)
                && !ours.contains(&object.table)
            {
                return Err(foreign(sweep));
            }
        }
        Ok(())
    }

    fn run(&self, connection: &Connection, objects: &Objects, tables: &Tables) -> Result<()> {
        for name in &self.drop {
            execute(connection, &format!("DROP TABLE {}", Dialect::Sqlite.name(name)))?;
        }
        for moved in &self.moved {
            moved.set_aside(connection, objects)?;
        }
        for table in &self.make {
            for statement in table.statements() {
                execute(connection, &statement)?;
            }
        }
        self.moved.iter().try_for_each(|moved| moved.bring_back(connection, objects, tables))
    }
}

/// The number of a table's space; helpers have none.
fn number(table: &SqliteTable, schema: &Schema) -> Result<Option<u16>> {
    Ok(match &table.table.purpose {
        Purpose::Rows(members) => match members.as_slice() {
            [member] => Some(schema.collection(&member.collection)?.key.space),
            _ => None,
        },
        Purpose::Entries { collection, index, .. } => {
            let indexes = &schema.collection(collection)?.indexes;
            indexes.iter().find(|known| known.name() == index).map(|index| index.key.space)
        }
        Purpose::Slices { .. } | Purpose::Catalogue | Purpose::Calls => None,
    })
}

/// Runs a statement that is used once.
pub(super) fn execute(connection: &Connection, statement: &str) -> Result<()> {
    connection.execute_batch(statement).map_err(failed)
}

fn foreign(name: &str) -> Error {
    Error::new(
        ErrorKind::Mismatch,
        "another program has something of a name that Keyway needs; rename it, give the \
         collection another `table`, or use another file",
    )
    .with("name", name)
}
