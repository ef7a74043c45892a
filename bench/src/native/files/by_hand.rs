//! Plain files by hand, as an expert would write it for these notes alone: a file a note, written
//! beside and renamed; a journal that is synced for all who wait; order and indexes in memory; the
//! same promises (an insert refuses a key that is taken, a row has a version, a call that is
//! repeated does nothing), and a note that somebody edited is read anew.

use super::contender::{Contender, Sync};
use super::notes::Note;
use data::clock::SystemRandom;
use data::store::CommitId;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, File, Metadata};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// Commits before the journal is begun anew.
const CHECKPOINT_COMMITS: usize = 1_000;

type Stamp = (u64, u64, i64, i64, i64);

struct Held {
    note: Note,
    version: [u8; 16],
    /// None while it is in the journal alone.
    stamp: Option<Stamp>,
}

#[derive(Default)]
struct Memory {
    notes: BTreeMap<(u64, Reverse<u128>), Arc<Held>>,
    tags: BTreeSet<(String, Reverse<u128>, u64)>,
    calls: HashSet<[u8; 16]>,
}

struct Commit {
    id: [u8; 16],
    notes: Vec<Note>,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<Commit>,
    /// Commits that were ever queued, and those that are durable.
    queued: u64,
    done: u64,
    is_led: bool,
}

struct Journal {
    file: File,
    number: u64,
    commits: usize,
    touched: Vec<PathBuf>,
    next: u64,
}

pub struct ByHand {
    root: PathBuf,
    sync: Sync,
    memory: RwLock<Memory>,
    queue: Mutex<Queue>,
    done: Condvar,
    journal: Mutex<Journal>,
    random: SystemRandom,
}

pub fn open(path: &Path, sync: Sync) -> Arc<dyn Contender> {
    Arc::new(ByHand::open(path, sync))
}

fn stamp(found: &Metadata) -> Stamp {
    (found.ino(), found.size(), found.mtime_nsec(), found.ctime(), found.ctime_nsec())
}

fn to_json(note: &Note) -> Vec<u8> {
    let text = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        "{{\n  \"title\": \"{}\",\n  \"words\": \"{}\",\n  \"tag\": \"{}\",\n  \"lat\": {:?},\n  \
         \"lon\": {:?}\n}}\n",
        text(&note.title),
        text(&note.words),
        text(&note.tag),
        note.lat,
        note.lon
    )
    .into_bytes()
}

/// The note of a file, as it was written.
fn from_json(author: u64, note_id: u128, content: &str) -> Note {
    let member = |name: &str| {
        let (_, rest) = content.split_once(&format!("\"{name}\": ")).unwrap();
        rest.lines().next().unwrap().trim_end_matches(',').to_string()
    };
    let text = |name: &str| member(name).trim_matches('"').to_string();
    Note {
        author,
        note_id,
        title: text("title"),
        words: text("words"),
        tag: text("tag"),
        lat: member("lat").parse().unwrap(),
        lon: member("lon").parse().unwrap(),
    }
}

impl ByHand {
    fn open(path: &Path, sync: Sync) -> ByHand {
        fs::create_dir_all(path.join(".own")).unwrap();
        let file = File::create(path.join(".own/journal-1")).unwrap();
        let journal = Journal { file, number: 1, commits: 0, touched: Vec::new(), next: 0 };
        let mut memory = Memory::default();
        for author in fs::read_dir(path).unwrap().map(|entry| entry.unwrap()) {
            let Ok(number) = author.file_name().to_str().unwrap().parse() else { continue };
            for entry in fs::read_dir(author.path()).unwrap().map(|entry| entry.unwrap()) {
                let name = entry.file_name().into_string().unwrap();
                let id = u128::from_str_radix(name.trim_end_matches(".json"), 16).unwrap();
                let content = fs::read_to_string(entry.path()).unwrap();
                let note = from_json(number, id, &content);
                let stamp = Some(stamp(&entry.metadata().unwrap()));
                memory.tags.insert((note.tag.clone(), Reverse(id), number));
                let held = Held { note, version: [0; 16], stamp };
                memory.notes.insert((number, Reverse(id)), Arc::new(held));
            }
        }
        ByHand {
            root: path.to_path_buf(),
            sync,
            memory: RwLock::new(memory),
            queue: Mutex::default(),
            done: Condvar::new(),
            journal: Mutex::new(journal),
            random: SystemRandom::start().unwrap(),
        }
    }

    fn path(&self, author: u64, note_id: u128) -> PathBuf {
        self.root.join(author.to_string()).join(format!("{note_id:032x}.json"))
    }

