//! What a call is answered, as a JSON Schema.

use super::types::{self, Place};
use keyspace::model::limits::{MANY_MAX, PAGE_ROWS_MAX};
use keyspace::model::{BodyType, Collection, Content, Keyspace, Pattern, StepAction, Type, Verb};
use serde_json::{Map, Value as Json, json};

/// The answers of a keyspace's patterns.
#[derive(Clone, Copy, Debug)]
pub struct Answers<'k> {
    /// The keyspace.
    pub keyspace: &'k Keyspace,
    /// Where schemas of types and rows stand.
    pub place: Place,
}

impl Answers<'_> {
    /// The schema of a pattern's answer. Where `is_there`, the one row of a get is: over HTTP, a
    /// row that is not there is no answer but a problem.
    pub fn schema(&self, pattern: &Pattern, is_there: bool) -> Json {
        let Some(target) = &pattern.target else { return self.results(pattern) };
        let collection = target.collection.as_ref();
        let row = self.row(collection, pattern);
        match pattern.verb {
            Verb::Get if pattern.many.is_some() => {
                let most = pattern.many.unwrap_or(MANY_MAX);
                members([("rows", list(types::nullable(row), most))])
            }
            Verb::Get => {
                let row = if is_there { row } else { types::nullable(row) };
                members([("row", row), ("version", self.version(collection))])
            }
            Verb::List | Verb::Near | Verb::Load => {
                let rows = list(row, pattern.page.unwrap_or(PAGE_ROWS_MAX));
                members([("rows", rows), ("next", next(pattern))])
            }
            _ => match (pattern.many, self.one_change(pattern, collection, row)) {
                (Some(many), one) => members([("results", list(one, many))]),
                (None, one) => one,
            },
        }
    }

    /// What the change of one row is answered.
    fn one_change(&self, pattern: &Pattern, collection: &Collection, row: Json) -> Json {
        match (pattern.verb, &collection.content) {
            (Verb::Add, Content::Counter) => {
                members([("total", types::schema(&Type::I64, self.place))])
            }
            (Verb::Add, Content::Window { .. }) => members([
                ("allowed", json!({ "type": "boolean" })),
                ("remaining", types::schema(&Type::I64, self.place)),
                ("resets_at", types::schema(&Type::Timestamp, self.place)),
            ]),
            _ => {
                let mut schema = members([
                    ("key", json!({ "type": "string", "description": "The row's key, as text" })),
                    ("version", self.version(collection)),
                    ("row", types::nullable(row)),
                ]);
                let existed = json!({
                    "const": true,
                    "description": "The row was there before, and nothing was written",
                });
                if let Some(Json::Object(properties)) = schema.get_mut("properties") {
                    properties.insert("existed".to_string(), existed);
                }
                schema
            }
        }
    }

    /// What an `atomic` is answered: one answer for each step that runs a pattern.
    fn results(&self, pattern: &Pattern) -> Json {
        let runs = pattern.steps.iter().filter_map(|step| match &step.action {
            StepAction::Run(run) => Some(run),
            StepAction::Check { .. } => None,
        });
        let each: Vec<Json> = runs.map(|run| self.step(run)).collect();
        let count = each.len();
        let mut results = json!({
            "type": "array",
            "minItems": count,
            "maxItems": count,
            "description": "What each step is answered, in their order",
        });
        if let Json::Object(results) = &mut results {
            match self.place {
                Place::Inline => {
                    results.insert("prefixItems".to_string(), each.into());
                    results.insert("items".to_string(), false.into());
                }
                // Tools around OpenAPI know lists of one kind of item only.
                Place::Components => {
                    results.insert("items".to_string(), json!({ "anyOf": each }));
                }
            }
        }
        members([("results", results)])
    }

    /// What a step is answered; of a call that was made before, its row may be gone.
    fn step(&self, run: &Pattern) -> Json {
        let Some(target) = &run.target else { return self.results(run) };
        let row = self.whole(&target.collection);
        let null = json!({ "type": "null" });
        let unknown = members([("row", null.clone()), ("version", null)]);
        let one = self.one_change(run, &target.collection, row);
        let one = json!({ "anyOf": [one, unknown] });
        match run.many {
            Some(many) => members([("results", list(one, many))]),
            None => one,
        }
    }

    fn version(&self, collection: &Collection) -> Json {
        match self.keyspace.mode(collection).has_version() {
            true => types::nullable(types::version(self.place)),
            false => json!({ "type": "null" }),
        }
    }

    /// The row that a pattern shows.
    fn row(&self, collection: &Collection, pattern: &Pattern) -> Json {
        let Some(fields) = &pattern.fields else { return self.whole(collection) };
        let all = row_members(collection);
        let asked = fields
            .iter()
            .filter_map(|field| all.iter().find(|(name, _)| *name == field.value).cloned());
        self.row_of(asked.collect())
    }

    fn whole(&self, collection: &Collection) -> Json {
        match self.place {
            Place::Components => types::reference(&collection.name.value),
            Place::Inline => self.component(collection),
        }
    }

    /// The schema of a whole row, for the components.
    pub fn component(&self, collection: &Collection) -> Json {
        self.row_of(row_members(collection))
    }

    fn row_of(&self, all: Vec<(String, Type)>) -> Json {
        let shown: Vec<String> = all.iter().map(|(name, _)| self.keyspace.shown(name)).collect();
        let schemas = all.iter().map(|(_, of)| types::schema(of, self.place));
        types::object(shown.iter().cloned().zip(schemas).collect(), shown)
    }
}

/// Everything a row has, in its order: segments of its key, fields and body, or its one value.
fn row_members(collection: &Collection) -> Vec<(String, Type)> {
    let segments = collection.key.segments();
    let segments = segments.map(|segment| (segment.name.clone(), segment.segment_type.clone()));
    let fields = collection.fields().iter();
    let fields = fields.map(|field| (field.name.clone(), field.field_type.clone()));
    let value = match &collection.content {
        Content::Keys | Content::Fields(_) => None,
        Content::Json => Some(Type::Json),
        Content::Text => Some(Type::Text),
        Content::Bytes => Some(Type::Bytes),
        Content::Counter | Content::Window { .. } => Some(Type::I64),
    };
    let body = collection.body.filter(|_| value.is_none()).map(|body| match body {
        BodyType::Bytes => Type::Bytes,
        BodyType::Text => Type::Text,
    });
    let value = value.map(|of| ("value".to_string(), of));
    let body = body.map(|of| ("body".to_string(), of));
    segments.chain(fields).chain(value).chain(body).collect()
}

fn next(pattern: &Pattern) -> Json {
    match pattern.verb {
        Verb::Near => json!({ "type": "null" }),
        _ => json!({
            "type": ["string", "null"],
            "description": "The `cursor` of the next page; null at the end, and only there",
        }),
    }
}

fn list(items: Json, most: u64) -> Json {
    json!({ "type": "array", "items": items, "maxItems": most })
}

/// An object with exactly these members.
fn members<const N: usize>(all: [(&str, Json); N]) -> Json {
    let required = all.iter().map(|(name, _)| name.to_string()).collect();
    let properties: Map<String, Json> =
        all.into_iter().map(|(name, schema)| (name.to_string(), schema)).collect();
    types::object(properties, required)
}
