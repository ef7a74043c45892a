//! Damage: a store from which acknowledged commits are missing is refused, and no other.

#![cfg(feature = "engine")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{Folder, NOW, batch, key, put, totals, wait};
use data::ErrorKind;
use data::clock::SeededRandom;
use data::store::{Durability, Store};
use std::fs;
use std::path::{Path, PathBuf};
use stores::engine::{EngineStore, Options};

const COMMITS: u64 = 40;

fn open(path: &Path, durability: Durability) -> data::Result<EngineStore> {
    EngineStore::open(path, &Options { durability, ..Options::default() })
}

/// A store with some commits, closed; the content of its journal without the empty rest.
fn made(folder: &Folder, durability: Durability) -> (PathBuf, Vec<u8>) {
    let store = open(folder.path(), durability).unwrap();
    for number in 1..=COMMITS {
        let writes = vec![
            put(key(1, number.to_be_bytes()), format!("record {number}"), None),
            put(key(2, number.to_be_bytes()), Vec::new(), None),
        ];
        totals(wait(store.commit(&batch(number, NOW, writes))));
    }
    wait(store.close()).unwrap();
    let journals = journals(folder.path());
    assert_eq!(journals.len(), 1, "the commits fit in one journal");
    let mut bytes = fs::read(&journals[0]).unwrap();
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    (journals[0].clone(), bytes)
}

fn journals(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder.join("fjall")).unwrap().map(|entry| entry.unwrap().path());
    let mut journals: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "jnl")).collect();
    journals.sort();
    journals
}

fn is_whole(store: &EngineStore) -> bool {
    (1..=COMMITS).all(|number| {
        let keys = [key(1, number.to_be_bytes()), key(2, number.to_be_bytes())];
        let found = wait(store.get(&keys)).unwrap();
        let record = found[0].as_ref().is_some_and(|row| row.value == format!("record {number}"));
        record && found[1].is_some()
    })
}

#[test]
fn a_changed_byte_anywhere_in_the_journal_is_refused() {
    let random = SeededRandom::new(7);
    for durability in [Durability::Process, Durability::Power] {
        let folder = Folder::new();
        let (journal, bytes) = made(&folder, durability);
        let witness = fs::read(folder.path().join("witness")).unwrap();
        for _ in 0..60 {
            let place = usize::try_from(random.number()).unwrap() % bytes.len();
            let mut damaged = bytes.clone();
            damaged[place] ^= 1 << (random.number() % 8);
            fs::write(&journal, &damaged).unwrap();
            fs::write(folder.path().join("witness"), &witness).unwrap();
            match open(folder.path(), durability) {
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "byte {place}: {error}");
                    assert!(fs::read(&journal).unwrap() == damaged, "byte {place}: touched");
                }
                // The byte meant nothing, so nothing may be missing.
                Ok(store) => assert!(is_whole(&store), "byte {place}"),
            }
        }
        fs::write(&journal, &bytes).unwrap();
        assert!(is_whole(&open(folder.path(), durability).unwrap()));
    }
}

#[test]
fn a_cut_in_the_journal_is_refused_with_both_numbers() {
    let folder = Folder::new();
    let (journal, bytes) = made(&folder, Durability::Power);
    // The engine takes a journal that ends early for a write that was cut off.
    fs::write(&journal, &bytes[..bytes.len() / 2]).unwrap();
    let error = open(folder.path(), Durability::Power).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    let number = |name| error.value(name).unwrap().parse::<u64>().unwrap();
    assert_eq!(number("last commit acknowledged"), COMMITS);
    let found = number("last commit found");
    assert!(found > 0 && found < COMMITS, "{found}");
    // What the message advises lets the store open with what is there.
    fs::remove_file(error.value("file").unwrap()).unwrap();
    let store = open(folder.path(), Durability::Power).unwrap();
    assert!(!is_whole(&store));
    let last = key(1, found.to_be_bytes());
    assert!(wait(store.get(&[last])).unwrap()[0].is_some());
}

