//! What `--json` prints: the program's own wire types.
//!
//! Names here are a promise to scripts. Types of the library are never serialized themselves, so
//! that they can change without breaking anybody.

use crate::input::Input;
use crate::report::Report;
use keyspace::diagnostic::{Diagnostic, Severity};
use keyspace::model::StoreKind;
use keyspace::source::{Span, line_and_column};
use serde::Serialize;

/// The problems of a file.
#[derive(Debug, Serialize)]
pub(crate) struct Problems {
    file: String,
    ok: bool,
    errors: usize,
    warnings: usize,
    notes: usize,
    problems: Vec<Problem>,
}

#[derive(Debug, Serialize)]
struct Problem {
    code: String,
    severity: &'static str,
    title: &'static str,
    message: String,
    places: Vec<Place>,
    effects: Vec<Effect>,
    fixes: Vec<Fix>,
}

#[derive(Debug, Serialize)]
struct Place {
    line: usize,
    column: usize,
    start: usize,
    end: usize,
    text: String,
}

#[derive(Debug, Serialize)]
struct Effect {
    /// Empty: every store.
    stores: Vec<&'static str>,
    text: String,
}

#[derive(Debug, Serialize)]
struct Fix {
    text: String,
    paste: Option<String>,
    edit: Option<Edit>,
}

#[derive(Debug, Serialize)]
struct Edit {
    start: usize,
    end: usize,
    replacement: String,
}

impl Problems {
    /// The problems of a report.
    pub(crate) fn of(report: &Report) -> Problems {
        Problems::in_file(&report.input, &report.diagnostics)
    }

    /// The problems of a file that was only read, or also understood.
    pub(crate) fn in_file(input: &Input, diagnostics: &[Diagnostic]) -> Problems {
        let count = |severity| diagnostics.iter().filter(|one| one.severity == severity).count();
        Problems {
            file: input.name.clone(),
            ok: count(Severity::Error) == 0,
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            notes: count(Severity::Note),
            problems: diagnostics.iter().map(|one| Problem::of(one, &input.text)).collect(),
        }
    }
}

impl Problem {
    fn of(diagnostic: &Diagnostic, text: &str) -> Problem {
        let place = |span: Span, words: &str| {
            let (line, column) = line_and_column(text, span.start);
            Place { line, column, start: span.start, end: span.end, text: words.to_string() }
        };
        Problem {
            code: diagnostic.code.to_string(),
            severity: diagnostic.severity.name(),
            title: diagnostic.code.title,
            message: diagnostic.message.clone(),
            places: diagnostic.labels.iter().map(|label| place(label.span, &label.text)).collect(),
            effects: diagnostic
                .effects_or_usual()
                .into_iter()
                .map(|effect| Effect { stores: names(&effect.stores), text: effect.text })
                .collect(),
            fixes: diagnostic.fixes.iter().map(Fix::of).collect(),
        }
    }
}

impl Fix {
    fn of(fix: &keyspace::diagnostic::Fix) -> Fix {
        let edit = fix.edit.as_ref().map(|edit| Edit {
            start: edit.span.start,
            end: edit.span.end,
            replacement: edit.replacement.clone(),
        });
        Fix { text: fix.text.clone(), paste: fix.paste.clone(), edit }
    }
}

fn names(stores: &[StoreKind]) -> Vec<&'static str> {
    stores.iter().map(|store| store.name()).collect()
}

/// One object as text, with a line end.
pub(crate) fn text(object: &impl Serialize) -> String {
    match serde_json::to_string_pretty(object) {
        Ok(text) => text + "\n",
        // Only keys that are no strings and broken writers fail, and there are none here.
        Err(error) => format!("{{\"bug\": {:?}}}\n", error.to_string()),
    }
}

/// One object in one line.
pub(crate) fn line(object: &impl Serialize) -> String {
    match serde_json::to_string(object) {
        Ok(text) => text + "\n",
        Err(error) => format!("{{\"bug\": {:?}}}\n", error.to_string()),
    }
}
