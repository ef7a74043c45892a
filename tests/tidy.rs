//! Keeps the repository tidy: heads, sizes, dead files, and documents that name only what exists.
//!
//! Plain reading of files, no parser: what it cannot see (a function rustfmt would indent
//! differently) is not worth a dependency. An exception is one line with its reason in `WAIVERS`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use keyspace::diagnostic::CODES;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const LINE_COLUMNS_MAX: usize = 100;
const FUNCTION_LINES_MAX: usize = 60;
const FILE_LINES_MAX: usize = 400;
const TEST_FILE_LINES_MAX: usize = 800;
const ARCHITECTURE_LINES_MAX: usize = 400;

/// (file, rule, what it concerns): each with its reason.
const WAIVERS: &[(&str, &str, &str)] = &[
    // A list of codes reads best with one line a code.
    ("crates/keyspace/src/diagnostic/codes.rs", "line", ""),
    // The compiler finds a macro in the root of its crate and nowhere else.
    ("crates/macros/src/lib.rs", "root", ""),
];

fn is_waived(file: &str, rule: &str, what: &str) -> bool {
    WAIVERS.iter().any(|(path, waived, about)| {
        *path == file && *waived == rule && (about.is_empty() || *about == what)
    })
}

/// A file of the repository.
struct File {
    /// Its path from the root, with `/`.
    path: String,
    /// What it holds.
    text: String,
}

impl File {
    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    fn is_test(&self) -> bool {
        self.path.split('/').any(|part| matches!(part, "tests" | "tests.rs"))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Every text file of the repository whose path ends so.
fn files(endings: &[&str]) -> Vec<File> {
    let mut found = Vec::new();
    walk(&root(), &mut |path| {
        let shown = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
        if endings.iter().any(|ending| shown.ends_with(ending))
            && let Ok(text) = fs::read_to_string(path)
        {
            found.push(File { path: shown, text });
        }
    });
    found.sort_by(|left, right| left.path.cmp(&right.path));
    found
}

fn walk(directory: &Path, visit: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_made =
            name.starts_with("target") || matches!(name.as_str(), ".git" | "node_modules");
        if path.is_dir() && !is_made {
            walk(&path, visit);
        } else if path.is_file() {
            visit(&path);
        }
    }
}

fn sources() -> Vec<File> {
    let sources = files(&[".rs"]);
    assert!(sources.len() > 10, "the sources were found");
    sources
}

/// The documents people read first, and the guide.
fn documents() -> Vec<File> {
    let first = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];
    let mut documents = files(&[".md"]);
    documents.retain(|file| first.contains(&file.path.as_str()) || file.path.starts_with("docs/"));
    for name in first {
        assert!(documents.iter().any(|file| file.path == name), "{name} is there");
    }
    documents
}

