//! The documents say what the code does: every example in them is read, every command's output is
//! the real one, and every key, verb, type, default, function and store is explained and used.
//!
//! ```text
//! ```toml blocks     a block with [keyspace] begins a file; the blocks after it go on with that
//!                    file; one that begins with `# refused: KW502` is read and not kept
//! ```console blocks  `$ keyway …` on the file so far, then what it prints; `…` alone on a line
//!                    stands for lines left out. KEYWAY_BLESS=1 rewrites blocks without one
//! ```

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

mod documents_as_tests;

use documents_as_tests::{Block, Document, answer, differs};
use keyspace::Reading;
use keyspace::diagnostic::Severity;
use keyspace::diagnostic::render::{Style, render};
use keyspace::model::{
    Content, DefaultValue, Expression, ExpressionKind, Function, Key, Keyspace, Type,
};
use keyspace::parse::known::{self, KnownTable, Shape};
use std::collections::BTreeSet;
use toml::de::{DeTable, DeValue};

/// Where each table of the notation is explained: a heading of `docs/reference/keyspace.md`.
const SECTIONS: [(&KnownTable, &str); 11] = [
    (&known::FILE, "## The file"),
    (&known::KEYSPACE, "## `[keyspace]`"),
    (&known::COLLECTION, "## `[collection.NAME]`"),
    (&known::INDEX, "## `index.NAME`"),
    (&known::BUCKET, "## `bucket`"),
    (&known::EXPECT, "## `expect`"),
    (&known::HISTORY, "## `[history.NAME]`"),
    (&known::PATTERN, "## `[pattern.NAME]`"),
    (&known::STEP, "## Steps"),
    (&known::MEMBER, "## Membership"),
    (&known::DEFERRED, "## `[deferred.ID]`"),
];

/// The documents whose examples are keyspace files.
fn documents() -> Vec<Document> {
    let mut all = Document::folder("docs/reference");
    all.extend(Document::folder("docs/guide"));
    all.push(Document::file("README.md"));
    all
}

/// Every file of a document at every stage, with the lines of its last block.
fn sound_files(documents: &[Document]) -> Vec<String> {
    let stages = documents.iter().flat_map(Document::stages);
    stages.filter(|stage| stage.refused.is_none()).map(|stage| stage.text).collect()
}

