//! The chat's AP-1, AP-2 and AP-10 on Cassandra, beside the same driver by hand; writes a report.
//!
//! ```text
//! server of its own ─▶ one keyspace a contender, the same messages ─▶ turns, one after the other
//! cargo run --release -p bench --bin cassandra -- [--rounds 45] [--seconds 0.5] [--only WORD]
//!                                                 [--report FILE]
//! ```

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

#[path = "cassandra/by_hand.rs"]
mod by_hand;
#[path = "cassandra/cores.rs"]
mod cores;
#[path = "fair.rs"]
#[allow(dead_code)]
mod fair;
#[path = "cassandra/report.rs"]
mod report;
#[path = "cassandra/typed.rs"]
mod typed;

use cores::Cores;
use fair::{median, quartiles};
use report::{APART, HEAD, LINES_HEAD, SHARED, SIZES_HEAD, SPENT_HEAD, WHY};
use servers::cassandra::Cassandra;
use std::fmt::Write as _;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The allocator of the program `keyway`, for both.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub type Work<'w, T> = Pin<Box<dyn Future<Output = T> + Send + 'w>>;

/// The clients of a contender.
pub type Clients = Vec<Arc<dyn Contender>>;

/// What a page of messages answers: texts, newest first, and whether more follow.
pub type Page = (Vec<String>, bool);

/// What every contender must be able to do.
pub trait Contender: Send + Sync {
    /// AP-1: writes a message.
    fn send(&self, channel: [u8; 16], content: String) -> Work<'_, ()>;
    /// AP-2: the newest 50 messages of a channel, with their texts alone.
    fn page(&self, channel: [u8; 16]) -> Work<'_, Page>;
    /// AP-2: the same messages as structs of its own; how many they are.
    fn read(&self, channel: [u8; 16]) -> Work<'_, usize>;
    /// AP-10: joins a guild, in both directions.
    fn join(&self, guild: [u8; 16]) -> Work<'_, ()>;
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Send,
    Page,
    Join,
}

const LINES: [(&str, Kind, usize, f64); 6] = [
    ("AP-1 send a message, 1 caller", Kind::Send, 1, 0.95),
    ("AP-1 send a message, 16 callers", Kind::Send, 16, 0.95),
    ("AP-2 newest 50, 1 caller", Kind::Page, 1, 0.95),
    ("AP-2 newest 50, 16 callers", Kind::Page, 16, 0.95),
    ("AP-10 join a guild, 1 caller", Kind::Join, 1, 0.9),
    ("AP-10 join a guild, 16 callers", Kind::Join, 16, 0.9),
];

/// Clients of each contender, with connections of their own, among whom callers are shared out.
const CLIENTS: u8 = 4;

/// Channels that pages are asked of, and messages in each.
const CHANNELS: u64 = 20;
const MESSAGES: u64 = 200;
/// The channel sizes at which a page is measured, and slices that the directory is told of besides:
/// as many as a channel of 10 M messages would have.
const SIZES: [(u64, u64); 5] =
    [(1_000, 0), (10_000, 0), (100_000, 0), (1_000_000, 0), (100_000, 2_000)];
/// Pages of each size in a round.
const PAGES: usize = 20;

/// How long each works on each line before anything is measured, twice.
const WARM_UP: Duration = Duration::from_secs(2);

/// What the kernel counts processor time in.
const TICK: Duration = Duration::from_millis(10);

struct Settings {
    rounds: usize,
    turn: Duration,
    /// Only lines with this in their name, and then nothing of growing channels.
    only: String,
    report: PathBuf,
}

fn settings() -> Settings {
    let report = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports/cassandra.md");
    let mut settings =
        Settings { rounds: 45, turn: Duration::from_millis(500), only: String::new(), report };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap_or_else(|| panic!("{name} needs a value"));
        match name.as_str() {
            "--rounds" => settings.rounds = value.parse().unwrap(),
            "--seconds" => settings.turn = Duration::from_secs_f64(value.parse().unwrap()),
            "--only" => settings.only = value,
            "--report" => settings.report = PathBuf::from(value),
            _ => panic!("there is no {name}"),
        }
    }
    settings
}

fn main() {
    let settings = settings();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let server = Cassandra::start();
    let text = runtime.block_on(run(&server, &settings));
    print!("{text}");
    std::fs::write(&settings.report, text).unwrap();
}

