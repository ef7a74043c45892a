//! The same engine driven by hand, as an expert would: the same rows and index entries, tuned as
//! Keyway tunes it, keys built without a detour, values packed by hand.
//!
//! Twice: once with the same promises (an insert refuses a key that is taken, a row has a version,
//! a call that is repeated does nothing), and once bare, with none of them: the least that writes
//! rows and entries.

use super::contender::{Contender, Sync};
use super::nearest::nearest;
use super::notes::{Note, Page};
use data::clock::SystemRandom;
use data::store::CommitId;
use data::{Value, geo};
use fjall::config::{PartitioningPolicy, PinningPolicy};
use fjall::{CompressionType, Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable};
use keyspace::plan::Grid;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

pub struct HandWritten {
    database: Database,
    rows: Keyspace,
    /// The calls that were made, and the lock under which they are judged; nothing if it is bare.
    calls: Option<Calls>,
    sync: Sync,
    group: Group,
}

struct Calls {
    table: Keyspace,
    judging: Mutex<()>,
    random: SystemRandom,
}

/// Commits that wait for one sync together: the first to come syncs for all.
#[derive(Default)]
struct Group {
    state: Mutex<GroupState>,
    synced: Condvar,
}

#[derive(Default)]
struct GroupState {
    written: u64,
    durable: u64,
    syncing: bool,
}

const NOTE: u8 = 1;
const TAG: u8 = 2;
const PLACE: u8 = 3;
const LEVEL: u32 = 10;

/// With the same promises.
pub fn open(path: &Path, sync: Sync) -> Arc<dyn Contender> {
    Arc::new(HandWritten::open(path, sync, true))
}

/// With none of them.
pub fn open_bare(path: &Path, sync: Sync) -> Arc<dyn Contender> {
    Arc::new(HandWritten::open(path, sync, false))
}

fn open_database(path: &Path) -> (Database, impl Fn(&str) -> Keyspace) {
    let database = Database::builder(path)
        .cache_size(256 << 20)
        .max_journaling_size(128 << 20)
        .journal_compression(CompressionType::None)
        .manual_journal_persist(true)
        .open()
        .unwrap();
    let options = || {
        KeyspaceCreateOptions::default()
            .max_memtable_size(8 << 20)
            .manual_journal_persist(true)
            .index_block_pinning_policy(PinningPolicy::all(true))
            .filter_block_pinning_policy(PinningPolicy::all(true))
            .index_block_partitioning_policy(PartitioningPolicy::all(false))
            .filter_block_partitioning_policy(PartitioningPolicy::all(false))
    };
    let tables = database.clone();
    (database, move |name| tables.keyspace(name, options).unwrap())
}

/// Puts the engine's files in order, so that reads do not depend on how many files happen to lie
/// above each other when they begin.
pub fn settle(path: &Path) {
    let (database, table) = open_database(path);
    for name in database.list_keyspace_names() {
        let table = table(&name);
        table.rotate_memtable_and_wait().unwrap();
        table.major_compact().unwrap();
    }
}

fn note_key(author: u64, note_id: u128) -> [u8; 25] {
    let mut key = [0; 25];
    key[0] = NOTE;
    key[1..9].copy_from_slice(&author.to_be_bytes());
    key[9..].copy_from_slice(&(!note_id).to_be_bytes());
    key
}

fn tag_front(tag: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(2 + tag.len() + 24);
    key.push(TAG);
    key.extend_from_slice(tag.as_bytes());
    key.push(0);
    key
}

fn place_front(cell: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(33);
    key.push(PLACE);
    key.extend_from_slice(&cell.to_be_bytes());
    key
}

/// The version of a row, of which there is none where it is bare.
pub type Version = [u8; 16];

/// A note that is there already.
#[derive(Debug)]
pub struct Taken;

