//! A child that is killed: this test program, started anew with one of its tests.
//!
//! ```text
//! parent ─starts itself─▶ child: a test that acknowledges what it did, line by line, without end
//!    └─ kill -9, 1 to 300 ms after the first acknowledgement ─▶ all that was acknowledged
//! ```

use data::clock::SeededRandom;
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

const CHILD: &str = "KEYWAY_KILL_CHILD";
const FOLDER: &str = "KEYWAY_KILL_FOLDER";

/// Lets a test run in a child and kills it. Answers what each thread acknowledged, in its order.
pub fn kill_once(
    test: &str,
    told: &str,
    folder: &Path,
    threads: u8,
    seed: u64,
) -> Vec<Vec<String>> {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args([test, "--exact", "--nocapture"]);
    tell(&mut child, told, folder);
    let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
    let output = child.stdout.take().unwrap();
    let (sender, first) = channel();
    let reader = std::thread::spawn(move || {
        let mut lines = Vec::new();
        for line in BufReader::new(output).lines() {
            if let Some(acknowledged) = line.unwrap().strip_prefix("ack ") {
                lines.push(acknowledged.to_string());
                let _ = sender.send(());
            }
        }
        lines
    });
    let began = first.recv_timeout(Duration::from_secs(60));
    let delay = 1 + SeededRandom::new(seed).number() % 300;
    std::thread::sleep(Duration::from_millis(delay));
    child.kill().unwrap();
    let ended = child.wait().unwrap();
    assert!(began.is_ok() && !ended.success(), "{told}: the child ended by itself: {ended}");
    let mut of_threads = vec![Vec::new(); usize::from(threads)];
    for line in reader.join().unwrap() {
        let (thread, what) = line.split_once(' ').unwrap();
        of_threads[thread.parse::<usize>().unwrap()].push(what.to_string());
    }
    of_threads
}

/// Tells a child what it is for, and its folder.
pub fn tell(child: &mut Command, told: &str, folder: &Path) {
    child.env(CHILD, told).env(FOLDER, folder);
}

/// What a child was told, and its folder; nothing where the test is run by itself.
pub fn told() -> Option<(String, PathBuf)> {
    let told = std::env::var(CHILD).ok()?;
    // What the test runner says before a test does not end its line.
    println!();
    Some((told, PathBuf::from(std::env::var(FOLDER).unwrap())))
}

/// Tells the parent what a thread of the child has done.
pub fn acknowledge(thread: u8, what: impl fmt::Display) {
    let line = format!("ack {thread} {what}\n");
    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
}
