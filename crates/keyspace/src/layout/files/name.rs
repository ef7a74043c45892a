//! The name a value has on disk: readable, and different for different values on every disk.
//!
//! ```text
//! Alice            Alice, or ^alice where the disk does not tell cases apart
//! ann@example.org  ann%40example.org
//! con              %63on
//! ```
//!
//! A name never begins with a dot, never holds a separator of any system, and never says two
//! values. Long names are cut by the store, which has the hash for it.

use super::{FIELDS, JSON, VALUE};
use std::fmt::Write;

/// The longest name before it is cut, in bytes.
pub const NAME_BYTES_MAX: usize = 180;
/// How much of a cut name is kept, in bytes; `~` and a hash of the whole follow.
pub const NAME_BYTES_KEPT: usize = 120;

/// Whether a directory tells upper case from lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// `A` and `a` are two files.
    Kept,
    /// `A` and `a` are one file.
    Folded,
}

/// Names that Windows keeps for devices, whatever their ending; with 0 to 9 after the last two.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
const NUMBERED_DEVICES: [&str; 2] = ["com", "lpt"];

/// The name of a value, before it is cut.
pub fn escape(value: &str, case: Case) -> String {
    if value.is_empty() {
        // A lone % is no escape, so no other value has this name.
        return "%".to_string();
    }
    let last = value.len() - 1;
    let ending = [FIELDS, JSON, VALUE].into_iter().find(|ending| value.ends_with(ending));
    let ending_dot = ending.map(|ending| value.len() - ending.len());
    let device = is_device(value);
    let mut name = String::with_capacity(value.len() + 8);
    for (place, byte) in value.bytes().enumerate() {
        let kept = match byte {
            b'.' => place > 0 && place < last && Some(place) != ending_dot,
            b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'A'..=b'Z' => !(device && place == 0),
            _ => false,
        };
        match (kept, case) {
            (true, Case::Folded) if byte.is_ascii_uppercase() => {
                name.push('^');
                name.push(char::from(byte.to_ascii_lowercase()));
            }
            (true, _) => name.push(char::from(byte)),
            (false, _) => {
                let _ = write!(name, "%{byte:02x}");
            }
        }
    }
    name
}

/// The value that has this name, if one has; none for a name that was cut.
pub fn unescape(name: &str, case: Case) -> Option<String> {
    if name == "%" {
        return Some(String::new());
    }
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = digit(rest.next()).zip(digit(rest.next()))?;
                u8::try_from(high * 16 + low).ok()?
            }
            b'^' => rest.next()?.to_ascii_uppercase(),
            other => other,
        });
    }
    let value = String::from_utf8(bytes).ok()?;
    // A name that another value has, or none, is none of ours.
    (escape(&value, case) == name).then_some(value)
}

/// Whether Windows would open a device instead of a file.
fn is_device(value: &str) -> bool {
    let stem = value.split('.').next().unwrap_or(value).to_ascii_lowercase();
    let numbered = NUMBERED_DEVICES.iter().any(|device| {
        stem.strip_prefix(device)
            .is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|byte| byte.is_ascii_digit()))
    });
    numbered || DEVICES.contains(&stem.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_readable_and_safe() {
        let cases = [
            ("EAID_x-1", "EAID_x-1", "^e^a^i^d_x-1"),
            ("ann@example.org", "ann%40example.org", "ann%40example.org"),
            (
                "2026-11-15T10:00:00.000Z",
                "2026-11-15T10%3a00%3a00.000Z",
                "2026-11-15^t10%3a00%3a00.000^z",
            ),
            ("", "%", "%"),
            (".", "%2e", "%2e"),
            ("..", "%2e%2e", "%2e%2e"),
            (".keyway", "%2ekeyway", "%2ekeyway"),
            ("a.", "a%2e", "a%2e"),
            ("a/b\\c", "a%2fb%5cc", "a%2fb%5cc"),
            ("x.json", "x%2ejson", "x%2ejson"),
            ("x.fields.json", "x%2efields.json", "x%2efields.json"),
            ("con", "%63on", "%63on"),
            ("Com1.txt", "%43om1.txt", "%43om1.txt"),
            ("console", "console", "console"),
            ("^a%", "%5ea%25", "%5ea%25"),
            ("é", "%c3%a9", "%c3%a9"),
        ];
        for (value, kept, folded) in cases {
            assert_eq!(escape(value, Case::Kept), kept);
            assert_eq!(escape(value, Case::Folded), folded);
            assert_eq!(unescape(kept, Case::Kept).as_deref(), Some(value));
            assert_eq!(unescape(folded, Case::Folded).as_deref(), Some(value));
        }
    }

    #[test]
    fn names_that_no_value_has_are_refused() {
        for name in ["", ".x", "%4", "%zz", "a%2E", "%41", "con", "x.json", "a~b", "é", "%ff"] {
            assert_eq!(unescape(name, Case::Kept), None, "{name}");
        }
        for name in ["A", "^A", "^", "^1"] {
            assert_eq!(unescape(name, Case::Folded), None, "{name}");
        }
    }

    #[test]
    fn different_values_have_different_names_even_where_case_is_folded() {
        let letters = ["a", "A", ".", "^", "%", "/", "4", "1", ".json", "con", ""];
        let mut seen = std::collections::HashMap::new();
        for first in letters {
            for second in letters {
                for third in letters {
                    let value = format!("{first}{second}{third}");
                    let name = escape(&value, Case::Folded).to_lowercase();
                    let other = seen.entry(name).or_insert_with(|| value.clone());
                    assert_eq!(*other, value);
                }
            }
        }
    }
}
