//! Pages show what commands do: every session in them is played.
//!
//! ```text
//! ```console data blocks   `$ command`, then what it prints; `…` stands for what differs from
//!                          run to run, or alone on a line for lines left out
//! $ keyway serve … &       a server, which has said all when it says how it is ended
//! $ kill %1                ends it
//! ```

use crate::{Directory, root};
use servers::cassandra::Cassandra;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

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
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let page = page.replace(":7474", &format!(":{port}"));
    let directory = Directory::new("outgrow");
    let chat = std::fs::read_to_string(root().join("apps/chat/keyspace.toml")).unwrap();
    directory.write("keyspace.toml", &chat);
    assert!(play(OUTGROW, &page, &directory) > 6, "the sessions were found");
}

/// The keyspace files of a page.
fn files(page: &str) -> impl Iterator<Item = &str> {
    page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next())
}

/// A server that a session has begun.
struct Served {
    child: Child,
    /// What it says later goes nowhere, but is not in its way.
    _said: BufReader<ChildStdout>,
}

impl Served {
    /// Begins one, and answers what it says until it is ready.
    fn begin(command: &str, directory: &Path) -> (Served, String) {
        let mut command = shell(&format!("exec {command} 2>&1"), directory);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        while !text.ends_with("Ctrl-C ends it\n") {
            assert_ne!(said.read_line(&mut text).unwrap(), 0, "the server has ended: {text}");
        }
        (Served { child, _said: said }, text)
    }

    fn end(mut self) -> String {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").arg(&id).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
        String::new()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Plays the sessions of a page, and says how many commands there were.
fn play(name: &str, page: &str, directory: &Directory) -> usize {
    let played = played(page);
    let mut served = None;
    for one in &played {
        let printed = match (one.command.as_str(), one.command.strip_suffix(" &")) {
            ("kill %1", _) => served.take().map(Served::end).unwrap(),
            (_, Some(command)) => {
                let (begun, said) = Served::begin(command, &directory.0);
                served = Some(begun);
                said
            }
            (command, None) => run(command, &directory.0),
        };
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
    let output = shell(&format!("{{ {command}; }} 2>&1"), directory).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn shell(text: &str, directory: &Path) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_keyway")).parent().unwrap();
    let paths = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("sh");
    command.args(["-c", text]).current_dir(directory);
    command.env("PATH", format!("{}:{paths}", program.display()));
    command
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
