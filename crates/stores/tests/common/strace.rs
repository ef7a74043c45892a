//! What a child asks of the kernel, seen by `strace`, which must be there and may look.
//!
//! ```text
//! parent ─strace─▶ child: a test that acknowledges what it did, line by line
//!    └─ its system calls, in their order: which were over when another began?
//! ```
//!
//! Calls that failed are left out.

use super::kill;
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

/// What is looked at, where the machine has it: all that writes, names and syncs files.
const LOOKED_AT: &str = "trace=fsync,fdatasync,syncfs,write,pwrite64,openat,\
    ?renameat,?renameat2,unlinkat,mkdirat";

/// A system call, and on which lines it began and ended.
#[derive(Clone, Debug)]
pub struct Seen {
    pub began: usize,
    pub ended: usize,
    pub name: String,
    /// Handles as their paths, texts without their quotes, everything else as it is shown.
    pub arguments: Vec<String>,
}

impl Seen {
    /// Whether it was over when the other began.
    pub fn is_before(&self, other: &Seen) -> bool {
        self.ended < other.began
    }

    /// Whether it syncs this file or directory, or everything.
    pub fn syncs(&self, path: &str) -> bool {
        match self.name.as_str() {
            "fsync" | "fdatasync" => self.handle() == path,
            name => name == "syncfs",
        }
    }

    /// Whether it writes into a handle.
    pub fn writes(&self) -> bool {
        ["write", "pwrite64"].contains(&self.name.as_str())
    }

    /// Whether it tells the parent what was done.
    pub fn acknowledges(&self) -> bool {
        self.name == "write" && self.arguments[1].starts_with("ack ")
    }

    /// The path of its first handle.
    pub fn handle(&self) -> &str {
        &self.arguments[0]
    }

    /// The path of a name in a directory, which stand at this place.
    pub fn path(&self, place: usize) -> String {
        format!("{}/{}", self.arguments[place], self.arguments[place + 1])
    }
}

/// Whether some call that fits was made after one and before the other.
pub fn between(seen: &[Seen], after: &Seen, before: &Seen, fits: impl Fn(&Seen) -> bool) -> bool {
    seen.iter().any(|call| after.is_before(call) && call.is_before(before) && fits(call))
}

/// Lets a test run in a child and looks at it; `folder` is there, and what the child is told of
/// lies in it.
pub fn look(test: &str, told: &str, folder: &Path) -> Vec<Seen> {
    let seen = folder.join("seen");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-y", "-e", LOOKED_AT, "-o"]).arg(&seen);
    strace.arg(std::env::current_exe().unwrap()).args([test, "--exact", "--nocapture"]);
    kill::tell(&mut strace, told, &folder.join("store"));
    let output = strace.output().expect("strace is missing: ./scripts/servers installs it");
    let seen = std::fs::read_to_string(seen).unwrap();
    assert!(seen.contains("write("), "strace may not look: {output:?}");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    calls(&seen)
}

/// One that another thread interrupts is told twice, and is put together here.
fn calls(told: &str) -> Vec<Seen> {
    let mut begun: HashMap<&str, (usize, &str)> = HashMap::new();
    let mut seen = Vec::new();
    for (number, line) in told.lines().enumerate() {
        let Some((thread, line)) = line.split_once(' ') else { continue };
        let line = line.trim_start();
        if let Some(front) = line.strip_suffix("<unfinished ...>") {
            begun.insert(thread, (number, front.trim_end()));
        } else if let Some((_, back)) = line.split_once(" resumed>").filter(|_| is_resumed(line)) {
            let (began, front) = begun.remove(thread).expect("what goes on has begun");
            seen.extend(call(&format!("{front}{back}"), began, number));
        } else {
            seen.extend(call(line, number, number));
        }
    }
    seen
}

fn is_resumed(line: &str) -> bool {
    line.starts_with("<... ")
}

/// A call of its line; none if it failed, or if the line tells of something else.
fn call(line: &str, began: usize, ended: usize) -> Option<Seen> {
    let (call, result) = line.rsplit_once(" = ")?;
    let (name, arguments) = call.trim_end().strip_suffix(')')?.split_once('(')?;
    let arguments = split(arguments);
    (!result.starts_with('-')).then(|| Seen { began, ended, name: name.to_string(), arguments })
}

/// Arguments as they stand between commas, those inside of texts and brackets aside.
fn split(told: &str) -> Vec<String> {
    let (mut arguments, mut argument) = (Vec::new(), String::new());
    let (mut is_text, mut depth) = (false, 0);
    let mut letters = told.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if is_text => argument.extend(letters.next()),
            '"' => is_text = !is_text,
            ',' if !is_text && depth == 0 => arguments.push(std::mem::take(&mut argument)),
            ' ' if argument.is_empty() && !is_text => {}
            _ => {
                depth +=
                    i32::from(!is_text && letter == '{') - i32::from(!is_text && letter == '}');
                argument.push(letter);
            }
        }
    }
    arguments.push(argument);
    arguments.into_iter().map(unhandled).collect()
}

/// A handle's path: `5</a/b>` is `/a/b`.
fn unhandled(argument: String) -> String {
    let path = argument.split_once('<').and_then(|(_, path)| path.split_once('>'));
    path.map_or(argument.clone(), |(path, _)| path.to_string())
}
