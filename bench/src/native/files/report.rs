//! The report: a table of rates and ratios.

use super::contender::Entrant;
use super::lines::Line;
use super::settings::Settings;
use std::fmt::Write as _;

/// What Keyway is to reach of files by hand.
const OF_HAND_WRITTEN: f64 = 0.9;

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
    text.push_str(" Keyway / by hand | Keyway / naive | |\n|---|");
    text.push_str(&"---:|".repeat(entrants.len() + 2));
    text.push_str("---|\n");
    for line in lines.iter().filter(|line| !line.rates[1].is_empty()) {
        let rates: Vec<f64> = line.rates.iter().map(|rates| median(rates)).collect();
        let of_hand = rates[0] / rates[1];
        let verdict = if of_hand < OF_HAND_WRITTEN { "below 0.9" } else { "" };
        let _ = write!(text, "| {} |", line.name);
        rates.iter().for_each(|rate| {
            let _ = write!(text, " {rate:.0} |");
        });
        let _ = writeln!(text, " {of_hand:.2} | {:.2} | {verdict} |", rates[0] / rates[2]);
    }
    text.push_str(WHY);
    println!("\n{text}");
    std::fs::write(&settings.report, text).unwrap();
}

const WHY: &str = "";

const HEAD: &str = "\
# A tree of files, beside files by hand

`cargo run --release -p bench --bin files` made this table. Ratios within a line count; absolute
numbers are those of one machine. Contenders take turns within each line.

- **Keyway**: typed calls of `notes.toml` on `files:`. Each insert checks that the key is free and
  that no file lies there, keeps a version and a hash, and remembers its outcome.
- **by hand**: the same for these notes alone: a file a note, written beside and renamed, a journal
  synced for all who wait, order and indexes in memory, the same checks, versions and remembered
  calls. Notes stay in memory as structs, and a file that was edited is read anew.
- **naive**: a file a note, a file a tag that is added to, a sync for each; a page lists the
  directory and reads every note. No journal, so a crash leaves half of an insert.

";
