//! What is calculated with: numbers and times without the range of a type.
//!
//! A sum may pass through what its type cannot hold: `left - $pieces >= 0` is a question even where
//! both are `u64`, and `a + b - c` is right whatever `a + b` is. Only what becomes a value must fit
//! its type, and is an `Overflow` if it does not.

use crate::error::{Error, ErrorKind, Result};
use crate::value::Value;

/// A value on its way through an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    /// A whole number.
    Whole(i128, Whole),
    /// A number with a fraction.
    Float(f64),
    /// Milliseconds since 1970.
    Instant(i128),
    /// Milliseconds.
    Length(i128),
    /// What is not calculated with.
    Other(Value),
}

/// The type a whole number has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// That of what it meets.
    Literal,
    I64,
    U64,
    Cell,
}

impl From<Value> for Operand {
    fn from(value: Value) -> Self {
        match value {
            Value::I64(number) => Operand::Whole(i128::from(number), Whole::I64),
            Value::U64(number) => Operand::Whole(i128::from(number), Whole::U64),
            Value::Cell(number) => Operand::Whole(i128::from(number), Whole::Cell),
            Value::F64(number) => Operand::Float(number),
            Value::Timestamp(at) => Operand::Instant(i128::from(at)),
            Value::Duration(length) => Operand::Length(i128::from(length)),
            other => Operand::Other(other),
        }
    }
}

impl Operand {
    pub(super) const NULL: Operand = Operand::Other(Value::Null);

    /// The number that a text of the notation is.
    pub(super) fn literal(text: &str) -> Result<Operand> {
        let operand = match text.contains('.') {
            true => text.parse().ok().map(Operand::Float),
            false => text.parse().ok().map(|number| Operand::Whole(number, Whole::Literal)),
        };
        operand.ok_or_else(overflow)
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self, Operand::Other(Value::Null | Value::Json(serde_json::Value::Null)))
    }

    pub(super) fn plus(self, other: Operand) -> Result<Operand> {
        self.combined(other, i128::checked_add, |left, right| left + right, false)
    }

    pub(super) fn minus(self, other: Operand) -> Result<Operand> {
        self.combined(other, i128::checked_sub, |left, right| left - right, true)
    }

    pub(super) fn negated(self) -> Result<Operand> {
        let negative = |number: i128| number.checked_neg().ok_or_else(overflow);
        Ok(match self {
            Operand::Whole(number, Whole::Literal) => {
                Operand::Whole(negative(number)?, Whole::Literal)
            }
            Operand::Whole(number, _) => Operand::Whole(negative(number)?, Whole::I64),
            Operand::Float(number) => Operand::Float(-number),
            Operand::Length(length) => Operand::Length(negative(length)?),
            null if null.is_null() => Operand::NULL,
            _ => return Err(incalculable()),
        })
    }

    fn combined(
        self,
        other: Operand,
        whole: impl Fn(i128, i128) -> Option<i128>,
        float: impl Fn(f64, f64) -> f64,
        is_minus: bool,
    ) -> Result<Operand> {
        let whole = |left, right| whole(left, right).ok_or_else(overflow);
        Ok(match (self, other) {
            (left, right) if left.is_null() || right.is_null() => Operand::NULL,
            (Operand::Instant(left), Operand::Instant(right)) if is_minus => {
                Operand::Length(whole(left, right)?)
            }
            (Operand::Instant(at), length) => Operand::Instant(whole(at, length.milliseconds()?)?),
            (length, Operand::Instant(at)) if !is_minus => {
                Operand::Instant(whole(length.milliseconds()?, at)?)
            }
            (left @ Operand::Length(_), right) | (left, right @ Operand::Length(_)) => {
                Operand::Length(whole(left.milliseconds()?, right.milliseconds()?)?)
            }
            (Operand::Whole(left, first), Operand::Whole(right, second)) => {
                Operand::Whole(whole(left, right)?, first.with(second))
            }
            (left, right) => {
                let (left, right) = (left.float()?, right.float()?);
                let sum = float(left, right);
                // What was infinite before may stay so; nothing is ever not a number.
                let is_grown = sum.is_infinite() && left.is_finite() && right.is_finite();
                if is_grown || sum.is_nan() {
                    return Err(overflow());
                }
                Operand::Float(sum)
            }
        })
    }

    /// A length of time; a whole number used as one is seconds.
    pub(super) fn milliseconds(&self) -> Result<i128> {
        match self {
            Operand::Length(length) => Ok(*length),
            Operand::Whole(seconds, _) => seconds.checked_mul(1_000).ok_or_else(overflow),
            _ => Err(incalculable()),
        }
    }

    /// A number with a fraction, or a constant used as one.
    pub(super) fn float(&self) -> Result<f64> {
        match self {
            Operand::Float(number) => Ok(*number),
            Operand::Whole(number, Whole::Literal) => Ok(*number as f64),
            _ => Err(incalculable()),
        }
    }

    /// The value, of the type it has by itself.
    pub(super) fn into_value(self) -> Result<Value> {
        Ok(match self {
            Operand::Whole(number, Whole::Literal) => match i64::try_from(number) {
                Ok(number) => Value::I64(number),
                Err(_) => Value::U64(in_range(number)?),
            },
            Operand::Whole(number, Whole::I64) => Value::I64(in_range(number)?),
            Operand::Whole(number, Whole::U64) => Value::U64(in_range(number)?),
            Operand::Whole(number, Whole::Cell) => Value::Cell(in_range(number)?),
            Operand::Float(number) => Value::F64(number),
            Operand::Instant(at) => Value::Timestamp(in_range(at)?),
            Operand::Length(length) => Value::Duration(in_range(length)?),
            Operand::Other(value) => value,
        })
    }
}

impl Whole {
    /// The type of a sum: of two different ones, the one that can be negative.
    fn with(self, other: Whole) -> Whole {
        match (self, other) {
            (Whole::Literal, other) | (other, Whole::Literal) => other.as_number(),
            (Whole::U64 | Whole::Cell, Whole::U64 | Whole::Cell) => Whole::U64,
            _ => Whole::I64,
        }
    }

    fn as_number(self) -> Whole {
        if self == Whole::Cell { Whole::U64 } else { self }
    }
}

/// A number in the range of its type.
pub(super) fn in_range<T: TryFrom<i128>>(number: i128) -> Result<T> {
    T::try_from(number).map_err(|_| overflow())
}

#[cold]
pub(super) fn overflow() -> Error {
    Error::new(ErrorKind::Overflow, "a calculated number is beyond the range of its type")
}

#[cold]
pub(super) fn incalculable() -> Error {
    Error::new(ErrorKind::Internal, "values of these types cannot be calculated with")
}
