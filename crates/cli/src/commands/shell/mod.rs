//! `keyway shell`: calls at a prompt, or from a script.
//!
//! ```text
//! terminal ─line editing, history─┐
//! script ─line by line────────────┴▶ words ─▶ session ─▶ answer, written at once
//! ```

mod names;
mod session;
mod words;

use crate::answer::{Answer, Form, write_complaint, write_output};
use crate::arguments::Shell;
use crate::failure::{Failure, Status};
use crate::json;
use crate::open::{Wanted, open};
use names::Names;
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{CompletionType, Config, Editor};
use session::Session;
use std::io::{self, BufRead, IsTerminal};
use std::path::PathBuf;
use std::{env, fs};

/// Lines of history that are kept.
const HISTORY_LINES_MAX: usize = 1_000;

/// Reads and answers until the end.
pub(crate) fn run(options: &Shell, form: Form) -> Answer {
    let (file, store) = (options.stored.file.as_str(), options.stored.store.as_deref());
    if file == "-" {
        let problem = "the shell reads commands from standard input, not the keyspace file";
        return Answer::usage(problem, "give the keyspace in a file");
    }
    let opened =
        match open(Wanted { file, store, option: "--store", may_make: true, stays: true }, form) {
            Ok(opened) => opened,
            Err(answer) => return answer,
        };
    let at_prompt = io::stdin().is_terminal() && io::stdout().is_terminal();
    let mut session = Session::new(opened, options.caller.clone(), form, at_prompt);
    let ended = match at_prompt {
        true => prompt(&mut session, form),
        false => script(&mut session, form, options.keep_going),
    };
    session.close(ended.unwrap_or_else(Answer::failed))
}

/// What a line is answered, written; its status.
fn tell(answer: Answer, form: Form, line: Option<u64>) -> Result<Status, Failure> {
    let written = write_output(&answer.output);
    write_complaint(&answer.complaint);
    for failure in answer.failures {
        let failure = match line {
            Some(line) => failure.at_line(line),
            None => failure,
        };
        write_complaint(&if form.json { json::line(&failure) } else { failure.text() });
    }
    written.map_err(|error| {
        Failure::usage(format!("cannot write to standard output: {error}"), "make room for it")
    })?;
    Ok(answer.status)
}

/// A line at a time, to the end or the first failure.
fn script(session: &mut Session, form: Form, keep_going: bool) -> Result<Answer, Failure> {
    let mut first = Status::Done;
    for (number, line) in io::stdin().lock().lines().enumerate() {
        let line = line.map_err(|error| {
            Failure::usage(format!("cannot read standard input: {error}"), "give lines in UTF-8")
                .at_line(number as u64 + 1)
        })?;
        let Some(answer) = session.line(&line) else { break };
        let status = tell(answer, form, Some(number as u64 + 1))?;
        if status != Status::Done {
            first = if first == Status::Done { status } else { first };
            if !keep_going {
                break;
            }
        }
    }
    Ok(Answer { status: first, ..Answer::done("") })
}

/// A prompt; a failure is told, and the next line is read.
fn prompt(session: &mut Session, form: Form) -> Result<Answer, Failure> {
    let failed = |error: ReadlineError| {
        Failure::usage(format!("the terminal cannot be read: {error}"), "give a script: < FILE")
    };
    let config = Config::builder()
        .max_history_size(HISTORY_LINES_MAX)
        .map_err(failed)?
        .history_ignore_space(true)
        .completion_type(CompletionType::List)
        .auto_add_history(true)
        .build();
    let mut editor: Editor<Names, DefaultHistory> = Editor::with_config(config).map_err(failed)?;
    editor.set_helper(Some(Names::new(session.keyspace(), form.style.colour)));
    let history = history_file();
    if let Some(history) = &history {
        // There is none the first time.
        let _ = editor.load_history(history);
    }
    tell(Answer::done(session.greeting()), form, None)?;
    loop {
        match editor.readline(&session.prompt()) {
            Ok(line) => {
                let Some(answer) = session.line(&line) else { break };
                tell(answer, form, None)?;
            }
            // What was typed is thrown away, and nothing else.
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(failed(error)),
        }
        if let Some(history) = &history {
            // Commands work without a history.
            let _ = editor.append_history(history);
        }
    }
    Ok(Answer::done(""))
}

/// The file in the user's data directory that keeps what was typed.
fn history_file() -> Option<PathBuf> {
    let from = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = if cfg!(windows) {
        from("APPDATA")
    } else if cfg!(target_os = "macos") {
        from("HOME").map(|home| home.join("Library/Application Support"))
    } else {
        from("XDG_DATA_HOME").or_else(|| from("HOME").map(|home| home.join(".local/share")))
    };
    let folder = data?.join("keyway");
    fs::create_dir_all(&folder).ok()?;
    Some(folder.join("history"))
}
