//! What a run does, as its arguments say.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a run does.
#[derive(Debug)]
pub struct Settings {
    /// Turns of each server at each line.
    pub rounds: usize,
    /// How long a turn takes.
    pub turn: Duration,
    /// Only lines and parts with this in their name.
    pub only: String,
    /// Only servers with this in their name, and ours.
    pub who: String,
    /// Requests over which memory is looked at.
    pub requests: u64,
    /// Where the report goes.
    pub report: PathBuf,
}

impl Settings {
    pub fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Settings {
        let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports");
        let mut settings = Settings {
            rounds: 24,
            turn: Duration::from_millis(400),
            only: String::new(),
            who: String::new(),
            requests: 1_000_000,
            report: reports.join("server.md"),
        };
        while let Some(name) = arguments.next() {
            let value = arguments.next().unwrap_or_else(|| panic!("{name} needs a value"));
            match name.as_str() {
                "--rounds" => settings.rounds = value.parse().unwrap(),
                "--seconds" => settings.turn = Duration::from_secs_f64(value.parse().unwrap()),
                "--only" => settings.only = value,
                "--who" => settings.who = value,
                "--requests" => settings.requests = value.parse().unwrap(),
                "--report" => settings.report = PathBuf::from(value),
                _ => panic!("there is no {name}"),
            }
        }
        assert!(settings.rounds > 0, "--rounds must be at least 1");
        settings
    }

    /// Whether something with one of these names is asked for.
    pub fn wants(&self, names: &[impl AsRef<str>]) -> bool {
        names.iter().any(|name| name.as_ref().contains(&self.only))
    }
}
