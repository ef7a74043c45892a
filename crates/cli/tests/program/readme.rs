//! What the README shows works as it is shown.

use crate::{keyway, keyway_with, root};
use std::fs;

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

/// The text of the fenced blocks of a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_string()).collect()
}

#[test]
fn its_keyspace_is_sound_and_tidy() {
    let readme = readme();
    let blocks = blocks(&readme, "toml");
    assert_eq!(blocks.len(), 1);
    let ran = keyway_with(&["check", "-"], &blocks[0], &[]);
    assert_eq!(ran.status, 0, "{}", ran.output);
    assert!(!ran.output.contains("warning"), "{}", ran.output);
    assert_eq!(keyway_with(&["format", "-"], &blocks[0], &[]).output, blocks[0]);
}

#[test]
fn its_commands_run() {
    let mut count = 0;
    for block in blocks(&readme(), "sh") {
        for line in block.lines() {
            let Some(arguments) = line.strip_prefix("cargo run -p cli --bin keyway -- ") else {
                continue;
            };
            let arguments: Vec<&str> = arguments.split(' ').collect();
            let ran = keyway(&arguments);
            assert_eq!(ran.status, 0, "{line}\n{}", ran.complaint);
            assert!(!ran.output.is_empty(), "{line}");
            count += 1;
        }
    }
    assert!(count >= 4, "the commands were found");
}

#[test]
fn its_test_command_is_what_the_build_machine_runs() {
    let readme = readme();
    let section = readme.split("\n## Test\n").nth(1).unwrap();
    let command = blocks(section, "sh")[0].trim().to_string();
    let machine = fs::read_to_string(root().join(".ci/run")).unwrap();
    assert!(machine.lines().any(|line| line == command), "`{command}` is not in .ci/run");
}
