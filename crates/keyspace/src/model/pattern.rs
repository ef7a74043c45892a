//! Access patterns: the questions and changes an application makes, by name.
//!
//! A pattern here is resolved: its target exists, its arguments are known with their types, and its
//! expressions are typed. What it costs is in `plan`.

use super::collection::{Collection, Index};
use super::expression::Expression;
use super::key::Key;
use super::types::Type;
use crate::source::{Span, Spanned};
use std::fmt;
use std::sync::Arc;

/// A named access pattern.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Its name.
    pub name: Spanned<String>,
    /// The id it has in the application's documents.
    pub id: Option<Spanned<String>>,
    /// What it is for, in a sentence.
    pub about: Option<String>,
    /// Words for the documents.
    pub notes: Option<String>,
    /// What it does.
    pub verb: Verb,
    /// The verb's key in the file.
    pub verb_span: Span,
    /// What it reads or writes; none for an `atomic`.
    pub target: Option<Target>,
    /// What a call gives, in order; what is filled or bound is not among them.
    pub arguments: Vec<Argument>,
    /// The segments that a call, a binding or the caller fixes, in key order.
    pub by: Vec<String>,
    /// Arguments fixed to expressions.
    pub bind: Vec<Assignment>,
    /// Fields an `update` may change.
    pub set: Vec<Spanned<String>>,
    /// Fields the pattern itself changes.
    pub compute: Vec<Assignment>,
    /// A condition on the stored record, judged in the commit.
    pub condition: Option<Expression>,
    /// Whether the caller may give the version it read.
    pub if_version: bool,
    /// Rows of one answer.
    pub page: Option<u64>,
    /// Keys or rows of one call.
    pub many: Option<u64>,
    /// What the answer is sorted by, asserted.
    pub order: Option<Order>,
    /// The fields that are answered; all without it.
    pub fields: Option<Vec<Spanned<String>>>,
    /// An `insert` that meets its row answers it instead of a conflict.
    pub existing_returned: bool,
    /// An `update` of a missing row creates it.
    pub missing_created: bool,
    /// Metres, for `near`.
    pub radius_max: Option<f64>,
    /// Who may.
    pub allow: Allow,
    /// Whether `allow` was written.
    pub allow_declared: bool,
    /// The steps of an `atomic`.
    pub steps: Vec<Step>,
}

/// What a pattern does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// One row, or many, by whole keys.
    Get,
    /// A page of a group.
    List,
    /// Rows around a point.
    Near,
    /// A new row.
    Insert,
    /// A row created or replaced.
    Put,
    /// Some fields of a row.
    Update,
    /// A row removed.
    Delete,
    /// A counter, a window or an integer field added to.
    Add,
    /// The first row that fits, changed and returned.
    Take,
    /// Several in one batch.
    Atomic,
    /// An update added to a history.
    Append,
    /// A history read.
    Load,
    /// A snapshot that covers updates.
    Compact,
    /// A branch begun.
    Fork,
    /// What a history no longer wants, removed.
    Collect,
}

impl Verb {
    /// Every verb.
    pub const ALL: [Verb; 15] = [
        Verb::Get,
        Verb::List,
        Verb::Near,
        Verb::Insert,
        Verb::Put,
        Verb::Update,
        Verb::Delete,
        Verb::Add,
        Verb::Take,
        Verb::Atomic,
        Verb::Append,
        Verb::Load,
        Verb::Compact,
        Verb::Fork,
        Verb::Collect,
    ];

    /// The key that declares it.
    pub fn name(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Near => "near",
            Verb::Insert => "insert",
            Verb::Put => "put",
            Verb::Update => "update",
            Verb::Delete => "delete",
            Verb::Add => "add",
            Verb::Take => "take",
            Verb::Atomic => "atomic",
            Verb::Append => "append",
            Verb::Load => "load",
            Verb::Compact => "compact",
            Verb::Fork => "fork",
            Verb::Collect => "collect",
        }
    }

    /// Whether it only reads.
    pub fn is_read(self) -> bool {
        matches!(self, Verb::Get | Verb::List | Verb::Near | Verb::Load)
    }

    /// Whether it concerns histories.
    pub fn is_history(self) -> bool {
        matches!(self, Verb::Append | Verb::Load | Verb::Compact | Verb::Fork | Verb::Collect)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// What a pattern reads or writes.
#[derive(Clone, Debug)]
pub struct Target {
    /// The collection.
    pub collection: Arc<Collection>,
    /// The index it goes through.
    pub index: Option<Arc<Index>>,
    /// The integer field an `add` adds to.
    pub field: Option<String>,
    /// The target in the file.
    pub span: Span,
}

impl Target {
    /// The key it goes by: the index's, or the collection's own.
    pub fn key(&self) -> &Key {
        self.index.as_ref().map_or(&self.collection.key, |index| &index.key)
    }

    /// How it is written: `users`, `users.users_by_email`, `published.calls`.
    pub fn text(&self) -> String {
        let collection = &self.collection.name.value;
        match (&self.index, &self.field) {
            (Some(index), _) => format!("{collection}.{}", index.name.value),
            (None, Some(field)) => format!("{collection}.{field}"),
            (None, None) => collection.clone(),
        }
    }
}

/// Something a call gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// Its type; of `rows`, that of one row is in `RowArguments`.
    pub argument_type: Type,
    /// Whether a call must give it.
    pub required: bool,
    /// What it is for.
    pub role: ArgumentRole,
}

