//! An expert on the driver: the same tables and settings, the same versions, checks and remembered
//! calls, every statement kept prepared. One connection writes: in place where nothing waits for
//! the disk, otherwise a thread for all who wait at once. Readers have connections of their own.

use crate::Sync;
use crate::notes::{Note, Page};
use crate::race::{Contender, Work};
use crate::tables::{self, digits, note};
use crate::ulid::ulid;
use data::clock::SystemRandom;
use data::geo;
use data::store::CommitId;
use rusqlite::{Connection, OptionalExtension, params};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::oneshot;

/// How long calls are remembered, in milliseconds.
const REMEMBERED: i64 = 600_000;
/// How often calls are forgotten, in milliseconds.
const FORGET_EVERY: i64 = 1_000;

const KNOWN: &str = "SELECT outcome FROM keyway_calls WHERE id = ?1";
const TAKEN: &str = "SELECT _v FROM notes WHERE author = ?1 AND note_id = ?2";
const PUT: &str = "INSERT INTO notes (author, note_id, title, words, tag, lat, lon, _v) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
const TAG: &str = "INSERT INTO notes_by_tag (tag, note_id, author) VALUES (?1, ?2, ?3)";
const PLACE: &str = "INSERT INTO notes_by_place (lat, note_id, author, _lat, lon) \
                     VALUES (?1, ?2, ?3, ?4, ?5)";
const CALL: &str = "INSERT INTO keyway_calls (id, outcome, at) VALUES (?1, ?2, ?3)";
const FORGET: &str = "DELETE FROM keyway_calls WHERE id IN \
                      (SELECT id FROM keyway_calls WHERE id < ?1 ORDER BY id LIMIT 256)";
const GET: &str = "SELECT author, note_id, title, words, tag, lat, lon FROM notes \
                   WHERE author = ?1 AND note_id = ?2";
const PAGE: &str = "SELECT author, note_id, title, words, tag, lat, lon FROM notes \
                    WHERE author = ?1 ORDER BY note_id DESC LIMIT ?2";
const TAGGED: &str = "SELECT n.author, n.note_id, n.title, n.words, n.tag, n.lat, n.lon \
                      FROM notes_by_tag e JOIN notes n USING (author, note_id) \
                      WHERE e.tag = ?1 ORDER BY e.note_id DESC, e.author LIMIT ?2";

struct Commit {
    id: String,
    now: i64,
    notes: Vec<Note>,
}

struct Writer {
    connection: Connection,
    forgot: i64,
}

/// Who writes.
enum Way {
    /// Whoever comes, where it is: nothing waits for the disk.
    InPlace(Mutex<Writer>),
    /// A thread, for all who wait.
    Thread(Sender<(Commit, oneshot::Sender<()>)>),
}

pub struct Expert {
    path: PathBuf,
    sync: Sync,
    way: Way,
    readers: Mutex<Vec<Connection>>,
    random: SystemRandom,
}

impl Expert {
    pub fn open(path: &Path, sync: Sync) -> Expert {
        let connection = tables::connect(path, sync);
        tables::make(&connection);
        let mut writer = Writer { connection, forgot: 0 };
        let way = match sync {
            Sync::Process => Way::InPlace(Mutex::new(writer)),
            Sync::Power => {
                let (sender, receiver) = channel::<(Commit, oneshot::Sender<()>)>();
                std::thread::spawn(move || {
                    while let Ok(first) = receiver.recv() {
                        let group = std::iter::once(first).chain(receiver.try_iter());
                        let (commits, answers): (Vec<_>, Vec<_>) = group.unzip();
                        writer.commit(&commits);
                        answers.into_iter().for_each(|answer| answer.send(()).unwrap());
                    }
                });
                Way::Thread(sender)
            }
        };
        let random = SystemRandom::start().unwrap();
        Expert { path: path.to_path_buf(), sync, way, readers: Mutex::default(), random }
    }

