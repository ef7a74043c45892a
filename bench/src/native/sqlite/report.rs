//! The report: a table of rates and ratios.

use super::contender::Entrant;
use super::lines::Line;
use super::settings::Settings;
use std::fmt::Write as _;

/// What Keyway is to reach of the expert.
const OF_EXPERT: f64 = 0.9;

/// The middle of several numbers; no number if there are none.
pub fn median(rates: &[f64]) -> f64 {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Writes the report.
pub fn write(settings: &Settings, entrants: &[Entrant], lines: &[Line]) {
    let mut text = String::from(HEAD);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let _ = writeln!(
        text,
        "{} notes, {cores} cores, {} rounds of {:?} each, medians.\n",
        settings.notes, settings.rounds, settings.turn,
    );
    text.push_str("| operations/s |");
    entrants.iter().for_each(|entrant| {
        let _ = write!(text, " {} |", entrant.name);
    });
    text.push_str(" Keyway / expert | Keyway / naive | |\n|---|");
    text.push_str(&"---:|".repeat(entrants.len() + 2));
    text.push_str("---|\n");
    for line in lines.iter().filter(|line| !line.rates[1].is_empty()) {
        let rates: Vec<f64> = line.rates.iter().map(|rates| median(rates)).collect();
        let of_expert = rates[0] / rates[1];
        let verdict = if of_expert < OF_EXPERT { "below 0.9" } else { "" };
        let _ = write!(text, "| {} |", line.name);
        rates.iter().for_each(|rate| {
            let _ = write!(text, " {rate:.0} |");
        });
        let _ = writeln!(text, " {of_expert:.2} | {:.2} | {verdict} |", rates[0] / rates[2]);
    }
    text.push_str(WHY);
    println!("\n{text}");
    std::fs::write(&settings.report, text).unwrap();
}

const WHY: &str = "";

const HEAD: &str = "\
# SQLite, beside the driver used by hand

`cargo run --release -p bench --bin sqlite` made this table. Ratios within a line count; absolute
numbers are those of one machine. Contenders take turns within each line. All have the tables that
`keyway layout` prints, a write-ahead log, and the same cache; none maps the file into memory.

- **Keyway**: typed calls of `notes.toml` on `sqlite:`. Each insert checks that the key is free,
  keeps a version for the row, and remembers its outcome so that a repeated call does nothing.
- **expert**: rusqlite with every statement kept prepared. One connection writes, for all who wait
  at once and in the thread of one of them; a connection for each thread that reads; the same
  checks, versions and remembered calls. Notes by a tag are one statement with a join.
- **naive**: one connection behind a lock; every statement is prepared anew and committed by itself;
  ids first, then a read for each note. No versions and no remembered calls.

\"synced\" lines wait for the disk (`synchronous` FULL), the others do not (NORMAL).

";
