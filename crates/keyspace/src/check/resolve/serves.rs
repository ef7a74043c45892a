//! Whether a key serves a pattern: the segments a call fixes must lead to one place.
//!
//! ```text
//! get     every segment is fixed                     user:{id}                 one row
//! list    the group, and a leading part of the rest  user:{id}:notes | {note}  one range
//! ```
//! Anything else would be a scan, which is never planned: the index that would serve is proposed.

use super::Resolver;
use super::proposal::listing_index;
use crate::diagnostic::{Diagnostic, codes, listed};
use crate::model::{Collection, Key, Segment, Target, Type, Verb};
use crate::parse::{PatternTree, VerbTree};
use crate::source::Span;

impl Resolver<'_> {
    /// The segments that `by` and `bind` name, if `by` is written.
    pub(super) fn by(&self, written: &PatternTree, target: &Target) -> Option<Vec<String>> {
        let by = written.by.as_ref()?;
        let bound = written.bind.iter().map(|(name, _)| &name.value);
        let bound = bound.filter(|name| target.key().segment(name).is_some());
        Some(by.iter().map(|name| &name.value).chain(bound).cloned().collect())
    }

    /// The segments a call fixes, in key order; reports a pattern that no key serves, and answers
    /// none.
    pub(super) fn serves(
        &mut self,
        written: &PatternTree,
        verb: &VerbTree,
        target: &Target,
        filled: &[String],
        bound: &[String],
    ) -> Option<Vec<String>> {
        let key = target.key();
        let before = self.problems.len();
        if let Some(unknown) = self.unknown_by(written, target) {
            self.report(unknown);
            return None;
        }
        let fixed: Vec<&Segment> = key
            .segments()
            .filter(|segment| is_fixed(segment, written, verb.verb, key, filled, bound))
            .collect();
        let is_fixed = |segment: &Segment| fixed.iter().any(|f| f.name == segment.name);
        let place = match &written.by {
            Some(by) => by.iter().map(|name| name.span).reduce(Span::to).unwrap_or(target.span),
            None => target.span,
        };
        match verb.verb {
            Verb::List | Verb::Take | Verb::Near => {
                let open_group: Vec<&str> = key
                    .group_segments()
                    .filter(|s| !is_fixed(s) && (verb.verb != Verb::Near || !s.is_geographic()))
                    .map(|s| s.name.as_str())
                    .collect();
                if !open_group.is_empty() {
                    self.open_group(written, target, &open_group, place);
                } else if key.is_whole_group() && target.index.is_none() {
                    self.one_row_list(verb.verb, target);
                } else if let Some(gap) = gap(key, &is_fixed) {
                    self.gap(gap, target, place);
                }
            }
            _ => {
                let open: Vec<&str> = key
                    .segments()
                    .filter(|s| !s.appended && !is_fixed(s) && s.default.is_none())
                    .map(|s| s.name.as_str())
                    .collect();
                if !open.is_empty() && !verb.verb.is_history() && verb.verb != Verb::Insert {
                    self.open_key(verb.verb, target, &open, place);
                }
            }
        }
        let served = self.problems.len() == before;
        served.then(|| fixed.iter().map(|segment| segment.name.clone()).collect())
    }

    /// `by` names something that is not in the key.
    fn unknown_by(&self, written: &PatternTree, target: &Target) -> Option<Diagnostic> {
        let key = target.key();
        let by = written.by.as_ref()?;
        let unknown = by.iter().find(|name| key.segment(&name.value).is_none())?;
        let collection = &target.collection;
        let names: Vec<&str> = by.iter().map(|name| name.value.as_str()).collect();
        if collection.member_type(&unknown.value).is_none() {
            let known = collection.member_names();
            let message = format!("`{}` has no field `{}`", collection.name.value, unknown.value);
            return Some(
                Diagnostic::new(&codes::UNDECLARED_FIELD, unknown.span, message)
                    .suggest(unknown.span, &unknown.value, known.iter().copied())
                    .fix(format!("it has {}", listed(known.iter().copied()))),
            );
        }
        let message =
            format!("no key serves `{}`: `{}` is not in it", target.text(), unknown.value);
        let problem = Diagnostic::new(&codes::NO_KEY_SERVES, unknown.span, message)
            .also(key.span, "the key it goes by");
        Some(self.propose(problem, written, collection, &names, target.span))
    }

    /// Proposes an index that would serve, or one that does.
    fn propose(
        &self,
        problem: Diagnostic,
        written: &PatternTree,
        collection: &Collection,
        by: &[&str],
        target_span: Span,
    ) -> Diagnostic {
        let name = &collection.name.value;
        let serving = collection.indexes.iter().find(|index| {
            let mut group = index.key.group_segments();
            let covered = group.all(|s| by.contains(&s.name.as_str()));
            covered && by.iter().all(|wanted| index.key.segment(wanted).is_some())
        });
        if let Some(index) = serving {
            let there = format!("{name}.{}", index.name.value);
            return problem.replace("an index serves it", target_span, there);
        }
        let order = written.order.as_ref().map(|order| order.value.as_str());
        // The owner comes first, so that the index leads to nobody else's rows.
        let owner = collection.owner.as_ref().map(|owner| owner.name.as_str());
        let owner = owner.filter(|owner| written.allow.is_none() && !by.contains(owner));
        let by: Vec<&str> = owner.into_iter().chain(by.iter().copied()).collect();
        let lines = listing_index(collection, &by, order, self.separator);
        let used = format!("{name}_by_{}", by.join("_and_"));
        let words =
            format!("ask `list = \"{name}.{used}\"` of an index declared in [collection.{name}]");
        problem.paste(words, lines)
    }

    fn open_group(&mut self, written: &PatternTree, target: &Target, open: &[&str], place: Span) {
        let name = target.text();
        let list = listed(open.iter().copied());
        let message = format!("no key serves this: the group needs {list}, which no call gives");
        let mut problem = Diagnostic::new(&codes::NO_KEY_SERVES, place, message)
            .also(target.key().span, format!("the group of `{name}`"));
        problem = problem.fix(format!("add to `by`: {list}"));
        let by: Vec<&str> = written.by.iter().flatten().map(|name| name.value.as_str()).collect();
        if !by.is_empty() {
            problem = self.propose(problem, written, &target.collection, &by, target.span);
        }
        self.report(problem);
    }

    /// A list of a collection whose key is its own group: every group has one row.
    fn one_row_list(&mut self, verb: Verb, target: &Target) {
        let collection = &target.collection;
        let name = &collection.name.value;
        let separator = self.separator;
        let message = format!("no key serves this: each `{name}` is a group of its own");
        let time = collection.fields().iter().find(|f| f.field_type == Type::Timestamp);
        let (order, bucket) = match time {
            Some(field) => (
                format!("{{{} desc}}", field.name),
                format!(", bucket = {{ by = \"{}\", every = \"30d\" }}", field.name),
            ),
            None => {
                let segment = collection.key.segments().next();
                let id = segment.map_or("id", |segment| segment.name.as_str());
                (format!("{{{id}}}"), ", expect = { rows_per_group = 10_000 }".to_string())
            }
        };
        let index =
            format!("index.all_{name} = {{ key = \"all{separator}{name} | {order}\"{bucket} }}");
        self.report(
            Diagnostic::new(&codes::NO_KEY_SERVES, target.span, message)
                .also(collection.key.span, "nothing in this key brings several rows together")
                .paste(
                    format!("to {verb} all of them, declare an index in [collection.{name}]"),
                    index,
                )
                .fix(format!("and ask that: `list = \"{name}.all_{name}\"`"))
                .fix("or put what they share in front: `owner:{owner_id: text}:… | {id: …}`"),
        );
    }

    fn gap(&mut self, gap: (&str, &str), target: &Target, place: Span) {
        let (open, fixed) = gap;
        let message =
            format!("no key serves this: `{fixed}` is given, and `{open}` before it is not");
        self.report(
            Diagnostic::new(&codes::NO_KEY_SERVES, place, message)
                .also(target.key().span, "segments are given from the left")
                .fix(format!("give `{open}` too"))
                .fix(format!("or declare an index with `{fixed}` before `{open}`")),
        );
    }

    fn open_key(&mut self, verb: Verb, target: &Target, open: &[&str], place: Span) {
        let list = listed(open.iter().copied());
        let message = format!("no key serves this: `{verb}` needs the whole key, and lacks {list}");
        let problem = Diagnostic::new(&codes::NO_KEY_SERVES, place, message)
            .also(target.key().span, "the key")
            .fix(format!("add to `by`: {list}"));
        self.report(match verb {
            Verb::Get => problem.fix("or `list` the group, with a `page`"),
            _ => problem,
        });
    }
}

