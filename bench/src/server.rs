//! `keyway serve` beside others that serve the same notes over HTTP; writes a report.
//!
//! ```text
//! driver, one thread ─▶ loopback ─┬▶ keyway serve            tokens, the engine
//!                                 ├▶ axum by hand            tokens, the same engine
//!                                 ├▶ PocketBase              tokens and a rule, SQLite
//!                                 └▶ webdis ─▶ Redis         a password
//! cargo build --release -p cli
//! cargo run --release -p bench --bin server -- [--rounds 24] [--seconds 0.4] [--only WORD]
//!                         [--who WORD] [--requests 1000000] [--report FILE]
//! ```
//!
//! Every server is a process of its own, and must give the same answers before anything is
//! measured. They take turns, so that a slow moment of the machine falls on all alike. After the
//! comparison, `keyway serve` alone: its memory over many requests, watchers, overload. A peer that
//! this machine lacks has an empty column; nothing else changes.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

#[path = "server/agree.rs"]
mod agree;
#[path = "server/by_hand.rs"]
mod by_hand;
#[path = "run_time/contender.rs"]
#[allow(dead_code, reason = "servers contend in another way")]
mod contender;
#[path = "server/drive.rs"]
mod drive;
#[path = "fair.rs"]
#[allow(dead_code)]
mod fair;
#[path = "run_time/hand_written.rs"]
#[allow(dead_code, reason = "servers use a part of it")]
mod hand_written;
#[path = "server/histogram.rs"]
mod histogram;
#[path = "server/keyway_serve.rs"]
mod keyway_serve;
#[path = "server/lines.rs"]
mod lines;
#[path = "server/memory.rs"]
mod memory;
#[path = "run_time/nearest.rs"]
mod nearest;
#[path = "run_time/notes.rs"]
#[allow(dead_code, reason = "servers are asked fewer questions")]
mod notes;
#[path = "server/overload.rs"]
mod overload;
#[path = "server/pocketbase.rs"]
mod pocketbase;
#[path = "server/process.rs"]
mod process;
#[path = "server/report.rs"]
mod report;
#[path = "server/served.rs"]
mod served;
#[path = "server/settings.rs"]
mod settings;
#[path = "native/ulid.rs"]
mod ulid;
#[path = "server/watchers.rs"]
mod watchers;
#[path = "server/webdis.rs"]
mod webdis;
#[path = "server/wire.rs"]
mod wire;

use served::Entrant;
use settings::Settings;

/// Us first, then the handler by hand, then the peers.
const ENTRANTS: [Entrant; 4] = [
    Entrant { name: "Keyway", start: keyway_serve::start },
    Entrant { name: "by hand", start: by_hand::start },
    Entrant { name: "PocketBase", start: pocketbase::start },
    Entrant { name: "webdis", start: webdis::start },
];

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if(|word| word == by_hand::HIDDEN).is_some() {
        let folder = arguments.next().expect("a folder for the server by hand");
        return by_hand::serve(folder.as_ref());
    }
    let settings = Settings::from_arguments(arguments);
    // One thread: on a small machine the driver must leave room for those it drives.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(run(&settings));
}

async fn run(settings: &Settings) {
    let mut text = report::head(settings);
    if settings.wants(&lines::names()) {
        text += &report::comparison(settings, &lines::run(settings).await);
    }
    if settings.wants(&["memory"]) {
        text += &memory::run(settings).await;
    }
    if settings.wants(&["watchers"]) {
        text += &watchers::run(settings).await;
    }
    if settings.wants(&["overload"]) {
        text += &overload::run(settings).await;
    }
    println!("\n{text}");
    std::fs::write(&settings.report, text).unwrap();
}