#[track_caller]
fn report(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn every_source_has_a_head() {
    let missing = |file: &File| !file.text.starts_with("//!");
    let problems: Vec<String> = sources()
        .iter()
        .filter(|file| missing(file))
        .map(|file| format!("{}: begin it with a `//!` head that says what it is for", file.path))
        .collect();
    report(&problems);
}

#[test]
fn lines_functions_and_files_are_short() {
    let mut problems = Vec::new();
    for file in sources() {
        long_lines(&file, &mut problems);
        long_functions(&file, &mut problems);
        let (lines, max) = match file.is_test() {
            true => (file.text.lines().count(), TEST_FILE_LINES_MAX),
            false => (lines_without_tests(&file.text), FILE_LINES_MAX),
        };
        if lines > max && !is_waived(&file.path, "file", "") {
            problems.push(format!("{}: {lines} lines, at most {max}", file.path));
        }
    }
    report(&problems);
}

fn long_lines(file: &File, problems: &mut Vec<String>) {
    for (number, line) in file.text.lines().enumerate() {
        let columns = line.chars().count();
        // A keyspace or a JSON value inside a test is as long as it is; rustfmt leaves both alone.
        let quoted = line.contains("json!(") || line.contains(" = \"") || line.contains("= {");
        if file.is_test() && quoted {
            continue;
        }
        if columns > LINE_COLUMNS_MAX && !is_waived(&file.path, "line", "") {
            problems.push(format!("{}:{}: {columns} columns", file.path, number + 1));
        }
    }
}

/// rustfmt closes a function with a brace under the first letter of its first line.
fn long_functions(file: &File, problems: &mut Vec<String>) {
    let lines: Vec<&str> = file.text.lines().collect();
    for (start, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let closing = format!("{indent}}}");
        let end = lines[start..].iter().position(|line| {
            *line == closing
                || line.ends_with(';') && line.starts_with(indent) && {
                    // A declaration without a body ends where it began.
                    let rest = &line[indent.len()..];
                    !rest.starts_with(' ')
                }
        });
        let length = end.map_or(1, |end| end + 1);
        let is_short = length <= FUNCTION_LINES_MAX || line.trim_end().ends_with('}');
        if !is_short && !is_waived(&file.path, "function", name) {
            problems.push(format!("{}:{}: `{name}` has {length} lines", file.path, start + 1));
        }
    }
}

fn function_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    if let Some(after) = rest.strip_prefix("pub(") {
        rest = after.split_once(") ")?.1;
    }
    for word in ["pub ", "const ", "async "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let name = rest.strip_prefix("fn ")?;
    Some(name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default())
}

/// Lines outside `#[cfg(test)] mod … { … }`.
fn lines_without_tests(text: &str) -> usize {
    let mut count = 0;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let is_tests = line == "#[cfg(test)]"
            && lines.peek().is_some_and(|next| next.contains("mod ") && next.ends_with('{'));
        if is_tests {
            for line in lines.by_ref() {
                if line == "}" {
                    break;
                }
            }
        } else {
            count += 1;
        }
    }
    count
}

#[test]
fn nothing_is_left_for_later() {
    let words = [concat!("to", "do!("), concat!("unimple", "mented!("), concat!("dbg", "!(")];
    let mut problems = Vec::new();
    for file in sources() {
        for (number, line) in file.text.lines().enumerate() {
            if words.iter().any(|word| line.contains(word)) {
                problems.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
            }
        }
    }
    report(&problems);
}

#[test]
fn every_source_is_part_of_its_crate() {
    let sources = sources();
    let text_of = |path: &str| sources.iter().find(|file| file.path == path).map(|file| &file.text);
    let mut problems = Vec::new();
    for file in sources.iter().filter(|file| file.path.contains("/src/")) {
        if matches!(file.name(), "lib.rs" | "main.rs") || is_target(&file.path) {
            continue;
        }
        let (directory, name) = file.path.rsplit_once('/').unwrap();
        let (directory, module) = match name {
            "mod.rs" => directory.rsplit_once('/').unwrap(),
            name => (directory, name.trim_end_matches(".rs")),
        };
        let parents = ["mod.rs", "lib.rs", "main.rs"].map(|parent| format!("{directory}/{parent}"));
        let beside = format!("{directory}.rs");
        let declaration = format!("mod {module};");
        // Programs that stand beside each other may share what stands beside them.
        let is_program = |other: &&File| {
            let place = other.path.rsplit_once('/').map(|(place, _)| place);
            place == Some(directory) && is_target(&other.path)
        };
        let programs = sources.iter().filter(is_program).map(|program| &program.text);
        let is_declared = parents
            .iter()
            .chain([&beside])
            .filter_map(|parent| text_of(parent))
            .chain(programs)
            .any(|text| text.lines().any(|line| line.ends_with(&declaration)));
        if !is_declared {
            problems.push(format!("{}: no file says `{declaration}`", file.path));
        }
    }
    report(&problems);
}

