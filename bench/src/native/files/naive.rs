//! What people write first: a file a note, a file a tag that is added to, each step awaited on its
//! own; a page lists the directory, and every note is another read. No journal, no versions, no
//! checks. A crash leaves half of an insert, or half of a file.

use crate::Sync;
use crate::notes::{Note, Page};
use crate::race::{Contender, Work};
use crate::ulid::{from_ulid, ulid};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tokio::fs::{self, File};
use tokio::io::AsyncWriteExt as _;

pub struct Naive {
    root: PathBuf,
    sync: Sync,
}

#[derive(Deserialize, Serialize)]
struct Content {
    title: String,
    words: String,
    tag: String,
    lat: f64,
    lon: f64,
}

impl Naive {
    pub fn open(path: &Path, sync: Sync) -> Naive {
        for folder in ["notes", "tags", "places"] {
            std::fs::create_dir_all(path.join(folder)).unwrap();
        }
        Naive { root: path.to_path_buf(), sync }
    }

    fn path(&self, author: u64, name: &str) -> PathBuf {
        self.root.join("notes").join(author.to_string()).join(name)
    }

    async fn read(&self, author: u64, name: &str) -> Option<Note> {
        let content = fs::read_to_string(self.path(author, name)).await.ok()?;
        let Content { title, words, tag, lat, lon } = serde_json::from_str(&content).unwrap();
        let note_id = from_ulid(name.trim_end_matches(".json"));
        Some(Note { author, note_id, title, words, tag, lat, lon })
    }

    async fn write(&self, note: Note) {
        let Note { author, note_id, title, words, tag, lat, lon } = note;
        let name = format!("{}.json", ulid(note_id));
        let indexes = [format!("tags/{tag}"), format!("places/{:.1}-{:.1}", lat, lon)];
        let content = Content { title, words, tag, lat, lon };
        let path = self.path(author, &name);
        fs::create_dir_all(path.parent().unwrap()).await.unwrap();
        let mut file = File::create(&path).await.unwrap();
        file.write_all(&serde_json::to_vec_pretty(&content).unwrap()).await.unwrap();
        self.written(&mut file).await;
        for index in indexes {
            let mut options = File::options();
            options.append(true).create(true);
            let mut file = options.open(self.root.join(index)).await.unwrap();
            file.write_all(format!("{author}/{name}\n").as_bytes()).await.unwrap();
            self.written(&mut file).await;
        }
    }

    async fn written(&self, file: &mut File) {
        match self.sync {
            Sync::Power => file.sync_all().await.unwrap(),
            Sync::Process => file.flush().await.unwrap(),
        }
    }

    async fn list(&self, author: u64, rows: usize) -> Vec<Note> {
        let mut entries = fs::read_dir(self.path(author, "")).await.unwrap();
        let mut names: Vec<String> = Vec::new();
        while let Some(entry) = entries.next_entry().await.unwrap() {
            names.push(entry.file_name().into_string().unwrap());
        }
        names.sort_unstable_by(|one, other| other.cmp(one));
        let mut notes = Vec::with_capacity(rows);
        for name in names.iter().take(rows) {
            notes.extend(self.read(author, name).await);
        }
        notes
    }

    async fn look_up(&self, tag: &str, rows: usize) -> Vec<Note> {
        let lines = fs::read_to_string(self.root.join("tags").join(tag)).await.unwrap();
        let mut found: Vec<(&str, &str)> =
            lines.lines().filter_map(|line| line.split_once('/')).collect();
        found.sort_unstable_by(|one, other| other.1.cmp(one.1));
        let mut notes = Vec::with_capacity(rows);
        for (author, name) in found.into_iter().take(rows) {
            notes.extend(self.read(author.parse().unwrap(), name).await);
        }
        notes
    }
}

impl Contender for Naive {
    fn insert(&self, note: Note) -> Work<'_, ()> {
        Box::pin(self.write(note))
    }

    fn get(&self, author: u64, note_id: u128) -> Work<'_, Option<Note>> {
        Box::pin(async move { self.read(author, &format!("{}.json", ulid(note_id))).await })
    }

    fn page(&self, author: u64, rows: usize) -> Work<'_, Page> {
        Box::pin(async move { Page::guessed(self.list(author, rows).await, rows) })
    }

    fn tagged<'w>(&'w self, tag: &'w str, rows: usize) -> Work<'w, Page> {
        Box::pin(async move { Page::guessed(self.look_up(tag, rows).await, rows) })
    }
}
