//! Every example runs and prints what it says.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Command;

#[track_caller]
fn prints(example: &str, expected: &str) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // From the root, as all tests are run, so that nothing is built again with other features.
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let run = ["run", "--quiet", "--manifest-path", root, "--example", example];
    let output = Command::new(cargo).args(run).output().expect("cargo runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{example} failed:\n{errors}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{example}");
}

#[test]
fn quick_start() {
    prints(
        "quick_start",
        "Ann's notes, newest first:\n  Call Ben\n  Milk\n\
         with the tag `shop`: \"Milk\"\n\
         finished: \"done\"\n\
         not edited: conflict\n\
         read by Ben: null\n",
    );
}

#[test]
fn typed() {
    prints(
        "typed",
        "Milk: Open, due Some(Date(2026-11-15))\n\
         Oat milk, due None\n\
         somebody was faster\n\
         Note 5, Note 4, Note 3, Note 2\n\
         Note 1, Oat milk\n\
         deleted: None\n",
    );
}

#[test]
fn rate_limit() {
    prints(
        "rate_limit",
        "come in, 2 left\n\
         come in, 1 left\n\
         come in, 0 left\n\
         wait until 1970-01-01T00:15:00.000Z\n\
         later: true\n",
    );
}

#[test]
fn queue() {
    prints(
        "queue",
        "taken and forgotten: resize\n\
         done: mail, attempt 1\n\
         done: index, attempt 1\n\
         nothing is due\n\
         half a minute later\n\
         done: resize, attempt 2\n",
    );
}

#[test]
fn nearby() {
    prints(
        "nearby",
        "within 5 km of the line:\n  the line\n  Taveuni west\n  Taveuni east\n\
         the nearest one:\n  Taveuni east\n",
    );
}
