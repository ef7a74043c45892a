//! The report: rates, the slowest of a hundred, and processor time, beside each other.

use super::ENTRANTS;
use super::drive::Measured;
use super::fair::{median, quartiles};
use super::lines::{Comparison, Line};
use super::settings::Settings;
use std::fmt::Write as _;

/// What is wanted of the handler by hand.
const OF_BY_HAND: f64 = 0.9;
/// What is wanted of the others.
const OF_PEERS: f64 = 1.0;

/// What stands before everything.
pub fn head(settings: &Settings) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (rounds, turn) = (settings.rounds, settings.turn);
    format!("{HEAD}{cores} cores, {rounds} rounds of {turn:?} each, medians.\n")
}

/// The comparison.
pub fn comparison(settings: &Settings, measured: &Comparison) -> String {
    let mut text = String::new();
    let names = ENTRANTS.map(|entrant| entrant.name).join(" | ");
    let ratios: Vec<String> =
        ENTRANTS[1..].iter().map(|entrant| format!("Keyway / {}", entrant.name)).collect();
    let ratios = ratios.join(" | ");
    let numbers = "---:|".repeat(ENTRANTS.len() * 2 - 1);
    let _ = writeln!(text, "\n## Requests a second\n\n| | {names} | {ratios} | |");
    let _ = writeln!(text, "|---|{numbers}---|");
    measured.lines.iter().for_each(|line| write_rates(&mut text, line));
    if settings.rounds > 1 {
        text.push_str("\nOf a ratio, the median over the rounds and [its quartiles].\n");
    }
    write_absent(&mut text, measured);
    let numbers = "---:|".repeat(ENTRANTS.len());
    let _ = writeln!(text, "\n## The slowest of a hundred (p99, ms)\n\n| | {names} |");
    let _ = writeln!(text, "|---|{numbers}");
    for line in &measured.lines {
        write_cells(&mut text, line, |turn| turn.histogram.quantile(0.99).as_secs_f64() * 1e3);
    }
    let _ = writeln!(text, "{PROCESSOR}\n| | {names} | driver |\n|---|{numbers}---:|");
    for line in &measured.lines {
        write_processor(&mut text, line);
    }
    text.push_str(WHY);
    text
}

/// Who is not here, and who left requests without an answer.
fn write_absent(text: &mut String, measured: &Comparison) {
    let mut remarks = Vec::new();
    for (name, reason) in &measured.absent {
        remarks.push(format!("- {name} is absent: {reason}."));
    }
    for line in &measured.lines {
        for (entrant, turns) in ENTRANTS.iter().zip(&line.turns) {
            let lost: u64 = turns.iter().map(|turn| turn.errors + turn.shed).sum();
            if lost > 0 {
                remarks.push(format!("- {}: {} failed {lost} times.", line.name, entrant.name));
            }
        }
    }
    match remarks.is_empty() {
        true => text.push_str("\nNobody left a request without its answer.\n"),
        false => text.push_str(&format!("\n{}\n", remarks.join("\n"))),
    }
}

fn write_rates(text: &mut String, line: &Line) {
    let _ = write!(text, "| {} |", line.name);
    let rates: Vec<Vec<f64>> =
        line.turns.iter().map(|turns| turns.iter().map(Measured::rate).collect()).collect();
    for rates in &rates {
        let _ = write!(text, " {} |", shown(median(rates), 0));
    }
    let mut verdict = Vec::new();
    for (at, others) in rates.iter().enumerate().skip(1) {
        let ratios: Vec<f64> =
            rates[0].iter().zip(others).map(|(own, other)| own / other).collect();
        let ratio = median(&ratios);
        let wanted = if at == 1 { OF_BY_HAND } else { OF_PEERS };
        if ratio < wanted {
            verdict.push(format!("below {wanted} of {}", ENTRANTS[at].name));
        }
        let (low, high) = quartiles(&ratios);
        let _ = match ratios.len() {
            0 => write!(text, " - |"),
            1 => write!(text, " {ratio:.2} |"),
            _ => write!(text, " {ratio:.2} [{low:.2}-{high:.2}] |"),
        };
    }
    let _ = writeln!(text, " {} |", verdict.join(", "));
}

