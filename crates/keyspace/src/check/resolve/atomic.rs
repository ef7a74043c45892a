//! Atomics: several patterns in one batch, and the arguments they share.
//!
//! Arguments are gathered over all steps before any binding is typed, since a binding may use what
//! a later step takes.

use super::Resolver;
use super::arguments::{argument_types, find, without};
use super::collections::members;
use super::implied::{implied_arguments, key_names};
use super::names::{NameOf, check_name};
use super::step_arguments::{check_arguments, step_arguments};
use crate::check::scope::Scope;
use crate::check::typing::Typer;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::limits::ATOMIC_STEPS_MAX;
use crate::model::{
    Allow, Argument, ArgumentRole, Expression, Pattern, Step, StepAction, Target, Type, Verb,
};
use crate::parse::{PatternTree, StepTree};
use crate::source::Span;
use std::sync::Arc;

/// A step whose target is known, with everything a call can give it.
pub(super) struct Draft<'t> {
    pub written: &'t StepTree,
    pub name: String,
    pub action: StepAction,
    pub possible: Vec<Argument>,
    pub filled: Vec<String>,
}

impl Draft<'_> {
    /// What later steps may use of its row; of several, only what they share.
    pub(super) fn row(&self) -> Option<Vec<(String, Type)>> {
        let (collection, many) = match &self.action {
            StepAction::Run(pattern) => {
                (&pattern.target.as_ref()?.collection, pattern.many.is_some())
            }
            StepAction::Check { target, .. } => (&target.collection, false),
        };
        let shared = |name: &str| collection.key.group_segments().any(|s| s.name == name);
        let all = members(collection).into_iter();
        Some(all.filter(|(name, _)| !many || shared(name)).collect())
    }
}

