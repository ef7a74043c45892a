//! Reads values out of TOML tables: the right kind, or a problem at the right place.

use super::expression::{milliseconds, read_expression};
use super::known::KnownTable;
use super::strings::SourceString;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::Expression;
use crate::source::{Span, Spanned};
use toml::de::{DeTable, DeValue};

/// What all readers share.
pub struct Context<'a> {
    /// The file.
    pub file: &'a str,
    /// The keyspace's separator.
    pub separator: char,
    /// What was found.
    pub problems: Vec<Diagnostic>,
}

/// What `ttl`, `per` and `every` are.
pub const A_LENGTH_OF_TIME: &str = "a length of time in quotes, such as `\"30d\"`";

/// A TOML value and its place.
pub type Item<'a> = toml::Spanned<DeValue<'a>>;

/// A table whose keys are known.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    table: &'a DeTable<'a>,
    pub(super) known: &'static KnownTable,
    /// The table's head, or the whole inline table.
    pub span: Span,
}

impl Context<'_> {
    /// A problem.
    pub fn report(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }

    /// Reports a value of the wrong kind.
    pub fn wrong_kind(&mut self, what: &str, expected: &str, found: &Item<'_>) {
        let message = format!("{what} is {expected}, not {}", kind_name(found.get_ref()));
        self.report(
            Diagnostic::new(&codes::WRONG_KIND, found.span().into(), message)
                .fix(format!("write {expected}")),
        );
    }

    /// The string of an item.
    pub fn string(&mut self, what: &str, item: &Item<'_>) -> Option<SourceString> {
        match item.get_ref() {
            DeValue::String(text) => Some(SourceString::new(self.file, item.span().into(), text)),
            _ => {
                self.wrong_kind(what, "a text in quotes", item);
                None
            }
        }
    }

    /// The expression in an item: a string, a number or a truth value.
    pub fn expression(&mut self, what: &str, item: &Item<'_>) -> Option<Expression> {
        let source = match item.get_ref() {
            DeValue::String(text) => SourceString::new(self.file, item.span().into(), text),
            DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => {
                let raw = self.file.get(item.span()).unwrap_or_default();
                SourceString::bare(item.span().into(), raw)
            }
            _ => {
                self.wrong_kind(what, "an expression in quotes", item);
                return None;
            }
        };
        Some(read_expression(&source, &mut self.problems))
    }

    /// The table in an item.
    pub fn table<'a>(
        &mut self,
        known: &'static KnownTable,
        item: &'a Item<'a>,
    ) -> Option<Table<'a>> {
        match item.get_ref() {
            DeValue::Table(table) => {
                let opened = Table { table, known, span: item.span().into() };
                opened.refuse_unknown(self);
                Some(opened)
            }
            _ => {
                self.wrong_kind(known.name, "a table", item);
                None
            }
        }
    }

    /// Names and items of a table of free keys.
    pub fn entries<'a>(
        &mut self,
        what: &str,
        item: &'a Item<'a>,
    ) -> Vec<(Spanned<String>, &'a Item<'a>)> {
        match item.get_ref() {
            DeValue::Table(table) => table
                .iter()
                .map(|(key, value)| {
                    (Spanned::new(key.get_ref().to_string(), key.span().into()), value)
                })
                .collect(),
            _ => {
                self.wrong_kind(what, "a table", item);
                Vec::new()
            }
        }
    }

    /// The strings of a list.
    pub fn strings(&mut self, what: &str, item: &Item<'_>) -> Option<Vec<Spanned<String>>> {
        let DeValue::Array(items) = item.get_ref() else {
            self.wrong_kind(what, "a list of texts", item);
            if let (DeValue::Table(_), "`set`") = (item.get_ref(), what)
                && let Some(problem) = self.problems.pop()
            {
                let fix = "`set` names what a call may change; what the pattern changes is \
                           `compute = { status = \"'done'\" }`";
                self.problems.push(problem.fix(fix));
            }
            return None;
        };
        let mut texts = Vec::new();
        for entry in items.iter() {
            if let Some(source) = self.string("an entry of the list", entry) {
                let span = source.content();
                texts.push(Spanned::new(source.text, span));
            }
        }
        Some(texts)
    }
}

impl<'a> Table<'a> {
    /// The item under a key.
    pub fn item(&self, name: &str) -> Option<&'a Item<'a>> {
        self.entry(name).map(|(_, item)| item)
    }

    /// A key and its item; where it is not there, one that was meant to be it, so that a misspelt
    /// key is one report and not several.
    fn entry(&self, name: &str) -> Option<(Span, &'a Item<'a>)> {
        let mut entries = self.table.iter();
        let exact = entries.find(|(key, _)| key.get_ref() == name);
        let meant = || {
            let mut entries = self.table.iter();
            entries.find(|(key, _)| self.meant(key.get_ref()) == Some(name))
        };
        exact.or_else(meant).map(|(key, item)| (key.span().into(), item))
    }

    /// The place of a key.
    pub fn key_span(&self, name: &str) -> Option<Span> {
        self.entry(name).map(|(span, _)| span)
    }

    /// Every key that was written, or that a misspelt one was meant to be.
    pub fn attempted(&self) -> Vec<Spanned<String>> {
        let meant = |mut key: Spanned<String>| {
            if let Some(near) = self.meant(&key.value) {
                key.value = near.to_string();
            }
            key
        };
        self.keys().into_iter().map(meant).collect()
    }

    /// Every key, with its place.
    pub(super) fn keys(&self) -> Vec<Spanned<String>> {
        let keys = self.table.iter().map(|(key, _)| key);
        keys.map(|key| Spanned::new(key.get_ref().to_string(), key.span().into())).collect()
    }

