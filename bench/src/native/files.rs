//! Keyway on a tree of files beside plain files by an expert, and beside naive code; writes a
//! report.
//!
//! ```text
//! cargo run --release -p bench --bin files -- [--notes 20000] [--rounds 24] [--seconds 0.2]
//!                                             [--only WORD] [--report FILE]
//! ```

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

#[path = "files/expert.rs"]
mod expert;
#[path = "../fair.rs"]
#[allow(dead_code)]
mod fair;
#[path = "files/journal.rs"]
mod journal;
#[path = "files/naive.rs"]
mod naive;
#[path = "files/note_file.rs"]
mod note_file;
#[path = "../run_time/notes.rs"]
#[allow(dead_code)]
mod notes;
mod race;
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

const NAMES: [&str; 4] = ["Keyway", "Keyway, no cache", "expert", "naive"];

fn main() {
    let settings = Settings::from_arguments("files", 20_000);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder = std::env::temp_dir().join(format!("files_{}", std::process::id()));
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
                let place = folder.join(format!("{number}"));
                let store = open(number, &place, sync).await;
                entrants.push(Entrant { name, store });
            }
            if sync == Sync::Process {
                for notes in settings.users() {
                    for entrant in &entrants {
                        entrant.store.load(notes.clone()).await;
                    }
                }
                race::agree(&entrants, settings.notes).await;
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
    let columns = Columns { names: NAMES.to_vec(), expert: 2, naive: 3, alike: &[] };
    report::write(&settings, &columns, &parts, (HEAD, WHY));
    std::fs::remove_dir_all(&folder).unwrap();
}

async fn open(number: usize, place: &Path, sync: Sync) -> Arc<dyn Contender> {
    let durability = if sync == Sync::Power { "power" } else { "process" };
    let url = |cache: &str| format!("files:{}?durability={durability}{cache}", place.display());
    match number {
        0 => Arc::new(typed::open(&url("")).await),
        1 => Arc::new(typed::open(&url("&cache_mib=0")).await),
        2 => Arc::new(expert::Expert::open(place, sync)),
        _ => Arc::new(naive::Naive::open(place, sync)),
    }
}

const HEAD: &str = "\
# A tree of files, beside files by hand

`cargo run --release -p bench --bin files` makes this report. All contenders answer the same before
they are measured.

- **Keyway**: typed calls of `notes.toml` on `files:`, with its cache of 64 MiB, which holds every
  row of this tree. A row comes from the cache if the disk says of its file what it said before: one
  question to the disk. An insert checks that the key is free and that no file lies there, keeps a
  version and a hash, and remembers its outcome.
- **Keyway, no cache**: the same, but every row is read from its file, hashed and parsed.
- **expert**: the same for these notes alone. A file a note, written beside and renamed; a journal
  with a checksum, synced once for all who wait; checkpoints that sync the tree and keep versions
  and hashes. Order and indexes are in memory; a note is read from its file, compared with what the
  disk said of it and with its hash, so that what somebody edits is respected. The same checks,
  versions and remembered calls.
- **naive**: what an application's first version looks like. A file a note, a line added to a file
  a tag and to one a place; a page lists the directory and reads every note, a look-up reads the
  file of its tag and then every note. No journal, no versions, no checks: a crash leaves half of an
  insert or half of a file. Where the disk is waited for, it syncs each of its files on its own.
";

const WHY: &str = "\
## Where lines are lost

Lines about commits have wide spreads: they share the disk with everything else that is written.

- *Commits beside the expert*: the disk is asked the same, and a little more: whether the way to a
  file leads through no link, and whether nothing lies where its directories must. Every key has a
  place in one order for all collections, and what becomes of a file is looked up by its path; the
  expert has one map a question. The rest is the call itself: who may make it, and a batch of
  encoded rows between the call and the store.
- *Gets between commits that are synced, beside the expert*: files are placed by another thread, so
  that a sync begins while few commits wait: about four, of sixteen callers. The expert places files
  between its syncs, so that presumably more wait. On a disk that syncs slowly it is turned round.
- *Commits beside naive code that waits for no disk*: it writes no journal, so that it writes a
  note once where the others write it twice, and keeps nothing in order. It is unsafe.
- *Keyway without its cache* beside the expert: a file is checked, hashed and parsed by both; Keyway
  makes a stored record of the JSON and the struct of that.
";
