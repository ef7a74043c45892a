//! What a server of ours is to the operating system: its words, its memory, its processor time.

use servers::kept::Kept;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a server may take until it answers.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// What the kernel counts processor time in.
const TICK: Duration = Duration::from_millis(10);

/// Waits until something is there; fails with the server's own words.
pub fn wait_for<T>(server: &Kept, what: &str, found: impl Fn() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        let lives = server.is_running() && begun.elapsed() < READY_WITHIN;
        assert!(lives, "{what} never came\n{}", server.log());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The first word behind another in what a server has said.
pub fn word_after(server: &Kept, front: &str) -> String {
    wait_for(server, front, || {
        let log = server.log();
        let (_, rest) = log.split_once(front)?;
        // A line that is still being written has no end.
        let (line, _) = rest.split_once('\n')?;
        line.split_whitespace().next().map(str::to_string)
    })
}

/// Waits until somebody listens there.
pub fn wait_for_port(server: &Kept, address: SocketAddr) {
    wait_for(server, "a listener", || TcpStream::connect(address).ok());
}

/// A free address of loopback.
pub fn free_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], servers::process::free_port()))
}

/// Whether there is a program of this name.
pub fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// The memory that a process holds, in bytes.
pub fn memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kibibytes << 10
}

/// The processor time that processes have used.
pub fn processor_time(processes: &[u32]) -> Duration {
    let ticks = processes.iter().map(|process| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        // Behind the name, which may have blanks: user time and system time are the 12th and 13th.
        let (_, numbers) = stat.rsplit_once(')').unwrap();
        let ticks = numbers.split_whitespace().skip(11).take(2);
        ticks.map(|number| number.parse::<u32>().unwrap()).sum::<u32>()
    });
    TICK * ticks.sum::<u32>()
}

/// The program of this name beside this one, where cargo has put both.
pub fn beside(name: &str) -> Option<std::path::PathBuf> {
    let own = std::env::current_exe().unwrap();
    let path = own.parent().unwrap_or(Path::new(".")).join(name);
    path.is_file().then_some(path)
}