    async fn write(&self, notes: Vec<Note>) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
        let id = uuid::Uuid::from_bytes(*CommitId::new(now, &self.random).as_bytes()).to_string();
        let commit = Commit { id, now, notes };
        match &self.way {
            Way::InPlace(writer) => writer.lock().unwrap().commit(&[commit]),
            Way::Thread(queue) => {
                let (sender, answer) = oneshot::channel();
                queue.send((commit, sender)).unwrap();
                answer.await.unwrap();
            }
        }
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> T) -> T {
        let reader = self.readers.lock().unwrap().pop();
        let reader = reader.unwrap_or_else(|| tables::connect(&self.path, self.sync));
        let answer = work(&reader);
        self.readers.lock().unwrap().push(reader);
        answer
    }
}

impl Writer {
    fn commit(&mut self, group: &[Commit]) {
        let connection = &self.connection;
        connection.prepare_cached("BEGIN IMMEDIATE").unwrap().execute([]).unwrap();
        let now = group.iter().map(|commit| commit.now).max().unwrap_or(0);
        group.iter().for_each(|commit| add(connection, commit));
        if now - self.forgot >= FORGET_EVERY {
            self.forgot = now;
            // Ids begin with their time.
            let before = now - REMEMBERED;
            let before = format!("{:08x}-{:04x}", before >> 16, before & 0xffff);
            connection.prepare_cached(FORGET).unwrap().execute([before]).unwrap();
        }
        connection.prepare_cached("COMMIT").unwrap().execute([]).unwrap();
    }
}

/// An instant as text that sorts as it does.
fn timestamp(milliseconds: i64) -> String {
    let (days, rest) = (milliseconds.div_euclid(86_400_000), milliseconds.rem_euclid(86_400_000));
    // From the number of a day to its date (Howard Hinnant).
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let (hours, minutes) = (rest / 3_600_000, rest / 60_000 % 60);
    let (seconds, thousandths) = (rest / 1_000 % 60, rest % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{thousandths:03}Z")
}

/// Adds notes with their entries, and remembers the call.
fn add(connection: &Connection, commit: &Commit) {
    let prepared = |text| connection.prepare_cached(text).unwrap();
    let known = prepared(KNOWN).query_row([&commit.id], |row| row.get::<_, Vec<u8>>(0));
    assert!(known.optional().unwrap().is_none(), "the call was made before");
    for note in &commit.notes {
        let (author, id) = (digits(note.author), ulid(note.note_id));
        let taken = prepared(TAKEN).query_row([&author, &id], |_| Ok(())).optional();
        assert!(taken.unwrap().is_none(), "the key is taken");
        let Note { title, words, tag, lat, lon, .. } = note;
        let row = params![author, id, title, words, tag, lat, lon, commit.id];
        prepared(PUT).execute(row).unwrap();
        prepared(TAG).execute([tag, &id, &author]).unwrap();
        let cell = digits(geo::cell(*lat, *lon, 10).unwrap());
        prepared(PLACE).execute(params![cell, id, author, lat, lon]).unwrap();
    }
    let outcome: [u8; 0] = [];
    prepared(CALL).execute(params![commit.id, outcome, timestamp(commit.now)]).unwrap();
}

impl Contender for Expert {
    fn load(&self, notes: Vec<Note>) -> Work<'_, ()> {
        Box::pin(self.write(notes))
    }

    fn insert(&self, note: Note) -> Work<'_, ()> {
        Box::pin(self.write(vec![note]))
    }

    fn get(&self, author: u64, note_id: u128) -> Work<'_, Option<Note>> {
        Box::pin(async move {
            self.read(|connection| {
                let mut query = connection.prepare_cached(GET).unwrap();
                query.query_row([digits(author), ulid(note_id)], note).optional().unwrap()
            })
        })
    }

    fn page(&self, author: u64, rows: usize) -> Work<'_, Page> {
        Box::pin(async move {
            self.read(|connection| {
                let mut query = connection.prepare_cached(PAGE).unwrap();
                let found = query.query_map(params![digits(author), rows as i64 + 1], note);
                Page::cut(found.unwrap().map(Result::unwrap).collect(), rows)
            })
        })
    }

    fn tagged<'w>(&'w self, tag: &'w str, rows: usize) -> Work<'w, Page> {
        Box::pin(async move {
            self.read(|connection| {
                let mut query = connection.prepare_cached(TAGGED).unwrap();
                let found = query.query_map(params![tag, rows as i64 + 1], note).unwrap();
                Page::cut(found.map(Result::unwrap).collect(), rows)
            })
        })
    }
}
