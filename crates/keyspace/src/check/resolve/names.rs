//! Which names may be used, and for what.

use crate::diagnostic::{Diagnostic, codes};
use crate::model::limits::NAME_CHARACTERS_MAX;
use crate::source::Spanned;

/// Words of expressions: no field or segment can have them.
const EXPRESSION_WORDS: [&str; 13] = [
    "and",
    "or",
    "not",
    "in",
    "is",
    "null",
    "true",
    "false",
    "now",
    "caller",
    "value",
    "body",
    "if_version",
];
/// Arguments of lists and calls with `many`: no key segment can have them.
const CALL_WORDS: [&str; 9] =
    ["cursor", "limit", "reverse", "from", "before", "starts", "under", "rows", "amount"];
/// Addresses of the server beside the patterns'.
const ADDRESSES: [&str; 5] = ["health", "metrics", "mcp", "openapi", "console"];

/// What a name is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameOf {
    /// A keyspace.
    Keyspace,
    /// A collection, an index or a table.
    Table,
    /// A key segment.
    Segment,
    /// A field or an argument.
    Field,
    /// A pattern.
    Pattern,
    /// A step.
    Step,
}

/// Reports a name that cannot be used.
pub fn check_name(name: &Spanned<String>, of: NameOf, problems: &mut Vec<Diagnostic>) {
    let text = name.value.as_str();
    let fits = text.len() <= NAME_CHARACTERS_MAX
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !fits {
        let message = format!("`{text}` is no name");
        let mut problem = Diagnostic::new(&codes::BAD_NAME, name.span, message);
        if let Some(better) = snake_case(text) {
            problem = problem.fix(format!("write `{better}`, here and wherever it is used"));
        }
        problems.push(problem.fix(
            "a name is a lower-case letter, then up to 47 lower-case letters, digits and `_`",
        ));
        return;
    }
    let reserved = match of {
        NameOf::Segment => EXPRESSION_WORDS.contains(&text) || CALL_WORDS.contains(&text),
        NameOf::Field | NameOf::Step => EXPRESSION_WORDS.contains(&text),
        NameOf::Pattern => ADDRESSES.contains(&text),
        NameOf::Table => text == "keyway" || text.starts_with("keyway_"),
        NameOf::Keyspace => {
            matches!(text, "keyway" | "system" | "public" | "information_schema")
                || text.starts_with("pg_")
                || text.starts_with("system_")
        }
    };
    if reserved {
        let why = match of {
            NameOf::Segment if CALL_WORDS.contains(&text) => "calls use it to steer a page",
            NameOf::Segment | NameOf::Field | NameOf::Step => "expressions use it",
            NameOf::Pattern => "the server answers there",
            NameOf::Table => "Keyway keeps its own tables under it",
            NameOf::Keyspace => "the stores keep it for themselves",
        };
        let message = format!("`{text}` is reserved: {why}");
        problems.push(
            Diagnostic::new(&codes::RESERVED_NAME, name.span, message)
                .fix("choose another name: a more specific one usually reads better"),
        );
    }
}

/// `createdAt` → `created_at`, if that makes a name of it.
fn snake_case(text: &str) -> Option<String> {
    let mut better = String::new();
    for character in text.chars() {
        match character {
            'A'..='Z' => {
                if !better.is_empty() && !better.ends_with('_') {
                    better.push('_');
                }
                better.push(character.to_ascii_lowercase());
            }
            'a'..='z' | '0'..='9' => better.push(character),
            '_' | '-' | ' ' | '.' if !better.is_empty() && !better.ends_with('_') => {
                better.push('_')
            }
            '_' => {}
            _ => return None,
        }
    }
    let better = better.trim_end_matches('_').to_string();
    let fits = better.starts_with(|first: char| first.is_ascii_lowercase());
    (fits && better.len() <= NAME_CHARACTERS_MAX).then_some(better)
}
