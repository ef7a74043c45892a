//! The `keyway` program.
//!
//! ```text
//! arguments ─▶ command ─▶ answer: what to print where, and the exit status
//! ```
//!
//! This file lists what the program can do; each command is a file in `commands`. Commands print
//! nothing themselves: their answers are values, written out here.

mod answer;
mod arguments;
mod commands;
mod input;
mod json;
mod report;
mod terminal;

use arguments::{Arguments, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let style = terminal::style(arguments.color);
    let answer = match arguments.command {
        Command::Check(options) => commands::check::run(&options, style),
        Command::Explain(options) => commands::explain::run(&options, style),
        Command::Layout(options) => commands::layout::run(&options, style),
        Command::Doc(options) => commands::doc::run(&options, style),
        Command::Schema => commands::schema::run(),
        Command::Format(options) => commands::format::run(&options, style),
        Command::New(options) => commands::new::run(&options),
        Command::Why(options) => commands::why::run(&options),
        Command::Completions(options) => commands::completions::run(&options),
    };
    answer.write()
}
