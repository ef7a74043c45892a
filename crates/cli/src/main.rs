//! The `keyway` program.
//!
//! ```text
//! arguments ─▶ command ─▶ answer: what to print where, and the exit status
//! ```
//!
//! This file lists what the program can do; each command is a file in `commands`. Answers are
//! values, written out here; only what is longer than memory, or somebody waits for, is written
//! before.

mod access;
mod answer;
mod arguments;
mod call;
mod commands;
mod failure;
mod hatch;
mod input;
mod json;
mod lines;
mod log;
mod open;
mod progress;
mod report;
mod shown;
mod table;
mod terminal;

use answer::Form;
use arguments::{Arguments, Command};
use clap::Parser;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let form = Form { json: arguments.json, style: terminal::style(arguments.color) };
    let answer = match arguments.command {
        Command::Check(options) => commands::check::run(&options, form),
        Command::Explain(options) => commands::explain::run(&options, form),
        Command::Layout(options) => commands::layout::run(&options, form),
        Command::Doc(options) => commands::doc::run(&options, form),
        Command::Generate(command) => commands::generate::run(&command, form),
        Command::Schema => commands::schema::run(),
        Command::Format(options) => commands::format::run(&options, form),
        Command::Run(options) => commands::run::run(&options, form),
        Command::Shell(options) => commands::shell::run(&options, form),
        Command::Serve(options) => commands::serve::run(&options, form),
        Command::Mcp(options) => commands::mcp::run(&options, form),
        Command::Token(options) => commands::token::run(&options, form),
        Command::Scrub(options) => commands::scrub::run(&options, form),
        Command::Load(options) => commands::load::run(&options, form),
        Command::Copy(options) => commands::copy::run(&options, form),
        Command::Export(options) => commands::export::run(&options, form),
        Command::Import(options) => commands::import::run(&options, form),
        Command::New(options) => commands::new::run(&options, form),
        Command::Why(options) => commands::why::run(&options, form),
        Command::Reference(options) => commands::reference::run(&options, form),
        Command::Completions(options) => commands::completions::run(&options),
    };
    answer.write(form)
}
