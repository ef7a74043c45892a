//! Collections, their indexes, and what their rows hold.

use super::expression::Expression;
use super::key::Key;
use super::types::{DefaultValue, Type};
use crate::source::{Span, Spanned};
use std::sync::Arc;

/// Rows that share one key template.
#[derive(Clone, Debug)]
pub struct Collection {
    /// Its name.
    pub name: Spanned<String>,
    /// The table's name on SQL and Cassandra: its own name, or the one declared.
    pub table: String,
    /// The name it had before.
    pub was: Option<String>,
    /// Its key.
    pub key: Key,
    /// What a row holds.
    pub content: Content,
    /// A body kept byte for byte beside the fields.
    pub body: Option<BodyType>,
    /// Other keys for the same records.
    pub indexes: Vec<Arc<Index>>,
    /// Rows are never changed.
    pub immutable: bool,
    /// When rows end.
    pub ttl: Option<Ttl>,
    /// Rows may be lost at any time.
    pub cache: bool,
    /// The segment or field that holds whose row it is.
    pub owner: Option<Owner>,
    /// The segment or field that holds the tenant.
    pub tenant: Option<Owner>,
    /// Time slices of a group.
    pub bucket: Option<Bucket>,
    /// What the developer expects.
    pub expect: Expect,
    /// The file's name on disk.
    pub file: Option<FileName>,
    /// The name of the file with the fields, beside a body.
    pub fields_file: Option<FileName>,
    /// Words for the documents.
    pub notes: Option<String>,
    /// For a history: how it is kept small.
    pub history: Option<History>,
}

/// What a row holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Nothing beyond its key.
    Keys,
    /// A record.
    Fields(Vec<Field>),
    /// Any JSON value.
    Json,
    /// A text.
    Text,
    /// Bytes.
    Bytes,
    /// An exact `i64` that is added to.
    Counter,
    /// An exact counter that ends after `per` and refuses what goes over `limit`; without
    /// constants of its own, both are bound by an `atomic`.
    Window {
        /// What may be added in one window.
        limit: Option<u64>,
        /// How long a window is, in milliseconds.
        per: Option<u64>,
    },
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub field_type: Type,
    /// What fills it when a call does not.
    pub default: Option<DefaultValue>,
    /// The field in the file.
    pub span: Span,
}

impl Field {
    /// Whether a call must give it.
    pub fn is_required(&self) -> bool {
        self.default.is_none() && !self.field_type.is_optional()
    }

    /// Whether a call may give it.
    pub fn is_argument(&self) -> bool {
        self.default.as_ref().is_none_or(DefaultValue::is_constant)
    }
}

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyType {
    /// Raw bytes.
    Bytes,
    /// UTF-8 text.
    Text,
}

/// When rows end.
#[derive(Clone, Debug, PartialEq)]
pub enum Ttl {
    /// So many milliseconds after the insert or put.
    After(u64),
    /// At the instant in this field, or never where it is null.
    Field(String),
}

/// Where the owner, or the tenant, of a row is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Owner {
    /// The segment's or field's name.
    pub name: String,
    /// Whether it is a field rather than a key segment.
    pub is_field: bool,
    /// The name in the file.
    pub span: Span,
}

/// Time slices of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Bucket {
    /// The segment that holds the time.
    pub by: String,
    /// The length of a slice, in milliseconds.
    pub every: u64,
    /// The table in the file.
    pub span: Span,
}

/// What the checker calculates with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expect {
    /// Rows of the largest group.
    pub rows_per_group: Option<u64>,
    /// Rows added to the busiest group a day.
    pub rows_per_day: Option<u64>,
    /// Bytes of a row.
    pub row_bytes: Option<u64>,
}

/// A file's name: literals and segments that may touch each other, in directories.
#[derive(Clone, Debug, PartialEq)]
pub struct FileName {
    /// Literals (`/` included) and names of segments or fields.
    pub parts: Vec<FilePart>,
    /// The name in the file.
    pub span: Span,
}

/// A piece of a file's name.
#[derive(Clone, Debug, PartialEq)]
pub enum FilePart {
    /// Fixed text; `/` begins a directory.
    Literal(String),
    /// The text of a segment or field.
    Member(String),
}

