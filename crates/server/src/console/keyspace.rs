//! What is served, as the page draws it: collections, indexes, patterns, plans and layouts.

use super::sent::answered;
use crate::http::problem::Problem;
use crate::http::{InPath, Operator, is_offered};
use crate::service::Service;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use data::request::Prepared;
use data::store::{Description, Memory, Reach};
use keyspace::model::{
    Argument, ArgumentRole, Atomicity, Collection, Content, Index, Keyspace, Pattern, StepAction,
    StoreKind, Ttl, Type, Verb, duration_text,
};
use keyspace::plan::{Answer, Bounds, explain};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// The whole keyspace, and the store it is on.
pub async fn whole(State(service): State<Arc<Service>>, _: Operator) -> Response {
    let keyway = &service.keyway;
    let keyspace = keyway.keyspace();
    let collections: Vec<Json> =
        keyspace.collections.iter().map(|of| collection(keyspace, of)).collect();
    let kind = keyway.store().kind;
    let patterns: Vec<Json> = keyway
        .runtime()
        .patterns()
        .iter()
        .map(|prepared| pattern(keyspace, prepared, kind))
        .collect();
    let deferred = keyspace.deferred.iter().map(|deferred| {
        json!({ "id": deferred.id.value, "about": deferred.about, "reason": deferred.reason })
    });
    answered(&json!({
        "name": keyspace.name.value,
        "about": keyspace.about,
        "separator": keyspace.separator.to_string(),
        "store": store(&keyway.store()),
        "stores": StoreKind::ALL.map(StoreKind::name),
        "remarks": keyway.remarks(),
        "warnings": keyway.warnings(),
        "collections": collections,
        "patterns": patterns,
        "deferred": deferred.collect::<Vec<_>>(),
    }))
}

/// The plan of one pattern on this store, in words.
pub async fn plan(
    State(service): State<Arc<Service>>,
    _: Operator,
    InPath(name): InPath<String>,
) -> Result<Response, Problem> {
    let runtime = service.keyway.runtime();
    let position = service.positions.get(&name).copied();
    let prepared = position.and_then(|position| runtime.patterns().get(position));
    let Some(prepared) = prepared else {
        let title = "there is no such pattern";
        return Err(Problem::new(StatusCode::NOT_FOUND, "no_pattern", title));
    };
    let kind = service.keyway.store().kind;
    let text = explain::text(runtime.keyspace(), prepared.plan(), Some(kind));
    Ok(answered(&json!({ "pattern": name, "store": kind.name(), "text": text })))
}

/// What a kind of store holds, or would hold.
pub async fn layout(
    State(service): State<Arc<Service>>,
    _: Operator,
    InPath(store): InPath<String>,
) -> Result<Response, Problem> {
    let Some(kind) = StoreKind::from_name(&store) else {
        let title = "there is no such kind of store";
        return Err(Problem::new(StatusCode::NOT_FOUND, "no_store", title));
    };
    let text = keyspace::layout::print(service.keyway.keyspace(), kind);
    Ok(answered(&json!({ "store": kind.name(), "text": text })))
}

fn store(description: &Description) -> Json {
    json!({
        "kind": description.kind.name(),
        "address": description.address,
        "atomicity": match description.atomicity {
            Atomicity::WholeStore => "store",
            Atomicity::Group => "group",
        },
        "blind": match description.blind {
            Reach::Store => "store",
            Reach::Place => "place",
        },
        "remembers": match description.remembers {
            Memory::Batches => "batches",
            Memory::Rows => "rows",
        },
        "durability": description.durability.name(),
    })
}

fn collection(keyspace: &Keyspace, collection: &Collection) -> Json {
    let separator = keyspace.separator;
    let fields = collection.fields().iter().map(|field| {
        json!({
            "name": keyspace.shown(&field.name),
            "type": field.field_type.to_string(),
            "default": field.default.as_ref().map(ToString::to_string),
        })
    });
    let segments = collection.key.segments().map(|segment| {
        json!({
            "name": keyspace.shown(&segment.name),
            "type": segment.segment_type.to_string(),
            "descending": segment.descending,
        })
    });
    let value = match &collection.content {
        Content::Keys | Content::Fields(_) => None,
        Content::Json => Some("json"),
        Content::Text => Some("text"),
        Content::Bytes => Some("bytes"),
        Content::Counter => Some("counter"),
        Content::Window { .. } => Some("window"),
    };
    let ends = collection.ttl.as_ref().map(|ttl| match ttl {
        Ttl::After(milliseconds) => {
            let milliseconds = i64::try_from(*milliseconds).unwrap_or(i64::MAX);
            format!("after {}", duration_text(milliseconds))
        }
        Ttl::Field(field) => format!("at {field}"),
    });
    let index = |index: &Arc<Index>| {
        json!({
            "name": index.name.value,
            "key": index.key.template(separator),
            "unique": index.unique,
            "notes": index.notes,
        })
    };
    json!({
        "name": collection.name.value,
        "key": collection.key.template(separator),
        "segments": segments.collect::<Vec<_>>(),
        "fields": fields.collect::<Vec<_>>(),
        "value": value,
        "body": collection.body.is_some(),
        "mode": keyspace.mode(collection).to_string(),
        "ends": ends,
        "owner": collection.owner.as_ref().map(|owner| keyspace.shown(&owner.name)),
        "tenant": collection.tenant.as_ref().map(|tenant| keyspace.shown(&tenant.name)),
        "immutable": collection.immutable,
        "history": collection.history.is_some(),
        "notes": collection.notes,
        "indexes": collection.indexes.iter().map(index).collect::<Vec<_>>(),
    })
}

