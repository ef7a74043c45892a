//! Patterns with one verb: settings that fit it, bindings, conditions and changes.

use super::Resolver;
use super::arguments::{Call, argument, argument_types, find, imply, without};
use super::collections::members;
use super::names::{NameOf, check_name};
use crate::check::scope::Scope;
use crate::check::typing::Typer;
use crate::diagnostic::{Diagnostic, codes, listed};
use crate::model::{
    Argument, ArgumentRole, Assignment, Collection, DefaultValue, Expression, ExpressionKind,
    Order, Pattern, Segment, Target, Type, UnaryOperator, Verb,
};
use crate::parse::{PatternTree, VerbTree};
use crate::source::Spanned;

/// Whether a pattern is an `atomic`.
pub fn is_atomic(written: &PatternTree) -> bool {
    matches!(written.verbs.as_slice(), [VerbTree { verb: Verb::Atomic, .. }])
}

/// Which verbs a setting goes with.
const SETTINGS: [(&str, &[Verb]); 13] = [
    ("by", &[Verb::Get, Verb::List, Verb::Near, Verb::Take, Verb::Delete, Verb::Update, Verb::Add]),
    ("set", &[Verb::Update]),
    ("compute", &[Verb::Update, Verb::Take]),
    ("if", &[Verb::Put, Verb::Update, Verb::Delete, Verb::Add, Verb::Take]),
    ("if_version", &[Verb::Put, Verb::Update, Verb::Delete, Verb::Add]),
    ("page", &[Verb::List, Verb::Near, Verb::Load]),
    ("many", &[Verb::Get, Verb::Insert, Verb::Put, Verb::Update, Verb::Delete, Verb::Add]),
    ("order", &[Verb::List]),
    ("fields", &[Verb::Get, Verb::List, Verb::Near, Verb::Take]),
    ("existing", &[Verb::Insert]),
    ("missing", &[Verb::Update]),
    ("max_radius", &[Verb::Near]),
    ("atomic", &[Verb::Atomic]),
];