/// Whether the manifest of its crate names the file as a program of its own.
fn is_target(path: &str) -> bool {
    let Some((package, source)) = path.split_once("/src/") else { return false };
    let manifest = fs::read_to_string(root().join(package).join("Cargo.toml")).unwrap();
    manifest.lines().any(|line| line == format!("path = \"src/{source}\""))
}

#[test]
fn library_roots_only_list() {
    let mut problems = Vec::new();
    for file in sources().iter().filter(|file| file.path.ends_with("/src/lib.rs")) {
        let mut in_use = false;
        for (number, line) in file.text.lines().enumerate() {
            let is_use = in_use || line.starts_with("pub use ");
            let is_listing = line.is_empty()
                || ["//", "#[", "#![", "mod ", "pub mod "]
                    .iter()
                    .any(|start| line.starts_with(start));
            if !is_use && !is_listing && !is_waived(&file.path, "root", "") {
                problems.push(format!("{}:{}: {line}", file.path, number + 1));
            }
            in_use = is_use && !line.ends_with(';');
        }
    }
    report(&problems);
}

#[test]
fn no_file_names_a_place_on_one_machine() {
    // Where people and machines keep their files; a program of the system is the same everywhere.
    let places = ["home", "Users", "root", "work", "mnt", "srv", "data", "tmp", "var"];
    let places = places.map(|place| format!("/{place}/"));
    let endings = [
        ".rs",
        ".md",
        ".toml",
        ".json",
        ".txt",
        ".sql",
        ".cql",
        ".svg",
        ".py",
        "scripts/test",
        "scripts/prove-schema",
        ".ci/run",
    ];
    let mut problems = Vec::new();
    for file in files(&endings) {
        for (number, line) in file.text.lines().enumerate() {
            let is_place = |place: &String| {
                line.match_indices(place.as_str()).any(|(at, _)| {
                    // Inside a longer path it is ours; at its start, somebody's disk.
                    !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-~}".contains(c))
                })
            };
            if places.iter().any(is_place) {
                problems.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
            }
        }
    }
    report(&problems);
}

/// The code in single backticks outside fenced blocks, with its line.
fn quoted(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_fence = false;
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        } else if !in_fence {
            found.extend(line.split('`').skip(1).step_by(2).map(|code| (number + 1, code)));
        }
    }
    found
}

#[test]
fn paths_in_documents_exist() {
    let mut known = BTreeSet::new();
    walk(&root(), &mut |path| {
        let shown = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
        for (at, _) in shown.match_indices('/') {
            known.insert(format!("/{}", &shown[..at]));
        }
        known.insert(format!("/{shown}"));
    });
    let top: BTreeSet<&str> = known.iter().filter_map(|path| path[1..].split('/').next()).collect();
    let exists = |path: &str| {
        let ending = format!("/{}", path.trim_start_matches("./").trim_end_matches('/'));
        known.iter().any(|path| path.ends_with(&ending))
    };
    let mut problems = Vec::new();
    for file in documents() {
        for (line, code) in quoted(&file.text) {
            if looks_like_path(code, &top) && !exists(code) {
                problems.push(format!("{}:{line}: there is no `{code}`", file.path));
            }
        }
    }
    report(&problems);
}

/// A word with a slash that begins in this repository or ends like one of its files.
fn looks_like_path(code: &str, top: &BTreeSet<&str>) -> bool {
    let is_word = code.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
    // Capitals stand for something the reader fills in: `docs/NAME.md`.
    let stem = code.rsplit('/').next().unwrap_or_default().split('.').next().unwrap_or_default();
    let is_example = code.contains('/') && stem.len() > 1 && stem.chars().all(|c| c.is_uppercase());
    let first = code.trim_start_matches("./").split('/').next().unwrap_or_default();
    let begins_here = code.contains('/') && top.contains(first);
    is_word && !is_example && (begins_here || code.ends_with(".rs") || code.ends_with(".md"))
}

