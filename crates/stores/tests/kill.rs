//! A process that commits from many threads is killed at any moment; the store is opened anew and
//! holds every acknowledged commit, whole, once, and nothing else.
//!
//! ```text
//! parent ─spawns itself─▶ child: 6 to 16 threads commit batches, and say so on a pipe
//!    └─ kill -9, 1 to 300 ms after the first acknowledgement ─▶ open ─▶ compare ─▶ next round
//! ```
//!
//! What a batch holds follows from the seed, the round, the thread and its number alone, so the
//! parent knows what must be there. The moment of the kill is the only thing left to chance.
//! `KEYWAY_KILLS` sets the number of kills for each durability.

#![cfg(all(feature = "engine", unix))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{Folder, NOW, add, batch, check, id, key, kill, put, space, totals, wait};
use data::clock::SeededRandom;
use data::store::{Batch, Durability, End, Expect, Key, Row, Scan, Store, Write};
use std::path::Path;
use stores::engine::{EngineStore, Options};

/// How far the time of a thread moves with each step: so far that outcomes change their table.
const STEP_MILLISECONDS: i64 = 2_000;
/// Steps after which an outcome may be forgotten.
const STEPS_KEPT: u32 = 300;

/// Rounds in one folder, so that what one recovery leaves behind meets the next.
const ROUNDS_IN_A_FOLDER: u32 = 8;

/// A round: which folder it goes on in, and what chance decides.
#[derive(Clone, Copy, Debug)]
struct Round {
    seed: u64,
    number: u32,
    durability: Durability,
    threads: u8,
}

impl Round {
    fn new(seed: u64, number: u32, durability: Durability) -> Self {
        let random = SeededRandom::new(seed ^ u64::from(number).wrapping_mul(0x5851_f42d));
        let threads = 6 + u8::try_from(random.number() % 11).unwrap();
        Round { seed, number, durability, threads }
    }

    fn open(&self, folder: &Path) -> data::Result<EngineStore> {
        let durability = self.durability;
        EngineStore::open(folder, &Options { durability, ..Options::default() })
    }

    fn step(&self, thread: u8, number: u32) -> Step {
        Step { round: *self, thread, number }
    }
}

/// One batch of one thread.
#[derive(Clone, Copy, Debug)]
struct Step {
    round: Round,
    thread: u8,
    number: u32,
}

impl Step {
    fn random(&self) -> SeededRandom {
        let place = self.id_number().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        SeededRandom::new(self.round.seed ^ place)
    }

    fn id_number(&self) -> u64 {
        let round = u64::from(self.round.number) << 40;
        round + (u64::from(self.thread) << 32) + u64::from(self.number) + 1
    }

    fn name(&self) -> Vec<u8> {
        self.id_number().to_be_bytes().to_vec()
    }

    fn record(&self) -> (Key, Vec<u8>) {
        let random = self.random();
        let length = 8 + random.number() % 400;
        let value = (0..length).map(|_| u8::try_from(random.number() % 256).unwrap()).collect();
        (key(1, self.name()), value)
    }

    fn entries(&self) -> Vec<Key> {
        let random = self.random();
        let count = 1 + random.number() % 3;
        let entry = |_| {
            let mut name = random.number().to_be_bytes().to_vec();
            name.extend(self.name());
            key(2, name)
        };
        (0..count).map(entry).collect()
    }

    fn amount(&self) -> i64 {
        i64::try_from(self.random().number() % 100).unwrap() - 5
    }

    fn own(&self, space: u16) -> Key {
        let mut name = self.round.number.to_be_bytes().to_vec();
        name.push(self.thread);
        key(space, name)
    }

    /// The step whose record and entries this one deletes: every fourth, three steps before.
    fn deletes(&self) -> Option<Step> {
        let is_fourth = self.number.is_multiple_of(4) && self.number >= 3;
        is_fourth.then(|| Step { number: self.number - 3, ..*self })
    }

    /// Whether its record is there when the thread's last commit was `last`.
    fn is_live(&self, last: u32) -> bool {
        self.number <= last && !(self.number % 4 == 1 && self.number + 3 <= last)
    }