impl Resolver<'_> {
    /// An `atomic`; none if a step of it cannot be run.
    pub(super) fn atomic(
        &mut self,
        written: &PatternTree,
        patterns: &[Arc<Pattern>],
    ) -> Option<Pattern> {
        let verb = written.verbs.first().filter(|verb| verb.is_readable)?;
        self.check_settings(written, Verb::Atomic);
        self.check_step_count(&verb.steps, verb.span);
        if verb.steps.len() > ATOMIC_STEPS_MAX {
            return None;
        }
        let allow = self.atomic_allow(written, &verb.steps, patterns);
        let drafts = self.drafts(&verb.steps, &allow, patterns)?;
        self.check_step_names(&drafts);
        let mut arguments = self.shared_arguments(&drafts);
        self.declare(written, &mut arguments);
        self.imply(&drafts, &mut arguments);
        let filled: Vec<String> = drafts.iter().flat_map(|draft| draft.filled.clone()).collect();
        let bind = self.bindings(&written.bind, &mut arguments, &filled, &Scope::default());
        let steps = self.steps(drafts, &arguments);
        let bindings = steps.iter().flat_map(|step| &step.bind).chain(&bind);
        let conditions = verb.steps.iter().filter_map(|step| step.condition.as_ref());
        let used: Vec<&Expression> = bindings
            .map(|binding| &binding.expression)
            .chain(conditions.map(|(condition, _)| condition))
            .collect();
        self.check_unused(written, &used);
        let bound: Vec<String> = bind.iter().map(|bind| bind.name.value.clone()).collect();
        let arguments = without(arguments, &bound);
        let keys = key_names(&steps, &filled, &bound);
        self.check_member(&allow, &keys, &arguments, written.allow.as_ref());
        Some(Pattern {
            name: written.name.clone(),
            id: written.id.clone(),
            about: written.about.clone(),
            notes: written.notes.clone(),
            verb: Verb::Atomic,
            verb_span: verb.span,
            target: None,
            arguments,
            by: Vec::new(),
            bind,
            set: Vec::new(),
            compute: Vec::new(),
            condition: None,
            if_version: false,
            page: None,
            many: None,
            order: None,
            fields: None,
            existing_returned: false,
            missing_created: false,
            radius_max: None,
            allow,
            allow_declared: written.allow.is_some(),
            steps,
        })
    }

    /// Every step, or none: problems of all of them are reported first.
    fn drafts<'t>(
        &mut self,
        steps: &'t [StepTree],
        allow: &Allow,
        patterns: &[Arc<Pattern>],
    ) -> Option<Vec<Draft<'t>>> {
        let drafts: Vec<_> = steps.iter().map(|step| self.draft(step, allow, patterns)).collect();
        drafts.into_iter().collect()
    }

    fn check_step_count(&mut self, steps: &[StepTree], span: Span) {
        let problem = |message: String| Diagnostic::new(&codes::BAD_STEP, span, message);
        if steps.is_empty() {
            self.report(
                problem("this batch has no steps".to_string())
                    .fix("name the patterns it runs: `atomic = [\"debit\", \"credit\"]`"),
            );
        }
        if steps.len() > ATOMIC_STEPS_MAX {
            self.report(
                problem(format!("a batch has at most {ATOMIC_STEPS_MAX} steps"))
                    .fix("use `many` on a step for several rows of one kind"),
            );
        }
    }

    /// What `allow` says; without it, `owner` if any step's is.
    fn atomic_allow(
        &mut self,
        written: &PatternTree,
        steps: &[StepTree],
        patterns: &[Arc<Pattern>],
    ) -> Allow {
        if written.allow.is_some() {
            return self.allow(written.allow.as_ref(), None, Verb::Atomic);
        }
        let owned = steps.iter().filter_map(|step| step.run.as_ref()).any(|run| {
            let pattern = patterns.iter().find(|pattern| pattern.name.value == run.value);
            pattern.is_some_and(|pattern| pattern.allow == Allow::Owner)
        });
        if owned { Allow::Owner } else { Allow::User }
    }

    fn draft<'t>(
        &mut self,
        step: &'t StepTree,
        allow: &Allow,
        patterns: &[Arc<Pattern>],
    ) -> Option<Draft<'t>> {
        match (&step.run, &step.check) {
            (Some(run), None) => {
                let pattern = self.step_pattern(run, patterns)?;
                if let Some((_, span)) = &step.condition {
                    let message = "a condition on a step belongs to its pattern";
                    self.report(
                        Diagnostic::new(&codes::BAD_STEP, *span, message)
                            .fix(format!("move it: `[pattern.{}] if = \"…\"`", run.value)),
                    );
                }
                let (possible, filled) = step_arguments(&pattern, allow);
                let name = step.name.as_ref().unwrap_or(run).value.clone();
                let action = StepAction::Run(pattern);
                Some(Draft { written: step, name, action, possible, filled })
            }
            (None, Some(check)) => {
                let target = self.target(Verb::Get, check)?;
                if !self.fits_verb(Verb::Get, check.span, &target) {
                    return None;
                }
                let (possible, filled) = check_arguments(&target, allow);
                let name = match &step.name {
                    Some(name) => name.value.clone(),
                    None => target.collection.name.value.clone(),
                };
                let condition = step.condition.as_ref().map(|(expression, _)| expression.clone());
                let action = StepAction::Check { target, condition };
                Some(Draft { written: step, name, action, possible, filled })
            }
            _ => {
                let message = "a step runs a pattern or checks a row, one of the two";
                self.report(
                    Diagnostic::new(&codes::BAD_STEP, step.span, message)
                        .fix("write `{ run = \"debit\" }` or `{ check = \"accounts\" }`"),
                );
                None
            }
        }
    }

    fn step_pattern(
        &mut self,
        run: &crate::source::Spanned<String>,
        patterns: &[Arc<Pattern>],
    ) -> Option<Arc<Pattern>> {
        let found = patterns.iter().find(|pattern| pattern.name.value == run.value);
        let Some(pattern) = found else {
            let written = self.tree.patterns.iter().find(|p| p.name.value == run.value);
            match written {
                None => {
                    let names: Vec<&str> =
                        patterns.iter().map(|pattern| pattern.name.value.as_str()).collect();
                    let message = format!("there is no pattern `{}`", run.value);
                    self.report(
                        Diagnostic::new(&codes::BAD_STEP, run.span, message)
                            .suggest(run.span, &run.value, names)
                            .fix(format!("declare it: `[pattern.{}]`", run.value)),
                    );
                }
                Some(written) if super::patterns::is_atomic(written) => {
                    let message = format!("`{}` is an atomic, and atomics do not nest", run.value);
                    self.report(
                        Diagnostic::new(&codes::BAD_STEP, run.span, message)
                            .fix("name its steps here"),
                    );
                }
                // Its own problem has been reported.
                Some(_) => {}
            }
            return None;
        };
        let fits = matches!(
            pattern.verb,
            Verb::Insert | Verb::Put | Verb::Update | Verb::Delete | Verb::Add
        );
        if !fits {
            let message =
                format!("`{}` is a `{}`, which no batch can hold", run.value, pattern.verb);
            let problem = Diagnostic::new(&codes::BAD_STEP, run.span, message);
            let target = pattern.target.as_ref().map(Target::text).unwrap_or_default();
            self.report(match pattern.verb.is_read() {
                true => problem.fix(format!("look at the row: `{{ check = \"{target}\" }}`")),
                false => problem.fix("a batch holds insert, put, update, delete and add"),
            });
            return None;
        }
        Some(Arc::clone(pattern))
    }

    fn check_step_names(&mut self, drafts: &[Draft<'_>]) {
        for (number, draft) in drafts.iter().enumerate() {
            if let Some(name) = &draft.written.name {
                check_name(name, NameOf::Step, self.problems);
            }
            if let Some(other) = drafts.iter().take(number).find(|d| d.name == draft.name) {
                let message = format!("two steps are called `{}`", draft.name);
                self.report(
                    Diagnostic::new(&codes::BAD_STEP, draft.written.span, message)
                        .also(other.written.span, "the other one")
                        .fix("give one of them a name: `as = \"credit\"`"),
                );
            }
        }
    }

    /// The arguments of all steps together: key segments of one name are one argument.
    fn shared_arguments(&mut self, drafts: &[Draft<'_>]) -> Vec<Argument> {
        let mut shared: Vec<Argument> = Vec::new();
        for draft in drafts {
            let bound: Vec<String> =
                draft.written.bind.iter().map(|(name, _)| name.value.clone()).collect();
            for mut argument in without(draft.possible.clone(), &bound) {
                if argument.role == ArgumentRole::Version {
                    argument.name = format!("{}.if_version", draft.name);
                }
                if argument.role == ArgumentRole::WindowRule {
                    self.unbound_window(draft, &argument.name);
                    continue;
                }
                match shared.iter_mut().find(|known| known.name == argument.name) {
                    None => shared.push(argument),
                    Some(known)
                        if known.role == ArgumentRole::Key
                            && argument.role == ArgumentRole::Key =>
                    {
                        known.required |= argument.required;
                    }
                    Some(_) => self.argument_twice(draft, &argument.name),
                }
            }
        }
        shared
    }

    /// Adds the arguments that only bindings name.
    fn imply(&mut self, drafts: &[Draft<'_>], arguments: &mut Vec<Argument>) {
        for (name, span) in implied_arguments(drafts, arguments) {
            let message = format!("`{name}` is a list of rows here, and one value elsewhere");
            self.report(
                Diagnostic::new(&codes::ARGUMENT_TWICE, span, message)
                    .fix(format!("give the list a name of its own: `rows = \"${name}_rows\"`")),
            );
        }
    }

    fn unbound_window(&mut self, draft: &Draft<'_>, name: &str) {
        let message = format!("the `{name}` of this window is bound to nothing");
        self.report(
            Diagnostic::new(&codes::BAD_WINDOW, draft.written.span, message)
                .fix(format!(
                    "bind it: `bind = {{ {name} = \"…\" }}`, to a constant or a checked row"
                ))
                .fix(format!("or give the collection its own: `{name} = …`")),
        );
    }

    fn argument_twice(&mut self, draft: &Draft<'_>, name: &str) {
        let message = format!("`{name}` is an argument of two steps, and may mean two things");
        let problem = Diagnostic::new(&codes::ARGUMENT_TWICE, draft.written.span, message);
        let problem = match name {
            "amount" => problem.fix(format!("fix how much is added: {}", draft.bound(name, "1"))),
            _ => problem,
        };
        let own = format!("${}_{name}", draft.name);
        self.report(
            problem
                .fix(format!(
                    "bind it to the other one: {}",
                    draft.bound(name, &format!("${name}"))
                ))
                .fix(format!("or to one of its own: {}", draft.bound(name, &own))),
        );
    }

    /// Types bindings and conditions, each with the steps before it.
    fn steps(&mut self, drafts: Vec<Draft<'_>>, arguments: &[Argument]) -> Vec<Step> {
        let mut scope = Scope {
            members: None,
            arguments: Some(argument_types(arguments)),
            outside_world: true,
            ..Scope::default()
        };
        let mut steps = Vec::new();
        for draft in drafts {
            if let StepAction::Check { target, condition: Some(condition) } = &draft.action {
                let scope = Scope { members: Some(members(&target.collection)), ..scope.clone() };
                Typer { scope: &scope, problems: self.problems }.condition(condition);
            }
            let mut possible = draft.possible.clone();
            let kept = self.problems.len();
            let bind = self.bindings(&draft.written.bind, &mut possible, &draft.filled, &scope);
            self.retype(kept, &draft, &scope);
            scope.steps.extend(draft.row().map(|row| (draft.name.clone(), row)));
            steps.push(Step {
                name: draft.name,
                action: draft.action,
                bind,
                span: draft.written.span,
            });
        }
        steps
    }

    /// Types a step's bindings against the arguments of the whole batch, not the step's own.
    fn retype(&mut self, kept: usize, draft: &Draft<'_>, scope: &Scope) {
        let bad_names: Vec<Diagnostic> = self
            .problems
            .drain(kept..)
            .filter(|problem| problem.code.number == codes::BAD_BIND.number)
            .collect();
        self.problems.extend(bad_names);
        for (name, expression) in &draft.written.bind {
            let Some(target) = find(&draft.possible, &name.value) else { continue };
            if matches!(target.role, ArgumentRole::Rows(_)) {
                continue;
            }
            let what = format!("`{}`", name.value);
            let mut typer = Typer { scope, problems: self.problems };
            typer.assigned(expression, &target.argument_type, &what);
        }
    }
}
