//! Keyway on Redis beside expert code on the driver, and beside naive code; prints ratios.
//!
//! ```text
//! server of its own ─▶ one database a contender, the same notes ─▶ turns, one after the other
//! cargo run --release -p bench --bin redis -- [notes] [rounds] [seconds a turn]
//! ```
//!
//! The expert keeps the same Hashes and sorted sets with the same versions, checks, type guard and
//! outcomes: one script for an insert, pipelines for reads, one connection for all callers. The
//! naive one does what the applications' first documents did: commands one after the other, and a
//! read for each row. Contenders take turns within a line and the median counts.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

#[path = "redis/expert.rs"]
mod expert;
#[path = "redis/naive.rs"]
mod naive;
#[path = "../run_time/notes.rs"]
#[allow(dead_code)]
mod notes;
#[allow(dead_code, reason = "the server of this comparison ends before its callers do")]
#[path = "postgres/typed.rs"]
mod typed;

use notes::{Note, Numbers, any_key, note};
use servers::redis::RedisServer;
use std::fmt::Write as _;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub type Work<'w, T> = Pin<Box<dyn Future<Output = T> + Send + 'w>>;

/// What every contender must be able to do.
pub trait Contender: Send + Sync {
    fn insert(&self, note: Note) -> Work<'_, ()>;
    fn get(&self, author: u64, note_id: u128) -> Work<'_, Option<Note>>;
    fn page(&self, author: u64, rows: usize) -> Work<'_, Vec<Note>>;
    fn tagged<'w>(&'w self, tag: &'w str, rows: usize) -> Work<'w, Vec<Note>>;
}

/// What the callers of a line do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Commit,
    Get,
    Page,
    Tagged,
    Mixed,
}

const LINES: [(&str, Line, usize); 9] = [
    ("commit with two indexes, 1 caller", Line::Commit, 1),
    ("commit with two indexes, 16 callers", Line::Commit, 16),
    ("get, 1 caller", Line::Get, 1),
    ("get, 16 callers", Line::Get, 16),
    ("page of 50, 1 caller", Line::Page, 1),
    ("page of 50, 16 callers", Line::Page, 16),
    ("index look-up and 20 records, 1 caller", Line::Tagged, 1),
    ("index look-up and 20 records, 16 callers", Line::Tagged, 16),
    ("nine gets and a commit, 16 callers", Line::Mixed, 16),
];

const NAMES: [&str; 3] = ["Keyway", "expert", "naive"];

fn main() {
    let number = |at: usize, or: f64| {
        std::env::args().nth(at).map_or(or, |text| text.parse().expect("a number"))
    };
    let (notes, rounds, seconds) = (number(1, 20_000.0) as u64, number(2, 5.0), number(3, 0.5));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let server = RedisServer::start(&[]);
    let contenders = runtime.block_on(load(&server, notes));
    let turns = Turns { notes, rounds: rounds as usize, seconds };
    let mut report = String::new();
    // Where only the work itself is left, and on a disk that is waited for before each answer.
    let lines = runtime.block_on(turns.run(&contenders, &AtomicU64::new(notes)));
    write!(report, "## nothing kept on disk\n\n{lines}\n").unwrap();
    server.cli(&["CONFIG", "SET", "appendfsync", "always"]);
    server.cli(&["CONFIG", "SET", "appendonly", "yes"]);
    while server.cli(&["INFO", "persistence"]).contains("aof_rewrite_in_progress:1") {
        std::thread::sleep(Duration::from_millis(100));
    }
    let lines = runtime.block_on(turns.run(&contenders, &AtomicU64::new(notes + 2_000_000_000)));
    write!(report, "## appendfsync always\n\n{lines}\n").unwrap();
    println!("{report}");
}

/// Every contender with the same notes.
async fn load(server: &RedisServer, notes: u64) -> Vec<Arc<dyn Contender>> {
    let url = |database: usize| format!("redis://{}/{database}", server.address());
    let keyway = typed::open(&url(0)).await;
    let expert = expert::Expert::open(&url(1)).await;
    let naive = naive::Naive::open(&url(2)).await;
    for first in (0..notes).step_by(notes::NOTES_PER_USER as usize) {
        let last = (first + notes::NOTES_PER_USER).min(notes);
        keyway.load((first..last).map(|n| note(n, notes)).collect()).await;
        for number in first..last {
            naive.add(note(number, notes)).await;
            expert.add(note(number, notes)).await;
        }
    }
    let contenders: Vec<Arc<dyn Contender>> =
        vec![Arc::new(keyway), Arc::new(expert), Arc::new(naive)];
    agree(&contenders, notes).await;
    contenders
}

