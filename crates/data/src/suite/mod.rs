//! The suite every store passes: named cases, random sequences against an oracle, histories.
//!
//! ```text
//! make ─▶ store ─ensure─▶ bench ─▶ case ─┬─ passed
//!   (once a case)                         ├─ failed: its name, its promise, what was found
//!                                         └─ not offered: the reason
//! ```
//!
//! A store's test is a few lines: it runs the suite, expects no failure, and keeps the names of the
//! cases that its store does not offer, so that none is left out unseen. Stores that are broken on
//! purpose are in `sabotage/`, and the suite refuses each of them.
//!
//! The promises: P1 atomic and conditional, P4 reads see what was acknowledged, P5 order and pages,
//! P6 ended is absent, P7 exact counters, P8 once an id, P9 bytes, P10 it lasts, and the limits at
//! the door. A store that outlives its process runs `lasts` too, which opens it again. P2 and P3,
//! of indexes and unique values, are kept above the waist.

mod ahead;
pub mod bench;
pub mod cases;
pub mod clients;
pub mod history;
pub mod lasts;
pub mod model;
pub mod oracle;
pub mod patterns;
pub mod random;
pub mod sabotage;
pub mod shown;
pub mod together;
pub mod wait;

pub use ahead::Ahead;
pub use bench::{Bench, Checked, Failure};
pub use wait::{Clients, block_on, on_threads};

use crate::clock::Milliseconds;
use crate::error::{Error, ErrorKind, Result};
use crate::store::{End, Page, Range, Store};
use bench::{holds, same};
use futures_util::future::BoxFuture;
use keyspace::model::Keyspace;
use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;

/// The keyspace the cases use.
pub const KEYSPACE: &str = include_str!("keyspace.toml");

/// One thing a store must do.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// What it must do.
    pub name: &'static str,
    /// The promise it is part of.
    pub promise: &'static str,
    /// Tries it.
    pub run: fn(&Bench) -> BoxFuture<'_, Checked>,
}

/// How the suite is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What all chance follows from; a store that keeps its rows needs another one each time.
    pub seed: u64,
    /// The time. A store that lets rows go by its own clock needs the real one.
    pub now: Milliseconds,
    /// How clients run at the same time.
    pub clients: Clients,
    /// How hard random cases try: 1 is enough for every day.
    pub effort: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options { seed: 1, now: 1_800_000_000_000, clients: on_threads, effort: 1 }
    }
}

/// What makes a store for a case: a new one each time, or the same one again.
pub type Make<'m> = &'m dyn Fn() -> BoxFuture<'m, Arc<dyn Store>>;

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The names of the cases that passed.
    pub passed: Vec<&'static str>,
    /// The cases that failed: name, promise, what was found.
    pub failed: Vec<(&'static str, &'static str, String)>,
    /// The cases the store does not promise: name, reason.
    pub not_offered: Vec<(&'static str, &'static str)>,
}

impl Report {
    /// Whether the case with this name failed.
    pub fn rejects(&self, name: &str) -> bool {
        self.failed.iter().any(|(failed, _, _)| *failed == name)
    }

    /// What the store does not promise: a line for each reason, and one for each case under it.
    pub fn left_out(&self) -> String {
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, reason) in &self.not_offered {
            reasons.entry(reason).or_default().push(name);
        }
        let mut text = String::new();
        for (reason, names) in reasons {
            text.push_str(&format!("{reason}:\n"));
            names.iter().for_each(|name| text.push_str(&format!("  {name}\n")));
        }
        text
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = (self.passed.len(), self.failed.len(), self.not_offered.len());
        writeln!(formatter, "{} passed, {} failed, {} not offered", counts.0, counts.1, counts.2)?;
        for (name, promise, found) in &self.failed {
            writeln!(formatter, "FAILED {promise} {name}\n       {found}")?;
        }
        for (name, reason) in &self.not_offered {
            writeln!(formatter, "not offered: {name}: {reason}")?;
        }
        Ok(())
    }
}

/// Every case.
pub fn cases() -> Vec<Case> {
    cases::all()
}

/// The suite's keyspace.
pub fn keyspace() -> Result<Arc<Keyspace>> {
    read(KEYSPACE)
}

/// A keyspace of this text.
fn read(text: &str) -> Result<Arc<Keyspace>> {
    let reading = keyspace::read(text);
    let found = reading.keyspace.ok_or_else(|| {
        let problems = reading.diagnostics.len();
        Error::new(ErrorKind::Internal, "the suite's keyspace has problems").with("some", problems)
    });
    found.map(Arc::new)
}

/// Runs every case.
pub async fn run(make: Make<'_>, options: &Options) -> Report {
    run_cases(&cases(), make, options).await
}

/// Runs these cases.
pub async fn run_cases(cases: &[Case], make: Make<'_>, options: &Options) -> Report {
    let mut report = Report::default();
    for case in cases {
        match run_case(case, make, options).await {
            Ok(()) => report.passed.push(case.name),
            Err(Failure::Broken(found)) => report.failed.push((case.name, case.promise, found)),
            Err(Failure::NotOffered(reason)) => report.not_offered.push((case.name, reason)),
        }
    }
    report
}

/// Runs one case.
pub async fn run_case(case: &Case, make: Make<'_>, options: &Options) -> Checked {
    let store = make().await;
    let schema = store.ensure(&keyspace()?).await?;
    let bench = Bench::new(store, schema, options, seed(case.name, options.seed));
    let mut running = (case.run)(&bench);
    // A store that panics has broken its promise; the other cases are tried all the same.
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(context)));
        polled.unwrap_or_else(|_| Poll::Ready(Err(Failure::broken("the store panicked"))))
    })
    .await
}

/// The seed of a case: its name and the seed of the run (FNV-1a).
fn seed(name: &str, seed: u64) -> u64 {
    let bytes = name.bytes().chain(seed.to_be_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// What every page must be: in range and in order, no row twice, no longer than asked for, and
/// ended for the reason it gives.
pub fn page_is_sound(range: &Range, reverse: bool, rows: usize, page: &Page) -> Checked {
    let inside = page.rows.iter().all(|keyed| range.contains(keyed.key.as_ref()));
    holds("a page has only rows of its range", inside)?;
    let ordered = page.rows.array_windows().all(|[one, next]| match reverse {
        false => one.key < next.key,
        true => one.key > next.key,
    });
    holds("a page is in order, and has no row twice", ordered)?;
    holds("a page has no more rows than were asked for", page.rows.len() <= rows)?;
    match page.end {
        End::Rows => same("rows of a page that ended for their number", page.rows.len(), rows),
        End::Bytes => holds("a page that ended for its bytes has a row", !page.rows.is_empty()),
        End::Range => Ok(()),
    }
}
