//! Whether two texts mean the same: the check that every formatted text must pass before it is
//! given out.
//!
//! Written apart from the formatter on purpose, on values and not on tokens, so that one mistake
//! cannot hide another.

use super::lines::pieces;
use super::template;
use toml::de::{DeTable, DeValue};
use toml_parser::lexer::TokenKind;

/// The same names with the same values in the same order.
pub(super) fn same_table<'a>(
    left: &'a DeTable<'_>,
    right: &DeTable<'_>,
    path: &mut Vec<&'a str>,
) -> bool {
    left.len() == right.len()
        && left.iter().zip(right.iter()).all(|((left_name, left), (right_name, right))| {
            path.push(left_name.get_ref());
            let same = left_name.get_ref() == right_name.get_ref()
                && same_value(left.get_ref(), right.get_ref(), path);
            path.pop();
            same
        })
}

fn same_value<'a>(left: &'a DeValue<'_>, right: &DeValue<'_>, path: &mut Vec<&'a str>) -> bool {
    match (left, right) {
        (DeValue::Table(left), DeValue::Table(right)) => same_table(left, right, path),
        (DeValue::Array(left), DeValue::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right.iter())
                    .all(|(left, right)| same_value(left.get_ref(), right.get_ref(), path))
        }
        (DeValue::String(left), DeValue::String(right)) if template::is_key(path) => {
            template::is_same(left, right)
        }
        (DeValue::String(left), DeValue::String(right)) => left == right,
        (DeValue::Integer(left), DeValue::Integer(right)) => {
            left.radix() == right.radix() && left.as_str() == right.as_str()
        }
        (DeValue::Float(left), DeValue::Float(right)) => left.as_str() == right.as_str(),
        (DeValue::Boolean(left), DeValue::Boolean(right)) => left == right,
        (DeValue::Datetime(left), DeValue::Datetime(right)) => left == right,
        _ => false,
    }
}

/// The same comments in the same order.
pub(super) fn same_comments(left: &str, right: &str) -> bool {
    comments(left) == comments(right)
}

/// The comments of a text, without the space at their ends.
pub(super) fn comments(text: &str) -> Vec<&str> {
    pieces(text)
        .into_iter()
        .filter(|piece| piece.kind == TokenKind::Comment)
        .map(|piece| piece.text.trim_end())
        .collect()
}
