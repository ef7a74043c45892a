//! What generated code stands on: calls by position, and the way from values to Rust and back.
//!
//! ```text
//! chat.as_user("ann") ─▶ Scope ─▶ TypedCall ─.await─▶ run time ─▶ Answer ─▶ Changed<Message>
//! ```
//!
//! Nothing here looks at a name, a JSON value or a text when a call is made. Application code needs
//! [`Optional`] at most, as the type of an argument that may be left out.

mod answer;
mod answering;
mod optional;
mod value;
mod word;

pub use answer::{FromAnswer, Results, Row};
pub use answering::Answering;
pub use data::record::FieldReader;
pub use data::request::{Given, SegmentReader};
pub use optional::Optional;
pub(crate) use value::unexpected;
pub use value::{FromValue, Members, NotPlain, Plain, Values};
pub use word::Word;

use crate::handle::Keyway;
use crate::pages::Pages;
use bytes::Bytes;
use data::store::CommitId;
use data::{Caller, Result, Value};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// A keyspace as somebody sees it.
#[derive(Clone, Debug)]
pub struct Scope {
    keyway: Keyway,
    caller: Arc<Caller>,
}

impl Scope {
    /// A keyspace as a caller sees it.
    pub fn new(keyway: &Keyway, caller: Caller) -> Self {
        Scope { keyway: keyway.clone(), caller: Arc::new(caller) }
    }

    /// A call of the pattern at a position of the file, with what is given for its arguments.
    pub fn call<R>(&self, position: usize, given: Vec<Given>) -> TypedCall<R> {
        TypedCall { scope: self.clone(), position, given, id: None, answer: PhantomData }
    }

    /// The call if it needs no waiting; otherwise what was given comes back.
    fn answer_at_once<R: FromAnswer>(
        &self,
        position: usize,
        given: Vec<Given>,
    ) -> std::result::Result<Result<R>, Vec<Given>> {
        self.keyway.answer_at_once(position, given, &self.caller)
    }

    /// The call if its rows can be shown; otherwise what was given comes back.
    fn answer_shown<R: FromAnswer>(
        &self,
        position: usize,
        given: Vec<Given>,
    ) -> impl Future<Output = std::result::Result<Result<R>, Vec<Given>>> + Send {
        self.keyway.answer_shown(position, given, &self.caller)
    }

    pub(crate) fn send(
        &self,
        position: usize,
        given: Vec<Given>,
        id: Option<CommitId>,
    ) -> impl Future<Output = Result<data::request::Reply>> + Send {
        self.keyway.call_at(position, given, &self.caller, id)
    }

    /// The position of a pattern's argument.
    pub(crate) fn argument(&self, position: usize, name: &str) -> Option<usize> {
        let pattern = &self.keyway.runtime().patterns().get(position)?.pattern;
        pattern.arguments.iter().position(|argument| argument.name == name)
    }
}

/// A call of a pattern that is answered with an `R`: `.await` makes it.
#[must_use = "a call is made when it is awaited"]
pub struct TypedCall<R> {
    scope: Scope,
    position: usize,
    given: Vec<Given>,
    id: Option<CommitId>,
    answer: PhantomData<fn() -> R>,
}

impl<R> TypedCall<R> {
    /// The same call with something given for the argument at a position.
    pub fn with(mut self, position: usize, given: Given) -> Self {
        if self.given.len() <= position {
            self.given.resize(position + 1, Given::Missing);
        }
        if let Some(place) = self.given.get_mut(position) {
            *place = given;
        }
        self
    }

    /// With an id of the caller's choice: the same id is never applied twice.
    pub fn commit_id(mut self, id: CommitId) -> Self {
        self.id = Some(id);
        self
    }
}

impl<T: Row> TypedCall<crate::Page<T>> {
    /// All pages from here on, one call each.
    pub fn pages(self) -> Pages<T> {
        Pages::new(self.scope, self.position, self.given)
    }
}

impl<R: FromAnswer + 'static> IntoFuture for TypedCall<R> {
    type Output = Result<R>;
    type IntoFuture = Answering<R>;

    fn into_future(self) -> Answering<R> {
        Answering::new(self)
    }
}

impl<R> fmt::Debug for TypedCall<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("TypedCall");
        shown.field("position", &self.position).field("given", &self.given).finish_non_exhaustive()
    }
}

/// A row of a call with `many`.
pub trait Each {
    /// What it gives, in the order of the row's arguments.
    fn given(self) -> Vec<Given>;
}

/// Gives a text.
pub fn text(value: impl Into<String>) -> Given {
    Given::Value(Value::Text(value.into()))
}

/// Gives bytes.
pub fn bytes(value: impl Into<Bytes>) -> Given {
    Given::Value(Value::Bytes(value.into()))
}

/// Gives JSON.
pub fn json(value: impl Into<serde_json::Value>) -> Given {
    Given::Value(Value::Json(value.into()))
}

/// Gives a path.
pub fn path(parts: impl IntoIterator<Item = impl Into<String>>) -> Given {
    Given::Value(Value::Path(parts.into_iter().map(Into::into).collect()))
}

/// Gives a path, or leaves it out.
pub fn optional_path(parts: Option<Vec<String>>) -> Given {
    parts.map_or(Given::Missing, path)
}

/// Gives a list of texts.
pub fn texts(items: impl IntoIterator<Item = impl Into<String>>) -> Given {
    let items = items.into_iter().map(|item| Value::Text(item.into()));
    Given::Value(Value::List(items.collect()))
}

/// Gives a list.
pub fn list(items: impl IntoIterator<Item = impl Into<Value>>) -> Given {
    Given::Value(Value::List(items.into_iter().map(Into::into).collect()))
}

/// Gives a value.
pub fn value(value: impl Into<Value>) -> Given {
    Given::Value(value.into())
}

/// Gives null.
pub fn null() -> Given {
    Given::Value(Value::Null)
}

/// Gives a value, or leaves it out.
pub fn optional<T: Into<Value>>(value: impl Optional<T>) -> Given {
    value.into_optional().map_or(Given::Missing, |value| Given::Value(value.into()))
}

/// Gives the version that was read, or leaves it out.
pub fn version(version: impl Optional<CommitId>) -> Given {
    let version = version.into_optional();
    version.map_or(Given::Missing, |version| Given::Value(Value::Text(version.to_string())))
}

/// Gives rows.
pub fn rows<T: Each>(rows: impl IntoIterator<Item = T>) -> Given {
    Given::Rows(rows.into_iter().map(Each::given).collect())
}

/// Gives rows of one argument each.
pub fn singles<T>(rows: impl IntoIterator<Item = T>, given: impl Fn(T) -> Given) -> Given {
    Given::Rows(rows.into_iter().map(|row| vec![given(row)]).collect())
}
