//! Whatever stands in a file, reading it ends, and every problem can be drawn.
//!
//! Files are cut at every byte and changed at random, always in the same way; what still reads is
//! planned, laid out and documented. A mutant that breaks something becomes a file of
//! `golden/rules`, or a test beside the code that broke.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may panic"
)]

use keyspace::diagnostic::render::{Style, render};
use keyspace::document;
use keyspace::model::StoreKind;
use keyspace::plan::explain;
use std::path::Path;

/// Mutants of all files together.
const MUTANTS: usize = 20_000;
/// Problems of one mutant that are drawn.
const DRAWN: usize = 6;
const COLOURED: Style = Style { colour: true, width: 40 };

/// The applications' files, and every small file that breaks a rule.
fn files() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let apps = ["chat", "documents", "keri", "scaffold", "spreadapi"];
    let paths = apps.map(|app| root.join(format!("../../apps/{app}/keyspace.toml")));
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

fn rules() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/rules");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// Reads a file and does everything that can be done with it.
fn survive(text: &str) {
    let reading = keyspace::read(text);
    if let Ok(tidy) = keyspace::format::format(text) {
        assert_eq!(keyspace::format::format(&tidy).unwrap(), tidy);
    }
    for (number, problem) in reading.diagnostics.iter().take(DRAWN).enumerate() {
        let style = if number.is_multiple_of(2) { Style::PLAIN } else { COLOURED };
        assert!(!render(problem, "mutant.toml", text, style).is_empty());
    }
    let Some(keyspace) = reading.keyspace else { return };
    for plan in keyspace::plan::plans(&keyspace) {
        assert_eq!(plan.answers().count(), StoreKind::ALL.len());
        explain::text(&keyspace, &plan, None);
    }
    document::markdown(&keyspace);
    document::mermaid(&keyspace);
    document::svg(&keyspace);
    for store in StoreKind::ALL {
        keyspace::layout::print(&keyspace, store);
    }
}

/// Numbers that look random and are the same at every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap() % end.max(1)
    }
}

/// Words, runs of spaces, and single other characters.
fn tokens(text: &str) -> Vec<&str> {
    let kind = |c: char| (c.is_alphanumeric() || c == '_', c.is_whitespace());
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut before = None;
    for (at, character) in text.char_indices() {
        let now = kind(character);
        if at > start && (before != Some(now) || now == (false, false)) {
            tokens.push(&text[start..at]);
            start = at;
        }
        before = Some(now);
    }
    tokens.push(&text[start..]);
    tokens
}

/// One change: a byte, a token, or a line.
fn mutant(text: &str, numbers: &mut Numbers) -> String {
    let mut tokens = tokens(text);
    let (at, other) = (numbers.below(tokens.len()), numbers.below(tokens.len()));
    match numbers.below(6) {
        0 if !text.is_empty() => {
            let mut bytes = text.as_bytes().to_vec();
            let at = numbers.below(bytes.len());
            bytes[at] = u8::try_from(numbers.below(256)).unwrap();
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        1 => drop(tokens.remove(at)),
        2 => tokens.insert(at, tokens[other]),
        3 => tokens.swap(at, other),
        4 => tokens[at] = tokens[other],
        _ => {
            let gone = numbers.below(text.lines().count());
            let lines = text.lines().enumerate().filter(|(number, _)| *number != gone);
            return lines.map(|(_, line)| format!("{line}\n")).collect();
        }
    }
    tokens.concat()
}

#[test]
fn a_file_cut_anywhere_is_read_to_its_end() {
    for text in files() {
        // Every byte of the larger files would take minutes; a step that divides no line's length
        // comes by every kind of place.
        let step = (text.len() / 1_500).max(1);
        for end in (0..text.len()).step_by(step) {
            survive(&String::from_utf8_lossy(&text.as_bytes()[..end]));
        }
    }
}

#[test]
fn small_files_cut_anywhere_are_read_to_their_end() {
    for text in rules() {
        let step = (text.len() / 100).max(1);
        for end in (0..text.len()).step_by(step) {
            survive(&String::from_utf8_lossy(&text.as_bytes()[..end]));
        }
    }
}

#[test]
fn mutants_are_read_to_their_end() {
    let mut numbers = Numbers(7);
    let (large, small) = (files(), rules());
    for number in 0..MUTANTS {
        // The large files take a hundred times as long.
        let from = if number.is_multiple_of(40) { &large } else { &small };
        let text = &from[numbers.below(from.len())];
        let mut mutated = mutant(text, &mut numbers);
        for _ in 0..numbers.below(3) {
            mutated = mutant(&mutated, &mut numbers);
        }
        survive(&mutated);
    }
}
