//! Keyway on PostgreSQL beside expert code on the driver, and beside naive code; writes a report.
//!
//! ```text
//! server of its own ─▶ one database a contender, the same notes ─▶ turns, one after the other
//! cargo run --release -p bench --bin postgres -- [--notes 50000] [--rounds 24] [--seconds 0.2]
//!                                                [--only WORD] [--report FILE]
//! ```

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

#[path = "postgres/expert.rs"]
mod expert;
#[path = "../fair.rs"]
#[allow(dead_code)]
mod fair;
#[path = "postgres/naive.rs"]
mod naive;
#[path = "../run_time/notes.rs"]
#[allow(dead_code)]
mod notes;
mod race;
mod typed;
mod ulid;

use race::report::{self, Columns, Part};
use race::{Contender, Entrant, LINES, Settings};
use servers::postgres::Postgres;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

const NAMES: [&str; 4] = ["Keyway", "expert", "expert, two reads", "naive"];

fn main() {
    let settings = Settings::from_arguments("postgres", 50_000);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut parts: Vec<Part> = Vec::new();
    for (title, fsync) in [
        ("The disk is waited for", "fsync=on"),
        ("The disk is not waited for, so that only the work itself is left", "fsync=off"),
    ] {
        let server = Postgres::with(&[fsync]);
        let durability = if fsync == "fsync=on" { "power" } else { "process" };
        let lines = runtime.block_on(async {
            let entrants = entrants(&settings, &server, durability).await;
            race::agree(&entrants, settings.notes).await;
            let fresh = AtomicU64::new(settings.notes);
            race::run(&settings, &entrants, LINES.into_iter(), &fresh).await
        });
        parts.push((title, lines));
    }
    let columns = Columns { names: NAMES.to_vec(), expert: 1, naive: 3, alike: &[] };
    report::write(&settings, &columns, &parts, (HEAD, WHY));
}

/// Keyway makes the tables and loads the notes; the others have a copy of its database.
async fn entrants(settings: &Settings, server: &Postgres, durability: &str) -> Vec<Entrant> {
    let loaded = server.database();
    let keyway = typed::open(&format!("{}?durability={durability}", server.url(&loaded))).await;
    for notes in settings.users() {
        keyway.load(notes).await;
    }
    keyway.close().await;
    server.psql(&loaded, "VACUUM ANALYZE");
    let mut entrants: Vec<Entrant> = Vec::new();
    for (number, name) in NAMES.into_iter().enumerate() {
        let copy = format!("copy_{number}");
        server.psql("postgres", &format!("CREATE DATABASE {copy} TEMPLATE {loaded}"));
        let url = server.url(&copy);
        let store: Arc<dyn Contender> = match number {
            0 => Arc::new(typed::open(&format!("{url}?durability={durability}")).await),
            1 => Arc::new(expert::Expert::open(&url, true).await),
            2 => Arc::new(expert::Expert::open(&url, false).await),
            _ => Arc::new(naive::Naive::open(&url).await),
        };
        entrants.push(Entrant { name, store });
    }
    entrants
}

const HEAD: &str = "\
# PostgreSQL, beside the driver by hand

`cargo run --release -p bench --bin postgres` makes this report. It starts a server of its own and
gives every contender a copy of the same database. All answer the same before they are measured.

- **Keyway**: typed calls of `notes.toml` on `postgres:`. An insert checks that the key is free,
  keeps a version, and remembers its outcome.
- **expert**: tokio-postgres on the same tables, every statement prepared, requests sent together, a
  connection a caller, deadlines on both sides. An insert takes the same advisory locks, checks the
  same row, writes the same version, entries and outcome in the same two round trips. A look-up by
  tag is one statement with a join.
- **expert, two reads**: the same, but a look-up by tag reads the entries and then their records.
- **naive**: what an application's first version looks like. Statements as text, each awaited on its
  own; a read for each row of a page. It takes no locks and remembers no call: two inserts of one
  key may both see it free, and a call whose answer is lost may not be repeated.
";

const WHY: &str = "\
## Where lines are lost

- *Pages and look-ups*: rows go from columns into the struct, as the expert's do; their keys are
  encoded besides, of a look-up those of entries and rows. With many callers the server and they
  share the processor, so that this is seen.
- *Get* with many callers is ahead because Keyway's callers share connections for it; the expert's
  have one each. A commit sends one statement for all that it changes, where the expert sends one
  for each.
";
