//! The operation that a pattern is.

use super::super::answers::Answers;
use super::super::arguments::Arguments;
use super::super::types::Place;
use super::super::words;
use super::{TOKEN, collections, responses};
use keyspace::model::{Allow, ArgumentRole, Keyspace, Pattern, StoreKind, Verb};
use keyspace::plan::Plan;
use serde_json::{Map, Value as Json, json};

/// A pattern with its plan.
pub struct Operation<'k> {
    /// The keyspace.
    pub keyspace: &'k Keyspace,
    /// The pattern and what it costs.
    pub plan: &'k Plan,
    /// On this kind of store.
    pub store: StoreKind,
}

impl Operation<'_> {
    /// The operation.
    pub fn to_json(&self) -> Json {
        let pattern = self.pattern();
        let mut operation = Map::new();
        let mut set = |name: &str, value: Json| {
            operation.insert(name.to_string(), value);
        };
        set("operationId", json!(pattern.name.value));
        set("summary", json!(words::summary(pattern)));
        set("description", json!(words::description(self.plan, self.store)));
        set("tags", json!(collections(pattern)));
        let parameters = self.parameters();
        if !parameters.is_empty() {
            set("parameters", Json::Array(parameters));
        }
        if !pattern.verb.is_read() {
            set("requestBody", self.body());
        }
        set("responses", self.responses());
        let is_public = pattern.allow == Allow::Public;
        // What is public may still be asked with a token.
        let none = if is_public { json!([{}, { TOKEN: [] }]) } else { json!([{ TOKEN: [] }]) };
        set("security", none);
        Json::Object(operation)
    }

    fn pattern(&self) -> &Pattern {
        &self.plan.pattern
    }

    fn arguments(&self) -> Arguments<'_> {
        let place = Place::Components;
        Arguments { keyspace: self.keyspace, pattern: self.pattern(), place }
    }

    fn parameters(&self) -> Vec<Json> {
        match self.pattern().verb.is_read() {
            true => self.read_parameters(),
            false => self.write_parameters(),
        }
    }

    fn read_parameters(&self) -> Vec<Json> {
        let (pattern, arguments) = (self.pattern(), self.arguments());
        let given = pattern.arguments.iter().map(|argument| {
            let (schema, is_json) = arguments.parameter(argument);
            let mut parameter = json!({
                "name": self.keyspace.shown(&argument.name),
                "in": "query",
                "description": arguments.words(argument),
                "required": argument.required,
            });
            if let Json::Object(object) = &mut parameter {
                match is_json {
                    true => {
                        let content = json!({ "application/json": { "schema": schema } });
                        object.insert("content".to_string(), content)
                    }
                    false => object.insert("schema".to_string(), schema),
                };
            }
            parameter
        });
        let mut all: Vec<Json> = given.collect();
        let shown =
            |name: &str| pattern.arguments.iter().any(|a| self.keyspace.shown(&a.name) == name);
        if is_watched(pattern) && !shown("watch") {
            all.push(json!({
                "name": "watch",
                "in": "query",
                "description": "Answers as a stream of server-sent events: the answer, and again \
                                whenever it changes",
                "schema": { "type": "string", "enum": ["", "1", "true"] },
                "allowEmptyValue": true,
            }));
        }
        if self.has_tag() {
            all.push(json!({
                "name": "If-None-Match",
                "in": "header",
                "description": "Tags of versions that are known already",
                "schema": { "type": "string" },
            }));
        }
        all
    }

    fn write_parameters(&self) -> Vec<Json> {
        let mut all = vec![json!({
            "name": "Idempotency-Key",
            "in": "header",
            "description": "Two requests with one key are one call: send the same again if the \
                            answer was lost",
            "schema": { "type": "string", "pattern": KEY },
        })];
        if self.takes_version() {
            all.push(json!({
                "name": "If-Match",
                "in": "header",
                "description": "The `ETag` that was read; if the row has another by now, nothing \
                                is done",
                "schema": { "type": "string", "pattern": VERSION_TAG },
            }));
        }
        all
    }

    fn body(&self) -> Json {
        let required = self.pattern().arguments.iter().any(|argument| argument.required)
            || !self.arguments().one_of().is_empty();
        let schema = self.arguments().schema();
        json!({ "required": required, "content": { "application/json": { "schema": schema } } })
    }

    fn responses(&self) -> Json {
        let pattern = self.pattern();
        let answers = Answers { keyspace: self.keyspace, place: Place::Components };
        let mut content = Map::new();
        let schema = answers.schema(pattern, true);
        content.insert("application/json".to_string(), json!({ "schema": schema }));
        if is_watched(pattern) {
            let stream = json!({
                "schema": { "type": "string" },
                "example": "event: answer\ndata: {…}\n\n",
            });
            content.insert("text/event-stream".to_string(), stream);
        }
        let mut answer = json!({ "description": "The answer", "content": content });
        if let (true, Json::Object(answer)) = (self.has_tag(), &mut answer) {
            let tag = json!({ "ETag": { "$ref": "#/components/headers/ETag" } });
            answer.insert("headers".to_string(), tag);
        }
        let mut all = Map::new();
        all.insert("200".to_string(), answer);
        for status in self.statuses() {
            all.insert(status.to_string(), responses::reference(status));
        }
        Json::Object(all)
    }

    /// Every other status that can occur.
    fn statuses(&self) -> Vec<u16> {
        let pattern = self.pattern();
        let reads = pattern.verb.is_read();
        let one_row = pattern.verb == Verb::Get && pattern.many.is_none();
        let is_made = matches!(pattern.verb, Verb::Insert);
        let all = [
            (304, reads && self.has_tag()),
            (400, true),
            (401, true),
            (403, pattern.allow != Allow::Public),
            (404, one_row || !reads && !is_made),
            (405, true),
            (408, !reads),
            (409, !reads),
            (412, self.takes_version()),
            (413, true),
            (415, !reads),
            (421, true),
            (422, !reads),
            (429, true),
            (500, true),
            (503, true),
            (504, !reads),
        ];
        all.into_iter().filter(|(_, occurs)| *occurs).map(|(status, _)| status).collect()
    }

    /// Whether its answer is one row that has a version.
    fn has_tag(&self) -> bool {
        let pattern = self.pattern();
        let versioned = pattern
            .target
            .as_ref()
            .is_some_and(|target| self.keyspace.mode(&target.collection).has_version());
        let one_row = !matches!(pattern.verb, Verb::List | Verb::Near) && pattern.many.is_none();
        versioned && one_row
    }

    /// Whether `If-Match` has a meaning.
    fn takes_version(&self) -> bool {
        self.pattern()
            .arguments
            .iter()
            .any(|argument| argument.role == ArgumentRole::Version && argument.name == "if_version")
    }
}

/// One to 255 plain letters, in quotes or without; spaces around them are no part of a header.
const KEY: &str = "^([!#-~]([ !#-~]{0,253}[!#-~])?|\"[!#-~]([ !#-~]{0,253}[!#-~])?\")$";

const VERSION_TAG: &str = "^\"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\"$";

fn is_watched(pattern: &Pattern) -> bool {
    matches!(pattern.verb, Verb::Get | Verb::List)
}
