//! `keyway load`: a call for each line, many of them in flight.
//!
//! ```text
//! lines ─▶ calls, at most `--parallel` at once ─▶ counted │ failures with their line
//! ```
//!
//! Whatever ends it, calls that have begun are waited for: every line before the one it names was
//! called, none after it.

use crate::answer::{Answer, Form, write_complaint};
use crate::arguments::Load;
use crate::call::{Ready, prepared};
use crate::failure::{Failure, Status};
use crate::json;
use crate::lines::Lines;
use crate::open::{Opened, Wanted, open};
use crate::progress::{Progress, summary};
use keyspace::parse::grouped;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::JoinSet;

/// Makes every call.
pub(crate) fn run(options: &Load, form: Form) -> Answer {
    let (file, store) = (options.stored.file.as_str(), options.stored.store.as_deref());
    let lines = match Lines::open(&options.lines, file) {
        Ok(lines) => lines,
        Err(failure) => return Answer::failed(failure),
    };
    let opened =
        match open(Wanted { file, store, option: "--store", may_make: true, stays: true }, form) {
            Ok(opened) => opened,
            Err(answer) => return answer,
        };
    let answer = load(options, lines, &opened, form).unwrap_or_else(Answer::failed);
    opened.close(answer)
}

/// What came of the lines.
#[derive(Debug, Default)]
struct Tally {
    done: u64,
    failed: u64,
    /// The lines that ended it, unless failures are only counted.
    stopped_by: BTreeMap<u64, Failure>,
    /// The last line that was called.
    last: u64,
    interrupted: bool,
}

fn load(options: &Load, lines: Lines, opened: &Opened, form: Form) -> Result<Answer, Failure> {
    let prepared = prepared(&opened.keyway, &options.pattern)?;
    let work = Work { options, opened, prepared, progress: Progress::new("calls", lines.total) };
    let interrupted = interrupted();
    let (tally, read) = opened.wait(work.run(lines, &interrupted));
    let time = work.progress.end();
    let output = match form.json {
        true => json::text(&json!({
            "done": tally.done,
            "failed": tally.failed,
            "last_line": tally.last,
            "complete": tally.is_whole(&read),
            "failed_lines": tally.stopped_by.keys().collect::<Vec<_>>(),
            "seconds": (time.as_secs_f64() * 1000.0).round() / 1000.0,
        })),
        false => {
            let failed = match tally.failed {
                0 => String::new(),
                failed => format!(", {} failed", grouped(failed)),
            };
            format!("{}{failed}\n", summary(tally.done, "calls", time))
        }
    };
    let complaint = match (tally.is_whole(&read), form.json) {
        (false, false) => tally.where_to_go_on(),
        _ => String::new(),
    };
    let status =
        if tally.failed > 0 || tally.interrupted { Status::Problems } else { Status::Done };
    let answer = match (tally.stopped_by.into_values().next(), read) {
        (Some(failure), _) | (None, Err(failure)) => Answer::failed(failure),
        (None, Ok(())) => Answer { status, ..Answer::done("") },
    };
    Ok(Answer { output, complaint, ..answer })
}

impl Tally {
    /// Whether every line was called.
    fn is_whole(&self, read: &Result<(), Failure>) -> bool {
        read.is_ok() && self.stopped_by.is_empty() && !self.interrupted
    }

    fn where_to_go_on(&self) -> String {
        let lines = self.stopped_by.keys().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let but = if lines.is_empty() { lines } else { format!(" but {lines}") };
        let (last, next) = (self.last, self.last + 1);
        format!("note: every line up to {last}{but} is done; --from {next} goes on after it\n")
    }
}

/// A flag that is up once somebody has pressed Ctrl-C; a second time ends the program at once.
fn interrupted() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = flag.clone();
    // Without a handler Ctrl-C ends the program at once, which loses only the summary.
    let _ = ctrlc::set_handler(move || {
        if raised.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        write_complaint("stopping after the calls in flight; Ctrl-C again stops at once\n");
    });
    flag
}

struct Work<'a> {
    options: &'a Load,
    opened: &'a Opened,
    prepared: Arc<data::request::Prepared>,
    progress: Progress,
}

impl Work<'_> {
    /// Calls line after line; an error is that of reading.
    async fn run(
        &self,
        mut lines: Lines,
        interrupted: &AtomicBool,
    ) -> (Tally, Result<(), Failure>) {
        let mut tally = Tally::default();
        let mut calls: JoinSet<(u64, Result<(), Failure>)> = JoinSet::new();
        let mut read = lines.skip_to(self.options.from);
        tally.last = lines.number;
        while read.is_ok() && tally.stopped_by.is_empty() {
            if interrupted.load(Ordering::SeqCst) {
                tally.interrupted = true;
                break;
            }
            let object = match lines.next() {
                Ok(Some(object)) => object,
                Ok(None) => break,
                Err(failure) if self.options.keep_going && failure.status == Status::Problems => {
                    tally.last = lines.number;
                    self.count(&mut tally, lines.number, Err(failure));
                    continue;
                }
                Err(failure) => {
                    read = Err(failure);
                    break;
                }
            };
            tally.last = lines.number;
            match Ready::from_object(&self.opened.keyway, &self.prepared, &object) {
                Ok(ready) => self.begin(&mut calls, lines.number, ready),
                Err(failure) => self.count(&mut tally, lines.number, Err(failure)),
            }
            while calls.len() >= usize::from(self.options.parallel) {
                self.end_one(&mut calls, &mut tally).await;
            }
            while let Some(ended) = calls.try_join_next() {
                self.joined(ended, &mut tally);
            }
            self.progress.at(tally.done + tally.failed, lines.bytes);
        }
        while !calls.is_empty() {
            self.end_one(&mut calls, &mut tally).await;
        }
        (tally, read)
    }

    fn begin(&self, calls: &mut JoinSet<(u64, Result<(), Failure>)>, line: u64, ready: Ready) {
        let keyway = self.opened.keyway.clone();
        let caller = self.options.caller.caller();
        calls.spawn(async move { (line, ready.make(&keyway, &caller).await.map(|_| ())) });
    }

    async fn end_one(&self, calls: &mut JoinSet<(u64, Result<(), Failure>)>, tally: &mut Tally) {
        if let Some(ended) = calls.join_next().await {
            self.joined(ended, tally);
        }
    }

    fn joined(
        &self,
        ended: Result<(u64, Result<(), Failure>), tokio::task::JoinError>,
        tally: &mut Tally,
    ) {
        let (line, result) = ended.unwrap_or_else(|error| {
            let failure = Failure::problem(format!("a call ended early: {error}"), "report it");
            (tally.last, Err(failure))
        });
        self.count(tally, line, result);
    }

    fn count(&self, tally: &mut Tally, line: u64, result: Result<(), Failure>) {
        match result {
            Ok(()) => tally.done += 1,
            Err(failure) if self.options.keep_going => {
                tally.failed += 1;
                let told = json::line(&failure.at_line(line));
                self.progress.pause(|| write_complaint(&told));
            }
            Err(failure) => {
                tally.failed += 1;
                tally.stopped_by.insert(line, failure.at_line(line));
            }
        }
    }
}
