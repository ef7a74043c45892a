//! KW103 and KW104: a group has an end, or slices.

use super::{Facts, GROUP_ATOMIC, KeyOf};
use crate::diagnostic::{Diagnostic, Severity, codes};
use crate::model::{Content, Expect, Key, Segment, StoreKind, Ttl, Verb};
use std::collections::HashSet;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    // What a cell holds is asked for by KW513.
    let patterns = facts.keyspace.patterns.iter().filter(|pattern| pattern.verb == Verb::Near);
    let nearby: HashSet<String> =
        patterns.filter_map(|p| p.target.as_ref()).map(|target| target.text()).collect();
    for key in facts.keys() {
        let bounded = key.key().is_whole_group()
            || key.bucket().is_some()
            || key.expect().rows_per_group.is_some()
            || key.collection.history.is_some()
            // Claims are found one by one, never as a group.
            || key.index.is_some_and(|index| index.unique);
        let tried = ["bucket", "expect", "unique"].iter().any(|s| facts.attempts(key, s));
        if bounded || tried && key.expect() == &Expect::default() || nearby.contains(&key.text()) {
            continue;
        }
        let literal_only = key.key().group_segments().next().is_none();
        // A window ends by itself.
        let expires = matches!(key.collection.ttl, Some(Ttl::After(_)))
            || matches!(key.collection.content, Content::Window { .. });
        problems.push(match (literal_only, key.index.is_some()) {
            (true, false) => one_group(facts, key),
            (true, true) => everything_in_one(facts, key),
            (false, _) if expires => continue,
            (false, _) => unbounded(facts, key),
        });
    }
}

fn one_group(facts: &Facts<'_>, key: KeyOf<'_>) -> Diagnostic {
    let template = key.key();
    let group = Key::template_of(template.group(), facts.keyspace.separator);
    let name = &key.collection.name.value;
    let message = format!("every row of `{name}` would be in the one group `{group}`");
    let mut problem = Diagnostic::new(&codes::ONE_GROUP, template.span, message).on(
        &GROUP_ATOMIC,
        "one machine would hold all of it, and all conditional writes would queue",
    );
    if let Some(owner) = template.rest_segments().next().filter(|first| first.name.ends_with("_id"))
    {
        let after = template.rest_segments().nth(1).is_some();
        if after {
            problem = problem.fix(format!("move the bar behind `{{{}}}`", owner.name));
        }
    }
    if template.rest_segments().count() == 1 {
        problem = problem.fix("leave the bar out: each row is then a group of its own");
    }
    bucket_or_expect(problem, template)
}

fn everything_in_one(facts: &Facts<'_>, key: KeyOf<'_>) -> Diagnostic {
    let template = key.key();
    let group = Key::template_of(template.group(), facts.keyspace.separator);
    let message = format!("`{}` holds every entry in the one group `{group}`", key.text());
    let problem = Diagnostic::new(&codes::GROUP_UNBOUNDED, template.span, message)
        .on(&GROUP_ATOMIC, "one partition would grow with the whole collection, without end");
    bucket_or_expect(problem, template)
}

/// Fixes: slices where a time is at hand, and a number.
fn bucket_or_expect(problem: Diagnostic, key: &Key) -> Diagnostic {
    let problem = match time_segment(key) {
        Some(segment) => problem.paste(
            "cut it in time slices",
            format!("bucket = {{ by = \"{}\", every = \"10d\" }}", segment.name),
        ),
        None => problem,
    };
    let or = if problem.fixes.is_empty() { "" } else { "or " };
    problem.paste(format!("{or}say that it stays small"), "expect = { rows_per_group = 1_000 }")
}

/// The time by which the group can be cut: it comes first after the bar, or slices would not
/// follow each other as the rows do.
fn time_segment(key: &Key) -> Option<&Segment> {
    key.rest_segments().next().filter(|segment| segment.segment_type.is_time())
}

fn unbounded(facts: &Facts<'_>, key: KeyOf<'_>) -> Diagnostic {
    let template = key.key();
    let group = Key::template_of(template.group(), facts.keyspace.separator);
    let first = template.rest_segments().next();
    let time_keyed = first.is_some_and(|segment| segment.segment_type.is_time());
    let expected = *key.expect() != Expect::default();
    let lasting = key.collection.immutable && key.collection.ttl.is_none();
    let endless = time_keyed && lasting && !expected;
    let message = match endless {
        true => format!("`{}` only grows: one group `{group}` would have no end", key.text()),
        false => format!("nothing says how large a group `{group}` of `{}` gets", key.text()),
    };
    let severity = if endless { Severity::Error } else { Severity::Warning };
    let problem = Diagnostic::new(&codes::GROUP_UNBOUNDED, template.span, message)
        .severity(severity)
        .on(
            &[StoreKind::Cassandra, StoreKind::Scylla],
            "a group is one partition; past 100 MB its reads degrade",
        )
        .on(
            &[StoreKind::Redis, StoreKind::RedisCluster],
            "a group is one key; it is moved and expired whole",
        );
    bucket_or_expect(problem, template)
}
