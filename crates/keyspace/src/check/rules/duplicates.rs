//! KW007, KW009 and KW011: one name for one thing, one id for one pattern, and something to store.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::source::Span;
use std::collections::HashMap;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    tables(facts, problems);
    ids(facts, problems);
    renames(facts, problems);
    let keyspace = &facts.tree;
    let has = |table: &str| keyspace.keys.iter().any(|key| key.value == table);
    let missing = match (!has("collection") && !has("history"), !has("pattern")) {
        (true, _) => Some((
            "collections",
            "[collection.notes]\nkey = \"note:{note_id: uuid = new}\"\n\
             fields = { text = \"text\" }\n\n[pattern.add_note]\ninsert = \"notes\"\n\
             allow = \"user\"\n\n[pattern.get_note]\nget = \"notes\"",
        )),
        (false, true) => Some(("patterns", "[pattern.get_note]\nget = \"notes\"")),
        (false, false) => None,
    };
    if let Some((what, lines)) = missing {
        let message = format!("the keyspace has no {what}");
        problems.push(
            Diagnostic::new(&codes::EMPTY_KEYSPACE, keyspace.keyspace.span, message)
                .paste("declare one, for example", lines)
                .fix("or begin with `keyway new NAME`"),
        );
    }
}

/// A collection's table, an index's, and the helpers that slices need share one space of names.
fn tables(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    let mut seen: HashMap<String, (Span, String)> = HashMap::new();
    for key in facts.keys() {
        let (name, span) = match key.index {
            Some(index) => (index.name.value.clone(), index.name.span),
            None => (key.collection.table.clone(), key.collection.name.span),
        };
        let mut names = vec![(name.clone(), format!("`{}`", key.text()))];
        if key.bucket().is_some() {
            names.push((format!("{name}_buckets"), format!("the slices of `{}`", key.text())));
        }
        for (name, what) in names {
            match seen.get(&name) {
                Some((first, other)) => {
                    let message = format!("{what} and {other} would both be the table `{name}`");
                    problems.push(
                        Diagnostic::new(&codes::DUPLICATE_NAME, span, message)
                            .also(*first, "the other one")
                            .fix("rename one of them")
                            .fix("or give the collection another table: `table = \"…\"`"),
                    );
                }
                None => drop(seen.insert(name, (span, what))),
            }
        }
    }
}

fn ids(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    let patterns = facts.tree.patterns.iter().filter_map(|pattern| pattern.id.as_ref());
    let deferred = facts.tree.deferred.iter().map(|deferred| &deferred.id);
    let mut seen: HashMap<&str, Span> = HashMap::new();
    for id in patterns.chain(deferred) {
        let first = *seen.entry(&id.value).or_insert(id.span);
        if first != id.span {
            let message = format!("the id `{}` is used twice", id.value);
            problems.push(
                Diagnostic::new(&codes::DUPLICATE_ID, id.span, message)
                    .also(first, "first here")
                    .fix("give each pattern an id of its own"),
            );
        }
    }
}

/// What was renamed is no longer there under its old name.
fn renames(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    let collections = || facts.tree.collections.iter();
    let indexes = || collections().flat_map(|collection| &collection.indexes);
    let mut names: HashMap<&str, Span> = HashMap::new();
    names.extend(collections().map(|collection| (&*collection.name.value, collection.name.span)));
    names.extend(indexes().map(|index| (&*index.name.value, index.name.span)));
    let was = collections().filter_map(|collection| collection.was.as_ref());
    for was in was.chain(indexes().filter_map(|index| index.was.as_ref())) {
        if let Some(there) = names.get(was.value.as_str()) {
            let message = format!("this was `{}`, which is still there", was.value);
            problems.push(
                Diagnostic::new(&codes::DUPLICATE_NAME, was.span, message)
                    .also(*there, "it is declared here")
                    .effect("rows of one would be taken for rows of the other")
                    .fix("leave `was` out"),
            );
        }
    }
}
