//! The program as it is run: arguments and files in, two outputs and an exit status out.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod check;
mod cluster;
mod files;
#[cfg(unix)]
mod kinds;
#[cfg(unix)]
mod live;
mod load;
mod mcp;
mod readme;
mod reference;
mod rows;
mod run;
mod serve;
mod sessions;
mod shell;
mod show;
mod stores;
mod tools;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A run that ended.
struct Ran {
    output: String,
    complaint: String,
    status: i32,
}

/// Runs the program.
#[track_caller]
fn keyway(arguments: &[&str]) -> Ran {
    keyway_with(arguments, "", &[])
}

/// A keyspace with every kind of value and of answer.
const SHOP: &str = "crates/cli/tests/program/shop.toml";

/// A directory with a store, and the shop's patterns called in it.
struct Shop {
    directory: Directory,
    url: String,
}

impl Shop {
    fn new(test: &str) -> Shop {
        let directory = Directory::new(test);
        let url = format!("engine:{}", directory.path("data"));
        Shop { directory, url }
    }

    /// Runs a command of the program on the shop.
    #[track_caller]
    fn keyway(&self, command: &str, rest: &[&str]) -> Ran {
        self.keyway_with(command, rest, "")
    }

    #[track_caller]
    fn keyway_with(&self, command: &str, rest: &[&str], input: &str) -> Ran {
        let begin = [command, SHOP, "--store", &self.url];
        let checked = [("KEYWAY_CHECK_BOUNDS", "1")];
        keyway_with(&[&begin, rest].concat(), input, &checked)
    }

    /// Calls a pattern that is answered.
    #[track_caller]
    fn done(&self, rest: &[&str]) -> serde_json::Value {
        let ran = self.keyway("run", &[rest, &["--as", "ann", "--json"]].concat());
        assert_eq!(ran.status, 0, "{rest:?}: {}", ran.complaint);
        serde_json::from_str(&ran.output).unwrap()
    }

    /// Opens the store in this process.
    fn open(&self) -> (tokio::runtime::Runtime, keyway::Keyway) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let keyway = runtime.block_on(keyway::open(root().join(SHOP), &self.url)).unwrap();
        (runtime, keyway)
    }
}

/// The scaffold's file in a directory.
fn scaffold(directory: &Directory) -> String {
    let file = directory.path("keyspace.toml");
    fs::copy(root().join("apps/scaffold/keyspace.toml"), &file).unwrap();
    file
}

/// A token that is made for whoever calls the patterns of a file.
#[track_caller]
fn token(file: &str, caller: &[&str]) -> String {
    let made = keyway(&[&["token", "create", file], caller].concat());
    assert_eq!(made.status, 0, "{}", made.complaint);
    made.output.trim().to_string()
}

/// Runs the program with standard input and variables.
#[track_caller]
fn keyway_with(arguments: &[&str], input: &str, variables: &[(&str, &str)]) -> Ran {
    let mut child = command(arguments)
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that reads no input may be gone before it is written.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    ran(child.wait_with_output().unwrap())
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyway"));
    command.args(arguments).current_dir(root());
    for variable in ["NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "KEYWAY_TOKEN"] {
        command.env_remove(variable);
    }
    command
}

fn ran(output: Output) -> Ran {
    let ran = Ran {
        output: String::from_utf8(output.stdout).unwrap(),
        complaint: String::from_utf8(output.stderr).unwrap(),
        status: output.status.code().unwrap(),
    };
    assert!(!ran.complaint.contains("panicked"), "{}", ran.complaint);
    ran
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The five applications, from the root.
fn apps() -> Vec<String> {
    let mut apps: Vec<String> = fs::read_dir(root().join("apps"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| root().join("apps").join(name).join("keyspace.toml").exists())
        .map(|name| format!("apps/{name}/keyspace.toml"))
        .collect();
    apps.sort();
    assert!(apps.len() >= 5);
    apps
}

/// An empty directory of one test, removed when the test ends well.
struct Directory(PathBuf);

impl Directory {
    fn new(test: &str) -> Directory {
        let name = format!("keyway-cli-{test}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.0.join(name), text).unwrap();
        self.path(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
