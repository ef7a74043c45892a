//! `keyway copy --live`: a keyspace moves to another store, and the source says where it has gone.
//!
//! ```text
//! --from ─▶ copy ─▶ follow ─▶ verify ─▶ pause ─▶ --to       noted in --from: moved
//! ```
//!
//! The engine is open in one process. This one, if it can have it; otherwise the application that
//! has it makes the move itself (`Keyway::move_to`), and this says so.

use crate::answer::{Answer, Form};
use crate::arguments::Copy;
use crate::failure::Failure;
use crate::json;
use crate::open::Opened;
use crate::progress::Progress;
use data::maintain::LASTS_MILLISECONDS;
use keyspace::parse::grouped;
use keyway::{Moved, Stage};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// Moves a keyspace that is open to the target.
pub(crate) fn run(options: &Copy, from: &Opened, form: Form) -> Answer {
    let progress = Arc::new(Progress::new("rows", None));
    let shown = progress.clone();
    let told = move |stage: Stage| {
        let (name, rows) = match stage {
            Stage::Copying(rows) => ("copying", rows),
            Stage::Following(rows) => ("following", rows),
            Stage::Verifying(rows) => ("verifying", rows),
            Stage::Paused => ("switching", 0),
        };
        shown.stage(name);
        shown.at(rows, 0);
    };
    let moving = from.keyway.move_to(&options.to).again(options.again).on_stage(told);
    let moved = from.wait(moving.into_future());
    let time = Arc::into_inner(progress).map_or(Duration::ZERO, Progress::end);
    let place = from.keyway.store().address;
    match moved {
        Ok(moved) if form.json => Answer::done(json::text(&shown_json(&moved, &place))),
        Ok(moved) => Answer::done(shown_text(&moved, &place, time)),
        Err(error) => Answer::failed(Failure::from(error)),
    }
}

fn shown_text(moved: &Moved, place: &str, time: Duration) -> String {
    let (copied, followed) = (grouped(moved.copied), grouped(moved.followed));
    let (seconds, minutes) = (time.as_secs_f64(), LASTS_MILLISECONDS / 60_000);
    let ending = match moved.ending {
        0 => String::new(),
        rows => {
            let rows = grouped(rows);
            format!("{rows} rows not compared: they end within {minutes} minutes\n")
        }
    };
    format!(
        "{copied} rows copied, {followed} changes followed, all the same on both sides, in \
         {seconds:.1} s\n\
         {ending}moved to {place}; writes waited {} ms\n",
        moved.paused
    )
}

fn shown_json(moved: &Moved, place: &str) -> serde_json::Value {
    json!({
        "copied": moved.copied,
        "followed": moved.followed,
        "ending_soon": moved.ending,
        "paused_milliseconds": moved.paused,
        "to": place,
    })
}