/// Whether a call, a binding or the caller fixes a segment.
fn is_fixed(
    segment: &Segment,
    written: &PatternTree,
    verb: Verb,
    key: &Key,
    filled: &[String],
    bound: &[String],
) -> bool {
    let in_group = key.group_segments().any(|own| own.name == segment.name);
    let source = segment.source.as_ref().map(|source| source.members());
    let by_caller = match source {
        Some(members) => members.first().is_some_and(|m| filled.iter().any(|f| f == m)),
        None => filled.contains(&segment.name),
    };
    let by_call = match (&written.by, verb) {
        (Some(by), _) => by.iter().any(|name| name.value == segment.name),
        (None, Verb::List | Verb::Take) => in_group,
        (None, Verb::Near) => in_group && !segment.is_geographic(),
        (None, verb) if verb.is_history() => in_group,
        (None, _) => !segment.appended,
    };
    by_caller || by_call || bound.contains(&segment.name)
}

/// The first segment after the bar that is open while a later one is fixed.
fn gap<'k>(key: &'k Key, is_fixed: &impl Fn(&Segment) -> bool) -> Option<(&'k str, &'k str)> {
    let mut open: Option<&Segment> = None;
    // What Keyway appends is not given by anybody.
    for segment in key.rest_segments().filter(|segment| !segment.appended) {
        match (open, is_fixed(segment)) {
            (Some(open), true) => return Some((&open.name, &segment.name)),
            (None, false) => open = Some(segment),
            _ => {}
        }
    }
    None
}
