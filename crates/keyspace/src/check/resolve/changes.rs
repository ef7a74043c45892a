//! What an update or a take changes: `set`, `compute`, and the fields an answer has.

use super::Resolver;
use super::collections::members;
use crate::check::scope::Scope;
use crate::check::typing::Typer;
use crate::diagnostic::{Diagnostic, codes, listed};
use crate::model::{Assignment, Collection, Target, Type, Verb};
use crate::parse::PatternTree;
use crate::source::Spanned;

impl Resolver<'_> {
    /// `compute`, typed.
    pub(super) fn computed(
        &mut self,
        written: &PatternTree,
        target: &Target,
        arguments: &[(String, Type)],
    ) -> Vec<Assignment> {
        let collection = &target.collection;
        let scope = Scope {
            members: Some(members(collection)),
            arguments: Some(arguments.to_vec()),
            outside_world: true,
            ..Scope::default()
        };
        let mut compute = Vec::new();
        for (name, expression) in &written.compute {
            if !self.can_change(collection, name, "compute") {
                continue;
            }
            let (_, changed) = match scope.members.iter().flatten().find(|m| m.0 == name.value) {
                Some(member) => member,
                None => continue,
            };
            let what = format!("`{}`", name.value);
            let mut typer = Typer { scope: &scope, problems: self.problems };
            typer.assigned(expression, changed, &what);
            compute.push(Assignment { name: name.clone(), expression: expression.clone() });
        }
        compute
    }

    /// Reports what `set` cannot change, and an update that changes nothing.
    pub(super) fn check_set(&mut self, written: &PatternTree, target: &Target) {
        let collection = &target.collection;
        let set = written.set.iter().flat_map(|set| &set.value);
        for name in set.clone() {
            self.can_change(collection, name, "set");
            if let Some((computed, _)) =
                written.compute.iter().find(|(computed, _)| computed.value == name.value)
            {
                let message = format!("`{}` is both set and computed", name.value);
                self.report(
                    Diagnostic::new(&codes::BAD_SET, name.span, message)
                        .also(computed.span, "computed here")
                        .fix("let the call give it, or the pattern, not both"),
                );
            }
        }
        let Some(verb) = written.verbs.first() else { return };
        let changes = set.count() + written.compute.len();
        // One of a wrong kind has been reported.
        let tried = written.keys.iter().any(|key| key.value == "compute")
            || written.keys.iter().any(|key| key.value == "set") && written.set.is_none();
        if matches!(verb.verb, Verb::Update | Verb::Take) && changes == 0 && !tried {
            let message = format!("this `{}` changes nothing", verb.verb);
            self.report(
                Diagnostic::new(&codes::BAD_SET, verb.span, message)
                    .fix("say what a call may change: `set = [\"name\"]`")
                    .fix("or what the pattern changes: `compute = { status = \"'done'\" }`"),
            );
        }
        if written.missing.is_some() {
            self.check_complete(written, collection);
        }
    }

    /// Whether a field can be changed; reports it if not.
    fn can_change(&mut self, collection: &Collection, name: &Spanned<String>, how: &str) -> bool {
        let text = &name.value;
        if text == "body" && collection.body.is_some() {
            return true;
        }
        if collection.key.segment(text).is_some() {
            let message = format!("`{text}` is part of the key, which never changes");
            self.report(
                Diagnostic::new(&codes::BAD_SET, name.span, message)
                    .fix("delete the row and insert it under its new key, in one `atomic`"),
            );
            return false;
        }
        let Some(field) = collection.field(text) else {
            let names: Vec<&str> = collection.fields().iter().map(|f| f.name.as_str()).collect();
            let message = format!("`{}` has no field `{text}`", collection.name.value);
            self.report(
                Diagnostic::new(&codes::UNDECLARED_FIELD, name.span, message)
                    .suggest(name.span, text, names.iter().copied())
                    .fix(format!("its fields are {}", listed(names.iter().copied()))),
            );
            return false;
        };
        let owned = [&collection.owner, &collection.tenant].into_iter().flatten();
        if owned.into_iter().any(|owner| owner.is_field && owner.name == *text) {
            let message = format!("`{text}` is written from the caller, never {how}");
            self.report(
                Diagnostic::new(&codes::BAD_SET, name.span, message)
                    .fix("a row changes hands by delete and insert"),
            );
            return false;
        }
        if how == "set" && !field.is_argument() {
            let message = format!("`{text}` fills itself, and no call gives it");
            self.report(
                Diagnostic::new(&codes::BAD_SET, name.span, message)
                    .also(field.span, "its default")
                    .fix("leave it out, or use `compute`"),
            );
            return false;
        }
        true
    }

    /// Reports required fields that an update which creates rows could never fill.
    fn check_complete(&mut self, written: &PatternTree, collection: &Collection) {
        let given = |name: &str| {
            written.set.iter().flat_map(|set| &set.value).any(|set| set.value == name)
                || written.compute.iter().any(|(computed, _)| computed.value == name)
                || [&collection.owner, &collection.tenant]
                    .into_iter()
                    .flatten()
                    .any(|o| o.name == name)
        };
        let missing: Vec<&str> = collection
            .fields()
            .iter()
            .filter(|field| field.is_required() && !given(&field.name))
            .map(|field| field.name.as_str())
            .collect();
        let body = collection.body.is_some() && !given("body");
        if let (Some(setting), false) = (&written.missing, missing.is_empty() && !body) {
            let mut missing = missing;
            missing.extend(body.then_some("body"));
            let list = listed(missing.iter().copied());
            let message = format!("a row cannot be created without {list}");
            self.report(
                Diagnostic::new(&codes::NEVER_COMPLETE, setting.span, message)
                    .fix(format!("add to `set`: {list}"))
                    .fix("or give the fields a default, or make them optional"),
            );
        }
    }

    /// Reports answered fields that the record does not have.
    pub(super) fn check_fields(&mut self, written: &PatternTree, target: &Target) {
        let collection = &target.collection;
        let known: Vec<String> = members(collection).into_iter().map(|(name, _)| name).collect();
        for name in written.fields.iter().flatten() {
            if !known.contains(&name.value) {
                let message = format!("`{}` has no field `{}`", collection.name.value, name.value);
                self.report(
                    Diagnostic::new(&codes::UNDECLARED_FIELD, name.span, message)
                        .suggest(name.span, &name.value, known.iter().map(String::as_str))
                        .fix(format!(
                            "its fields are {}",
                            listed(known.iter().map(String::as_str))
                        )),
                );
            }
        }
    }
}
