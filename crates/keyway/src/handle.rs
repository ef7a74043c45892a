//! An open keyspace.

use crate::call::Calling;
use crate::moving::{Move, Moves};
use crate::open::{Builder, Opening};
use crate::sweep::{self, Sweeper};
use crate::typed::FromAnswer;
use data::request::{Call, Given, Prepared, Reply, Runtime, Written};
use data::store::{Batch, CommitId, Description, Hold, Outcome};
use data::watch::Interest;
use data::{Caller, Error, ErrorKind, Result};
use keyspace::model::Keyspace;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A keyspace on a store. Cloning it is cheap, and all clones are the same store.
#[derive(Clone)]
pub struct Keyway(pub(crate) Arc<Inner>);

/// What all clones share.
pub(crate) struct Inner {
    /// On the store it was opened on.
    pub first: Runtime,
    /// On the store it has moved to.
    pub moved: OnceLock<Runtime>,
    pub moves: Moves,
    pub opening: Opening,
    pub warnings: Vec<String>,
    pub sweeper: Mutex<Option<Sweeper>>,
    pub is_closed: AtomicBool,
    /// Ended rows that were removed.
    pub swept: AtomicU64,
}

impl Inner {
    pub fn new(first: Runtime, warnings: Vec<String>, opening: Opening) -> Self {
        Inner {
            first,
            moved: OnceLock::new(),
            moves: Moves::default(),
            opening,
            warnings,
            sweeper: Mutex::default(),
            is_closed: AtomicBool::new(false),
            swept: AtomicU64::new(0),
        }
    }

    /// On the store where the keyspace is.
    pub fn runtime(&self) -> &Runtime {
        self.moved.get().unwrap_or(&self.first)
    }
}

impl Keyway {
    /// Options for opening one.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// A call of a pattern by its name; see [`Calling`].
    pub fn call(&self, pattern: &str) -> Calling {
        Calling::new(self, pattern)
    }

    /// A call from a JSON object, answered in JSON, with the names people see.
    ///
    /// | verb | answer |
    /// |---|---|
    /// | `get` | `{"row", "version"}`; with `many`, `{"rows"}` |
    /// | `list`, `near` | `{"rows", "next"}` |
    /// | `insert`, `put`, `update`, `take`, `delete` | `{"key", "version", "row"}` |
    /// | `add` | `{"total"}`, or `{"allowed", "remaining", "resets_at"}` |
    /// | `atomic`, and changes with `many` | `{"results"}` |
    pub async fn call_json(
        &self,
        pattern: &str,
        arguments: serde_json::Value,
        caller: &Caller,
    ) -> Result<serde_json::Value> {
        let runtime = self.runtime();
        let prepared = runtime.pattern(pattern)?;
        let arguments = match arguments {
            serde_json::Value::Object(arguments) => arguments,
            serde_json::Value::Null => serde_json::Map::new(),
            _ => return Err(Error::new(ErrorKind::Argument, "arguments are a JSON object")),
        };
        let given = prepared.given_from_json(runtime.keyspace(), &arguments)?;
        let mut all = runtime.patterns().iter();
        let position = all.position(|other| Arc::ptr_eq(other, prepared));
        let position = position.unwrap_or(usize::MAX);
        let (reply, answered_by) = self.call_on(position, given, caller, None).await?;
        reply.answer.to_json(answered_by.schema())
    }

    /// Moves the keyspace to another store while it is used: all clones of this handle go on there.
    /// Nothing is done before the answer is awaited; see [`Move`].
    pub fn move_to(&self, url: &str) -> Move {
        Move::new(self, url)
    }

    /// The keyspace, as the file says it.
    pub fn keyspace(&self) -> &Arc<Keyspace> {
        self.runtime().keyspace()
    }

    /// What the store is and what it promises.
    pub fn store(&self) -> Description {
        self.runtime().store().describe()
    }

    /// The run time below, for whoever builds on it.
    pub fn runtime(&self) -> &Runtime {
        self.0.runtime()
    }

