//! The functions of the notation: what they take and what they give.

use super::typing::{Typed, Typer};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Expression, ExpressionKind, Function, Type};
use crate::parse::parse_duration;
use crate::source::Span;
use std::ops::RangeInclusive;

/// Characters of a geohash.
pub const GEOHASH_CHARACTERS: RangeInclusive<u64> = 1..=12;
/// Levels of an S2 cell.
pub const CELL_LEVELS: RangeInclusive<u64> = 0..=30;

/// The type of a call.
pub fn type_of_call(
    typer: &mut Typer<'_>,
    function: Function,
    arguments: &[Expression],
    span: Span,
) -> Typed {
    if function == Function::Each && !typer.scope.plural {
        typer.problems.push(
            Diagnostic::new(
                &codes::EACH_MISUSED,
                span,
                "`each` makes several values of one record",
            )
            .fix("use it once, as a segment of an index key: `{each(tags)}`"),
        );
        return Typed::Unknown;
    }
    let types: Vec<Typed> = match function {
        // The length of a floor is a word, not a value.
        Function::Floor => arguments.iter().take(1).map(|first| typer.type_of(first)).collect(),
        _ => arguments.iter().map(|argument| typer.type_of(argument)).collect(),
    };
    if types.contains(&Typed::Unknown) {
        return Typed::Unknown;
    }
    let optional = types.iter().any(|t| matches!(t, Typed::Known(known) if known.is_optional()));
    let result = match (function, types.as_slice()) {
        (Function::Lower, [argument]) if is_text(argument) => Some(Type::Text),
        (Function::Each, [_, ..]) => return each(typer, &types, span),
        (Function::Geohash, [latitude, longitude, _]) => point(latitude, longitude)
            .filter(|_| constant(arguments.get(2), &GEOHASH_CHARACTERS))
            .map(|()| Type::Text),
        (Function::Cell, [latitude, longitude, _]) => point(latitude, longitude)
            .filter(|_| constant(arguments.get(2), &CELL_LEVELS))
            .map(|()| Type::U64),
        (Function::Floor, [time]) if is_instant(time) && is_length(arguments.get(1)) => {
            Some(Type::Timestamp)
        }
        (Function::Day, [time]) if is_instant(time) => Some(Type::Date),
        (Function::Month, [time]) if is_instant(time) => Some(Type::Text),
        (Function::Hash, [Typed::Known(known)]) if !matches!(known.required(), Type::List(_)) => {
            Some(Type::Bytes)
        }
        _ => None,
    };
    match result {
        Some(found) if optional => Typed::Known(Type::Optional(Box::new(found))),
        Some(found) => Typed::Known(found),
        None => refuse(typer, function, span),
    }
}

fn refuse(typer: &mut Typer<'_>, function: Function, span: Span) -> Typed {
    let more = match function {
        Function::Geohash => "; it has 1 to 12 characters, and both coordinates are f64",
        Function::Cell => "; levels are 0 to 30, and both coordinates are f64",
        Function::Floor => "; the length is a word in quotes, and the time is a timestamp",
        Function::Day | Function::Month => "; the time is a timestamp, timeuuid or ulid",
        Function::Lower => "; only text has a case",
        Function::Each => "; all of them have one type",
        Function::Hash => "; a list has no one hash",
    };
    let message = format!("`{}` does not take these arguments", function.name());
    typer.problems.push(
        Diagnostic::new(&codes::FUNCTION_ARGUMENTS, span, message)
            .fix(format!("call it as `{}`{more}", function.signature())),
    );
    Typed::Unknown
}

/// One entry an element: the type of the elements, which all arguments share.
fn each(typer: &mut Typer<'_>, types: &[Typed], span: Span) -> Typed {
    let mut elements = types.iter().map(|typed| match typed {
        Typed::Known(known) => match known.required() {
            Type::List(inner) => Some(inner.as_ref().required().clone()),
            other => Some(other.clone()),
        },
        _ => None,
    });
    let first = elements.next().flatten();
    let same = elements.all(|element| element == first);
    match first.filter(|_| same) {
        Some(found) => Typed::Known(found),
        None => refuse(typer, Function::Each, span),
    }
}

fn is_text(typed: &Typed) -> bool {
    match typed {
        Typed::Known(known) => matches!(known.required(), Type::Text | Type::Enum(_)),
        Typed::Text(_) => true,
        _ => false,
    }
}

fn is_instant(typed: &Typed) -> bool {
    let Typed::Known(known) = typed else { return false };
    matches!(known.required(), Type::Timestamp | Type::TimeUuid | Type::Ulid)
}

fn point(latitude: &Typed, longitude: &Typed) -> Option<()> {
    let coordinate = |typed: &Typed| match typed {
        Typed::Known(known) => *known.required() == Type::F64,
        Typed::Integer(_) | Typed::Fraction => true,
        _ => false,
    };
    (coordinate(latitude) && coordinate(longitude)).then_some(())
}

fn constant(argument: Option<&Expression>, range: &RangeInclusive<u64>) -> bool {
    number(argument).is_some_and(|value| range.contains(&value))
}

/// The whole number an argument is.
pub fn number(argument: Option<&Expression>) -> Option<u64> {
    match &argument?.kind {
        ExpressionKind::Number(text) => text.parse().ok(),
        _ => None,
    }
}

fn is_length(argument: Option<&Expression>) -> bool {
    match argument.map(|argument| &argument.kind) {
        Some(ExpressionKind::Text(text)) => parse_duration(text).is_some(),
        Some(ExpressionKind::Duration(length)) => *length > 0,
        _ => false,
    }
}
