//! Expressions: the conditions, bindings, computed values and index segments of a keyspace.
//!
//! They are small on purpose: no loops, no calls but the eight functions, nothing that reads.
//! The same tree serves the parser, the type checker and, later, the run time.

use crate::source::Span;
use std::fmt;

/// An expression and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// What it is.
    pub kind: ExpressionKind,
    /// Where it was written.
    pub span: Span,
}

/// The forms of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpressionKind {
    /// `12` or `1.5`, as written.
    Number(String),
    /// `'open'`.
    Text(String),
    /// `true`, `false`.
    Bool(bool),
    /// `null`.
    Null,
    /// `15m`, in milliseconds.
    Duration(i64),
    /// The instant of the call.
    Now,
    /// Whoever calls.
    Caller,
    /// A field or key segment of the stored record; `value` is a row's value, `body` its body.
    Member(String),
    /// `$name`: an argument of the call.
    Argument(String),
    /// `step.field`: of an earlier step of an `atomic`.
    StepMember(String, String),
    /// `-x`, `not x`.
    Unary(UnaryOperator, Box<Expression>),
    /// `x + y`, `x < y`, `x and y`.
    Binary(BinaryOperator, Box<Expression>, Box<Expression>),
    /// `x in (a, b)`.
    In(Box<Expression>, Vec<Expression>),
    /// `x is null`; with true, `x is not null`.
    IsNull(Box<Expression>, bool),
    /// `lower(x)`.
    Call(Function, Vec<Expression>),
    /// Something that could not be read; its problem has been reported.
    Broken,
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOperator {
    /// `-x`
    Minus,
    /// `not x`
    Not,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOperator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `and`
    And,
    /// `or`
    Or,
}

impl BinaryOperator {
    /// How it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOperator::Add => "+",
            BinaryOperator::Subtract => "-",
            BinaryOperator::Equal => "=",
            BinaryOperator::NotEqual => "!=",
            BinaryOperator::Less => "<",
            BinaryOperator::LessOrEqual => "<=",
            BinaryOperator::Greater => ">",
            BinaryOperator::GreaterOrEqual => ">=",
            BinaryOperator::And => "and",
            BinaryOperator::Or => "or",
        }
    }

    /// Whether it compares two values.
    pub fn is_comparison(self) -> bool {
        !matches!(
            self,
            BinaryOperator::Add
                | BinaryOperator::Subtract
                | BinaryOperator::And
                | BinaryOperator::Or
        )
    }
}

/// The functions of the notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// Full case folding of a text.
    Lower,
    /// One entry for each element of lists and plain fields; index keys only.
    Each,
    /// The geohash of a point, so many characters long.
    Geohash,
    /// The S2 cell of a point at a level.
    Cell,
    /// The start of the time slice an instant lies in.
    Floor,
    /// The calendar day of an instant.
    Day,
    /// The month of an instant, as text: `2026-11`.
    Month,
    /// A short hash of a value.
    Hash,
}

impl Function {
    /// Every function.
    pub const ALL: [Function; 8] = [
        Function::Lower,
        Function::Each,
        Function::Geohash,
        Function::Cell,
        Function::Floor,
        Function::Day,
        Function::Month,
        Function::Hash,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Function::Lower => "lower",
            Function::Each => "each",
            Function::Geohash => "geohash",
            Function::Cell => "cell",
            Function::Floor => "floor",
            Function::Day => "day",
            Function::Month => "month",
            Function::Hash => "hash",
        }
    }

    /// How it is called.
    pub fn signature(self) -> &'static str {
        match self {
            Function::Lower => "lower(text)",
            Function::Each => "each(field, …)",
            Function::Geohash => "geohash(latitude, longitude, characters)",
            Function::Cell => "cell(latitude, longitude, level)",
            Function::Floor => "floor(time, '1h')",
            Function::Day => "day(time)",
            Function::Month => "month(time)",
            Function::Hash => "hash(field)",
        }
    }

    /// The function with this name.
    pub fn from_name(name: &str) -> Option<Function> {
        Function::ALL.into_iter().find(|function| function.name() == name)
    }
}

