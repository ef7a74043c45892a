//! A process that calls patterns from many threads is killed at any moment; opened anew, the store
//! holds every change that was acknowledged, all that each call does or nothing of it, and indexes
//! that are true.
//!
//! ```text
//! parent ─spawns itself─▶ child: 6 to 8 threads call patterns, and print what they are answered
//!    └─ kill -9, 1 to 300 ms after the first answer ─▶ open ─▶ compare, scrub ─▶ next round
//! ```
//!
//! Each thread has at most one call under way: at the kill it may have happened or not.
//! `KEYWAY_KILLS` sets the number of kills, `KEYWAY_SEED` the seed.

#![cfg(all(feature = "engine", feature = "files", feature = "sqlite", unix))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "../common/mod.rs"]
mod common;
mod compare;
mod work;

use common::{Folder, kill};
use compare::Model;
use data::ErrorKind;
use data::store::Durability;
use serde_json::{Value as Json, json};
use std::path::Path;
use work::{ACCOUNTS, Kind, Round, call};

/// Rounds in one folder, so that what one recovery leaves behind meets the next.
const ROUNDS_IN_A_FOLDER: u32 = 8;

/// What a call was answered: its row, or the kind of error that changed nothing.
type Answered = Result<Json, String>;

#[test]
fn patterns_survive_kills_on_the_engine() {
    survive_kills(Kind::Engine, 40);
}

#[test]
fn patterns_survive_kills_on_files() {
    survive_kills(Kind::Files, 200);
}

#[test]
fn patterns_survive_kills_on_sqlite() {
    survive_kills(Kind::Sqlite, 200);
}

fn survive_kills(kind: Kind, kills: u64) {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let kills = number("KEYWAY_KILLS").unwrap_or(kills);
    let seed = number("KEYWAY_SEED").unwrap_or(0x7061_7474);
    println!("{} KEYWAY_SEED={seed} KEYWAY_KILLS={kills}", kind.name());
    let mut folder = Folder::new();
    let mut model = Model::default();
    let (mut acknowledged, mut changed) = (0, 0);
    for number in 0..kills {
        let number = u32::try_from(number).unwrap();
        if number.is_multiple_of(ROUNDS_IN_A_FOLDER) {
            folder = Folder::new();
            model = Model::default();
        }
        let durability = match (number / ROUNDS_IN_A_FOLDER).is_multiple_of(2) {
            true => Durability::Process,
            false => Durability::Power,
        };
        let round = Round::new(kind, seed, number, durability);
        let acks = kill_once(&round, folder.path());
        acknowledged += acks.iter().map(Vec::len).sum::<usize>();
        changed += acks.iter().flatten().filter(|answer| answer.is_ok()).count();
        model.compare(&round, folder.path(), &acks);
    }
    println!("{kills} kills, {acknowledged} answers, {changed} of them changes");
    assert!(changed as u64 > kills, "the children hardly changed anything");
}

/// Lets a child run and kills it; what each thread was answered, call by call.
fn kill_once(round: &Round, folder: &Path) -> Vec<Vec<Answered>> {
    let kind = round.kind.name();
    let told = format!("{} {} {} {kind}", round.seed, round.number, round.durability);
    let seed = round.seed ^ u64::from(round.number);
    let test = "child_calls_until_it_is_killed";
    let acknowledged = kill::kill_once(test, &told, folder, round.threads, seed);
    let answered = |line: &String| {
        let answer: Json = serde_json::from_str(line).unwrap();
        match answer["no"].as_str() {
            Some(kind) => Err(kind.to_string()),
            None => Ok(answer),
        }
    };
    acknowledged.iter().map(|lines| lines.iter().map(answered).collect()).collect()
}

/// The child; nothing when it is run as a test.
#[test]
fn child_calls_until_it_is_killed() {
    let Some((told, folder)) = kill::told() else { return };
    let told: Vec<&str> = told.split(' ').collect();
    let durability = Durability::from_name(told[2]).unwrap();
    let kind = Kind::from_name(told[3]);
    let round = Round::new(kind, told[0].parse().unwrap(), told[1].parse().unwrap(), durability);
    let (runtime, ..) = round.open(&folder);
    for account in 0..ACCOUNTS {
        let account = json!({"ledger": "main", "account": account.to_string()});
        call(&runtime, "child", "open_account", &account).unwrap();
    }
    std::thread::scope(|scope| {
        for thread in 0..round.threads {
            let runtime = &runtime;
            scope.spawn(move || {
                for number in 0.. {
                    let step = round.step(thread, number);
                    let (pattern, arguments) = step.call();
                    let answer = match call(runtime, &step.caller(), pattern, &arguments) {
                        Ok(answer) => {
                            json!({"id": answer["row"]["job_id"], "total": answer["total"]})
                        }
                        Err(error) if is_expected(error.kind()) => {
                            json!({"no": error.kind().name()})
                        }
                        // Whatever else goes wrong ends the child by itself, which fails the test.
                        Err(error) => {
                            eprintln!("{step:?} {pattern} {arguments}: {error} {error:?}");
                            std::process::exit(1);
                        }
                    };
                    kill::acknowledge(thread, answer);
                }
            });
        }
    });
}

/// What others, or an empty account, may be the reason for; nothing has changed then.
fn is_expected(kind: ErrorKind) -> bool {
    use ErrorKind::{Busy, Conflict, NotFound, Taken};
    matches!(kind, Busy | Conflict | NotFound | Taken)
}
