//! Problems of a keyspace file: what is wrong, where, what it would do on which store, and how to
//! mend it.
//!
//! A diagnostic is a value; `render` draws it and nothing here prints. Wording: the message says
//! what was found, a label points at it, an effect says what would happen, a fix is something that
//! can be typed.

pub mod codes;
pub mod render;

use crate::model::StoreKind;
use crate::source::Span;
pub use codes::{CODES, Code};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The keyspace is refused.
    Error,
    /// The keyspace works, but probably not as meant.
    Warning,
    /// Something to know.
    Note,
}

impl Severity {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// A problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// Which rule.
    pub code: &'static Code,
    /// How bad it is here.
    pub severity: Severity,
    /// What was found, in a sentence without a full stop.
    pub message: String,
    /// Where; the first is the main one.
    pub labels: Vec<Label>,
    /// What would happen on which store.
    pub effects: Vec<Effect>,
    /// Ways to mend it, the cheapest first.
    pub fixes: Vec<Fix>,
}

/// A place, and a few words about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// A few words; may be empty.
    pub text: String,
}

/// What would happen.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// On these stores; on every one if empty.
    pub stores: Vec<StoreKind>,
    /// What.
    pub text: String,
}

impl Effect {
    /// The stores in words: `cassandra, scylla`, or `every store`.
    pub fn place(&self) -> String {
        if self.stores.is_empty() {
            return "every store".to_string();
        }
        self.stores.iter().map(|store| store.name()).collect::<Vec<_>>().join(", ")
    }
}

/// A way to mend a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    /// What to do, in a few words.
    pub text: String,
    /// Lines to paste into the file, if there are any.
    pub paste: Option<String>,
    /// The change to make, where it is certain.
    pub edit: Option<Edit>,
}

/// A replacement of some bytes of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// What is replaced.
    pub span: Span,
    /// By what.
    pub replacement: String,
}

impl Diagnostic {
    /// A problem at a place.
    pub fn new(code: &'static Code, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            severity: code.severity,
            message: message.into(),
            labels: vec![Label { span, text: String::new() }],
            effects: Vec::new(),
            fixes: Vec::new(),
        }
    }

    /// Words at the main place.
    pub fn label(mut self, text: impl Into<String>) -> Self {
        if let Some(first) = self.labels.first_mut() {
            first.text = text.into();
        }
        self
    }

    /// Another place that matters.
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// What would happen on some stores.
    pub fn on(mut self, stores: &[StoreKind], text: impl Into<String>) -> Self {
        self.effects.push(Effect { stores: stores.to_vec(), text: text.into() });
        self
    }

    /// What would happen on every store.
    pub fn effect(self, text: impl Into<String>) -> Self {
        self.on(&[], text)
    }

    /// A way to mend it, in words.
    pub fn fix(mut self, text: impl Into<String>) -> Self {
        self.fixes.push(Fix { text: text.into(), paste: None, edit: None });
        self
    }

    /// A way to mend it: lines to paste.
    pub fn paste(mut self, text: impl Into<String>, lines: impl Into<String>) -> Self {
        self.fixes.push(Fix { text: text.into(), paste: Some(lines.into()), edit: None });
        self
    }

    /// A way to mend it: a replacement.
    pub fn replace(
        mut self,
        text: impl Into<String>,
        span: Span,
        replacement: impl Into<String>,
    ) -> Self {
        let edit = Edit { span, replacement: replacement.into() };
        self.fixes.push(Fix { text: text.into(), paste: None, edit: Some(edit) });
        self
    }

    /// Replaces `span` by the nearest of `candidates`, if one is near enough to have been meant.
    pub fn suggest<'a>(
        self,
        span: Span,
        written: &str,
        candidates: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        match nearest(written, candidates) {
            Some(name) => self.replace(format!("did you mean `{name}`?"), span, name),
            None => self,
        }
    }

    /// As bad as `severity`, whatever its code says.
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// The main place.
    pub fn span(&self) -> Span {
        self.labels.first().map(|label| label.span).unwrap_or_default()
    }

    /// What would happen: what was said of this very problem, or what its code always means.
    pub fn effects_or_usual(&self) -> Vec<Effect> {
        if self.effects.is_empty() {
            vec![Effect { stores: Vec::new(), text: self.code.effect.to_string() }]
        } else {
            self.effects.clone()
        }
    }
}

/// The candidate nearest to what was written, if it is near enough to have been meant.
pub fn nearest<'a>(
    written: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // A long word is no typing mistake, and distances cost the square of the length.
    if written.is_empty() || written.len() > 64 {
        return None;
    }
    let length = written.chars().count();
    let allowed = (length / 3).clamp(1, 4);
    // Half a name is meant to be the whole of it: `user` for `user_id`.
    let is_half = |candidate: &str| {
        let rest = candidate.strip_prefix(written).or_else(|| candidate.strip_suffix(written));
        length >= 3 && rest.is_some_and(|rest| rest.starts_with('_') || rest.ends_with('_'))
    };
    let ends = |text: &str| (text.chars().next(), text.chars().next_back());
    let (first, last) = ends(written);
    let alike = candidates.into_iter().filter(|candidate| {
        let (other_first, other_last) = ends(candidate);
        *candidate != written && (first == other_first || last == other_last)
    });
    let mut near: Option<(usize, &str)> = None;
    let mut halves: Vec<&str> = Vec::new();
    for candidate in alike.take(CANDIDATES_MAX) {
        let found = (strsim::osa_distance(written, candidate), candidate);
        if found.0 <= allowed && found.0 < length && near.is_none_or(|known| found < known) {
            near = Some(found);
        }
        halves.extend(is_half(candidate).then_some(candidate));
    }
    match (near, halves.as_slice()) {
        (Some((_, candidate)), _) => Some(candidate),
        (None, [only]) => Some(only),
        (None, _) => None,
    }
}

/// Names that are compared with what was written; in a file of thousands, more would take minutes.
const CANDIDATES_MAX: usize = 256;

/// Names that are shown of a list.
const LISTED_MAX: usize = 40;

/// Names in words: `a, b, c`; of many the first ones, and how many more there are.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names = names.into_iter();
    let shown: Vec<&str> = names.by_ref().take(LISTED_MAX).collect();
    match names.count() {
        0 if shown.is_empty() => "none".to_string(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Puts problems in the order of the file and drops repetitions.
pub fn tidy(diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.sort_by(|left, right| {
        let key = |d: &Diagnostic| (d.span().start, d.severity, d.code.number);
        key(left).cmp(&key(right)).then_with(|| left.message.cmp(&right.message))
    });
    diagnostics.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_mistakes_and_half_names_are_recognised() {
        let names = ["user_id", "email", "created_at", "rows_per_group", "rows_per_day"];
        let near = |written: &str| nearest(written, names);
        assert_eq!(near("emial"), Some("email"));
        assert_eq!(near("createdat"), Some("created_at"));
        assert_eq!(near("user"), Some("user_id"));
        // Of two halves neither is more likely.
        assert_eq!(near("rows"), None);
        assert_eq!(near("email"), None);
        assert_eq!(nearest(".", [":", "/"]), None);
    }

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (0..100).map(|number| format!("n{number}")).collect();
        assert!(listed(names.iter().map(String::as_str)).ends_with("n39 and 60 more"));
        assert_eq!(listed(["a", "b"]), "a, b");
        assert_eq!(listed([]), "none");
    }
}
