//! The pages of `docs/errors` are true: what a page shows first is refused with its code, and of
//! what it shows as mended there is nothing to say.
//!
//! A page holds two blocks of TOML. One without `[keyspace]` is given a name. How the first one is
//! reported is kept in `tests/golden/errors`; `KEYWAY_BLESS=1` writes that anew.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use keyspace::diagnostic::render::{Style, render};
use keyspace::diagnostic::{CODES, Code, Diagnostic};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Codes whose file would be too long to show.
const WITHOUT_EXAMPLE: &[u16] = &[8, 108];

/// The TOML blocks of a page.
fn examples(code: &Code) -> Vec<String> {
    let path = format!("{}/../docs/errors/{code}.md", env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap().into()).collect()
}

/// The example as a whole file.
fn whole(example: &str) -> String {
    match example.contains("[keyspace]") {
        true => example.to_string(),
        false => format!("[keyspace]\nname = \"app\"\n\n{example}"),
    }
}

fn problems(example: &str) -> Vec<Diagnostic> {
    keyspace::read(&whole(example)).diagnostics
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
        // Not even a note: people paste what is mended, and must not be sent to the next page.
        let left = problems(mended);
        if !left.is_empty() {
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

fn golden(code: &Code) -> PathBuf {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/errors");
    directory.join(format!("{code}.txt"))
}

/// Every report of the first example that has the code, drawn.
fn drawn(code: &Code, example: &str) -> String {
    let text = whole(example);
    let mut drawn = String::new();
    for problem in keyspace::read(&text).diagnostics.iter().filter(|one| one.code == code) {
        drawn.push_str(&render(problem, "keyspace.toml", &text, Style::PLAIN));
        drawn.push('\n');
    }
    drawn
}

#[test]
fn reports_are_drawn_as_they_were() {
    let bless = env::var_os("KEYWAY_BLESS").is_some();
    let mut wrong = Vec::new();
    for code in CODES.iter().filter(|code| !WITHOUT_EXAMPLE.contains(&code.number)) {
        let drawn = drawn(code, &examples(code)[0]);
        let path = golden(code);
        if bless {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &drawn).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        if drawn != expected {
            let mut pairs = drawn.lines().zip(expected.lines().chain(["nothing"]));
            let differs = pairs.find(|(left, right)| left != right);
            wrong.push(format!("{code}: {differs:?}"));
        }
    }
    assert!(wrong.is_empty(), "KEYWAY_BLESS=1 writes them anew:\n{}", wrong.join("\n"));
}

#[test]
fn no_report_is_kept_for_a_code_that_is_gone() {
    for entry in fs::read_dir(golden(CODES[0]).parent().unwrap()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_known = CODES.iter().any(|code| name == format!("{code}.txt"));
        assert!(is_known, "{name}");
    }
}

#[test]
fn what_is_too_long_for_a_page() {
    let has = |text: &str, number: u16| {
        keyspace::read(text).diagnostics.iter().any(|problem| problem.code.number == number)
    };
    assert!(has(&"# a line that says nothing\n".repeat(100_000), 8));
    let segments: Vec<String> = (0..40).map(|n| format!("{{segment_{n}: text}}")).collect();
    let key = format!("deep:{{root: text}} | {}", segments.join(":"));
    let file = format!(
        "[keyspace]\nname = \"app\"\n[collection.deep]\nkey = \"{key}\"\n\
         [pattern.get_deep]\nget = \"deep\"\n"
    );
    assert!(has(&file, 108));
}
