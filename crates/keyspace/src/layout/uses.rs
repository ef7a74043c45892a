//! Which patterns go by which key: what a layout keeps an order for, and what it prints.
//!
//! Also the name of a record's body beside its fields. Nothing here knows a store.

use crate::model::{Collection, Index, Key, Keyspace, StepAction, Target, Verb};

/// What something in a store is there for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serves {
    /// The collection's name.
    pub collection: String,
    /// The index's name; none for the rows themselves.
    pub index: Option<String>,
}

impl Serves {
    pub(super) fn new(collection: &Collection, index: Option<&Index>) -> Serves {
        Serves {
            collection: collection.name.value.clone(),
            index: index.map(|index| index.name.value.clone()),
        }
    }

    /// The name of what is served: the index's, or the collection's own.
    pub fn name(&self) -> &str {
        self.index.as_ref().unwrap_or(&self.collection)
    }

    fn is_target(&self, target: &Target) -> bool {
        let index = target.index.as_ref().map(|index| index.name.value.as_str());
        target.collection.name.value == self.collection && index == self.index.as_deref()
    }
}

/// The patterns that go by this key, an `atomic` that looks at it among them, in file order.
pub(super) fn patterns<'a>(keyspace: &'a Keyspace, serves: &Serves) -> Vec<&'a str> {
    let uses = keyspace.patterns.iter().filter(|pattern| {
        let targets = pattern.target.as_ref().is_some_and(|target| serves.is_target(target));
        let checks = pattern.steps.iter().any(|step| match &step.action {
            StepAction::Check { target, .. } => serves.is_target(target),
            StepAction::Run(_) => false,
        });
        targets || checks
    });
    uses.map(|pattern| pattern.name.value.as_str()).collect()
}

/// Whether some pattern walks along the groups of this key.
pub(super) fn is_listed(keyspace: &Keyspace, serves: &Serves) -> bool {
    keyspace.patterns.iter().any(|pattern| {
        let walks = matches!(
            pattern.verb,
            Verb::List
                | Verb::Near
                | Verb::Take
                | Verb::Load
                | Verb::Compact
                | Verb::Fork
                | Verb::Collect
        );
        walks && pattern.target.as_ref().is_some_and(|target| serves.is_target(target))
    })
}

/// Whether some pattern asserts the order in which rows of this key are answered.
pub(super) fn is_ordered(keyspace: &Keyspace, serves: &Serves) -> bool {
    keyspace.patterns.iter().any(|pattern| {
        pattern.order.is_some()
            && pattern.target.as_ref().is_some_and(|target| serves.is_target(target))
    })
}

/// The key of what is served.
pub(super) fn key<'a>(keyspace: &'a Keyspace, serves: &Serves) -> Option<&'a Key> {
    let collection = keyspace.collection(&serves.collection)?;
    match &serves.index {
        Some(name) => collection.index(name).map(|index| &index.key),
        None => Some(&collection.key),
    }
}

/// The name of a record's body beside its fields, as people see them. No field begins with `_`.
pub fn body_name(keyspace: &Keyspace, collection: &Collection) -> &'static str {
    let taken = collection.fields().iter().any(|field| keyspace.shown(&field.name) == "data");
    if taken { "_data" } else { "data" }
}
