//! A race on one store: contenders do the same work in turns, and answer the same before.
//!
//! ```text
//! entrants with the same notes ─▶ agree ─▶ line by line, round by round ─▶ report
//! ```
//!
//! Every contender is driven by the same run time with the same number of callers, each a task that
//! waits for its answer before it asks again. What is asked, and the notes that are inserted, are
//! made before the clock starts.

pub mod report;
mod turn;

use crate::fair;
use crate::notes::{Note, Numbers, Page, any_key, note};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use turn::Turn;

pub type Work<'w, T> = Pin<Box<dyn Future<Output = T> + Send + 'w>>;

/// What every contender must be able to do.
pub trait Contender: Send + Sync {
    /// Notes of one user.
    fn load(&self, notes: Vec<Note>) -> Work<'_, ()> {
        Box::pin(async move {
            for note in notes {
                self.insert(note).await;
            }
        })
    }
    /// One small commit: a note and its two index entries.
    fn insert(&self, note: Note) -> Work<'_, ()>;
    /// One note by its key.
    fn get(&self, author: u64, note_id: u128) -> Work<'_, Option<Note>>;
    /// The newest notes of a user, and whether more follow.
    fn page(&self, author: u64, rows: usize) -> Work<'_, Page>;
    /// The newest notes with a tag, through the index, and whether more follow.
    fn tagged<'w>(&'w self, tag: &'w str, rows: usize) -> Work<'w, Page>;
    /// The same two as they are measured, which is how many rows they answer: whoever has rows of
    /// its own, as an application would use them, need not turn them into notes.
    fn page_rows(&self, author: u64, rows: usize) -> Work<'_, usize> {
        Box::pin(async move { self.page(author, rows).await.notes.len() })
    }
    /// See [`page_rows`](Contender::page_rows).
    fn tagged_rows<'w>(&'w self, tag: &'w str, rows: usize) -> Work<'w, usize> {
        Box::pin(async move { self.tagged(tag, rows).await.notes.len() })
    }
    /// Nothing more is asked.
    #[allow(dead_code, reason = "a server ends with its callers")]
    fn close(&self) -> Work<'_, ()> {
        Box::pin(async {})
    }
}

/// What the callers of a line do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Get,
    Page,
    Tagged,
    Mixed,
    Commit,
}

impl Kind {
    /// Whether something is written.
    pub fn writes(self) -> bool {
        matches!(self, Kind::Mixed | Kind::Commit)
    }
}

/// A line of the report.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    pub name: &'static str,
    pub kind: Kind,
    pub callers: usize,
}

const fn line(name: &'static str, kind: Kind, callers: usize) -> Line {
    Line { name, kind, callers }
}

/// Reads first, while all have the same notes.
pub const LINES: [Line; 9] = [
    line("get, 1 caller", Kind::Get, 1),
    line("get, 16 callers", Kind::Get, 16),
    line("page of 50, 1 caller", Kind::Page, 1),
    line("page of 50, 16 callers", Kind::Page, 16),
    line("index look-up and 20 records, 1 caller", Kind::Tagged, 1),
    line("index look-up and 20 records, 16 callers", Kind::Tagged, 16),
    line("nine gets and a commit, 16 callers", Kind::Mixed, 16),
    line("commit with two indexes, 1 caller", Kind::Commit, 1),
    line("commit with two indexes, 16 callers", Kind::Commit, 16),
];

/// How much longer a turn takes in which something is written.
pub const WRITES_LONGER: u32 = 3;

/// What a run does, as its arguments say.
#[derive(Debug)]
pub struct Settings {
    /// Notes of the data set.
    pub notes: u64,
    /// Turns of each contender at each line.
    pub rounds: usize,
    /// How long a turn takes in which nothing is written.
    pub turn: Duration,
    /// Only lines with this in their name.
    pub only: String,
    /// Where the report goes.
    pub report: PathBuf,
}

