//! Names of the file as names of Rust: types in capitals, keywords escaped, none given twice.
//!
//! ```text
//! notes                 ─▶ Note                  a row
//! messages_by_channel   ─▶ MessageByChannel
//! type                  ─▶ r#type                a field, an argument, a function
//! ```
//!
//! A name depends on the file alone, so that two builds never disagree about it.

use std::collections::BTreeSet;

/// Words that no plain identifier may be, and a raw one may.
const KEYWORDS: [&str; 48] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// Words that no identifier may be, raw or not.
const NEVER: [&str; 4] = ["self", "Self", "super", "crate"];

/// Names of one scope, each given once.
#[derive(Default)]
pub struct Names(BTreeSet<String>);

impl Names {
    /// The first of `wanted` that is free, or the last one with a number.
    pub fn claim(&mut self, wanted: &[String]) -> String {
        if let Some(free) = wanted.iter().find(|name| !self.0.contains(*name)) {
            self.0.insert(free.clone());
            return free.clone();
        }
        let last = wanted.last().map(String::as_str).unwrap_or("Unnamed");
        let numbered = (2u32..).map(|number| format!("{last}{number}"));
        let name = numbered.into_iter().find(|name| !self.0.contains(name)).unwrap_or_default();
        self.0.insert(name.clone());
        name
    }
}

/// A name of the file as an identifier; what cannot stand in one becomes `_`.
pub fn identifier(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let plain = match plain.starts_with(|first: char| first.is_ascii_digit()) || plain == "_" {
        true => format!("_{plain}"),
        false => plain,
    };
    if KEYWORDS.contains(&plain.as_str()) {
        return format!("r#{plain}");
    }
    if NEVER.contains(&plain.as_str()) || plain.is_empty() { format!("{plain}_") } else { plain }
}

/// An identifier as part of a longer one: without the mark of a raw one.
pub fn unmarked(identifier: &str) -> &str {
    identifier.strip_prefix("r#").unwrap_or(identifier)
}

/// `created_at` → `CreatedAt`; for types and variants.
pub fn capitals(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut upper = true;
    for character in name.chars() {
        match character {
            other if !other.is_ascii_alphanumeric() => upper = true,
            letter if upper => {
                text.push(letter.to_ascii_uppercase());
                upper = false;
            }
            other => text.push(other),
        }
    }
    let is_number = text.starts_with(|first: char| first.is_ascii_digit());
    match text.as_str() {
        "" => "Other".to_string(),
        never if NEVER.contains(&never) => format!("{text}_"),
        _ if is_number => format!("N{text}"),
        _ => text,
    }
}

/// One row of a collection: `notes` → `Note`, `messages_by_channel` → `MessageByChannel`.
pub fn row(collection: &str) -> String {
    let (what, by) = match collection.split_once("_by_") {
        Some((what, by)) => (what, format!("_by_{by}")),
        None => (collection, String::new()),
    };
    let (before, last) = match what.rsplit_once('_') {
        Some((before, last)) => (format!("{before}_"), last),
        None => (String::new(), what),
    };
    capitals(&format!("{before}{}{by}", singular(last)))
}

/// One of several, by the spelling alone; a word that is not clearly a plural stays as it is.
fn singular(word: &str) -> String {
    const SAME: [&str; 5] = ["news", "series", "species", "https", "dns"];
    const ENDINGS: [(&str, &str); 16] = [
        ("movies", "movie"),
        ("cookies", "cookie"),
        ("people", "person"),
        ("children", "child"),
        ("statuses", "status"),
        ("aliases", "alias"),
        ("ies", "y"),
        ("sses", "ss"),
        ("xes", "x"),
        ("shes", "sh"),
        ("tches", "tch"),
        ("nches", "nch"),
        ("rches", "rch"),
        ("eaches", "each"),
        ("oaches", "oach"),
        ("data", "data"),
    ];
    let stays = ["ss", "us", "is", "as", "os"].iter().any(|ending| word.ends_with(ending));
    if word.len() < 4 || stays || SAME.contains(&word) {
        return word.to_string();
    }
    for (many, one) in ENDINGS {
        if let Some(stem) = word.strip_suffix(many) {
            return format!("{stem}{one}");
        }
    }
    word.strip_suffix('s').unwrap_or(word).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_of_a_collection() {
        let pairs = [
            ("notes", "Note"),
            ("messages_by_channel", "MessageByChannel"),
            ("guild_members", "GuildMember"),
            ("entries", "Entry"),
            ("addresses", "Address"),
            ("boxes", "Box"),
            ("batches", "Batch"),
            ("caches", "Cache"),
            ("responses", "Response"),
            ("status", "Status"),
            ("statuses", "Status"),
            ("news", "News"),
            ("config", "Config"),
            ("trash", "Trash"),
            ("calls_today", "CallsToday"),
            ("self", "Self_"),
        ];
        for (collection, expected) in pairs {
            assert_eq!(row(collection), expected);
        }
    }

    #[test]
    fn identifiers_are_legal() {
        let pairs = [
            ("title", "title"),
            ("type", "r#type"),
            ("while", "r#while"),
            ("self", "self_"),
            ("debit.if_version", "debit_if_version"),
            ("2fa", "_2fa"),
        ];
        for (name, expected) in pairs {
            assert_eq!(identifier(name), expected);
        }
        assert_eq!(capitals("in-progress"), "InProgress");
        assert_eq!(capitals("2fa"), "N2fa");
        assert_eq!(capitals("..."), "Other");
        assert_eq!(unmarked("r#type"), "type");
    }

    #[test]
    fn no_name_is_given_twice() {
        let mut names = Names::default();
        let wanted = ["Note".to_string(), "NoteRow".to_string()];
        let claimed: Vec<String> = (0..4).map(|_| names.claim(&wanted)).collect();
        assert_eq!(claimed, ["Note", "NoteRow", "NoteRow2", "NoteRow3"]);
    }
}
