//! KW007, KW009 and KW011: one name for one thing, one id for one pattern, and something to store.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::source::{Span, Spanned};

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    tables(facts, problems);
    ids(facts, problems);
    let keyspace = &facts.tree;
    let missing = match (keyspace.collections.is_empty(), keyspace.patterns.is_empty()) {
        (true, _) => Some((
            "collections",
            "[collection.notes]\nkey = \"note:{note_id: uuid = new}\"\n\
             fields = { text = \"text\" }",
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
    let mut seen: Vec<(String, Span, String)> = Vec::new();
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
            match seen.iter().find(|(known, _, _)| *known == name) {
                Some((_, first, other)) => {
                    let message = format!("{what} and {other} would both be the table `{name}`");
                    problems.push(
                        Diagnostic::new(&codes::DUPLICATE_NAME, span, message)
                            .also(*first, "the other one")
                            .fix("rename one of them")
                            .fix("or give the collection another table: `table = \"…\"`"),
                    );
                }
                None => seen.push((name, span, what)),
            }
        }
    }
}

fn ids(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    let patterns = facts.tree.patterns.iter().filter_map(|pattern| pattern.id.as_ref());
    let deferred = facts.tree.deferred.iter().map(|deferred| &deferred.id);
    let mut seen: Vec<&Spanned<String>> = Vec::new();
    for id in patterns.chain(deferred) {
        if let Some(first) = seen.iter().find(|known| known.value == id.value) {
            let message = format!("the id `{}` is used twice", id.value);
            problems.push(
                Diagnostic::new(&codes::DUPLICATE_ID, id.span, message)
                    .also(first.span, "first here")
                    .fix("give each pattern an id of its own"),
            );
        }
        seen.push(id);
    }
}