fn problems(reading: &Reading, text: &str) -> String {
    let bad = reading.diagnostics.iter().filter(|one| one.severity != Severity::Note);
    bad.map(|one| render(one, "example.toml", text, Style::PLAIN)).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn every_example_is_read_as_it_says() {
    let mut complaints = Vec::new();
    for document in documents() {
        for stage in document.stages() {
            let reading = keyspace::read(&stage.text);
            let found: BTreeSet<String> = reading
                .diagnostics
                .iter()
                .filter(|one| one.severity != Severity::Note)
                .map(|one| one.code.to_string())
                .collect();
            let expected: BTreeSet<String> = stage.refused.clone().into_iter().collect();
            if found != expected {
                let place = format!("{}:{}", document.path, stage.line);
                let drawn = problems(&reading, &stage.text);
                complaints.push(format!("{place}: {found:?}, not {expected:?}\n{drawn}"));
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

#[test]
fn every_example_is_formatted() {
    for document in documents() {
        for block in &document.blocks {
            let Block::Toml(block) = block else { continue };
            let formatted = keyspace::format::format(&block.text).unwrap();
            assert_eq!(formatted, block.text, "{}:{}", document.path, block.line);
        }
    }
}

#[test]
fn every_command_prints_what_the_documents_say() {
    let mut complaints = Vec::new();
    for document in documents() {
        let mut file = String::new();
        let mut real = Vec::new();
        for (number, block) in document.blocks.iter().enumerate() {
            match block {
                Block::Toml(_) => file = document.file_at(number),
                Block::Console(block) => {
                    let answer = answer(&block.text, &file);
                    if let Some(line) = differs(&block.text, &answer) {
                        complaints.push(format!("{}:{}: {line}", document.path, block.line));
                        real.push((number, answer));
                    }
                }
            }
        }
        if std::env::var_os("KEYWAY_BLESS").is_some() && !real.is_empty() {
            document.bless(&real);
            complaints.clear();
        }
    }
    assert!(complaints.is_empty(), "KEYWAY_BLESS=1 rewrites them:\n{}", complaints.join("\n"));
}

#[test]
fn every_key_is_explained_and_used() {
    let reference = Document::file("docs/reference/keyspace.md");
    let mut used = BTreeSet::new();
    for text in sound_files(&Document::folder("docs/reference")) {
        let root = DeTable::parse(&text).unwrap().into_inner();
        collect_used(&known::FILE, &root, &mut used);
    }
    let mut complaints = Vec::new();
    for (table, heading) in SECTIONS {
        let section = reference.section(heading).unwrap_or_else(|| panic!("no {heading}"));
        for key in table.keys {
            if !section.lines().any(|line| in_first_cell(line, key.name)) {
                complaints.push(format!("{}: `{}` is not explained", table.name, key.name));
            }
            if !used.contains(&(table.name, key.name)) {
                complaints.push(format!("{}: `{}` is in no example", table.name, key.name));
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Whether a line is a row of a table whose first cell holds the word in backticks.
fn in_first_cell(line: &str, word: &str) -> bool {
    let cell = line.strip_prefix('|').and_then(|rest| rest.split(" |").next());
    cell.is_some_and(|cell| cell.contains(&format!("`{word}`")))
}

/// The keys that a table of an example holds, down to its innermost tables.
fn collect_used<'k>(
    known: &'static KnownTable,
    table: &DeTable<'_>,
    used: &mut BTreeSet<(&'k str, &'k str)>,
) {
    for (name, value) in table.iter() {
        let Some(key) = known.keys.iter().find(|key| key.name == name.get_ref().as_ref()) else {
            continue;
        };
        used.insert((known.name, key.name));
        match (key.shape, value.get_ref()) {
            (Shape::Table(inner) | Shape::Allow(inner), DeValue::Table(value)) => {
                collect_used(inner, value, used);
            }
            (Shape::Tables(inner), DeValue::Table(values)) => {
                let tables = values.values().filter_map(|value| value.get_ref().as_table());
                tables.for_each(|value| collect_used(inner, value, used));
            }
            (Shape::Steps(inner), DeValue::Array(values)) => {
                let tables = values.iter().filter_map(|value| value.get_ref().as_table());
                tables.for_each(|value| collect_used(inner, value, used));
            }
            _ => {}
        }
    }
}

#[test]
fn every_word_of_the_notation_is_explained_and_used() {
    let documents = Document::folder("docs/reference");
    let mut used = BTreeSet::new();
    for text in sound_files(&documents) {
        let keyspace = keyspace::read(&text).keyspace.unwrap();
        words_of(&keyspace, &mut used);
    }
    let mut complaints = Vec::new();
    let functions = Function::ALL.map(Function::name);
    let simple = keyspace::parse::SIMPLE_TYPES;
    let further = ["text..", "enum", "list", "optional"];
    let values = ["json", "text", "bytes", "counter", "window"];
    let words = functions.iter().chain(&simple).chain(&further).chain(&values);
    for word in words.chain(&DEFAULTS).chain(known::STORES) {
        let mut lines = documents.iter().flat_map(|document| document.text.lines());
        if !lines.any(|line| in_first_cell(line, word)) {
            complaints.push(format!("`{word}` is not explained"));
        }
        if !used.contains(*word) {
            complaints.push(format!("`{word}` is in no example"));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn every_limit_and_every_later_key_is_told() {
    use keyspace::model::limits::*;
    use keyspace::parse::grouped;
    let stores = Document::file("docs/reference/stores.md");
    let section = stores.section("## Limits").unwrap();
    let limits = [
        FILE_BYTES_MAX as u64,
        NAME_CHARACTERS_MAX as u64,
        KEY_BYTES_MAX as u64,
        KEY_SEGMENTS_MAX as u64,
        VALUE_BYTES_MAX,
        BATCH_WRITES_MAX,
        BATCH_BYTES_MAX,
        CASSANDRA_BATCH_BYTES_MAX,
        ATOMIC_STEPS_MAX as u64,
        PAGE_ROWS_MAX,
        MANY_MAX,
        PAGE_READS_PER_ROW,
        PAGE_SLICES_MAX,
        EACH_ENTRIES_MAX,
        NEAR_CELLS_MAX,
        TAKE_CANDIDATES_MAX,
        COMMIT_ATTEMPTS_MAX,
        CASSANDRA_PARTITION_BYTES_MAX,
        FILES_RECORDS_MAX,
        EXPRESSION_DEPTH_MAX as u64,
    ];
    for limit in limits {
        let shown = grouped(limit);
        let digits = |character: char| character.is_ascii_digit() || character == ',';
        let mut numbers = section.split(|character| !digits(character));
        assert!(numbers.any(|number| number.trim_end_matches(',') == shown), "{shown} is not told");
    }
    let patterns = Document::file("docs/reference/patterns.md");
    for (word, _) in known::LATER {
        assert!(patterns.text.lines().any(|line| in_first_cell(line, word)), "`{word}`");
    }
}

/// The kinds of default, as the reference calls them.
const DEFAULTS: [&str; 10] =
    ["number", "'text'", "true", "[]", "{}", "new", "new('prefix')", "now", "touch", "caller"];

fn words_of(keyspace: &Keyspace, used: &mut BTreeSet<String>) {
    used.extend(keyspace.stores.iter().map(|store| store.value.name().to_string()));
    for collection in &keyspace.collections {
        used.extend(content_word(&collection.content).map(str::to_string));
        key_words(&collection.key, used);
        for field in collection.fields() {
            type_words(&field.field_type, used);
            used.extend(field.default.as_ref().map(|default| default_word(default).to_string()));
        }
        for index in &collection.indexes {
            key_words(&index.key, used);
        }
    }
    for pattern in &keyspace.patterns {
        pattern.arguments.iter().for_each(|argument| type_words(&argument.argument_type, used));
    }
}

fn key_words(key: &Key, used: &mut BTreeSet<String>) {
    for segment in key.segments() {
        type_words(&segment.segment_type, used);
        used.extend(segment.default.as_ref().map(|default| default_word(default).to_string()));
        let source: Option<&Expression> = segment.source.as_ref();
        if let Some(source) = source {
            source.walk(&mut |inner| {
                if let ExpressionKind::Call(function, _) = &inner.kind {
                    used.insert(function.name().to_string());
                }
            });
        }
    }
}

fn type_words(declared: &Type, used: &mut BTreeSet<String>) {
    match declared {
        Type::Enum(_) => used.insert("enum".to_string()),
        Type::List(inner) => {
            type_words(inner, used);
            used.insert("list".to_string())
        }
        Type::Optional(inner) => {
            type_words(inner, used);
            used.insert("optional".to_string())
        }
        simple => used.insert(simple.to_string()),
    };
}

fn content_word(content: &Content) -> Option<&'static str> {
    match content {
        Content::Keys | Content::Fields(_) => None,
        Content::Json => Some("json"),
        Content::Text => Some("text"),
        Content::Bytes => Some("bytes"),
        Content::Counter => Some("counter"),
        Content::Window { .. } => Some("window"),
    }
}

fn default_word(default: &DefaultValue) -> &'static str {
    match default {
        DefaultValue::Number(_) => "number",
        DefaultValue::Text(_) => "'text'",
        DefaultValue::Bool(_) => "true",
        DefaultValue::EmptyList => "[]",
        DefaultValue::EmptyObject => "{}",
        DefaultValue::New(None) => "new",
        DefaultValue::New(Some(_)) => "new('prefix')",
        DefaultValue::Now => "now",
        DefaultValue::Touch => "touch",
        DefaultValue::Caller => "caller",
    }
}
