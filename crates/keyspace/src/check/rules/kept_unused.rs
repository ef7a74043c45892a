//! KW312: a kept field saves somebody a second read.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for collection in &facts.keyspace.collections {
        for index in collection.indexes.iter().filter(|index| !index.keep.is_empty()) {
            let through: Vec<_> = facts
                .keyspace
                .patterns_of(collection)
                .filter(|pattern| {
                    let target = pattern.target.as_ref().and_then(|target| target.index.as_ref());
                    target.is_some_and(|used| used.name.value == index.name.value)
                })
                .collect();
            for kept in &index.keep {
                let used = through.iter().any(|pattern| {
                    pattern.is_covered()
                        && pattern
                            .fields
                            .as_ref()
                            .is_none_or(|fields| fields.iter().any(|f| f.value == kept.value))
                });
                if used {
                    continue;
                }
                let name = &index.name.value;
                let message =
                    format!("`{}` is kept in `{name}`, and spares nobody a read", kept.value);
                problems.push(
                    Diagnostic::new(&codes::KEPT_UNUSED, kept.span, message)
                        .fix(format!("ask for kept fields only: `fields = [\"{}\"]`", kept.value))
                        .fix("or leave it out of `keep`"),
                );
            }
        }
    }
}
