//! A run time on a store, for tests that call patterns: a clock that stands still, and JSON.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "each test file uses a part of it")]

use super::common::{NOW, wait};
use data::clock::{ManualClock, SeededRandom};
use data::maintain::Scrub;
use data::request::{Call, Options, Runtime};
use data::store::Store;
use data::{Caller, Result};
use keyspace::model::Keyspace;
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// The keyspace of a text.
pub fn keyspace(text: &str) -> Arc<Keyspace> {
    let reading = keyspace::read(text);
    Arc::new(reading.keyspace.unwrap_or_else(|| panic!("{:?}", reading.diagnostics)))
}

/// A run time that also holds calls to their bounds.
pub fn open(store: &Arc<dyn Store>, keyspace: &Arc<Keyspace>) -> Result<Runtime> {
    let random = Arc::new(SeededRandom::new(7));
    let mut options = Options::new(Arc::new(ManualClock::at(NOW)), random);
    options.check_bounds = true;
    wait(Runtime::open(store.clone(), keyspace.clone(), options))
}

/// Makes a call; the answer as JSON.
pub fn call(runtime: &Runtime, user: &str, pattern: &str, arguments: &Json) -> Result<Json> {
    let prepared = runtime.pattern(pattern)?;
    let none = Map::new();
    let given =
        prepared.given_from_json(runtime.keyspace(), arguments.as_object().unwrap_or(&none))?;
    let caller = Caller::user(user);
    let reply = wait(runtime.call(Call::new(prepared, given, &caller)))?;
    reply.answer.to_json(runtime.schema())
}

/// Expects every index of a store to be true.
pub fn scrub(store: &dyn Store, runtime: &Runtime) {
    let mut problems = Vec::new();
    let scrub = Scrub {
        store,
        schema: runtime.schema(),
        clock: &ManualClock::at(NOW),
        random: &SeededRandom::new(1),
        repair: false,
    };
    let mut seen = |problem: Option<&_>, _: &_| problems.extend(problem.cloned());
    wait(scrub.run(&mut seen)).unwrap();
    assert!(problems.is_empty(), "{problems:?}");
}
