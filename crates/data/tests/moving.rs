//! A keyspace is not moved to a store that is too slow for it, or that lies: the source goes on as
//! before, and moves when the target is as it must be.
//!
//! ```text
//! source: memory ─▶ move ─▶ target: memory behind a store that does something on each commit
//! ```

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use async_trait::async_trait;
use data::clock::{ManualClock, SeededRandom};
use data::maintain::{Comparison, Existing, Import, Moved, Moving, Side, Stage};
use data::memory::MemoryStore;
use data::schema::Schema;
use data::store::{Batch, Description, Key, Outcome, Page, Row, Scan, Store};
use data::suite::block_on;
use data::{Error, ErrorKind, Result};
use keyspace::model::Keyspace;
use serde_json::json;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const NOW: i64 = 1_800_000_000_000;

const FILE: &str = r#"
[keyspace]
name = "moved"

[collection.notes]
key    = "note:{note_id: text}"
fields = { text = "text" }

[pattern]
put_note = { put = "notes" }
"#;

/// Other ids each time: a batch with a known id is not applied again.
fn chance() -> SeededRandom {
    static SEED: AtomicU64 = AtomicU64::new(1);
    SeededRandom::new(SEED.fetch_add(1, Ordering::SeqCst))
}

/// A store and the keyspace on it.
struct Place {
    store: Arc<dyn Store>,
    schema: Arc<Schema>,
}

impl Place {
    fn new(store: Arc<dyn Store>) -> Place {
        let read = keyspace::read(FILE);
        let keyspace: Keyspace = read.keyspace.unwrap_or_else(|| panic!("{:?}", read.diagnostics));
        let schema = block_on(store.ensure(&Arc::new(keyspace))).unwrap();
        Place { store, schema }
    }

    fn side(&self) -> Side<'_> {
        Side { store: self.store.as_ref(), schema: &self.schema }
    }

    /// Puts rows with these numbers, which all say the same.
    fn put(&self, numbers: std::ops::Range<u64>, text: &str) -> Result<()> {
        let (clock, random) = (ManualClock::at(NOW), chance());
        let store = self.store.as_ref();
        let mut import = Import::new(store, &self.schema, &clock, &random, Existing::Replace);
        block_on(async {
            for number in numbers {
                let row = json!({ "note_id": format!("{number:04}"), "text": text });
                import.line(&json!({ "collection": "notes", "row": row })).await?;
            }
            import.finish().await.map(|_| ())
        })
    }
}

/// What happens when a batch is committed to the target; what it leaves of it is committed.
type Trick = Box<dyn FnMut(Batch) -> Batch + Send>;

/// A store in memory that plays a trick.
struct Tricky {
    store: MemoryStore,
    trick: Mutex<Trick>,
    plays: Arc<AtomicBool>,
}

impl fmt::Debug for Tricky {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Tricky")
    }
}

#[async_trait]
impl Store for Tricky {
    fn describe(&self) -> Description {
        self.store.describe()
    }

    async fn ensure(&self, keyspace: &Arc<Keyspace>) -> Result<Arc<Schema>> {
        self.store.ensure(keyspace).await
    }

    async fn get(&self, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        self.store.get(keys).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Page> {
        self.store.scan(scan).await
    }

    async fn commit(&self, batch: &Batch) -> Result<Outcome> {
        let mut batch = batch.clone();
        if self.plays.load(Ordering::SeqCst) {
            batch = (self.trick.lock().unwrap())(batch);
        }
        self.store.commit(&batch).await
    }
}

/// A move from one to the other, and the clock it goes by.
struct Setup {
    source: Arc<Place>,
    target: Place,
    clock: ManualClock,
    plays: Arc<AtomicBool>,
}

impl Setup {
    /// Rows in the source, and a target that plays the trick made of the source and the clock.
    fn new(trick: impl FnOnce(Arc<Place>, ManualClock) -> Trick) -> Setup {
        let source = Arc::new(Place::new(Arc::new(MemoryStore::new())));
        source.put(0..600, "first").unwrap();
        let (clock, plays) = (ManualClock::at(NOW), Arc::new(AtomicBool::new(true)));
        let trick = Mutex::new(trick(source.clone(), clock.clone()));
        let target = Tricky { store: MemoryStore::new(), trick, plays: plays.clone() };
        Setup { source, target: Place::new(Arc::new(target)), clock, plays }
    }

