//! The tables of a schema, each with a view for every collection that has rows in it.
//!
//! ```text
//! layout + schema ─▶ tables: names and types of columns ─▶ views: what they hold, see `view`
//! ```
//!
//! Statements name every column; their text never holds a value.

use super::view::View;
use crate::sql::content::Of;
use crate::sql::find::Finder;
use crate::sql::table::unmatched;
use data::schema::{KeyShape, Schema};
use data::store::Key;
use data::{Error, ErrorKind, Result};
use keyspace::layout::cql::{CqlLayout, CqlTable, CqlType};
use keyspace::layout::tables::{Column, Holds, Purpose, Role};
use keyspace::layout::words::Dialect;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// Everything there is for a keyspace.
#[derive(Debug)]
pub(super) struct Tables {
    /// Its schema.
    pub(super) schema: Arc<Schema>,
    /// By the numbers of their spaces, which are small.
    views: Vec<Option<Arc<View>>>,
}

/// A table as it is in the server.
#[derive(Debug)]
pub(super) struct Table {
    /// Its name, as it is written in statements.
    pub(super) name: String,
    /// Whether every write to it is a lightweight transaction.
    pub(super) is_conditional: bool,
    /// Its columns: those of the partition first, then those that order rows, then the others.
    pub(super) columns: Vec<Named>,
    /// How many of them are the partition's.
    pub(super) partition: usize,
    /// How many order rows.
    pub(super) clustering: usize,
    /// The column by which a conditional write is judged.
    pub(super) version: Option<usize>,
    /// Whether a row that is gone leaves what remembers it: a claim does not.
    pub(super) leaves_memory: bool,
    /// Rows that are likely to fit into a page.
    pub(super) page_rows: AtomicUsize,
}

/// A column.
#[derive(Debug)]
pub(super) struct Named {
    /// Its name, as it is written in statements.
    pub(super) name: String,
    /// Its type.
    pub(super) native: CqlType,
    /// Whether larger values stand first.
    pub(super) descending: bool,
}

impl Tables {
    pub(super) fn new(layout: &CqlLayout, schema: Arc<Schema>) -> Result<Tables> {
        let mut views = Vec::new();
        let mut sliced: HashMap<&str, Vec<KeyShape>> = HashMap::new();
        for table in &layout.tables {
            let made = Arc::new(Table::new(table));
            for view in made_views(table, &made, &schema, &mut sliced)? {
                let number = usize::from(view.space);
                if number >= views.len() {
                    views.resize(number + 1, None);
                }
                if let Some(place) = views.get_mut(number) {
                    *place = Some(Arc::new(view));
                }
            }
        }
        Ok(Tables { schema, views })
    }

    fn view(&self, space: u16) -> Option<&Arc<View>> {
        self.views.get(usize::from(space))?.as_ref()
    }

    /// The view on a space.
    pub(super) fn of_space(&self, space: u16) -> Result<&Arc<View>> {
        self.view(space).ok_or_else(|| {
            Error::new(ErrorKind::Corrupt, "a key has a number that the catalogue does not know")
                .with("number", space)
        })
    }

    /// The view on a space of which all is read; nothing if its rows come another way.
    pub(super) fn read_of(&self, space: u16) -> Result<Option<&Arc<View>>> {
        match self.view(space) {
            Some(view) => Ok(Some(view)),
            None => self.schema.space(space).map(|_| None),
        }
    }

    /// The view on the space of a key.
    pub(super) fn of(&self, key: &Key) -> Result<&Arc<View>> {
        self.of_space(key.space())
    }
}

/// The views on a table: one for each collection in it.
fn made_views<'l>(
    table: &'l CqlTable,
    made: &Arc<Table>,
    schema: &Schema,
    sliced: &mut HashMap<&'l str, Vec<KeyShape>>,
) -> Result<Vec<View>> {
    let mut views = Vec::new();
    match &table.table.purpose {
        Purpose::Rows(members) => {
            for member in members {
                let collection = schema.collection(&member.collection)?;
                if collection.model.history.is_some() {
                    continue;
                }
                let finder = Finder { collection, index: None };
                let of = Of::Rows(collection.clone());
                views.push(View::new((table, made), &finder, of, member.kind.as_deref())?);
            }
        }
        Purpose::Entries { collection, index, .. } => {
            let collection = schema.collection(collection)?;
            let number = collection.indexes.iter().position(|known| known.name() == index);
            let number = number.ok_or_else(|| unmatched(index))?;
            let finder = Finder { collection, index: collection.indexes.get(number) };
            let (owner, kept) = (Vec::new(), Vec::new());
            let of = Of::Entries { collection: collection.clone(), index: number, owner, kept };
            views.push(View::new((table, made), &finder, of, None)?);
        }
        Purpose::Slices { table: of } => {
            let shapes = sliced.remove(of.as_str()).unwrap_or_default();
            views.extend(shapes.into_iter().map(|key| View::directory((table, made), key)));
        }
        Purpose::Catalogue | Purpose::Calls => {}
    }
    for view in &views {
        if let Some(slices) = &view.shape().slices {
            let name = table.table.name.as_str();
            // The directory's own shape does not say how long a slice is.
            let directory =
                KeyShape { slices: view.shape().slices.clone(), ..(*slices.directory).clone() };
            sliced.entry(name).or_default().push(directory);
        }
    }
    Ok(views)
}

impl Table {
    fn new(table: &CqlTable) -> Table {
        let dialect = Dialect::Cql;
        let place =
            |role: fn(Role) -> bool| table.table.columns.iter().filter(move |c| role(c.role));
        let key = place(|role| role == Role::Group)
            .chain(place(|role| matches!(role, Role::Order { .. })));
        let columns: Vec<&Column<CqlType>> = key.chain(place(|role| role == Role::Value)).collect();
        let is_claim = matches!(table.table.purpose, Purpose::Entries { unique: true, .. });
        let judged = if is_claim { Holds::Attempt } else { Holds::Version };
        Table {
            name: dialect.name(&table.table.name),
            is_conditional: table.is_conditional,
            partition: table.table.group().count(),
            clustering: table.table.order().count(),
            version: columns.iter().position(|column| column.holds == judged),
            leaves_memory: !is_claim,
            page_rows: AtomicUsize::new(super::read::PAGE_ROWS_FIRST),
            columns: columns
                .iter()
                .map(|column| Named {
                    name: dialect.name(&column.name),
                    native: column.native.clone(),
                    descending: column.is_descending(),
                })
                .collect(),
        }
    }

    /// How many columns are its key.
    pub(super) fn key(&self) -> usize {
        self.partition + self.clustering
    }

    /// The names of some of its columns, with a comma between them.
    pub(super) fn names(&self, range: std::ops::Range<usize>) -> String {
        let names = self.columns.get(range).unwrap_or_default().iter();
        names.map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// `a = ? AND b = ?` for some of its columns.
    pub(super) fn equal(&self, range: std::ops::Range<usize>) -> String {
        let columns = self.columns.get(range).unwrap_or_default().iter();
        let equal = columns.map(|column| format!("{} = ?", column.name));
        equal.collect::<Vec<_>>().join(" AND ")
    }

    /// All columns but those of the partition, as they are read.
    pub(super) fn read(&self) -> String {
        match self.partition == self.columns.len() {
            // A row of its partition alone is there if something is answered.
            true => self.names(0..self.partition),
            false => self.names(self.partition..self.columns.len()),
        }
    }
}
