//! Who touches what: the patterns of a keyspace, sorted by the collection and index they go to.
//!
//! Both diagrams are drawn from these bands, so that they tell the same story. Inside a band the
//! patterns that go by the collection's own key come first, then those of each index in the order
//! of the file: lines drawn from left to right never cross.

use crate::model::{Allow, Collection, Index, Keyspace, Pattern, StepAction, Target, Verb};
use std::sync::Arc;

/// A collection with everything that goes to it.
pub(super) struct Band<'a> {
    /// The collection.
    pub collection: &'a Collection,
    /// What goes by its own key.
    pub direct: Vec<Touch<'a>>,
    /// What goes by another key.
    pub indexes: Vec<(&'a Index, Vec<Touch<'a>>)>,
}

/// One use of a collection.
#[derive(Clone, Copy)]
pub(super) enum Touch<'a> {
    /// A pattern of its own.
    Pattern(&'a Pattern),
    /// A row that an `atomic` looks at.
    Check(&'a Pattern),
}

impl<'a> Touch<'a> {
    /// Whether it only reads.
    pub fn is_read(self) -> bool {
        match self {
            Touch::Pattern(pattern) => pattern.verb.is_read(),
            Touch::Check(_) => true,
        }
    }

    /// The verb, as it is declared.
    pub fn verb(self) -> &'static str {
        match self {
            Touch::Pattern(pattern) => pattern.verb.name(),
            Touch::Check(_) => "check",
        }
    }

    /// The name it is shown with: the pattern's, or that of the `atomic` that checks.
    pub fn name(self) -> &'a str {
        match self {
            Touch::Pattern(pattern) | Touch::Check(pattern) => &pattern.name.value,
        }
    }

    /// What the pattern is for.
    pub fn about(self) -> Option<&'a str> {
        match self {
            Touch::Pattern(pattern) | Touch::Check(pattern) => pattern.about.as_deref(),
        }
    }

    /// The id in the application's documents; `step` where nobody calls it directly.
    pub fn mark(self) -> Option<&'a str> {
        match self {
            Touch::Pattern(pattern) => match &pattern.id {
                Some(id) => Some(&id.value),
                None => (pattern.allow == Allow::Step).then_some("step"),
            },
            Touch::Check(_) => None,
        }
    }
}

impl<'a> Band<'a> {
    /// Everything that goes to it, from the top to the bottom.
    pub fn touches(&self) -> impl Iterator<Item = Touch<'a>> {
        self.direct.iter().chain(self.indexes.iter().flat_map(|(_, touches)| touches)).copied()
    }
}

/// The bands of a keyspace, in the order of its collections.
pub(super) fn bands(keyspace: &Keyspace) -> Vec<Band<'_>> {
    keyspace.collections.iter().map(|collection| band(keyspace, collection)).collect()
}

/// The `atomic` patterns, in the order of the file.
pub(super) fn atomics(keyspace: &Keyspace) -> impl Iterator<Item = &Arc<Pattern>> {
    keyspace.patterns.iter().filter(|pattern| pattern.verb == Verb::Atomic)
}

/// The `atomic` patterns that run this one as a step.
pub(super) fn atomics_with<'a>(
    keyspace: &'a Keyspace,
    pattern: &'a Pattern,
) -> impl Iterator<Item = &'a Arc<Pattern>> {
    atomics(keyspace).filter(move |atomic| {
        atomic.steps.iter().any(|step| match &step.action {
            StepAction::Run(run) => run.name.value == pattern.name.value,
            StepAction::Check { .. } => false,
        })
    })
}

fn band<'a>(keyspace: &'a Keyspace, collection: &'a Arc<Collection>) -> Band<'a> {
    let touches = touches(keyspace, collection);
    let by = |name: Option<&str>| -> Vec<Touch<'a>> {
        let goes = |target: &Target| target.index.as_ref().map(|i| i.name.value.as_str()) == name;
        touches.iter().filter(|(target, _)| goes(target)).map(|(_, touch)| *touch).collect()
    };
    let indexes = collection.indexes.iter();
    Band {
        collection,
        direct: by(None),
        indexes: indexes.map(|index| (index.as_ref(), by(Some(&index.name.value)))).collect(),
    }
}

/// Everything that goes to a collection and the key it goes by: reads, then writes, then checks.
fn touches<'a>(keyspace: &'a Keyspace, collection: &'a Collection) -> Vec<(&'a Target, Touch<'a>)> {
    let mut touches = Vec::new();
    for pattern in keyspace.patterns_of(collection) {
        if let Some(target) = &pattern.target {
            touches.push((target, Touch::Pattern(pattern)));
        }
    }
    for atomic in atomics(keyspace) {
        for step in &atomic.steps {
            if let StepAction::Check { target, .. } = &step.action
                && target.collection.name.value == collection.name.value
            {
                touches.push((target, Touch::Check(atomic)));
            }
        }
    }
    touches.sort_by_key(|(_, touch)| match touch {
        Touch::Check(_) => 2,
        Touch::Pattern(pattern) if pattern.verb.is_read() => 0,
        Touch::Pattern(_) => 1,
    });
    touches
}
