//! Arguments of a batch that nothing declares: `$lines` and `$source` are what they are bound to.

use super::arguments::{find, imply, without};
use super::atomic::Draft;
use super::patterns::named_argument;
use crate::model::{Argument, ArgumentRole, Step, StepAction};
use crate::source::Spanned;

impl Draft<'_> {
    /// The list of the call that holds the step's rows, if it has several.
    fn list_name(&self) -> Option<&str> {
        let is_rows = |argument: &&Argument| matches!(argument.role, ArgumentRole::Rows(_));
        let rows = self.possible.iter().find(is_rows)?;
        let bound = self.written.bind.iter().find(|(name, _)| name.value == rows.name);
        Some(bound.and_then(|(_, expression)| named_argument(expression)).unwrap_or("rows"))
    }

    /// Whether a name is an argument of the whole step, not of each row.
    fn gives(&self, name: &Spanned<String>) -> bool {
        self.possible.iter().any(|argument| argument.name == name.value)
    }
}

/// Arguments that only bindings name are typed by what they are bound to.
///
/// Lists come first, so that what each row gives is known when the rows' own bindings are read.
pub(super) fn implied_arguments(drafts: &[Draft<'_>], shared: &mut Vec<Argument>) {
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
                imply(shared, &target, implied, list.filter(|_| !lists && !draft.gives(name)));
            }
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