/// A version 1 UUID that no other number has.
pub fn channel(number: u64) -> [u8; 16] {
    let mut bytes = [0x80; 16];
    bytes[..8].copy_from_slice(&[0, 0, 0, 0, 0x29, 0xbb, 0x11, 0xe5]);
    bytes[8..].copy_from_slice(&(number | 0x8000_0000_0000_0000).to_be_bytes());
    bytes
}

/// A version 4 UUID that no other number has.
pub fn guild(number: u64) -> [u8; 16] {
    let mut bytes = channel(number);
    bytes[6] = 0x41;
    bytes
}

async fn run(server: &Cassandra, settings: &Settings) -> String {
    let mut entrants: [Clients; 2] = [Vec::new(), Vec::new()];
    for _ in 0..CLIENTS {
        entrants[0].push(Arc::new(typed::Typed::open(server).await));
    }
    for client in by_hand::ByHand::open(server, CLIENTS).await {
        entrants[1].push(Arc::new(client));
    }
    fill(&entrants).await;
    agree(server, &entrants).await;
    let mut text = HEAD.to_string();
    let cores = Cores::new();
    let fresh = Arc::new(AtomicU64::new(1_000_000));
    for (title, is_apart) in [(APART, true), (SHARED, false)] {
        cores.place(server.id(1).unwrap(), is_apart);
        text.push_str(title);
        text.push_str(&measure(server, &entrants, settings, &fresh).await);
    }
    if settings.only.is_empty() {
        text.push_str(&sizes(server, settings).await);
    }
    text
}

/// What both reach, line by line, and the processor time that they and the server use for it.
async fn measure(
    server: &Cassandra,
    entrants: &[Clients; 2],
    settings: &Settings,
    fresh: &Arc<AtomicU64>,
) -> String {
    // A server compiles itself while it is young, at the cost of whoever is served.
    let lines = || LINES.into_iter().filter(|(name, ..)| name.contains(&settings.only));
    for (_, kind, callers, _) in lines().chain(lines()) {
        for entrant in entrants {
            turn(entrant, kind, callers, WARM_UP, fresh).await;
        }
    }
    let processes = [std::process::id(), server.id(1).unwrap()];
    let (mut text, mut spent) = (LINES_HEAD.to_string(), SPENT_HEAD.to_string());
    for (name, kind, callers, target) in lines() {
        let mut rates = [Vec::new(), Vec::new()];
        let mut times = [[Duration::ZERO; 2]; 2];
        let mut calls = [0.0; 2];
        for round in 0..settings.rounds {
            // Each is first as often as the other.
            for place in [round % 2, 1 - round % 2] {
                let before = processes.map(processor_time);
                let rate = turn(&entrants[place], kind, callers, settings.turn, fresh).await;
                for (number, process) in processes.into_iter().enumerate() {
                    times[place][number] += processor_time(process) - before[number];
                }
                calls[place] += rate * settings.turn.as_secs_f64();
                rates[place].push(rate);
            }
        }
        let ratios: Vec<f64> = rates[0].iter().zip(&rates[1]).map(|(one, two)| one / two).collect();
        let [keyway, by_hand] = rates.map(|rates| median(&rates));
        let (low, high) = quartiles(&ratios);
        let ratio = median(&ratios);
        let lost = if ratio < target { " **lost**" } else { "" };
        writeln!(
            text,
            "| {name} | {keyway:.0} | {by_hand:.0} | {ratio:.2}{lost} | {low:.2}–{high:.2} | \
             {target} |"
        )
        .unwrap();
        let [[own, servers], [by_hand, by_hands]] =
            [0, 1].map(|place| times[place].map(|time| time.as_micros() as f64 / calls[place]));
        writeln!(spent, "| {name} | {own:.0} | {by_hand:.0} | {servers:.0} | {by_hands:.0} |")
            .unwrap();
    }
    text + &spent
}

/// Writes the messages that pages are asked of, and sees that both answer the same.
async fn fill(entrants: &[Clients; 2]) {
    for number in 0..CHANNELS {
        for message in 0..MESSAGES {
            for clients in entrants {
                clients[0].send(channel(number), format!("message {message} of {number}")).await;
            }
        }
    }
}

