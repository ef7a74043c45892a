//! The catalogue: read, held against a keyspace, and written together with the tables it is for.
//!
//! ```text
//! BEGIN, lock ─▶ stored numbers ─▶ numbers now ─▶ tables made or changed ─▶ numbers kept ─▶ COMMIT
//! ```
//!
//! Everything happens in one transaction, or nothing. Where nothing is new nothing is written, so
//! that a user without the right to make tables can open what is there.

use super::connection::Pool;
use super::error::Fault;
use super::inventory::{self, Found};
use super::open::{self, Checked};
use super::structure::Structure;
use super::tables::Tables;
use super::{Options, Ready};
use data::catalogue::Catalogue;
use data::schema::Schema;
use data::{Error, ErrorKind, Result};
use keyspace::layout::postgres::{PostgresLayout, PostgresTable, layout};
use keyspace::layout::tables::Purpose;
use keyspace::layout::words::Dialect;
use keyspace::model::{Keyspace, StoreKind};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::Instant;
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;
use xxhash_rust::xxh3::xxh3_64;

/// How long making a store ready may take.
const ENSURE_WITHIN: Duration = Duration::from_secs(60);

/// The form of what is kept.
const FORMAT: i64 = 1;

/// One program at a time makes tables; others wait.
const BEGIN: &str = "\
    BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; \
    SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '30s'; \
    SET LOCAL enable_seqscan = on; SET LOCAL enable_sort = on; SET LOCAL enable_hashjoin = on; \
    SET LOCAL plan_cache_mode = auto";

/// Makes a database ready for a keyspace.
pub(super) async fn ensure(
    pool: &Arc<Pool>,
    options: &Options,
    keyspace: &Arc<Keyspace>,
) -> Result<Ready> {
    let lease = pool.lease(Instant::now() + ENSURE_WITHIN).await?;
    let Checked { settings, remarks } = open::check(lease.client()?, options).await?;
    let layout = layout(keyspace);
    let seed = xxh3_64(layout.schema.as_bytes());
    let making = Making { client: lease.client()?, layout: &layout, keyspace };
    making.run(BEGIN).await?;
    // Not one of the numbers that batches lock: those are not odd from the store's own.
    making.run(&format!("SELECT pg_advisory_xact_lock({})", (seed ^ 1).cast_signed())).await?;
    let schema = match making.make().await {
        Ok(schema) => {
            making.run("COMMIT").await?;
            schema
        }
        Err(error) => {
            // The reason is worth more than what ending says.
            let _ = making.run("ROLLBACK").await;
            return Err(error);
        }
    };
    drop(lease);
    let name = Dialect::Postgres.name(&layout.schema);
    pool.settle(format!("{settings}; SET search_path TO {name}"));
    let tables = Tables::new(&layout, Arc::new(schema))?;
    let helper = Dialect::Postgres.name(helper(&layout));
    let (pool, take) = (pool.clone(), Arc::from(super::lock::TAKE));
    Ok(Ready { pool, tables, seed, take, helper, remarks })
}

/// Whether the database has the schema of a keyspace, and says of itself that it is in it.
pub(super) async fn holds(pool: &Arc<Pool>, keyspace: &Keyspace) -> Result<bool> {
    let lease = pool.lease(Instant::now() + ENSURE_WITHIN).await?;
    let layout = layout(keyspace);
    let (schema, helper) = (layout.schema.as_str(), helper(&layout));
    // Another program may have a table of this name.
    let columns = "SELECT count(*) FROM pg_namespace n JOIN pg_class t ON t.relnamespace = n.oid \
                   JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 \
                   WHERE n.nspname = $1 AND t.relname = $2 AND t.relkind = 'r' \
                   AND a.attname IN ('name', 'catalogue')";
    let found = lease.client()?.query_one(columns, &[&schema, &helper]).await.map_err(failed)?;
    let columns: i64 = found.try_get(0).map_err(failed)?;
    let holds = columns == 2 && {
        let dialect = Dialect::Postgres;
        let table = format!("{}.{}", dialect.name(schema), dialect.name(helper));
        let kept = format!("SELECT 1 FROM {table} WHERE name <> $1 LIMIT 1");
        !lease.client()?.query(&kept, &[&SECRET]).await.map_err(failed)?.is_empty()
    };
    lease.give_back();
    Ok(holds)
}

/// What tells a database on a running server from every other, and the schema in it.
pub(super) async fn identity(ready: &Ready) -> Result<String> {
    let asked = "SELECT concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), \
                 current_setting('port'), (SELECT oid FROM pg_database \
                 WHERE datname = current_database()), current_schema())";
    let lease = ready.pool.lease(Instant::now() + ENSURE_WITHIN).await?;
    let row = lease.client()?.query_one(asked, &[]).await.map_err(failed)?;
    lease.give_back();
    row.try_get(0).map_err(failed)
}

