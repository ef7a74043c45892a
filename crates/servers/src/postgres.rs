//! A PostgreSQL server: its own folder, a free port of loopback, and nobody else's data.
//!
//! ```text
//! test ─stdin─▶ keeper (sh) ─▶ postgres      the test ends, however ─▶ the keeper stops it
//!   └── kill -9, restart ───────▶ │          and removes the folder
//! ```
//!
//! PostgreSQL refuses to run as root: then it runs as the user `postgres`, or `nobody`. The folder
//! is in the folder for temporary files, so that this user may pass. One server can be shared by
//! all tests of a program, each with a database of its own. Never touches a server it did not
//! start.

mod standby;

use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long a server may take to start or to recover.
const START_WITHIN: Duration = Duration::from_secs(60);

/// What the tests want of a server; `fsync` is for tests of what it promises.
const SETTINGS: [&str; 6] = [
    "listen_addresses=127.0.0.1",
    "max_connections=200",
    "shared_buffers=64MB",
    "log_min_messages=warning",
    "autovacuum=off",
    "timezone=UTC",
];

/// Starts the server in the background, waits until whoever started it is gone, and cleans up.
const KEEPER: &str = r#"
folder=$1; shift
"$@" & child=$!
cat >/dev/null
kill -QUIT $child 2>/dev/null
wait $child
if [ -e "$folder/remove" ]; then rm -rf "$folder"; fi
"#;

/// A running server.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    user: Option<(u32, u32)>,
    settings: Vec<String>,
    keeper: Mutex<Option<Child>>,
}

impl Postgres {
    /// A new server that does not wait for the disk: quick, and safe unless the machine fails.
    pub fn start() -> Postgres {
        Postgres::with(&["fsync=off"])
    }

    /// A new server with these settings too (`name=value`).
    pub fn with(settings: &[&str]) -> Postgres {
        let server = Postgres::in_new_folder(settings.iter().map(ToString::to_string).collect());
        server.initialize();
        server.run();
        server
    }

    /// A server that has a folder for itself, and nothing in it.
    fn in_new_folder(settings: Vec<String>) -> Postgres {
        let programs = programs();
        let user = user();
        let folder = folder();
        fs::create_dir(&folder).unwrap_or_else(|error| fail("make a folder", &error));
        if let Some((user, group)) = user {
            let owned = chown(&folder, Some(user), Some(group));
            owned.unwrap_or_else(|error| fail("give the folder away", &error));
        }
        Postgres { programs, folder, port: free_port(), user, settings, keeper: Mutex::new(None) }
    }

    /// The server that all tests of this program share; it goes when the program ends.
    pub fn shared() -> &'static Postgres {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(Postgres::start)
    }

    /// `127.0.0.1:PORT`
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL of one of its databases.
    pub fn url(&self, database: &str) -> String {
        url(self.port, database)
    }

    /// A new, empty database; its name.
    pub fn database(&self) -> String {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        self.psql("postgres", &format!("CREATE DATABASE {name}"));
        name
    }

    /// What `psql` answers: fields divided by `|`, a row a line. Fails where it fails.
    pub fn psql(&self, database: &str, statements: &str) -> String {
        let mut command = Command::new(self.programs.join("psql"));
        command.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
        command.args(["--set=ON_ERROR_STOP=1", "--file=-"]);
        command.arg(self.url(database));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| fail("run psql", &error));
        if let Some(mut stdin) = child.stdin.take() {
            // A psql that is gone says why on its other end.
            let _ = stdin.write_all(statements.as_bytes());
        }
        let output = child.wait_with_output().unwrap_or_else(|error| fail("run psql", &error));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if !output.status.success() {
            fail("run statements in psql", &text(&output.stderr));
        }
        text(&output.stdout)
    }

    /// The statements that make what is in a database, without its rows, as `pg_dump` writes them.
    pub fn structure(&self, database: &str) -> String {
        let mut command = Command::new(self.programs.join("pg_dump"));
        command.args(["--schema-only", "--no-owner"]).arg(self.url(database));
        let output = command.output().unwrap_or_else(|error| fail("run pg_dump", &error));
        if !output.status.success() {
            fail("dump a database", &String::from_utf8_lossy(&output.stderr));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        // Some versions begin and end with a key of their own.
        let lines = text.lines().filter(|line| !line.contains("restrict "));
        lines.map(|line| format!("{line}\n")).collect()
    }

    /// One of the programs that came with the server.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// Kills every process of the server at once (`kill -9`): nothing is written any more.
    pub fn kill(&self) {
        let Some(main) = self.main_process() else { fail("kill it", &"it does not run") };
        let mut command = Command::new("kill");
        command.arg("-KILL").arg(main.to_string());
        command.args(children(main).iter().map(ToString::to_string));
        // Processes that ended meanwhile make `kill` complain.
        command.stderr(Stdio::null());
        let _ = command.status();
        self.keep(None);
    }

    /// Starts it again after [`kill`](Self::kill), on the same port; it recovers by itself.
    pub fn restart(&self) {
        self.run();
    }

    /// Initializes the folder.
    fn initialize(&self) {
        let mut command = self.command(Path::new("initdb"));
        command.arg("-D").arg(self.data());
        command.args(["-U", "keyway", "--auth=trust", "--encoding=UTF8", "--no-sync"]);
        // Not `C`, so that a column which forgot its collation is noticed.
        command.args(["--locale-provider=icu", "--icu-locale=en-US", "--locale=C.UTF-8"]);
        let output = command.output().unwrap_or_else(|error| fail("run initdb", &error));
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            fail("initialize a folder", &text);
        }
    }

    /// Starts the server and waits until it answers.
    fn run(&self) {
        let end = Instant::now() + START_WITHIN;
        loop {
            self.keep(Some(self.spawn()));
            // Until the last process of a killed server is gone, the folder is still taken.
            if self.answers_before(end) {
                return;
            }
            if Instant::now() > end {
                let log = fs::read_to_string(self.log()).unwrap_or_default();
                fail("start it", &log);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn spawn(&self) -> Child {
        let log = fs::File::options().create(true).append(true).open(self.log());
        let log = log.unwrap_or_else(|error| fail("open its log", &error));
        let mut command = self.command(Path::new("/bin/sh"));
        command.args(["-c", KEEPER, "keeper"]).arg(&self.folder);
        command.arg(self.programs.join("postgres")).arg("-D").arg(self.data());
        command.args(["-p", &self.port.to_string(), "-k"]).arg(&self.folder);
        for setting in SETTINGS.into_iter().chain(self.settings.iter().map(String::as_str)) {
            command.args(["-c", setting]);
        }
        // An interrupted test must not take the keeper with it before it has cleaned up.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
        command.spawn().unwrap_or_else(|error| fail("start it", &error))
    }

    /// Whether it answers before `end`; not if it has given up.
    fn answers_before(&self, end: Instant) -> bool {
        while Instant::now() < end {
            let mut command = self.command(Path::new("pg_isready"));
            command.args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()]);
            if command.status().is_ok_and(|status| status.success())
                && self.main_process().is_some()
            {
                return true;
            }
            if !self.is_starting() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    fn is_starting(&self) -> bool {
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        // Beside the keeper's `cat`.
        keeper.as_ref().is_some_and(|keeper| children(keeper.id()).len() > 1)
    }

    /// The process that listens.
    fn main_process(&self) -> Option<u32> {
        let text = fs::read_to_string(self.data().join("postmaster.pid")).ok()?;
        let process = text.lines().next()?.trim().parse().ok()?;
        Path::new("/proc").join(u32::to_string(&process)).exists().then_some(process)
    }

    /// Takes a new keeper, and lets the last one clean up.
    fn keep(&self, next: Option<Child>) {
        let mut keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut last) = std::mem::replace(&mut *keeper, next) {
            drop(last.stdin.take());
            let _ = last.wait();
        }
    }

    /// A command of the server's own user; a name alone is one of its programs.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(self.programs.join(program));
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command.current_dir(&self.folder).env("LC_ALL", "C.UTF-8");
        command
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the server's log is {}", self.log().display());
        } else {
            let _ = fs::write(self.folder.join("remove"), "");
        }
        self.keep(None);
    }
}

