//! `keyway scrub`: whether every index says what the rows say.
//!
//! Problems are written as they are found: there may be more of them than memory.

use crate::answer::{Answer, Form, write_output};
use crate::arguments::Scrub;
use crate::failure::{Failure, Status};
use crate::open::{Opened, Wanted, open};
use crate::progress::Progress;
use crate::table::escaped;
use data::maintain::{self, Problem, ScrubCounts};
use keyspace::parse::grouped;
use serde_json::json;

/// Looks at every row and every entry.
pub(crate) fn run(options: &Scrub, form: Form) -> Answer {
    let (file, store) = (options.stored.file.as_str(), options.stored.store.as_deref());
    let opened = match open(
        Wanted { file, store, option: "--store", may_make: false, stays: false },
        form,
    ) {
        Ok(opened) => opened,
        Err(answer) => return answer,
    };
    let answer = scrub(options, &opened, form).unwrap_or_else(Answer::failed);
    opened.close(answer)
}

fn scrub(options: &Scrub, opened: &Opened, form: Form) -> Result<Answer, Failure> {
    let runtime = opened.keyway.runtime();
    let schema = runtime.schema();
    let scrub = maintain::Scrub {
        store: runtime.store().as_ref(),
        schema,
        clock: runtime.options().clock.as_ref(),
        random: runtime.options().random.as_ref(),
        repair: options.repair,
    };
    let progress = Progress::new("rows and entries", None);
    let mut written: std::io::Result<()> = Ok(());
    let mut write = |text: &str| {
        if written.is_ok() {
            written = progress.pause(|| write_output(text));
        }
    };
    if form.json {
        write("{\"problems\": [");
    }
    let mut first = true;
    let mut seen = |problem: Option<&Problem>, counts: &ScrubCounts| {
        progress.at(counts.rows + counts.entries, 0);
        let Some(problem) = problem else { return };
        let key = escaped(&maintain::key_shown(schema, &problem.key));
        if form.json {
            let comma = if std::mem::take(&mut first) { "" } else { "," };
            write(&format!("{comma}\n  {}", object(problem, &key)));
        } else {
            write(&format!("{}\n", line(problem, &key)));
        }
    };
    let counts = opened.wait(scrub.run(&mut seen));
    let output = match (&counts, form.json) {
        (Ok(counts), true) => format!("\n], {}\n", totals(counts)),
        (Err(_), true) => "\n], \"complete\": false}\n".to_string(),
        (Ok(counts), false) => summary(counts, options.repair),
        (Err(_), false) => String::new(),
    };
    write(&output);
    progress.end();
    written.map_err(|error| {
        Failure::usage(format!("cannot write to standard output: {error}"), "make room for it")
    })?;
    let counts = counts?;
    let remain = counts.problems > counts.repaired;
    let status = if remain { Status::Problems } else { Status::Done };
    Ok(Answer { status, ..Answer::done("") })
}

fn line(problem: &Problem, key: &str) -> String {
    let index = problem.index.as_ref().map(|index| format!(".{index}")).unwrap_or_default();
    let repaired = if problem.repaired { "  (repaired)" } else { "" };
    format!("{:11}  {}{index}  {key}{repaired}", problem.kind.name(), problem.collection)
}

fn object(problem: &Problem, key: &str) -> serde_json::Value {
    json!({
        "kind": problem.kind.name(),
        "collection": problem.collection,
        "index": problem.index,
        "key": key,
        "repaired": problem.repaired,
    })
}

/// The members after the problems, and the end of the object.
fn totals(counts: &ScrubCounts) -> String {
    let ScrubCounts { rows, entries, problems, repaired, parts: _ } = counts;
    format!(
        "\"complete\": true, \"rows\": {rows}, \"entries\": {entries}, \
         \"found\": {problems}, \"repaired\": {repaired}}}"
    )
}

fn summary(counts: &ScrubCounts, repair: bool) -> String {
    let looked = format!("{} rows, {} entries", grouped(counts.rows), grouped(counts.entries));
    let remain = counts.problems - counts.repaired;
    let hint = if repair { "" } else { "; --repair mends them" };
    match (counts.problems, remain) {
        (0, _) => format!("{looked}: every index says what the rows say\n"),
        (found, 0) => format!("{looked}: {} problems found and repaired\n", grouped(found)),
        (found, remain) if found == remain => {
            format!("{looked}: {} problems{hint}\n", grouped(found))
        }
        (found, remain) => {
            format!("{looked}: {} problems, {} remain\n", grouped(found), grouped(remain))
        }
    }
}
