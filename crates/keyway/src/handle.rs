//! An open keyspace.

use crate::call::Calling;
use crate::open::Builder;
use crate::sweep::{self, Sweeper};
use crate::typed::FromAnswer;
use data::request::{Call, Given, Prepared, Reply, Runtime};
use data::store::{CommitId, Description};
use data::{Caller, Error, ErrorKind, Result};
use keyspace::model::Keyspace;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A keyspace on a store. Cloning it is cheap, and all clones are the same store.
#[derive(Clone)]
pub struct Keyway(pub(crate) Arc<Inner>);

/// What all clones share.
pub(crate) struct Inner {
    pub runtime: Runtime,
    pub warnings: Vec<String>,
    pub sweeper: Mutex<Option<Sweeper>>,
    pub is_closed: AtomicBool,
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
        let reply = self.open()?.call(Call::new(prepared, given, caller)).await?;
        reply.answer.to_json(runtime.schema())
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
        &self.0.runtime
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
        self.runtime().store().close().await
    }

    /// A call by the position of its pattern.
    pub(crate) async fn send(
        &self,
        position: usize,
        given: Vec<Given>,
        caller: &Caller,
        id: Option<CommitId>,
    ) -> Result<Reply> {
        let mut call = Call::new(self.pattern_at(position)?, given, caller);
        call.id = id;
        self.open()?.call(call).await
    }

    /// The same call if it needs no waiting; otherwise what was given comes back.
    pub(crate) fn answer_at_once<R: FromAnswer>(
        &self,
        position: usize,
        given: Vec<Given>,
        caller: &Caller,
    ) -> std::result::Result<Result<R>, Vec<Given>> {
        let (Ok(pattern), Ok(runtime)) = (self.pattern_at(position), self.open()) else {
            return Err(given);
        };
        let call = Call::new(pattern, given, caller);
        if let Some(answer) = R::from_shown(runtime, &call) {
            return Ok(answer);
        }
        let reply = runtime.call_at_once(&call).ok_or(call.given)?;
        Ok(reply.and_then(|reply| R::from_answer(reply.answer)))
    }

    fn pattern_at(&self, position: usize) -> Result<&Prepared> {
        let missing = || Error::new(ErrorKind::Internal, "there is no pattern at this position");
        let found = self.runtime().patterns().get(position);
        found.map(AsRef::as_ref).ok_or_else(missing)
    }

    /// The run time, unless the keyspace is closed.
    fn open(&self) -> Result<&Runtime> {
        match self.0.is_closed.load(Ordering::Acquire) {
            true => Err(Error::new(ErrorKind::Unavailable, "the keyspace is closed")),
            false => Ok(self.runtime()),
        }
    }
}

impl fmt::Debug for Keyway {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Keyway");
        shown.field("keyspace", &self.keyspace().name.value);
        shown.field("store", &self.store().address).finish()
    }
}
