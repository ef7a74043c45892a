//! How far long work has come, on a terminal's standard error; nothing anywhere else.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use keyspace::parse::grouped;
use std::borrow::Cow;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

/// A line that shows how far some work has come.
pub(crate) struct Progress {
    bar: ProgressBar,
    unit: &'static str,
    begun: Instant,
}

impl Progress {
    /// Work that counts so many things; `bytes` is how much there is to read, if that is known.
    pub(crate) fn new(unit: &'static str, bytes: Option<u64>) -> Progress {
        let template = match bytes {
            Some(_) => "{bar:24} {percent:>3}%  {msg}  {eta} left",
            None => "{spinner} {msg}",
        };
        Progress::drawn(unit, bytes, template)
    }

    /// Work that counts things, in stages that have names.
    pub(crate) fn in_stages(unit: &'static str) -> Progress {
        Progress::drawn(unit, None, "{spinner} {prefix}  {msg}")
    }

    /// Work on so many collections, in stages that have names.
    pub(crate) fn over_collections(unit: &'static str, collections: usize) -> Progress {
        let template = "{prefix} {bar:24} {pos} of {len} collections  {msg}";
        Progress::drawn(unit, Some(collections as u64), template)
    }

    fn drawn(unit: &'static str, length: Option<u64>, template: &str) -> Progress {
        let bar = match io::stderr().is_terminal() {
            true => ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr_with_hz(8)),
            false => ProgressBar::hidden(),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(250));
        Progress { bar, unit, begun: Instant::now() }
    }

    /// What is done from now on.
    pub(crate) fn stage(&self, name: impl Into<Cow<'static, str>>) {
        self.bar.set_prefix(name);
    }

    /// So many things are done, and so many bytes are read or collections done.
    pub(crate) fn at(&self, count: u64, position: u64) {
        if self.bar.is_hidden() {
            return;
        }
        self.bar.set_position(position);
        let rate = grouped(rate(count, self.begun.elapsed()));
        self.bar.set_message(format!("{} {}, {rate}/s", grouped(count), self.unit));
    }

    /// Does something that writes to the terminal.
    pub(crate) fn pause<T>(&self, work: impl FnOnce() -> T) -> T {
        self.bar.suspend(work)
    }

    /// Takes the line away, and says how long it took.
    pub(crate) fn end(self) -> Duration {
        self.bar.finish_and_clear();
        self.begun.elapsed()
    }
}

/// Things a second.
pub(crate) fn rate(count: u64, time: Duration) -> u64 {
    let rate = count as f64 / time.as_secs_f64().max(0.001);
    rate as u64
}

/// `10,000 calls in 1.2 s, 8,333/s`.
pub(crate) fn summary(count: u64, unit: &str, time: Duration) -> String {
    let (count_shown, rate) = (grouped(count), grouped(rate(count, time)));
    format!("{count_shown} {unit} in {:.1} s, {rate}/s", time.as_secs_f64())
}
