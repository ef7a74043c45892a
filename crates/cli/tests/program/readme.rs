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
fn its_keyspaces_are_sound_and_tidy() {
    let blocks = blocks(&readme(), "toml");
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let ran = keyway_with(&["check", "-", "--json"], &block, &[]);
        let object: serde_json::Value = serde_json::from_str(&ran.output).unwrap();
        let nothing = serde_json::json!([]);
        assert_eq!((ran.status, &object["problems"]), (0, &nothing), "{}", ran.output);
        assert_eq!(keyway_with(&["format", "-"], &block, &[]).output, block);
    }
}

#[test]
fn its_commands_run() {
    let mut count = 0;
    for block in blocks(&readme(), "sh") {
        for line in block.lines() {
            let Some(arguments) = line.strip_prefix("keyway ") else {
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
    let installed = readme().find("cargo install --path crates/cli");
    let first = readme().find("\nkeyway ");
    assert!(installed.is_some() && installed < first, "it is installed before it is used");
}

#[test]
fn its_test_command_is_what_the_build_machine_runs() {
    let readme = readme();
    let section = readme.split("\n## Test\n").nth(1).unwrap();
    let command = blocks(section, "sh")[0].trim().to_string();
    let machine = fs::read_to_string(root().join(".ci/run")).unwrap();
    assert!(machine.lines().any(|line| line == command), "`{command}` is not in .ci/run");
}
