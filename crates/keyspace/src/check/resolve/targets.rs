//! What a verb is used on: `users`, `users.users_by_email`, `published.calls`.

use super::Resolver;
use super::proposal::{listing_index, unique_index};
use crate::diagnostic::{Diagnostic, codes, listed, nearest};
use crate::model::{Collection, Content, Target, Type, Verb};
use crate::source::Spanned;
use std::sync::Arc;

impl Resolver<'_> {
    /// The target of a verb; none if there is no such thing.
    pub(super) fn target(&mut self, verb: Verb, written: &Spanned<String>) -> Option<Target> {
        let (name, member) = match written.value.split_once('.') {
            Some((name, member)) => (name, Some(member)),
            None => (written.value.as_str(), None),
        };
        let Some(collection) = self.known(name) else {
            self.unknown_collection(name, written);
            return None;
        };
        if collection.history.is_some() != verb.is_history() {
            self.wrong_family(verb, &collection, written);
            return None;
        }
        let mut target = Target {
            collection: Arc::clone(&collection),
            index: None,
            field: None,
            span: written.span,
        };
        let Some(member) = member else { return Some(target) };
        if let Some(index) = collection.index(member) {
            target.index = Some(Arc::clone(index));
            return Some(target);
        }
        if verb == Verb::Add && collection.field(member).is_some() {
            target.field = Some(member.to_string());
            return Some(target);
        }
        // An index that could not be resolved has been reported.
        let declared = self.tree.collections.iter().find(|tree| tree.name.value == name);
        if declared.is_some_and(|tree| tree.indexes.iter().any(|i| i.name.value == member)) {
            return None;
        }
        self.unknown_member(&collection, member, verb, written);
        None
    }

    fn known(&self, name: &str) -> Option<Arc<Collection>> {
        self.collections.iter().find(|collection| collection.name.value == name).cloned()
    }

    fn unknown_collection(&mut self, name: &str, written: &Spanned<String>) {
        let declared: Vec<&str> =
            self.tree.collections.iter().map(|tree| tree.name.value.as_str()).collect();
        if declared.contains(&name) {
            return;
        }
        // `users_by_email` alone: people name the index and forget its collection.
        let owner = self.collections.iter().find(|collection| collection.index(name).is_some());
        let problem = Diagnostic::new(
            &codes::UNKNOWN_NAME,
            written.span.part(written.value.len(), 0, name.len()),
            format!("there is no collection `{name}`"),
        );
        let problem = match owner {
            Some(collection) => problem.replace(
                "name the index with its collection",
                written.span,
                format!("{}.{name}", collection.name.value),
            ),
            None => match nearest(name, declared.iter().copied()) {
                Some(near) => {
                    let meant = written.value.replacen(name, near, 1);
                    problem.replace(format!("did you mean `{meant}`?"), written.span, meant)
                }
                None => problem,
            },
        };
        let list = listed(declared.iter().copied());
        self.report(problem.fix(format!("the collections are {list}")));
    }

    fn unknown_member(
        &mut self,
        collection: &Collection,
        member: &str,
        verb: Verb,
        written: &Spanned<String>,
    ) {
        let name = &collection.name.value;
        let what = if verb == Verb::Add { "index or field" } else { "index" };
        let candidates: Vec<String> = collection
            .indexes
            .iter()
            .map(|index| format!("{name}.{}", index.name.value))
            .chain(
                collection
                    .fields()
                    .iter()
                    .filter(|_| verb == Verb::Add)
                    .map(|field| format!("{name}.{}", field.name)),
            )
            .collect();
        let length = written.value.len();
        let problem = Diagnostic::new(
            &codes::UNKNOWN_NAME,
            written.span.part(length, length - member.len(), length),
            format!("`{name}` has no {what} `{member}`"),
        )
        .suggest(written.span, &written.value, candidates.iter().map(String::as_str));
        let problem = match collection.member_type(member).filter(|t| t.required().fits_a_key()) {
            Some(_) => {
                let index = match verb {
                    Verb::Get => unique_index(collection, member, self.separator),
                    _ => listing_index(collection, &[member], None, self.separator),
                };
                let asked = format!("{name}.{name}_by_{member}");
                problem
                    .paste(format!("to ask by it, declare an index in [collection.{name}]"), index)
                    .replace("and ask that", written.span, asked)
            }
            None if candidates.is_empty() => problem.fix(format!("`{name}` has no indexes")),
            None => {
                let names = candidates.iter().map(String::as_str);
                problem.fix(format!("there are {}", listed(names)))
            }
        };
        self.report(problem);
    }

    fn wrong_family(&mut self, verb: Verb, collection: &Collection, written: &Spanned<String>) {
        let name = &collection.name.value;
        let problem = if collection.history.is_some() {
            Diagnostic::new(
                &codes::VERB_AND_TARGET,
                written.span,
                format!("`{name}` is a history, and `{verb}` is for collections"),
            )
            .fix("histories have append, load, compact, fork and collect")
        } else {
            Diagnostic::new(
                &codes::VERB_AND_TARGET,
                written.span,
                format!("`{name}` is a collection, and `{verb}` is for histories"),
            )
            .fix(format!("declare it as `[history.{name}]`"))
            .fix("or use get, list, put and delete")
        };
        self.report(problem);
    }

    /// Whether a verb fits its target; reports it if not.
    pub(super) fn fits_verb(
        &mut self,
        verb: Verb,
        verb_span: crate::source::Span,
        target: &Target,
    ) -> bool {
        let collection = &target.collection;
        let name = &collection.name.value;
        let refuse = |message: String| {
            Some(Diagnostic::new(&codes::VERB_AND_TARGET, target.span, message).also(verb_span, ""))
        };
        let content = &collection.content;
        let problem = match (verb, &target.index) {
            (Verb::Near | Verb::Take, None) => refuse(format!("`{verb}` goes through an index"))
                .map(|p| p.fix(format!("name one of its indexes: `{verb} = \"{name}.by_…\"`"))),
            (Verb::Get, Some(index)) if !index.unique => {
                refuse(format!("`{}` is not unique: it may hold several records", index.name.value))
                    .map(|p| {
                        p.fix(format!("list them: `list = \"{}\"` with a `page`", target.text()))
                            .fix("or make the index `unique = true`")
                    })
            }
            (Verb::Get | Verb::List | Verb::Take, _) => None,
            (Verb::Near, Some(index)) => (!index.key.segments().any(|s| s.is_geographic()))
                .then(|| refuse(format!("`{}` is no index of places", index.name.value)))
                .flatten()
                .map(|p| {
                    p.fix("its group begins with `geohash(lat, lon, 5)` or `cell(lat, lon, 10)`")
                }),
            (_, Some(_)) => refuse(format!("`{verb}` goes by the collection's own key"))
                .map(|p| p.replace("leave the index out", target.span, name.clone())),
            (Verb::Insert | Verb::Put | Verb::Update, None) if collection.is_counted() => {
                refuse(format!("`{name}` is counted, not written"))
                    .map(|p| p.fix(format!("use `add = \"{name}\"`")))
            }
            (Verb::Update, None) if !matches!(content, Content::Fields(_)) => {
                refuse(format!("`{name}` has no fields to update"))
                    .map(|p| p.fix(format!("replace the whole row: `put = \"{name}\"`")))
            }
            (Verb::Add, None) => add_problem(target),
            _ => None,
        };
        let before = self.problems.len();
        self.problems.extend(problem);
        if collection.immutable && matches!(verb, Verb::Update | Verb::Take | Verb::Add) {
            let message = format!("`{name}` is immutable, and `{verb}` changes rows");
            self.report(
                Diagnostic::new(&codes::IMMUTABLE_CHANGED, target.span, message)
                    .fix("keep changes in a collection of their own, a row a revision")
                    .fix(format!("or leave `immutable` out of `{name}`")),
            );
        }
        self.problems.len() == before
    }
}

fn add_problem(target: &Target) -> Option<Diagnostic> {
    let collection = &target.collection;
    let name = &collection.name.value;
    let refuse = |message: String| Diagnostic::new(&codes::VERB_AND_TARGET, target.span, message);
    let Some(field) = &target.field else {
        let integers: Vec<String> = collection
            .fields()
            .iter()
            .filter(|field| field.field_type.is_integer())
            .map(|field| format!("{name}.{}", field.name))
            .collect();
        return (!collection.is_counted()).then(|| {
            let problem = refuse(format!("`{name}` is no counter"));
            match integers.first() {
                Some(first) => problem.replace("add to a field", target.span, first.clone()),
                None => problem.fix("declare `value = \"counter\"`, or add an `i64` field"),
            }
        });
    };
    let found = collection.member_type(field)?;
    (!matches!(found, Type::I64 | Type::U64)).then(|| {
        refuse(format!("`{field}` is `{found}`, and `add` needs `i64` or `u64`"))
            .fix("a field that is added to is a whole number, never null: `u64 = 0`")
    })
}
