//! The tree: a keyspace file as it is written, every piece with its place.
//!
//! Nothing is resolved here: names may lead nowhere and types may not fit. The checker turns a tree
//! into a `Keyspace`.

use super::strings::SourceString;
use super::template::Template;
use crate::model::{DefaultValue, Expression, FileName, Naming, StoreKind, Type, Verb};
use crate::source::{Span, Spanned};

/// A whole file.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Whether there is a tree at all: not of what is no TOML.
    pub is_readable: bool,
    /// Every table that was written, or meant.
    pub keys: Vec<Spanned<String>>,
    /// `[keyspace]`.
    pub keyspace: KeyspaceTree,
    /// `[collection.*]` and `[history.*]`, in the order of the file.
    pub collections: Vec<CollectionTree>,
    /// `[pattern.*]`.
    pub patterns: Vec<PatternTree>,
    /// `[deferred.*]`.
    pub deferred: Vec<DeferredTree>,
}

/// `[keyspace]`.
#[derive(Clone, Debug, Default)]
pub struct KeyspaceTree {
    /// The table's head.
    pub span: Span,
    /// `name`.
    pub name: Option<Spanned<String>>,
    /// `about`.
    pub about: Option<String>,
    /// `separator`.
    pub separator: Option<char>,
    /// `names`.
    pub naming: Naming,
    /// `stores`.
    pub stores: Vec<Spanned<StoreKind>>,
}

/// `[collection.NAME]` or `[history.NAME]`.
#[derive(Clone, Debug)]
pub struct CollectionTree {
    /// Its name.
    pub name: Spanned<String>,
    /// Whether it is a history.
    pub is_history: bool,
    /// `key`.
    pub key: Option<Template>,
    /// `fields`.
    pub fields: Option<Vec<FieldTree>>,
    /// Whether something of the fields could not be read.
    pub fields_unread: bool,
    /// `value`.
    pub value: Option<Spanned<String>>,
    /// `limit`, of a window.
    pub limit: Option<Spanned<u64>>,
    /// `per`, of a window, in milliseconds.
    pub per: Option<Spanned<u64>>,
    /// `body`.
    pub body: Option<Spanned<String>>,
    /// `immutable`.
    pub immutable: Option<Spanned<bool>>,
    /// `ttl`.
    pub ttl: Option<SourceString>,
    /// `cache`.
    pub cache: Option<Spanned<bool>>,
    /// `owner`.
    pub owner: Option<Spanned<String>>,
    /// `tenant`.
    pub tenant: Option<Spanned<String>>,
    /// `bucket`.
    pub bucket: Option<BucketTree>,
    /// `expect`.
    pub expect: ExpectTree,
    /// `file`.
    pub file: Option<FileName>,
    /// `fields_file`.
    pub fields_file: Option<FileName>,
    /// `table`.
    pub table: Option<Spanned<String>>,
    /// `was`.
    pub was: Option<Spanned<String>>,
    /// `notes`.
    pub notes: Option<String>,
    /// `index.*`.
    pub indexes: Vec<IndexTree>,
    /// `keep`, of a history.
    pub keep: Option<Spanned<KeepTree>>,
    /// `compact_when`, of a history.
    pub compact_when: Option<Spanned<String>>,
    /// Every key that was written, or meant, with its place.
    pub keys: Vec<Spanned<String>>,
}

/// What `keep` of a history says.
#[derive(Clone, Debug)]
pub enum KeepTree {
    /// A text: `all` or a length of time.
    Text(String),
    /// A number of versions.
    Versions(u64),
}

/// A field.
#[derive(Clone, Debug)]
pub struct FieldTree {
    /// Its name.
    pub name: Spanned<String>,
    /// Its type.
    pub field_type: Spanned<Type>,
    /// What fills it.
    pub default: Option<Spanned<DefaultValue>>,
}

/// `bucket`.
#[derive(Clone, Debug)]
pub struct BucketTree {
    /// `by`.
    pub by: Spanned<String>,
    /// `every`, in milliseconds.
    pub every: Spanned<u64>,
    /// The whole table.
    pub span: Span,
}

/// `expect`.
#[derive(Clone, Debug, Default)]
pub struct ExpectTree {
    /// `rows_per_group`.
    pub rows_per_group: Option<Spanned<u64>>,
    /// `rows_per_day`.
    pub rows_per_day: Option<Spanned<u64>>,
    /// `row_bytes`.
    pub row_bytes: Option<Spanned<u64>>,
}

