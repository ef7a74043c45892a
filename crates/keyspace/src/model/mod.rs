//! The keyspace: what a file means, once it has been read, resolved and checked.
//!
//! Everything after the checker (plans, layouts, documents and, later, the run time) works on these
//! types and never looks at the text again.

mod collection;
mod expression;
mod key;
pub mod limits;
mod mode;

mod pattern;
mod store;
mod types;

pub use collection::{
    BodyType, Bucket, Collection, Content, Expect, Field, FileName, FilePart, History, HistoryKeep,
    Index, Owner, Ttl,
};
pub use expression::{
    BinaryOperator, Expression, ExpressionKind, Function, UnaryOperator, duration_text,
};
pub use key::{Key, Part, Segment};
pub use mode::{Mode, Reasons};
pub use pattern::{
    Allow, Argument, ArgumentRole, Assignment, Member, Order, Pattern, Step, StepAction, Target,
    Verb,
};
pub use store::{Atomicity, StoreKind};
pub use types::{DefaultValue, Type};

use crate::source::{Span, Spanned};
use std::sync::Arc;

/// A whole declaration: one file.
#[derive(Clone, Debug)]
pub struct Keyspace {
    /// Its name.
    pub name: Spanned<String>,
    /// What it is for, in a sentence.
    pub about: Option<String>,
    /// What joins the parts of a key: `:` or `/`.
    pub separator: char,
    /// How names are shown in JSON, HTTP, MCP, files and Redis.
    pub naming: Naming,
    /// The stores it is meant for.
    pub stores: Vec<Spanned<StoreKind>>,
    /// Its collections, histories among them, in the order of the file.
    pub collections: Vec<Arc<Collection>>,
    /// Its access patterns, in the order of the file.
    pub patterns: Vec<Arc<Pattern>>,
    /// Questions that wait.
    pub deferred: Vec<Deferred>,
    /// Why collections are conditional; filled when first asked for.
    pub reasons: Reasons,
}

/// How names are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// As written: `created_at`.
    #[default]
    AsWritten,
    /// `createdAt`.
    CamelCase,
}

/// A question that waits, and why.
#[derive(Clone, Debug)]
pub struct Deferred {
    /// Its id.
    pub id: Spanned<String>,
    /// The question.
    pub about: String,
    /// Why it waits.
    pub reason: String,
    /// Its table in the file.
    pub span: Span,
}

impl Keyspace {
    /// The collection with this name.
    pub fn collection(&self, name: &str) -> Option<&Arc<Collection>> {
        self.collections.iter().find(|collection| collection.name.value == name)
    }

    /// The pattern with this name.
    pub fn pattern(&self, name: &str) -> Option<&Arc<Pattern>> {
        self.patterns.iter().find(|pattern| pattern.name.value == name)
    }

    /// A name as people see it.
    pub fn shown(&self, name: &str) -> String {
        match self.naming {
            Naming::AsWritten => name.to_string(),
            Naming::CamelCase => camel_case(name),
        }
    }

    /// Every pattern that runs on a collection, those inside an `atomic` too, as they are declared.
    pub fn patterns_of<'a>(
        &'a self,
        collection: &'a Collection,
    ) -> impl Iterator<Item = &'a Arc<Pattern>> {
        self.patterns.iter().filter(move |pattern| {
            pattern
                .target
                .as_ref()
                .is_some_and(|target| target.collection.name.value == collection.name.value)
        })
    }

    /// Whether some `atomic` looks at rows of this collection.
    pub fn is_checked(&self, collection: &Collection) -> bool {
        self.patterns.iter().flat_map(|pattern| &pattern.steps).any(|step| match &step.action {
            StepAction::Check { target, .. } => {
                target.collection.name.value == collection.name.value
            }
            StepAction::Run(_) => false,
        })
    }
}

/// `created_at` → `createdAt`.
pub fn camel_case(name: &str) -> String {
    let mut shown = String::with_capacity(name.len());
    let mut upper = false;
    for character in name.chars() {
        if character == '_' {
            upper = true;
        } else if upper {
            shown.extend(character.to_uppercase());
            upper = false;
        } else {
            shown.push(character);
        }
    }
    shown
}
