//! KW010: with `names = "camelCase"`, two names of one record are shown as two.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Naming, camel_case};
use crate::source::Span;
use std::collections::HashMap;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    if facts.keyspace.naming == Naming::AsWritten {
        return;
    }
    for collection in &facts.keyspace.collections {
        let segments = collection.key.segments().map(|s| (s.name.as_str(), s.span));
        let fields = collection.fields().iter().map(|f| (f.name.as_str(), f.span));
        alike(segments.chain(fields), problems);
    }
    let patterns = facts.keyspace.patterns.iter();
    alike(patterns.map(|p| (p.name.value.as_str(), p.name.span)), problems);
}

fn alike<'a>(names: impl Iterator<Item = (&'a str, Span)>, problems: &mut Vec<Diagnostic>) {
    let mut seen: HashMap<String, (&str, Span)> = HashMap::new();
    for (name, span) in names {
        let shown = camel_case(name);
        let (other, first) = *seen.entry(shown.clone()).or_insert((name, span));
        if other != name {
            let message = format!("`{name}` and `{other}` are both shown as `{shown}`");
            problems.push(
                Diagnostic::new(&codes::SHOWN_ALIKE, span, message)
                    .also(first, "the other one")
                    .fix("rename one of them"),
            );
        }
    }
}
