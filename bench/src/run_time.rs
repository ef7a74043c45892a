//! Keyway on its engine beside the same engine driven by hand, tuned SQLite, native_db and Toasty,
//! all doing the same work in one run; prints ratios.
//!
//! Contenders take turns within each line, so that a slow moment of the machine falls on all alike;
//! the median of the rounds counts. Before anything is measured, all must answer the same to the
//! same questions. Nothing here may favour us by giving the others more work.
//!
//! ```text
//! cargo run --release -p bench --bin run_time -- [--notes 1000000] [--rounds 5] [--seconds 0.5]
//!                                                [--only WORD] [--who WORD] [--report FILE]
//! cargo run --release -p bench --bin run_time -- --large 10000000
//! ```

#![allow(
    missing_docs,
    // Two indexes of one model name the same field.
    clippy::duplicated_attributes,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

#[path = "run_time/agree.rs"]
mod agree;
#[path = "run_time/contender.rs"]
mod contender;
#[path = "fair.rs"]
#[allow(dead_code)]
mod fair;
#[path = "run_time/hand_written.rs"]
mod hand_written;
#[path = "run_time/large.rs"]
mod large;
#[path = "run_time/lines.rs"]
mod lines;
#[path = "run_time/measure.rs"]
mod measure;
#[path = "run_time/native.rs"]
mod native;
#[path = "run_time/nearest.rs"]
mod nearest;
#[path = "run_time/notes.rs"]
mod notes;
#[path = "run_time/report.rs"]
mod report;
#[path = "run_time/settings.rs"]
mod settings;
#[path = "run_time/sqlite.rs"]
mod sqlite;
#[path = "run_time/toasty_on_sqlite.rs"]
mod toasty_on_sqlite;
#[path = "run_time/typed.rs"]
mod typed;

use contender::{Contender, Entrant, Sync};
use settings::Settings;
use std::path::Path;
use std::sync::Arc;

/// Us first, then the same engine by hand, then the peers.
const ENTRANTS: [Entrant; 6] = [
    entrant("Keyway", typed::open, Some("fjall")),
    entrant("engine by hand", hand_written::open, Some("")),
    entrant("bare engine", hand_written::open_bare, Some("")),
    entrant("SQLite", sqlite::open, None),
    entrant("native_db", native::open, None),
    entrant("Toasty on SQLite", toasty_on_sqlite::open, None),
];

const fn entrant(
    name: &'static str,
    open: fn(&Path, Sync) -> Arc<dyn Contender>,
    engine: Option<&'static str>,
) -> Entrant {
    Entrant { name, open, engine }
}

fn main() {
    let settings = Settings::from_arguments(std::env::args().skip(1));
    let folder = settings.fresh_folder();
    match settings.large {
        Some(rows) => {
            let part = large::run(&folder, rows);
            report::write_large(&settings, &part);
        }
        None => {
            let asked = |at: usize| at == 1 || ENTRANTS[at].name.contains(&settings.who);
            let asked = (0..ENTRANTS.len()).filter(|at| asked(*at));
            let entrants: Vec<Entrant> = asked.map(|at| ENTRANTS[at]).collect();
            agree::check(&folder, &entrants);
            let lines = lines::run(&settings, &folder, &entrants);
            report::write(&settings, &entrants, &lines);
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