/// Another key for the records of a collection.
#[derive(Clone, Debug)]
pub struct Index {
    /// Its name, which is its table's.
    pub name: Spanned<String>,
    /// Its key; the primary segments it lacks are appended, unless it is unique.
    pub key: Key,
    /// One live owner a value.
    pub unique: bool,
    /// Fields copied into the entry.
    pub keep: Vec<Spanned<String>>,
    /// Which records have an entry.
    pub when: Option<Expression>,
    /// Time slices of a group.
    pub bucket: Option<Bucket>,
    /// What the developer expects.
    pub expect: Expect,
    /// The file's name on disk, one entry a line.
    pub file: Option<FileName>,
    /// The name it had before.
    pub was: Option<String>,
    /// Words for the documents.
    pub notes: Option<String>,
    /// The most entries one record has: one, or what its `each` can give.
    pub entries_max: u64,
}

impl Index {
    /// Whether one record may have several entries.
    pub fn is_plural(&self) -> bool {
        self.key.segments().any(|segment| {
            segment
                .source
                .as_ref()
                .is_some_and(|source| source.calls(super::expression::Function::Each))
        })
    }
}

/// How a history is kept small.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// What `collect` leaves.
    pub keep: HistoryKeep,
    /// Whether updates are folded into a snapshot as soon as they outweigh it.
    pub compact_when_larger: bool,
}

/// What `collect` leaves of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryKeep {
    /// Everything.
    All,
    /// What is younger than so many milliseconds.
    Age(u64),
    /// The newest so many versions.
    Versions(u64),
}

impl Collection {
    /// The fields of a record; none for other contents.
    pub fn fields(&self) -> &[Field] {
        match &self.content {
            Content::Fields(fields) => fields,
            _ => &[],
        }
    }

    /// The field with this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields().iter().find(|field| field.name == name)
    }

    /// The index with this name.
    pub fn index(&self, name: &str) -> Option<&Arc<Index>> {
        self.indexes.iter().find(|index| index.name.value == name)
    }

    /// The type of a field or key segment of its records.
    pub fn member_type(&self, name: &str) -> Option<&Type> {
        match self.field(name) {
            Some(field) => Some(&field.field_type),
            None => self.key.segment(name).map(|segment| &segment.segment_type),
        }
    }

    /// Every name of a record's segments and fields, in order.
    pub fn member_names(&self) -> Vec<&str> {
        let segments = self.key.segments().map(|segment| segment.name.as_str());
        segments.chain(self.fields().iter().map(|field| field.name.as_str())).collect()
    }

    /// Whether rows have a value instead of fields.
    pub fn has_value(&self) -> bool {
        !matches!(self.content, Content::Fields(_) | Content::Keys)
    }

    /// Whether rows are counters or windows.
    pub fn is_counted(&self) -> bool {
        matches!(self.content, Content::Counter | Content::Window { .. })
    }

    /// The bytes of a usual row, key included: what is declared, or a sum over the types.
    pub fn row_bytes_usual(&self) -> u64 {
        if let Some(bytes) = self.expect.row_bytes {
            return bytes;
        }
        let key: u64 = self.key.segments().map(|segment| segment.segment_type.bytes_usual()).sum();
        let fields: u64 = self.fields().iter().map(|field| field.field_type.bytes_usual()).sum();
        let value = match self.content {
            Content::Json => 256,
            Content::Text | Content::Bytes => 64,
            Content::Counter | Content::Window { .. } => 8,
            Content::Keys | Content::Fields(_) => 0,
        };
        let body = if self.body.is_some() { 1_024 } else { 0 };
        let history = if self.history.is_some() { 4_096 } else { 0 };
        key + fields + value + body + history
    }

    /// The most bytes of a row, key included: the sum over the types, or the limit.
    pub fn row_bytes_max(&self) -> u64 {
        use super::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
        let mut types = self.fields().iter().map(|field| field.field_type.bytes_max());
        let content = match self.content {
            Content::Counter | Content::Window { .. } => Some(32),
            Content::Keys => Some(0),
            Content::Fields(_) => types.try_fold(0u64, |sum, bytes| Some(sum + bytes? + 4)),
            Content::Json | Content::Text | Content::Bytes => None,
        };
        let content = content.unwrap_or(VALUE_BYTES_MAX).min(VALUE_BYTES_MAX);
        let body = if self.body.is_some() { VALUE_BYTES_MAX } else { 0 };
        KEY_BYTES_MAX as u64 + content + body
    }
}
