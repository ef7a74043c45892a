//! What patterns must do, as scripts: calls, and what each must be answered, on any store.
//!
//! ```text
//! = an unpinned note leaves the index [P2]          a case, and the promise it is part of
//! ann> add_note {"title": "a"} -> {"row": {"note_id": "$id"}}
//! ann> unpin_note {"note_id": "$id"} -> !conflict   who> pattern arguments -> answer
//! +30m                                              time passes
//! ```
//!
//! Who calls is `user@tenant#role`, or `-` for nobody. An answer is compared by what is written: an
//! object may have more members, a list may not; `"*"` is anything, `"$name"` is remembered the
//! first time and must be the same later; `"1000*ab"` is `ab` a thousand times. `!kind` is an error
//! of that kind.
//!
//! Every call is held to the bounds of its plan, and after each case every index entry must be
//! true.

mod run;
mod script;

use super::{Failure, Make, Options, Report};
use crate::error::{Error, ErrorKind, Result};
use keyspace::model::Keyspace;
use std::sync::Arc;

pub use script::{Called, Expected, Script, Step, read};

/// The keyspace the scripts call.
pub const KEYSPACE: &str = include_str!("keyspace.toml");

const SCRIPTS: [&str; 7] = [
    include_str!("rows.cases"),
    include_str!("indexes.cases"),
    include_str!("lists.cases"),
    include_str!("counters.cases"),
    include_str!("expiry.cases"),
    include_str!("batches.cases"),
    include_str!("callers.cases"),
];

/// Every script.
pub fn scripts() -> Result<Vec<Script>> {
    let mut all = Vec::new();
    for text in SCRIPTS {
        all.extend(read(text)?);
    }
    Ok(all)
}

/// The scripts' keyspace.
pub fn keyspace() -> Result<Arc<Keyspace>> {
    let found = keyspace::read(KEYSPACE).keyspace;
    let found = found
        .ok_or_else(|| Error::new(ErrorKind::Internal, "the keyspace of the scripts has problems"));
    found.map(Arc::new)
}

/// Runs every script.
pub async fn run(make: Make<'_>, options: &Options) -> Result<Report> {
    play(&scripts()?, &keyspace()?, make, options).await
}

/// Plays scripts of any keyspace, each on a store of its own.
pub async fn play(
    scripts: &[Script],
    keyspace: &Arc<Keyspace>,
    make: Make<'_>,
    options: &Options,
) -> Result<Report> {
    play_counted(scripts, keyspace, make, options, None).await
}

/// How often a store has waited for its server so far, counted between the two.
pub type Waits<'w> = &'w (dyn Fn() -> u64 + Sync);

/// Plays scripts as [`play`] does, and holds what is counted on the way to the server against the
/// plans too: what a call of a store costs is the store's own affair, and seen nowhere else.
pub async fn play_counted(
    scripts: &[Script],
    keyspace: &Arc<Keyspace>,
    make: Make<'_>,
    options: &Options,
    waits: Option<Waits<'_>>,
) -> Result<Report> {
    let mut report = Report::default();
    for script in scripts {
        let store = make().await;
        match run::script(script, store, keyspace, (options, waits)).await {
            Ok(()) => report.passed.push(script.name),
            Err(Failure::Broken(found)) => {
                report.failed.push((script.name, script.promise, found));
            }
            Err(Failure::NotOffered(reason)) => report.not_offered.push((script.name, reason)),
        }
    }
    Ok(report)
}
