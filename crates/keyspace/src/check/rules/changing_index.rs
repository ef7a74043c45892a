//! KW117: an index on a field that every write changes pays at every write.

use super::{Facts, GROUP_ATOMIC};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::DefaultValue;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for collection in &facts.keyspace.collections {
        for index in &collection.indexes {
            let touched =
                index.key.segments().filter(|segment| !segment.appended).find(|segment| {
                    let members = segment.source.as_ref().map(|source| source.members());
                    members.into_iter().flatten().any(|name| {
                        collection
                            .field(name)
                            .is_some_and(|field| field.default == Some(DefaultValue::Touch))
                    })
                });
            let Some(segment) = touched else { continue };
            let name = &segment.name;
            let message = format!("`{name}` changes at every write, and so does each entry");
            problems.push(
                Diagnostic::new(&codes::CHANGING_INDEX, segment.span, message)
                    .on(
                        &GROUP_ATOMIC,
                        "each write leaves a tombstone behind, and lists read past them",
                    )
                    .fix(format!("index a coarser time: `floor({name}, '1h')`"))
                    .fix("or a field that is set once, such as `created_at`"),
            );
        }
    }
}