impl Settings {
    /// The settings of a run on this store.
    pub fn from_arguments(store: &str, notes: u64) -> Settings {
        let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports");
        let mut settings = Settings {
            notes,
            // Many short turns: what else the machine does meets all contenders alike.
            rounds: 24,
            turn: Duration::from_millis(200),
            only: String::new(),
            report: reports.join(format!("{store}.md")),
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let value = arguments.next().unwrap_or_else(|| panic!("{name} needs a value"));
            match name.as_str() {
                "--notes" => settings.notes = value.parse().unwrap(),
                "--rounds" => settings.rounds = value.parse().unwrap(),
                "--seconds" => settings.turn = Duration::from_secs_f64(value.parse().unwrap()),
                "--only" => settings.only = value,
                "--report" => settings.report = PathBuf::from(value),
                _ => panic!("there is no {name}"),
            }
        }
        settings
    }

    /// How long a turn of this kind takes. What a contender puts off when it is called to write
    /// must be done within its turn, or it is not measured.
    pub fn turn_of(&self, kind: Kind) -> Duration {
        self.turn * if kind.writes() { WRITES_LONGER } else { 1 }
    }

    /// The notes of the data set, a user at a time.
    pub fn users(&self) -> impl Iterator<Item = Vec<Note>> + use<> {
        let notes = self.notes;
        let each = crate::notes::NOTES_PER_USER;
        (0..notes)
            .step_by(each as usize)
            .map(move |first| (first..(first + each).min(notes)).map(|n| note(n, notes)).collect())
    }
}

/// A contender in the race.
pub struct Entrant {
    pub name: &'static str,
    pub store: Arc<dyn Contender>,
}

/// What was measured on one line: for each contender a rate a round.
pub struct Measured {
    pub line: Line,
    pub rates: Vec<Vec<f64>>,
}

/// Measures the lines that are asked for. `fresh` is the number of the next note nobody has stored.
pub async fn run(
    settings: &Settings,
    entrants: &[Entrant],
    lines: impl Iterator<Item = Line>,
    fresh: &AtomicU64,
) -> Vec<Measured> {
    let mut measured = Vec::new();
    for line in lines.filter(|line| line.name.contains(&settings.only)) {
        let mut rates = vec![Vec::new(); entrants.len()];
        for round in 0..settings.rounds {
            for who in fair::order(entrants.len(), round) {
                if line.kind.writes() {
                    fair::write_back();
                    fair::wait_for_quiet();
                }
                let turn = Turn { settings, line, fresh, seed: round as u64 };
                rates[who].push(turn.take(&entrants[who].store).await);
            }
        }
        let shown: Vec<String> =
            rates.iter().map(|rates| format!("{:.0}", fair::median(rates))).collect();
        println!("{}: {}", line.name, shown.join(" | "));
        measured.push(Measured { line, rates });
    }
    measured
}

/// All answer the same to the same questions, also after a commit of each.
pub async fn agree(entrants: &[Entrant], notes: u64) {
    let mut numbers = Numbers(7);
    let extra = note(notes + 1_000_000_000, notes);
    for entrant in entrants {
        entrant.store.insert(extra.clone()).await;
    }
    for _ in 0..20 {
        let (author, note_id) = any_key(&mut numbers, notes);
        let tag = note(numbers.below(notes), notes).tag;
        let ours = &entrants[0].store;
        let got = ours.get(author, note_id).await;
        let page = ours.page(author, 50).await;
        let tagged = ours.tagged(&tag, 20).await;
        assert!(got.is_some() && page.notes.len() == 50 && !tagged.notes.is_empty());
        for Entrant { name, store } in entrants {
            assert_eq!(store.get(author, note_id).await, got, "{name}");
            assert_eq!(store.get(author, note_id + 1).await, None, "{name}");
            for (found, expected) in
                [(store.page(author, 50).await, &page), (store.tagged(&tag, 20).await, &tagged)]
            {
                assert_eq!(found.notes, expected.notes, "{name}");
                // Naive code guesses.
                assert!(*name == "naive" || found.more == expected.more, "{name}");
            }
            assert_eq!(store.get(extra.author, extra.note_id).await.as_ref(), Some(&extra));
        }
    }
}