#[test]
fn links_in_documents_lead_somewhere() {
    let mut problems = Vec::new();
    for file in documents() {
        let directory = root().join(&file.path).parent().unwrap().to_path_buf();
        for (number, line) in file.text.lines().enumerate() {
            for link in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let path = link.split('#').next().unwrap_or_default();
                let is_local = !path.is_empty() && !link.contains("://");
                if is_local && !directory.join(path).exists() {
                    problems.push(format!("{}:{}: no file at {link}", file.path, number + 1));
                }
            }
        }
    }
    report(&problems);
}

#[test]
fn architecture_names_only_what_exists() {
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let lines = architecture.lines().count();
    assert!(lines <= ARCHITECTURE_LINES_MAX, "ARCHITECTURE.md has {lines} lines");
    let sources = sources();
    let is_defined = |kinds: &[&str], name: &str| {
        let definitions: Vec<String> = kinds.iter().map(|kind| format!("{kind} {name}")).collect();
        sources.iter().flat_map(|file| file.text.lines()).any(|line| {
            definitions.iter().any(|definition| {
                line.find(definition.as_str()).is_some_and(|at| {
                    let after = line[at + definition.len()..].chars().next();
                    !after.is_some_and(|next| next.is_alphanumeric() || next == '_')
                })
            })
        })
    };
    let mut problems = Vec::new();
    for (line, code) in quoted(&architecture) {
        for name in rust_names(code) {
            let kinds: &[&str] = match name.chars().next().is_some_and(char::is_uppercase) {
                true => &["struct", "enum", "trait", "type", "const", "static", "macro_rules!"],
                false => &["fn", "mod"],
            };
            if !is_defined(kinds, name) {
                problems.push(format!("ARCHITECTURE.md:{line}: `{name}` is defined nowhere"));
            }
        }
    }
    report(&problems);
}

/// `Store`, `Code::from_text` and `format::format()` give the names in them; other code gives none.
fn rust_names(code: &str) -> Vec<&str> {
    let path = code.split('(').next().unwrap_or_default();
    let names: Vec<&str> = path.split("::").collect();
    let is_name = |name: &&str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let is_camel = |name: &str| {
        name.chars().next().is_some_and(char::is_uppercase) && name.contains(char::is_lowercase)
    };
    let is_rust =
        names.len() > 1 || code.ends_with("()") || names.iter().any(|name| is_camel(name));
    if !is_rust || !names.iter().all(is_name) {
        return Vec::new();
    }
    // The variant of an enum, or the crate a path begins with, is looked for nowhere.
    match names.as_slice() {
        [one] => vec![one],
        [outer, .., last] if is_camel(outer) && is_camel(last) => vec![outer],
        [outer, .., last] if is_camel(outer) => vec![outer, last],
        [.., last] => vec![last],
        [] => Vec::new(),
    }
}

#[test]
fn every_code_has_its_page_and_every_page_its_code() {
    let codes: BTreeSet<String> = CODES.iter().map(|code| code.to_string()).collect();
    let pages = files(&[".md"]);
    let pages = pages.iter().filter_map(|file| {
        let name = file.path.strip_prefix("docs/errors/")?.strip_suffix(".md")?;
        name.starts_with("KW").then_some((name.to_string(), file))
    });
    let pages: Vec<(String, &File)> = pages.collect();
    let mut problems = Vec::new();
    for code in CODES {
        let name = code.to_string();
        let title = format!("# {name}: {}", code.title);
        match pages.iter().find(|(page, _)| *page == name) {
            None => problems.push(format!("docs/errors/{name}.md is missing: {title}")),
            Some((_, file)) if file.text.lines().next() != Some(&title) => {
                problems.push(format!("{}: begin it with `{title}`", file.path));
            }
            Some(_) => {}
        }
    }
    for (name, file) in &pages {
        if !codes.contains(name) {
            problems.push(format!("{}: there is no such code", file.path));
        }
    }
    report(&problems);
}
