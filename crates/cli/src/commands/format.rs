//! `keyway format`: tidies files in place.
//!
//! A file is written only if it changes, and whole: into a file beside it that then takes its name.
//! One that cannot be formatted is left as it is, and the others are still done.

use crate::answer::{Answer, Form};
use crate::arguments::Format;
use crate::failure::Status;
use crate::input::{self, Input};
use crate::json;
use crate::report::counted;
use keyspace::diagnostic::Severity;
use keyspace::diagnostic::render::render;
use keyspace::format::{FormatError, format};
use serde_json::json;
use std::path::Path;
use std::{fs, io};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Formats every file and answers how it went.
pub(crate) fn run(options: &Format, form: Form) -> Answer {
    let mut whole = Answer::done("");
    let mut files = Vec::new();
    for path in &options.files {
        let answer = one(path, options.check, form);
        files.push(
            json!({ "file": path, "ok": answer.status == Status::Done, "output": answer.output }),
        );
        whole.output.push_str(&answer.output);
        whole.complaint.push_str(&answer.complaint);
        whole.failures.extend(answer.failures);
        whole.status = worse(whole.status, answer.status);
    }
    if form.json {
        whole.output = json::text(&json!({ "files": files }));
    }
    whole
}

fn one(path: &str, check: bool, form: Form) -> Answer {
    let input = match input::read(path) {
        Ok(input) => input,
        Err(unread) => return unread.answer(form),
    };
    let formatted = match format(&input.text) {
        Ok(formatted) => formatted,
        Err(error) => return Answer::problems(complaint(&input, &error, form)),
    };
    let changed = formatted != input.text;
    match (path, check) {
        (_, true) if changed => Answer {
            output: format!("{} is not formatted; run: keyway format {path}\n", input.name),
            ..Answer::problems("")
        },
        (_, true) => Answer::done(""),
        ("-", false) => Answer::done(formatted),
        (_, false) if !changed => Answer::done(""),
        (_, false) => match replace(Path::new(path), &formatted) {
            Ok(()) => Answer::done(format!(
                "{path} formatted\n{}",
                remarks(path, &input.text, &formatted)
            )),
            Err(error) => Answer::usage(
                &format!("cannot write {path}: {error}"),
                "allow this user to write it",
            ),
        },
    }
}

/// What a reader would not expect of a formatted file, a line each.
fn remarks(path: &str, before: &str, after: &str) -> String {
    let mut remarks = String::new();
    let mut say = |remark: &str| remarks.push_str(&format!("  {remark}\n"));
    if before.contains("\r\n") && !after.contains("\r\n") {
        say("line ends are LF now, no longer CRLF");
    }
    if before.starts_with(BYTE_ORDER_MARK) {
        say("the byte order mark at its beginning is gone");
    }
    let count = keyspace::read(before).count(Severity::Error);
    if count > 0 {
        let errors = counted(count, "error");
        say(&format!("it is tidy, not sound: keyway check {path} reports {errors}"));
    }
    remarks
}

/// A crash half way leaves the old file or the new one, never half of one. A link stays a link.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".keyway-new");
    let beside = path.with_file_name(name);
    let written = fs::write(&beside, text)
        .and_then(|()| fs::metadata(&path))
        .and_then(|metadata| fs::set_permissions(&beside, metadata.permissions()))
        .and_then(|()| fs::rename(&beside, &path));
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn worse(left: Status, right: Status) -> Status {
    match (left, right) {
        (Status::Usage, _) | (_, Status::Usage) => Status::Usage,
        (Status::Problems, _) | (_, Status::Problems) => Status::Problems,
        _ => Status::Done,
    }
}

fn complaint(input: &Input, error: &FormatError, form: Form) -> String {
    let FormatError::NotToml(problems) = error else {
        return format!("{}: {error}\n", input.name);
    };
    if form.json {
        return json::text(&json::Problems::in_file(input, problems));
    }
    let mut complaint = String::new();
    for problem in problems {
        complaint.push_str(&render(problem, &input.name, &input.text, form.style));
        complaint.push_str("\n\n");
    }
    complaint + &format!("{}: {error}\n", input.name)
}
