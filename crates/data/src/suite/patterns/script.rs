//! The text of scripts: read into cases and steps, with the line of every mistake.

use crate::caller::Caller;
use crate::error::{Error, ErrorKind, Result};
use serde_json::{Map, Value as Json};

/// A case.
#[derive(Clone, Debug)]
pub struct Script {
    /// What must hold.
    pub name: &'static str,
    /// The promise it is part of.
    pub promise: &'static str,
    /// What is done.
    pub steps: Vec<(usize, Step)>,
}

/// A step of a case.
#[derive(Clone, Debug)]
pub enum Step {
    /// A call, and what it must be answered.
    Call(Box<Called>),
    /// So many milliseconds pass.
    Wait(i64),
}

/// A call, and what it must be answered.
#[derive(Clone, Debug)]
pub struct Called {
    /// Who calls.
    pub caller: Caller,
    /// The pattern.
    pub pattern: &'static str,
    /// The arguments.
    pub arguments: Map<String, Json>,
    /// What must come of it.
    pub expected: Expected,
}

/// What must come of a call.
#[derive(Clone, Debug)]
pub enum Expected {
    /// An answer with these members.
    Answer(Json),
    /// An error of this kind.
    Error(&'static str),
}

/// The cases of a text.
pub fn read(text: &'static str) -> Result<Vec<Script>> {
    let mut scripts: Vec<Script> = Vec::new();
    for (number, line) in text.lines().enumerate().map(|(number, line)| (number + 1, line.trim())) {
        if line.is_empty() || line.starts_with("//") {
            continue;
        }
        if let Some(head) = line.strip_prefix("= ") {
            let Some((name, promise)) = head.strip_suffix(']').and_then(|h| h.rsplit_once(" ["))
            else {
                return Err(wrong(number, "a case is `= name [promise]`"));
            };
            scripts.push(Script { name, promise, steps: Vec::new() });
            continue;
        }
        let step = step(line).map_err(|message| wrong(number, message))?;
        match scripts.last_mut() {
            Some(script) => script.steps.push((number, step)),
            None => return Err(wrong(number, "a step stands before the first case")),
        }
    }
    Ok(scripts)
}

fn wrong(line: usize, message: &'static str) -> Error {
    Error::new(ErrorKind::Internal, message).with("line", line)
}

fn step(line: &'static str) -> Result<Step, &'static str> {
    if let Some(time) = line.strip_prefix('+') {
        return wait(time).map(Step::Wait);
    }
    let (who, call) = line.split_once("> ").ok_or("a call is `who> pattern {…} -> answer`")?;
    let (pattern, rest) = call.split_once(' ').ok_or("a call has arguments: `{}`")?;
    let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Map<String, Json>>();
    let mut arguments = stream.next().and_then(Result::ok).ok_or("arguments are a JSON object")?;
    arguments.values_mut().for_each(repeat);
    let after = rest.get(stream.byte_offset()..).unwrap_or_default().trim();
    let expected = after.strip_prefix("-> ").ok_or("an answer follows `->`")?;
    let expected = match expected.strip_prefix('!') {
        Some(kind) => Expected::Error(kind),
        None => {
            let mut answer = serde_json::from_str(expected).map_err(|_| "answers are JSON")?;
            repeat(&mut answer);
            Expected::Answer(answer)
        }
    };
    Ok(Step::Call(Box::new(Called { caller: caller(who), pattern, arguments, expected })))
}

/// `1000*ab` is `ab` a thousand times.
fn repeat(json: &mut Json) {
    match json {
        Json::String(text) => {
            let found =
                text.split_once('*').and_then(|(times, of)| Some((times.parse().ok()?, of)));
            if let Some((times, of)) = found {
                *text = of.repeat(times);
            }
        }
        Json::Array(items) => items.iter_mut().for_each(repeat),
        Json::Object(members) => members.values_mut().for_each(repeat),
        _ => {}
    }
}

fn wait(text: &str) -> Result<i64, &'static str> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..) {
        Some("ms") => 1,
        Some("s") => 1_000,
        Some("m") => 60_000,
        Some("h") => 3_600_000,
        Some("d") => 86_400_000,
        _ => return Err("time passes in ms, s, m, h or d"),
    };
    digits.parse::<i64>().map(|number| number * unit).map_err(|_| "time is a whole number")
}

fn caller(text: &str) -> Caller {
    let mut parts = text.split('#');
    let (user, tenant) = match parts.next().unwrap_or_default().split_once('@') {
        Some((user, tenant)) => (user, Some(tenant)),
        None => (text.split('#').next().unwrap_or_default(), None),
    };
    let mut caller = if user == "-" { Caller::nobody() } else { Caller::user(user) };
    if let Some(tenant) = tenant {
        caller = caller.of_tenant(tenant);
    }
    parts.fold(caller, |caller, role| caller.with_role(role))
}
