//! KW406: an index that begins as its collection's key does adds nothing.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{ExpressionKind, Key};

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for collection in &facts.keyspace.collections {
        for index in collection.indexes.iter().filter(|index| index.when.is_none()) {
            if !index.keep.is_empty() || shape(&index.key) != shape(&collection.key) {
                continue;
            }
            let message = format!(
                "`{}` sorts the rows as the key of `{}` does",
                index.name.value, collection.name.value
            );
            problems.push(
                Diagnostic::new(&codes::SAME_AS_KEY, index.key.span, message)
                    .also(collection.key.span, "the key")
                    .fix(format!(
                        "leave the index out, and ask the collection: `list = \"{}\"`",
                        collection.name.value
                    )),
            );
        }
    }
}

/// What decides where a row stands: members, directions, and where the group ends.
fn shape(key: &Key) -> Option<(usize, Vec<(String, bool)>)> {
    let mut members = Vec::new();
    for segment in key.segments() {
        let name = match &segment.source {
            None => segment.name.clone(),
            Some(source) => match &source.kind {
                ExpressionKind::Member(name) => name.clone(),
                _ => return None,
            },
        };
        members.push((name, segment.descending));
    }
    Some((key.group_segments().count(), members))
}