/// Sees that every client of both answers the same, and that both write the same.
async fn agree(server: &Cassandra, entrants: &[Clients; 2]) {
    for client in entrants.iter().flatten() {
        for number in 0..CHANNELS {
            let page = client.page(channel(number)).await;
            let text = |back: u64| format!("message {} of {number}", MESSAGES - 1 - back);
            assert_eq!(page, ((0..50).map(text).collect(), true), "channel {number}");
            assert_eq!(client.read(channel(number)).await, 50);
        }
    }
    for clients in entrants {
        for (number, client) in clients.iter().enumerate() {
            client.join(guild(number as u64)).await;
        }
    }
    let joined = |place: &str| {
        ["guild_members", "user_guilds"].map(|table| {
            let columns = "CAST(guild_id AS text), CAST(user_id AS text)";
            let mut rows = server.cql(&format!("SELECT {columns} FROM {place}.{table}"));
            rows.sort_unstable();
            rows
        })
    };
    let rows = joined(typed::PLACE);
    assert_eq!(rows, joined(by_hand::PLACE), "both joined the same");
    assert!(rows.iter().all(|rows| rows.len() == usize::from(CLIENTS)), "{rows:?}");
}

/// How many calls a second all callers make together.
async fn turn(
    clients: &Clients,
    kind: Kind,
    callers: usize,
    length: Duration,
    fresh: &Arc<AtomicU64>,
) -> f64 {
    let begun = Instant::now();
    let mut tasks = Vec::new();
    for caller in 0..callers as u64 {
        let client = clients[caller as usize % clients.len()].clone();
        let fresh = fresh.clone();
        tasks.push(tokio::spawn(async move {
            let mut done = 0_u64;
            while begun.elapsed() < length {
                let number = fresh.fetch_add(1, Ordering::Relaxed);
                match kind {
                    Kind::Send => {
                        // Channels of their own, so that those that are read stay as they are.
                        let content = format!("message {number}, as long as people write them");
                        client.send(channel(1_000 + number % 500), content).await;
                    }
                    Kind::Page => {
                        let messages = client.read(channel((caller + done) % CHANNELS)).await;
                        assert_eq!(messages, 50);
                    }
                    Kind::Join => client.join(guild(number)).await,
                }
                done += 1;
            }
            done
        }));
    }
    let mut done = 0;
    for task in tasks {
        done += task.await.unwrap();
    }
    done as f64 / begun.elapsed().as_secs_f64()
}

/// The processor time that a process has used.
fn processor_time(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // Behind the name, which may have blanks: user time and system time are the 12th and 13th.
    let (_, numbers) = stat.rsplit_once(')').unwrap();
    let ticks = numbers.split_whitespace().skip(11).take(2);
    TICK * ticks.map(|number| number.parse::<u32>().unwrap()).sum::<u32>()
}

/// What a page costs in channels of several sizes, of which Keyway alone is asked, in turns.
async fn sizes(server: &Cassandra, settings: &Settings) -> String {
    let mut text = SIZES_HEAD.to_string();
    let chat = typed::Typed::open(server).await;
    let of = |number: usize| channel(50_000 + number as u64);
    for (number, (messages, slices)) in SIZES.into_iter().enumerate() {
        chat.fill(of(number), messages).await;
        chat.pretend_slices(server, of(number), slices);
    }
    // What was written is put in order before anything is measured.
    fair::wait_for_quiet();
    let mut times = [const { Vec::new() }; SIZES.len()];
    // Nobody is measured in the first round.
    for round in 0..=settings.rounds {
        for number in fair::order(SIZES.len(), round) {
            for _ in 0..PAGES {
                let begun = Instant::now();
                assert_eq!(chat.read(of(number)).await, 50);
                if round > 0 {
                    times[number].push(begun.elapsed().as_secs_f64());
                }
            }
        }
    }
    let first = median(&times[0]);
    for ((messages, slices), times) in SIZES.into_iter().zip(times) {
        let directory = match slices {
            0 => "as many as there are".to_string(),
            more => format!("{more} more, as 10 M messages would have"),
        };
        let ratio = median(&times) / first;
        writeln!(text, "| {messages} | {directory} | {ratio:.2} |").unwrap();
    }
    text.push_str(WHY);
    text
}
