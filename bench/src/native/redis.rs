//! Keyway on Redis beside expert code on the driver, and beside naive code; writes a report.
//!
//! ```text
//! server of its own ─▶ one database a contender, the same notes ─▶ turns, one after the other
//! cargo run --release -p bench --bin redis -- [--notes 20000] [--rounds 24] [--seconds 0.2]
//!                                             [--only WORD] [--report FILE]
//! ```

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

#[path = "redis/expert.rs"]
mod expert;
#[path = "../fair.rs"]
#[allow(dead_code)]
mod fair;
#[path = "redis/naive.rs"]
mod naive;
#[path = "../run_time/notes.rs"]
#[allow(dead_code)]
mod notes;
mod race;
#[allow(dead_code, reason = "the server of this comparison ends before its callers do")]
mod typed;
mod ulid;

use race::report::{self, Columns};
use race::{Entrant, Kind, LINES, Settings};
use servers::redis::RedisServer;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

fn main() {
    let settings = Settings::from_arguments("redis", 20_000);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let server = RedisServer::start(&[]);
    let entrants = runtime.block_on(load(&server, &settings));
    let fresh = AtomicU64::new(settings.notes);
    let run = || runtime.block_on(race::run(&settings, &entrants, LINES.into_iter(), &fresh));
    let in_memory = run();
    server.cli(&["CONFIG", "SET", "appendfsync", "always"]);
    server.cli(&["CONFIG", "SET", "appendonly", "yes"]);
    while server.cli(&["INFO", "persistence"]).contains("aof_rewrite_in_progress:1") {
        std::thread::sleep(Duration::from_millis(100));
    }
    let parts = [
        ("Nothing is kept on disk, so that only the work itself is left", in_memory),
        ("The disk is waited for (`appendfsync always`)", run()),
    ];
    let names = entrants.iter().map(|entrant| entrant.name).collect();
    let columns = Columns { names, expert: 1, naive: 2, alike: &[Kind::Get] };
    report::write(&settings, &columns, &parts, (HEAD, WHY));
}

/// Every contender with the same notes.
async fn load(server: &RedisServer, settings: &Settings) -> Vec<Entrant> {
    let url = |database: usize| format!("redis://{}/{database}", server.address());
    let entrants = [
        Entrant { name: "Keyway", store: Arc::new(typed::open(&url(0)).await) },
        Entrant { name: "expert", store: Arc::new(expert::Expert::open(&url(1)).await) },
        Entrant { name: "naive", store: Arc::new(naive::Naive::open(&url(2)).await) },
    ];
    for notes in settings.users() {
        for entrant in &entrants {
            entrant.store.load(notes.clone()).await;
        }
    }
    race::agree(&entrants, settings.notes).await;
    entrants.into()
}

const HEAD: &str = "\
# Redis, beside the driver by hand

`cargo run --release -p bench --bin redis` makes this report. It starts a server of its own; every
contender has a database on it. All answer the same before they are measured.

- **Keyway**: typed calls of `notes.toml` on `redis:`. An insert checks that the key is free and
  that no key is of another program's type, keeps a version, and remembers its outcome, in one
  script.
- **expert**: the redis crate with the same Hashes and sorted sets, one connection for all callers,
  deadlines. An insert is one script, written for these notes alone, with the same guard, check,
  version and remembered outcome. Many records are one pipeline, and one transaction, so that they
  are of one instant; a page asks for its order once more in it, as Keyway does.
- **naive**: what an application's first version looks like. Commands one after the other, a read
  for each row. It checks no types, keeps no versions and remembers no call, and a crash leaves
  half of an insert behind.
";

const WHY: &str = "\
## Where lines are lost

- *Get*: naive code sends the same one command as the expert, for a Hash that is a version smaller,
  so that it shows what a bare call costs. Keyway asks who may make the call, makes a key and a name
  of it, and goes from the Hash to an encoded record and from that to the struct. The server shares
  the processor with its callers, so that sixteen of them notice.
- *Commits where nothing is kept on disk*: one script serves every keyspace. It calls the commands
  that the expert's calls, but is told by a plan among its arguments what to check and what to
  write, and has three times as many of them. Naive code with sixteen callers sends six commands
  that are each cheaper than a script; it is unsafe. Where the disk is waited for, none of this is
  seen.
";