    /// A string.
    pub fn string(&self, context: &mut Context<'_>, name: &str) -> Option<SourceString> {
        context.string(&format!("`{name}`"), self.item(name)?)
    }

    /// A string whose quotes do not matter.
    pub fn text(&self, context: &mut Context<'_>, name: &str) -> Option<Spanned<String>> {
        let source = self.string(context, name)?;
        let span = source.content();
        Some(Spanned::new(source.text, span))
    }

    /// A string whose place does not matter.
    pub fn words(&self, context: &mut Context<'_>, name: &str) -> Option<String> {
        self.text(context, name).map(|text| text.value)
    }

    /// One of a few words.
    pub fn word(
        &self,
        context: &mut Context<'_>,
        name: &str,
        words: &[&str],
    ) -> Option<Spanned<String>> {
        let text = self.text(context, name)?;
        if words.contains(&text.value.as_str()) {
            return Some(text);
        }
        let message = format!("`{name}` cannot be `{}`", text.value);
        context.report(
            Diagnostic::new(&codes::WRONG_KIND, text.span, message)
                .suggest(text.span, &text.value, words.iter().copied())
                .fix(format!("write one of {}", quoted_list(words))),
        );
        None
    }

    /// A truth value.
    pub fn boolean(&self, context: &mut Context<'_>, name: &str) -> Option<Spanned<bool>> {
        let item = self.item(name)?;
        match item.get_ref() {
            DeValue::Boolean(value) => Some(Spanned::new(*value, item.span().into())),
            _ => {
                context.wrong_kind(&format!("`{name}`"), "true or false", item);
                None
            }
        }
    }

    /// A whole number from 1 to `most`.
    pub fn integer(
        &self,
        context: &mut Context<'_>,
        name: &str,
        most: u64,
    ) -> Option<Spanned<u64>> {
        let item = self.item(name)?;
        let DeValue::Integer(integer) = item.get_ref() else {
            context.wrong_kind(&format!("`{name}`"), "a whole number", item);
            return None;
        };
        let span = item.span().into();
        let value = i128::from_str_radix(integer.as_str(), integer.radix()).unwrap_or(i128::MAX);
        match u64::try_from(value) {
            Ok(value) if (1..=most).contains(&value) => Some(Spanned::new(value, span)),
            _ => {
                let message = format!("`{name}` is between 1 and {}", grouped(most));
                let near = if value < 1 { 1 } else { most };
                let near = grouped(near).replace(',', "_");
                context.report(Diagnostic::new(&codes::OUT_OF_RANGE, span, message).replace(
                    "write, for example,",
                    span,
                    near,
                ));
                None
            }
        }
    }

    /// A positive number.
    pub fn number(&self, context: &mut Context<'_>, name: &str) -> Option<Spanned<f64>> {
        let item = self.item(name)?;
        let text = match item.get_ref() {
            DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().to_string(),
            DeValue::Float(float) => float.as_str().to_string(),
            _ => {
                context.wrong_kind(&format!("`{name}`"), "a number", item);
                return None;
            }
        };
        let span = item.span().into();
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() && value > 0.0 => Some(Spanned::new(value, span)),
            _ => {
                let message = format!("`{name}` is a number above zero");
                context.report(
                    Diagnostic::new(&codes::OUT_OF_RANGE, span, message)
                        .fix("write metres, for example `5_000`"),
                );
                None
            }
        }
    }

    /// A length of time, in milliseconds.
    pub fn duration(&self, context: &mut Context<'_>, name: &str) -> Option<Spanned<u64>> {
        let item = self.item(name)?;
        if !matches!(item.get_ref(), DeValue::String(_)) {
            context.wrong_kind(&format!("`{name}`"), A_LENGTH_OF_TIME, item);
            return None;
        }
        let source = self.string(context, name)?;
        let span = source.content();
        match parse_duration(&source.text) {
            Some(length) => Some(Spanned::new(length, span)),
            None => {
                let message = format!("`{name}` is a length of time");
                context.report(
                    Diagnostic::new(&codes::WRONG_KIND, span, message)
                        .fix("write a number and ms, s, m, h, d or w: `\"30d\"`"),
                );
                None
            }
        }
    }

    /// A list of strings.
    pub fn strings(&self, context: &mut Context<'_>, name: &str) -> Option<Vec<Spanned<String>>> {
        context.strings(&format!("`{name}`"), self.item(name)?)
    }

    /// An expression, with its key's place.
    pub fn expression(&self, context: &mut Context<'_>, name: &str) -> Option<(Expression, Span)> {
        let expression = context.expression(&format!("`{name}`"), self.item(name)?)?;
        Some((expression, self.key_span(name).unwrap_or_default()))
    }

    /// Names and expressions.
    pub fn expressions(
        &self,
        context: &mut Context<'_>,
        name: &str,
    ) -> Vec<(Spanned<String>, Expression)> {
        let Some(item) = self.item(name) else { return Vec::new() };
        let entries = context.entries(&format!("`{name}`"), item);
        let mut read = Vec::new();
        for (key, value) in entries {
            if let Some(expression) = context.expression(&format!("`{}`", key.value), value) {
                read.push((key, expression));
            }
        }
        read
    }
}

/// The milliseconds of `30d`; none if it is no length of time above zero.
pub fn parse_duration(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|character: char| !character.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(split)?;
    let length = u64::try_from(milliseconds(number, unit.trim())?).ok()?;
    (length > 0).then_some(length)
}

fn quoted_list(words: &[&str]) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
}

/// `1000000` → `1,000,000`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

fn kind_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "a truth value",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
