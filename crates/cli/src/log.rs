//! What a server logs, to standard error.

use crate::arguments::{Log, LogForm, LogLevel};
use std::io::IsTerminal;
use tracing_subscriber::filter::LevelFilter;

/// Begins to log.
pub(crate) fn start(log: Log) {
    let level = match log.log {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Problems => LevelFilter::WARN,
        LogLevel::Requests => LevelFilter::INFO,
        LogLevel::All => LevelFilter::DEBUG,
    };
    let lines = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr);
    let lines = lines.with_target(false).with_ansi(std::io::stderr().is_terminal());
    // There is one log in a program, and it is begun once.
    match log.log_form {
        LogForm::Text => lines.init(),
        LogForm::Json => lines.json().flatten_event(true).init(),
    }
}
