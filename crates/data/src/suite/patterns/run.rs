//! Scripts played on a store.

use super::Waits;
use super::script::{Called, Expected, Script, Step};
use crate::clock::{ManualClock, SeededRandom};
use crate::error::{Error, ErrorKind};
use crate::maintain::Scrub;
use crate::request::{self, Answer, Call, Prepared, Runtime};
use crate::store::Store;
use crate::suite::{Checked, Failure, Options, shown};
use keyspace::model::Keyspace;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::sync::Arc;

/// Plays a script on a store, and proves its indexes true afterwards.
pub(super) async fn script(
    script: &Script,
    store: Arc<dyn Store>,
    keyspace: &Arc<Keyspace>,
    (options, waits): (&Options, Option<Waits<'_>>),
) -> Checked {
    let clock = Arc::new(ManualClock::at(options.now));
    // Scripts may share a store in which removed rows have left their marks: ids never come again.
    let seed = script
        .name
        .bytes()
        .fold(options.seed, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let random = Arc::new(SeededRandom::new(seed));
    let mut behaviour = request::Options::new(clock.clone(), random.clone());
    behaviour.check_bounds = true;
    let runtime = Runtime::open(store.clone(), keyspace.clone(), behaviour).await?;
    let mut known = HashMap::new();
    for (line, step) in &script.steps {
        match step {
            Step::Wait(milliseconds) => clock.advance(*milliseconds),
            Step::Call(called) => {
                let played = call(&runtime, called, &mut known, waits).await;
                played.map_err(|failure| at_line(*line, failure))?;
            }
        }
    }
    let scrub = Scrub {
        store: store.as_ref(),
        schema: runtime.schema(),
        clock: clock.as_ref(),
        random: random.as_ref(),
        repair: false,
    };
    let mut found = Vec::new();
    scrub
        .run(&mut |problem, _| found.extend(problem.map(|problem| format!("{problem:?}"))))
        .await?;
    match found.first() {
        None => Ok(()),
        Some(problem) => Err(Failure::Broken(format!("scrub: {problem}"))),
    }
}

fn at_line(line: usize, failure: Failure) -> Failure {
    match failure {
        Failure::Broken(found) => Failure::Broken(format!("line {line}: {found}")),
        other => other,
    }
}

async fn call(
    runtime: &Runtime,
    called: &Called,
    known: &mut HashMap<String, Json>,
    waits: Option<Waits<'_>>,
) -> Checked {
    let Called { caller, pattern, arguments, expected } = called;
    let arguments = Json::Object(arguments.clone());
    let Json::Object(arguments) = filled(&arguments, known)? else { return Ok(()) };
    let prepared = runtime.pattern(pattern)?;
    if prepared.offered().is_err() {
        return Err(Failure::NotOffered("a pattern of the script is refused on this store"));
    }
    let answer = match prepared.given_from_json(runtime.keyspace(), &arguments) {
        Ok(given) => {
            let call = Call::new(prepared, given, caller);
            let before = waits.map(|waits| waits());
            let answered = runtime.call(call.clone()).await;
            hold_waits(prepared, before, waits)?;
            shown::alike(runtime, &call, &answered).await?;
            answered
        }
        Err(error) => Err(error),
    };
    match (expected, answer) {
        (Expected::Answer(expected), Ok(reply)) => {
            let answer = in_json(&reply.answer, runtime)?;
            match differs(expected, &answer, known) {
                None => Ok(()),
                Some(place) => {
                    Err(Failure::Broken(format!("{pattern}{place}, in {}", short(&answer))))
                }
            }
        }
        (Expected::Answer(_), Err(error)) => Err(Failure::Broken(format!(
            "{pattern} failed: {}: {error}; {:?}",
            error.kind(),
            std::error::Error::source(&error)
        ))),
        (Expected::Error(kind), Err(error)) if error.kind().name().replace(' ', "_") == *kind => {
            Ok(())
        }
        (Expected::Error(kind), Err(error)) => {
            Err(Failure::Broken(format!("{pattern}: {}: {error}, not {kind}", error.kind())))
        }
        (Expected::Error(kind), Ok(reply)) => {
            let answer = in_json(&reply.answer, runtime)?;
            Err(Failure::Broken(format!("{pattern} answered {}, not {kind}", short(&answer))))
        }
    }
}

/// Holds what a call has waited for its server against its plan.
fn hold_waits(prepared: &Prepared, before: Option<u64>, waits: Option<Waits<'_>>) -> Checked {
    let (Some(before), Some(waits)) = (before, waits) else { return Ok(()) };
    let Some(bounds) = prepared.bounds() else { return Ok(()) };
    // Whoever plays is alone: the first attempt is the last.
    let (waited, most) = (waits() - before, bounds.round_trips);
    match waited <= most {
        true => Ok(()),
        false => {
            let name = &prepared.pattern.name.value;
            let told = format!("{name} waited {waited} times for the server, its plan says {most}");
            Err(Failure::Broken(told))
        }
    }
}

/// The beginning of an answer: some are too long to read.
fn short(answer: &Json) -> String {
    answer.to_string().chars().take(2_000).collect()
}

/// Arguments with what was remembered in place of its names.
fn filled(json: &Json, known: &HashMap<String, Json>) -> Result<Json, Error> {
    Ok(match json {
        Json::String(text) => match text.strip_prefix('$') {
            Some(name) => known.get(name).cloned().ok_or_else(|| {
                Error::new(ErrorKind::Internal, "a script uses what it never saw")
                    .with("name", name)
            })?,
            None => json.clone(),
        },
        Json::Array(items) => {
            Json::Array(items.iter().map(|item| filled(item, known)).collect::<Result<_, _>>()?)
        }
        Json::Object(members) => {
            let filled =
                members.iter().map(|(name, value)| Ok((name.clone(), filled(value, known)?)));
            Json::Object(filled.collect::<Result<_, Error>>()?)
        }
        other => other.clone(),
    })
}

/// Where an answer differs from what is written; nothing if it does not.
fn differs(expected: &Json, found: &Json, known: &mut HashMap<String, Json>) -> Option<String> {
    let unlike = || Some(format!(": {} instead of {}", short(found), short(expected)));
    match (expected, found) {
        (Json::String(text), _) if text == "*" => None,
        (Json::String(text), _) if text.starts_with('$') => {
            let name = text.trim_start_matches('$').to_string();
            match known.get(&name) {
                Some(before) if before != found => unlike(),
                Some(_) => None,
                None => {
                    known.insert(name, found.clone());
                    None
                }
            }
        }
        (Json::Object(members), Json::Object(there)) => {
            members.iter().find_map(|(name, wanted)| {
                let value = there.get(name).unwrap_or(&Json::Null);
                differs(wanted, value, known).map(|place| format!(".{name}{place}"))
            })
        }
        (Json::Array(items), Json::Array(there)) if items.len() == there.len() => {
            items.iter().zip(there).enumerate().find_map(|(number, (wanted, value))| {
                differs(wanted, value, known).map(|place| format!("[{number}]{place}"))
            })
        }
        _ if expected == found => None,
        _ => unlike(),
    }
}

/// An answer as JSON; what a server sends must be the text of the same.
fn in_json(answer: &Answer, runtime: &Runtime) -> Result<Json, Error> {
    let json = answer.to_json(runtime.schema())?;
    let mut written = Vec::new();
    answer.write_json(runtime.schema(), &mut written)?;
    match json.to_string().into_bytes() == written {
        true => Ok(json),
        false => Err(Error::new(ErrorKind::Internal, "an answer is written in two ways")
            .with("tree", json)
            .with("text", String::from_utf8_lossy(&written))),
    }
}
