//! Encodes and decodes the same keys with our codec and with three others, and prints ratios.
//!
//! Every codec gets its own best types, a re-used buffer to encode into and, where it can,
//! borrowed text when it decodes. Rounds of all codecs are interleaved, so that a slow moment of
//! the machine falls on all alike. Nothing here may favour us by giving the others more work.
//!
//! ```text
//! cargo run --release -p bench --bin key_codec [part of the name of a line]
//! ```

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::time::Instant;

#[path = "key_codec/cases.rs"]
mod cases;
#[path = "key_codec/data.rs"]
mod data;

/// Interleaved rounds for each line; the median of them counts.
const ROUNDS: usize = 401;
/// Passes over all keys of a case in one round.
const PASSES: usize = 8;

/// One codec doing one thing to all keys of a case.
struct Contender {
    keys: usize,
    pass: Box<dyn FnMut()>,
}

/// The contenders for one line of the table; the first one is ours.
struct Line {
    case: &'static str,
    verb: &'static str,
    contenders: Vec<Contender>,
}

fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let mut lines = cases::lines();
    lines.retain(|line| format!("{} {}", line.case, line.verb).contains(&wanted));
    println!("| key | | keyway | storekey | foundationdb-tuple | memcomparable | nearest |");
    println!("|---|---|---|---|---|---|---|");
    let mut worst = (f64::INFINITY, String::new());
    for line in &mut lines {
        let (nanoseconds, ratios) = measure(line);
        let nearest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        if nearest < worst.0 {
            worst = (nearest, format!("{}, {}", line.case, line.verb));
        }
        print!("| {} | {} | {:.1} ns |", line.case, line.verb, nanoseconds[0]);
        for (time, ratio) in nanoseconds.iter().skip(1).zip(&ratios) {
            print!(" {time:.1} ns ({ratio:.2}x) |");
        }
        println!(" {nearest:.2}x |");
    }
    println!();
    println!(
        "Worst ratio: {:.2}x ({}). Above 1 keyway is the fastest of the line.",
        worst.0, worst.1
    );
}

/// Median nanoseconds of each contender, and the median of each one's ratio to the first.
fn measure(line: &mut Line) -> (Vec<f64>, Vec<f64>) {
    let count = line.contenders.len();
    let mut times: Vec<Vec<f64>> = vec![Vec::with_capacity(ROUNDS); count];
    for round in 0..ROUNDS + 20 {
        for turn in 0..count {
            // Each round begins with another codec.
            let place = (turn + round) % count;
            let contender = &mut line.contenders[place];
            let start = Instant::now();
            for _ in 0..PASSES {
                (contender.pass)();
            }
            let spent = start.elapsed().as_nanos() as f64;
            if round >= 20 {
                times[place].push(spent / (PASSES * contender.keys) as f64);
            }
        }
    }
    let ratio = |other: &Vec<f64>| {
        median(other.iter().zip(&times[0]).map(|(other, ours)| other / ours).collect())
    };
    let ratios = times.iter().skip(1).map(ratio).collect();
    (times.iter().cloned().map(median).collect(), ratios)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
