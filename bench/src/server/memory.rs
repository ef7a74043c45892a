//! Whether `keyway serve` keeps something of every request: its memory over a million of them.

use super::drive::{Questions, Until, Work, fill, turn};
use super::keyway_serve::start_with;
use super::process::memory;
use super::settings::Settings;
use std::fmt::Write as _;

/// Nothing is stored: what grows is the server's own.
const READS: [Work; 5] = [Work::Read, Work::Read, Work::List, Work::Read, Work::Read];

/// Of ten requests, one makes a note: the engine has more to hold each time.
const MIX: [Work; 10] = [
    Work::Create,
    Work::Read,
    Work::Read,
    Work::Read,
    Work::List,
    Work::Read,
    Work::Read,
    Work::List,
    Work::Read,
    Work::Read,
];

/// The parts of all requests after which it is looked at.
const PARTS: [u64; 5] = [10, 25, 50, 75, 100];

/// The engine's cache is small, so that it is soon full: what grows then is not it.
const STORE: &str = "durability=process&cache_mib=16";

pub async fn run(settings: &Settings) -> String {
    let reads = held(settings, "reads", &READS).await;
    let mix = held(settings, "mix", &MIX).await;
    let mut text = HEAD.to_string();
    for (at, part) in PARTS.into_iter().enumerate() {
        let asked = settings.requests * part / 100;
        let of = |held: &[f64]| format!("{:.1} | {:.2}", held[at], held[at] / held[0]);
        writeln!(text, "| {asked} | {} | {} |", of(&reads), of(&mix)).unwrap();
    }
    text
}

/// MiB after each part of the requests.
async fn held(settings: &Settings, name: &str, works: &'static [Work]) -> Vec<f64> {
    let server = start_with(STORE, &[]);
    let questions = Questions::new(&server);
    fill(&server).await;
    let process = server.ids()[0];
    let mut asked = 0;
    let mut held = Vec::new();
    for part in PARTS {
        let upto = settings.requests * part / 100;
        let measured = turn(&server, &questions, works, 16, Until::Asked(upto - asked)).await;
        assert_eq!(measured.errors + measured.shed, 0, "requests stayed without an answer");
        asked = upto;
        let now = memory(process) as f64 / f64::from(1 << 20);
        println!("memory after {asked} requests, {name}: {now:.1} MiB");
        held.push(now);
    }
    held
}

const HEAD: &str = "
## Memory

Of `keyway serve` after so many requests over 16 connections. On the left four of five read a note
and one lists 20; on the right one of ten makes a note besides, so that the engine has more to hold.
Its cache is 16 MiB here, so that it is soon full.

| requests | reads alone, MiB | of the first | with notes made, MiB | of the first |
|---|---:|---:|---:|---:|
";
