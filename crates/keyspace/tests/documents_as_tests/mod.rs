//! Documents cut into their examples: keyspace files that grow from block to block, and commands
//! with what they print.
//!
//! Prints through the library what the program prints, in the same words.

use keyspace::diagnostic::Severity;
use keyspace::diagnostic::render::{Style, render};
use keyspace::model::StoreKind;
use keyspace::plan::{self, Answer, explain};
use std::path::{Path, PathBuf};

/// A page of documentation.
pub struct Document {
    /// Its path from the root.
    pub path: String,
    /// All of it.
    pub text: String,
    /// Its examples, in order.
    pub blocks: Vec<Block>,
}

/// An example.
pub enum Block {
    /// A keyspace file, or more of one.
    Toml(Lines),
    /// A command and what it prints.
    Console(Lines),
}

/// The lines between two fences.
pub struct Lines {
    /// The text.
    pub text: String,
    /// The line of the page on which the text begins.
    pub line: usize,
}

/// A keyspace file as far as a page has got.
pub struct Stage {
    /// All of the file.
    pub text: String,
    /// The code of the problem it has on purpose.
    pub refused: Option<String>,
    /// The line of the page on which its last part begins.
    pub line: usize,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Document {
    /// The page at a path.
    pub fn file(path: &str) -> Document {
        let text = std::fs::read_to_string(root().join(path)).unwrap();
        let blocks = blocks(&text);
        Document { path: path.to_string(), text, blocks }
    }

    /// Every page of a folder, by name.
    pub fn folder(path: &str) -> Vec<Document> {
        let entries = std::fs::read_dir(root().join(path)).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".md"))
            .collect();
        names.sort();
        names.iter().map(|name| Document::file(&format!("{path}/{name}"))).collect()
    }

    /// The text below a heading, up to the next one of its level.
    pub fn section(&self, heading: &str) -> Option<&str> {
        let below = self.text.split(&format!("\n{heading}\n")).nth(1)?;
        below.split("\n## ").next()
    }

    /// The keyspace file after a block.
    pub fn file_at(&self, number: usize) -> String {
        let stages = self.stages();
        let count = self.blocks.iter().take(number + 1);
        let count = count.filter(|block| matches!(block, Block::Toml(_))).count();
        stages.into_iter().nth(count - 1).unwrap().text
    }

    /// Every keyspace file, block by block.
    pub fn stages(&self) -> Vec<Stage> {
        let mut kept = String::new();
        let mut stages = Vec::new();
        for block in &self.blocks {
            let Block::Toml(block) = block else { continue };
            let begins = block.text.lines().any(|line| line == "[keyspace]");
            let before = if begins { String::new() } else { format!("{kept}\n") };
            let text = format!("{before}{}", block.text);
            let first = block.text.lines().next().unwrap_or_default();
            let refused = first.strip_prefix("# refused: ").map(|code| code[..5].to_string());
            if refused.is_none() {
                kept.clone_from(&text);
            }
            stages.push(Stage { text, refused, line: block.line });
        }
        stages
    }

    /// Writes real outputs into the page, unless lines were left out on purpose.
    pub fn bless(&self, real: &[(usize, String)]) {
        let mut lines: Vec<&str> = self.text.lines().collect();
        // From the end, so that the places of earlier blocks stay true.
        for (number, answer) in real.iter().rev() {
            let Some(Block::Console(block)) = self.blocks.get(*number) else { continue };
            let shown = block.text.lines().count();
            if !block.text.lines().any(|line| line == "…") {
                lines.splice(block.line..block.line + shown - 1, answer.lines());
            }
        }
        std::fs::write(root().join(&self.path), lines.join("\n") + "\n").unwrap();
    }
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, Lines)> = None;
    for (number, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(kind)) => {
                open = Some((kind, Lines { text: String::new(), line: number + 2 }));
            }
            (Some(_), Some(_)) => match open.take() {
                Some(("toml", lines)) => blocks.push(Block::Toml(lines)),
                Some(("console", lines)) => blocks.push(Block::Console(lines)),
                _ => {}
            },
            (Some((_, lines)), None) => {
                lines.text.push_str(line);
                lines.text.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

/// The first line that an output lacks, if the block does not show the output.
pub fn differs(block: &str, answer: &str) -> Option<String> {
    let shown: Vec<&str> = block.lines().skip(1).collect();
    let real: Vec<&str> = answer.lines().collect();
    let mut at = 0;
    let mut anywhere = false;
    for line in &shown {
        if *line == "…" {
            anywhere = true;
            continue;
        }
        let rest = &real[at..];
        let found = if anywhere { rest.iter().position(|one| one == line) } else { Some(0) };
        match found.filter(|found| rest.get(*found) == Some(line)) {
            Some(found) => at += found + 1,
            None => {
                let instead = rest.first().unwrap_or(&"the end");
                return Some(format!("shows `{line}` where the program prints `{instead}`"));
            }
        }
        anywhere = false;
    }
    (at < real.len() && !anywhere).then(|| format!("leaves out `{}`", real[at]))
}

/// What the program prints for the command in a block's first line.
pub fn answer(block: &str, file: &str) -> String {
    let command = block.lines().next().unwrap_or_default();
    let words: Vec<&str> = command.split_whitespace().collect();
    let ["$", "keyway", verb, path, rest @ ..] = words.as_slice() else {
        panic!("no command: {command}");
    };
    let store = rest.iter().position(|word| *word == "--store").map(|at| rest[at + 1]);
    let store = store.map(|name| StoreKind::from_name(name).unwrap());
    if *verb == "check" {
        return check(path, file, store);
    }
    let reading = keyspace::read(file);
    let keyspace = reading.keyspace.unwrap_or_else(|| panic!("{:?}", reading.diagnostics));
    match (*verb, rest.first()) {
        ("layout", _) => keyspace::layout::print(&keyspace, store.unwrap()),
        ("explain", Some(name)) if !name.starts_with("--") => {
            let pattern = keyspace.patterns.iter().find(|one| one.name.value == *name).unwrap();
            explain::text(&keyspace, &plan::plan(&keyspace, pattern), store)
        }
        ("explain", _) => {
            let table = explain::table(&plan::plans(&keyspace), store);
            format!("{}\n\n{}", table.trim_end(), explain::modes(&keyspace))
        }
        _ => panic!("no such command: {command}"),
    }
}

fn check(path: &str, file: &str, store: Option<StoreKind>) -> String {
    let reading = keyspace::read_for(file, store.as_slice());
    let mut text = String::new();
    for one in reading.diagnostics.iter().filter(|one| one.severity != Severity::Note) {
        text.push_str(&render(one, path, file, Style::PLAIN));
        text.push_str("\n\n");
    }
    let counted = |count: usize, one: &str, several: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {several}"),
    };
    let Some(keyspace) = &reading.keyspace else {
        let errors = counted(reading.count(Severity::Error), "error", "errors");
        let first = reading.diagnostics.iter().find(|one| one.severity == Severity::Error);
        let code = first.unwrap().code;
        return text + &format!("{errors} in {path}; more about the first: keyway why {code}\n");
    };
    let indexes = keyspace.collections.iter().map(|collection| collection.indexes.len()).sum();
    text.push_str(&format!(
        "{path}: {}, {}, {}: all answered by bounded work\n\n",
        counted(keyspace.patterns.len(), "pattern", "patterns"),
        counted(keyspace.collections.len(), "collection", "collections"),
        counted(indexes, "index", "indexes"),
    ));
    text.push_str(&format!("{:14}{:>8}{:>10}{:>9}\n", "store", "native", "assisted", "refused"));
    let plans = plan::plans(keyspace);
    for kind in StoreKind::ALL.into_iter().filter(|kind| store.is_none_or(|one| one == *kind)) {
        let count = |wanted: &str| {
            plans.iter().filter(|plan| Answer::word(plan.answer(kind)) == wanted).count()
        };
        let [native, assisted, refused] = ["native", "assisted", "refused"].map(count);
        text.push_str(&format!("{kind:14}{native:>8}{assisted:>10}{refused:>9}\n"));
    }
    for note in reading.diagnostics.iter().filter(|one| one.severity == Severity::Note) {
        text.push_str(&format!("\nnote[{}]: {}", note.code, note.message));
        note.effects.iter().for_each(|effect| text.push_str(&format!("\n  {}", effect.text)));
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text + &format!("\narguments and costs of a pattern: keyway explain {path} PATTERN\n")
}