    /// Warnings about the keyspace file, drawn as `keyway check` draws them.
    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }

    /// What people should know who use the store: settings under which it promises less, data that
    /// somebody else changed.
    pub fn remarks(&self) -> Vec<String> {
        self.runtime().store().remarks()
    }

    /// Removes rows that have ended, as the background task does, and says how many went.
    pub async fn sweep(&self) -> Result<usize> {
        sweep::round(&self.0).await
    }

    /// Writes what is still to be written and lets go of the store; calls fail afterwards.
    pub async fn close(&self) -> Result<()> {
        self.0.is_closed.store(true, Ordering::Release);
        drop(self.0.sweeper.lock().unwrap_or_else(PoisonError::into_inner).take());
        let closed = self.0.first.store().close().await;
        match self.0.moved.get() {
            Some(moved) => closed.and(moved.store().close().await),
            None => closed,
        }
    }

    /// A read by the position of its pattern, with what it has looked at: see [`data::watch`].
    pub async fn look_at(
        &self,
        position: usize,
        given: Vec<Given>,
        caller: &Caller,
    ) -> Result<(Reply, Interest)> {
        let runtime = self.open()?;
        runtime.call_watched(Call::new(pattern_at(runtime, position)?, given, caller)).await
    }

    /// Rows that had ended and were removed since the keyspace was opened.
    pub fn swept(&self) -> u64 {
        self.0.swept.load(Ordering::Relaxed)
    }

    /// A call by the position of its pattern in the file, with what is given for each argument: for
    /// whoever looks patterns up once and calls them often.
    pub async fn call_at(
        &self,
        position: usize,
        given: Vec<Given>,
        caller: &Caller,
        id: Option<CommitId>,
    ) -> Result<Reply> {
        if self.0.moves.is_under_way() {
            // Boxed, so that calls do not carry its room while nothing moves.
            let moving = Box::pin(self.send_while_moving(position, given, caller, id));
            return moving.await.map(|(reply, _)| reply);
        }
        let runtime = self.open_for(id).await?;
        let mut call = Call::new(pattern_at(runtime, position)?, given, caller);
        call.id = id;
        runtime.call(call).await
    }

    /// The same, and which run time has answered, by whose schema the answer is written: while a
    /// call waits, the keyspace may move, and the numbers of the other store are not the same.
    pub async fn call_on(
        &self,
        position: usize,
        given: Vec<Given>,
        caller: &Caller,
        id: Option<CommitId>,
    ) -> Result<(Reply, &Runtime)> {
        if self.0.moves.is_under_way() {
            return Box::pin(self.send_while_moving(position, given, caller, id)).await;
        }
        let runtime = self.open_for(id).await?;
        let mut call = Call::new(pattern_at(runtime, position)?, given, caller);
        call.id = id;
        Ok((runtime.call(call).await?, runtime))
    }

    /// The same call, written as JSON, if it reads rows that can be shown where they lie; otherwise
    /// what was given comes back. See [`Runtime::write_json`].
    pub fn write_json_at(
        &self,
        position: usize,
        given: Vec<Given>,
        caller: &Caller,
        out: &mut Vec<u8>,
    ) -> std::result::Result<Result<Written>, Vec<Given>> {
        // While the keyspace moves, a call may have to be made again.
        let runtime = self.open().ok().filter(|_| !self.0.moves.is_under_way());
        let Some(runtime) = runtime else { return Err(given) };
        let Ok(pattern) = pattern_at(runtime, position) else { return Err(given) };
        let call = Call::new(pattern, given, caller);
        runtime.write_json(&call, out).ok_or(call.given)
    }

    /// The same while the keyspace moves: a call that comes in the pause waits, and is made where
    /// the keyspace then is. It was refused before it had done anything.
    async fn send_while_moving(
        &self,
        position: usize,
        given: Vec<Given>,
        caller: &Caller,
        id: Option<CommitId>,
    ) -> Result<(Reply, &Runtime)> {
        loop {
            let runtime = self.open_for(id).await?;
            let mut call = Call::new(pattern_at(runtime, position)?, given.clone(), caller);
            call.id = id;
            let reply = runtime.call(call).await;
            let is_left = |error: &Error| {
                let moves = self.0.moves.is_under_way();
                let elsewhere = moves || !std::ptr::eq(runtime, self.runtime());
                Hold::is_pause(error) || (error.kind() == ErrorKind::Moved && elsewhere)
            };
            match reply {
                Err(error) if is_left(&error) => self.0.moves.wait().await,
                reply => return reply.map(|reply| (reply, runtime)),
            }
        }
    }

    /// The same call if it needs no waiting; otherwise what was given comes back.
    pub(crate) fn answer_at_once<R: FromAnswer>(
        &self,
        position: usize,
        given: Vec<Given>,
        caller: &Caller,
    ) -> std::result::Result<Result<R>, Vec<Given>> {
        let Ok(runtime) = self.open() else { return Err(given) };
        let Ok(pattern) = pattern_at(runtime, position) else { return Err(given) };
        let call = Call::new(pattern, given, caller);
        if let Some(answer) = R::from_shown(runtime, &call) {
            return Ok(answer);
        }
        let reply = runtime.call_at_once(&call).ok_or(call.given)?;
        Ok(reply.and_then(|reply| R::from_answer(reply.answer)))
    }

    /// The same of a list whose rows are shown as they come.
    pub(crate) async fn answer_shown<R: FromAnswer>(
        &self,
        position: usize,
        given: Vec<Given>,
        caller: &Caller,
    ) -> std::result::Result<Result<R>, Vec<Given>> {
        // While the keyspace moves, a call may have to be made again.
        let runtime = self.open().ok().filter(|_| !self.0.moves.is_under_way());
        let Some(runtime) = runtime else { return Err(given) };
        let Ok(pattern) = pattern_at(runtime, position) else { return Err(given) };
        if !pattern.is_shown_later {
            return Err(given);
        }
        let call = Call::new(pattern, given, caller);
        R::from_shown_later(runtime, &call).await.ok_or(call.given)
    }

    /// The run time for a call with this id: a call that was made before the keyspace moved, and is
    /// sent again, is known where it was made, and is not made a second time.
    async fn open_for(&self, id: Option<CommitId>) -> Result<&Runtime> {
        let runtime = self.open()?;
        match id.filter(|_| self.0.moved.get().is_some()) {
            Some(id) if Box::pin(has_committed(&self.0.first, id)).await => Ok(&self.0.first),
            _ => Ok(runtime),
        }
    }

    /// The run time, unless the keyspace is closed.
    fn open(&self) -> Result<&Runtime> {
        match self.0.is_closed.load(Ordering::Acquire) {
            true => Err(Error::new(ErrorKind::Unavailable, "the keyspace is closed")),
            false => Ok(self.runtime()),
        }
    }
}

/// Whether a store from which its keyspace has moved remembers a batch with this id. All others it
/// refuses, so that this one is never committed.
async fn has_committed(runtime: &Runtime, id: CommitId) -> bool {
    let options = runtime.options();
    let now = options.clock.now();
    let deadline = now.saturating_add(options.call_milliseconds_max);
    let batch = Batch { id, now, checks: Vec::new(), writes: Vec::new(), deadline };
    matches!(runtime.store().commit(&batch).await, Ok(Outcome::Committed { .. }))
}

fn pattern_at(runtime: &Runtime, position: usize) -> Result<&Prepared> {
    let missing = || Error::new(ErrorKind::Internal, "there is no pattern at this position");
    runtime.patterns().get(position).map(AsRef::as_ref).ok_or_else(missing)
}

impl fmt::Debug for Keyway {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Keyway");
        shown.field("keyspace", &self.keyspace().name.value);
        shown.field("store", &self.store().address).finish()
    }
}
