//! What is not said of a file that is not TOML throughout.
//!
//! The reader goes on after an error, so that the rest of the file is checked too. But what it
//! could not read may have been anything: whatever is reported as missing, unknown or unused may be
//! there, and the line of the error has been reported already.

use crate::diagnostic::{Code, Diagnostic, codes};

/// Rules that find something missing.
static OF_ABSENCE: [&Code; 21] = [
    &codes::MISSING_KEY,
    &codes::EMPTY_KEYSPACE,
    &codes::GROUP_UNBOUNDED,
    &codes::ONE_GROUP,
    &codes::ID_ONLY_IN_VALUE,
    &codes::UNDECLARED_FIELD,
    &codes::UNKNOWN_NAME,
    &codes::BAD_WINDOW,
    &codes::UNASKED_COLLECTION,
    &codes::UNASKED_INDEX,
    &codes::KEPT_UNUSED,
    &codes::NEVER_WRITTEN,
    &codes::LIST_WITHOUT_BOUND,
    &codes::VERBS,
    &codes::BAD_SET,
    &codes::NEAR_WITHOUT_BOUND,
    &codes::UNUSED_ARGUMENT,
    &codes::UNKNOWN_IN_EXPRESSION,
    &codes::OWNER_MISSING,
    &codes::WRITE_WITHOUT_ALLOW,
    &codes::UNUSED_STEP,
];

/// Drops what may be untrue of a file with TOML errors; of any other, nothing.
pub fn leave_out(text: &str, problems: &mut Vec<Diagnostic>) {
    let line = |problem: &Diagnostic| {
        let before = text.get(..problem.span().start).unwrap_or_default();
        before.bytes().filter(|byte| *byte == b'\n').count()
    };
    let is_toml = |problem: &Diagnostic| *problem.code == codes::NOT_TOML;
    let broken: Vec<usize> = problems.iter().filter(|p| is_toml(p)).map(line).collect();
    if broken.is_empty() {
        return;
    }
    problems.retain(|problem| {
        is_toml(problem) || !(OF_ABSENCE.contains(&problem.code) || broken.contains(&line(problem)))
    });
}
