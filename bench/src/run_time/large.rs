//! One group of very many rows: whether a page costs the same wherever it is, and whether memory
//! stays flat while everything is written and read.

use super::contender::Sync;
use super::notes::{Note, note};
use super::typed::Typed;
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Rows of a page.
const PAGE: u64 = 50;
/// The page that is compared with the first two: a page after the first is reached by a cursor,
/// which has to be made and opened.
const LATE_PAGE: u64 = 1_000;
/// How often each of the three is read.
const READS: usize = 400;
/// Rows of a page when everything is read.
const SCAN_PAGE: u64 = 1_000;
/// Samples of memory in each part.
const SAMPLES: u64 = 10;

/// What was found.
pub struct Large {
    rows: u64,
    load: Duration,
    load_memory: Vec<u64>,
    /// Page 1, page 2 and the late one.
    pages: [Duration; 3],
    scan: Duration,
    scan_memory: Vec<u64>,
}

/// Loads the group, and reads it.
pub fn run(folder: &Path, rows: u64) -> Large {
    let store = Typed::open(&folder.join("large"), Sync::Process);
    let (load, load_memory) = load(&store, rows);
    let pages = pages(&store);
    let (scan, scan_memory) = scan(&store, rows);
    Large { rows, load, load_memory, pages, scan, scan_memory }
}

fn load(store: &Typed, rows: u64) -> (Duration, Vec<u64>) {
    let began = Instant::now();
    let mut memory = Vec::new();
    for start in (0..rows).step_by(100) {
        let together = start..(start + 100).min(rows);
        let notes = together.map(|number| Note { author: 1, ..note(number, rows) });
        store.add(notes.collect());
        sample(&mut memory, start + 100, rows, 100);
    }
    (began.elapsed(), memory)
}

/// Adds a sample of memory if it is time for one.
fn sample(memory: &mut Vec<u64>, done: u64, rows: u64, step: u64) {
    let every = (rows / SAMPLES).max(step);
    if done / every > (done - step) / every {
        memory.push(resident_mib());
        println!("{done} of {rows}: {} MiB", resident_mib());
    }
}

/// Mebibytes of this process in memory.
fn resident_mib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = text.split(' ').nth(1).unwrap().parse().unwrap();
    (pages * 4096) >> 20
}

/// The medians for the first two pages and a late one, reached by cursor, taking turns.
fn pages(store: &Typed) -> [Duration; 3] {
    let mut cursors = vec![None];
    for page in 1..LATE_PAGE as usize {
        cursors.push(store.page_after(1, PAGE, cursors[page - 1].clone()).1);
    }
    let asked = [0, 1, LATE_PAGE as usize - 1].map(|page| cursors[page].clone());
    let timed = |cursor: Option<keyway::Cursor>| {
        let began = Instant::now();
        let (notes, _) = store.page_after(1, PAGE, cursor);
        assert_eq!(notes.len() as u64, PAGE);
        began.elapsed()
    };
    let mut times: [Vec<Duration>; 3] = Default::default();
    for _ in 0..READS {
        for (times, cursor) in times.iter_mut().zip(&asked) {
            times.push(timed(cursor.clone()));
        }
    }
    times.map(|mut times| {
        times.sort();
        times[READS / 2]
    })
}

fn scan(store: &Typed, rows: u64) -> (Duration, Vec<u64>) {
    let began = Instant::now();
    let (mut cursor, mut done, mut memory) = (None, 0, Vec::new());
    loop {
        let (notes, next) = store.page_after(1, SCAN_PAGE, cursor);
        done += notes.len() as u64;
        sample(&mut memory, done, rows, SCAN_PAGE);
        cursor = next;
        if cursor.is_none() {
            assert_eq!(done, rows, "a scan by pages meets every row once");
            return (began.elapsed(), memory);
        }
    }
}

impl fmt::Display for Large {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let rate = |time: Duration| self.rows as f64 / time.as_secs_f64() / 1_000.0;
        let shown =
            |memory: &[u64]| memory.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let [first, second, late] = self.pages.map(micros);
        writeln!(
            formatter,
            "{} rows in one group, two indexes, Keyway on its engine. Pages after the first are \
             reached by a\ncursor, which is made, sealed and opened for each.\n",
            self.rows
        )?;
        writeln!(formatter, "| | |\n|---|---|")?;
        writeln!(formatter, "| page 1 of {PAGE} | {first:.1} µs |")?;
        writeln!(formatter, "| page 2, by cursor | {second:.1} µs |")?;
        writeln!(formatter, "| page {LATE_PAGE}, by cursor | {late:.1} µs |")?;
        writeln!(formatter, "| page {LATE_PAGE} / page 1 | {:.2} |", late / first)?;
        writeln!(formatter, "| page {LATE_PAGE} / page 2 | {:.2} |", late / second)?;
        writeln!(formatter, "| load | {:.1}k rows/s |", rate(self.load))?;
        writeln!(formatter, "| scan by pages of {SCAN_PAGE} | {:.1}k rows/s |", rate(self.scan))?;
        writeln!(formatter, "| MiB in memory during the load | {} |", shown(&self.load_memory))?;
        writeln!(formatter, "| MiB in memory during the scan | {} |", shown(&self.scan_memory))
    }
}
