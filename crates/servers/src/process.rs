//! A process of a test's own: started, killed, started again, and gone when its handle is dropped.
//!
//! Nothing here knows what the program is. Only processes started here are ever signalled.

#![allow(clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a server may take until it answers, on a machine that is busy with other tests.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// Between two questions whether it does.
const READY_ASKED_EVERY: Duration = Duration::from_millis(10);
/// How long a process may take to end when it is asked to.
const ENDS_WITHIN: Duration = Duration::from_secs(30);

/// How a process is started: the same way each time.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The program, by its name or path.
    pub program: String,
    /// What it is given.
    pub arguments: Vec<String>,
    /// Where it runs, and where its log goes.
    pub folder: PathBuf,
    /// The package that brings the program, for whoever lacks it.
    pub package: &'static str,
}

/// A running process, or one that was killed and can be started again.
#[derive(Debug)]
pub struct Process {
    recipe: Recipe,
    child: Option<Child>,
}

impl Process {
    /// Starts a process. Whether it is ready is for [`Process::wait_until`] to find out.
    pub fn start(recipe: Recipe) -> Process {
        let mut process = Process { recipe, child: None };
        process.restart();
        process
    }

    /// Starts it again, the same way; first kills it if it runs.
    pub fn restart(&mut self) {
        self.kill();
        let log = |name: &str| {
            let path = self.recipe.folder.join(name);
            File::options().create(true).append(true).open(path).expect("a log can be written")
        };
        let started = Command::new(&self.recipe.program)
            .args(&self.recipe.arguments)
            .current_dir(&self.recipe.folder)
            .stdin(Stdio::null())
            .stdout(log("stdout.log"))
            .stderr(log("stderr.log"))
            .spawn();
        let Recipe { program, package, .. } = &self.recipe;
        self.child = match started {
            Ok(child) => Some(child),
            Err(error) => panic!(
                "`{program}` cannot be started ({error}): this test needs it; install the package \
                 `{package}`"
            ),
        };
    }

    /// Waits until it answers; fails, with its log, if it ends or takes too long.
    pub fn wait_until(&mut self, is_ready: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_ready() {
            let ended = self.child.as_mut().map(|child| child.try_wait());
            let program = &self.recipe.program;
            if let Some(Ok(Some(status))) = ended {
                panic!("`{program}` ended ({status}) before it answered\n{}", self.log());
            }
            assert!(begun.elapsed() < READY_WITHIN, "`{program}` never answered\n{}", self.log());
            std::thread::sleep(READY_ASKED_EVERY);
        }
    }

    /// Its number, while it runs.
    pub fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Ends it at once, as `kill -9` does: it writes nothing more.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // One that has ended by itself cannot be killed, only waited for.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Asks it to end, and waits until it has; after a while it is killed.
    pub fn stop(&mut self) {
        let Some(id) = self.id() else { return };
        let asked = Command::new("kill").args(["-TERM", &id.to_string()]).status();
        if asked.is_ok_and(|status| status.success()) {
            let begun = Instant::now();
            while begun.elapsed() < ENDS_WITHIN {
                match self.child.as_mut().map(|child| child.try_wait()) {
                    Some(Ok(None)) => std::thread::sleep(READY_ASKED_EVERY),
                    _ => break,
                }
            }
        }
        self.kill();
    }

    /// What it has said so far.
    pub fn log(&self) -> String {
        let read = |name: &str| {
            let bytes = std::fs::read(self.recipe.folder.join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        format!("{}{}", read("stdout.log"), read("stderr.log"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A port that nobody listens on at the moment.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    listener.local_addr().expect("a listener has an address").port()
}

/// A folder of a test's own, removed with all that is in it when it is dropped.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A new folder; `name` is for people who look into the temporary folder.
    pub fn new(name: &str) -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("keyway-{name}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the temporary folder can be written to");
        Folder(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
