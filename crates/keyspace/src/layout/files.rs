//! A tree of files: which path a row has, and what is in the file.
//!
//! ```text
//! key    guild:42:members:7          kel/EAID | ESAID, file = "{said}.{event_type}.cesr"
//! path   guild/42/members/7.json     kel/EAID/ESAID.icp.cesr
//! ```
//!
//! Every part of a key is a directory and the last one a file, unless `file` says otherwise. The
//! name of a file never takes part in a look-up: what is where is known from memory, read once
//! when the tree is opened. No path may be made anywhere else.

pub mod name;
mod print;

use super::Serves;
use crate::model::{
    BodyType, Collection, Content, FileName, FilePart, Index, Key, Keyspace, Part, Type,
};

pub use print::print;

/// The directory in which Keyway keeps what is its own.
pub const OWN_DIRECTORY: &str = ".keyway";
/// Ends the name of a JSON file.
pub const JSON: &str = ".json";
/// Ends the name of the fields' file beside a body, where none is declared.
pub const FIELDS: &str = ".fields.json";
/// Ends the name of a value where a directory of the bare name can stand beside it.
pub const VALUE: &str = ".value";

/// What is in a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Holds {
    /// A record's fields, JSON over several lines.
    Record,
    /// The fields of a record whose body is another file, JSON over several lines.
    Fields,
    /// A body, byte for byte.
    Body(BodyType),
    /// A JSON value over several lines.
    Json,
    /// A text and nothing else.
    Text,
    /// Bytes and nothing else.
    Bytes,
    /// A count, in decimal digits. When a window ends is written in `.keyway`.
    Count,
    /// Nothing: the key is all there is.
    Nothing,
    /// The entries of an index, one a line, in order; these parts of the key, as text. After them a
    /// tab and the fields it keeps as JSON, if it keeps any. Of a unique index: the owner's key.
    Entries(Vec<Part>),
}

impl Holds {
    /// Whether the file's name has no ending of its own unless one is declared.
    fn is_bare(&self) -> bool {
        !matches!(self, Holds::Record | Holds::Fields | Holds::Json | Holds::Entries(_))
    }
}

/// A file of the tree: a template for its path and what is in it.
#[derive(Clone, Debug)]
pub struct TreeFile {
    /// Its path below the root: literals, `/` among them, and names of segments or fields.
    pub path: Vec<FilePart>,
    /// What is in it.
    pub holds: Holds,
    /// What it serves.
    pub serves: Serves,
}

/// Every kind of file of a keyspace, in file order. Indexes without one live in memory.
pub fn files(keyspace: &Keyspace) -> Vec<TreeFile> {
    let mut found = Vec::new();
    for collection in &keyspace.collections {
        of_rows(collection, &mut found);
        for index in &collection.indexes {
            of_index(collection, index, &mut found);
        }
    }
    let clashes: Vec<bool> = found.iter().map(|file| has_below(file, &found)).collect();
    for (file, clashes) in found.iter_mut().zip(clashes) {
        let declared = keyspace.collection(&file.serves.collection).is_some_and(is_named);
        if clashes && !declared && file.holds.is_bare() {
            file.path.push(FilePart::Literal(VALUE.to_string()));
        }
    }
    found
}

/// Whether an index has files; others are in memory, rebuilt when the tree is opened.
pub fn is_on_disk(index: &Index) -> bool {
    index.file.is_some()
}

fn is_named(collection: &std::sync::Arc<Collection>) -> bool {
    collection.file.is_some()
}

