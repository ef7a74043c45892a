//! Which processors the server and its callers run on.
//!
//! ```text
//! apart    server: the first half │ callers: the rest      as if it were on a machine of its own
//! shared   both: all of them
//! ```

use std::process::Command;
use std::thread::available_parallelism;

/// The processors of this machine.
pub struct Cores(usize);

impl Cores {
    /// Those that this process may use now.
    pub fn new() -> Cores {
        let count = available_parallelism().unwrap().get();
        assert!(count > 1, "a server and its callers need two processors");
        Cores(count)
    }

    /// Gives the server processors of its own, or all of them to both.
    pub fn place(&self, server: u32, is_apart: bool) {
        let (all, half) = (self.0 - 1, self.0 / 2);
        let places = match is_apart {
            true => [(server, format!("0-{}", half - 1)), (own(), format!("{half}-{all}"))],
            false => [server, own()].map(|process| (process, format!("0-{all}"))),
        };
        for (process, list) in places {
            let mut placed = Command::new("taskset");
            // All threads of the process, and those that they start.
            placed.args(["--all-tasks", "--cpu-list", "--pid", &list, &process.to_string()]);
            assert!(placed.output().unwrap().status.success(), "{placed:?}");
        }
    }
}

fn own() -> u32 {
    std::process::id()
}
