//! The pages of `docs/errors` are true: what a page shows first is refused with its code, and what
//! it shows as mended is not.
//!
//! A page holds two blocks of TOML. One without `[keyspace]` is given a name.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use keyspace::diagnostic::{CODES, Code, Diagnostic, Severity};
use std::fs;

/// Codes whose file would be too long to show.
const WITHOUT_EXAMPLE: &[u16] = &[8, 108];

/// The TOML blocks of a page.
fn examples(code: &Code) -> Vec<String> {
    let path = format!("{}/../docs/errors/{code}.md", env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap().into()).collect()
}

fn problems(example: &str) -> Vec<Diagnostic> {
    let text = match example.contains("[keyspace]") {
        true => example.to_string(),
        false => format!("[keyspace]\nname = \"app\"\n\n{example}"),
    };
    keyspace::read(&text).diagnostics
}

fn listed(problems: &[Diagnostic]) -> String {
    let line =
        |one: &Diagnostic| format!("  {} {} {}\n", one.severity.name(), one.code, one.message);
    problems.iter().map(line).collect()
}

#[test]
fn every_page_shows_its_problem_and_the_way_out() {
    let mut wrong = Vec::new();
    for code in CODES.iter().filter(|code| !WITHOUT_EXAMPLE.contains(&code.number)) {
        let [shown, mended] = &examples(code)[..] else {
            wrong.push(format!("{code}: the page shows two blocks of TOML"));
            continue;
        };
        let found = problems(shown);
        if !found.iter().any(|problem| problem.code == *code) {
            wrong.push(format!("{code}: the first example gives\n{}", listed(&found)));
        }
        let left = problems(mended);
        let is_left = |one: &Diagnostic| one.severity == Severity::Error || one.code == *code;
        if left.iter().any(is_left) {
            wrong.push(format!("{code}: the mended example gives\n{}", listed(&left)));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn examples_are_formatted() {
    for code in CODES {
        for example in examples(code) {
            if let Ok(formatted) = keyspace::format::format(&example) {
                assert_eq!(example, formatted, "{code}");
            }
        }
    }
}