    fn batch(&self) -> Batch {
        let (record, value) = self.record();
        let far = self.number.is_multiple_of(3).then_some(NOW + 10_000_000_000);
        let mut writes = vec![put(record, value, far)];
        let entry = |key| {
            let value = self.name().into();
            Write::Put { key, value, expires: None, versioned: false, trail: None }
        };
        writes.extend(self.entries().into_iter().map(entry));
        writes.push(add(key(4, "sum"), self.amount()));
        writes.push(add(self.own(5), 1));
        writes.push(put(self.own(6), self.number.to_be_bytes().to_vec(), None));
        if let Some(old) = self.deletes() {
            writes.push(Write::Delete { key: old.record().0 });
            writes.extend(old.entries().into_iter().map(|key| Write::Delete { key }));
        }
        // Two seconds a step let the tables of outcomes change several times in a round.
        let now = NOW
            + i64::from(self.round.number) * 100_000
            + i64::from(self.number) * STEP_MILLISECONDS;
        let mut batch = batch(self.id_number(), now, writes);
        let expect = match self.number.checked_sub(1) {
            None => Expect::Absent,
            Some(number) => Expect::Version(id(Step { number, ..*self }.id_number())),
        };
        batch.checks = vec![check(self.own(6), expect)];
        batch
    }
}

/// What all rounds in a folder have come to.
#[derive(Debug, Default)]
struct Model {
    records: usize,
    entries: usize,
    sum: i64,
}

#[test]
fn power_survives_kills() {
    kill_many(Durability::Power, 0x6b65_7977);
}

#[test]
fn process_survives_kills() {
    kill_many(Durability::Process, 0x6179_2121);
}

fn kill_many(durability: Durability, seed: u64) {
    let kills = std::env::var("KEYWAY_KILLS").ok().and_then(|kills| kills.parse().ok());
    let kills: u32 = kills.unwrap_or(100);
    let mut folder = Folder::new();
    let mut model = Model::default();
    let mut acknowledged = 0;
    for number in 0..kills {
        if number.is_multiple_of(ROUNDS_IN_A_FOLDER) {
            folder = Folder::new();
            model = Model::default();
        }
        let round = Round::new(seed, number, durability);
        let acks = kill_once(&round, folder.path());
        acknowledged += acks.iter().map(|last| last.map_or(0, |last| last + 1)).sum::<u32>();
        compare(&round, folder.path(), &acks, &mut model);
    }
    println!("{durability}: {kills} kills, {acknowledged} acknowledged commits");
    assert!(acknowledged > kills, "the children hardly committed anything");
}

/// Lets a child run and kills it; answers the last acknowledged step of each thread.
fn kill_once(round: &Round, folder: &Path) -> Vec<Option<u32>> {
    let told = format!("{} {} {}", round.seed, round.number, round.durability);
    let seed = round.seed ^ u64::from(round.number);
    let test = "child_commits_until_it_is_killed";
    let acknowledged = kill::kill_once(test, &told, folder, round.threads, seed);
    let last = |numbers: Vec<String>| {
        for (expected, number) in (0u32..).zip(&numbers) {
            assert_eq!(number.parse(), Ok(expected), "{round:?}: out of order");
        }
        u32::try_from(numbers.len()).unwrap().checked_sub(1)
    };
    acknowledged.into_iter().map(last).collect()
}

/// The child; nothing when it is run as a test.
#[test]
fn child_commits_until_it_is_killed() {
    let Some((told, folder)) = kill::told() else { return };
    let told: Vec<&str> = told.split(' ').collect();
    let durability = Durability::from_name(told[2]).unwrap();
    let round = Round::new(told[0].parse().unwrap(), told[1].parse().unwrap(), durability);
    let store = round.open(&folder).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..round.threads {
            let store = &store;
            scope.spawn(move || {
                for number in 0.. {
                    totals(wait(store.commit(&round.step(thread, number).batch())));
                    kill::acknowledge(thread, number);
                }
            });
        }
    });
}

