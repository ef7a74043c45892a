//! What a server logs, to standard error, and the traces it sends.

use crate::arguments::{Log, LogForm, LogLevel};
use crate::failure::Failure;
use server::Traces;
use std::io::IsTerminal;
use tracing::Metadata;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Begins to log, and to send traces to a collector if one is given.
pub(crate) fn start(log: Log, collector: Option<&str>) -> Result<Option<Traces>, Failure> {
    let level = match log.log {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Problems => LevelFilter::WARN,
        LogLevel::Requests => LevelFilter::INFO,
        LogLevel::All => LevelFilter::DEBUG,
    };
    // Spans are for collectors: a line says by itself what it is about.
    let is_line = move |about: &Metadata<'_>| about.is_event() && *about.level() <= level;
    let is_line = filter_fn(is_line).with_max_level_hint(level);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    let lines = match log.log_form {
        LogForm::Text => lines.with_ansi(std::io::stderr().is_terminal()).boxed(),
        LogForm::Json => lines.json().flatten_event(true).boxed(),
    };
    let traces = collector.map(Traces::to).transpose()?;
    let spans = traces.as_ref().map(|traces| traces.layer().with_filter(LevelFilter::INFO));
    // There is one log in a program, and it is begun once.
    let all = tracing_subscriber::registry().with(lines.with_filter(is_line)).with(spans);
    let _ = all.try_init();
    Ok(traces)
}
