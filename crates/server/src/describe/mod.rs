//! What a server says of its patterns: JSON Schemas of arguments and answers, and OpenAPI.
//!
//! ```text
//! keyspace ─▶ arguments.rs, answers.rs ─▶ schemas ─┬─▶ openapi/   one path a pattern
//!                  └── types.rs, limits.rs         └─▶ tools of the Model Context Protocol
//! ```
//!
//! Everything is made from the file alone, once: the same file gives the same bytes. Nothing here
//! asks a store or looks at a caller.

mod answers;
mod arguments;
mod limits;
mod openapi;
mod types;
mod words;

use answers::Answers;
use arguments::Arguments;
use bytes::Bytes;
use keyspace::model::{Allow, Keyspace, Pattern, StoreKind};
use keyspace::plan::{Plan, plan};
use serde_json::{Map, Value as Json};
use std::sync::Arc;
use types::Place;

/// The description of a keyspace's patterns, made once.
#[derive(Clone, Debug)]
pub struct Description {
    /// The kind of store it is said for.
    pub store: StoreKind,
    /// The OpenAPI document.
    pub openapi: Bytes,
    /// Each pattern that can be called, in the order of the file.
    pub patterns: Vec<Described>,
}

/// A pattern that can be called.
#[derive(Clone, Debug)]
pub struct Described {
    /// The pattern.
    pub pattern: Arc<Pattern>,
    /// What a model reads of it.
    pub words: String,
    /// The schema of its arguments, one object.
    pub input: Arc<Map<String, Json>>,
    /// The schema of its answer.
    pub output: Arc<Map<String, Json>>,
}

impl Description {
    /// Describes a keyspace on a kind of store.
    pub fn new(keyspace: &Keyspace, store: StoreKind) -> Description {
        let plans = offered(keyspace, store);
        let openapi = Bytes::from(openapi::document(keyspace, store, &plans).to_string());
        let patterns = plans.iter().map(|plan| described(keyspace, &plan.pattern)).collect();
        Description { store, openapi, patterns }
    }

    /// A pattern by its name.
    pub fn pattern(&self, name: &str) -> Option<&Described> {
        self.patterns.iter().find(|described| described.pattern.name.value == name)
    }
}

/// The OpenAPI document of a keyspace, in lines that people can read.
pub fn openapi_text(keyspace: &Keyspace, store: StoreKind) -> String {
    let document = openapi::document(keyspace, store, &offered(keyspace, store));
    format!("{document:#}\n")
}

/// The plans of the patterns that can be called by themselves, and that the store answers.
fn offered(keyspace: &Keyspace, store: StoreKind) -> Vec<Plan> {
    let patterns = keyspace.patterns.iter();
    patterns
        .filter(|pattern| pattern.allow != Allow::Step && !pattern.verb.is_history())
        .map(|pattern| plan(keyspace, pattern))
        .filter(|plan| plan.answer(store).refusal().is_none())
        .collect()
}

fn described(keyspace: &Keyspace, pattern: &Arc<Pattern>) -> Described {
    let place = Place::Inline;
    let mut input = object(Arguments { keyspace, pattern, place }.schema());
    // Models are given one plain object: what must be given of several is said in words.
    input.remove("anyOf");
    input.remove("allOf");
    let output = object(Answers { keyspace, place }.schema(pattern, false));
    Described {
        pattern: pattern.clone(),
        words: words::tool(pattern),
        input: Arc::new(input),
        output: Arc::new(output),
    }
}

fn object(schema: Json) -> Map<String, Json> {
    match schema {
        Json::Object(object) => object,
        _ => Map::new(),
    }
}
