//! Keeps a keyspace file tidy.
//!
//! ```text
//! text ─lex─▶ tokens ─lines─▶ lines ─value, template─▶ lines, spaced ─print─▶ text
//!   └───────────────────────── compare: the same values ─────────────────────────┘
//! ```
//!
//! Only space moves: between tokens, between lines, and inside the templates of keys. No comment,
//! name or value is ever lost, changed or moved past another; text that is not TOML is refused as
//! it stands.

mod compare;
mod lines;
mod print;
mod template;
mod value;

#[cfg(test)]
mod tests;

use crate::diagnostic::{Diagnostic, codes};
use crate::parse::parse;
use std::fmt;
use toml::de::DeTable;

/// Why a text was not formatted. The text itself stays as it is.
#[derive(Clone, Debug, PartialEq)]
pub enum FormatError {
    /// It is not TOML: every place where it is not.
    NotToml(Vec<Diagnostic>),
    /// The result would have meant something else: a bug of the formatter, caught before any harm.
    Bug,
}

impl fmt::Display for FormatError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            FormatError::NotToml(_) => "not valid TOML, so it was left alone",
            FormatError::Bug => {
                "bug: formatting would have changed what this file means, so it was left alone"
            }
        })
    }
}

impl std::error::Error for FormatError {}

/// The same file, tidy. Formatting a formatted text gives it back unchanged.
pub fn format(text: &str) -> Result<String, FormatError> {
    let before = DeTable::parse(text).map_err(|_| FormatError::NotToml(toml_problems(text)))?;
    let formatted = print::print(lines::lines(text));
    let after = DeTable::parse(&formatted).map_err(|_| FormatError::Bug)?;
    let same_values = compare::same_table(before.get_ref(), after.get_ref(), &mut Vec::new());
    if same_values && compare::same_comments(text, &formatted) {
        Ok(formatted)
    } else {
        Err(FormatError::Bug)
    }
}

/// What the parser says of the text as TOML; what it says of the notation is for the checker.
fn toml_problems(text: &str) -> Vec<Diagnostic> {
    let (_, mut problems) = parse(text);
    problems.retain(|problem| [&codes::NOT_TOML, &codes::FILE_TOO_LARGE].contains(&problem.code));
    problems
}
