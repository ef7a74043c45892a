//! The report: a table of rates and ratios, and why a line is lost where one is.

use super::contender::Entrant;
use super::fair::median;
use super::large::Large;
use super::lines::Line;
use super::settings::Settings;
use std::fmt::Write as _;

/// What Keyway is to reach of the engine driven by hand.
const OF_HAND_WRITTEN: f64 = 0.85;

/// Where the second part begins.
const LARGE: &str = "## One large group\n";

/// Writes the first part, and keeps the second one.
pub fn write(settings: &Settings, entrants: &[Entrant], lines: &[Line]) {
    let mut text = String::from(HEAD);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let rounds = settings.rounds;
    let _ = writeln!(
        text,
        "{} notes, {} cores, {rounds} rounds of {:?} each, medians; [least-most] for Keyway.\n\
         Of the ratios to the engine by hand, the median of the rounds counts.\n",
        settings.notes, cores, settings.turn,
    );
    text.push_str("| operations/s |");
    entrants.iter().for_each(|entrant| {
        let _ = write!(text, " {} |", entrant.name);
    });
    text.push_str(" Keyway / by hand | Keyway / best peer | |\n|---|");
    text.push_str(&"---:|".repeat(entrants.len() + 2));
    text.push_str("---|\n");
    lines.iter().for_each(|line| row(&mut text, entrants, line));
    text.push_str(WHY);
    text.push_str("\n## Remarks\n\n");
    for line in lines.iter().filter(|line| !line.remark.is_empty()) {
        let _ = writeln!(text, "- {}: {}.", line.name, line.remark);
    }
    text.push('\n');
    let before = std::fs::read_to_string(&settings.report).unwrap_or_default();
    if let Some((_, large)) = before.split_once(LARGE) {
        text.push_str(LARGE);
        text.push_str(large);
    }
    save(settings, &text);
}

fn row(text: &mut String, entrants: &[Entrant], line: &Line) {
    let rates: Vec<f64> = line.rates.iter().map(|rates| median(rates)).collect();
    let ours = rates[0];
    let (best, best_rate) = (0..rates.len())
        .filter(|at| entrants[*at].is_peer() && rates[*at].is_finite())
        .map(|at| (entrants[at].name, rates[at]))
        .fold(("nobody", 0.0), |best, peer| if peer.1 > best.1 { peer } else { best });
    let of_hand = ratio(&line.rates[0], &line.rates[1]);
    let of_peer = ours / best_rate;
    let mut verdict = Vec::new();
    if of_hand < OF_HAND_WRITTEN {
        verdict.push(format!("below {OF_HAND_WRITTEN} of the engine"));
    }
    if of_peer < 1.0 {
        let too = if rates[1] < best_rate { "; so does the engine by hand" } else { "" };
        verdict.push(format!("loses to {best}{too}"));
    }
    let _ = write!(text, "| {} |", line.name);
    for (at, rate) in rates.iter().enumerate() {
        let spread = match at {
            0 if line.rates[0].len() > 1 => spread(&line.rates[0]),
            _ => String::new(),
        };
        let _ = write!(text, " {}{spread} |", shown(*rate));
    }
    let _ = writeln!(text, " {of_hand:.2} | {of_peer:.2} | {} |", verdict.join(", "));
}

/// The middle of the ratios of turns that followed each other: what slows the machine down for a
/// while slows both.
fn ratio(ours: &[f64], others: &[f64]) -> f64 {
    let ratios: Vec<f64> = ours.iter().zip(others).map(|(our, other)| our / other).collect();
    median(&ratios)
}

fn spread(rates: &[f64]) -> String {
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let most = rates.iter().copied().fold(0.0, f64::max);
    format!(" [{}-{}]", shown(least), shown(most))
}

/// A number in thousands where it is large.
fn shown(rate: f64) -> String {
    match rate {
        _ if rate.is_nan() => "-".to_string(),
        _ if rate >= 10_000.0 => format!("{:.1}k", rate / 1_000.0),
        _ => format!("{rate:.0}"),
    }
}

/// Writes the second part, and keeps the first one.
pub fn write_large(settings: &Settings, large: &Large) {
    let before = std::fs::read_to_string(&settings.report).unwrap_or_else(|_| HEAD.to_string());
    let first = before.split_once(LARGE).map_or(before.as_str(), |(first, _)| first);
    save(settings, &format!("{first}{LARGE}\n{large}"));
}

fn save(settings: &Settings, text: &str) {
    println!("\n{text}");
    std::fs::write(&settings.report, text).unwrap();
}

const WHY: &str = "
## Why lines are lost

- Inserts beside the bare engine: for its three rows Keyway writes four, with a version in one of
  them, and looks up two keys (is the key free, was the call made before). The engine by hand does
  the same.
- Reads beside the engine by hand: each call asks who may make it, is counted, and reads by a
  snapshot that never shows half of a commit; each row has a version, an end and a table of its
  fields, so that one can be added later.
- Pages and searches around a point beside the engine by hand: the same for each row. By hand a row
  is cut at places that are known when the program is compiled; Keyway finds each field in the
  row's table. Of a search, each of some hundred entries is read so, and the rows that are answered
  are measured again, since they may have moved after their entries were read.
- One caller of synced inserts beside the engine by hand: every seventeenth commit goes through the
  writer's thread, by which others who wait are noticed; and each writes where the disk is known to
  hold everything, so that a lost commit is noticed.
- Reads beside native_db and SQLite: a row of a B-tree is found with fewer comparisons than one of a
  log-structured tree, which in turn writes several times as fast.
";

const HEAD: &str = "\
# The run time, beside others

`cargo run --release -p bench --bin run_time` made this table. Ratios within a line count; absolute
numbers are those of one machine. Contenders take turns within each line, each of which begins when
nobody has anything left to do in the background (or after two seconds). Before anything is read,
the files of the engine are put in order for all who use it: how many of them lie above each other
after a load is chance, and would decide lines.

- **Keyway**: typed calls of `notes.toml` on its engine, 256 MiB of cache. Each insert checks that
  the key is free, keeps a version for the row, and remembers its outcome so that a repeated call
  does nothing.
- **engine by hand**: the same engine with the same settings, the same rows and entries, keys and
  values packed by hand; the same checks, versions and remembered calls.
- **bare engine**: the same without checks, versions and remembered calls. No target; it shows what
  those promises cost.
- **SQLite**: WAL, 256 MiB of cache, mapped memory, prepared statements, no row ids; a writer behind
  a lock, a reader for each thread; the same cells as index for places.
- **native_db**: on redb, 256 MiB of cache.
- **Toasty**: on SQLite with the same settings, a connection for each thread.

A note has about 240 bytes; there are two indexes, by tag and by place.

";