impl Expression {
    /// Calls `visit` with this expression and every one inside it.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Expression)) {
        visit(self);
        match &self.kind {
            ExpressionKind::Unary(_, operand) | ExpressionKind::IsNull(operand, _) => {
                operand.walk(visit)
            }
            ExpressionKind::Binary(_, left, right) => {
                left.walk(visit);
                right.walk(visit);
            }
            ExpressionKind::In(operand, items) => {
                operand.walk(visit);
                items.iter().for_each(|item| item.walk(visit));
            }
            ExpressionKind::Call(_, arguments) => {
                arguments.iter().for_each(|argument| argument.walk(visit))
            }
            _ => {}
        }
    }

    /// The fields and segments of the stored record it names.
    pub fn members(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.walk(&mut |expression| {
            if let ExpressionKind::Member(name) = &expression.kind {
                names.push(name.as_str());
            }
        });
        names
    }

    /// The arguments it names.
    pub fn arguments(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.walk(&mut |expression| {
            if let ExpressionKind::Argument(name) = &expression.kind {
                names.push(name.as_str());
            }
        });
        names
    }

    /// Whether something of it could not be read.
    pub fn is_broken(&self) -> bool {
        let mut found = false;
        self.walk(&mut |expression| found |= expression.kind == ExpressionKind::Broken);
        found
    }

    /// The function it calls at the top, if any.
    pub fn function(&self) -> Option<Function> {
        match &self.kind {
            ExpressionKind::Call(function, _) => Some(*function),
            _ => None,
        }
    }

    /// Whether `function` is called anywhere in it.
    pub fn calls(&self, function: Function) -> bool {
        let mut found = false;
        self.walk(&mut |expression| found |= expression.function() == Some(function));
        found
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExpressionKind::Number(text) => formatter.write_str(text),
            ExpressionKind::Text(text) => write!(formatter, "'{}'", text.replace('\'', "''")),
            ExpressionKind::Bool(value) => write!(formatter, "{value}"),
            ExpressionKind::Null => formatter.write_str("null"),
            ExpressionKind::Duration(milliseconds) => {
                formatter.write_str(&duration_text(*milliseconds))
            }
            ExpressionKind::Now => formatter.write_str("now"),
            ExpressionKind::Caller => formatter.write_str("caller"),
            ExpressionKind::Member(name) => formatter.write_str(name),
            ExpressionKind::Argument(name) => write!(formatter, "${name}"),
            ExpressionKind::StepMember(step, name) => write!(formatter, "{step}.{name}"),
            ExpressionKind::Unary(UnaryOperator::Minus, operand) => {
                write!(formatter, "-{}", inner(operand, UNARY))
            }
            ExpressionKind::Unary(UnaryOperator::Not, operand) => {
                write!(formatter, "not {}", inner(operand, NOT))
            }
            ExpressionKind::Binary(operator, left, right) => {
                let own = operator.strength();
                // `a - (b - c)` and `(a < b) = c`: the right side binds tighter, and so do both
                // sides of a comparison.
                let left_needs = if operator.is_comparison() { own + 1 } else { own };
                let (left, right) = (inner(left, left_needs), inner(right, own + 1));
                write!(formatter, "{left} {} {right}", operator.symbol())
            }
            ExpressionKind::In(operand, items) => {
                write!(formatter, "{} in ({})", inner(operand, SUM), join(items))
            }
            ExpressionKind::IsNull(operand, negated) => {
                let test = if *negated { "is not null" } else { "is null" };
                write!(formatter, "{} {test}", inner(operand, SUM))
            }
            ExpressionKind::Call(function, arguments) => {
                write!(formatter, "{}({})", function.name(), join(arguments))
            }
            ExpressionKind::Broken => formatter.write_str("?"),
        }
    }
}

/// How tightly forms bind, from `or` to a name.
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const COMPARISON: u8 = 4;
const SUM: u8 = 5;
const UNARY: u8 = 6;
const NAME: u8 = 7;

impl BinaryOperator {
    fn strength(self) -> u8 {
        match self {
            BinaryOperator::Or => OR,
            BinaryOperator::And => AND,
            BinaryOperator::Add | BinaryOperator::Subtract => SUM,
            _ => COMPARISON,
        }
    }
}

/// An operand, in parentheses where it binds less tightly than its place needs.
fn inner(operand: &Expression, needs: u8) -> String {
    let strength = match &operand.kind {
        ExpressionKind::Binary(operator, _, _) => operator.strength(),
        ExpressionKind::Unary(UnaryOperator::Not, _) => NOT,
        ExpressionKind::Unary(UnaryOperator::Minus, _) => UNARY,
        ExpressionKind::In(..) | ExpressionKind::IsNull(..) => COMPARISON,
        _ => NAME,
    };
    if strength < needs { format!("({operand})") } else { operand.to_string() }
}

fn join(items: &[Expression]) -> String {
    items.iter().map(Expression::to_string).collect::<Vec<_>>().join(", ")
}

/// A length of time in the largest unit that divides it: `90s`, `15m`, `7d`.
pub fn duration_text(milliseconds: i64) -> String {
    const UNITS: [(i64, &str); 4] =
        [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    for (length, unit) in UNITS {
        if milliseconds != 0 && milliseconds % length == 0 {
            return format!("{}{unit}", milliseconds / length);
        }
    }
    format!("{milliseconds}ms")
}

#[cfg(test)]
mod tests {
    use crate::parse::{SourceString, read_expression};
    use crate::source::Span;

    #[test]
    fn printing_keeps_the_meaning() {
        for text in [
            "(a or b) and c",
            "a or b and c",
            "not (a and b)",
            "not a = b",
            "a - (b - c)",
            "a - b - c",
            "-(a + b)",
            "a + b in (1, 2)",
            "(a or b) is null",
            "lower(a) = 'x''y' and b >= now - 10m",
        ] {
            let source = SourceString::bare(Span::new(0, text.len()), text);
            let mut problems = Vec::new();
            let read = read_expression(&source, &mut problems);
            assert!(problems.is_empty(), "{text}: {problems:?}");
            assert_eq!(read.to_string(), text);
        }
    }
}