fn pack(note: &Note, version: Option<&Version>) -> Vec<u8> {
    let mut value = Vec::with_capacity(40 + note.title.len() + note.words.len() + note.tag.len());
    value.extend_from_slice(version.map_or(&[], |version| version.as_slice()));
    value.extend_from_slice(&note.lat.to_le_bytes());
    value.extend_from_slice(&note.lon.to_le_bytes());
    for text in [&note.title, &note.words, &note.tag] {
        value.extend_from_slice(&(text.len() as u16).to_le_bytes());
        value.extend_from_slice(text.as_bytes());
    }
    value
}

fn pack_point(lat: f64, lon: f64) -> [u8; 16] {
    let mut point = [0; 16];
    point[..8].copy_from_slice(&lat.to_le_bytes());
    point[8..].copy_from_slice(&lon.to_le_bytes());
    point
}

fn unpack_point(point: &[u8]) -> (f64, f64) {
    let number = |at: usize| f64::from_le_bytes(point[at..at + 8].try_into().unwrap());
    (number(0), number(8))
}

fn unpack(key: &[u8], value: &[u8]) -> Note {
    let number = |at: usize| f64::from_le_bytes(value[at..at + 8].try_into().unwrap());
    let mut rest = &value[16..];
    let mut text = || {
        let length = u16::from_le_bytes([rest[0], rest[1]]) as usize;
        let text = std::str::from_utf8(&rest[2..2 + length]).unwrap().to_string();
        rest = &rest[2 + length..];
        text
    };
    Note {
        author: u64::from_be_bytes(key[1..9].try_into().unwrap()),
        note_id: !u128::from_be_bytes(key[9..25].try_into().unwrap()),
        title: text(),
        words: text(),
        tag: text(),
        lat: number(0),
        lon: number(8),
    }
}

/// Where the keys that begin so end.
fn end_of(front: &[u8]) -> Vec<u8> {
    let mut end = front.to_vec();
    while end.pop_if(|last| *last == 0xff).is_some() {}
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

impl HandWritten {
    pub fn open(path: &Path, sync: Sync, keeps_promises: bool) -> HandWritten {
        let (database, table) = open_database(path);
        let rows = table("rows");
        let calls = keeps_promises.then(|| Calls {
            table: table("calls"),
            judging: Mutex::default(),
            random: SystemRandom::start().unwrap(),
        });
        HandWritten { database, rows, calls, sync, group: Group::default() }
    }

    /// One commit; the version of its rows.
    pub fn write(&self, notes: &[Note]) -> Result<Option<Version>, Taken> {
        let mut batch = self.database.batch();
        let mut version = None;
        let mut judging = None;
        if let Some(calls) = &self.calls {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
            let id = *CommitId::new(now, &calls.random).as_bytes();
            judging = Some(calls.judging.lock().unwrap());
            assert!(calls.table.get(id).unwrap().is_none(), "the call was made before");
            batch.insert(&calls.table, id, []);
            version = Some(id);
        }
        for note in notes {
            let key = note_key(note.author, note.note_id);
            if judging.is_some() && self.rows.get(key).unwrap().is_some() {
                return Err(Taken);
            }
            let mut tag = tag_front(&note.tag);
            tag.extend_from_slice(&key[9..]);
            tag.extend_from_slice(&key[1..9]);
            let mut place = place_front(geo::cell(note.lat, note.lon, LEVEL).unwrap());
            place.extend_from_slice(&note.note_id.to_be_bytes());
            place.extend_from_slice(&key[1..9]);
            batch.insert(&self.rows, key, pack(note, version.as_ref()));
            batch.insert(&self.rows, tag, []);
            batch.insert(&self.rows, place, pack_point(note.lat, note.lon));
        }
        match self.sync {
            Sync::Process => batch.durability(Some(PersistMode::Buffer)).commit().unwrap(),
            Sync::Power => {
                batch.commit().unwrap();
                drop(judging);
                self.wait_for_disk();
            }
        }
        Ok(version)
    }

    fn wait_for_disk(&self) {
        let mut state = self.group.state.lock().unwrap();
        state.written += 1;
        let mine = state.written;
        while state.durable < mine {
            if state.syncing {
                state = self.group.synced.wait(state).unwrap();
                continue;
            }
            state.syncing = true;
            let upto = state.written;
            drop(state);
            self.database.persist(PersistMode::SyncAll).unwrap();
            state = self.group.state.lock().unwrap();
            state.syncing = false;
            state.durable = state.durable.max(upto);
            self.group.synced.notify_all();
        }
    }

    /// One note by its key, with its version.
    #[allow(dead_code, reason = "only servers show versions")]
    pub fn get_versioned(&self, author: u64, note_id: u128) -> Option<(Note, Version)> {
        let key = note_key(author, note_id);
        let value = self.rows.get(key).unwrap()?;
        let version = value[..size_of::<Version>()].try_into().unwrap();
        Some((unpack(&key, self.content(&value)), version))
    }

    /// The newest notes of a user, or those that follow one of them.
    pub fn page_after(&self, author: u64, rows: usize, after: Option<u128>) -> Page {
        let mut front = vec![NOTE];
        front.extend_from_slice(&author.to_be_bytes());
        let end = end_of(&front);
        if let Some(note_id) = after {
            front = note_key(author, note_id).to_vec();
            front.push(0);
        }
        let mut range = self.rows.range(front..end);
        let notes = range.by_ref().take(rows).map(|item| {
            let (key, value) = item.into_inner().unwrap();
            unpack(&key, self.content(&value))
        });
        Page { notes: notes.collect(), more: range.next().is_some() }
    }

    /// A row without its version.
    fn content<'v>(&self, value: &'v [u8]) -> &'v [u8] {
        if self.calls.is_some() { &value[size_of::<Version>()..] } else { value }
    }

    fn fetch(&self, snapshot: &fjall::Snapshot, keys: impl Iterator<Item = [u8; 25]>) -> Vec<Note> {
        keys.filter_map(|key| {
            let value = snapshot.get(&self.rows, key).unwrap()?;
            Some(unpack(&key, self.content(&value)))
        })
        .collect()
    }
}

