//! The ids of one call: of its commits, and those that `new` makes.
//!
//! ```text
//! id of the call ─▶ attempt 0, 1, 2 …        one each where stores need that, else one for all
//!                └▶ new ids of each step     the same when the call is made again
//! ```
//!
//! A caller that chose the id may make the call again. So that the second time names the rows of
//! the first, `new` is worked out from the id, under a key that nobody outside knows: a version,
//! which is such an id, must not tell what other ids were made with it.

use crate::clock::{Milliseconds, Random};
use crate::error::Result;
use crate::ids::Ids;
use crate::request::{Call, Runtime};
use crate::session::Session;
use crate::store::{CommitId, Key, OUTCOME_KEPT, limits};
use crate::value::Value;
use keyspace::model::{Atomicity, Type};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// How far the clock of whoever chose an id may be ahead.
const AHEAD: Milliseconds = 60_000;

/// The ids of one call.
pub(super) struct CallIds<'a> {
    first: CommitId,
    is_given: bool,
    /// Whether each attempt has an id of its own.
    renews: bool,
    shared: &'a Ids,
    /// What ids are worked out from, where they are. Boxed: it is large, and few calls have it.
    source: Option<Box<blake3::Hasher>>,
}

impl<'a> CallIds<'a> {
    /// The ids of a call.
    pub fn new(runtime: &'a Runtime, session: &Session<'_>, call: &Call<'_>) -> Self {
        let options = runtime.options();
        let random = options.random.as_ref();
        let first = call.id.unwrap_or_else(|| CommitId::new(session.now, random));
        // What a store has forgotten must not be made once more under its old key.
        let kept = i64::try_from(OUTCOME_KEPT.as_millis()).unwrap_or(i64::MAX);
        let age = session.now.saturating_sub(first.time());
        let recent = call.id.is_some() && (-AHEAD..kept - AHEAD).contains(&age);
        let source = recent.then(|| {
            let mut hasher = blake3::Hasher::new_keyed(options.cursor_key.ids_key());
            for part in [first.as_bytes().as_slice(), call.pattern.name().as_bytes()] {
                hasher.update(&(part.len() as u64).to_be_bytes());
                hasher.update(part);
            }
            hasher.update(call.caller.id().unwrap_or_default().as_bytes());
            Box::new(hasher)
        });
        let renews = session.schema().kind().atomicity() == Atomicity::Group;
        let is_given = call.id.is_some();
        CallIds { first, is_given, renews, shared: runtime.ids(), source }
    }

    /// Whether the caller chose the id.
    pub fn is_given(&self) -> bool {
        self.is_given
    }

    /// The id of the call, by which it may be made again.
    pub fn of_call(&self) -> CommitId {
        self.first
    }

    /// Whether ids of attempts are worked out from their rows too.
    pub fn are_of_rows(&self) -> bool {
        self.renews
    }

    /// The id of an attempt to change these rows.
    ///
    /// Where stores are atomic by group, entries are written and removed by the id of their attempt
    /// before and after their row. So an id is never that of two sets, whatever a caller calls by
    /// the same id: it is worked out from the attempt and the rows too.
    pub fn of_attempt(&self, attempt: u64, rows: &[&Key]) -> CommitId {
        if !self.renews {
            return self.first;
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.first.as_bytes());
        hasher.update(&attempt.to_be_bytes());
        for row in rows {
            hasher.update(&(row.bytes().len() as u64).to_be_bytes());
            hasher.update(row.as_ref());
        }
        let mut bytes = [0; 16];
        hasher.finalize_xof().fill(&mut bytes);
        let time = self.first.as_bytes().iter().take(6);
        bytes.iter_mut().zip(time).for_each(|(byte, time)| *byte = *time);
        CommitId::from_bytes(bytes)
    }

    /// The ids under which this very call may have been committed before; none unless the caller
    /// chose the id.
    pub fn earlier(&self, rows: &[&Key]) -> Vec<CommitId> {
        let attempts = match (self.is_given, self.renews) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => limits::COMMIT_ATTEMPTS_MAX,
        };
        (0..attempts).map(|attempt| self.of_attempt(attempt, rows)).collect()
    }

    /// What makes the ids of so many steps, for one attempt.
    pub fn makers(&self, steps: usize) -> Makers<'a> {
        let of_step = |step: usize| {
            let mut hasher = self.source.clone()?;
            hasher.update(&(step as u64).to_be_bytes());
            Some(Ids::new(Arc::new(Derived(Mutex::new(hasher.finalize_xof())))))
        };
        let own = (0..steps).map_while(of_step).collect();
        Makers { shared: self.shared, own, time: self.source.as_ref().map(|_| self.first.time()) }
    }
}

/// What makes the ids of an attempt.
pub(super) struct Makers<'a> {
    shared: &'a Ids,
    own: Vec<Ids>,
    time: Option<Milliseconds>,
}

/// What makes the ids of a step.
#[derive(Clone, Copy)]
pub(super) struct Maker<'a> {
    ids: &'a Ids,
    time: Option<Milliseconds>,
}

impl Makers<'_> {
    /// What makes the ids of a step.
    pub fn of(&self, step: usize) -> Maker<'_> {
        Maker { ids: self.own.get(step).unwrap_or(self.shared), time: self.time }
    }
}

impl Maker<'_> {
    /// A new id of a type.
    pub fn make(&self, of: &Type, prefix: Option<&str>, now: Milliseconds) -> Result<Value> {
        self.ids.make(of, prefix, self.time.unwrap_or(now))
    }
}

/// Bytes worked out from a key and an id.
struct Derived(Mutex<blake3::OutputReader>);

impl fmt::Debug for Derived {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Derived(…)")
    }
}

impl Random for Derived {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).fill(bytes);
    }
}