/// How much is measured.
struct Turns {
    notes: u64,
    rounds: usize,
    seconds: f64,
}

impl Turns {
    async fn run(&self, contenders: &[Arc<dyn Contender>], fresh: &AtomicU64) -> String {
        let Turns { notes, rounds, seconds } = *self;
        let mut table =
            format!("| | {} |\n|---|{}\n", NAMES.join(" | "), "---|".repeat(NAMES.len()));
        for (name, line, callers) in LINES {
            let mut rates = vec![Vec::new(); contenders.len()];
            for round in 0..rounds {
                for turn in 0..contenders.len() {
                    let who = (turn + round) % contenders.len();
                    let length = Duration::from_secs_f64(seconds);
                    let turn = Turn { line, callers, length, notes, seed: round as u64 };
                    rates[who].push(turn.take(&contenders[who], fresh).await);
                }
            }
            let medians: Vec<f64> = rates.into_iter().map(median).collect();
            let shown = medians.iter().map(|rate| format!("{rate:.0} ({:.2})", medians[0] / rate));
            let shown: Vec<String> = shown.collect();
            writeln!(table, "| {name} | {} |", shown.join(" | ")).unwrap();
            println!("{name}: {}", shown.join(" | "));
        }
        table
    }
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// All answer the same to the same questions, also after a commit of each.
async fn agree(contenders: &[Arc<dyn Contender>], notes: u64) {
    let mut numbers = Numbers(7);
    let extra = note(notes + 1_000_000_000, notes);
    for contender in contenders {
        contender.insert(extra.clone()).await;
    }
    for _ in 0..20 {
        let (author, note_id) = any_key(&mut numbers, notes);
        let tag = note(numbers.below(notes), notes).tag;
        let first = (
            contenders[0].get(author, note_id).await,
            contenders[0].page(author, 50).await,
            contenders[0].tagged(&tag, 20).await,
        );
        assert!(first.0.is_some() && first.1.len() == 50 && !first.2.is_empty());
        for contender in contenders {
            assert_eq!(contender.get(author, note_id).await, first.0);
            assert_eq!(contender.page(author, 50).await, first.1);
            assert_eq!(contender.tagged(&tag, 20).await, first.2);
            assert_eq!(contender.get(extra.author, extra.note_id).await.as_ref(), Some(&extra));
        }
    }
}

struct Turn {
    line: Line,
    callers: usize,
    length: Duration,
    notes: u64,
    seed: u64,
}

impl Turn {
    /// Operations a second.
    async fn take(&self, contender: &Arc<dyn Contender>, fresh: &AtomicU64) -> f64 {
        let over = Arc::new(AtomicBool::new(false));
        let mut callers = Vec::new();
        for caller in 0..self.callers as u64 {
            let (contender, over) = (contender.clone(), over.clone());
            let (line, notes) = (self.line, self.notes);
            let first = fresh.fetch_add(100_000, Ordering::Relaxed);
            let numbers = Numbers(self.seed ^ (caller << 32));
            callers.push(tokio::spawn(async move {
                call(contender.as_ref(), line, notes, numbers, first, &over).await
            }));
        }
        tokio::time::sleep(self.length).await;
        over.store(true, Ordering::Relaxed);
        let mut sum = 0.0;
        for caller in callers {
            sum += caller.await.unwrap();
        }
        sum
    }
}

async fn call(
    contender: &dyn Contender,
    line: Line,
    notes: u64,
    mut numbers: Numbers,
    first: u64,
    over: &AtomicBool,
) -> f64 {
    let start = Instant::now();
    let mut done = 0;
    while !over.load(Ordering::Relaxed) {
        let (author, note_id) = any_key(&mut numbers, notes);
        match line {
            Line::Commit => contender.insert(note(first + done, notes)).await,
            Line::Mixed if done % 10 == 9 => contender.insert(note(first + done, notes)).await,
            Line::Get | Line::Mixed => assert!(contender.get(author, note_id).await.is_some()),
            Line::Page => assert_eq!(contender.page(author, 50).await.len(), 50),
            Line::Tagged => {
                let tag = note(numbers.below(notes), notes).tag;
                assert!(!contender.tagged(&tag, 20).await.is_empty());
            }
        }
        done += 1;
    }
    done as f64 / start.elapsed().as_secs_f64()
}