/// A keyspace whose tables are being made.
#[derive(Clone, Copy)]
pub(super) struct Making<'m> {
    pub(super) client: &'m Client,
    pub(super) layout: &'m PostgresLayout,
    keyspace: &'m Arc<Keyspace>,
}

/// What the store has kept.
struct Stored {
    catalogue: Vec<u8>,
    /// The table each number has.
    tables: BTreeMap<u16, String>,
}

impl Making<'_> {
    pub(super) async fn run(&self, statement: &str) -> Result<()> {
        self.client.batch_execute(statement).await.map_err(failed)
    }

    pub(super) async fn rows(
        &self,
        statement: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<tokio_postgres::Row>> {
        self.client.query(statement, values).await.map_err(failed)
    }

    async fn make(&self) -> Result<Schema> {
        let mut found = inventory::read(*self).await?;
        let stored = self.stored(&found).await?;
        let catalogue = self.catalogue(stored.as_ref(), &found).await?;
        let schema = Schema::new(self.keyspace.clone(), StoreKind::Postgres, catalogue.clone())?;
        let tables = self.numbered(&catalogue)?;
        self.make_schema().await?;
        let known = stored.as_ref().map(|stored| stored.tables.clone()).unwrap_or_default();
        self.drop_retired(&known, &catalogue, &mut found).await?;
        for table in &self.layout.tables {
            let number = number_of(&catalogue, table);
            let was = number.and_then(|number| known.get(&number)).map(String::as_str);
            let structure = Structure { making: *self, table, schema: &schema, number };
            structure.make(was, &mut found).await?;
        }
        let bytes = catalogue.to_bytes();
        let is_same =
            stored.is_some_and(|stored| stored.catalogue == bytes && stored.tables == tables);
        if !is_same {
            self.keep(&bytes, &tables).await?;
        }
        Ok(schema)
    }

    /// The numbers for the keyspace. Whether a table has rows is asked only if it matters.
    async fn catalogue(
        &self,
        stored: Option<&Stored>,
        found: &HashMap<String, Found>,
    ) -> Result<Catalogue> {
        let known = stored.map(|stored| stored.catalogue.as_slice());
        let asked = AtomicBool::new(false);
        let is_empty = |_| {
            asked.store(true, Ordering::Relaxed);
            false
        };
        let opened = Catalogue::open(known, self.keyspace, &is_empty);
        if !asked.load(Ordering::Relaxed) {
            return opened;
        }
        let mut full = HashSet::new();
        for (number, table) in stored.iter().flat_map(|stored| &stored.tables) {
            if found.contains_key(table) && self.has_rows(table).await? {
                full.insert(*number);
            }
        }
        Catalogue::open(known, self.keyspace, &|number| !full.contains(&number))
    }

    /// Drops the tables of numbers that are no longer used: of collections that are empty, and of
    /// indexes, whose entries are of no use to anybody.
    async fn drop_retired(
        &self,
        known: &BTreeMap<u16, String>,
        catalogue: &Catalogue,
        found: &mut HashMap<String, Found>,
    ) -> Result<()> {
        for (number, table) in known {
            let Some(name) = catalogue.dropped.get(number) else { continue };
            let is_index = name.contains('.');
            if found.contains_key(table) && (is_index || !self.has_rows(table).await?) {
                self.run(&format!("DROP TABLE {}", self.name(table))).await?;
                found.remove(table);
            }
        }
        Ok(())
    }

    /// Whether a table has rows.
    pub(super) async fn has_rows(&self, table: &str) -> Result<bool> {
        let any = format!("SELECT 1 FROM {} LIMIT 1", self.name(table));
        Ok(!self.rows(&any, &[]).await?.is_empty())
    }

    /// A name of the schema, as it is written in statements.
    pub(super) fn name(&self, table: &str) -> String {
        let dialect = Dialect::Postgres;
        format!("{}.{}", dialect.name(&self.layout.schema), dialect.name(table))
    }

    fn helper(&self) -> &str {
        helper(self.layout)
    }

    async fn stored(&self, found: &HashMap<String, Found>) -> Result<Option<Stored>> {
        let Some(helper) = found.get(self.helper()) else { return Ok(None) };
        if !helper.columns.iter().any(|column| column.name == "catalogue") {
            // Somebody else's: refused with its differences when its turn comes.
            return Ok(None);
        }
        let select = format!(
            "SELECT name, format, catalogue::text, tables::text FROM {} WHERE name <> $1",
            self.name(self.helper())
        );
        let rows = self.rows(&select, &[&SECRET]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let name: String = row.try_get(0).map_err(failed)?;
        let format: i64 = row.try_get(1).map_err(failed)?;
        if name != self.keyspace.name.value {
            return Err(Error::new(
                ErrorKind::Mismatch,
                "this schema belongs to another keyspace: name this one otherwise, or give another \
                 database",
            )
            .with("schema", &self.layout.schema)
            .with("belongs_to", name)
            .with("given", &self.keyspace.name.value));
        }
        if format != FORMAT {
            return Err(Error::new(
                ErrorKind::Mismatch,
                "the tables were written by another version of Keyway; export with that one",
            )
            .with("format", format));
        }
        let (catalogue, tables): (String, String) =
            (row.try_get(2).map_err(failed)?, row.try_get(3).map_err(failed)?);
        let tables: BTreeMap<u16, String> = serde_json::from_str(&tables).map_err(|error| {
            Error::new(ErrorKind::Corrupt, "the list of tables cannot be read").caused_by(error)
        })?;
        Ok(Some(Stored { catalogue: catalogue.into_bytes(), tables }))
    }

    /// The table each number has now.
    fn numbered(&self, catalogue: &Catalogue) -> Result<BTreeMap<u16, String>> {
        let mut tables = BTreeMap::new();
        for table in &self.layout.tables {
            match (number_of(catalogue, table), table.table.purpose.is_helper()) {
                (Some(number), _) => drop(tables.insert(number, table.table.name.clone())),
                (None, true) => {}
                (None, false) => {
                    return Err(Error::new(ErrorKind::Internal, "a table has no number")
                        .with("table", &table.table.name));
                }
            }
        }
        Ok(tables)
    }

    async fn make_schema(&self) -> Result<()> {
        let found = "SELECT 1 FROM pg_namespace WHERE nspname = $1";
        if !self.rows(found, &[&self.layout.schema]).await?.is_empty() {
            return Ok(());
        }
        for statement in self.layout.schema_statements() {
            self.run(&statement).await?;
        }
        Ok(())
    }

    async fn keep(&self, catalogue: &[u8], tables: &BTreeMap<u16, String>) -> Result<()> {
        let put = format!(
            "INSERT INTO {} (name, format, catalogue, tables, at) \
             VALUES ($1, $2, $3::text::json, $4::text::json, now()) ON CONFLICT (name) DO UPDATE \
             SET format = excluded.format, catalogue = excluded.catalogue, \
             tables = excluded.tables, at = excluded.at",
            self.name(self.helper())
        );
        let catalogue = String::from_utf8_lossy(catalogue).into_owned();
        let tables = serde_json::to_string(tables).map_err(|error| {
            Error::new(ErrorKind::Internal, "the list of tables has no text").caused_by(error)
        })?;
        self.rows(&put, &[&self.keyspace.name.value, &FORMAT, &catalogue, &tables]).await?;
        Ok(())
    }
}

/// The name of the helper table.
fn helper(layout: &PostgresLayout) -> &str {
    let catalogue = |table: &&PostgresTable| table.table.purpose == Purpose::Catalogue;
    layout.tables.iter().find(catalogue).map_or("keyway", |table| &table.table.name)
}

/// The row of the helper table that holds the secret all programs share, for whoever may read that
/// table; no keyspace has this name.
const SECRET: &str = "cursor key";

/// The secret that all programs share; `fresh` if there is none yet.
pub(super) async fn secret(ready: &Ready, fresh: [u8; 32]) -> Result<[u8; 32]> {
    let lease = ready.pool.lease(Instant::now() + ENSURE_WITHIN).await?;
    let select = format!("SELECT catalogue::text FROM {} WHERE name = $1", ready.helper);
    let insert = format!(
        "INSERT INTO {} (name, format, catalogue, tables, at) \
         VALUES ($1, $2, $3::text::json, '{{}}', now()) ON CONFLICT (name) DO NOTHING",
        ready.helper
    );
    let wrong = || Error::new(ErrorKind::Corrupt, "the key of cursors is damaged");
    let client = lease.client()?;
    let mut rows = client.query(&select, &[&SECRET]).await.map_err(failed)?;
    if rows.is_empty() {
        let text = serde_json::to_string(&fresh).map_err(|error| wrong().caused_by(error))?;
        client.query(&insert, &[&SECRET, &FORMAT, &text]).await.map_err(failed)?;
        rows = client.query(&select, &[&SECRET]).await.map_err(failed)?;
    }
    let row = rows.first().ok_or_else(wrong)?;
    let text: String = row.try_get(0).map_err(failed)?;
    lease.give_back();
    serde_json::from_str(&text).map_err(|error| wrong().caused_by(error))
}

/// The number of a table's space.
fn number_of(catalogue: &Catalogue, table: &PostgresTable) -> Option<u16> {
    let name = match &table.table.purpose {
        Purpose::Rows(members) => members.first().map(|member| member.collection.clone()),
        Purpose::Entries { collection, index, .. } => Some(format!("{collection}.{index}")),
        Purpose::Slices { .. } | Purpose::Catalogue | Purpose::Calls => None,
    };
    catalogue.spaces.get(&name?).copied()
}

pub(super) fn failed(error: tokio_postgres::Error) -> Error {
    Fault::from(error).into_error()
}
