//! Plain files by an expert, for these notes alone, with the same promises.
//!
//! ```text
//! insert ─▶ queue ─▶ one thread: check ─▶ journal, synced for all who wait ─▶ memory ─▶ answer
//!                                  then: file beside, rename, stamp    checkpoint: another thread
//! get, page, tagged ─▶ memory: order, stamps, hashes ─▶ the file, compared with both, parsed
//! ```
//!
//! An insert refuses a key that is taken or whose file somebody has put there, a row has a version,
//! a call that is repeated does nothing, and a note that somebody edited is read anew. Order and
//! indexes are in memory, notes are not. What is left out is never measured: reading the journals
//! of a process that was killed.

use super::journal::{Commit, Journal, Written};
use super::note_file::{Hash, Key, Stamp, from_json, hash_of, stamp_of, to_json};
use crate::Sync;
use crate::notes::{Note, Page};
use crate::race::{Contender, Work};
use crate::ulid::{from_ulid, ulid};
use data::clock::SystemRandom;
use data::geo;
use data::store::CommitId;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::oneshot;

/// How long what is not synced may wait for its files, and how many notes.
const LATE: Duration = Duration::from_millis(500);
const LATE_NOTES: usize = 1_000;
/// Commits that are written together.
const TOGETHER: usize = 128;

/// What is known of a note.
struct Known {
    #[allow(dead_code, reason = "for whoever changes a note")]
    version: [u8; 16],
    hash: Hash,
    place: Place,
}

enum Place {
    /// In the journal alone.
    Held(Arc<Note>),
    /// In its file, of which the disk says this.
    Filed(Stamp),
}

#[derive(Default)]
struct Memory {
    notes: BTreeMap<Key, Arc<Known>>,
    tags: BTreeSet<(String, Reverse<u128>, u64)>,
    places: BTreeMap<(u64, u128, u64), (f64, f64)>,
}

struct Shared {
    root: PathBuf,
    memory: RwLock<Memory>,
}

impl Shared {
    fn path(&self, (author, Reverse(id)): Key) -> PathBuf {
        self.root.join(format!("user/{author}/notes/{}.json", ulid(id)))
    }

    /// The content of a note's file, and what the disk says of it.
    fn file(&self, key: Key) -> Option<(Vec<u8>, Stamp)> {
        let mut file = File::open(self.path(key)).ok()?;
        let found = file.metadata().unwrap();
        let mut content = vec![0; found.len() as usize];
        file.read_exact(&mut content).unwrap();
        Some((content, stamp_of(&found)))
    }

    /// A note as it is now; nothing if its file is not as it was.
    fn note(&self, key: Key, known: &Known) -> Option<Note> {
        let stamp = match &known.place {
            Place::Held(note) => return Some(note.as_ref().clone()),
            Place::Filed(stamp) => *stamp,
        };
        let (content, found) = self.file(key)?;
        (found == stamp && hash_of(&content) == known.hash).then(|| from_json(key, &content))
    }

    /// Takes in what somebody did to a note's file.
    fn adopt(&self, key: Key, version: [u8; 16]) {
        let mut memory = self.memory.write().unwrap();
        let (author, Reverse(id)) = key;
        memory.notes.remove(&key);
        memory.tags.retain(|(_, tagged, by)| (*tagged, *by) != (Reverse(id), author));
        memory.places.retain(|(_, placed, by), _| (*placed, *by) != (id, author));
        let Some((content, stamp)) = self.file(key) else { return };
        let place = Place::Filed(stamp);
        let known = Known { version, hash: hash_of(&content), place };
        memory.add(&from_json(key, &content), known);
    }
}

impl Memory {
    fn add(&mut self, note: &Note, known: Known) {
        let Note { author, note_id, tag, lat, lon, .. } = note;
        self.tags.insert((tag.clone(), Reverse(*note_id), *author));
        let cell = geo::cell(*lat, *lon, 10).unwrap();
        self.places.insert((cell, *note_id, *author), (*lat, *lon));
        self.notes.insert((*author, Reverse(*note_id)), Arc::new(known));
    }
}

enum Job {
    Insert(Commit, oneshot::Sender<()>),
    Adopt(Key, oneshot::Sender<()>),
}

pub struct Expert {
    shared: Arc<Shared>,
    queue: Mutex<Option<Sender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    random: SystemRandom,
}

