//! What a change touches: the record, the entries and claims it may gain and lose, and whether the
//! stored row must be known first.
//!
//! ```text
//! pattern ─of─▶ effect: 1 record, users_by_email −1 +1, needs the old row ─cost─▶ bounds
//! ```

use super::bound::Binding;
use super::step::{Change, EntryChange};
use crate::model::{
    Collection, DefaultValue, ExpressionKind, Index, Keyspace, Mode, Pattern, Target, Ttl, Verb,
};
use std::sync::Arc;

/// What one change, or one check, touches.
#[derive(Clone, Debug)]
pub(super) struct Effect {
    /// Whose rows.
    pub collection: Arc<Collection>,
    /// How they are written.
    pub mode: Mode,
    /// How they change; none if they are only looked at.
    pub verb: Option<Verb>,
    /// How many at most.
    pub rows: u64,
    /// Whether the stored row must be read before anything can be written.
    pub reads_old: bool,
    /// Whether its version is known without reading it: the key is new, or it was just read.
    pub version_known: bool,
    /// The index its key is found through.
    pub through: Option<Arc<Index>>,
    /// The entries it gains and loses.
    pub entries: Vec<Entries>,
    /// The target as it is written.
    pub target: String,
}

/// Entries one record gains and loses in one index.
#[derive(Clone, Debug)]
pub(super) struct Entries {
    /// The index.
    pub index: Arc<Index>,
    /// Gained at most.
    pub added: u64,
    /// Lost at most.
    pub removed: u64,
}

impl Effect {
    /// What a pattern that writes touches; none for an `atomic` and for reads.
    pub fn of(keyspace: &Keyspace, pattern: &Pattern) -> Option<Effect> {
        let target = pattern.target.as_ref().filter(|_| !pattern.verb.is_read())?;
        let collection = target.collection.clone();
        let mode = keyspace.mode(&collection);
        let fresh = pattern.verb == Verb::Insert && has_new_segment(&collection);
        let entries = collection.indexes.iter().filter_map(|index| entries(pattern, index));
        Some(Effect {
            mode,
            verb: Some(pattern.verb),
            rows: pattern.many.unwrap_or(1),
            reads_old: reads_old(&collection, mode, pattern),
            version_known: fresh,
            through: target.index.clone().filter(|_| pattern.verb != Verb::Take),
            entries: entries.collect(),
            target: collection_text(target),
            collection,
        })
    }

    /// What looking at a row touches.
    pub fn of_check(keyspace: &Keyspace, target: &Target) -> Effect {
        Effect {
            collection: target.collection.clone(),
            mode: keyspace.mode(&target.collection),
            verb: None,
            rows: 1,
            reads_old: true,
            version_known: false,
            through: target.index.clone(),
            entries: Vec::new(),
            target: collection_text(target),
        }
    }

    /// The change as a step shows it.
    pub fn change(&self, binding: Binding<'_>, separator: char) -> Change {
        let entries = self.entries.iter().map(|entries| EntryChange {
            index: entries.index.name.value.clone(),
            unique: entries.index.unique,
            added: entries.added,
            removed: entries.removed,
        });
        Change {
            verb: self.verb,
            target: self.target.clone(),
            key: binding.key(&self.collection.key, separator),
            rows: self.rows,
            entries: entries.collect(),
        }
    }
}

fn collection_text(target: &Target) -> String {
    let name = &target.collection.name.value;
    target.field.as_ref().map_or_else(|| name.clone(), |field| format!("{name}.{field}"))
}

fn has_new_segment(collection: &Collection) -> bool {
    let mut segments = collection.key.segments();
    segments.any(|segment| matches!(segment.default, Some(DefaultValue::New(_))))
}

/// Whether a change reads the stored row before it writes anything: what a plan counts, and what
/// whoever runs it goes by.
pub fn reads_stored_row(keyspace: &Keyspace, pattern: &Pattern) -> bool {
    let collection = pattern.target.as_ref().map(|target| &target.collection);
    collection.is_some_and(|of| reads_old(of, keyspace.mode(of), pattern))
}

/// Whether the stored row must be read before anything can be written.
fn reads_old(collection: &Collection, mode: Mode, pattern: &Pattern) -> bool {
    let indexed =
        collection.indexes.iter().any(|index| index.unique || on_fields(index, collection));
    let judged = pattern.condition.is_some()
        || [&collection.owner, &collection.tenant].into_iter().flatten().any(|o| o.is_field);
    match pattern.verb {
        // A row of this key may be there: to be answered, to be compared, or ended with entries
        // that nobody has swept yet.
        Verb::Insert => {
            let ended = collection.ttl.is_some() && !collection.indexes.is_empty();
            let compared = pattern.existing_returned || collection.immutable;
            !has_new_segment(collection) && (compared || ended)
        }
        Verb::Put => mode == Mode::Conditional && (indexed || judged || collection.immutable),
        Verb::Delete => indexed || judged,
        Verb::Update | Verb::Take => true,
        Verb::Add => !collection.is_counted() || judged,
        _ => false,
    }
}

/// Whether entries of an index depend on more than the key of their record.
fn on_fields(index: &Index, collection: &Collection) -> bool {
    members(index).iter().any(|name| collection.key.segment(name).is_none())
}

/// The members of a record that decide its entries and what they hold.
fn members(index: &Index) -> Vec<&str> {
    let mut names: Vec<&str> = index.keep.iter().map(|field| field.value.as_str()).collect();
    let sources = index.key.segments().filter_map(|segment| segment.source.as_ref());
    for source in sources.chain(index.when.as_ref()) {
        source.walk(&mut |inner| {
            if let ExpressionKind::Member(name) = &inner.kind {
                names.push(name);
            }
        });
    }
    names
}

/// What a record gains and loses in one index; none if the change cannot concern it.
fn entries(pattern: &Pattern, index: &Arc<Index>) -> Option<Entries> {
    let collection = &pattern.target.as_ref()?.collection;
    let most = index.entries_max;
    let only_if = |holds: bool| if holds { most } else { 0 };
    let (added, removed) = match pattern.verb {
        Verb::Insert => (most, only_if(collection.ttl.is_some() && !has_new_segment(collection))),
        Verb::Put => (most, only_if(on_fields(index, collection))),
        Verb::Delete => (0, most),
        Verb::Update | Verb::Take | Verb::Add => {
            let moves = moves(pattern, index, collection);
            (only_if(moves || pattern.missing_created), only_if(moves))
        }
        _ => (0, 0),
    };
    let concerned = added > 0 || removed > 0;
    concerned.then(|| Entries { index: index.clone(), added, removed })
}

/// Whether changing some fields changes entries of an index.
fn moves(pattern: &Pattern, index: &Index, collection: &Collection) -> bool {
    let set = pattern.set.iter().map(|field| field.value.as_str());
    let computed = pattern.compute.iter().map(|assignment| assignment.name.value.as_str());
    let touched = collection.fields().iter().filter_map(|field| {
        matches!(field.default, Some(DefaultValue::Touch)).then_some(field.name.as_str())
    });
    let added = pattern.target.as_ref().and_then(|target| target.field.as_deref());
    let changed: Vec<&str> = set.chain(computed).chain(touched).chain(added).collect();
    // Entries end with their row, so a new end is a new entry.
    let ends = matches!(&collection.ttl, Some(Ttl::Field(end)) if changed.contains(&end.as_str()));
    ends || members(index).iter().any(|name| changed.contains(name))
}
