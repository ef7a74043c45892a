//! Tests of the parts that nobody outside sees, on a disk that loses power, fails, or folds cases.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod cases;
mod disk;
mod faults;
mod meanwhile;
mod power;

use super::commit::Committer;
use super::open::committer;
use super::read::{self, Read};
use super::shared::Shared;
use data::schema::Schema;
use data::store::{Batch, CommitId, Durability, Key, Outcome, Row, Scan, Write};
use data::{Result, Value};
use disk::SimulatedDisk;
use keyspace::model::Keyspace;
use std::sync::Arc;

/// Three kinds of files, in directories of their own, and an index of both kinds.
const KEYSPACE: &str = r#"
[keyspace]
name = "power"

[collection.notes]
key    = "notes:{room: text} | {note: text}"
fields = { title = "text", stars = "i64 = 0" }
index.by_title = { key = "titles:{title} | {room}:{note}", file = "{title}", expect = { rows_per_group = 10 } }
index.by_star  = { key = "stars:{room} | {stars}", expect = { rows_per_group = 10 } }

[collection.words]
key   = "words:{word: text}"
value = "text"

[collection.pictures]
key    = "pictures:{album: text} | {picture: text}"
fields = { title = "text" }
body   = "bytes"

[collection.hits]
key   = "hits:{page: text}"
value = "counter"

[pattern]
put_note   = { put = "notes", if_version = true, allow = "user" }
drop_note  = { delete = "notes", allow = "user" }
notes      = { list = "notes", page = 10 }
titled     = { list = "notes.by_title", page = 10 }
starred    = { list = "notes.by_star", page = 10 }
put_word   = { put = "words", if_version = true, allow = "user" }
drop_word  = { delete = "words", allow = "user" }
word       = { get = "words" }
put_picture = { put = "pictures", allow = "user" }
pictures   = { list = "pictures", page = 10 }
hit        = { add = "hits", allow = "user" }
hits       = { get = "hits" }
"#;

const NOW: i64 = 1_800_000_000_000;

fn keyspace() -> Arc<Keyspace> {
    let reading = keyspace::read(KEYSPACE);
    Arc::new(reading.keyspace.unwrap_or_else(|| panic!("{:?}", reading.diagnostics)))
}

/// A tree on a simulated disk, without its thread: every step is taken by hand.
struct Tree {
    shared: Arc<Shared>,
    committer: Committer,
    schema: Arc<Schema>,
}

impl Tree {
    fn open(disk: &SimulatedDisk, durability: Durability) -> Result<Tree> {
        let shared = Arc::new(Shared::new(Arc::new(disk.clone()), 1 << 20));
        let mut committer = committer(&shared, durability)?;
        let schema = committer.ensure(&keyspace())?;
        Ok(Tree { shared, committer, schema })
    }

    fn key(&self, collection: &str, values: &[&str]) -> Key {
        let values: Vec<Value> = values.iter().map(|v| Value::Text((*v).to_string())).collect();
        self.schema.collection(collection).unwrap().key.encode(&values).unwrap()
    }

    fn put(&self, collection: &str, key: &[&str], slots: &[Value]) -> Write {
        let value = self.schema.collection(collection).unwrap().encode(slots).unwrap();
        let key = self.key(collection, key);
        Write::Put { key, value, expires: None, versioned: true, trail: None }
    }

    fn word(&self, word: &str, text: &str) -> Write {
        self.put("words", &[word], &[Value::Text(text.to_string())])
    }

    /// A note, with its entries.
    fn note(&self, key: [&str; 2], title: &str) -> Vec<Write> {
        let slots = [Value::Text(title.to_string()), Value::I64(3)];
        let segments = key.map(|part| Value::Text(part.to_string()));
        let collection = self.schema.collection("notes").unwrap();
        let entries = data::entries::entries(collection, &segments, &slots).unwrap();
        let entries = entries.into_iter().map(|entry| Write::Put {
            key: entry.key,
            value: entry.value,
            expires: None,
            versioned: false,
            trail: None,
        });
        std::iter::once(self.put("notes", &key, &slots)).chain(entries).collect()
    }

    fn commit(&mut self, id: u8, writes: Vec<Write>) -> Result<Outcome> {
        let id = CommitId::from_bytes([id; 16]);
        let batch = Batch { id, now: NOW, checks: Vec::new(), writes, deadline: NOW };
        self.committer.commit([&batch]).remove(0)
    }

    fn committed(&mut self, id: u8, writes: Vec<Write>) {
        assert!(matches!(self.commit(id, writes), Ok(Outcome::Committed { .. })));
    }

    /// Reads as the store does: what somebody else changed is taken in first.
    fn get(&mut self, key: &Key) -> Result<Option<Row>> {
        for _ in 0..8 {
            match read::get(&self.shared, std::slice::from_ref(key))? {
                Read::Done(mut rows) => return Ok(rows.remove(0)),
                Read::Changed(keys) => self.committer.adopt_all(&keys)?,
            }
        }
        panic!("it changes again and again");
    }

    fn text(&mut self, word: &str) -> Option<String> {
        let key = self.key("words", &[word]);
        let row = self.get(&key).unwrap()?;
        Some(String::from_utf8(row.value.to_vec()).unwrap())
    }

    /// All rows, entries and claims.
    fn all(&mut self) -> Result<Vec<(Key, Row)>> {
        let range = data::store::Range {
            start: bytes::Bytes::from_static(&[0, 1]),
            end: bytes::Bytes::from_static(&[0xff]),
        };
        let scan = Scan { range, reverse: false, rows: 1_000 };
        for _ in 0..8 {
            match read::scan(&self.shared, &scan)? {
                Read::Done(page) => {
                    return Ok(page.rows.into_iter().map(|keyed| (keyed.key, keyed.row)).collect());
                }
                Read::Changed(keys) => self.committer.adopt_all(&keys)?,
            }
        }
        panic!("it changes again and again");
    }
}
