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
use crate::open::{Opened, Wanted, folder, open, path};
use crate::progress::Progress;
use data::maintain::{self, Compared, Comparison, CopyMark, LASTS_MILLISECONDS, Side};
use keyspace::parse::grouped;
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Copies and compares.
pub(crate) fn run(options: &Copy, form: Form) -> Answer {
    let file = options.file.as_str();
    if options.from == options.to || is_one_place(&options.from, &options.to) {
        return Answer::failed(onto_itself());
    }
    if options.live {
        return super::live::run(options, form);
    }
    let wanted = |store: &str, option, may_make| {
        open(Wanted { file, store: Some(store), option, may_make, stays: false }, form)
    };
    let from = match wanted(&options.from, "--from", false) {
        Ok(from) => from,
        Err(answer) => return answer,
    };
    let to = match wanted(&options.to, "--to", !options.compare_only) {
        Ok(to) => to,
        Err(answer) => return from.close(answer),
    };
    let answer = match is_one_server((&from, &to)) {
        Ok(false) => copy(options, (&from, &to), form).unwrap_or_else(Answer::failed),
        Ok(true) => Answer::failed(onto_itself()),
        Err(failure) => Answer::failed(failure),
    };
    to.close(from.close(answer))
}

fn onto_itself() -> Failure {
    let problem = "a store cannot be copied onto itself";
    Failure::usage(problem, "give --from and --to the URLs of different stores")
}

/// Whether two URLs name the same directory or file, however they are spelled.
fn is_one_place(from: &str, to: &str) -> bool {
    let (Ok(from), Ok(to)) = (from.parse(), to.parse()) else { return false };
    let (Some(from), Some(to)) = (path(&from), path(&to)) else { return false };
    #[cfg(unix)]
    if let (Ok(from), Ok(to)) = (fs::metadata(from), fs::metadata(to)) {
        use std::os::unix::fs::MetadataExt;
        return (from.dev(), from.ino()) == (to.dev(), to.ino());
    }
    matches!((from.canonicalize(), to.canonicalize()), (Ok(from), Ok(to)) if from == to)
}

/// Whether both ends are the same place on a server: it may have several names.
fn is_one_server((from, to): (&Opened, &Opened)) -> Result<bool, Failure> {
    let identity = |side: &Opened| side.wait(side.keyway.runtime().store().identity());
    let (from, to) = (identity(from)?, identity(to)?);
    Ok(from.is_some() && from == to)
}

fn copy(options: &Copy, sides: (&Opened, &Opened), form: Form) -> Result<Answer, Failure> {
    let note = Note::of(options);
    let mark = note.read().filter(|_| !options.again);
    let is_resumed = mark.is_some();
    let collections = sides.0.keyway.runtime().schema().collections().len();
    let progress = Progress::over_collections("rows", collections);
    let copied = match options.compare_only {
        true => Ok(Copied::default()),
        false => sides.1.wait(rows(sides, mark, &note, &progress)),
    };
    let compared = copied.and_then(|copied| {
        let compared = sides.1.wait(compare(sides, &progress))?;
        Ok((copied, compared))
    });
    let time = progress.end();
    let (copied, compared) = compared?;
    let differ = compared.iter().filter(|one| !one.is_same()).count();
    if differ == 0 {
        note.remove();
    }
    let copied = Copied { is_resumed, ..copied };
    let output = match form.json {
        true => json::text(&shown_json(&copied, &compared)),
        false => shown((!options.compare_only).then_some(&copied), &compared, time),
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

/// What was copied.
#[derive(Debug, Default)]
struct Copied {
    /// Rows that were written, those twice that the source has shown twice.
    rows: u64,
    /// Whether it went on after an interruption.
    is_resumed: bool,
    /// The collection that was begun a second time, if one was.
    begun_anew: Option<String>,
}

impl Copied {
    /// How it came about, if not in one go.
    fn how(&self) -> String {
        match (self.is_resumed, &self.begun_anew) {
            (false, None) => String::new(),
            (true, None) => " (going on after an interruption)".to_string(),
            (true, Some(collection)) => {
                format!(" (going on after an interruption, `{collection}` from its beginning)")
            }
            (false, Some(collection)) => {
                format!(" (`{collection}` twice: its server was started again meanwhile)")
            }
        }
    }
}

async fn rows(
    (from, to): (&Opened, &Opened),
    mark: Option<CopyMark>,
    note: &Note,
    progress: &Progress,
) -> Result<Copied, Failure> {
    let options = to.keyway.runtime().options();
    let chance = (options.clock.as_ref(), options.random.as_ref());
    let mut copy = maintain::Copy::new(side(from), side(to), chance, mark.as_ref())?;
    let all = from.keyway.runtime().schema().collections().len();
    progress.stage("copying");
    while let Some(mark) = copy.next().await? {
        note.write(&mark)?;
        progress.at(copy.rows, all.saturating_sub(copy.collections_left()) as u64);
    }
    Ok(Copied { rows: copy.rows, begun_anew: copy.begun_anew, is_resumed: false })
}

async fn compare(
    (from, to): (&Opened, &Opened),
    progress: &Progress,
) -> Result<Vec<Compared>, Failure> {
    let clock = to.keyway.runtime().options().clock.as_ref();
    let mut comparison = Comparison::new(side(from), side(to), clock);
    let mut compared = Vec::new();
    let mut read = 0;
    progress.stage("comparing");
    loop {
        let done = compared.len() as u64;
        let mut told = |rows| {
            read += rows;
            progress.at(read, done);
        };
        match comparison.next(&mut told).await? {
            Some(collection) => compared.push(collection),
            None => break,
        }
    }
    Ok(compared)
}

fn side(opened: &Opened) -> Side<'_> {
    let runtime = opened.keyway.runtime();
    Side { store: runtime.store().as_ref(), schema: runtime.schema() }
}

fn shown(copied: Option<&Copied>, compared: &[Compared], time: Duration) -> String {
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
        let ending = one.from.ending.max(one.to.ending);
        if ending > 0 {
            let (nothing, ending, minutes) = ("", grouped(ending), LASTS_MILLISECONDS / 60_000);
            text.push_str(&format!(
                "{nothing:width$}  {ending:>12} more  not compared: they end within {minutes} \
                 minutes\n"
            ));
        }
    }
    let (rows, seconds) = (grouped(rows_of(compared)), time.as_secs_f64());
    let copied = copied.map_or(String::new(), |copied| {
        format!(", {} copied{},", grouped(copied.rows), copied.how())
    });
    text.push_str(&format!("{rows} rows compared{copied} in {seconds:.1} s\n"));
    text
}

/// The rows of the source that were compared.
fn rows_of(compared: &[Compared]) -> u64 {
    compared.iter().map(|one| one.from.rows).sum()
}

fn shown_json(copied: &Copied, compared: &[Compared]) -> serde_json::Value {
    let side = |tally: &maintain::Tally| {
        let checksum = format!("{:032x}", tally.checksum);
        json!({ "rows": tally.rows, "checksum": checksum, "ending_soon": tally.ending })
    };
    let collections = compared.iter().map(|one| {
        json!({
            "collection": one.collection,
            "from": side(&one.from),
            "to": side(&one.to),
            "same": one.is_same(),
        })
    });
    json!({
        "copied": copied.rows,
        "compared": rows_of(compared),
        "resumed": copied.is_resumed,
        "begun_anew": copied.begun_anew,
        "collections": collections.collect::<Vec<_>>(),
    })
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
