//! Calls of patterns: a call becomes keys, keys become rows, rows become an answer.
//!
//! ```text
//! Call ─▶ Prepared ─inputs─▶ admit ─┬─▶ read/   get, list, near        ─▶ Answer
//!                                   └─▶ write/  insert … take, atomic  ─▶ Answer
//! ```
//!
//! A pattern is prepared once, when the store is opened; a call then goes by position. Who may call
//! is decided here, whatever stands in front of this crate. Every call is counted, and held to the
//! bounds of its plan if the options say so.

mod admit;
mod answer;
mod call;
mod cursor;
mod inputs;
mod json;
mod members;
mod next;
mod prepare;
mod read;
mod segments;
mod write;
mod written;

pub use answer::{Answer, AnswerMember, AnswerShape, At, Changed, Record, Reply, Shown};
pub use call::{Call, Given};
pub use cursor::CursorKey;
pub use inputs::{CallInputs, Inputs};
pub use json::key_text;
pub use members::{MemberReader, SegmentReader};
pub use next::Cursor;
pub use prepare::Prepared;
pub use written::Written;

use crate::clock::{Clock, Random};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::Shared;
use crate::schema::Schema;
use crate::session::{Session, Usage};
use crate::store::{Store, Versions};
use crate::watch::Interest;
use answer::Showing;
use keyspace::model::{Keyspace, Verb};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// How a run time behaves.
#[derive(Clone)]
pub struct Options {
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// Where chance comes from.
    pub random: Arc<dyn Random>,
    /// What cursors are sealed with.
    pub cursor_key: CursorKey,
    /// Whether passing the bounds of a plan is an error.
    pub check_bounds: bool,
    /// How long a call may try, in milliseconds.
    pub call_milliseconds_max: i64,
    /// Whether changes that read nothing go the direct way: always, but in tests that compare it
    /// with the ordinary one.
    #[doc(hidden)]
    pub direct: bool,
}

impl Options {
    /// Usual behaviour, with this time and chance; cursors live as long as the run time.
    pub fn new(clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Self {
        let cursor_key = CursorKey::random(random.as_ref());
        let (check_bounds, call_milliseconds_max) = (false, 30_000);
        Options { clock, random, cursor_key, check_bounds, call_milliseconds_max, direct: true }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Options").field("check_bounds", &self.check_bounds).finish()
    }
}

/// A keyspace on a store, ready to be called.
#[derive(Debug)]
pub struct Runtime {
    store: Arc<dyn Store>,
    schema: Arc<Schema>,
    patterns: Vec<Arc<Prepared>>,
    by_name: HashMap<String, usize>,
    ids: crate::ids::Ids,
    shared: Shared,
    options: Options,
}

impl Runtime {
    /// Makes a store ready for a keyspace, and its patterns ready to be called.
    pub async fn open(
        store: Arc<dyn Store>,
        keyspace: Arc<Keyspace>,
        options: Options,
    ) -> Result<Runtime> {
        let schema = store.ensure(&keyspace).await?;
        Runtime::on(store, schema, options)
    }