impl Resolver<'_> {
    /// A pattern with one verb; none if it cannot be run.
    pub(super) fn single(&mut self, written: &PatternTree) -> Option<Pattern> {
        let (verb, target) = self.aimed(written)?;
        let collection = std::sync::Arc::clone(&target.collection);
        let allow = self.allow(written.allow.as_ref(), Some(&collection), verb.verb);
        let filled = allow.fills(&collection, verb.verb);
        let call = Call {
            verb: verb.verb,
            target: &target,
            by: self.by(written, &target),
            set: written.set.iter().flat_map(|set| &set.value).map(|s| s.value.clone()).collect(),
            if_version: written.if_version.as_ref().is_some_and(|given| given.value),
            many: written.many.is_some(),
            filled: filled.clone(),
        };
        let mut arguments = call.arguments();
        self.declare(written, &mut arguments);
        let bind = self.bindings(&written.bind, &mut arguments, &filled, &Scope::default());
        let types = argument_types(&arguments);
        let condition = self.condition(written, verb.verb, &collection, &types);
        let compute = self.computed(written, &target, &types);
        let bound: Vec<String> = bind.iter().map(|bind| bind.name.value.clone()).collect();
        let used: Vec<&Expression> =
            bind.iter().chain(&compute).map(|set| &set.expression).chain(&condition).collect();
        self.check_unused(written, &used);
        let served = self.serves(written, verb, &target, &filled, &bound);
        // Without an answer there is no order to assert.
        let order = written.order.as_ref().filter(|_| served.is_some());
        let order = order.and_then(|order| self.order(order));
        let by = served.unwrap_or_default();
        let arguments = without(arguments, &bound);
        self.check_member(&allow, &by, &arguments, written.allow.as_ref());
        Some(Pattern {
            name: written.name.clone(),
            id: written.id.clone(),
            about: written.about.clone(),
            notes: written.notes.clone(),
            verb: verb.verb,
            verb_span: verb.span,
            arguments,
            by,
            bind,
            set: written.set.as_ref().map(|set| set.value.clone()).unwrap_or_default(),
            compute,
            condition,
            if_version: call.if_version,
            page: written.page.as_ref().map(|page| page.value),
            many: written.many.as_ref().map(|many| many.value),
            order,
            fields: written.fields.clone(),
            existing_returned: written.existing.is_some(),
            missing_created: written.missing.is_some(),
            radius_max: written.max_radius.as_ref().map(|radius| radius.value),
            allow,
            allow_declared: written.allow.is_some(),
            steps: Vec::new(),
            target: Some(target),
        })
    }

    /// The verb and its target, with the settings that are about them; none if they do not fit.
    fn aimed<'t>(&mut self, written: &'t PatternTree) -> Option<(&'t VerbTree, Target)> {
        let verb = self.one_verb(written)?;
        self.check_settings(written, verb.verb);
        let target = self.target(verb.verb, verb.target.as_ref()?)?;
        if !self.fits_verb(verb.verb, verb.span, &target) {
            return None;
        }
        self.check_existing(written, &target);
        self.check_many(written, &target, verb.verb);
        if goes_with("set", verb.verb) || goes_with("compute", verb.verb) {
            self.check_set(written, &target);
        }
        self.check_fields(written, &target);
        Some((verb, target))
    }

    fn one_verb<'t>(&mut self, written: &'t PatternTree) -> Option<&'t VerbTree> {
        let name = &written.name;
        match written.verbs.as_slice() {
            [verb] => Some(verb),
            [] => {
                let verbs = Verb::ALL.map(Verb::name).join(", ");
                let message = format!("pattern `{}` says nothing to do", name.value);
                self.report(
                    Diagnostic::new(&codes::VERBS, name.span, message)
                        .fix(format!("give it one verb: {verbs}")),
                );
                None
            }
            [first, second, ..] => {
                let message = format!("pattern `{}` has two verbs, and does one thing", name.value);
                self.report(
                    Diagnostic::new(&codes::VERBS, second.span, message)
                        .also(first.span, "the first verb")
                        .fix("make two patterns")
                        .fix("or one `atomic = […]` that runs both together"),
                );
                None
            }
        }
    }

    /// Reports rows of one call that could only be one and the same row.
    fn check_many(&mut self, written: &PatternTree, target: &Target, verb: Verb) {
        let Some(many) = written.many.as_ref().filter(|_| !verb.is_read()) else { return };
        let key = target.key();
        let made = |segment: &Segment| matches!(segment.default, Some(DefaultValue::New(_)));
        if !key.is_whole_group() || verb == Verb::Insert && key.segments().any(made) {
            return;
        }
        let name = &target.collection.name.value;
        let message = format!("each `{name}` is a group of its own, and a call names one group");
        self.report(
            Diagnostic::new(&codes::DOES_NOT_GO_WITH, many.span, message)
                .also(key.span, "the whole key is the group")
                .effect("every row of a call would be the same row")
                .fix("put what the rows share before a bar: `user:{user_id: text} | {id: text}`")
                .fix("or leave `many` out, and call the pattern for each row"),
        );
    }

    /// Reports an answer for a row that can never be there.
    fn check_existing(&mut self, written: &PatternTree, target: &Target) {
        let made = |segment: &&Segment| matches!(segment.default, Some(DefaultValue::New(_)));
        let (Some(existing), Some(segment)) =
            (&written.existing, target.collection.key.segments().find(made))
        else {
            return;
        };
        let message = format!("`{}` is new each time, so that no row is ever there", segment.name);
        self.report(
            Diagnostic::new(&codes::DOES_NOT_GO_WITH, existing.span, message)
                .also(segment.span, "made by each insert")
                .fix(format!("let the call give it: leave `= new` out of `{}`", segment.name))
                .fix("or leave `existing` out"),
        );
    }

    /// Reports settings that the verb does not use.
    pub(super) fn check_settings(&mut self, written: &PatternTree, verb: Verb) {
        for key in &written.keys {
            let Some((_, verbs)) = SETTINGS.iter().find(|(name, _)| *name == key.value) else {
                continue;
            };
            if verbs.contains(&verb) {
                continue;
            }
            let name = &key.value;
            if name == "if" && verb.is_read() {
                let message = format!("`{verb}` is a read, and a condition on it would filter");
                self.report(
                    Diagnostic::new(&codes::IF_ON_READ, key.span, message)
                        .fix("make it part of an index: `when = \"…\"`, and read through that")
                        .fix("or put the field into the key, and fix it with `by`"),
                );
                continue;
            }
            let list = verbs.iter().map(|verb| verb.name()).collect::<Vec<_>>().join(", ");
            self.report(
                Diagnostic::new(
                    &codes::DOES_NOT_GO_WITH,
                    key.span,
                    format!("`{name}` does not go with `{verb}`"),
                )
                .fix(format!("leave it out; it goes with {list}")),
            );
        }
    }

    /// Adds the declared arguments.
    pub(super) fn declare(&mut self, written: &PatternTree, arguments: &mut Vec<Argument>) {
        for declared in &written.arguments {
            check_name(&declared.name, NameOf::Field, self.problems);
            if let Some(default) = &declared.default {
                let message = "a declared argument has no default";
                self.report(
                    Diagnostic::new(&codes::BAD_DEFAULT, default.span, message)
                        .fix("leave it out; a call may leave out an optional one: `duration?`"),
                );
            }
            if let Some(there) = find(arguments, &declared.name.value) {
                let message = format!("`{}` is an argument already", there.name);
                self.report(
                    Diagnostic::new(&codes::ARGUMENT_TWICE, declared.name.span, message)
                        .fix("leave the declaration out: the key or the fields type it"),
                );
                continue;
            }
            let declared_type = declared.field_type.value.clone();
            let required = !declared_type.is_optional();
            let name = &declared.name.value;
            let declared = argument(name, declared_type, required, ArgumentRole::Declared);
            // Of a write of many rows, each row has its own.
            let rows = arguments.iter_mut().find_map(|own| match &mut own.role {
                ArgumentRole::Rows(each) if written.many.is_some() => Some(each),
                _ => None,
            });
            match rows {
                Some(each) => each.push(declared),
                None => arguments.push(declared),
            }
        }
    }

    /// Checks bindings; an argument that only a binding names is typed by what it is bound to.
    pub(super) fn bindings(
        &mut self,
        written: &[(Spanned<String>, Expression)],
        arguments: &mut Vec<Argument>,
        filled: &[String],
        steps: &Scope,
    ) -> Vec<Assignment> {
        let possible = arguments.clone();
        for (name, expression) in written {
            let target = find(&possible, &name.value);
            let Some(target) = target else {
                self.no_argument(name, &possible, filled);
                continue;
            };
            if let Some(argument_name) = named_argument(expression) {
                let of_each_row = !possible.iter().any(|own| own.name == name.value);
                imply(arguments, target, argument_name, of_each_row.then_some("rows"));
            }
        }
        let scope = Scope {
            members: None,
            arguments: Some(argument_types(arguments)),
            steps: steps.steps.clone(),
            outside_world: true,
            plural: false,
        };
        let mut bind = Vec::new();
        for (name, expression) in written {
            let Some(target) = find(&possible, &name.value) else { continue };
            if !matches!(target.role, ArgumentRole::Rows(_)) {
                let what = format!("`{}`", name.value);
                let mut typer = Typer { scope: &scope, problems: self.problems };
                typer.assigned(expression, &target.argument_type, &what);
            } else if named_argument(expression).is_none() {
                self.report(
                    Diagnostic::new(
                        &codes::BAD_BIND,
                        expression.span,
                        "rows are bound to an argument that holds them",
                    )
                    .fix("write `rows = \"$lines\"`"),
                );
            }
            bind.push(Assignment { name: name.clone(), expression: expression.clone() });
        }
        bind
    }

    fn no_argument(&mut self, name: &Spanned<String>, possible: &[Argument], filled: &[String]) {
        let text = &name.value;
        if filled.contains(text) {
            let message = format!("`{text}` is filled from the caller, never bound");
            self.report(
                Diagnostic::new(&codes::BAD_BIND, name.span, message).fix("leave the binding out"),
            );
            return;
        }
        let names: Vec<&str> = possible.iter().map(|argument| argument.name.as_str()).collect();
        let message = format!("`{text}` is no argument of this pattern");
        let problem = Diagnostic::new(&codes::BAD_BIND, name.span, message).suggest(
            name.span,
            text,
            names.iter().copied(),
        );
        self.report(match names.is_empty() {
            true => problem.fix("the pattern has no arguments; leave the binding out"),
            false => problem.fix(format!("its arguments are {}", listed(names.iter().copied()))),
        });
    }

    fn condition(
        &mut self,
        written: &PatternTree,
        verb: Verb,
        collection: &Collection,
        arguments: &[(String, Type)],
    ) -> Option<Expression> {
        let (expression, _) = written.condition.as_ref().filter(|_| goes_with("if", verb))?;
        let scope = Scope {
            members: Some(members(collection)),
            arguments: Some(arguments.to_vec()),
            outside_world: true,
            ..Scope::default()
        };
        Typer { scope: &scope, problems: self.problems }.condition(expression);
        Some(expression.clone())
    }

    /// `order`, read.
    fn order(&mut self, written: &Spanned<String>) -> Option<Order> {
        let mut words = written.value.split_whitespace();
        let by = words.next().unwrap_or_default().to_string();
        let descending = match (words.next(), words.next()) {
            (None, None) | (Some("asc"), None) => false,
            (Some("desc"), None) => true,
            _ => {
                let message = "an order is a name, and `desc` if larger values stand first";
                self.report(
                    Diagnostic::new(&codes::ORDER_NOT_GIVEN, written.span, message)
                        .fix("write `order = \"created_at desc\"`"),
                );
                return None;
            }
        };
        Some(Order { by, descending, span: written.span })
    }

    /// Reports declared arguments that nothing uses.
    pub(super) fn check_unused(&mut self, written: &PatternTree, expressions: &[&Expression]) {
        // What could not be read may have used anything.
        if expressions.iter().any(|expression| expression.is_broken()) {
            return;
        }
        for declared in &written.arguments {
            let name = declared.name.value.as_str();
            // Without its `$` it has been reported where it is used.
            let uses =
                |e: &&Expression| e.arguments().contains(&name) || e.members().contains(&name);
            let used = expressions.iter().any(uses);
            let reported = self.problems.iter().any(|p| p.span() == declared.name.span);
            if !used && !reported {
                let message = format!("argument `{name}` is declared and not used");
                self.report(
                    Diagnostic::new(&codes::UNUSED_ARGUMENT, declared.name.span, message)
                        .fix(format!("use it as `${name}`, or leave it out")),
                );
            }
        }
    }
}

/// Whether a setting goes with a verb.
fn goes_with(setting: &str, verb: Verb) -> bool {
    SETTINGS.iter().any(|(name, verbs)| *name == setting && verbs.contains(&verb))
}

/// The argument that an expression is, or negates.
pub fn named_argument(expression: &Expression) -> Option<&str> {
    match &expression.kind {
        ExpressionKind::Argument(name) => Some(name),
        ExpressionKind::Unary(UnaryOperator::Minus, operand) => named_argument(operand),
        _ => None,
    }
}