    fn write(&self, notes: Vec<Note>) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
        let id = *CommitId::new(now, &self.random).as_bytes();
        let mut queue = self.queue.lock().unwrap();
        queue.waiting.push(Commit { id, notes });
        queue.queued += 1;
        let mine = queue.queued;
        while queue.done < mine {
            if queue.is_led {
                queue = self.done.wait(queue).unwrap();
                continue;
            }
            queue.is_led = true;
            let group = std::mem::take(&mut queue.waiting);
            let upto = queue.queued;
            drop(queue);
            let mut journal = self.journal.lock().unwrap();
            self.commit(&mut journal, &group);
            queue = self.queue.lock().unwrap();
            queue.done = upto;
            self.done.notify_all();
            drop(queue);
            // Those who wait are answered; the files come before the next group.
            self.apply(&mut journal, group);
            drop(journal);
            queue = self.queue.lock().unwrap();
            queue.is_led = false;
            self.done.notify_all();
        }
    }

    /// Judges a group, puts it into the journal, and lets it be seen.
    fn commit(&self, journal: &mut Journal, group: &[Commit]) {
        let mut frame = Vec::with_capacity(512 * group.len());
        {
            let memory = self.memory.read().unwrap();
            for commit in group {
                assert!(!memory.calls.contains(&commit.id), "the call was made before");
                frame.extend_from_slice(&commit.id);
                for note in &commit.notes {
                    let key = (note.author, Reverse(note.note_id));
                    assert!(!memory.notes.contains_key(&key), "the key is taken");
                    frame.extend_from_slice(&note.author.to_be_bytes());
                    frame.extend_from_slice(&note.note_id.to_be_bytes());
                    let content = to_json(note);
                    frame.extend_from_slice(&(content.len() as u32).to_be_bytes());
                    frame.extend_from_slice(&content);
                }
            }
        }
        let checksum = checksum(&frame);
        journal.file.write_all(&(frame.len() as u32).to_be_bytes()).unwrap();
        frame.extend_from_slice(&checksum.to_be_bytes());
        journal.file.write_all(&frame).unwrap();
        if self.sync == Sync::Power {
            journal.file.sync_data().unwrap();
        }
        journal.commits += group.len();
        let mut memory = self.memory.write().unwrap();
        for commit in group {
            memory.calls.insert(commit.id);
            for note in &commit.notes {
                let (author, id) = (note.author, Reverse(note.note_id));
                memory.tags.insert((note.tag.clone(), id, author));
                let held = Held { note: note.clone(), version: commit.id, stamp: None };
                memory.notes.insert((author, id), Arc::new(held));
            }
        }
    }

    /// Puts a group into the files.
    fn apply(&self, journal: &mut Journal, group: Vec<Commit>) {
        for commit in group {
            for note in commit.notes {
                let new = self.root.join(format!(".own/new-{}", journal.next));
                journal.next += 1;
                File::create_new(&new).unwrap().write_all(&to_json(&note)).unwrap();
                let path = self.path(note.author, note.note_id);
                if fs::rename(&new, &path).is_err() {
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::rename(&new, &path).unwrap();
                }
                let stamp = Some(stamp(&fs::symlink_metadata(&path).unwrap()));
                journal.touched.push(path);
                let key = (note.author, Reverse(note.note_id));
                let held = Held { note, version: commit.id, stamp };
                self.memory.write().unwrap().notes.insert(key, Arc::new(held));
            }
        }
        if journal.commits >= CHECKPOINT_COMMITS {
            // One call for all files and directories, then the journal can go.
            rustix::fs::syncfs(File::open(&self.root).unwrap()).unwrap();
            let own = self.root.join(".own");
            let before = own.join(format!("journal-{}", journal.number));
            journal.number += 1;
            journal.file = File::create(own.join(format!("journal-{}", journal.number))).unwrap();
            journal.file.sync_all().unwrap();
            File::open(&own).unwrap().sync_all().unwrap();
            fs::remove_file(before).unwrap();
            journal.touched.clear();
            journal.commits = 0;
        }
    }

    /// A note as its file is now.
    fn fresh(&self, held: &Held) -> Note {
        let Some(known) = held.stamp else { return held.note.clone() };
        let path = self.path(held.note.author, held.note.note_id);
        match fs::symlink_metadata(&path) {
            Ok(found) if stamp(&found) == known => held.note.clone(),
            _ => {
                let content = fs::read_to_string(path).unwrap();
                from_json(held.note.author, held.note.note_id, &content)
            }
        }
    }
}

/// As strong as ours.
fn checksum(bytes: &[u8]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *blake3::hash(bytes).as_bytes();
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

impl Contender for ByHand {
    fn load(&self, notes: Vec<Note>) {
        self.write(notes);
    }

    fn insert(&self, note: Note) {
        self.write(vec![note]);
    }

    fn get(&self, author: u64, note_id: u128) -> Option<Note> {
        let held = self.memory.read().unwrap().notes.get(&(author, Reverse(note_id))).cloned();
        held.map(|held| self.fresh(&held))
    }

    fn page(&self, author: u64, rows: usize) -> Vec<Note> {
        let held: Vec<Arc<Held>> = {
            let memory = self.memory.read().unwrap();
            let range = (author, Reverse(u128::MAX))..=(author, Reverse(0));
            memory.notes.range(range).take(rows).map(|(_, held)| held.clone()).collect()
        };
        held.iter().map(|held| self.fresh(held)).collect()
    }

    fn tagged(&self, tag: &str, rows: usize) -> Vec<Note> {
        let held: Vec<Arc<Held>> = {
            let memory = self.memory.read().unwrap();
            let first = (tag.to_string(), Reverse(u128::MAX), 0);
            let found = memory.tags.range(first..).take_while(|(known, _, _)| known == tag);
            let held = found
                .take(rows)
                .filter_map(|(_, id, author)| memory.notes.get(&(*author, *id)).cloned());
            held.collect()
        };
        held.iter().map(|held| self.fresh(held)).collect()
    }

    fn near(&self, _: f64, _: f64, _: f64) -> Option<Vec<Note>> {
        None
    }
}
