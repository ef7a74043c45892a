//! `keyway completions`: a script that teaches a shell the arguments.

use crate::answer::Answer;
use crate::arguments::{Arguments, Completions};
use clap::CommandFactory;

/// Prints the script.
pub(crate) fn run(options: &Completions) -> Answer {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), "keyway", &mut script);
    Answer::done(String::from_utf8_lossy(&script))
}
