//! Every rule, broken by a small file beside what is said of it: `golden/rules/KWnnn[-variant]`.
//!
//! `KEYWAY_BLESS=1 cargo test --test rules` writes the expectations anew. The other tests here ask
//! the same of every file: places are exact, and fixes mend what they promise to mend.

#![allow(clippy::unwrap_used, clippy::panic, clippy::string_slice, reason = "a test may panic")]

use keyspace::diagnostic::render::{Style, render};
use keyspace::diagnostic::{CODES, Diagnostic, Severity};
use std::fs;
use std::path::{Path, PathBuf};

struct Golden {
    path: PathBuf,
    /// `KW103` of `KW103-literal.toml`.
    code: String,
    text: String,
}

impl Golden {
    fn file_name(&self) -> String {
        self.path.file_name().unwrap().to_string_lossy().into_owned()
    }

    fn drawn(&self) -> String {
        let reading = keyspace::read(&self.text);
        let draw = |problem| render(problem, &self.file_name(), &self.text, Style::PLAIN);
        reading.diagnostics.iter().map(draw).collect::<Vec<_>>().join("\n\n") + "\n"
    }
}

fn goldens() -> Vec<Golden> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/rules");
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let read = |path: PathBuf| {
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let code = stem.split('-').next().unwrap().to_string();
        Golden { text: fs::read_to_string(&path).unwrap(), path, code }
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn every_file_is_reported_as_expected() {
    let mut differences = Vec::new();
    for golden in goldens() {
        let drawn = golden.drawn();
        let expected = golden.path.with_extension("txt");
        if std::env::var_os("KEYWAY_BLESS").is_some() {
            fs::write(&expected, &drawn).unwrap();
        }
        let kept = fs::read_to_string(&expected).unwrap_or_default();
        if kept != drawn {
            let pairs = kept.lines().zip(drawn.lines());
            let line = pairs.take_while(|(kept, drawn)| kept == drawn).count();
            differences.push(format!(
                "{} line {}\n  expected: {}\n  found:    {}",
                expected.display(),
                line + 1,
                kept.lines().nth(line).unwrap_or("(nothing)"),
                drawn.lines().nth(line).unwrap_or("(nothing)"),
            ));
        }
        let own = format!("[{}]", golden.code);
        if !drawn.contains(&own) {
            differences.push(format!("{} does not break {own}", golden.file_name()));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn every_code_has_a_file_and_every_file_a_code() {
    let files: Vec<String> = goldens().into_iter().map(|golden| golden.code).collect();
    let codes: Vec<String> = CODES.iter().map(|code| code.to_string()).collect();
    // A file that is too large is made below.
    let made = "KW008";
    let bare: Vec<&String> =
        codes.iter().filter(|code| *code != made && !files.contains(code)).collect();
    assert!(bare.is_empty(), "no file breaks {bare:?}");
    let unknown: Vec<&String> = files.iter().filter(|code| !codes.contains(code)).collect();
    assert!(unknown.is_empty(), "no rule has the code {unknown:?}");
}

#[test]
fn a_file_that_is_too_large_is_refused_unread() {
    let text = "#".repeat((1 << 20) + 1);
    let problems = keyspace::read(&text).diagnostics;
    let codes: Vec<String> = problems.iter().map(|problem| problem.code.to_string()).collect();
    assert_eq!(codes, ["KW008"]);
    assert_eq!(
        render(&problems[0], "big.toml", &text, Style::PLAIN).lines().next(),
        Some("error[KW008]: the file has 1,048,577 bytes")
    );
}

/// Limits whose files would be long to read.
#[test]
fn what_is_too_much_is_refused_once() {
    let list = |count: usize, one: &dyn Fn(usize) -> String, between: &str| {
        (0..count).map(one).collect::<Vec<_>>().join(between)
    };
    let fields = list(1_001, &|n| format!("f{n} = \"text\""), ", ");
    let indexes = list(65, &|n| format!("index.i{n} = {{ key = \"i{n}:{{a}}\" }}"), "\n");
    let words = list(257, &|n| format!("w{n}"), "|");
    let condition = list(202, &|_| "a = 'x'".to_string(), " or ");
    let cases = [
        ("KW013", format!("key = \"k:{{id: text}}\"\nfields = {{ {fields} }}"), String::new()),
        (
            "KW013",
            format!("key = \"k:{{id: text}}\"\nfields = {{ a = \"text\" }}\n{indexes}"),
            list(64, &|n| format!("[pattern.l{n}]\nlist = \"c.i{n}\"\npage = 5"), "\n"),
        ),
        (
            "KW032",
            format!("key = \"k:{{id: text}}\"\nfields = {{ a = \"{words}\" }}"),
            String::new(),
        ),
        (
            "KW601",
            "key = \"k:{id: text}\"\nfields = { a = \"text\" }".to_string(),
            format!(
                "[pattern.u]\nupdate = \"c\"\nset = [\"a\"]\nif = \"{condition}\"\nallow = \"user\""
            ),
        ),
    ];
    for (code, collection, patterns) in cases {
        let head = "[keyspace]\nname = \"app\"\n\n[collection.c]\n";
        let writes = "[pattern.p]\nput = \"c\"\nallow = \"user\"";
        let text = format!("{head}{collection}\n\n{writes}\n\n{patterns}\n");
        let errors: Vec<String> = keyspace::read(&text)
            .diagnostics
            .iter()
            .filter(|problem| problem.severity == Severity::Error)
            .map(|problem| problem.code.to_string())
            .collect();
        assert_eq!(errors, [code], "{text}");
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_where_they_stand() {
    let bytes = b"[keyspace]\nname = \"\xff\xfe\"\n";
    let problem = keyspace::decode(bytes).unwrap_err();
    let text = String::from_utf8_lossy(bytes);
    assert_eq!(&text[problem.span().start..problem.span().end], "\u{fffd}");
    let drawn = render(&problem, "bytes.toml", &text, Style::PLAIN);
    let first = "error[KW001]: this is not TOML: byte 19 of the file is not UTF-8";
    assert_eq!(drawn.lines().next(), Some(first));
}

/// A place is one thing: on one line, without spaces around it, and without the quotes of a text.
#[test]
fn places_are_exact() {
    let mut wrong = Vec::new();
    for golden in goldens() {
        for problem in keyspace::read(&golden.text).diagnostics {
            for (number, label) in problem.labels.iter().enumerate() {
                let place = golden.text.get(label.span.start..label.span.end);
                let place = place.unwrap_or_else(|| panic!("{problem:?} is outside the file"));
                let quoted = place.len() > 1 && place.starts_with('"') && place.ends_with('"');
                // A value of the wrong kind, or a quoted name, is shown whole.
                let whole = matches!(problem.code.number, 3 | 5);
                let exact = (place.len() == 1 || place == place.trim())
                    && !place.contains('\n')
                    && (!quoted || whole);
                if !exact {
                    let name = golden.file_name();
                    wrong.push(format!("{name}: label {number} of {} is {place:?}", problem.code));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// How often a problem is told, wherever it stands.
fn count(problems: &[Diagnostic], problem: &Diagnostic) -> usize {
    let same = |other: &&Diagnostic| other.code == problem.code && other.message == problem.message;
    problems.iter().filter(same).count()
}

/// The problems of the file and its templates, which no fix may add to.
fn of_syntax(problems: &[Diagnostic]) -> Vec<String> {
    // Where the bar stands can only be asked once the parts of a key are apart.
    let syntax = problems.iter().filter(|p| p.code.number < 100 && p.code.number != 25);
    syntax.map(|problem| format!("{} {}", problem.code, problem.message)).collect()
}

/// What is wrong with a fix that makes this of the file.
fn unmended(golden: &Golden, problem: &Diagnostic, fix: &str, text: &str) -> Option<String> {
    let before = keyspace::read(&golden.text).diagnostics;
    let after = keyspace::read(text).diagnostics;
    let shown = format!("{} {} ({fix})", golden.file_name(), problem.message);
    if count(&after, problem) >= count(&before, problem) {
        return Some(format!("not mended: {shown}"));
    }
    let errors = |problems: &[Diagnostic]| {
        problems.iter().filter(|problem| problem.severity == Severity::Error).count()
    };
    if errors(&after) > errors(&before) {
        return Some(format!("one error mended, and more made: {shown}"));
    }
    let old = of_syntax(&before);
    let added: Vec<_> = of_syntax(&after).into_iter().filter(|l| !old.contains(l)).collect();
    (!added.is_empty()).then(|| format!("mended, and broken by {added:?}: {shown}"))
}

#[test]
fn edits_mend_what_they_promise() {
    let mut wrong = Vec::new();
    for golden in goldens() {
        for problem in &keyspace::read(&golden.text).diagnostics {
            for edit in problem.fixes.iter().filter_map(|fix| fix.edit.as_ref()) {
                let mut text = golden.text.clone();
                text.replace_range(edit.span.start..edit.span.end, &edit.replacement);
                wrong.extend(unmended(&golden, problem, &edit.replacement, &text));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Lines to paste are TOML; where they say or imply their place, they mend the problem.
#[test]
fn pasted_lines_mend_what_they_promise() {
    let mut wrong = Vec::new();
    for golden in goldens() {
        for problem in &keyspace::read(&golden.text).diagnostics {
            for fix in &problem.fixes {
                let Some(lines) = &fix.paste else { continue };
                if let Err(error) = toml::de::DeTable::parse(lines) {
                    wrong.push(format!("{}: {lines}\n{error}", golden.file_name()));
                }
                // An index is half a mend: the pattern must ask it too. So is an owner: it shows
                // which patterns led past it.
                let whole = !lines.starts_with("index.")
                    && *problem.code != keyspace::diagnostic::codes::OWNER_MISSING;
                let text = pasted(&golden.text, problem, &fix.text, lines);
                if let Some(text) = text.filter(|_| whole) {
                    wrong.extend(unmended(&golden, problem, lines, &text));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The file with the lines in it; none where only a person knows the place.
fn pasted(file: &str, problem: &Diagnostic, words: &str, lines: &str) -> Option<String> {
    if words.contains("of the index") {
        return None;
    }
    if lines.starts_with("[keyspace]") {
        return Some(format!("{lines}\n{file}"));
    }
    if lines.starts_with('[') {
        return Some(format!("{file}\n{lines}\n"));
    }
    let head = match words.split_once("in [") {
        Some((_, rest)) => {
            let head = format!("[{}]\n", rest.split_once(']')?.0);
            file.find(&head)?
        }
        // The table in whose lines the problem stands, unless it stands in an inline table.
        None => {
            let before = &file[..problem.span().start];
            let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
            if line.starts_with("index.") || line.contains('{') {
                return None;
            }
            before.rfind("\n[").map(|at| at + 1)?
        }
    };
    let end = head + file[head..].find('\n')?;
    Some(format!("{}\n{lines}{}", &file[..end], &file[end..]))
}
