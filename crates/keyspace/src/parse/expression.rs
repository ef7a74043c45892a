//! Reads expressions: `status = 'open' and visible_at <= now - 10m`.
//!
//! ```text
//! or ─▶ and ─▶ not ─▶ comparison ─▶ sum ─▶ unary ─▶ primary
//! ```
//! A problem is reported once, where it stands; what could not be read becomes `Broken`, which
//! the type checker passes over.

use super::cursor::{Cursor, is_word};
use super::strings::SourceString;
use super::types::{read_number, unclosed_text};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::limits::{EXPRESSION_DEPTH_MAX, EXPRESSION_OPERATORS_MAX};
use crate::model::{BinaryOperator, Expression, ExpressionKind, UnaryOperator};
use crate::source::Span;

/// Reads a whole string as an expression.
pub fn read_expression(source: &SourceString, problems: &mut Vec<Diagnostic>) -> Expression {
    let mut cursor = Cursor::new(source);
    let mut reader =
        Reader { cursor: &mut cursor, problems, depth: 0, operators: 0, failed: false };
    let expression = reader.or();
    reader.cursor.skip_spaces();
    if !reader.failed && !reader.cursor.is_at_end() {
        return reader.left_over();
    }
    expression
}

/// Reads what may stand in an index segment: a name or a function's call.
pub fn read_segment_source(
    cursor: &mut Cursor<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Option<Expression> {
    let mut reader = Reader { cursor, problems, depth: 0, operators: 0, failed: false };
    let expression = reader.primary();
    let failed = reader.failed;
    (!failed).then_some(expression)
}

/// Words that are no names.
pub(super) const WORDS: [&str; 10] =
    ["and", "or", "not", "in", "is", "null", "true", "false", "now", "caller"];

pub(super) struct Reader<'a, 'b> {
    pub(super) cursor: &'a mut Cursor<'b>,
    pub(super) problems: &'a mut Vec<Diagnostic>,
    pub(super) depth: usize,
    pub(super) operators: usize,
    pub(super) failed: bool,
}

impl Reader<'_, '_> {
    fn or(&mut self) -> Expression {
        let mut left = self.and();
        while self.word("or") {
            let right = self.and();
            left = self.joined(BinaryOperator::Or, left, right);
        }
        left
    }

    fn and(&mut self) -> Expression {
        let mut left = self.not();
        while self.word("and") {
            let right = self.not();
            left = self.joined(BinaryOperator::And, left, right);
        }
        left
    }

    fn not(&mut self) -> Expression {
        self.cursor.skip_spaces();
        let start = self.cursor.position();
        if !self.word("not") {
            return self.comparison();
        }
        if let Some(broken) = self.too_deep() {
            return broken;
        }
        let operand = self.not();
        self.depth -= 1;
        let kind = ExpressionKind::Unary(UnaryOperator::Not, Box::new(operand));
        Expression { kind, span: self.cursor.span_from(start) }
    }

    fn comparison(&mut self) -> Expression {
        const OPERATORS: [(&str, BinaryOperator); 8] = [
            ("<>", BinaryOperator::NotEqual),
            ("!=", BinaryOperator::NotEqual),
            ("<=", BinaryOperator::LessOrEqual),
            (">=", BinaryOperator::GreaterOrEqual),
            ("<", BinaryOperator::Less),
            (">", BinaryOperator::Greater),
            ("==", BinaryOperator::Equal),
            ("=", BinaryOperator::Equal),
        ];
        let left = self.sum();
        self.cursor.skip_spaces();
        let start = self.cursor.position();
        if let Some((symbol, operator)) =
            OPERATORS.into_iter().find(|(symbol, _)| self.cursor.take(symbol))
        {
            if let "==" | "<>" = symbol {
                let span = self.cursor.span_from(start);
                let here = operator.symbol();
                let message = format!("`{symbol}` is written `{here}` here");
                self.problems.push(Diagnostic::new(&codes::BAD_EXPRESSION, span, message).replace(
                    format!("compare with `{here}`"),
                    span,
                    here,
                ));
            }
            let right = self.sum();
            return binary(operator, left, right);
        }
        if self.word("in") {
            return self.membership(left);
        }
        if self.word("is") {
            let negated = self.word("not");
            if !self.word("null") {
                let span = self.cursor.span_word();
                return self.fail(span, "`is` is followed by `null` or `not null`");
            }
            let span = left.span.to(self.cursor.span_from(self.cursor.position()));
            return Expression { kind: ExpressionKind::IsNull(Box::new(left), negated), span };
        }
        left
    }

    fn membership(&mut self, left: Expression) -> Expression {
        self.cursor.skip_spaces();
        if !self.cursor.take("(") {
            return self.fail_here("`in` is followed by a list: `in ('a', 'b')`");
        }
        let start = self.cursor.position();
        let items = self.list();
        if items.is_empty() && !self.failed {
            let span = self.cursor.span_from(start.saturating_sub(1));
            return self.fail(span, "nothing is in an empty list");
        }
        let span = left.span.to(self.cursor.span_from(self.cursor.position()));
        Expression { kind: ExpressionKind::In(Box::new(left), items), span }
    }

    /// Expressions up to the closing parenthesis, the opening one read.
    pub(super) fn list(&mut self) -> Vec<Expression> {
        let mut items = Vec::new();
        self.cursor.skip_spaces();
        if self.cursor.take(")") {
            return items;
        }
        if self.too_deep().is_some() {
            return items;
        }
        loop {
            items.push(self.or());
            self.cursor.skip_spaces();
            if self.failed || self.cursor.take(")") {
                break;
            }
            if !self.cursor.take(",") {
                self.fail_here("a `,` or `)` is missing here");
                break;
            }
        }
        self.depth = self.depth.saturating_sub(1);
        items
    }

    fn sum(&mut self) -> Expression {
        let mut left = self.unary();
        loop {
            self.cursor.skip_spaces();
            let operator = if self.cursor.take("+") {
                BinaryOperator::Add
            } else if self.cursor.take("-") {
                BinaryOperator::Subtract
            } else {
                return left;
            };
            let right = self.unary();
            left = self.joined(operator, left, right);
        }
    }

    fn unary(&mut self) -> Expression {
        self.cursor.skip_spaces();
        let start = self.cursor.position();
        if !self.cursor.take("-") {
            return self.primary();
        }
        if let Some(broken) = self.too_deep() {
            return broken;
        }
        let operand = self.unary();
        self.depth = self.depth.saturating_sub(1);
        let kind = ExpressionKind::Unary(UnaryOperator::Minus, Box::new(operand));
        Expression { kind, span: self.cursor.span_from(start) }
    }

    fn primary(&mut self) -> Expression {
        self.cursor.skip_spaces();
        let start = self.cursor.position();
        let kind = match self.cursor.peek() {
            Some('(') => return self.parentheses(),
            Some('\'') => match self.cursor.quoted() {
                Some(text) => ExpressionKind::Text(text),
                None => {
                    self.problems.push(unclosed_text(self.cursor, start));
                    self.failed = true;
                    ExpressionKind::Broken
                }
            },
            Some('"') => return self.fail_here("text stands in single quotes here: `'open'`"),
            Some('$') => {
                self.cursor.next();
                let name = self.cursor.take_while(is_word);
                if name.is_empty() {
                    let span = self.cursor.span_from(start);
                    return self.fail(span, "an argument's name is missing after `$`");
                }
                ExpressionKind::Argument(name.to_string())
            }
            Some(first) if first.is_ascii_digit() => return self.number(start),
            Some(first) if first.is_ascii_alphabetic() || first == '_' => return self.name(start),
            None => return self.fail_here("something is missing here"),
            Some(other) => {
                let message = format!("`{other}` cannot stand here");
                return self.fail_here(&message);
            }
        };
        Expression { kind, span: self.cursor.span_from(start) }
    }

    fn parentheses(&mut self) -> Expression {
        let start = self.cursor.position();
        self.cursor.next();
        if let Some(broken) = self.too_deep() {
            return broken;
        }
        let inner = self.or();
        self.depth = self.depth.saturating_sub(1);
        self.cursor.skip_spaces();
        if !self.failed && !self.cursor.take(")") {
            return self.fail_here("a `)` is missing here");
        }
        // With its parentheses, so that it can be replaced whole.
        Expression { span: self.cursor.span_from(start), ..inner }
    }

    fn number(&mut self, start: usize) -> Expression {
        let text = read_number(self.cursor);
        let unit = self.cursor.take_while(is_word);
        let span = self.cursor.span_from(start);
        if unit.is_empty() {
            return Expression { kind: ExpressionKind::Number(text), span };
        }
        match milliseconds(&text, unit) {
            Some(length) => Expression { kind: ExpressionKind::Duration(length), span },
            None => self.fail(span, "a length of time is a whole number and ms, s, m, h, d or w"),
        }
    }

    fn word(&mut self, word: &str) -> bool {
        self.cursor.skip_spaces();
        self.cursor.take_word(word)
    }

    /// A longer chain; each link is a level of the tree, which is walked.
    fn joined(
        &mut self,
        operator: BinaryOperator,
        left: Expression,
        right: Expression,
    ) -> Expression {
        self.operators += 1;
        if self.operators > EXPRESSION_OPERATORS_MAX {
            let message = format!("an expression has at most {EXPRESSION_OPERATORS_MAX} operators");
            return self.fail(right.span, &message);
        }
        binary(operator, left, right)
    }

    /// Goes one level down; `Broken` where that is too deep.
    fn too_deep(&mut self) -> Option<Expression> {
        self.cursor.skip_spaces();
        self.depth += 1;
        (self.depth > EXPRESSION_DEPTH_MAX)
            .then(|| self.fail_here("this expression is nested too deeply"))
    }

    fn left_over(&mut self) -> Expression {
        let rest = self.cursor.rest();
        for (symbol, word) in [("&&", "and"), ("||", "or")] {
            let start = self.cursor.position();
            if self.cursor.take(symbol) {
                let span = self.cursor.span_from(start);
                let message = format!("`{symbol}` is written `{word}` here");
                self.problems.push(Diagnostic::new(&codes::BAD_EXPRESSION, span, message).replace(
                    "join conditions by words",
                    span,
                    word,
                ));
                self.failed = true;
                return Expression { kind: ExpressionKind::Broken, span };
            }
        }
        let word: String = rest.chars().take_while(|next| is_word(*next)).collect();
        let lower = word.to_ascii_lowercase();
        if lower != word && WORDS.contains(&lower.as_str()) {
            let span = self.cursor.span_word();
            return self.instead(span, &format!("`{word}` is written `{lower}` here"), &lower);
        }
        let message = if rest.starts_with('*') || rest.starts_with('/') {
            "only `+` and `-` calculate here"
        } else {
            "the expression ends before this"
        };
        self.fail(self.cursor.span_word(), message)
    }

    fn fail_here(&mut self, message: &str) -> Expression {
        let span = self.cursor.span_here();
        self.fail(span, message)
    }

    /// Reports a problem, unless one has been reported for this expression.
    pub(super) fn fail(&mut self, span: Span, message: &str) -> Expression {
        if !self.failed {
            self.problems.push(
                Diagnostic::new(&codes::BAD_EXPRESSION, span, message)
                    .fix("for example: `status = 'open' and visible_at <= now - 10m`"),
            );
        }
        self.failed = true;
        self.cursor.move_to(usize::MAX);
        Expression { kind: ExpressionKind::Broken, span }
    }
}

fn binary(operator: BinaryOperator, left: Expression, right: Expression) -> Expression {
    let span = left.span.to(right.span);
    Expression { kind: ExpressionKind::Binary(operator, Box::new(left), Box::new(right)), span }
}

/// The milliseconds of `15` and `m`.
pub fn milliseconds(number: &str, unit: &str) -> Option<i64> {
    let length = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 604_800_000,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(length)
}