impl Expert {
    pub fn open(root: &Path, sync: Sync) -> Expert {
        fs::create_dir_all(root.join("user")).unwrap();
        let shared =
            Arc::new(Shared { root: root.to_path_buf(), memory: RwLock::new(Memory::default()) });
        for author in fs::read_dir(root.join("user")).unwrap().map(|entry| entry.unwrap()) {
            let number = author.file_name().to_str().unwrap().parse().unwrap();
            for entry in fs::read_dir(author.path().join("notes")).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                let id = from_ulid(name.trim_end_matches(".json"));
                let key = (number, Reverse(id));
                let (content, stamp) = shared.file(key).unwrap();
                let place = Place::Filed(stamp);
                let known = Known { version: [0; 16], hash: hash_of(&content), place };
                shared.memory.write().unwrap().add(&from_json(key, &content), known);
            }
        }
        let (queue, jobs) = channel();
        let mut writer = Writer {
            shared: shared.clone(),
            sync,
            journal: Journal::open(root),
            calls: HashMap::new(),
            pending: Vec::new(),
            next: 0,
        };
        let thread = std::thread::spawn(move || writer.work(&jobs));
        let thread = Mutex::new(Some(thread));
        let random = SystemRandom::start().unwrap();
        Expert { shared, queue: Mutex::new(Some(queue)), thread, random }
    }

    async fn send(&self, job: impl FnOnce(oneshot::Sender<()>) -> Job) {
        let (sender, answer) = oneshot::channel();
        self.queue.lock().unwrap().as_ref().unwrap().send(job(sender)).unwrap();
        answer.await.unwrap();
    }

    async fn write(&self, notes: Vec<Note>) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
        let id = *CommitId::new(now, &self.random).as_bytes();
        self.send(|answer| Job::Insert(Commit { id, now, notes }, answer)).await;
    }

    /// The notes that somebody looks for, as they are at one instant.
    async fn read(&self, rows: usize, look: impl Fn(&Memory) -> Vec<(Key, Arc<Known>)>) -> Page {
        loop {
            let mut found = look(&self.shared.memory.read().unwrap());
            let more = found.len() > rows;
            found.truncate(rows);
            let mut notes = Vec::with_capacity(found.len());
            let mut changed = None;
            for (key, known) in &found {
                match self.shared.note(*key, known) {
                    Some(note) => notes.push(note),
                    None => changed = Some(*key),
                }
            }
            let Some(key) = changed else { return Page { notes, more } };
            self.send(|answer| Job::Adopt(key, answer)).await;
        }
    }

    async fn one(&self, key: Key) -> Option<Note> {
        let find = |memory: &Memory| {
            memory.notes.get(&key).map(|known| (key, known.clone())).into_iter().collect()
        };
        let found = self.read(1, find).await.notes.pop();
        // Somebody may have put it there.
        if found.is_none() && fs::symlink_metadata(self.shared.path(key)).is_ok() {
            self.send(|answer| Job::Adopt(key, answer)).await;
            return self.read(1, find).await.notes.pop();
        }
        found
    }
}

/// Whoever writes.
struct Writer {
    shared: Arc<Shared>,
    sync: Sync,
    journal: Journal,
    /// Calls that were made, and when.
    calls: HashMap<[u8; 16], i64>,
    /// What is in the journal and not in the files.
    pending: Vec<Written>,
    /// The number of the next new file.
    next: u64,
}

impl Writer {
    fn work(&mut self, jobs: &Receiver<Job>) {
        let mut since: Option<Instant> = None;
        let mut behind = None;
        loop {
            let wait = since.map_or(LATE, |since| LATE.saturating_sub(since.elapsed()));
            let job = match behind.take() {
                Some(job) => Ok(job),
                None => jobs.recv_timeout(wait),
            };
            match job {
                Ok(Job::Insert(commit, answer)) => {
                    let (mut group, mut answers) = (vec![commit], vec![answer]);
                    while group.len() < TOGETHER {
                        match jobs.try_recv() {
                            Ok(Job::Insert(commit, answer)) => {
                                group.push(commit);
                                answers.push(answer);
                            }
                            Ok(other) => {
                                behind = Some(other);
                                break;
                            }
                            Err(_) => break,
                        }
                    }
                    self.commit(group);
                    answers.into_iter().for_each(|answer| _ = answer.send(()));
                }
                Ok(Job::Adopt(key, answer)) => {
                    self.shared.adopt(key, *b"edited by hand..");
                    let _ = answer.send(());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.apply();
                    self.journal.checkpoint();
                    return self.journal.finish();
                }
            }
            if self.pending.is_empty() {
                since = None;
                continue;
            }
            let began = *since.get_or_insert_with(Instant::now);
            let is_late = began.elapsed() >= LATE || self.pending.len() >= LATE_NOTES;
            if self.sync == Sync::Power || is_late || self.journal.is_due() {
                self.apply();
                since = None;
                if self.journal.is_due() {
                    self.journal.checkpoint();
                }
            }
        }
    }

