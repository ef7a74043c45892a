//! The names an expression may use: fields, arguments, and rows of earlier steps.

use super::typing::{Typed, Typer};
use crate::diagnostic::{Diagnostic, codes, listed, nearest};
use crate::model::{Expression, ExpressionKind, Type};
use crate::source::Span;

/// What names an expression may use.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Fields and segments of the stored record; none where it cannot be seen.
    pub members: Option<Vec<(String, Type)>>,
    /// Arguments of the call; none where there is no call.
    pub arguments: Option<Vec<(String, Type)>>,
    /// Earlier steps of an `atomic`, with the members of their rows.
    pub steps: Vec<(String, Vec<(String, Type)>)>,
    /// Whether one record may give several values, with `each`: in an index key only.
    pub plural: bool,
    /// Whether `now` and `caller` mean something: not in an index, which depends on the row alone.
    pub outside_world: bool,
}

impl Typer<'_> {
    /// Whether a name is a word of an enum that lacks its quotes; reports it.
    pub(super) fn is_bare_word(&mut self, expression: &Expression, target: &Type) -> bool {
        let ExpressionKind::Member(name) = &expression.kind else { return false };
        let Type::Enum(words) = target.required() else { return false };
        let members = self.scope.members.iter().flatten();
        if !words.contains(name) || members.into_iter().any(|(known, _)| known == name) {
            return false;
        }
        let message = format!("`{name}` is a word of the enum, and lacks its quotes");
        self.problems.push(
            Diagnostic::new(&codes::TYPE_MISMATCH, expression.span, message).replace(
                "write",
                expression.span,
                format!("'{name}'"),
            ),
        );
        true
    }

    /// Whether one side is a word of the other side's enum that lacks its quotes; reports it.
    pub(super) fn compares_bare_word(&mut self, side: &Expression, other: &Expression) -> bool {
        self.named_type(other).is_some_and(|known| self.is_bare_word(side, &known))
    }

    /// The type of the member or argument that an expression is.
    pub(super) fn named_type(&self, expression: &Expression) -> Option<Type> {
        let known = match &expression.kind {
            ExpressionKind::Member(name) => {
                self.scope.members.iter().flatten().find(|(known, _)| known == name)
            }
            ExpressionKind::Argument(name) => {
                self.scope.arguments.iter().flatten().find(|(known, _)| known == name)
            }
            _ => None,
        };
        known.map(|(_, found)| found.clone())
    }

    pub(super) fn outside(&mut self, span: Span, name: &str, typed: Typed) -> Typed {
        if !self.scope.outside_world {
            let message = format!("`{name}` cannot be used here: the row alone decides");
            self.problems.push(
                Diagnostic::new(&codes::UNKNOWN_IN_EXPRESSION, span, message)
                    .fix("store it in a field and use the field"),
            );
            return Typed::Unknown;
        }
        typed
    }

    pub(super) fn member(&mut self, name: &str, span: Span) -> Typed {
        let Some(members) = &self.scope.members else {
            let mut known = self.scope.arguments.iter().flatten();
            let message = match known.any(|(known, _)| known == name) {
                true => format!("`{name}` is an argument, and no stored record is seen here"),
                false => format!("`{name}` would be a field, and no stored record is seen here"),
            };
            let problem = Diagnostic::new(&codes::UNKNOWN_IN_EXPRESSION, span, message);
            let problem = self.suggest_argument(problem, span, name);
            self.problems.push(problem.fix("use an argument, `$name`, or a constant"));
            return Typed::Unknown;
        };
        if let Some((_, found)) = members.iter().find(|(known, _)| known == name) {
            return Typed::Known(found.clone());
        }
        let names = members.iter().map(|(known, _)| known.as_str());
        let list = listed(names.clone());
        let code = &codes::UNDECLARED_FIELD;
        let problem = Diagnostic::new(code, span, format!("there is no field `{name}`"))
            .suggest(span, name, names);
        let problem = self.suggest_argument(problem, span, name);
        self.problems.push(problem.fix(format!("the record has {list}")));
        Typed::Unknown
    }

    /// Adds `$name` as a fix, if there is such an argument.
    pub(super) fn suggest_argument(
        &self,
        problem: Diagnostic,
        span: Span,
        name: &str,
    ) -> Diagnostic {
        let arguments = self.scope.arguments.iter().flatten();
        match arguments.map(|(known, _)| known).find(|known| *known == name) {
            Some(_) => problem.replace("the argument is written", span, format!("${name}")),
            None => problem,
        }
    }

    pub(super) fn argument(&mut self, name: &str, span: Span) -> Typed {
        let Some(arguments) = &self.scope.arguments else {
            let message = "arguments cannot be used here: the row alone decides";
            self.problems.push(
                Diagnostic::new(&codes::UNKNOWN_IN_EXPRESSION, span, message)
                    .fix("use the record's fields"),
            );
            return Typed::Unknown;
        };
        if let Some((_, found)) = arguments.iter().find(|(known, _)| known == name) {
            return Typed::Known(found.clone());
        }
        let written = format!("${name}");
        let names: Vec<String> = arguments.iter().map(|(known, _)| format!("${known}")).collect();
        let problem = Diagnostic::new(
            &codes::UNKNOWN_IN_EXPRESSION,
            span,
            format!("there is no argument `{name}`"),
        )
        .suggest(span, &written, names.iter().map(String::as_str));
        let members = self.scope.members.iter().flatten();
        let problem = match members.map(|(known, _)| known).find(|known| *known == name) {
            Some(_) => problem.replace("the stored field is written", span, name),
            None => problem,
        };
        let declared = format!("declare it: `arguments = {{ {name} = \"text\" }}`");
        self.problems.push(problem.fix(declared));
        Typed::Unknown
    }

    pub(super) fn step_member(&mut self, step: &str, name: &str, span: Span) -> Typed {
        let Some((_, members)) = self.scope.steps.iter().find(|(known, _)| known == step) else {
            let names = self.scope.steps.iter().map(|(known, _)| known.as_str());
            let message = format!("there is no earlier step `{step}`");
            let mut problem = Diagnostic::new(&codes::UNKNOWN_IN_EXPRESSION, span, message);
            if let Some(near) = nearest(step, names) {
                let meant = format!("{near}.{name}");
                problem = problem.replace(format!("did you mean `{meant}`?"), span, meant);
            }
            self.problems
                .push(problem.fix(format!("name a step with `as = \"{step}\"`, before this one")));
            return Typed::Unknown;
        };
        match members.iter().find(|(known, _)| known == name) {
            Some((_, found)) => Typed::Known(found.clone()),
            None => {
                let names: Vec<String> =
                    members.iter().map(|(known, _)| format!("{step}.{known}")).collect();
                let message = format!("the row of step `{step}` has no field `{name}`");
                self.problems.push(
                    Diagnostic::new(&codes::UNDECLARED_FIELD, span, message)
                        .suggest(span, &format!("{step}.{name}"), names.iter().map(String::as_str))
                        .fix(format!("it has {}", listed(names.iter().map(String::as_str)))),
                );
                Typed::Unknown
            }
        }
    }
}
