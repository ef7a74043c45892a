//! Keyway on SQLite beside expert code on the driver, and beside naive code; writes a report.
//!
//! ```text
//! cargo run --release -p bench --bin sqlite -- [--notes 50000] [--rounds 24] [--seconds 0.2]
//!                                              [--only WORD] [--report FILE]
//! ```

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

#[path = "sqlite/expert.rs"]
mod expert;
#[path = "../fair.rs"]
#[allow(dead_code)]
mod fair;
#[path = "sqlite/naive.rs"]
mod naive;
#[path = "../run_time/notes.rs"]
#[allow(dead_code)]
mod notes;
mod race;
#[path = "sqlite/tables.rs"]
mod tables;
mod typed;
mod ulid;

use race::report::{self, Columns, Part};
use race::{Contender, Entrant, LINES, Settings};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// How a commit is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// Once the operating system has it.
    Process,
    /// Once the disk has it.
    Power,
}

const NAMES: [&str; 3] = ["Keyway", "expert", "naive"];

fn main() {
    let settings = Settings::from_arguments("sqlite", 50_000);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder = std::env::temp_dir().join(format!("sqlite_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let fresh = AtomicU64::new(settings.notes);
    let mut parts: Vec<Part> = Vec::new();
    for (title, sync) in [
        ("The disk is not waited for", Sync::Process),
        ("The disk is waited for before each answer to a commit", Sync::Power),
    ] {
        let lines = runtime.block_on(async {
            let mut entrants = Vec::new();
            for (number, name) in NAMES.into_iter().enumerate() {
                let store = open(number, &folder.join(name), sync).await;
                entrants.push(Entrant { name, store });
            }
            if sync == Sync::Process {
                for notes in settings.users() {
                    for entrant in &entrants {
                        entrant.store.load(notes.clone()).await;
                    }
                }
                race::agree(&entrants, settings.notes).await;
                for name in NAMES {
                    let found = tables::of(&folder.join(name).join("notes.db"));
                    assert_eq!(found, tables::printed(), "{name} has other tables");
                }
            }
            // Reads wait for no disk in either way.
            let is_asked = |line: &race::Line| sync == Sync::Process || line.kind.writes();
            let lines = LINES.into_iter().filter(is_asked);
            let lines = race::run(&settings, &entrants, lines, &fresh).await;
            for entrant in entrants {
                entrant.store.close().await;
            }
            lines
        });
        parts.push((title, lines));
    }
    let columns = Columns { names: NAMES.to_vec(), expert: 1, naive: 2, alike: &[] };
    report::write(&settings, &columns, &parts, (HEAD, WHY));
    std::fs::remove_dir_all(&folder).unwrap();
}

async fn open(number: usize, place: &Path, sync: Sync) -> Arc<dyn Contender> {
    let durability = if sync == Sync::Power { "power" } else { "process" };
    let file = place.join("notes.db");
    match number {
        0 => {
            let url = format!("sqlite:{}?durability={durability}", file.display());
            Arc::new(typed::open(&url).await)
        }
        1 => Arc::new(expert::Expert::open(place, sync)),
        _ => Arc::new(naive::Naive::open(place, sync)),
    }
}

const HEAD: &str = "\
# SQLite, beside the driver used by hand

`cargo run --release -p bench --bin sqlite` makes this report. All contenders answer the same before
they are measured. All have the tables that `keyway layout` prints, a write-ahead log with the same
settings, and the same cache for each connection; none maps the file into memory.

- **Keyway**: typed calls of `notes.toml` on `sqlite:`. An insert checks that the key is free, keeps
  a version for the row, and remembers its outcome so that a repeated call does nothing.
- **expert**: rusqlite with every statement kept prepared, for these notes alone. One connection
  writes, in place or, where the disk is waited for, in a thread that commits for all who wait; a
  connection for each caller that reads. The same checks, versions and remembered calls. Notes by a
  tag are one statement with a join.
- **naive**: one connection behind a lock; every statement is prepared anew and committed by itself;
  ids first, then a read for each note. No versions, and no call is remembered: a crash leaves half
  of an insert.
";

const WHY: &str = "\
## Why lines are lost

- Rows of pages and look-ups go from columns into the struct, as the expert's do; their keys are
  encoded besides, since they say where the next page begins and that no row is another owner's.
- An index look-up is one statement with a join, as the expert's is, but an outer one: an entry
  without its row would be noticed. Of it the entry's key is encoded, and from that the row's.
- Commits beside the naive code, where no disk is waited for: it writes three rows, and Keyway four,
  with the call that is remembered.
";
