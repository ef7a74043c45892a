//! Arguments of a batch that nothing declares: `$lines` and `$source` are what they are bound to.

use super::arguments::{find, imply, without};
use super::atomic::Draft;
use super::patterns::named_argument;
use crate::model::{Argument, ArgumentRole, Step, StepAction};
use crate::source::{Span, Spanned};

impl Draft<'_> {
    /// The list of the call that holds the step's rows, if it has several.
    fn list_name(&self) -> Option<&str> {
        let is_rows = |argument: &&Argument| matches!(argument.role, ArgumentRole::Rows(_));
        let rows = self.possible.iter().find(is_rows)?;
        let bound = self.written.bind.iter().find(|(name, _)| name.value == rows.name);
        Some(bound.and_then(|(_, expression)| named_argument(expression)).unwrap_or("rows"))
    }

    /// The step with one more binding, as it is written.
    pub(super) fn bound(&self, name: &str, value: &str) -> String {
        let (verb, target) = match (&self.written.run, &self.written.check) {
            (Some(run), _) => ("run", run.value.as_str()),
            (None, Some(check)) => ("check", check.value.as_str()),
            (None, None) => ("run", self.name.as_str()),
        };
        format!("`{{ {verb} = \"{target}\", bind = {{ {name} = \"{value}\" }} }}`")
    }

    /// Whether a name is an argument of the whole step, not of each row.
    fn gives(&self, name: &Spanned<String>) -> bool {
        self.possible.iter().any(|argument| argument.name == name.value)
    }
}

/// Arguments that only bindings name are typed by what they are bound to.
///
/// Lists come first, so that what each row gives is known when the rows' own bindings are read.
///
/// Answers the names that are a list here and something else there, with the binding's place.
pub(super) fn implied_arguments(
    drafts: &[Draft<'_>],
    shared: &mut Vec<Argument>,
) -> Vec<(String, Span)> {
    let mut clashes = Vec::new();
    for lists in [true, false] {
        for draft in drafts {
            let bound: Vec<String> =
                draft.written.bind.iter().map(|(name, _)| name.value.clone()).collect();
            for (name, expression) in &draft.written.bind {
                let Some(target) = find(&draft.possible, &name.value) else { continue };
                let Some(implied) = named_argument(expression) else { continue };
                if matches!(target.role, ArgumentRole::Rows(_)) != lists {
                    continue;
                }
                let list = draft.list_name();
                let target = if lists { of_each_row(target, &bound) } else { target.clone() };
                let known = shared.iter().find(|known| known.name == implied);
                if known.is_some_and(|known| is_list(known) != is_list(&target)) {
                    clashes.push((implied.to_string(), expression.span));
                    continue;
                }
                imply(shared, &target, implied, list.filter(|_| !lists && !draft.gives(name)));
            }
        }
    }
    share_segments(shared);
    clashes
}

fn is_list(argument: &Argument) -> bool {
    matches!(argument.role, ArgumentRole::Rows(_))
}

/// Segments of one name are one argument of the batch: no row gives again what the call gives.
fn share_segments(arguments: &mut [Argument]) {
    let is_key = |argument: &Argument| argument.role == ArgumentRole::Key;
    let given: Vec<String> =
        arguments.iter().filter(|own| is_key(own)).map(|own| own.name.clone()).collect();
    for argument in arguments {
        if let ArgumentRole::Rows(each) = &mut argument.role {
            each.retain(|own| !(is_key(own) && given.contains(&own.name)));
        }
    }
}

/// A list argument without what the step binds in each row.
fn of_each_row(rows: &Argument, bound: &[String]) -> Argument {
    let mut rows = rows.clone();
    if let ArgumentRole::Rows(each) = rows.role {
        rows.role = ArgumentRole::Rows(without(each, bound));
    }
    rows
}

/// The names of the segments that lead to the rows of a batch.
pub(super) fn key_names(steps: &[Step], filled: &[String], bound: &[String]) -> Vec<String> {
    let keys = steps.iter().filter_map(|step| match &step.action {
        StepAction::Run(pattern) => pattern.key(),
        StepAction::Check { target, .. } => Some(target.key()),
    });
    let segments: Vec<&str> =
        keys.flat_map(|key| key.segments().map(|segment| segment.name.as_str())).collect();
    let given = filled.iter().chain(bound);
    given.filter(|name| segments.contains(&name.as_str())).cloned().collect()
}
