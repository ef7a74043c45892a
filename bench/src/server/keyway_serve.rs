//! `keyway serve`, as anybody would start it: tokens in their book, the engine in a folder.

use super::notes::Note;
use super::process::{beside, word_after};
use super::served::{READER, Server, Speaks, WRITER, members};
use super::ulid::ulid;
use super::wire::request;
use servers::kept::Kept;
use std::path::Path;
use std::process::Command;

const KEYSPACE: &str = include_str!("../../served_notes.toml");

/// As it is compared: acknowledged once the operating system has it.
pub fn start() -> Result<Server, String> {
    Ok(start_with("durability=process&cache_mib=256", &[]))
}

/// With these parameters of the store, and more options.
pub fn start_with(store: &str, options: &[&str]) -> Server {
    let program = beside("keyway").unwrap_or_else(|| {
        panic!("there is no keyway beside this program: cargo build --release -p cli makes it")
    });
    let mut kept = Kept::new("keyway-serve");
    let folder = kept.folder();
    let file = folder.join("notes.toml");
    std::fs::write(&file, KEYSPACE).unwrap();
    let tokens = [READER, WRITER].map(|user| token(&program, &file, user));
    let store = format!("engine:{}?{store}", folder.join("store").display());
    let file = file.display().to_string();
    let mut arguments = vec!["serve", &file, "--store", &store, "--listen", "127.0.0.1:0"];
    arguments.extend(["--rate", "0", "--log", "off"]);
    arguments.extend(options);
    let arguments: Vec<String> = arguments.into_iter().map(str::to_string).collect();
    kept.start(&program.display().to_string(), &arguments);
    let address = word_after(&kept, "listening on http://").parse().unwrap();
    Server { address, processes: vec![kept], speaks: Box::new(Rows { tokens }) }
}

fn token(program: &Path, file: &Path, user: u64) -> String {
    let mut command = Command::new(program);
    command.args(["token", "create"]).arg(file).args(["--as", &user.to_string()]);
    let made = command.output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    String::from_utf8(made.stdout).unwrap().trim().to_string()
}

/// The endpoints of the keyspace; the handler by hand has the same.
pub struct Rows {
    /// Of the reader and the writer.
    pub tokens: [String; 2],
}

impl Rows {
    fn authorization(&self, user: u64) -> String {
        format!("Bearer {}", self.tokens[usize::from(user == WRITER)])
    }
}

impl Speaks for Rows {
    fn create(&self, note: &Note) -> Vec<u8> {
        let body = members(note, "note_id").to_string();
        request("POST", "/add_note", &self.authorization(note.author), Some(&body))
    }

    fn read(&self, author: u64, note_id: u128) -> Vec<u8> {
        let path = format!("/note?note_id={}", ulid(note_id));
        request("GET", &path, &self.authorization(author), None)
    }

    fn list(&self, author: u64) -> Vec<u8> {
        request("GET", "/newest_notes", &self.authorization(author), None)
    }
}
