//! KW308: an index stands for a record, a text value or a bare key, not for a number.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for collection in facts.keyspace.collections.iter().filter(|c| c.is_counted()) {
        for index in &collection.indexes {
            let message = format!("`{}` holds numbers, and has an index", collection.name.value);
            problems.push(
                Diagnostic::new(&codes::NO_CONTENT_FOR_INDEX, index.name.span, message)
                    .effect("every add would have to move the entry")
                    .fix("put what the index needs into the key, and list its group")
                    .fix("or keep a record with an integer field, and index that"),
            );
        }
    }
}