fn pattern(keyspace: &Keyspace, prepared: &Prepared, kind: StoreKind) -> Json {
    let pattern = &prepared.pattern;
    let target = pattern.target.as_ref();
    let answer = prepared.plan().answer(kind);
    let price = match answer {
        Answer::Assisted { price, .. } => Some(price),
        _ => None,
    };
    let arguments = pattern.arguments.iter().map(|one| argument(keyspace, pattern, one));
    json!({
        "name": prepared.name(),
        "id": pattern.id.as_ref().map(|id| &id.value),
        "about": pattern.about,
        "notes": pattern.notes,
        "verb": pattern.verb.name(),
        "reads": pattern.verb.is_read(),
        "watchable": matches!(pattern.verb, Verb::Get | Verb::List),
        "target": target.map(|target| target.text()),
        "collection": target.map(|target| &target.collection.name.value),
        "index": target.and_then(|target| target.index.as_ref()).map(|index| &index.name.value),
        "steps": steps(pattern),
        "allow": pattern.allow.to_string(),
        "offered": is_offered(prepared),
        "arguments": arguments.collect::<Vec<_>>(),
        "filled": prepared.filled,
        "answer": answer.word(),
        "price": price,
        "reason": answer.refusal().map(|refusal| &refusal.reason),
        "bounds": answer.bounds().map(bounds),
    })
}

fn steps(pattern: &Pattern) -> Vec<Json> {
    let step = |step: &keyspace::model::Step| {
        let (verb, target) = match &step.action {
            StepAction::Check { target, .. } => ("check", Some(target)),
            StepAction::Run(run) => (run.verb.name(), run.target.as_ref()),
        };
        json!({
            "name": step.name,
            "verb": verb,
            "collection": target.map(|target| &target.collection.name.value),
        })
    };
    pattern.steps.iter().map(step).collect()
}

fn argument(keyspace: &Keyspace, pattern: &Pattern, argument: &Argument) -> Json {
    let of = argument.argument_type.required();
    let words = match of {
        Type::Enum(words) => Some(words),
        _ => None,
    };
    let each = match &argument.role {
        ArgumentRole::Rows(each) => {
            Some(each.iter().map(|one| self::argument(keyspace, pattern, one)).collect::<Vec<_>>())
        }
        _ => None,
    };
    let field = match argument.role {
        ArgumentRole::Field => {
            pattern.target.as_ref().and_then(|target| target.collection.field(&argument.name))
        }
        _ => None,
    };
    let default = field.and_then(|field| field.default.as_ref()).map(ToString::to_string);
    json!({
        "name": keyspace.shown(&argument.name),
        "type": if each.is_some() { "rows".to_string() } else { of.to_string() },
        "form": form(&argument.role, of),
        "optional": argument.argument_type.is_optional(),
        "required": argument.required,
        "role": role(&argument.role),
        "words": words,
        "each": each,
        "default": default,
    })
}

/// How a value is best asked for.
fn form(role: &ArgumentRole, of: &Type) -> &'static str {
    match (role, of) {
        (ArgumentRole::Rows(_), _) | (_, Type::Json | Type::List(_) | Type::Path) => "json",
        (_, Type::Enum(_)) => "words",
        (_, Type::Bool) => "flag",
        (_, Type::I64 | Type::U64) => "integer",
        (_, Type::F64) => "number",
        (_, Type::Text) => "text",
        _ => "plain",
    }
}

fn role(role: &ArgumentRole) -> &'static str {
    match role {
        ArgumentRole::Key => "key",
        ArgumentRole::Field | ArgumentRole::Value | ArgumentRole::Body => "content",
        ArgumentRole::Change => "change",
        ArgumentRole::Amount => "amount",
        ArgumentRole::WindowRule => "rule",
        ArgumentRole::Version => "version",
        ArgumentRole::Place => "place",
        ArgumentRole::Rows(_) => "rows",
        ArgumentRole::Declared => "declared",
        ArgumentRole::Page => "page",
        ArgumentRole::History => "history",
    }
}

fn bounds(bounds: &Bounds) -> Json {
    json!({
        "round_trips": bounds.round_trips,
        "attempts": bounds.attempts,
        "rows_read": bounds.rows_read,
        "rows_written": bounds.rows_written,
        "bytes_read": bounds.bytes_read,
        "bytes_written": bounds.bytes_written,
    })
}