    /// The same on a store that is ready: `schema` is what it answered when it was made so.
    pub fn on(store: Arc<dyn Store>, schema: Arc<Schema>, options: Options) -> Result<Runtime> {
        let mut patterns = Vec::new();
        let mut by_name = HashMap::new();
        for (number, plan) in keyspace::plan::plans(schema.keyspace()).into_iter().enumerate() {
            by_name.insert(plan.pattern.name.value.clone(), number);
            patterns.push(Arc::new(Prepared::new(&schema, plan)?));
        }
        let ids = crate::ids::Ids::new(options.random.clone());
        let shared = Shared::new(options.clock.clone(), options.random.clone());
        Ok(Runtime { store, schema, patterns, by_name, ids, shared, options })
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The schema of the store.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The keyspace.
    pub fn keyspace(&self) -> &Arc<Keyspace> {
        self.schema.keyspace()
    }

    /// How it behaves.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// What makes ids.
    pub fn ids(&self) -> &crate::ids::Ids {
        &self.ids
    }

    /// What its calls share: orphans for the cleaner among it.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Removes entries and claims without a row that calls have met, at most so many, and says how
    /// many went. What may still be another call's work is left, and met again.
    pub async fn clean(&self, most: usize) -> Result<usize> {
        let orphans = self.shared.take_orphans(most);
        let now = self.options.clock.now();
        let deadline = now.saturating_add(self.options.call_milliseconds_max);
        let session = Session::new(self.store.as_ref(), &self.schema, now, deadline);
        crate::protocol::clean(&mut session.sharing(&self.shared), &orphans).await
    }

    /// Every pattern, in the order of the file.
    pub fn patterns(&self) -> &[Arc<Prepared>] {
        &self.patterns
    }

    /// The pattern with this name.
    pub fn pattern(&self, name: &str) -> Result<&Arc<Prepared>> {
        let found = self.by_name.get(name).and_then(|number| self.patterns.get(*number));
        found.ok_or_else(|| {
            Error::new(ErrorKind::Argument, "there is no such pattern").with("pattern", name)
        })
    }

    /// Makes a call.
    pub async fn call(&self, call: Call<'_>) -> Result<Reply> {
        if let Some(reply) = self.call_at_once(&call) {
            return reply;
        }
        let mut session = self.session(&call);
        let answer = self.answer(&mut session, &call).await;
        self.reply(session, &call, answer)
    }

    /// Makes a call that needs no waiting. Nothing is done if this is none: then
    /// [`Runtime::call`] makes it.
    pub fn call_at_once(&self, call: &Call<'_>) -> Option<Result<Reply>> {
        let store = if call.pattern.is_point { self.store.at_once() } else { None }?;
        let mut session = self.session(call);
        let answer = admit(call).and_then(|()| read::get_at_once(&mut session, store, call));
        Some(self.reply(session, call, answer))
    }

    /// Makes a call and says what it has looked at; see [`watch`](crate::watch).
    pub async fn call_watched(&self, call: Call<'_>) -> Result<(Reply, Interest)> {
        let mut session = self.session(&call);
        session.seen = Some(Box::default());
        let answer = self.answer(&mut session, &call).await;
        let seen = session.seen.take().unwrap_or_default();
        Ok((self.reply(session, &call, answer)?, *seen))
    }

    /// Makes a call that needs no waiting and answers rows as they are stored: each is shown where
    /// it lies, and what comes back is where the next page begins and what the call cost. Nothing
    /// is done if this is no such call.
    pub fn show(
        &self,
        call: &Call<'_>,
        versions: Versions,
        show: &mut (dyn FnMut(Shown<'_>) -> Result<()> + Send),
    ) -> Option<Result<(Option<Cursor>, Usage)>> {
        let store = if call.pattern.is_shown { self.store.at_once() } else { None }?;
        let collection = call.pattern.collection.as_deref()?;
        let mut session = self.session(call);
        let showing = Showing { collection, versions, show };
        let answer =
            admit(call).and_then(|()| read::show(self, &mut session, store, call, showing));
        Some(self.settle(session, call, answer))
    }

    /// The same of a list on a store that has to be waited for.
    pub async fn show_later(
        &self,
        call: &Call<'_>,
        versions: Versions,
        show: &mut (dyn FnMut(Shown<'_>) -> Result<()> + Send),
    ) -> Option<Result<(Option<Cursor>, Usage)>> {
        let collection = call.pattern.collection.as_deref();
        let collection = collection.filter(|_| call.pattern.is_shown_later)?;
        let mut session = self.session(call);
        let mut showing = Showing { collection, versions, show };
        let answer = match admit(call) {
            Ok(()) => read::show_later(self, &mut session, call, &mut showing).await,
            Err(error) => Err(error),
        };
        let answer = answer.transpose()?;
        Some(self.settle(session, call, answer))
    }

    fn session(&self, call: &Call<'_>) -> Session<'_> {
        let now = self.options.clock.now();
        let deadline = now.saturating_add(self.options.call_milliseconds_max);
        let session = Session::new(self.store.as_ref(), &self.schema, now, deadline);
        let mut session = session.sharing(&self.shared);
        session.repeatable = call.id.is_some();
        session
    }

    fn reply(
        &self,
        session: Session<'_>,
        call: &Call<'_>,
        answer: Result<Answer>,
    ) -> Result<Reply> {
        self.settle(session, call, answer).map(|(answer, usage)| Reply { answer, usage })
    }

    /// An answer with what it cost, held to the plan.
    fn settle<T>(
        &self,
        mut session: Session<'_>,
        call: &Call<'_>,
        answer: Result<T>,
    ) -> Result<(T, Usage)> {
        let answer = answer.map_err(|error| error.during(call.pattern.pattern.verb.name()))?;
        if let (true, Some(bounds)) = (self.options.check_bounds, call.pattern.bounds()) {
            session.usage.attempts = session.usage.attempts.max(1);
            session.hold_to(bounds)?;
        }
        Ok((answer, session.usage))
    }

    async fn answer(&self, session: &mut Session<'_>, call: &Call<'_>) -> Result<Answer> {
        let prepared = call.pattern;
        admit(call)?;
        if admit::asks_member(prepared) {
            Box::pin(admit::member(session, call)).await?;
        }
        match prepared.pattern.verb {
            // Boxed, because a future is as large as the largest it may await: a `get` would carry
            // the room of the others, and allocators are slow where a block has more than a
            // kibibyte.
            Verb::Get => Box::pin(read::get(self, session, call)).await,
            Verb::List => Box::pin(read::list(self, session, call)).await,
            Verb::Near => Box::pin(read::near(self, session, call)).await,
            Verb::Take => Box::pin(write::take(self, session, call)).await,
            Verb::Atomic => Box::pin(write::atomic(self, session, call)).await,
            verb if verb.is_history() => Err(Error::new(
                ErrorKind::Unsupported,
                "histories can be declared and planned, but not run yet",
            )),
            _ => Box::pin(write::change(self, session, call)).await,
        }
    }
}

/// What is judged of a call without reading anything.
fn admit(call: &Call<'_>) -> Result<()> {
    call.pattern.offered()?;
    admit::caller(call.pattern, call.caller)?;
    call.check()
}
