//! A Redis server of a test's own.

#![allow(clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

use crate::process::{Folder, Process, Recipe, free_port};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The package that brings the server and its command line.
const PACKAGE: &str = "redis-server";

/// A Redis server on loopback, with a folder of its own. Without settings it keeps nothing on disk.
#[derive(Debug)]
pub struct RedisServer {
    process: Process,
    port: u16,
    folder: Folder,
}

impl RedisServer {
    /// Starts a server with these settings, such as `["--appendonly", "yes"]`, and waits until it
    /// answers.
    pub fn start(settings: &[&str]) -> RedisServer {
        let folder = Folder::new("redis");
        let port = free_port();
        let number = port.to_string();
        let place = folder.path().display().to_string();
        let mut arguments: Vec<&str> = vec!["--bind", "127.0.0.1", "--port", &number];
        arguments.extend(["--dir", &place, "--save", "", "--appendonly", "no"]);
        arguments.extend(settings);
        let process = Process::start(Recipe {
            program: "redis-server".to_string(),
            arguments: arguments.into_iter().map(str::to_string).collect(),
            folder: folder.path().to_path_buf(),
            package: PACKAGE,
        });
        let mut server = RedisServer { process, port, folder };
        server.wait();
        server
    }

    /// `127.0.0.1:PORT`
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its store URL, without parameters.
    pub fn url(&self) -> String {
        format!("redis://{}/0", self.address())
    }

    /// Where it keeps its files.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Kills it as `kill -9` does.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Kills it if it runs, starts it with the same settings and files, and waits until it answers.
    pub fn restart(&mut self) {
        self.process.restart();
        self.wait();
    }

    /// Starts it again without waiting: it may be loading for a while.
    pub fn restart_without_waiting(&mut self) {
        self.process.restart();
    }

    /// From now on each sync of its log takes so long, until what is answered is dropped. Needs
    /// `strace`, which must be there and may look.
    pub fn slow_disk(&self, sync: Duration) -> SlowDisk {
        let id = self.process.id().expect("the server runs").to_string();
        let delay = format!("inject=fdatasync,fsync:delay_enter={}", sync.as_micros());
        let started = Command::new("strace")
            .args(["-f", "-q", "-p", &id, "-e", "trace=fdatasync,fsync", "-e", &delay])
            .args(["-o", "/dev/null"])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let tracer = started.unwrap_or_else(|error| {
            panic!("`strace` cannot be started ({error}): install the package `strace`")
        });
        let slow = SlowDisk(tracer);
        let threads = PathBuf::from(format!("/proc/{id}/task"));
        let begun = Instant::now();
        while !is_traced(&threads) {
            assert!(begun.elapsed() < Duration::from_secs(20), "`strace` may not look");
            std::thread::sleep(Duration::from_millis(5));
        }
        slow
    }

    fn wait(&mut self) {
        let address = self.address();
        self.process.wait_until(|| answers(&address));
    }

    /// What `redis-cli` prints for these words, without the last line end.
    pub fn cli(&self, words: &[&str]) -> String {
        let mut command = Command::new("redis-cli");
        let command = command.args(["-p", &self.port.to_string()]).args(words);
        let done = command.output().unwrap_or_else(|error| {
            panic!("`redis-cli` cannot be started ({error}): install the package `{PACKAGE}`")
        });
        String::from_utf8_lossy(&done.stdout).trim_end_matches('\n').to_string()
    }
}

/// A disk that takes its time. It is as fast as before when this is dropped.
#[derive(Debug)]
pub struct SlowDisk(Child);

impl Drop for SlowDisk {
    fn drop(&mut self) {
        // One that has ended with the server cannot be killed, only waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether somebody looks at every thread of a process.
fn is_traced(threads: &std::path::Path) -> bool {
    let threads: Vec<_> = std::fs::read_dir(threads).into_iter().flatten().flatten().collect();
    let is_looked_at = |thread: &std::fs::DirEntry| {
        let status = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
        tracer.is_some_and(|tracer| tracer.trim() != "0")
    };
    !threads.is_empty() && threads.iter().all(is_looked_at)
}

/// Whether a server answers, and has loaded what it keeps.
fn answers(address: &str) -> bool {
    let asked = || -> std::io::Result<[u8; 5]> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.write_all(b"PING\r\n")?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer)?;
        Ok(answer)
    };
    asked().is_ok_and(|answer| &answer == b"+PONG")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_killed_server_comes_back_with_what_it_kept() {
        let mut server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
        assert_eq!(server.cli(&["SET", "a", "1"]), "OK");
        server.kill();
        assert_ne!(server.cli(&["GET", "a"]), "1");
        server.restart();
        assert_eq!(server.cli(&["GET", "a"]), "1");
    }

    #[test]
    fn two_servers_are_apart() {
        let (one, two) = (RedisServer::start(&[]), RedisServer::start(&[]));
        one.cli(&["SET", "a", "1"]);
        assert_eq!(two.cli(&["EXISTS", "a"]), "0");
    }
}
