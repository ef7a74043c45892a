//! What a thousand who watch a list cost while nothing happens, and how fast they hear of a change.

use super::drive::{Measured, Questions, Until, Work, fill, turn};
use super::fair::median;
use super::keyway_serve::start_with;
use super::process::{memory, processor_time};
use super::served::{READER, Server, numbered};
use super::settings::Settings;
use super::ulid::ulid;
use super::wire::Connection;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

const WATCHERS: usize = 1_000;
/// How long nothing happens.
const IDLE: Duration = Duration::from_secs(10);

pub async fn run(settings: &Settings) -> String {
    let server = start_with("durability=process&cache_mib=256", &[]);
    let questions = Questions::new(&server);
    fill(&server).await;
    let process = server.ids()[0];
    let mut without = reads(settings, &server, &questions).await;
    let held_before = memory(process);
    let mut watchers = watch(&server).await;
    let held = memory(process).saturating_sub(held_before);
    let idle_before = processor_time(&[process]);
    tokio::time::sleep(IDLE).await;
    let idle = processor_time(&[process]) - idle_before;
    let with = median(&reads(settings, &server, &questions).await);
    let vain: usize = watchers.iter_mut().map(Connection::answers_since).sum();
    let heard = tell_all(&server, &mut watchers).await;
    drop(watchers);
    without.extend(reads(settings, &server, &questions).await);
    let without = median(&without);
    let mut text = HEAD.to_string();
    let kibibytes = held as f64 / 1024.0 / WATCHERS as f64;
    let (milliseconds, heard) = (idle.as_millis(), heard.as_millis());
    writeln!(text, "| memory a watcher | {kibibytes:.1} KiB |").unwrap();
    writeln!(text, "| processor time in 10 s in which nothing happens | {milliseconds} ms |")
        .unwrap();
    writeln!(text, "| answers they were sent though nothing had changed | {vain} |").unwrap();
    writeln!(text, "| reads a second without them, 16 connections | {without:.0} |").unwrap();
    writeln!(text, "| reads a second with them | {with:.0} ({:.2}) |", with / without).unwrap();
    writeln!(text, "| until all of them have heard of a new note | {heard} ms |").unwrap();
    println!("watchers: {kibibytes:.1} KiB each, {milliseconds} ms in 10 s");
    text
}

async fn reads(settings: &Settings, server: &Server, questions: &Arc<Questions>) -> Vec<f64> {
    let mut rates = Vec::new();
    for _ in 0..settings.rounds {
        let until = Until::Passed(settings.turn);
        let measured: Measured = turn(server, questions, &[Work::Read], 16, until).await;
        assert_eq!(measured.errors + measured.shed, 0, "reads stayed without an answer");
        rates.push(measured.rate());
    }
    rates
}

/// Opens the streams; all have their first answer.
async fn watch(server: &Server) -> Vec<Connection> {
    let list = String::from_utf8(server.speaks.list(READER)).unwrap();
    let request = list.replacen(" HTTP/1.1", "?watch HTTP/1.1", 1).into_bytes();
    let mut watchers = Vec::new();
    for _ in 0..WATCHERS {
        let mut watcher = Connection::open(server.address).await;
        watcher.follow(&request).await.unwrap();
        watchers.push(watcher);
    }
    watchers
}

/// Makes a note of those that are watched; how long it takes until the last has heard.
async fn tell_all(server: &Server, watchers: &mut [Connection]) -> Duration {
    let mut note = numbered(super::served::NOTES + 2);
    note.author = READER;
    let mut connection = Connection::open(server.address).await;
    let begun = Instant::now();
    let response = connection.ask_whole(&server.speaks.create(&note)).await.unwrap();
    assert_eq!(response.status, 200, "{}", response.text());
    let id = ulid(note.note_id);
    for watcher in watchers {
        watcher.next_event(id.as_bytes()).await.unwrap();
    }
    begun.elapsed()
}

const HEAD: &str = "
## A thousand watchers

Each has a connection and watches the newest 20 of the same 10,000 notes (`/newest_notes?watch`).

| | |
|---|---:|
";
