//! A file as it was read: its keyspace, if it is sound, and what is to be said about it.

use crate::answer::{Answer, Form};
use crate::input::{self, Input, Unread};
use crate::json;
use keyspace::diagnostic::render::{Style, render};
use keyspace::diagnostic::{Diagnostic, Severity};
use keyspace::model::{Keyspace, StoreKind};

/// A file and what was found in it.
#[derive(Debug)]
pub(crate) struct Report {
    /// The file.
    pub(crate) input: Input,
    /// What it means, unless it has errors.
    pub(crate) keyspace: Option<Keyspace>,
    /// Problems and notes, in the order of the file.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Reads and checks a file, for these stores beside those it names.
pub(crate) fn read(path: &str, stores: &[StoreKind]) -> Result<Report, Answer> {
    let input = match input::read(path) {
        Ok(input) => input,
        Err(Unread::NotText(input, problem)) => {
            return Ok(Report { input, keyspace: None, diagnostics: vec![*problem] });
        }
        Err(Unread::Unreadable(answer)) => return Err(answer),
    };
    let reading = keyspace::read_for(&input.text, stores);
    Ok(Report { input, keyspace: reading.keyspace, diagnostics: reading.diagnostics })
}

/// Reads a file that must be sound: otherwise its problems are the answer, on standard error.
pub(crate) fn read_sound(path: &str, form: Form) -> Result<Keyspace, Answer> {
    sound(read(path, &[])?, form).map(|(keyspace, _)| keyspace)
}

/// Reads a file that must be sound on a store, and its text.
pub(crate) fn read_sound_for(
    path: &str,
    store: StoreKind,
    form: Form,
) -> Result<(Keyspace, String), Answer> {
    sound(read(path, &[store])?, form)
}

fn sound(mut report: Report, form: Form) -> Result<(Keyspace, String), Answer> {
    match report.keyspace.take() {
        Some(keyspace) => Ok((keyspace, report.input.text)),
        None if form.json => Err(Answer::problems(json::text(&json::Problems::of(&report)))),
        None => Err(Answer::problems(
            report.drawn(form.style, Severity::Error) + &report.closing_line(),
        )),
    }
}

impl Report {
    /// Whether it has no errors.
    pub(crate) fn is_sound(&self) -> bool {
        self.keyspace.is_some()
    }

    /// How many there are of a severity.
    pub(crate) fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count()
    }

    /// Everything at least so bad, drawn, with a blank line after each.
    pub(crate) fn drawn(&self, style: Style, least: Severity) -> String {
        let mut drawn = String::new();
        for diagnostic in self.diagnostics.iter().filter(|one| one.severity <= least) {
            drawn.push_str(&render(diagnostic, &self.input.name, &self.input.text, style));
            drawn.push_str("\n\n");
        }
        drawn
    }

    /// `2 errors, 1 warning in FILE`, and where to read on.
    pub(crate) fn closing_line(&self) -> String {
        let counts: Vec<String> = [Severity::Error, Severity::Warning]
            .into_iter()
            .map(|severity| (self.count(severity), severity))
            .filter(|(count, _)| *count > 0)
            .map(|(count, severity)| counted(count, severity.name()))
            .collect();
        let first = self.diagnostics.iter().find(|one| one.severity == Severity::Error);
        let more = first.map_or_else(String::new, |first| {
            format!("; more about the first: keyway why {}", first.code)
        });
        format!("{} in {}{more}\n", counts.join(", "), self.input.name)
    }
}

/// `1 error`, `2 errors`.
pub(crate) fn counted(count: usize, one: &str) -> String {
    match (count, one.strip_suffix("index")) {
        (1, _) => format!("1 {one}"),
        (_, Some(before)) => format!("{count} {before}indexes"),
        (_, None) => format!("{count} {one}s"),
    }
}
