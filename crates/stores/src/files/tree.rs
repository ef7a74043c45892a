//! The tree of a keyspace: for every number of its schema, which files its rows and entries have.
//!
//! Made once for a schema, from the layout that `keyway layout` prints; nothing else decides where
//! something lies.

use super::content::RowFiles;
use super::index_file::IndexFile;
use data::schema::{Schema, Space};
use data::store::Key;
use data::{Error, ErrorKind, Result, Value};
use keyspace::layout::files::name::Case;
use keyspace::layout::files::{Holds, TreeFile, files};
use keyspace::model::FilePart;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Where everything of a keyspace lies.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) schema: Arc<Schema>,
    pub(super) case: Case,
    rows: HashMap<u16, Arc<RowFiles>>,
    indexes: HashMap<u16, Arc<IndexFile>>,
}

impl Tree {
    /// The tree of a schema, on a disk that tells cases apart or not.
    pub(super) fn new(schema: Arc<Schema>, case: Case) -> Result<Tree> {
        let all = files(schema.keyspace());
        let mut rows = HashMap::new();
        let mut indexes = HashMap::new();
        for collection in schema.collections() {
            let own = |file: &&TreeFile| file.serves.collection == collection.name();
            let mut own_files = all.iter().filter(own).filter(|file| file.serves.index.is_none());
            let main = own_files.next().ok_or_else(without_files)?;
            let fields = own_files.find(|file| file.holds == Holds::Fields);
            let files = RowFiles::new(schema.keyspace(), collection, main, fields)?;
            rows.insert(collection.key.space, Arc::new(files));
            for (number, index) in collection.indexes.iter().enumerate() {
                let of = |file: &&TreeFile| file.serves.index.as_deref() == Some(index.name());
                let Some(file) = all.iter().filter(own).find(of) else { continue };
                let Holds::Entries(line) = &file.holds else { return Err(without_files()) };
                let named = (file.path.as_slice(), line.as_slice());
                let file = IndexFile::new(schema.keyspace(), collection.clone(), number, named)?;
                indexes.insert(index.key.space, Arc::new(file));
            }
        }
        Ok(Tree { schema, case, rows, indexes })
    }

    /// The files of the rows with this number; none where it is that of an index.
    pub(super) fn rows(&self, space: u16) -> Result<Option<&Arc<RowFiles>>> {
        match self.schema.space(space)? {
            Space::Rows(_) => self.rows.get(&space).map(Some).ok_or_else(without_files),
            Space::Entries(..) => Ok(None),
            Space::Slices(_) => Err(without_files()),
        }
    }

    /// The file of the entries with this number, if their index has files.
    pub(super) fn index(&self, space: u16) -> Option<&Arc<IndexFile>> {
        self.indexes.get(&space)
    }

    /// The files of all kinds of rows.
    pub(super) fn all_rows(&self) -> impl Iterator<Item = &Arc<RowFiles>> {
        let numbers = self.schema.collections().iter().map(|collection| collection.key.space);
        numbers.filter_map(|number| self.rows.get(&number))
    }

    /// The files of all indexes that have some.
    pub(super) fn all_indexes(&self) -> impl Iterator<Item = &Arc<IndexFile>> {
        self.indexes.values()
    }

    /// The values of a key of a row.
    pub(super) fn segments(&self, files: &RowFiles, key: &Key) -> Result<Vec<Value>> {
        files.collection.key.decode(key)
    }
}

/// What decides where the rows of each collection lie, in words: if it changes, they would be
/// looked for elsewhere. By the number of the collection, or of the index.
pub(super) fn places(schema: &Schema) -> BTreeMap<u16, Vec<String>> {
    let keyspace = schema.keyspace();
    let mut places: BTreeMap<u16, Vec<String>> = BTreeMap::new();
    for file in files(keyspace) {
        let Ok(collection) = schema.collection(&file.serves.collection) else { continue };
        let mut words = vec![template(&file.path)];
        let space = match &file.serves.index {
            None => {
                if matches!(file.holds, Holds::Record | Holds::Fields) {
                    words.push(format!("names {:?}", keyspace.naming));
                }
                collection.key.space
            }
            Some(name) => {
                let index = collection.indexes.iter().find(|index| index.name() == name);
                let Some(index) = index else { continue };
                index.key.space
            }
        };
        places.entry(space).or_default().extend(words);
    }
    places
}

fn template(path: &[FilePart]) -> String {
    path.iter().fold(String::new(), |text, part| match part {
        FilePart::Literal(literal) => text + literal,
        FilePart::Member(name) => format!("{text}{{{name}}}"),
    })
}

fn without_files() -> Error {
    Error::new(ErrorKind::Internal, "a collection has no files in its layout")
}