    fn run(&self, again: bool, told: &mut (dyn FnMut(Stage) + Send)) -> Result<Moved> {
        let (from, to) = (self.source.side(), self.target.side());
        let random = chance();
        block_on(async {
            let moving = Moving::begin(from, to, (&self.clock, &random), again).await?;
            moving.run("elsewhere", told).await
        })
    }

    fn differing(&self) -> Vec<String> {
        let (from, to) = (self.source.side(), self.target.side());
        let mut comparison = Comparison::new(from, to, &self.clock);
        let mut differ = Vec::new();
        while let Some(one) = block_on(comparison.next(&mut |_| ())).unwrap() {
            if !one.is_same() {
                differ.push(one.collection);
            }
        }
        differ
    }

    /// Whether the source goes on as before, and moves once the target is as it must be.
    fn goes_on_and_moves(&self) {
        self.source.put(0..1, "still here").unwrap();
        assert_eq!(self.differing(), ["notes"]);
        self.plays.store(false, Ordering::SeqCst);
        let refused = self.run(false, &mut |_| ()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict, "what is left there was not expected");
        let moved = self.run(true, &mut |_| ()).unwrap();
        assert!(moved.copied >= 600, "{moved:?}");
        assert!(self.differing().is_empty());
        let late = self.source.put(0..1, "late").unwrap_err();
        assert_eq!((late.kind(), late.value("to")), (ErrorKind::Moved, Some("elsewhere")));
    }
}

fn refusal(error: &Error) -> (ErrorKind, &'static str) {
    (error.kind(), error.message())
}

/// Whenever all that was changed has come, as much again is changed: more than a pause may copy.
#[test]
fn a_target_that_cannot_follow_is_not_moved_to() {
    let setup = Setup::new(|source, _| {
        let (mut came, mut round) = (0, 0);
        Box::new(move |batch| {
            came += batch.writes.len();
            if came >= 600 || (round > 0 && came >= 250) {
                (came, round) = (0, round + 1);
                source.put(0..250, &format!("round {round}")).unwrap();
            }
            batch
        })
    });
    let stages = Mutex::new(Vec::new());
    let error = setup.run(false, &mut |stage| stages.lock().unwrap().push(stage)).unwrap_err();
    let message = "the target is too slow for what is written meanwhile, so nothing has moved";
    assert_eq!(refusal(&error), (ErrorKind::Busy, message));
    let stages = stages.into_inner().unwrap();
    assert!(!stages.contains(&Stage::Paused), "writes never waited");
    // It was tried for a while.
    assert!(stages.contains(&Stage::Following(50 * 250)), "{:?}", stages.last());
    setup.goes_on_and_moves();
}

/// What is left to copy in the pause takes the target eleven seconds.
#[test]
fn a_pause_that_takes_too_long_is_given_up() {
    let is_paused = Arc::new(AtomicBool::new(false));
    let paused = is_paused.clone();
    let setup = Setup::new(move |_, clock| {
        Box::new(move |batch| {
            if paused.load(Ordering::SeqCst) {
                clock.advance(11_000);
            }
            batch
        })
    });
    let source = setup.source.clone();
    let mut told = |stage| match stage {
        // Some rows change until the very end, as they do wherever people write.
        Stage::Copying(_) | Stage::Following(_) => {
            source.put(0..20, &format!("{stage:?}")).unwrap();
        }
        Stage::Verifying(_) => {}
        Stage::Paused => is_paused.store(true, Ordering::SeqCst),
    };
    let error = setup.run(false, &mut told).unwrap_err();
    let message = "the last changes took too long to copy, so nothing has moved";
    assert_eq!(refusal(&error), (ErrorKind::Busy, message));
    assert!(is_paused.load(Ordering::SeqCst));
    setup.goes_on_and_moves();
}

/// One row never arrives, though its commit is acknowledged.
#[test]
fn a_target_that_loses_a_row_is_not_moved_to() {
    let setup = Setup::new(|_, _| {
        let mut lost: Option<Key> = None;
        Box::new(move |mut batch| {
            let lost = lost.get_or_insert_with(|| batch.writes.first().unwrap().key().clone());
            batch.writes.retain(|write| write.key() != lost);
            batch
        })
    });
    let mut stages = Vec::new();
    let error = setup.run(false, &mut |stage| stages.push(stage)).unwrap_err();
    let message = "a row is not the same in the target, so nothing has moved";
    assert_eq!(refusal(&error), (ErrorKind::Mismatch, message));
    assert_eq!(error.value("collection"), Some("notes"));
    assert_eq!(stages.last(), Some(&Stage::Paused), "it was looked at once more when nobody wrote");
    setup.goes_on_and_moves();
}