/// The URL of a database, by this port.
pub fn url(port: u16, database: &str) -> String {
    format!("postgres://keyway@127.0.0.1:{port}/{database}")
}

/// The folder with the server's programs, the newest if there are several.
fn programs() -> PathBuf {
    let mut found: Vec<PathBuf> = Vec::new();
    if let Ok(entries) = fs::read_dir("/usr/lib/postgresql") {
        found.extend(entries.flatten().map(|entry| entry.path().join("bin")));
    }
    found.sort_by_key(|path| {
        let version = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy());
        version.and_then(|version| version.parse::<u32>().ok())
    });
    found.reverse();
    let path = std::env::var_os("PATH").unwrap_or_default();
    found.extend(std::env::split_paths(&path));
    let has_all = |folder: &PathBuf| {
        ["initdb", "postgres", "psql", "pg_dump", "pg_isready"]
            .iter()
            .all(|name| folder.join(name).exists())
    };
    match found.into_iter().find(has_all) {
        Some(folder) => folder,
        None => {
            fail("find it", &"install the package `postgresql`, or put its programs on the PATH")
        }
    }
}

/// Whom the server runs as: somebody else if this is root.
fn user() -> Option<(u32, u32)> {
    let this = fs::metadata("/proc/self").ok()?;
    if std::os::unix::fs::MetadataExt::uid(&this) != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let find = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    match find("postgres").or_else(|| find("nobody")) {
        Some(user) => Some(user),
        None => fail("start it as root", &"there is no user `postgres` or `nobody`"),
    }
}

fn folder() -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("keyway-postgres-{}-{number}", std::process::id()))
}

/// A port nobody listens on.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let port = listener.and_then(|listener| listener.local_addr()).map(|address| address.port());
    port.unwrap_or_else(|error| fail("find a port", &error))
}

/// The processes a process has started.
fn children(of: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(process) = entry.file_name().to_string_lossy().parse() else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name, in parentheses, may hold anything.
        let rest = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
        if rest.split_whitespace().nth(1).is_some_and(|parent| parent == of.to_string()) {
            found.push(process);
        }
    }
    found
}

#[expect(clippy::panic, reason = "a test fails by panicking")]
fn fail(what: &str, why: &dyn std::fmt::Display) -> ! {
    panic!("PostgreSQL: cannot {what}: {why}");
}

/// Whether something listens on a port.
pub fn is_open(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_starts_is_killed_and_comes_back() {
        let server = Postgres::start();
        let folder = server.folder.clone();
        let database = server.database();
        server.psql(&database, "CREATE TABLE t (n bigint); INSERT INTO t VALUES (7)");
        server.kill();
        assert!(!is_open(server.port()));
        server.restart();
        assert_eq!(server.psql(&database, "SELECT n FROM t"), "7\n");
        drop(server);
        assert!(!folder.exists());
    }
}
