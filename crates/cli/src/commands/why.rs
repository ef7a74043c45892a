//! `keyway why`: the page of a code, or the list of all.

use crate::answer::{Answer, Form};
use crate::arguments::Why;
use crate::json;
use keyspace::diagnostic::{CODES, Code};
use serde_json::{Value, json};

include!(concat!(env!("OUT_DIR"), "/errors.rs"));

/// How many codes are shown for one that does not exist.
const NEAR_CODES: usize = 5;

/// Prints a page or the list.
pub(crate) fn run(options: &Why, form: Form) -> Answer {
    let Some(written) = &options.code else {
        let codes = CODES.iter().copied();
        return Answer::done(match form.json {
            true => json::text(&json!({ "codes": codes.map(object).collect::<Vec<_>>() })),
            false => list(codes),
        });
    };
    match Code::from_text(written) {
        Some(code) if form.json => {
            let object = json!({ "code": object(code), "page": page(code) });
            Answer::done(json::text(&object))
        }
        Some(code) => Answer::done(page(code)),
        None => unknown(written),
    }
}

/// A code as `--json` prints it.
fn object(code: &Code) -> Value {
    json!({ "code": code.to_string(), "severity": code.severity.name(), "title": code.title })
}

fn page(code: &Code) -> String {
    let name = code.to_string();
    match ERROR_PAGES.iter().find(|(page, _)| *page == name) {
        Some((_, text)) => format!("{}\n", text.trim_end()),
        None => format!("{name}: {}\n\n{}\n", code.title, code.effect),
    }
}

fn list<'a>(codes: impl Iterator<Item = &'a Code>) -> String {
    codes.map(|code| format!("{code}  {:7}  {}\n", code.severity.name(), code.title)).collect()
}

fn unknown(written: &str) -> Answer {
    let problem = format!("there is no code `{written}`");
    let mut fix = "keyway why lists every code".to_string();
    let near = near_codes(written);
    if !near.is_empty() {
        fix.push_str("; near it:");
        for line in list(near.into_iter()).lines() {
            fix.push_str(&format!("\n  {line}"));
        }
    }
    Answer::usage(&problem, &fix)
}

/// Codes with a near number; or, for words, codes that speak of them.
fn near_codes(written: &str) -> Vec<&'static Code> {
    let digits: String = written.chars().filter(char::is_ascii_digit).collect();
    let mut near: Vec<&'static Code> = CODES.to_vec();
    if let Ok(number) = digits.parse::<u16>() {
        near.sort_by_key(|code| code.number.abs_diff(number));
    } else {
        let word = written.to_lowercase();
        near.retain(|code| !word.is_empty() && code.title.contains(&word));
    }
    near.truncate(NEAR_CODES);
    near.sort_by_key(|code| code.number);
    near
}
