//! `keyway import`: the rows of an export, brought into a store.

use super::export::FORMAT;
use crate::answer::{Answer, Form};
use crate::arguments::{Existing, Import};
use crate::failure::Failure;
use crate::json;
use crate::lines::Lines;
use crate::open::{Opened, Wanted, open};
use crate::progress::Progress;
use data::maintain::{self, ImportedRows};
use keyspace::model::Keyspace;
use keyspace::parse::grouped;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;

/// Rows of which the import may still speak: more than it puts into one batch.
const ROWS_REMEMBERED: usize = 1_000;

/// Brings every line in.
pub(crate) fn run(options: &Import, form: Form) -> Answer {
    let (file, store) = (options.stored.file.as_str(), options.stored.store.as_deref());
    let mut lines = match Lines::open(&options.lines, file) {
        Ok(lines) => lines,
        Err(failure) => return Answer::failed(failure),
    };
    let opened =
        match open(Wanted { file, store, option: "--store", may_make: true, stays: false }, form) {
            Ok(opened) => opened,
            Err(answer) => return answer,
        };
    let answer = import(options, &mut lines, &opened, form).unwrap_or_else(Answer::failed);
    opened.close(answer)
}

fn import(
    options: &Import,
    lines: &mut Lines,
    opened: &Opened,
    form: Form,
) -> Result<Answer, Failure> {
    let header = lines.next()?.unwrap_or_default();
    check_header(opened.keyway.keyspace(), &header)?;
    let progress = Progress::new("rows", lines.total);
    let (rows, result) = opened.wait(bring_in(options, lines, opened, &progress));
    let time = progress.end();
    let ImportedRows { written, kept } = rows;
    let output = match form.json {
        true => json::text(&json!({
            "written": written,
            "kept": kept,
            "lines": lines.number,
            "complete": result.is_ok(),
        })),
        false => {
            let (written, kept) = (grouped(written), grouped(kept));
            let seconds = time.as_secs_f64();
            format!("{written} rows written, {kept} were there already, in {seconds:.1} s\n")
        }
    };
    let answer = match result {
        Ok(()) => Answer::done(""),
        Err(failure) => Answer::failed(failure),
    };
    Ok(Answer { output, ..answer })
}

fn check_header(keyspace: &Keyspace, header: &Map<String, Value>) -> Result<(), Failure> {
    let refused =
        |problem: String, fix: &str| Err(Failure::problem(problem, fix.to_string()).at_line(1));
    let name = header.get("keyspace").and_then(Value::as_str);
    match (header.get("keyway").and_then(Value::as_u64), name) {
        (Some(FORMAT), Some(name)) if name == keyspace.name.value => Ok(()),
        (Some(FORMAT), Some(name)) => {
            let wanted = &keyspace.name.value;
            let problem = format!("the export is of the keyspace `{name}`, not of `{wanted}`");
            let fix = format!(
                "give the keyspace file of `{name}`, or write \"keyspace\": \"{wanted}\" there if \
                 the collections are the same"
            );
            refused(problem, &fix)
        }
        (Some(FORMAT), None) | (None, _) => refused(
            "the first line is not that of an export".to_string(),
            &format!(
                "begin with {{\"keyway\": {FORMAT}, \"keyspace\": \"{}\"}}",
                keyspace.name.value
            ),
        ),
        (Some(other), _) => refused(
            format!("the export is of format {other}, which this version does not know"),
            "import it with the version of keyway that wrote it, or a later one",
        ),
    }
}

/// Brings rows in until the end or the first problem, and says what was done so far.
async fn bring_in(
    options: &Import,
    lines: &mut Lines,
    opened: &Opened,
    progress: &Progress,
) -> (ImportedRows, Result<(), Failure>) {
    let runtime = opened.keyway.runtime();
    let existing = match options.existing {
        Existing::Replace => maintain::Existing::Replace,
        Existing::Keep => maintain::Existing::Keep,
        Existing::Refuse => maintain::Existing::Refuse,
    };
    let mut import = maintain::Import::new(
        runtime.store().as_ref(),
        runtime.schema(),
        runtime.options().clock.as_ref(),
        runtime.options().random.as_ref(),
        existing,
    );
    let mut numbers = Numbers::default();
    let result = every_line(lines, &mut import, &mut numbers, progress).await;
    let flushed = import.finish().await.map(|_| ()).map_err(|error| numbers.failure(error));
    // What came before a line that cannot be read is kept all the same, and told first.
    (import.rows, flushed.and(result))
}

async fn every_line(
    lines: &mut Lines,
    import: &mut maintain::Import<'_>,
    numbers: &mut Numbers,
    progress: &Progress,
) -> Result<(), Failure> {
    while let Some(line) = lines.next()? {
        if let Some(end) = line.get("end") {
            let told = end.get("rows").and_then(Value::as_u64);
            return match (told, lines.next()?) {
                (Some(told), None) if told == numbers.rows => Ok(()),
                (_, Some(_)) => Err(torn("there are lines after the end").at_line(lines.number)),
                _ => Err(torn("the end tells of another number of rows").at_line(lines.number)),
            };
        }
        numbers.add(lines.number);
        import.line(&Value::Object(line)).await.map_err(|error| numbers.failure(error))?;
        progress.at(numbers.rows, lines.bytes);
    }
    Err(torn("the export has no end: it was cut off, or is still being written")
        .at_line(lines.number)
        .with_fix(format!(
            "export again; a file made by hand ends with {{\"end\": {{\"rows\": {}}}}}",
            numbers.rows
        )))
}

fn torn(problem: &str) -> Failure {
    Failure::problem(problem, "export again; what was read before is in the store")
}

/// On which lines the last rows were.
#[derive(Default)]
struct Numbers {
    rows: u64,
    lines: VecDeque<u64>,
}

impl Numbers {
    fn add(&mut self, line: u64) {
        self.rows += 1;
        self.lines.push_back(line);
        if self.lines.len() > ROWS_REMEMBERED {
            self.lines.pop_front();
        }
    }

    /// The failure of a row, which an error tells by counting; otherwise of the last.
    fn failure(&self, error: data::Error) -> Failure {
        let row = error.value("row").and_then(|row| row.parse::<u64>().ok()).unwrap_or(self.rows);
        let back = usize::try_from(self.rows.saturating_sub(row)).unwrap_or(usize::MAX);
        let failure = Failure::from(error).without("row");
        match self.lines.iter().rev().nth(back) {
            Some(line) => failure.at_line(*line),
            None => failure,
        }
    }
}
