//! The types of expressions.
//!
//! Each expression is typed from the inside out. A problem is reported where it stands, once; what
//! could not be typed is `Unknown`, which fits everywhere, so that one mistake gives one report.

use super::fits::{
    alike, comparable, conversion, goes_into, is_literal_number, is_number_literal, suggest_word,
};
use super::scope::Scope;
use crate::diagnostic::{Diagnostic, codes, listed};
use crate::model::{BinaryOperator, Expression, ExpressionKind, Type, UnaryOperator};
use crate::source::Span;

/// The type of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Typed {
    /// A type of the notation.
    Known(Type),
    /// A whole number that fits any number, and, as seconds, a length of time.
    Integer(i128),
    /// A number with a fraction.
    Fraction,
    /// A text that may be a word of an enum.
    Text(String),
    /// `null`.
    Null,
    /// The caller's id, whatever type ids have.
    Caller,
    /// Could not be typed; the problem has been reported.
    Unknown,
}

/// Types expressions in a scope.
pub struct Typer<'a> {
    /// What names may be used.
    pub scope: &'a Scope,
    /// What was found.
    pub problems: &'a mut Vec<Diagnostic>,
}

impl Typer<'_> {
    /// An expression that must be true or false.
    pub fn condition(&mut self, expression: &Expression) {
        let typed = self.type_of(expression);
        if !matches!(&typed, Typed::Known(known) if *known == Type::Bool) && typed != Typed::Unknown
        {
            let message = format!("this is {}, not a condition", typed.describe());
            self.problems.push(
                Diagnostic::new(&codes::NOT_A_CONDITION, expression.span, message)
                    .fix("compare it with something: `= 'open'`, `> 0`, `is null`"),
            );
        }
    }

    /// An expression whose value goes where `target` is expected.
    pub fn assigned(&mut self, expression: &Expression, target: &Type, what: &str) {
        if self.is_bare_word(expression, target) {
            return;
        }
        let typed = self.type_of(expression);
        if typed == Typed::Null && target.is_optional() {
            return;
        }
        let may_be_null = matches!(&typed, Typed::Known(known) if known.is_optional());
        if may_be_null && !target.is_optional() {
            let message = format!("{what} is `{target}`, and this may be null");
            self.problems.push(
                Diagnostic::new(&codes::TYPE_MISMATCH, expression.span, message)
                    .effect("a call that leaves it out would be an error")
                    .fix("use a field or argument that is always there")
                    .fix(format!(
                        "or declare one: `arguments = {{ … = \"{target}\" }}`, and bind both to it"
                    )),
            );
            return;
        }
        self.fits(&typed, target, expression.span, &format!("{what} is `{target}`"));
    }

    /// Reports a value that does not fit a type.
    fn fits(&mut self, typed: &Typed, target: &Type, span: Span, why: &str) {
        if let (Typed::Text(text), Type::Enum(words)) = (typed, target.required()) {
            if !words.contains(text) {
                let problem = Diagnostic::new(
                    &codes::TYPE_MISMATCH,
                    span,
                    format!("`{text}` is none of {}", listed(words.iter().map(String::as_str))),
                );
                self.problems.push(suggest_word(problem, span, text, words));
            }
            return;
        }
        if !goes_into(typed, target.required()) {
            let message = format!("{why}, and this is {}", typed.describe());
            self.problems.push(
                Diagnostic::new(&codes::TYPE_MISMATCH, span, message).fix(conversion(target)),
            );
        }
    }

    /// The type of an expression.
    pub fn type_of(&mut self, expression: &Expression) -> Typed {
        match &expression.kind {
            ExpressionKind::Number(text) if text.contains('.') => Typed::Fraction,
            ExpressionKind::Number(text) => {
                // Longer than this it fits nothing, whatever its digits.
                Typed::Integer(text.parse().unwrap_or(i128::MAX))
            }
            ExpressionKind::Text(text) => Typed::Text(text.clone()),
            ExpressionKind::Bool(_) => Typed::Known(Type::Bool),
            ExpressionKind::Null => Typed::Null,
            ExpressionKind::Duration(_) => Typed::Known(Type::Duration),
            ExpressionKind::Now => {
                self.outside(expression.span, "now", Typed::Known(Type::Timestamp))
            }
            ExpressionKind::Caller => self.outside(expression.span, "caller", Typed::Caller),
            ExpressionKind::Member(name) => self.member(name, expression.span),
            ExpressionKind::Argument(name) => self.argument(name, expression.span),
            ExpressionKind::StepMember(step, name) => self.step_member(step, name, expression.span),
            ExpressionKind::Unary(operator, operand) => self.unary(*operator, operand),
            ExpressionKind::Binary(operator, left, right) => self.binary(*operator, left, right),
            ExpressionKind::In(operand, items) => {
                let left = self.type_of(operand);
                for item in items {
                    let right = self.type_of(item);
                    self.compared((&left, item.span), (&right, item.span), item.span);
                }
                Typed::Known(Type::Bool)
            }
            ExpressionKind::IsNull(operand, _) => {
                self.type_of(operand);
                Typed::Known(Type::Bool)
            }
            ExpressionKind::Call(function, arguments) => {
                super::functions::type_of_call(self, *function, arguments, expression.span)
            }
            ExpressionKind::Broken => Typed::Unknown,
        }
    }

    fn unary(&mut self, operator: UnaryOperator, operand: &Expression) -> Typed {
        match operator {
            UnaryOperator::Not => {
                self.condition(operand);
                Typed::Known(Type::Bool)
            }
            UnaryOperator::Minus => match self.type_of(operand) {
                Typed::Integer(value) => Typed::Integer(value.saturating_neg()),
                Typed::Fraction => Typed::Fraction,
                Typed::Unknown => Typed::Unknown,
                Typed::Known(known) if known.is_number() || *known.required() == Type::Duration => {
                    Typed::Known(negated(known))
                }
                other => {
                    let message = format!("{} has no negative", other.describe());
                    self.mismatch(operand.span, message, "negate a number or a length of time");
                    Typed::Unknown
                }
            },
        }
    }

    fn binary(&mut self, operator: BinaryOperator, left: &Expression, right: &Expression) -> Typed {
        match operator {
            BinaryOperator::And | BinaryOperator::Or => {
                self.condition(left);
                self.condition(right);
                Typed::Known(Type::Bool)
            }
            BinaryOperator::Add | BinaryOperator::Subtract => {
                let (first, second) = (self.type_of(left), self.type_of(right));
                self.calculated(operator, &first, &second, left.span.to(right.span))
            }
            _ => {
                if self.compares_bare_word(left, right) || self.compares_bare_word(right, left) {
                    return Typed::Known(Type::Bool);
                }
                let (first, second) = (self.type_of(left), self.type_of(right));
                let whole = left.span.to(right.span);
                if first == Typed::Null || second == Typed::Null {
                    self.null_compared(operator, left, right, whole);
                } else {
                    self.compared((&first, left.span), (&second, right.span), whole);
                }
                Typed::Known(Type::Bool)
            }
        }
    }

    fn null_compared(
        &mut self,
        operator: BinaryOperator,
        left: &Expression,
        right: &Expression,
        span: Span,
    ) {
        let other = if left.kind == ExpressionKind::Null { right } else { left };
        let test = if operator == BinaryOperator::NotEqual { "is not null" } else { "is null" };
        self.problems.push(
            Diagnostic::new(&codes::NULL_COMPARED, span, "nothing compares with null").replace(
                "ask for it by name",
                span,
                format!("{other} {test}"),
            ),
        );
    }

    /// The type of a sum or difference.
    fn calculated(
        &mut self,
        operator: BinaryOperator,
        first: &Typed,
        second: &Typed,
        span: Span,
    ) -> Typed {
        let minus = operator == BinaryOperator::Subtract;
        if *first == Typed::Unknown || *second == Typed::Unknown {
            return Typed::Unknown;
        }
        let length = |typed: &Typed| {
            matches!(typed, Typed::Integer(_))
                || typed.required().is_some_and(|t| *t == Type::Duration || t.is_integer())
        };
        let nullable = |typed: &Typed| matches!(typed, Typed::Known(t) if t.is_optional());
        let result = match (first.required(), second.required()) {
            (Some(Type::Timestamp), Some(Type::Timestamp)) if minus => Type::Duration,
            (Some(Type::Timestamp), _) if length(second) => Type::Timestamp,
            (_, Some(Type::Timestamp)) if length(first) && !minus => Type::Timestamp,
            (Some(Type::Duration), _) if length(second) => Type::Duration,
            (_, Some(Type::Duration)) if length(first) => Type::Duration,
            (Some(left), Some(right)) if left == right && left.is_number() => left.clone(),
            (Some(left), Some(right)) if left.is_integer() && right.is_integer() => Type::I64,
            (Some(left), None) if left.is_number() && is_literal_number(second, left) => {
                left.clone()
            }
            (None, Some(right)) if right.is_number() && is_literal_number(first, right) => {
                right.clone()
            }
            (None, None) if is_number_literal(first) && is_number_literal(second) => {
                return match (first, second) {
                    (Typed::Integer(left), Typed::Integer(right)) if minus => {
                        Typed::Integer(left.saturating_sub(*right))
                    }
                    (Typed::Integer(left), Typed::Integer(right)) => {
                        Typed::Integer(left.saturating_add(*right))
                    }
                    _ => Typed::Fraction,
                };
            }
            _ => {
                let verb = if minus { "subtracted from" } else { "added to" };
                let message =
                    format!("{} cannot be {verb} {}", second.describe(), first.describe());
                let fix = "numbers add to numbers, lengths of time to times: `now + 30s`";
                self.mismatch(span, message, fix);
                return Typed::Unknown;
            }
        };
        let optional = nullable(first) || nullable(second);
        Typed::Known(if optional { Type::Optional(Box::new(result)) } else { result })
    }

    /// Reports two values that cannot be compared: a constant where it stands, else both.
    fn compared(&mut self, left: (&Typed, Span), right: (&Typed, Span), span: Span) {
        let ((left, left_span), (right, right_span)) = (left, right);
        let refused = |known: &Type| matches!(known, Type::Json | Type::List(_) | Type::Path);
        for side in [left, right] {
            if let Some(known) = side.required().filter(|known| refused(known)) {
                let message = format!("`{known}` can only be asked for with `is null`");
                self.mismatch(span, message, "compare a field of a simple type");
                return;
            }
        }
        match (left.required(), right.required()) {
            (Some(known), None) => {
                self.fits(right, known, right_span, &format!("the other side is `{known}`"))
            }
            (None, Some(known)) => {
                self.fits(left, known, left_span, &format!("the other side is `{known}`"))
            }
            (Some(first), Some(second)) if !comparable(first, second) => {
                let message = format!("`{first}` does not compare with `{second}`");
                self.mismatch(span, message, "compare values of one type");
            }
            (None, None) if !alike(left, right) => {
                let (first, second) = (left.describe(), right.describe());
                let message = format!("{first} does not compare with {second}");
                self.mismatch(span, message, "compare values of one type");
            }
            _ => {}
        }
    }

    fn mismatch(&mut self, span: Span, message: String, fix: &str) {
        self.problems.push(Diagnostic::new(&codes::TYPE_MISMATCH, span, message).fix(fix));
    }
}

/// The type of a negated number or length: a `u64` is then counted as `i64`, as amounts are.
fn negated(known: Type) -> Type {
    match known {
        Type::U64 => Type::I64,
        Type::Optional(inner) => Type::Optional(Box::new(negated(*inner))),
        other => other,
    }
}