/// `index.NAME`.
#[derive(Clone, Debug)]
pub struct IndexTree {
    /// Its name.
    pub name: Spanned<String>,
    /// `key`.
    pub key: Option<Template>,
    /// `unique`.
    pub unique: Option<Spanned<bool>>,
    /// `keep`.
    pub keep: Vec<Spanned<String>>,
    /// `when`.
    pub when: Option<Expression>,
    /// `bucket`.
    pub bucket: Option<BucketTree>,
    /// `expect`.
    pub expect: ExpectTree,
    /// `file`.
    pub file: Option<FileName>,
    /// `was`.
    pub was: Option<Spanned<String>>,
    /// `notes`.
    pub notes: Option<String>,
    /// Every key that was written, or meant, with its place.
    pub keys: Vec<Spanned<String>>,
}

/// `[pattern.NAME]`.
#[derive(Clone, Debug)]
pub struct PatternTree {
    /// Its name.
    pub name: Spanned<String>,
    /// `id`.
    pub id: Option<Spanned<String>>,
    /// `about`.
    pub about: Option<String>,
    /// `notes`.
    pub notes: Option<String>,
    /// The verbs, each with its key's place and its target.
    pub verbs: Vec<VerbTree>,
    /// `by`.
    pub by: Option<Vec<Spanned<String>>>,
    /// `bind`.
    pub bind: Vec<(Spanned<String>, Expression)>,
    /// `arguments`.
    pub arguments: Vec<FieldTree>,
    /// `set`.
    pub set: Option<Spanned<Vec<Spanned<String>>>>,
    /// `compute`.
    pub compute: Vec<(Spanned<String>, Expression)>,
    /// `if`, with its key's place.
    pub condition: Option<(Expression, Span)>,
    /// `if_version`.
    pub if_version: Option<Spanned<bool>>,
    /// `page`.
    pub page: Option<Spanned<u64>>,
    /// `many`.
    pub many: Option<Spanned<u64>>,
    /// `order`.
    pub order: Option<Spanned<String>>,
    /// `fields`.
    pub fields: Option<Vec<Spanned<String>>>,
    /// `existing`.
    pub existing: Option<Spanned<String>>,
    /// `missing`.
    pub missing: Option<Spanned<String>>,
    /// `max_radius`.
    pub max_radius: Option<Spanned<f64>>,
    /// `allow`.
    pub allow: Option<AllowTree>,
    /// Every key that was written, or meant, with its place.
    pub keys: Vec<Spanned<String>>,
}

/// A verb and what it is used on.
#[derive(Clone, Debug)]
pub struct VerbTree {
    /// The verb.
    pub verb: Verb,
    /// The verb's key.
    pub span: Span,
    /// What it is used on, for all but `atomic`.
    pub target: Option<Spanned<String>>,
    /// The steps of an `atomic`.
    pub steps: Vec<StepTree>,
    /// Whether the target, or every step, could be read.
    pub is_readable: bool,
}

/// A step of an `atomic`.
#[derive(Clone, Debug)]
pub struct StepTree {
    /// `run`, or the bare name.
    pub run: Option<Spanned<String>>,
    /// `check`.
    pub check: Option<Spanned<String>>,
    /// `as`.
    pub name: Option<Spanned<String>>,
    /// `bind`.
    pub bind: Vec<(Spanned<String>, Expression)>,
    /// `if`.
    pub condition: Option<(Expression, Span)>,
    /// The whole step.
    pub span: Span,
}

/// `allow`.
#[derive(Clone, Debug)]
pub enum AllowTree {
    /// `"owner"`, `"role:admin"`, ….
    Word(Spanned<String>),
    /// `{ member = …, caller = …, if = … }`.
    Member {
        /// `member`.
        member: Option<Spanned<String>>,
        /// `caller`.
        caller: Option<Spanned<String>>,
        /// `if`.
        condition: Option<Expression>,
        /// The whole table.
        span: Span,
    },
}

/// `[deferred.ID]`.
#[derive(Clone, Debug)]
pub struct DeferredTree {
    /// Its id.
    pub id: Spanned<String>,
    /// `about`.
    pub about: Option<String>,
    /// `reason`.
    pub reason: Option<String>,
    /// The table's head.
    pub span: Span,
}
