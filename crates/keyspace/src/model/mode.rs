//! The mode of a collection: how its rows are written, the same on every store.
//!
//! Changing a mode is a migration, since on group-atomic stores it decides between a plain batch
//! and a lightweight transaction, and the two never mix on one table. How a store keeps the rows
//! may be stricter than their mode: callers do not see it.

use super::collection::{Collection, Content};
use super::expression::ExpressionKind;
use super::pattern::{Pattern, StepAction, Verb};
use super::types::DefaultValue;
use super::{Index, Keyspace, StoreKind};
use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// No write depends on what is stored: last writer wins, no version.
    Plain,
    /// Writes are judged against the stored row, which has a version.
    Conditional,
    /// An exact counter.
    Counter,
    /// An exact counter with an end and a limit.
    Window,
    /// Rows under keys that their version makes unique; never overwritten.
    History,
}

impl Mode {
    /// Whether rows have a version.
    pub fn has_version(self) -> bool {
        self == Mode::Conditional
    }

    /// Whether a write needs no look at what is stored.
    pub fn is_unconditional(self) -> bool {
        matches!(self, Mode::Plain | Mode::History)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Mode::Plain => "plain",
            Mode::Conditional => "conditional",
            Mode::Counter => "counter",
            Mode::Window => "window",
            Mode::History => "history",
        })
    }
}

/// Why each conditional collection is, by name; worked out once.
#[derive(Clone, Debug, Default)]
pub struct Reasons(OnceLock<HashMap<String, String>>);

impl Keyspace {
    /// The mode of a collection.
    pub fn mode(&self, collection: &Collection) -> Mode {
        match (&collection.content, &collection.history) {
            (_, Some(_)) => Mode::History,
            (Content::Counter, _) => Mode::Counter,
            (Content::Window { .. }, _) => Mode::Window,
            _ if self.why_conditional(collection).is_none() => Mode::Plain,
            _ => Mode::Conditional,
        }
    }

    /// How a store keeps the rows of a collection, whatever callers see of it.
    ///
    /// A row and its entries change together by one batch, or by being compared. Where a batch
    /// reaches one place and they lie in several, only the second is left: whoever removes a row
    /// could otherwise take the entry that another has just written for a new one.
    pub fn kept_mode(&self, store: StoreKind, collection: &Collection) -> Mode {
        let mode = self.mode(collection);
        let apart = store == StoreKind::RedisCluster && !collection.indexes.is_empty();
        if mode == Mode::Plain && apart { Mode::Conditional } else { mode }
    }

    /// The first reason for which a collection is conditional, in words; none if it is plain.
    pub fn why_conditional(&self, collection: &Collection) -> Option<&str> {
        let reasons = self.reasons.0.get_or_init(|| self.reasons());
        reasons.get(&collection.name.value).map(String::as_str)
    }

    /// Reasons of their own first; then rows that change, or live, with conditional ones, since on
    /// one table plain and conditional writes never mix.
    fn reasons(&self) -> HashMap<String, String> {
        let mut reasons = HashMap::new();
        for collection in &self.collections {
            if let Some(reason) = self.own_reason(collection) {
                reasons.insert(collection.name.value.clone(), reason);
            }
        }
        let mut groups: HashMap<String, Vec<&Collection>> = HashMap::new();
        for collection in &self.collections {
            let group = super::Key::template_of(collection.key.group(), self.separator);
            groups.entry(group).or_default().push(collection);
        }
        loop {
            let before = reasons.len();
            for pattern in self.patterns.iter().filter(|pattern| !pattern.steps.is_empty()) {
                let touched = step_collections(pattern);
                if let Some(cause) = touched.iter().find(|name| reasons.contains_key(**name)) {
                    let reason = format!("{} changes it with {cause}", pattern.name.value);
                    for name in &touched {
                        reasons.entry(name.to_string()).or_insert_with(|| reason.clone());
                    }
                }
            }
            for collection in &self.collections {
                if reasons.contains_key(&collection.name.value) {
                    continue;
                }
                let group = super::Key::template_of(collection.key.group(), self.separator);
                let neighbour = groups.get(&group).into_iter().flatten().find(|other| {
                    reasons.contains_key(&other.name.value)
                        && lives_in_its_group(other)
                        && lives_in_its_group(collection)
                        && other.key.shares_group_with(&collection.key)
                });
                if let Some(neighbour) = neighbour {
                    let reason = format!("it shares its group with {}", neighbour.name.value);
                    reasons.insert(collection.name.value.clone(), reason);
                }
            }
            if reasons.len() == before {
                return reasons;
            }
        }
    }

    /// Why a collection is conditional by itself.
    fn own_reason(&self, collection: &Collection) -> Option<String> {
        for (what, owner) in [("owner", &collection.owner), ("tenant", &collection.tenant)] {
            if owner.as_ref().is_some_and(|owner| owner.is_field) {
                return Some(format!("its {what} is a field, checked on every use"));
            }
        }
        if let Some(reason) = collection.indexes.iter().find_map(|i| index_reason(collection, i)) {
            return Some(reason);
        }
        if self.is_checked(collection) {
            return Some("an atomic looks at its rows".to_string());
        }
        self.patterns_of(collection).find_map(|pattern| pattern_reason(collection, pattern))
    }
}

/// Whether rows lie with those of other collections of their group: slices and histories lie apart.
fn lives_in_its_group(collection: &Collection) -> bool {
    collection.bucket.is_none() && collection.history.is_none()
}

/// The collections a batch writes or looks at.
fn step_collections(pattern: &Pattern) -> Vec<&str> {
    let targets = pattern.steps.iter().filter_map(|step| match &step.action {
        StepAction::Run(run) => run.target.as_ref(),
        StepAction::Check { target, .. } => Some(target),
    });
    targets.map(|target| target.collection.name.value.as_str()).collect()
}

/// Why an index makes its collection conditional.
fn index_reason(collection: &Collection, index: &Index) -> Option<String> {
    let name = &index.name.value;
    if index.unique {
        return Some(format!("{name} is unique"));
    }
    if collection.immutable {
        return None;
    }
    if index.when.is_some() {
        return Some(format!("{name} has a `when`"));
    }
    let depends =
        index.key.segments().filter_map(|segment| segment.source.as_ref()).any(|source| {
            let mut on_fields = false;
            source.walk(&mut |inner| {
                if let ExpressionKind::Member(member) = &inner.kind {
                    on_fields |= collection.key.segment(member).is_none();
                }
            });
            on_fields
        });
    if depends {
        return Some(format!("{name} depends on fields that change"));
    }
    let keeps = !index.keep.is_empty();
    keeps.then(|| format!("{name} keeps fields that change"))
}

/// Why a pattern makes its collection conditional.
fn pattern_reason(collection: &Collection, pattern: &Pattern) -> Option<String> {
    let name = &pattern.name.value;
    let new_id = collection
        .key
        .segments()
        .any(|segment| matches!(segment.default, Some(DefaultValue::New(_))));
    let plain = match pattern.verb {
        // A put of an immutable row must see what is there.
        Verb::Put if collection.immutable => false,
        Verb::Put | Verb::Delete => pattern.condition.is_none() && !pattern.if_version,
        Verb::Insert => collection.immutable && new_id && !pattern.existing_returned,
        verb => verb.is_read(),
    };
    (!plain).then(|| match pattern.condition {
        Some(_) => format!("{name} has an `if`"),
        None if pattern.if_version => format!("{name} takes a version"),
        None => format!("{name} may meet a row: it is `{}`", pattern.verb),
    })
}
