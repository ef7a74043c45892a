//! The catalogue: read, held against a keyspace, and written after the tables it is for are there.
//!
//! ```text
//! stored numbers ─▶ numbers now ─▶ lock ─▶ tables made or changed ─▶ numbers kept ─▶ unlock
//! ```
//!
//! Tables cannot be made in one step: a program that stops on the way leaves some, and the next
//! goes on where it stopped. Where nothing is new nothing is written, and no lock is taken.

use super::client::{Client, Fault, Way, is_applied};
use super::structure::{self, Column};
use super::tries::Tries;
use super::uuids;
use super::value::{self, Cell};
use data::catalogue::Catalogue;
use data::schema::Schema;
use data::{Error, ErrorKind, Result};
use keyspace::layout::cql::{CqlLayout, CqlTable};
use keyspace::layout::tables::Purpose;
use keyspace::layout::words::Dialect;
use keyspace::model::{Keyspace, StoreKind};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long making a store ready may take.
pub(super) const ENSURE_WITHIN: Duration = Duration::from_secs(120);
/// How long a lock holds if nobody takes it away, in seconds.
const LOCK_SECONDS: usize = 60;
/// The form of what is kept.
const FORMAT: i32 = 1;
/// The row of the catalogue that is there while tables are made; no keyspace has such a name.
const LOCK: &str = "lock of tables";

/// A keyspace whose tables are being made.
pub(super) struct Making<'m> {
    pub(super) client: &'m Client,
    /// The name of the keyspace in Cassandra.
    pub(super) place: &'m str,
    pub(super) layout: &'m CqlLayout,
    pub(super) keyspace: &'m Arc<Keyspace>,
    pub(super) kind: StoreKind,
    pub(super) until: Instant,
}

/// What the store has kept.
#[derive(Default)]
struct Stored {
    catalogue: Option<Vec<u8>>,
    /// The table each number has.
    tables: BTreeMap<u16, String>,
    /// The version of UUIDs under each name.
    uuids: HashMap<String, u8>,
}

/// Makes the tables of a keyspace what the layout says.
pub(super) async fn make(making: &Making<'_>) -> Result<(Arc<Schema>, HashMap<String, u8>)> {
    let found = making.inventory().await?;
    let helper = making.helper();
    let stored = match found.get(helper) {
        Some(columns) => {
            structure::check_catalogue(helper, columns)?;
            making.stored().await?
        }
        None => Stored::default(),
    };
    let catalogue = making.catalogue(&stored, &found).await?;
    let schema = Schema::new(making.keyspace.clone(), making.kind, catalogue.clone())?;
    let tables = making.numbered(&catalogue)?;
    let bytes = catalogue.to_bytes();
    let is_kept = stored.catalogue.as_ref() == Some(&bytes) && stored.tables == tables;
    if !is_kept || !structure::is_made(making.layout, &found) {
        if !found.contains_key(helper) {
            making.create_helper().await?;
        }
        making.lock().await?;
        let made = making.change(&stored, &catalogue, &tables).await;
        making.unlock().await;
        made?;
    }
    structure::check_repair(making).await?;
    Ok((Arc::new(schema), stored.uuids))
}

/// The tables of a keyspace in Cassandra, each by its columns.
pub(super) type Inventory = HashMap<String, Vec<Column>>;

