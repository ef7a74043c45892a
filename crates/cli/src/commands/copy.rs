//! `keyway copy`: a whole keyspace from one store to another, proven to be the same there.
//!
//! ```text
//! --from ─▶ copy, a page at a time ─▶ --to        .keyway/copy-… beside FILE: how far it is
//!   └──────────── compare ───────────┘            gone when both are the same
//! ```

use crate::answer::{Answer, Form};
use crate::arguments::Copy;
use crate::failure::Failure;
use crate::json;
use crate::open::{Opened, Wanted, folder, open};
use crate::progress::Progress;
use data::maintain::{self, Compared, Comparison, CopyMark, Side};
use keyspace::parse::grouped;
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Copies and compares.
pub(crate) fn run(options: &Copy, form: Form) -> Answer {
    let file = options.file.as_str();
    if options.from == options.to {
        let problem = "a store cannot be copied onto itself";
        return Answer::usage(problem, "give --from and --to different URLs");
    }
    let wanted = |store: &str, may_make| {
        open(Wanted { file, store: Some(store), may_make, stays: false }, form)
    };
    let from = match wanted(&options.from, false) {
        Ok(from) => from,
        Err(answer) => return answer,
    };
    let to = match wanted(&options.to, true) {
        Ok(to) => to,
        Err(answer) => return from.close(answer),
    };
    let answer = copy(options, (&from, &to), form).unwrap_or_else(Answer::failed);
    to.close(from.close(answer))
}

fn copy(options: &Copy, sides: (&Opened, &Opened), form: Form) -> Result<Answer, Failure> {
    let note = Note::of(options);
    let mark = note.read().filter(|_| !options.again);
    let is_resumed = mark.is_some();
    // No store knows how many rows it has without counting them.
    let progress = Progress::new("rows", None);
    let copied = match options.compare_only {
        true => Ok(0),
        false => sides.1.wait(rows(sides, mark, &note, &progress)),
    };
    let mut time = progress.end();
    let rows = copied?;
    // What was copied just now, in one go, is on both sides.
    let total = (!is_resumed && !options.compare_only).then_some(rows.saturating_mul(2));
    let progress = Progress::new("rows compared", total);
    let compared = sides.1.wait(compare(sides, &progress));
    time += progress.end();
    let compared = compared?;
    let differ = compared.iter().filter(|one| !one.is_same()).count();
    if differ == 0 {
        note.remove();
    }
    let output = match form.json {
        true => json::text(&shown_json(rows, &compared)),
        false => shown(rows, &compared, is_resumed, time),
    };
    let answer = match differ {
        0 => Answer::done(""),
        _ => Answer::failed(Failure::problem(
            format!("{differ} of {} collections differ", compared.len()),
            "if the source was written meanwhile, stop that and run the copy again with --again; \
             rows that only the target has are there from before: copy into an empty store",
        )),
    };
    Ok(Answer { output, ..answer })
}

async fn rows(
    (from, to): (&Opened, &Opened),
    mark: Option<CopyMark>,
    note: &Note,
    progress: &Progress,
) -> Result<u64, Failure> {
    let options = to.keyway.runtime().options();
    let chance = (options.clock.as_ref(), options.random.as_ref());
    let mut copy = maintain::Copy::new(side(from), side(to), chance, mark.as_ref())?;
    while let Some(mark) = copy.next().await? {
        note.write(&mark)?;
        progress.at(copy.rows, 0);
    }
    Ok(copy.rows)
}

async fn compare(
    (from, to): (&Opened, &Opened),
    progress: &Progress,
) -> Result<Vec<Compared>, Failure> {
    let clock = to.keyway.runtime().options().clock.as_ref();
    let mut comparison = Comparison::new(side(from), side(to), clock);
    let mut compared = Vec::new();
    let mut read = 0;
    let mut told = |rows| {
        read += rows;
        progress.at(read, read);
    };
    while let Some(collection) = comparison.next(&mut told).await? {
        compared.push(collection);
    }
    Ok(compared)
}

fn side(opened: &Opened) -> Side<'_> {
    let runtime = opened.keyway.runtime();
    Side { store: runtime.store().as_ref(), schema: runtime.schema() }
}

fn shown(rows: u64, compared: &[Compared], is_resumed: bool, time: Duration) -> String {
    let width = compared.iter().map(|one| one.collection.len()).max().unwrap_or(0);
    let mut text = String::new();
    for one in compared {
        let verdict = match one.is_same() {
            true => "the same on both sides".to_string(),
            false if one.from.rows == one.to.rows => "DIFFERS in what rows hold".to_string(),
            false => format!("DIFFERS: {} rows in the target", grouped(one.to.rows)),
        };
        let (name, rows) = (&one.collection, grouped(one.from.rows));
        text.push_str(&format!("{name:width$}  {rows:>12} rows  {verdict}\n"));
    }
    let on = if is_resumed { " (going on after an interruption)" } else { "" };
    let (rows, seconds) = (grouped(rows), time.as_secs_f64());
    text.push_str(&format!("{rows} rows copied{on} and compared in {seconds:.1} s\n"));
    text
}

fn shown_json(rows: u64, compared: &[Compared]) -> serde_json::Value {
    let side = |tally: &maintain::Tally| {
        let checksum = format!("{:032x}", tally.checksum);
        json!({ "rows": tally.rows, "checksum": checksum })
    };
    let collections = compared.iter().map(|one| {
        json!({
            "collection": one.collection,
            "from": side(&one.from),
            "to": side(&one.to),
            "same": one.is_same(),
        })
    });
    json!({ "copied": rows, "collections": collections.collect::<Vec<_>>() })
}

/// The file that says how far a copy is.
struct Note {
    path: PathBuf,
}

impl Note {
    /// The note of a copy between these two stores.
    fn of(options: &Copy) -> Note {
        let both = format!("{}\n{}", options.from, options.to);
        let name = blake3::hash(both.as_bytes()).to_hex();
        let name: String = name.chars().take(16).collect();
        Note { path: folder(&options.file).join(format!("copy-{name}")) }
    }

    /// How far an interrupted copy was.
    fn read(&self) -> Option<CopyMark> {
        let text = fs::read_to_string(&self.path).ok()?;
        let mut lines = text.lines();
        let collection = lines.next()?.to_string();
        Some(CopyMark { collection, after: lines.next().and_then(bytes_of) })
    }

    fn write(&self, mark: &CopyMark) -> Result<(), Failure> {
        let after = mark.after.as_deref().map(digits_of).unwrap_or_default();
        let text = format!("{}\n{after}\n", mark.collection);
        let part = self.path.with_extension("part");
        let written = self.path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = written.and_then(|()| fs::write(&part, text));
        written.and_then(|()| fs::rename(&part, &self.path)).map_err(|error| {
            let problem = format!("cannot note how far the copy is: {error}");
            Failure::usage(problem, format!("let {} be written", self.path.display()))
        })
    }

    fn remove(&self) {
        // One that stays only makes the next copy begin at its end, which the comparison proves.
        let _ = fs::remove_file(&self.path);
    }
}

fn digits_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of hexadecimal digits; nothing if they are none.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if digits.is_empty() || !rest.is_empty() {
        return None;
    }
    let pair = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_the_bytes_they_stand_for() {
        for bytes in [vec![0], vec![0, 255, 16], b"key\xc3\xa9".to_vec()] {
            assert_eq!(bytes_of(&digits_of(&bytes)), Some(bytes));
        }
        assert_eq!(bytes_of(""), None);
        assert_eq!(bytes_of("0"), None);
        assert_eq!(bytes_of("zz"), None);
    }
}
