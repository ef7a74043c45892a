//! OpenAPI 3.1: one path a pattern.

mod operation;
mod responses;

use super::answers::Answers;
use super::types::{self, NAMED, Place};
use keyspace::model::{Keyspace, Pattern, StepAction, StoreKind};
use keyspace::plan::Plan;
use serde_json::{Map, Value as Json, json};

/// The name under which tokens are asked for.
const TOKEN: &str = "token";

/// The document.
pub fn document(keyspace: &Keyspace, store: StoreKind, plans: &[Plan]) -> Json {
    let mut paths = Map::new();
    for plan in plans {
        let method = if plan.pattern.verb.is_read() { "get" } else { "post" };
        let operation = operation::Operation { keyspace, plan, store }.to_json();
        paths.insert(format!("/{}", plan.pattern.name.value), json!({ method: operation }));
    }
    paths.insert("/health".to_string(), health());
    let about = keyspace.about.clone().unwrap_or_default();
    json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": keyspace.name.value,
            "summary": about,
            "description": "One endpoint a pattern of the keyspace file, and no others. Reads are \
                            GET with their arguments in the query, writes are POST with a JSON \
                            object. What is wrong is told as RFC 9457 has it.",
            "version": "1",
        },
        "tags": tags(keyspace, plans),
        "paths": paths,
        "components": {
            "schemas": schemas(keyspace, plans),
            "responses": responses::components(),
            "headers": responses::headers(),
            "securitySchemes": {
                TOKEN: {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token made with `keyway token create`. Whose rows a call \
                                    reaches follows from it, never from an argument.",
                },
            },
        },
    })
}

/// The collections that patterns lead to, as tags.
fn tags(keyspace: &Keyspace, plans: &[Plan]) -> Json {
    let used = |name: &str| plans.iter().any(|plan| collections(&plan.pattern).contains(&name));
    let collections = keyspace.collections.iter();
    let mut tags: Vec<Json> = collections
        .filter(|collection| used(&collection.name.value))
        .map(|collection| {
            let mut tag = Map::new();
            tag.insert("name".to_string(), json!(collection.name.value));
            if let Some(notes) = &collection.notes {
                tag.insert("description".to_string(), json!(notes));
            }
            Json::Object(tag)
        })
        .collect();
    tags.push(json!({ "name": "server", "description": "The server itself" }));
    Json::Array(tags)
}

/// The names of the collections that a pattern leads to, each once.
fn collections(pattern: &Pattern) -> Vec<&str> {
    let stepped = pattern.steps.iter().filter_map(|step| match &step.action {
        StepAction::Run(run) => run.target.as_ref(),
        StepAction::Check { .. } => None,
    });
    let mut names = Vec::new();
    for target in pattern.target.iter().chain(stepped) {
        let name = target.collection.name.value.as_str();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn schemas(keyspace: &Keyspace, plans: &[Plan]) -> Json {
    let mut schemas = Map::new();
    schemas.insert("Problem".to_string(), responses::problem());
    for of in NAMED {
        if let Some(name) = types::component(&of) {
            schemas.insert(name.to_string(), types::schema(&of, Place::Inline));
        }
    }
    schemas.insert(types::VERSION.to_string(), types::version(Place::Inline));
    let answers = Answers { keyspace, place: Place::Components };
    for collection in &keyspace.collections {
        let name = collection.name.value.as_str();
        if plans.iter().any(|plan| collections(&plan.pattern).contains(&name)) {
            schemas.insert(name.to_string(), answers.component(collection));
        }
    }
    Json::Object(schemas)
}

fn health() -> Json {
    let body = |word: &str| {
        let schema = json!({
            "type": "object",
            "properties": { "status": { "const": word } },
            "required": ["status"],
            "additionalProperties": false,
        });
        json!({ "application/json": { "schema": schema } })
    };
    json!({ "get": {
        "operationId": "server.health",
        "summary": "Whether the store answers",
        "tags": ["server"],
        "security": [],
        "responses": {
            "200": { "description": "It does", "content": body("up") },
            "503": { "description": "It does not", "content": body("down") },
        },
    }})
}