#[test]
fn a_witness_that_lags_or_says_nothing_is_no_alarm() {
    let folder = Folder::new();
    made(&folder, Durability::Power);
    let witness = folder.path().join("witness");
    let newest = fs::read(&witness).unwrap();
    let mut damaged = newest.clone();
    damaged[12] ^= 1;
    for bytes in [Vec::new(), newest[..20].to_vec(), damaged, vec![0; 24], newest] {
        fs::write(&witness, &bytes).unwrap();
        assert!(is_whole(&open(folder.path(), Durability::Power).unwrap()), "{bytes:?}");
    }
}

/// A store that was cut off behind its witness: its journal, where each of the last batches begins,
/// and the witness of what came before them.
struct CutOff {
    folder: Folder,
    journal: PathBuf,
    bytes: Vec<u8>,
    begins: Vec<usize>,
    witness: Vec<u8>,
}

fn cut_off(durability: Durability, unwitnessed: u64) -> CutOff {
    let folder = Folder::new();
    let (journal, mut bytes) = made(&folder, durability);
    let witness = fs::read(folder.path().join("witness")).unwrap();
    let mut begins = Vec::new();
    for number in 1..=unwitnessed {
        begins.push(bytes.len());
        let store = open(folder.path(), durability).unwrap();
        let write = put(key(3, number.to_be_bytes()), vec![7; 300], None);
        totals(wait(store.commit(&batch(COMMITS + number, NOW, vec![write]))));
        wait(store.close()).unwrap();
        bytes = fs::read(&journal).unwrap();
    }
    CutOff { folder, journal, bytes, begins, witness }
}

impl CutOff {
    /// Opens it with this journal; answers how many of the last commits are there.
    fn open(&self, journal: &[u8], durability: Durability) -> data::Result<usize> {
        fs::write(&self.journal, journal).unwrap();
        fs::write(self.folder.path().join("witness"), &self.witness).unwrap();
        let store = open(self.folder.path(), durability)?;
        assert!(is_whole(&store), "what was witnessed is there");
        let keys: Vec<_> = (1..=self.begins.len()).map(|n| key(3, n.to_be_bytes())).collect();
        Ok(wait(store.get(&keys)).unwrap().iter().flatten().count())
    }
}

#[test]
fn a_batch_that_was_cut_off_anywhere_is_no_alarm() {
    for durability in [Durability::Process, Durability::Power] {
        let store = cut_off(durability, 1);
        let begin = store.begins[0];
        for cut in (begin..store.bytes.len()).step_by(13) {
            // As a process that was killed leaves it, and as a disk that lost its power may.
            let mut zeros = store.bytes[..cut].to_vec();
            zeros.resize(store.bytes.len() + 100_000, 0);
            let mut hole = store.bytes.clone();
            hole[begin + (cut - begin) / 2..cut].fill(0);
            hole[cut] ^= 0x55;
            for journal in [&store.bytes[..cut], &zeros, &hole] {
                assert_eq!(store.open(journal, durability).unwrap(), 0, "byte {cut}");
            }
        }
        assert_eq!(store.open(&store.bytes, durability).unwrap(), 1);
    }
}

#[test]
fn whole_batches_behind_a_broken_one_are_missed_only_where_each_was_synced() {
    let flip = |store: &CutOff| {
        let mut damaged = store.bytes.clone();
        damaged[store.begins[1] - 150] ^= 1;
        damaged
    };
    let store = cut_off(Durability::Power, 3);
    let damaged = flip(&store);
    let error = store.open(&damaged, Durability::Power).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(fs::read(&store.journal).unwrap() == damaged, "nothing may be touched");
    // Without power's promise a disk may lose one batch and keep the next.
    let store = cut_off(Durability::Process, 3);
    assert_eq!(store.open(&flip(&store), Durability::Process).unwrap(), 0);
}
