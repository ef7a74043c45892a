//! `keyway copy --live`: a keyspace moves to another store, and the source says where it has gone.
//!
//! ```text
//! --from ─▶ copy ─▶ follow ─▶ verify ─▶ pause ─▶ --to       noted in --from: moved
//! ```
//!
//! The engine is open in one process. This one, if it can have it; otherwise the server that has
//! it is asked to make the move, under its own traffic. An application makes it by itself
//! (`Keyway::move_to`), and this says so.

use crate::answer::{Answer, Form};
use crate::arguments::Copy;
use crate::failure::Failure;
use crate::hatch::{self, Arrived, Ask};
use crate::json;
use crate::open::{Opened, Wanted, open_read, path, read, url_of};
use crate::progress::Progress;
use data::ErrorKind;
use data::maintain::LASTS_MILLISECONDS;
use keyspace::model::StoreKind;
use keyspace::parse::grouped;
use keyway::StoreUrl;
use serde_json::json;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Moves a keyspace to the target.
pub(crate) fn run(options: &Copy, form: Form) -> Answer {
    let (from, to) = match (options.from.parse(), options.to.parse()) {
        (Ok(from), Ok(to)) => (from, to),
        (Err(error), _) | (_, Err(error)) => {
            let error: keyway::Error = error;
            return Answer::failed(error.into());
        }
    };
    if StoreUrl::kind(&to) == StoreKind::Memory {
        let problem = "what moves into the memory of a process ends with it";
        return Answer::usage(problem, "give --to the URL of a store that keeps data");
    }
    let (file, store) = (options.file.as_str(), Some(options.from.as_str()));
    let wanted = Wanted { file, store, option: "--from", may_make: false, stays: false };
    let read = match read(wanted, form) {
        Ok(read) => read,
        Err(answer) => return answer,
    };
    let name = hatch::name_of(&read.text);
    let answer = match open_read(wanted, read, form) {
        Ok(opened) => {
            let answer = here(options, &opened, form);
            return opened.close(answer);
        }
        Err(answer) => answer,
    };
    match (answer.failures.as_slice(), &from) {
        ([failure], StoreUrl::Engine { directory, .. }) if failure.is(ErrorKind::Locked) => {
            there(options, (directory, &to), name, form).unwrap_or_else(|| unasked(answer))
        }
        _ => answer,
    }
}

/// In this process.
fn here(options: &Copy, from: &Opened, form: Form) -> Answer {
    let progress = Arc::new(Progress::in_stages("rows"));
    let shown = progress.clone();
    let told = move |stage| {
        let (name, rows) = hatch::stage(stage);
        shown.stage(name);
        shown.at(rows, 0);
    };
    let moving = from.keyway.move_to(&options.to).again(options.again).on_stage(told);
    let moved = from.wait(moving.into_future());
    let time = Arc::into_inner(progress).map_or(Duration::ZERO, Progress::end);
    match moved {
        Ok(moved) => {
            let arrived = Arrived::new(&moved, from.keyway.store().address);
            Answer::done(shown_moved(&arrived, time, false, form))
        }
        Err(error) => Answer::failed(Failure::from(error)),
    }
}

/// In the server that has the engine open; nothing if none is there to be asked.
fn there(
    options: &Copy,
    (from, to): (&Path, &StoreUrl),
    file: String,
    form: Form,
) -> Option<Answer> {
    let move_to = match anywhere(&options.to, to) {
        Ok(url) => url,
        Err(error) => {
            let problem = format!("the directory of --to cannot be found out: {error}");
            return Some(Answer::usage(&problem, "give --to an absolute path"));
        }
    };
    let ask = Ask { move_to, again: options.again, file };
    let progress = Progress::in_stages("rows");
    let asked = hatch::ask(from, &ask, |name, rows| {
        progress.stage(name);
        progress.at(rows, 0);
    });
    let time = progress.end();
    Some(match asked? {
        Ok(arrived) => Answer::done(shown_moved(&arrived, time, true, form)),
        Err(failure) => Answer::failed(failure),
    })
}

/// The same URL for a process in another directory.
fn anywhere(text: &str, url: &StoreUrl) -> io::Result<String> {
    let Some(path) = path(url).filter(|path| path.is_relative()) else {
        return Ok(text.to_string());
    };
    let query = text.split_once('?').map_or(String::new(), |(_, query)| format!("?{query}"));
    let scheme = format!("{}:", url.kind().name());
    Ok(url_of(&scheme, &std::path::absolute(path)?) + &query)
}

/// Somebody has the engine open who offers no way to be asked.
fn unasked(answer: Answer) -> Answer {
    let fix = "a program that uses the library makes the move itself, by `Keyway::move_to`; \
               end any other, or let `keyway serve` of this version have the store";
    let failures = answer.failures.into_iter().map(|failure| failure.with_fix(fix)).collect();
    Answer { failures, ..answer }
}

fn shown_moved(arrived: &Arrived, time: Duration, is_served: bool, form: Form) -> String {
    let Arrived { copied, followed, ending_soon, paused_milliseconds, to } = arrived;
    if form.json {
        return json::text(&json!({
            "copied": copied,
            "followed": followed,
            "ending_soon": ending_soon,
            "paused_milliseconds": paused_milliseconds,
            "to": to,
            "served": is_served,
        }));
    }
    let (copied, followed) = (grouped(*copied), grouped(*followed));
    let (seconds, minutes) = (time.as_secs_f64(), LASTS_MILLISECONDS / 60_000);
    let ending = match ending_soon {
        0 => String::new(),
        rows => {
            let rows = grouped(*rows);
            format!("{rows} rows not compared: they end within {minutes} minutes\n")
        }
    };
    let mut text = format!(
        "{copied} rows copied, {followed} changes followed, all the same on both sides, in \
         {seconds:.1} s\n\
         {ending}moved to {to}; writes waited {paused_milliseconds} ms\n"
    );
    if is_served {
        text.push_str(
            "the server goes on there; when it is started again, give it that store: --store URL\n",
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_the_same_place_in_every_directory() {
        let here = std::env::current_dir().unwrap();
        let here = here.to_str().unwrap();
        for (text, expected) in [
            ("sqlite:chat.db", format!("sqlite:{here}/chat.db")),
            (
                "sqlite:./a/b%20c.db?durability=none",
                format!("sqlite:{here}/a/b c.db?durability=none"),
            ),
            ("data", format!("engine:{here}/data")),
            ("sqlite:/opt/chat.db", "sqlite:/opt/chat.db".to_string()),
            ("redis://localhost/0?prefix=a", "redis://localhost/0?prefix=a".to_string()),
        ] {
            let made = anywhere(text, &text.parse().unwrap()).unwrap();
            let (made, expected): (StoreUrl, StoreUrl) =
                (made.parse().unwrap(), expected.parse().unwrap());
            assert_eq!(made, expected);
        }
    }
}
