//! Tree to keyspace: names are looked up, types are given, arguments are worked out.
//!
//! ```text
//! collections ─▶ patterns with one verb ─▶ atomics, which run those
//! ```
//! What cannot be resolved is reported and left out; whatever refers to it says nothing more.

mod allow;
mod arguments;
mod atomic;
mod buckets;
mod changes;
mod collections;
mod histories;
mod implied;
mod indexes;
mod keys;
mod names;
mod patterns;
mod proposal;
mod serves;
mod step_arguments;
mod targets;

pub use collections::members;
pub use proposal::{listing_index, ordered_index};

use crate::diagnostic::Diagnostic;
use crate::model::{Collection, Deferred, Keyspace, Pattern, Reasons};
use crate::parse::Tree;
use crate::source::Spanned;
use names::{NameOf, check_name};
use std::sync::Arc;

/// Resolves a tree.
pub fn resolve(tree: &Tree, problems: &mut Vec<Diagnostic>) -> Keyspace {
    let separator = tree.keyspace.separator.unwrap_or(':');
    if let Some(name) = &tree.keyspace.name {
        check_name(name, NameOf::Keyspace, problems);
    }
    let mut resolver = Resolver { tree, separator, collections: Vec::new(), problems };
    for written in &tree.collections {
        let found = collections::collection(written, separator, resolver.problems);
        resolver.collections.extend(found.map(Arc::new));
    }
    let patterns = resolver.patterns();
    Keyspace {
        name: tree
            .keyspace
            .name
            .clone()
            .unwrap_or_else(|| Spanned::new("keyspace".to_string(), tree.keyspace.span)),
        about: tree.keyspace.about.clone(),
        separator,
        naming: tree.keyspace.naming,
        stores: tree.keyspace.stores.clone(),
        collections: resolver.collections,
        patterns,
        deferred: tree
            .deferred
            .iter()
            .map(|deferred| Deferred {
                id: deferred.id.clone(),
                about: deferred.about.clone().unwrap_or_default(),
                reason: deferred.reason.clone().unwrap_or_default(),
                span: deferred.span,
            })
            .collect(),
        reasons: Reasons::default(),
    }
}

/// What all parts of the resolver share.
struct Resolver<'a> {
    tree: &'a Tree,
    separator: char,
    collections: Vec<Arc<Collection>>,
    problems: &'a mut Vec<Diagnostic>,
}

impl Resolver<'_> {
    fn report(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }

    /// Every pattern, in the order of the file; those with one verb are resolved first, since an
    /// `atomic` may run one that stands below it.
    fn patterns(&mut self) -> Vec<Arc<Pattern>> {
        let tree = self.tree;
        let mut found: Vec<Arc<Pattern>> = Vec::new();
        for written in &tree.patterns {
            check_name(&written.name, NameOf::Pattern, self.problems);
        }
        for written in tree.patterns.iter().filter(|written| !patterns::is_atomic(written)) {
            let pattern = self.single(written);
            found.extend(pattern.map(Arc::new));
        }
        let mut atomics = Vec::new();
        for written in tree.patterns.iter().filter(|written| patterns::is_atomic(written)) {
            let pattern = self.atomic(written, &found);
            atomics.extend(pattern.map(Arc::new));
        }
        found.extend(atomics);
        found.sort_by_key(|pattern| pattern.name.span);
        found
    }
}
