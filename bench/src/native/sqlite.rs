//! Keyway on SQLite beside expert code on the driver, doing the same work, and beside the code
//! people write first; prints ratios.
//!
//! ```text
//! cargo run --release -p bench --bin sqlite -- [--notes 100000] [--rounds 5] [--seconds 0.5]
//!                                              [--only WORD] [--report FILE]
//! ```

#![allow(
    missing_docs,
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

#[path = "../run_time/agree.rs"]
mod agree;
#[path = "../run_time/contender.rs"]
mod contender;
#[path = "sqlite/expert.rs"]
mod expert;
#[path = "../run_time/lines.rs"]
mod lines;
#[path = "../run_time/measure.rs"]
mod measure;
#[path = "sqlite/naive.rs"]
mod naive;
#[path = "../run_time/notes.rs"]
mod notes;
#[path = "sqlite/report.rs"]
mod report;
#[path = "../run_time/settings.rs"]
mod settings;
#[path = "sqlite/tables.rs"]
mod tables;
#[path = "../run_time/typed.rs"]
mod typed;

use contender::{Contender, Entrant, Sync};
use settings::Settings;
use std::path::Path;
use std::sync::Arc;

/// Us first, then the expert, then what people write first.
const ENTRANTS: [Entrant; 3] = [
    Entrant { name: "Keyway", open: open_keyway, is_peer: false },
    Entrant { name: "expert", open: expert::open, is_peer: false },
    Entrant { name: "naive", open: naive::open, is_peer: false },
];

fn open_keyway(path: &Path, sync: Sync) -> Arc<dyn Contender> {
    let durability = if sync == Sync::Power { "power" } else { "process" };
    let file = path.join("notes.db");
    let url = format!("sqlite:{}?durability={durability}", file.display());
    let opened = typed::Typed::open_url(&url);
    assert_eq!(tables::of(&file), tables::printed(), "the tables are not those of the layout");
    Arc::new(opened)
}

fn main() {
    let default = ["--notes", "100000", "--report"].map(str::to_string);
    let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports/sqlite.md");
    let default = default.into_iter().chain([reports.display().to_string()]);
    let settings = Settings::from_arguments(default.chain(std::env::args().skip(1)));
    let folder = settings.fresh_folder();
    agree::check(&folder, &ENTRANTS);
    let lines = lines::run(&settings, &folder, &ENTRANTS);
    report::write(&settings, &ENTRANTS, &lines);
    std::fs::remove_dir_all(&folder).unwrap();
}