fn of_rows(collection: &Collection, found: &mut Vec<TreeFile>) {
    let serves = Serves::new(collection, None);
    let holds = match (&collection.content, collection.body) {
        (_, Some(body)) => Holds::Body(body),
        (Content::Fields(_), None) => Holds::Record,
        (Content::Json, None) => Holds::Json,
        (Content::Text, None) => Holds::Text,
        (Content::Bytes, None) => Holds::Bytes,
        (Content::Counter | Content::Window { .. }, None) => Holds::Count,
        (Content::Keys, None) => Holds::Nothing,
    };
    let path = match &collection.file {
        Some(file) => declared_path(&collection.key, file),
        None => {
            let mut path = directories(&collection.key.parts);
            if matches!(holds, Holds::Record | Holds::Json) {
                path.push(FilePart::Literal(JSON.to_string()));
            }
            path
        }
    };
    let has_both = collection.body.is_some() && !collection.fields().is_empty();
    let fields = has_both.then(|| match &collection.fields_file {
        Some(file) => file.parts.clone(),
        None => {
            let ending = FilePart::Literal(FIELDS.to_string());
            path.iter().cloned().chain(std::iter::once(ending)).collect()
        }
    });
    found.push(TreeFile { path, holds, serves: serves.clone() });
    found.extend(fields.map(|path| TreeFile { path, holds: Holds::Fields, serves }));
}

fn of_index(collection: &Collection, index: &Index, found: &mut Vec<TreeFile>) {
    let Some(file) = &index.file else { return };
    let path = declared_path(&index.key, file);
    let in_path = |part: &Part| match part {
        Part::Literal(_) => false,
        Part::Segment(segment) => uses_member(&path, &segment.name),
    };
    let line = match index.unique {
        true => collection.key.parts.clone(),
        false => index.key.rest().iter().filter(|part| !in_path(part)).cloned().collect(),
    };
    let serves = Serves::new(collection, Some(index));
    found.push(TreeFile { path, holds: Holds::Entries(line), serves });
}

/// The path of a declared name: below the group's directory, or beside it if the name uses the
/// group's last segment.
fn declared_path(key: &Key, file: &FileName) -> Vec<FilePart> {
    let last = key.group_segments().last();
    let beside = last.is_some_and(|segment| uses_member(&file.parts, &segment.name));
    let group = key.group();
    let kept = if beside { group.len().saturating_sub(1) } else { group.len() };
    let mut path = directories(group.get(..kept).unwrap_or(group));
    if !path.is_empty() {
        path.push(FilePart::Literal("/".to_string()));
    }
    path.extend(file.parts.iter().cloned());
    path
}

/// The parts of a key as a path.
fn directories(parts: &[Part]) -> Vec<FilePart> {
    let mut path = Vec::new();
    for part in parts {
        if !path.is_empty() {
            path.push(FilePart::Literal("/".to_string()));
        }
        path.push(match part {
            Part::Literal(literal) => FilePart::Literal(literal.clone()),
            Part::Segment(segment) => FilePart::Member(segment.name.clone()),
        });
    }
    // A path may be the beginning of another, and a file cannot hold files.
    let ends_in_path = parts.last().and_then(Part::segment);
    if ends_in_path.is_some_and(|segment| segment.segment_type == Type::Path) {
        path.push(FilePart::Literal(VALUE.to_string()));
    }
    path
}

fn uses_member(parts: &[FilePart], name: &str) -> bool {
    parts.iter().any(|part| matches!(part, FilePart::Member(member) if member == name))
}

/// Whether a path of some other kind of file can go on below this one.
fn has_below(file: &TreeFile, all: &[TreeFile]) -> bool {
    let own = steps(&file.path);
    all.iter().any(|other| {
        let others = steps(&other.path);
        let mut pairs = own.iter().zip(&others);
        others.len() > own.len()
            && pairs.all(|pair| !matches!(pair, (Some(left), Some(right)) if left != right))
    })
}

/// The names along a path; none where a value decides the name.
fn steps(path: &[FilePart]) -> Vec<Option<String>> {
    let mut steps = vec![Some(String::new())];
    for part in path {
        match part {
            FilePart::Member(_) => {
                steps.pop();
                steps.push(None);
            }
            FilePart::Literal(text) => {
                for (number, name) in text.split('/').enumerate() {
                    if number > 0 {
                        steps.push(Some(String::new()));
                    }
                    if let Some(Some(last)) = steps.last_mut() {
                        last.push_str(name);
                    }
                }
            }
        }
    }
    steps
}