impl Making<'_> {
    /// Sends a statement without values.
    pub(super) async fn run(&self, text: &str) -> Result<()> {
        let mut tries = Tries::new(self.until);
        loop {
            match self.client.run(text, self.until).await {
                Ok(_) => return Ok(()),
                Err(fault) => tries.failed(fault).await?,
            }
        }
    }

    /// The first columns of what a statement answers, as texts.
    pub(super) async fn texts(
        &self,
        text: &str,
        cells: &[Cell],
    ) -> Result<Vec<Vec<Option<String>>>> {
        let mut tries = Tries::new(self.until);
        loop {
            match self.texts_once(text, cells).await {
                Ok(texts) => return Ok(texts),
                Err(fault) => tries.failed(fault).await?,
            }
        }
    }

    async fn texts_once(
        &self,
        text: &str,
        cells: &[Cell],
    ) -> Result<Vec<Vec<Option<String>>>, Fault> {
        let statement = self.client.prepare(text, Way::Again).await?;
        let each = |columns: &[Option<&[u8]>]| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            Ok(columns.iter().map(|column| column.map(text)).collect())
        };
        self.client.rows(&(statement, cells.to_vec()), self.until, each).await
    }

    async fn inventory(&self) -> Result<Inventory> {
        let asked = "SELECT table_name, column_name, type, kind, clustering_order, \
                     CAST(position AS text) \
                     FROM system_schema.columns WHERE keyspace_name = ?";
        let mut tables = Inventory::new();
        for row in self.texts(asked, &[value::text(self.place)]).await? {
            let mut row = row.into_iter();
            let mut next = || row.next().flatten().unwrap_or_default();
            let (table, name, native, kind, order) = (next(), next(), next(), next(), next());
            let position = next().parse().unwrap_or(-1);
            let column = Column { name, native, kind, order, position };
            tables.entry(table).or_default().push(column);
        }
        Ok(tables)
    }

    /// The name of the helper table.
    fn helper(&self) -> &str {
        let catalogue = |table: &&CqlTable| table.table.purpose == Purpose::Catalogue;
        self.layout.tables.iter().find(catalogue).map_or("keyway", |table| &table.table.name)
    }

    /// The same as it is written in statements.
    pub(super) fn helper_name(&self) -> String {
        Dialect::Cql.name(self.helper())
    }

    async fn create_helper(&self) -> Result<()> {
        let is_helper = |table: &&CqlTable| table.table.purpose == Purpose::Catalogue;
        match self.layout.tables.iter().find(is_helper) {
            Some(table) => self.run(&table.statement()).await,
            None => Err(Error::new(ErrorKind::Internal, "a layout has no catalogue")),
        }
    }

    async fn stored(&self) -> Result<Stored> {
        let select = format!("SELECT name, catalogue, tables FROM {}", self.helper_name());
        let mut stored = Stored::default();
        for row in self.texts(&select, &[]).await? {
            let [Some(name), catalogue, tables] = row.as_slice() else { continue };
            if let (Some(of), Some(version)) = (name.strip_prefix(uuids::PREFIX), catalogue) {
                stored.uuids.insert(of.to_string(), version.parse().unwrap_or(0));
                continue;
            }
            let (Some(catalogue), Some(tables)) = (catalogue, tables) else { continue };
            if *name != self.keyspace.name.value {
                return Err(Error::new(
                    ErrorKind::Mismatch,
                    "this Cassandra keyspace belongs to another keyspace file: name another one in \
                     the URL",
                )
                .with("place", self.place)
                .with("belongs_to", name)
                .with("given", &self.keyspace.name.value));
            }
            self.check_format().await?;
            stored.catalogue = Some(catalogue.clone().into_bytes());
            stored.tables = serde_json::from_str(tables).map_err(|error| {
                Error::new(ErrorKind::Corrupt, "the list of tables cannot be read").caused_by(error)
            })?;
        }
        Ok(stored)
    }

    async fn check_format(&self) -> Result<()> {
        let select =
            format!("SELECT CAST(format AS text) FROM {} WHERE name = ?", self.helper_name());
        let rows = self.texts(&select, &[value::text(&self.keyspace.name.value)]).await?;
        let found = rows.into_iter().flatten().next().flatten().unwrap_or_default();
        match found == FORMAT.to_string() {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::Mismatch,
                "the tables were written by another version of Keyway; export with that one",
            )),
        }
    }

    /// The numbers for the keyspace. Whether a table has rows is asked only if it matters.
    async fn catalogue(&self, stored: &Stored, found: &Inventory) -> Result<Catalogue> {
        let known = stored.catalogue.as_deref();
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
        for (number, table) in &stored.tables {
            if let Some(columns) = found.get(table)
                && self.has_rows(table, columns).await?
            {
                full.insert(*number);
            }
        }
        Catalogue::open(known, self.keyspace, &|number| !full.contains(&number))
    }

    /// Whether a table has rows that are there; those that are gone stay for a while.
    pub(super) async fn has_rows(&self, table: &str, columns: &[Column]) -> Result<bool> {
        let has = |name: &str| columns.iter().any(|column| column.name == name);
        let there = match (has("_dead"), has("_sums")) {
            (true, _) => " WHERE \"_dead\" = false LIMIT 1 ALLOW FILTERING".to_string(),
            (false, true) => format!(" WHERE total >= {} LIMIT 1 ALLOW FILTERING", i64::MIN),
            (false, false) => " LIMIT 1".to_string(),
        };
        let Some(first) = columns.first() else { return Ok(false) };
        let (column, table) = (Dialect::Cql.name(&first.name), Dialect::Cql.name(table));
        Ok(!self.texts(&format!("SELECT {column} FROM {table}{there}"), &[]).await?.is_empty())
    }

    /// The table each number has now.
    fn numbered(&self, catalogue: &Catalogue) -> Result<BTreeMap<u16, String>> {
        let mut tables = BTreeMap::new();
        for table in &self.layout.tables {
            let names: Vec<String> = match &table.table.purpose {
                Purpose::Rows(members) => members.iter().map(|m| m.collection.clone()).collect(),
                Purpose::Entries { collection, index, .. } => vec![format!("{collection}.{index}")],
                Purpose::Slices { .. } | Purpose::Catalogue | Purpose::Calls => Vec::new(),
            };
            for name in names {
                let number = catalogue.spaces.get(&name).ok_or_else(|| {
                    Error::new(ErrorKind::Internal, "a table has no number").with("table", &name)
                })?;
                tables.insert(*number, table.table.name.clone());
            }
        }
        Ok(tables)
    }

    /// Makes, changes and drops tables, and then keeps the numbers.
    async fn change(
        &self,
        stored: &Stored,
        catalogue: &Catalogue,
        tables: &BTreeMap<u16, String>,
    ) -> Result<()> {
        // Another program may have changed them while this one waited.
        let mut found = self.inventory().await?;
        for (number, table) in &stored.tables {
            let is_used = tables.values().any(|name| name == table);
            let (Some(name), Some(columns)) = (catalogue.dropped.get(number), found.get(table))
            else {
                continue;
            };
            let is_index = name.contains('.');
            if !is_used && (is_index || !self.has_rows(table, columns).await?) {
                self.run(&format!("DROP TABLE IF EXISTS {}", Dialect::Cql.name(table))).await?;
                found.remove(table);
            }
        }
        for table in &self.layout.tables {
            let was = tables.iter().find(|(_, name)| **name == table.table.name);
            let was = was.and_then(|(number, _)| stored.tables.get(number)).map(String::as_str);
            structure::make(self, table, was, &found).await?;
        }
        self.keep(stored, &catalogue.to_bytes(), tables).await
    }

    async fn keep(
        &self,
        stored: &Stored,
        catalogue: &[u8],
        tables: &BTreeMap<u16, String>,
    ) -> Result<()> {
        let text = format!(
            "UPDATE {} SET format = ?, catalogue = ?, tables = ?, at = toTimestamp(now()) \
             WHERE name = ? IF catalogue = ?",
            self.helper_name()
        );
        let tables = serde_json::to_string(tables).map_err(|error| {
            Error::new(ErrorKind::Internal, "the list of tables has no text").caused_by(error)
        })?;
        let text_of = |bytes: &[u8]| value::text(&String::from_utf8_lossy(bytes));
        let cells = vec![
            Cell::Bytes(bytes::Bytes::copy_from_slice(&FORMAT.to_be_bytes())),
            text_of(catalogue),
            value::text(&tables),
            value::text(&self.keyspace.name.value),
            stored.catalogue.as_deref().map_or(Cell::Null, text_of),
        ];
        match self.judged(&text, cells).await? {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::Unavailable,
                "another program changed the tables at the same time; open the store again",
            )),
        }
    }

    /// Sends a judged statement; says whether it was applied.
    async fn judged(&self, text: &str, cells: Vec<Cell>) -> Result<bool> {
        let mut tries = Tries::new(self.until);
        loop {
            match self.judged_once(text, cells.clone()).await {
                Ok(applied) => return Ok(applied),
                // Whether it was taken is not known: whoever opens the store again finds out.
                Err(Fault::Lost(error)) => return Err(error),
                Err(fault) => tries.failed(fault).await?,
            }
        }
    }

    async fn judged_once(&self, text: &str, cells: Vec<Cell>) -> Result<bool, Fault> {
        let statement = self.client.prepare(text, Way::Judged).await?;
        let answer = self.client.send(&(statement, cells), self.until).await?;
        is_applied(answer).map_err(Fault::Refused)
    }

    /// One program at a time makes tables.
    async fn lock(&self) -> Result<()> {
        let text = format!(
            "INSERT INTO {} (name, at) VALUES (?, toTimestamp(now())) IF NOT EXISTS USING TTL ?",
            self.helper_name()
        );
        loop {
            if self.judged(&text, vec![value::text(LOCK), value::int(LOCK_SECONDS)]).await? {
                return Ok(());
            }
            if Instant::now() >= self.until {
                return Err(Error::new(
                    ErrorKind::Unavailable,
                    "another program is making the tables of this keyspace",
                ));
            }
            sleep(Duration::from_millis(200)).await;
        }
    }

    /// A lock that is not taken away goes by itself.
    async fn unlock(&self) {
        let text = format!("DELETE FROM {} WHERE name = ? IF EXISTS", self.helper_name());
        let _ = self.judged(&text, vec![value::text(LOCK)]).await;
    }
}
