//! KW110: on stores without one clock, a life of seconds is a guess.

use super::{Facts, GROUP_ATOMIC};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Ttl, duration_text};

/// Shorter than the clocks of several machines reliably agree.
const SHORT_MILLISECONDS: u64 = 10_000;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for (collection, written) in facts
        .keyspace
        .collections
        .iter()
        .filter_map(|collection| Some((collection, facts.written(collection)?.ttl.as_ref()?)))
    {
        let Some(Ttl::After(length)) = collection.ttl else { continue };
        if length >= SHORT_MILLISECONDS {
            continue;
        }
        let shown = duration_text(i64::try_from(length).unwrap_or(i64::MAX));
        let message = format!("rows of `{}` live for {shown}", collection.name.value);
        problems.push(
            Diagnostic::new(&codes::SHORT_TTL, written.content(), message)
                .on(&GROUP_ATOMIC, "clocks of several machines differ by more than that at times")
                .fix("let rows live for 10 s or longer")
                .fix("or keep to stores with one clock: `stores = [\"engine\", \"redis\"]`"),
        );
    }
}
