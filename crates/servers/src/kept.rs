//! A process that never outlives the test program, however that ends.
//!
//! ```text
//! test ─stdin─▶ keeper (sh) ─▶ server       the test ends, however ─▶ the keeper kills the
//!                                           server and removes its folder
//! ```
//!
//! For servers that are slow to start, which the tests of a program share: nobody drops a shared
//! handle. The keeper is the parent and waits last, so the number it kills is the server's own.

#![allow(clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

use crate::process::Folder;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Starts the server, says its number, and waits until whoever started it is gone.
const KEEPER: &str = r#"
folder=$1; shift
"$@" </dev/null >>"$folder/log" 2>&1 & child=$!
echo $child
word=$(cat)
kill -KILL $child 2>/dev/null
wait $child
if [ "$word" != keep ]; then rm -rf "$folder"; fi
"#;

/// A running server with a folder of its own.
#[derive(Debug)]
pub struct Kept {
    folder: Folder,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    keeper: Child,
    server: u32,
}

impl Kept {
    /// A server that does not run yet; `name` is for people who look into the temporary folder.
    pub fn new(name: &str) -> Kept {
        Kept { folder: Folder::new(name), running: None }
    }

    /// Where its files are.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_path_buf()
    }

    /// Starts it; it must not be running.
    pub fn start(&mut self, program: &str, arguments: &[String]) {
        assert!(self.running.is_none(), "the server runs already");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", KEEPER, "keeper"]).arg(self.folder.path());
        command.arg(program).args(arguments).current_dir(self.folder.path());
        // An interrupted test must not take the keeper with it before it has cleaned up.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Shells tell of every process that was killed.
        command.stderr(Stdio::null());
        let mut keeper = command.spawn().expect("a shell can be started");
        let said = keeper.stdout.take().expect("its output is read");
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line).expect("the keeper says the server's number");
        let server = line.trim().parse().expect("the keeper says the server's number");
        self.running = Some(Running { keeper, server });
    }

    /// Whether it was started and has not ended.
    pub fn is_running(&self) -> bool {
        let Some(running) = &self.running else { return false };
        let stat = fs::read_to_string(format!("/proc/{}/stat", running.server));
        // One that has ended is kept as a zombie until its keeper asks.
        stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
    }

    /// Its number, while it runs.
    pub fn id(&self) -> Option<u32> {
        self.running.as_ref().map(|running| running.server)
    }

    /// Ends it at once, as `kill -9` does, paused or not; its files stay.
    pub fn kill(&mut self) {
        let Some(mut running) = self.running.take() else { return };
        if let Some(mut stdin) = running.keeper.stdin.take() {
            // A keeper that is gone has killed it already.
            let _ = stdin.write_all(b"keep");
        }
        let _ = running.keeper.wait();
    }

    /// Sends it a signal, such as `STOP`.
    pub fn signal(&self, name: &str) {
        let id = self.id().expect("the server runs").to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &id]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the server cannot be sent {name}");
    }

    /// What it has said so far.
    pub fn log(&self) -> String {
        let bytes = fs::read(self.folder.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_killed_even_while_it_is_paused_and_starts_again() {
        let mut kept = Kept::new("kept");
        let sleep = |kept: &mut Kept| kept.start("sleep", &["1000".to_string()]);
        sleep(&mut kept);
        assert!(kept.is_running());
        let first = kept.id().expect("it runs");
        kept.signal("STOP");
        kept.kill();
        assert!(!fs::exists(format!("/proc/{first}")).expect("/proc can be read"));
        assert!(kept.folder().exists());
        sleep(&mut kept);
        assert!(kept.is_running());
    }

    #[test]
    fn a_server_that_ended_by_itself_does_not_run() {
        let mut kept = Kept::new("kept");
        kept.start("true", &[]);
        while kept.is_running() {
            std::thread::yield_now();
        }
        assert_eq!(kept.log(), "");
    }

    /// As when the test program is killed: its end of the pipe goes, and nobody says a word.
    #[test]
    fn a_server_whose_starter_is_gone_is_killed_and_its_folder_removed() {
        let mut kept = Kept::new("kept");
        kept.start("sleep", &["1000".to_string()]);
        let mut running = kept.running.take().expect("it runs");
        drop(running.keeper.stdin.take());
        running.keeper.wait().expect("the keeper ends");
        assert!(!fs::exists(format!("/proc/{}", running.server)).expect("/proc can be read"));
        assert!(!kept.folder().exists());
    }
}
