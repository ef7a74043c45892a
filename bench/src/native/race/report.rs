//! The report of a race: rates, ratios within each line, and why a line is lost where one is.

use super::{Kind, Measured, Settings, WRITES_LONGER};
use crate::fair::{median, quartiles};
use std::fmt::Write as _;

/// What Keyway is to reach of expert code.
const OF_EXPERT: f64 = 0.9;

/// A part of the report: its title, and its lines.
pub type Part = (&'static str, Vec<Measured>);

/// Who is in the race: Keyway first, and at these places the expert and the naive one.
pub struct Columns {
    pub names: Vec<&'static str>,
    pub expert: usize,
    pub naive: usize,
    /// What naive code asks for just as the expert does: there it loses nothing by being naive.
    pub alike: &'static [Kind],
}

/// Writes the report.
pub fn write(settings: &Settings, columns: &Columns, parts: &[Part], (head, why): (&str, &str)) {
    let mut text = format!("{head}\n");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let _ = writeln!(
        text,
        "{} notes of about 240 bytes with two indexes, {cores} cores, {} rounds of {:?} a line, in \
         turns. Rates\nare operations a second, medians of the rounds; they are those of one \
         machine. A ratio is the median\nof the ratios within each round, with its quartiles. \
         Where something is written a turn takes {:?},\nso that little can be put off until \
         it is over; before it, the disk has all that was written before,\nand the machine is \
         quiet.\n",
        settings.notes,
        settings.rounds,
        settings.turn,
        settings.turn * WRITES_LONGER,
    );
    for (title, lines) in parts {
        let _ = write!(text, "## {title}\n\n| |");
        columns.names.iter().for_each(|name| _ = write!(text, " {name} |"));
        text.push_str(" Keyway / expert | Keyway / naive | |\n|---|");
        text.push_str(&"---:|".repeat(columns.names.len() + 2));
        text.push_str("---|\n");
        lines.iter().for_each(|line| row(&mut text, columns, line));
        text.push('\n');
    }
    text.push_str(why);
    println!("\n{text}");
    if settings.only.is_empty() {
        std::fs::write(&settings.report, text).unwrap();
    }
}

fn row(text: &mut String, columns: &Columns, measured: &Measured) {
    let _ = write!(text, "| {} |", measured.line.name);
    for rates in &measured.rates {
        let _ = write!(text, " {} |", shown(median(rates)));
    }
    let ratios = |other: usize| -> Vec<f64> {
        let pairs = measured.rates[0].iter().zip(&measured.rates[other]);
        pairs.map(|(ours, theirs)| ours / theirs).collect()
    };
    let (of_expert, of_naive) = (ratios(columns.expert), ratios(columns.naive));
    let mut verdict = Vec::new();
    if median(&of_expert) < OF_EXPERT {
        verdict.push("below 0.9");
    }
    if median(&of_naive) < 1.0 {
        verdict.push(match columns.alike.contains(&measured.line.kind) {
            true => "behind naive, which asks the same",
            false => "behind naive",
        });
    }
    let _ = writeln!(
        text,
        " {} | {} | {} |",
        spread(&of_expert),
        spread(&of_naive),
        verdict.join(", ")
    );
}

fn spread(ratios: &[f64]) -> String {
    let (low, high) = quartiles(ratios);
    format!("**{:.2}** ({low:.2}-{high:.2})", median(ratios))
}

/// A number in thousands where it is large.
fn shown(rate: f64) -> String {
    match rate >= 10_000.0 {
        true => format!("{:.1}k", rate / 1_000.0),
        false => format!("{rate:.0}"),
    }
}