/// Opens what the child left and compares it with what it must be.
fn compare(round: &Round, folder: &Path, acks: &[Option<u32>], model: &mut Model) {
    let store = round.open(folder).unwrap_or_else(|error| panic!("{round:?}: {error:?}"));
    let counted = |thread: u8| {
        let count = get(&store, &[round.step(thread, 0).own(5)])[0].as_ref().map_or(0, count_of);
        u32::try_from(count).unwrap()
    };
    let newest = (0..round.threads).map(counted).max().unwrap_or(0);
    for (thread, acked) in acks.iter().enumerate() {
        let thread = u8::try_from(thread).unwrap();
        let first = round.step(thread, 0);
        let count = get(&store, &[first.own(5)])[0].as_ref().map_or(0, count_of);
        let last = u32::try_from(count).unwrap().checked_sub(1);
        // A thread has one commit under way at most.
        let least = acked.map_or(0, |acked| acked + 1);
        let found = last.map_or(0, |last| last + 1);
        assert!(found >= least, "{round:?} {thread}: {found} of {least} acknowledged are there");
        assert!(found <= least + 1, "{round:?} {thread}: {found} are there, {least} acknowledged");
        for number in 0..=found {
            compare_step(&store, &round.step(thread, number), last);
        }
        for number in 0..found {
            let step = round.step(thread, number);
            model.sum += step.amount();
            if Some(true) == last.map(|last| step.is_live(last)) {
                model.records += 1;
                model.entries += step.entries().len();
            }
        }
        let latest = get(&store, &[first.own(6)]).remove(0).map(|row| row.value.to_vec());
        assert_eq!(latest, last.map(|last| last.to_be_bytes().to_vec()), "{round:?} {thread}");
        // The steps of a thread tell its time: one that was left behind may be forgotten by now.
        if let Some(last) = last.filter(|last| newest - last < STEPS_KEPT) {
            // Sent again, it is known: the same answer, and nothing happens twice.
            let again = totals(wait(store.commit(&round.step(thread, last).batch())));
            assert_eq!(again[1].value, count, "{round:?} {thread}");
        }
    }
    let sum = get(&store, &[key(4, "sum")])[0].as_ref().map_or(0, count_of);
    assert_eq!(sum, model.sum, "{round:?}");
    assert_eq!(rows_in(&store, 1), model.records, "{round:?}");
    assert_eq!(rows_in(&store, 2), model.entries, "{round:?}");
    wait(store.close()).unwrap();
}

/// Whether the rows of one step are all there, or none.
fn compare_step(store: &EngineStore, step: &Step, last: Option<u32>) {
    let (record, value) = step.record();
    let mut keys = vec![record];
    keys.extend(step.entries());
    let rows = get(store, &keys);
    if last.is_some_and(|last| step.is_live(last)) {
        let record = rows[0].as_ref().unwrap_or_else(|| panic!("{step:?}: lost"));
        assert_eq!(record.value, value, "{step:?}");
        assert_eq!(record.version, Some(id(step.id_number())), "{step:?}");
        assert!(rows.iter().all(Option::is_some), "{step:?}: torn");
    } else {
        assert!(rows.iter().all(Option::is_none), "{step:?}: torn, or there without a commit");
    }
}

fn get(store: &EngineStore, keys: &[Key]) -> Vec<Option<Row>> {
    wait(store.get(keys)).unwrap()
}

fn count_of(row: &Row) -> i64 {
    i64::from_be_bytes(row.value.as_ref().try_into().unwrap())
}

fn rows_in(store: &EngineStore, number: u16) -> usize {
    let mut range = space(number);
    let mut count = 0;
    loop {
        let scan = Scan { range: range.clone(), reverse: false, rows: 1_000 };
        let page = wait(store.scan(&scan)).unwrap();
        count += page.rows.len();
        match (page.end, page.rows.last()) {
            (End::Range, _) | (_, None) => return count,
            (_, Some(last)) => range = range.after(&last.key, false),
        }
    }
}
