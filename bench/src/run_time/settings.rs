//! What a run does, as its arguments say.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a run does.
#[derive(Debug)]
pub struct Settings {
    /// Notes of the data set.
    pub notes: u64,
    /// Turns of each contender at each line.
    pub rounds: usize,
    /// How long a turn takes.
    pub turn: Duration,
    /// Only lines with this in their name.
    pub only: String,
    /// Only contenders with this in their name, and the engine by hand.
    pub who: String,
    /// Rows of the one large group; then nothing else is measured.
    pub large: Option<u64>,
    /// Where the report goes.
    pub report: PathBuf,
}

impl Settings {
    pub fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Settings {
        let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports");
        let mut settings = Settings {
            notes: 1_000_000,
            rounds: 5,
            turn: Duration::from_millis(500),
            only: String::new(),
            who: String::new(),
            large: None,
            report: reports.join("run_time.md"),
        };
        while let Some(name) = arguments.next() {
            let value = arguments.next().unwrap_or_else(|| panic!("{name} needs a value"));
            match name.as_str() {
                "--notes" => settings.notes = value.parse().unwrap(),
                "--rounds" => settings.rounds = value.parse().unwrap(),
                "--seconds" => settings.turn = Duration::from_secs_f64(value.parse().unwrap()),
                "--only" => settings.only = value,
                "--who" => settings.who = value,
                "--large" => settings.large = Some(value.parse().unwrap()),
                "--report" => settings.report = PathBuf::from(value),
                _ => panic!("there is no {name}"),
            }
        }
        settings
    }

    /// A folder for the contenders' files.
    pub fn fresh_folder(&self) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("run_time_{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }
}
