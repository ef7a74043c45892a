//! What people write first: a file a note, a file a tag that is added to, each step on its own; a
//! page lists the directory, and every note is another read. No journal, no versions, no checks.

use super::contender::{Contender, Sync};
use super::notes::Note;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub struct Naive {
    root: PathBuf,
    sync: Sync,
    next: AtomicU64,
}

pub fn open(path: &Path, sync: Sync) -> Arc<dyn Contender> {
    fs::create_dir_all(path.join("notes")).unwrap();
    fs::create_dir_all(path.join("tags")).unwrap();
    Arc::new(Naive { root: path.to_path_buf(), sync, next: AtomicU64::new(0) })
}

impl Naive {
    fn path(&self, author: u64, name: &str) -> PathBuf {
        self.root.join("notes").join(author.to_string()).join(name)
    }

    fn read(&self, author: u64, name: &str) -> Option<Note> {
        let content = fs::read_to_string(self.path(author, name)).ok()?;
        let json: serde_json::Value = serde_json::from_str(&content).unwrap();
        let text = |name: &str| json[name].as_str().unwrap().to_string();
        Some(Note {
            author,
            note_id: u128::from_str_radix(name.trim_end_matches(".json"), 16).unwrap(),
            title: text("title"),
            words: text("words"),
            tag: text("tag"),
            lat: json["lat"].as_f64().unwrap(),
            lon: json["lon"].as_f64().unwrap(),
        })
    }

    fn write(&self, note: &Note) {
        let name = format!("{:032x}.json", note.note_id);
        let json = serde_json::json!({"title": note.title, "words": note.words, "tag": note.tag,
            "lat": note.lat, "lon": note.lon});
        let path = self.path(note.author, &name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let new = self.root.join(format!("new-{number}"));
        let mut file = File::create(&new).unwrap();
        file.write_all(serde_json::to_string_pretty(&json).unwrap().as_bytes()).unwrap();
        self.synced(&file);
        fs::rename(&new, &path).unwrap();
        self.synced(&File::open(path.parent().unwrap()).unwrap());
        for index in [format!("tags/{}", note.tag), format!("tags/at-{:.0}", note.lat)] {
            let mut file =
                File::options().append(true).create(true).open(self.root.join(index)).unwrap();
            file.write_all(format!("{}/{name}\n", note.author).as_bytes()).unwrap();
            self.synced(&file);
        }
    }

    fn synced(&self, file: &File) {
        if self.sync == Sync::Power {
            file.sync_all().unwrap();
        }
    }
}

impl Contender for Naive {
    fn load(&self, notes: Vec<Note>) {
        notes.iter().for_each(|note| self.write(note));
    }

    fn insert(&self, note: Note) {
        self.write(&note);
    }

    fn get(&self, author: u64, note_id: u128) -> Option<Note> {
        self.read(author, &format!("{note_id:032x}.json"))
    }

    fn page(&self, author: u64, rows: usize) -> Vec<Note> {
        let entries = fs::read_dir(self.path(author, "")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable_by(|one, other| other.cmp(one));
        names.iter().take(rows).filter_map(|name| self.read(author, name)).collect()
    }

    fn tagged(&self, tag: &str, rows: usize) -> Vec<Note> {
        let lines = fs::read_to_string(self.root.join("tags").join(tag)).unwrap();
        let mut found: Vec<(&str, &str)> =
            lines.lines().filter_map(|line| line.split_once('/')).collect();
        found.sort_unstable_by(|one, other| other.1.cmp(one.1));
        let read = |(author, name): &(&str, &str)| self.read(author.parse().unwrap(), name);
        found.iter().take(rows).filter_map(read).collect()
    }

    fn near(&self, _: f64, _: f64, _: f64) -> Option<Vec<Note>> {
        None
    }
}
