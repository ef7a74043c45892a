//! Pages show what commands do: every session in them is played.
//!
//! ```text
//! ```console data blocks   `$ command`, then what it prints; `…` stands for what differs from
//!                          run to run, or alone on a line for lines left out
//! ```

use crate::{Directory, root};
use servers::cassandra::Cassandra;
use std::path::Path;
use std::process::Command;

const COMMANDS: &str = "docs/reference/commands.md";
const GUIDE: &str = "docs/guide/first-keyspace.md";
const OUTGROW: &str = "docs/guide/outgrow.md";
/// What that page says: whoever tries it has a server on the usual port.
const USUAL: &str = "cassandra://127.0.0.1:9042/chat";

/// A command and what it is shown to print.
struct Played {
    line: usize,
    command: String,
    shown: Vec<String>,
}

#[test]
fn the_sessions_of_the_commands_print_what_the_page_says() {
    let page = std::fs::read_to_string(root().join(COMMANDS)).unwrap();
    let directory = Directory::new("sessions");
    directory.write("keyspace.toml", files(&page).next().unwrap());
    assert!(play(COMMANDS, &page, &directory) > 10, "the sessions were found");
}

#[test]
fn the_sessions_of_the_guide_print_what_the_page_says() {
    let page = std::fs::read_to_string(root().join(GUIDE)).unwrap();
    let directory = Directory::new("guide");
    // The second is the one that is refused.
    let file: String =
        files(&page).enumerate().filter(|(at, _)| *at != 1).map(|(_, f)| f).collect();
    directory.write("todo.toml", &file);
    assert!(play(GUIDE, &page, &directory) > 3, "the sessions were found");
}

#[test]
fn the_session_of_outgrowing_one_machine_prints_what_the_page_says() {
    let page = std::fs::read_to_string(root().join(OUTGROW)).unwrap();
    let page = page.replace(USUAL, &Cassandra::shared().url("chat"));
    let directory = Directory::new("outgrow");
    let chat = std::fs::read_to_string(root().join("apps/chat/keyspace.toml")).unwrap();
    directory.write("keyspace.toml", &chat);
    assert!(play(OUTGROW, &page, &directory) > 6, "the sessions were found");
}

/// The keyspace files of a page.
fn files(page: &str) -> impl Iterator<Item = &str> {
    page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next())
}

/// Plays the sessions of a page, and says how many commands there were.
fn play(name: &str, page: &str, directory: &Directory) -> usize {
    let played = played(page);
    for one in &played {
        let printed = run(&one.command, &directory.0);
        let shown: Vec<&str> = one.shown.iter().map(String::as_str).collect();
        let real: Vec<&str> = printed.lines().collect();
        assert!(agree(&shown, &real), "{name}:{}: `{}` prints\n{printed}", one.line, one.command);
    }
    played.len()
}

fn played(page: &str) -> Vec<Played> {
    let mut played: Vec<Played> = Vec::new();
    let mut inside = false;
    for (number, line) in page.lines().enumerate() {
        match (inside, line.strip_prefix("$ ")) {
            (false, _) if line == "```console data" => inside = true,
            (true, _) if line == "```" => inside = false,
            (true, Some(command)) => {
                let (command, shown) = (command.to_string(), Vec::new());
                played.push(Played { line: number + 1, command, shown });
            }
            (true, None) => played.last_mut().unwrap().shown.push(line.to_string()),
            (false, _) => {}
        }
    }
    played
}

fn run(command: &str, directory: &Path) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_keyway")).parent().unwrap();
    let paths = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {command}; }} 2>&1")])
        .current_dir(directory)
        .env("PATH", format!("{}:{paths}", program.display()))
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn agree(shown: &[&str], real: &[&str]) -> bool {
    match shown.split_first() {
        None => real.is_empty(),
        Some((&"…", rest)) => (0..=real.len()).any(|skipped| agree(rest, &real[skipped..])),
        Some((line, rest)) => {
            real.first().is_some_and(|first| fits(line, first)) && agree(rest, &real[1..])
        }
    }
}

/// Whether a line has the parts around each `…`, in their order.
fn fits(shown: &str, real: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(mut rest) = parts.next().and_then(|first| real.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}
