//! KW115: unique text that people type is folded, or two spellings are two values.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{ExpressionKind, Type};

/// Endings of fields that machines write.
const MACHINE_MADE: [&str; 6] = ["_id", "_hash", "_key", "_token", "_digest", "_code"];

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for collection in &facts.keyspace.collections {
        for index in collection.indexes.iter().filter(|index| index.unique) {
            for segment in index.key.segments() {
                let Some(source) = &segment.source else { continue };
                let ExpressionKind::Member(name) = &source.kind else { continue };
                let typed_by_people = collection.field(name).is_some_and(|field| {
                    *field.field_type.required() == Type::Text
                        && !MACHINE_MADE.iter().any(|ending| name.ends_with(ending))
                });
                if !typed_by_people {
                    continue;
                }
                let message = format!("`{name}` is unique as it is typed, capitals and all");
                problems.push(
                    Diagnostic::new(&codes::CASE_OF_UNIQUE, source.span, message)
                        .effect(format!(
                            "two rows could hold the same {name} in different case, and a look-up \
                             in the other case finds nothing"
                        ))
                        .replace("fold it", source.span, format!("lower({name})")),
                );
            }
        }
    }
}