    /// Judges a group, puts it into the journal, and lets it be seen.
    fn commit(&mut self, group: Vec<Commit>) {
        let mut written: Vec<Written> = Vec::with_capacity(group.len());
        let mut fresh = BTreeSet::new();
        {
            let memory = self.shared.memory.read().unwrap();
            for commit in &group {
                assert!(!self.calls.contains_key(&commit.id), "the call was made before");
                for note in &commit.notes {
                    let key = (note.author, Reverse(note.note_id));
                    let is_free = !memory.notes.contains_key(&key) && fresh.insert(key);
                    assert!(is_free, "the key is taken");
                    let path = self.shared.path(key);
                    // Somebody may have put a file there.
                    assert!(fs::symlink_metadata(&path).is_err(), "a file is in the way");
                    let content = to_json(note);
                    let hash = hash_of(&content);
                    written.push(Written { key, version: commit.id, hash, path, content });
                }
            }
        }
        self.journal.add(&group, &written, self.sync == Sync::Power);
        let mut memory = self.shared.memory.write().unwrap();
        let mut rows = written.iter();
        for commit in group {
            self.calls.insert(commit.id, commit.now);
            for (note, row) in commit.notes.into_iter().zip(&mut rows) {
                let (version, hash, note) = (row.version, row.hash, Arc::new(note));
                memory.add(&note.clone(), Known { version, hash, place: Place::Held(note) });
            }
        }
        drop(memory);
        self.pending.append(&mut written);
    }

    /// Puts what is in the journal into the files: what the disk's journal holds, and no more.
    fn apply(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        self.journal.sync();
        let mut placed = Vec::with_capacity(self.pending.len());
        for row in std::mem::take(&mut self.pending) {
            let new = self.shared.root.join(format!(".own/new-{}", self.next));
            self.next += 1;
            fs::write(&new, &row.content).unwrap();
            // What somebody has put there meanwhile is not lost.
            if let Ok(found) = fs::symlink_metadata(&row.path) {
                assert!(!found.is_file(), "a file would be set aside here");
            }
            if fs::rename(&new, &row.path).is_err() {
                fs::create_dir_all(row.path.parent().unwrap()).unwrap();
                fs::rename(&new, &row.path).unwrap();
            }
            let stamp = stamp_of(&fs::symlink_metadata(&row.path).unwrap());
            placed.push((row, stamp));
        }
        let mut memory = self.shared.memory.write().unwrap();
        for (row, stamp) in &placed {
            let place = Place::Filed(*stamp);
            let known = Known { version: row.version, hash: row.hash, place };
            memory.notes.insert(row.key, Arc::new(known));
        }
        drop(memory);
        self.journal.placed(placed.into_iter().map(|(row, _)| (row.key, row.version, row.hash)));
    }
}

impl Contender for Expert {
    fn load(&self, notes: Vec<Note>) -> Work<'_, ()> {
        Box::pin(self.write(notes))
    }

    fn insert(&self, note: Note) -> Work<'_, ()> {
        Box::pin(self.write(vec![note]))
    }

    fn get(&self, author: u64, note_id: u128) -> Work<'_, Option<Note>> {
        Box::pin(self.one((author, Reverse(note_id))))
    }

    fn page(&self, author: u64, rows: usize) -> Work<'_, Page> {
        Box::pin(self.read(rows, move |memory| {
            let range = (author, Reverse(u128::MAX))..=(author, Reverse(0));
            let found = memory.notes.range(range).take(rows + 1);
            found.map(|(key, known)| (*key, known.clone())).collect()
        }))
    }

    fn tagged<'w>(&'w self, tag: &'w str, rows: usize) -> Work<'w, Page> {
        Box::pin(self.read(rows, move |memory| {
            let first = (tag.to_string(), Reverse(u128::MAX), 0);
            let entries = memory.tags.range(first..).take_while(|(known, _, _)| known == tag);
            let keys = entries.take(rows + 1).map(|(_, id, author)| (*author, *id));
            keys.filter_map(|key| Some((key, memory.notes.get(&key)?.clone()))).collect()
        }))
    }

    fn close(&self) -> Work<'_, ()> {
        self.queue.lock().unwrap().take();
        if let Some(thread) = self.thread.lock().unwrap().take() {
            thread.join().unwrap();
        }
        Box::pin(async {})
    }
}