/// What an argument is for.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentRole {
    /// Fixes a key segment.
    Key,
    /// Gives a field; what a call leaves out is filled by its default, or null.
    Field,
    /// Changes a field; what a call leaves out stays as it is.
    Change,
    /// Gives the value of a value collection.
    Value,
    /// Gives the body.
    Body,
    /// What `add` adds.
    Amount,
    /// A window's limit or period: bound by an `atomic`, never given by a caller.
    WindowRule,
    /// The version the caller read.
    Version,
    /// A point or a radius.
    Place,
    /// Keys or rows of a call with `many`: each with these arguments.
    Rows(Vec<Argument>),
    /// Declared by the pattern for its expressions.
    Declared,
    /// Steers a page: `from`, `before`, `starts`, `under`, `limit`, `reverse`, `cursor`.
    Page,
    /// Belongs to a history: `version`, `branch`, `covers`, ….
    History,
}

/// `name = expression`.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// What is given a value.
    pub name: Spanned<String>,
    /// The value.
    pub expression: Expression,
}

/// What an answer is sorted by.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// The field or segment.
    pub by: String,
    /// Largest first.
    pub descending: bool,
    /// The assertion in the file.
    pub span: Span,
}

/// Who may use a pattern.
#[derive(Clone, Debug, PartialEq)]
pub enum Allow {
    /// The owner of the row.
    Owner,
    /// Any caller with a token.
    User,
    /// Callers with this role.
    Role(String),
    /// Anybody; reads only.
    Public,
    /// Nobody directly: a step of an `atomic`.
    Step,
    /// Callers who have a row in a collection.
    Member(Member),
}

/// Membership: the caller's row in another collection.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The collection's name.
    pub collection: String,
    /// The segment that is the caller.
    pub caller: String,
    /// A condition on that row.
    pub condition: Option<Expression>,
}

impl Allow {
    /// The segments and fields of a collection that the caller fills, for a verb.
    pub fn fills(&self, collection: &Collection, verb: Verb) -> Vec<String> {
        let role = matches!(self, Allow::Role(_));
        let mut filled = Vec::new();
        if let Some(owner) = &collection.owner {
            // Reads of others' rows name the owner; writes never do, except for a role.
            let named = match verb.is_read() {
                true => *self != Allow::Owner && *self != Allow::Step,
                false => role,
            };
            if !named {
                filled.push(owner.name.clone());
            }
        }
        if let Some(tenant) = collection.tenant.as_ref().filter(|_| !role) {
            filled.push(tenant.name.clone());
        }
        filled
    }
}

impl fmt::Display for Allow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allow::Owner => formatter.write_str("owner"),
            Allow::User => formatter.write_str("user"),
            Allow::Role(role) => write!(formatter, "role:{role}"),
            Allow::Public => formatter.write_str("public"),
            Allow::Step => formatter.write_str("step"),
            Allow::Member(member) => write!(formatter, "member of {}", member.collection),
        }
    }
}

/// A step of an `atomic`.
#[derive(Clone, Debug)]
pub struct Step {
    /// The name later steps use: `as`, or the pattern's or collection's own.
    pub name: String,
    /// What it does.
    pub action: StepAction,
    /// Arguments fixed to expressions.
    pub bind: Vec<Assignment>,
    /// The step in the file.
    pub span: Span,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum StepAction {
    /// Runs a pattern.
    Run(Arc<Pattern>),
    /// Looks at a row as it was before the batch.
    Check {
        /// The row's key.
        target: Target,
        /// A condition on it; without one, the row must be there.
        condition: Option<Expression>,
    },
}

impl Pattern {
    /// The key it goes by, if it has a target.
    pub fn key(&self) -> Option<&Key> {
        self.target.as_ref().map(Target::key)
    }

    /// The argument with this name.
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }

    /// Whether the index alone answers a read, without reading records.
    pub fn is_covered(&self) -> bool {
        let Some(target) = &self.target else { return false };
        let Some(index) = &target.index else { return false };
        let collection = &target.collection;
        let holds = |name: &str| entry_holds(index, collection, name);
        match &self.fields {
            Some(fields) => fields.iter().all(|field| holds(&field.value)),
            // A whole row is answered with its version, which no entry holds.
            None if self.verb == Verb::Get => false,
            None => {
                let whole =
                    collection.body.is_none() && (!collection.has_value() || holds("value"));
                whole && collection.member_names().into_iter().all(holds)
            }
        }
    }
}

/// Whether an index entry holds a member of the record as it is.
fn entry_holds(index: &Index, collection: &Collection, name: &str) -> bool {
    use super::expression::ExpressionKind;
    let kept = index.keep.iter().any(|field| field.value == name);
    // A unique entry holds the whole primary key as its value.
    let in_primary = index.unique && collection.key.segment(name).is_some();
    let in_key = index.key.segments().any(|segment| match &segment.source {
        Some(source) => matches!(&source.kind, ExpressionKind::Member(member) if member == name),
        None => segment.name == name,
    });
    kept || in_primary || in_key
}
