//! Opening a keyspace on a store.
//!
//! ```text
//! file ─read, check for this store─▶ keyspace ─┐
//! URL ─parse─▶ store ─────────────────open─────┴─▶ run time, its sweeper, its cursor key
//! ```
//!
//! Errors of the file come first: a store is not touched for a keyspace that cannot be used.

use crate::handle::{Inner, Keyway};
use crate::sweep::Sweeper;
use crate::system::SystemClock;
use crate::url::StoreUrl;
use crate::wiring;
use data::clock::{Clock, Random, SystemRandom};
use data::request::{CursorKey, Options, Runtime};
use data::{Error, ErrorKind, Result};
use keyspace::diagnostic::Severity;
use keyspace::diagnostic::render::{Style, render};
use keyspace::model::{Keyspace, StoreKind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The environment's switch for [`Builder::check_bounds`].
const CHECK_BOUNDS: &str = "KEYWAY_CHECK_BOUNDS";

/// What text is called in messages when it came from no file.
const NO_FILE: &str = "keyspace.toml";

/// Opens the keyspace of a file on a store.
///
/// ```no_run
/// # async fn example() -> keyway::Result<()> {
/// let chat = keyway::open("apps/chat/keyspace.toml", "engine:./data").await?;
/// # Ok(())
/// # }
/// ```
pub async fn open(file: impl AsRef<Path>, url: &str) -> Result<Keyway> {
    Builder::new().open(file, url).await
}

/// Opens the keyspace of a text on a store.
pub async fn open_text(text: &str, url: &str) -> Result<Keyway> {
    Builder::new().open_text(text, url).await
}

/// Options for opening a keyspace.
#[derive(Clone, Debug)]
pub struct Builder {
    clock: Option<Arc<dyn Clock>>,
    random: Option<Arc<dyn Random>>,
    cursor_key: Option<[u8; 32]>,
    check_bounds: Option<bool>,
    sweep_every: Option<Duration>,
    call_within: Option<Duration>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Builder {
            clock: None,
            random: None,
            cursor_key: None,
            check_bounds: None,
            sweep_every: Some(Duration::from_secs(10)),
            call_within: None,
        }
    }

    /// Where time comes from; the machine unless set.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Where chance comes from; the operating system unless set.
    pub fn random(mut self, random: impl Random + 'static) -> Self {
        self.random = Some(Arc::new(random));
        self
    }

    /// What cursors are sealed with. Unless set, the engine keeps a key beside its data, PostgreSQL
    /// one for all programs in its helper table, and a store in memory has one as long as it lives.
    pub fn cursor_key(mut self, key: [u8; 32]) -> Self {
        self.cursor_key = Some(key);
        self
    }

    /// Whether a call that uses more than its plan allows is an error: a switch for finding
    /// mistakes of Keyway. Unless set, the environment's `KEYWAY_CHECK_BOUNDS=1` decides.
    pub fn check_bounds(mut self, check: bool) -> Self {
        self.check_bounds = Some(check);
        self
    }

    /// How often rows that have ended are removed in the background; `None` leaves it to
    /// [`Keyway::sweep`]. Every 10 seconds unless set.
    pub fn sweep_every(mut self, every: impl Into<Option<Duration>>) -> Self {
        self.sweep_every = every.into();
        self
    }

    /// How long a call may try; 30 seconds unless set.
    pub fn call_within(mut self, length: Duration) -> Self {
        self.call_within = Some(length);
        self
    }

    /// Opens the keyspace of a file on a store.
    pub async fn open(self, file: impl AsRef<Path>, url: &str) -> Result<Keyway> {
        let file = file.as_ref();
        let shown = file.display().to_string();
        let bytes = std::fs::read(file).map_err(|error| {
            Error::new(ErrorKind::Argument, "the keyspace file cannot be read")
                .with("file", &shown)
                .with("reason", &error)
                .caused_by(error)
        })?;
        match keyspace::decode(&bytes) {
            Ok(text) => self.open_named(text, &shown, url).await,
            Err(problem) => {
                let text = String::from_utf8_lossy(&bytes);
                let drawn = render(&problem, &shown, &text, Style::PLAIN);
                Err(refused(&shown, &[drawn]))
            }
        }
    }

    /// Opens the keyspace of a text on a store.
    pub async fn open_text(self, text: &str, url: &str) -> Result<Keyway> {
        self.open_named(text, NO_FILE, url).await
    }

    async fn open_named(self, text: &str, shown: &str, url: &str) -> Result<Keyway> {
        let sweep_every = self.sweep_every;
        let opening = Opening { text: text.to_string(), shown: shown.to_string(), builder: self };
        let (runtime, warnings) = opening.on(&url.parse()?).await?;
        let inner = Arc::new(Inner::new(runtime, warnings, opening));
        if let Some(every) = sweep_every
            && let Ok(mut sweeper) = inner.sweeper.lock()
        {
            *sweeper = Sweeper::start(&inner, every);
        }
        Ok(Keyway(inner))
    }
}

/// A keyspace and how it is opened, on whichever store.
pub(crate) struct Opening {
    text: String,
    shown: String,
    builder: Builder,
}

impl Opening {
    /// The run time on a store, and the warnings of the file for it.
    pub(crate) async fn on(&self, url: &StoreUrl) -> Result<(Runtime, Vec<String>)> {
        let (keyspace, warnings) = read(&self.text, &self.shown, url.kind())?;
        let keyspace = Arc::new(keyspace);
        let builder = &self.builder;
        let random = match &builder.random {
            Some(random) => random.clone(),
            None => Arc::new(SystemRandom::start()?),
        };
        let store = wiring::open(url).await?;
        let clock = match (&builder.clock, store.time().await?) {
            (Some(clock), _) => clock.clone(),
            // Several machines use it, and their clocks may differ.
            (None, Some(now)) => Arc::new(SystemClock::at(now)),
            (None, None) => Arc::new(SystemClock::start()),
        };
        let mut options = Options::new(clock, random);
        let schema = store.ensure(&keyspace).await?;
        let key = match builder.cursor_key {
            Some(key) => Some(key),
            None => {
                let mut fresh = [0; 32];
                options.random.fill(&mut fresh);
                store.secret(fresh).await?
            }
        };
        if let Some(key) = key {
            options.cursor_key = CursorKey::new(key);
        }
        let in_environment = || std::env::var_os(CHECK_BOUNDS).is_some_and(|value| value == "1");
        options.check_bounds = builder.check_bounds.unwrap_or_else(in_environment);
        if let Some(length) = builder.call_within {
            options.call_milliseconds_max = i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
        }
        Ok((Runtime::on(store, schema, options)?, warnings))
    }
}

/// The keyspace and its warnings; every error is in the error.
fn read(text: &str, shown: &str, kind: StoreKind) -> Result<(Keyspace, Vec<String>)> {
    let reading = keyspace::read_for(text, &[kind]);
    let drawn = |severity: Severity| -> Vec<String> {
        let problems = reading.diagnostics.iter().filter(|problem| problem.severity == severity);
        problems.map(|problem| render(problem, shown, text, Style::PLAIN)).collect()
    };
    let (errors, warnings) = (drawn(Severity::Error), drawn(Severity::Warning));
    match reading.keyspace {
        Some(keyspace) => Ok((keyspace, warnings)),
        None => Err(refused(shown, &errors)),
    }
}

fn refused(shown: &str, errors: &[String]) -> Error {
    Error::new(ErrorKind::Argument, "the keyspace file has errors")
        .with("file", shown)
        .with("errors", errors.len())
        .with("problems", format!("\n\n{}\n", errors.join("\n\n")))
}
