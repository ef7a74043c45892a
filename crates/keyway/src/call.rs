//! Calls by name, for programs that choose their pattern while they run.

use crate::fit;
use crate::handle::Keyway;
use crate::pages::Pages;
use crate::typed::{FromAnswer, Scope};
use data::request::{Given, Record, Reply};
use data::store::CommitId;
use data::{Caller, Error, ErrorKind, Result, Value};
use serde_json::{Map, Value as Json};
use std::pin::Pin;

/// A call of a pattern by its name: `.await` makes it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> keyway::Result<()> {
/// let notes = keyway::open("examples/notes.toml", "memory:").await?;
/// let written = notes.call("write_note").by("ann").arg("title", "Milk").json().await?;
/// assert_eq!(written["row"]["title"], "Milk");
/// # Ok(())
/// # }
/// ```
///
/// Arguments are named as the file names them, and typed by it: a text gives an id or an instant, a
/// JSON value anything. The first mistake is what the call is answered.
#[derive(Debug)]
#[must_use = "a call is made when it is awaited"]
pub struct Calling {
    keyway: Keyway,
    position: usize,
    given: Vec<Given>,
    caller: Caller,
    id: Option<CommitId>,
    problem: Option<Error>,
}

impl Calling {
    pub(crate) fn new(keyway: &Keyway, name: &str) -> Self {
        let found = keyway.runtime().pattern(name);
        let patterns = keyway.runtime().patterns();
        let position = patterns.iter().position(|known| known.name() == name).unwrap_or_default();
        let (count, problem) = match found {
            Ok(pattern) => (pattern.pattern.arguments.len(), None),
            Err(error) => {
                let names = patterns.iter().map(|pattern| pattern.name());
                let meant = keyspace::diagnostic::nearest(name, names);
                (
                    0,
                    Some(
                        meant
                            .into_iter()
                            .fold(error, |error, meant| error.with("did_you_mean", meant)),
                    ),
                )
            }
        };
        let (keyway, given) = (keyway.clone(), vec![Given::Missing; count]);
        Calling { keyway, position, given, caller: Caller::nobody(), id: None, problem }
    }

    /// Gives an argument.
    pub fn arg(mut self, name: &str, value: impl Into<Value>) -> Self {
        if self.problem.is_none() {
            self.problem = self.give(name, value.into()).err();
        }
        self
    }

    /// The call is made by a user, by the text of their id.
    pub fn by(mut self, user: impl Into<String>) -> Self {
        self.caller = Caller::user(user);
        self
    }

    /// The call is made by a caller.
    pub fn as_caller(mut self, caller: &Caller) -> Self {
        self.caller = caller.clone();
        self
    }

    /// With an id of the caller's choice: the same id is never applied twice.
    pub fn id(mut self, id: CommitId) -> Self {
        self.id = Some(id);
        self
    }

    /// Makes the call and answers JSON, as [`Keyway::call_json`] does.
    pub async fn json(self) -> Result<serde_json::Value> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        let Calling { keyway, position, given, caller, id, .. } = self;
        let (reply, answered_by) = keyway.call_on(position, given, &caller, id).await?;
        reply.answer.to_json(answered_by.schema())
    }

    /// Makes the call and answers a Rust type, such as `Page<Record>`, `Option<Json>` or `i64`.
    pub async fn answer<R: FromAnswer>(self) -> Result<R> {
        R::from_answer(self.await?.answer)
    }

    /// All pages of a list from here on, one call each.
    pub fn pages(self) -> Result<Pages<Record>> {
        match self.problem {
            Some(problem) => Err(problem),
            None => {
                Ok(Pages::new(Scope::new(&self.keyway, self.caller), self.position, self.given))
            }
        }
    }

    fn give(&mut self, name: &str, value: Value) -> Result<()> {
        let runtime = self.keyway.runtime();
        let missing = || Error::new(ErrorKind::Internal, "there is no pattern at this position");
        let prepared = runtime.patterns().get(self.position).ok_or_else(missing)?;
        let arguments = &prepared.pattern.arguments;
        let position = arguments.iter().position(|argument| argument.name == name);
        let found = position.and_then(|at| arguments.get(at).zip(self.given.get_mut(at)));
        let keyspace = runtime.keyspace();
        let from_json = |name: String, json: Json| {
            prepared.given_from_json(keyspace, &Map::from_iter([(name, json)]))
        };
        let Some((argument, place)) = found else {
            // Whoever reads calls from JSON knows best why a name is none.
            from_json(name.to_string(), Json::Null)?;
            return Err(missing());
        };
        *place = match value {
            Value::Json(json) => {
                let mut given = from_json(keyspace.shown(name), json)?;
                std::mem::take(position.and_then(|at| given.get_mut(at)).ok_or_else(missing)?)
            }
            plain => fit::given(plain, argument).map_err(|error| error.with("argument", name))?,
        };
        Ok(())
    }
}

impl IntoFuture for Calling {
    type Output = Result<Reply>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<Reply>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            match self.problem {
                Some(problem) => Err(problem),
                None => {
                    let Calling { keyway, position, given, caller, id, .. } = self;
                    keyway.call_at(position, given, &caller, id).await
                }
            }
        })
    }
}