impl Contender for HandWritten {
    fn load(&self, notes: Vec<Note>) {
        self.write(&notes).expect("no key is taken");
    }

    fn insert(&self, note: Note) {
        self.write(&[note]).expect("the key is not taken");
    }

    fn get(&self, author: u64, note_id: u128) -> Option<Note> {
        let key = note_key(author, note_id);
        self.rows.get(key).unwrap().map(|value| unpack(&key, self.content(&value)))
    }

    fn page(&self, author: u64, rows: usize) -> Page {
        self.page_after(author, rows, None)
    }

    fn tagged(&self, tag: &str, rows: usize) -> Page {
        let front = tag_front(tag);
        let end = end_of(&front);
        let length = front.len();
        let snapshot = self.database.snapshot();
        let mut range = snapshot.range(&self.rows, front..end);
        let keys = range.by_ref().take(rows).map(|item| {
            let entry = item.key().unwrap();
            let mut key = [NOTE; 25];
            key[1..9].copy_from_slice(&entry[length + 16..length + 24]);
            key[9..].copy_from_slice(&entry[length..length + 16]);
            key
        });
        let keys: Vec<[u8; 25]> = keys.collect();
        let more = range.next().is_some();
        Page { notes: self.fetch(&snapshot, keys.into_iter()), more }
    }

    fn near(&self, lat: f64, lon: f64, radius: f64) -> Option<Vec<Note>> {
        let snapshot = self.database.snapshot();
        let mut found = Vec::new();
        for cell in geo::cover(Grid::Cell(LEVEL), lat, lon, radius).unwrap() {
            let Value::Cell(cell) = cell else { continue };
            let front = place_front(cell);
            let end = end_of(&front);
            for item in snapshot.range(&self.rows, front..end) {
                let (entry, point) = item.into_inner().unwrap();
                let id = u128::from_be_bytes(entry[9..25].try_into().unwrap());
                let user = u64::from_be_bytes(entry[25..33].try_into().unwrap());
                found.push((unpack_point(&point), (user, id)));
            }
        }
        let keys = nearest(found, lat, lon, radius);
        let keys = keys.into_iter().map(|(user, id)| note_key(user, id));
        Some(self.fetch(&snapshot, keys))
    }
}
