//! Which types go together, and what to say where they do not.

use super::typing::Typed;
use crate::diagnostic::{Diagnostic, listed, nearest};
use crate::model::Type;
use crate::source::Span;

impl Typed {
    /// What to call it in a message.
    pub(super) fn describe(&self) -> String {
        match self {
            Typed::Known(known) => format!("`{known}`"),
            Typed::Integer(value)
                if u64::try_from(*value).is_err() && i64::try_from(*value).is_err() =>
            {
                "a number too large for any type".to_string()
            }
            Typed::Integer(value) => format!("the whole number {value}"),
            Typed::Fraction => "a number".to_string(),
            Typed::Text(_) => "a text".to_string(),
            Typed::Null => "`null`".to_string(),
            Typed::Caller => "the caller".to_string(),
            Typed::Unknown => "something unknown".to_string(),
        }
    }

    /// The type without its `?`, where it is one of the notation.
    pub(super) fn required(&self) -> Option<&Type> {
        match self {
            Typed::Known(known) => Some(known.required()),
            _ => None,
        }
    }
}

pub(super) fn is_number_literal(typed: &Typed) -> bool {
    matches!(typed, Typed::Integer(_) | Typed::Fraction)
}

pub(super) fn is_literal_number(typed: &Typed, known: &Type) -> bool {
    matches!(typed, Typed::Integer(_)) || (*typed == Typed::Fraction && *known == Type::F64)
}

pub(super) fn comparable(first: &Type, second: &Type) -> bool {
    let text = |known: &Type| matches!(known, Type::Text | Type::Enum(_));
    first == second
        || (first.is_integer() && second.is_integer())
        || (text(first) && text(second) && (*first == Type::Text || *second == Type::Text))
}

/// Whether two constants, or a constant and the caller, compare.
pub(super) fn alike(first: &Typed, second: &Typed) -> bool {
    match (first, second) {
        (Typed::Unknown, _) | (_, Typed::Unknown) => true,
        (Typed::Caller, other) | (other, Typed::Caller) => {
            matches!(other, Typed::Caller | Typed::Text(_) | Typed::Integer(_))
        }
        (Typed::Text(_), Typed::Text(_)) => true,
        (first, second) => is_number_literal(first) && is_number_literal(second),
    }
}

/// Whether a value of this type may go where `target`, which is required, is expected.
pub(super) fn goes_into(typed: &Typed, target: &Type) -> bool {
    match typed {
        Typed::Unknown => true,
        Typed::Known(known) => {
            let known = known.required();
            known == target
                || (known.is_integer() && target.is_integer())
                || (known.is_integer() && *target == Type::Duration)
                || (matches!(known, Type::Enum(_)) && *target == Type::Text)
                || (*known == Type::Duration && target.is_integer())
                || *target == Type::Json
        }
        Typed::Integer(value) => match target {
            Type::F64 | Type::Json => true,
            Type::I64 | Type::Duration => i64::try_from(*value).is_ok(),
            Type::U64 => u64::try_from(*value).is_ok(),
            _ => false,
        },
        Typed::Fraction => matches!(target, Type::F64 | Type::Json),
        Typed::Text(_) => matches!(target, Type::Text | Type::Json),
        Typed::Null => *target == Type::Json,
        Typed::Caller => {
            matches!(
                target,
                Type::Text | Type::Uuid | Type::TimeUuid | Type::Ulid | Type::I64 | Type::U64
            )
        }
    }
}

pub(super) fn conversion(target: &Type) -> String {
    match target.required() {
        Type::Text => "give a text in single quotes".to_string(),
        Type::Timestamp => "give a time: `now`, `now - 10m`, or a field that holds one".to_string(),
        Type::Duration => "give a length of time: `15m`".to_string(),
        Type::Enum(words) => {
            format!("give one of {}", listed(words.iter().map(String::as_str)))
        }
        Type::Date => "give a day: `day(now)`, or an argument or field that holds one".to_string(),
        Type::Bool => "give `true`, `false` or a comparison".to_string(),
        other if other.is_number() => "give a number".to_string(),
        other => format!("give an argument or a field of type `{other}`; it has no constants"),
    }
}

pub(super) fn suggest_word(
    problem: Diagnostic,
    span: Span,
    text: &str,
    words: &[String],
) -> Diagnostic {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let near = nearest(&format!("'{text}'"), quoted.iter().map(String::as_str));
    match near {
        Some(word) => problem.replace(format!("did you mean {word}?"), span, word),
        None => problem.fix(format!("give one of {}", listed(quoted.iter().map(String::as_str)))),
    }
}