fn write_cells(text: &mut String, line: &Line, of: impl Fn(&Measured) -> f64) {
    let _ = write!(text, "| {} |", line.name);
    for turns in &line.turns {
        let values: Vec<f64> = turns.iter().map(&of).collect();
        let _ = write!(text, " {} |", shown(median(&values), 2));
    }
    text.push('\n');
}

fn write_processor(text: &mut String, line: &Line) {
    let _ = write!(text, "| {} |", line.name);
    for turns in &line.turns {
        // The kernel counts in steps that are long beside a turn: all of them together count.
        let time: f64 = turns.iter().map(|turn| turn.server_time.as_secs_f64()).sum();
        let answers: u64 = turns.iter().map(|turn| turn.histogram.total()).sum();
        let _ = write!(text, " {} |", shown(time * 1e6 / answers as f64, 1));
    }
    let busy = |turn: &Measured| turn.driver_time.as_secs_f64() / turn.took.as_secs_f64();
    let busy = median(&line.turns[0].iter().map(busy).collect::<Vec<f64>>());
    let _ = writeln!(text, " {:.0} % |", busy * 100.0);
}

fn shown(number: f64, decimals: usize) -> String {
    match number {
        _ if number.is_nan() => "absent".to_string(),
        _ => format!("{number:.decimals$}"),
    }
}

const PROCESSOR: &str = "
## Processor time

Of the server, in µs a request: what it costs where the driver is not waited for. The last column
says how busy the driver was while it drove Keyway, of one core: near 100 % the driver is what is
measured, and the rates of fast servers are closer to each other than the servers are.
";

const WHY: &str = "
## Where lines are lost

- What a request costs more than by hand is spread thinly, as far as a profile tells: arguments
  are found by their names, who may is asked, work is counted, an answer has more headers, rows are
  written by their table of fields, and a cursor is sealed and not only signed. It is won back by
  connections that stay on one thread each, and by threads that stay awake for a moment after an
  answer where they have one or two connections: that is counted as processor time here.
- Ratios of making notes vary from round to round. The engine writes and merges its files on the
  same two cores meanwhile, which took up to a third of a server's processor time in a profile.
- webdis hands text through to Redis and looks at none of it.
";

const HEAD: &str = "\
# The server, beside others

`cargo build --release -p cli && cargo run --release -p bench --bin server` makes this report. Every
server is a process of its own on the machine of its driver, reached over loopback, and has given
the same answers as the others before anything was measured. They take turns. Ratios within a line
count; absolute numbers are those of one machine. Nobody syncs to the disk before an answer: what
was answered survives the server, not a loss of power.

- **Keyway**: `keyway serve --rate 0 --log off` with tokens, on its engine
  (`durability=process`, 256 MiB of cache). The owner of a note comes from the token.
- **by hand**: an axum handler written for these three questions over the same engine with the same
  settings, rows, index entries, checks and versions; tokens kept as keyed hashes and compared in
  constant time; the same JSON, with signed cursors; the same allocator. It has no numbers for
  Prometheus, no limits, no watching, no compression and no headers for browsers.
- **PocketBase**: v0.36.0, a collection with the same fields, three indexes, and the rule
  `owner = @request.auth.id`; its log is off. SQLite with its own settings (WAL,
  `synchronous = NORMAL`). It does not say whether more notes follow.
- **webdis**: over Redis with `appendfsync everysec`; notes are JSON texts, made and listed by a
  script each. One password for all: it knows no owners, and checks nothing of what it is given.

A note has about 240 bytes and two index entries besides its own. Notes are made for one user and
read of another, who has 10,000.

";
