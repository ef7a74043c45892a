//! Names in expressions: fields, words, functions, and what other languages call them.

use super::cursor::is_word;
use super::expression::{Reader, WORDS};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::{Expression, ExpressionKind, Function};
use crate::source::Span;

impl Reader<'_, '_> {
    pub(super) fn name(&mut self, start: usize) -> Expression {
        let word = self.cursor.take_while(is_word);
        let span = self.cursor.span_from(start);
        let kind = match word {
            "null" => ExpressionKind::Null,
            "true" => ExpressionKind::Bool(true),
            "false" => ExpressionKind::Bool(false),
            "now" | "caller" if self.cursor.rest().starts_with('(') => {
                let whole = self.called_word(start);
                return self.instead(whole, &format!("`{word}` is no function"), word);
            }
            "now" => ExpressionKind::Now,
            "caller" => ExpressionKind::Caller,
            "today" => return self.instead(span, "there is no `today`", "day(now)"),
            _ if WORDS.contains(&word) => {
                let message = format!("`{word}` cannot stand here");
                return self.fail(span, &message);
            }
            _ if self.cursor.take("(") => return self.call(start, word, span),
            _ if self.cursor.take(".") => {
                let member = self.cursor.take_while(is_word);
                if member.is_empty() {
                    let span = self.cursor.span_from(start);
                    return self.fail(span, "a field's name is missing after the point");
                }
                ExpressionKind::StepMember(word.to_string(), member.to_string())
            }
            _ => ExpressionKind::Member(word.to_string()),
        };
        Expression { kind, span: self.cursor.span_from(start) }
    }

    /// The place of a word and the parentheses after it.
    fn called_word(&mut self, start: usize) -> Span {
        self.cursor.take_while(|character| character != ')');
        self.cursor.take(")");
        self.cursor.span_from(start)
    }

    /// Reports something that is written otherwise here.
    pub(super) fn instead(&mut self, span: Span, message: &str, replacement: &str) -> Expression {
        if !self.failed {
            self.problems.push(Diagnostic::new(&codes::BAD_EXPRESSION, span, message).replace(
                "write",
                span,
                replacement,
            ));
        }
        self.failed = true;
        self.cursor.move_to(usize::MAX);
        Expression { kind: ExpressionKind::Broken, span }
    }

    fn call(&mut self, start: usize, name: &str, name_span: Span) -> Expression {
        let arguments = self.list();
        let span = self.cursor.span_from(start);
        match Function::from_name(name) {
            Some(function) => Expression { kind: ExpressionKind::Call(function, arguments), span },
            None => {
                self.problems.push(unknown_function(name, name_span));
                self.failed = true;
                Expression { kind: ExpressionKind::Broken, span }
            }
        }
    }
}

/// The problem of a function that does not exist.
fn unknown_function(name: &str, span: Span) -> Diagnostic {
    let names = Function::ALL.map(Function::name);
    let known = Function::ALL.map(Function::signature).join(", ");
    Diagnostic::new(&codes::UNKNOWN_FUNCTION, span, format!("there is no function `{name}`"))
        .suggest(span, name, names)
        .fix(format!("the functions are {known}"))
}
