//! Calls from JSON and answers as JSON, with the names people see.
//!
//! ```text
//! {"title": "…"} ─▶ what is given for each argument       Answer ─▶ {"key", "version", "row"}
//! ```

use data::request::{Answer, Changed, Given, Record};
use data::schema::Schema;
use data::store::Key;
use data::{Error, ErrorKind, Result, Value};
use keyspace::diagnostic::nearest;
use keyspace::model::{Argument, ArgumentRole, Keyspace, Pattern, Type};
use serde_json::{Map, Value as Json};

/// What a JSON object gives for each argument of a pattern, in their order.
pub fn given(keyspace: &Keyspace, pattern: &Pattern, json: &Json) -> Result<Vec<Given>> {
    let shown = |name: &str| keyspace.shown(name);
    row(&shown, &pattern.arguments, json)
        .map_err(|error| error.with("pattern", &pattern.name.value))
}

/// How a name of the file is shown.
type Shown<'a> = &'a dyn Fn(&str) -> String;

fn row(shown: Shown<'_>, arguments: &[Argument], json: &Json) -> Result<Vec<Given>> {
    let empty = Map::new();
    let object = match json {
        Json::Object(object) => object,
        Json::Null => &empty,
        _ => return Err(Error::new(ErrorKind::Argument, "arguments are a JSON object")),
    };
    let mut given = vec![Given::Missing; arguments.len()];
    for (name, value) in object {
        let position = arguments.iter().position(|argument| shown(&argument.name) == *name);
        let found = position.and_then(|at| arguments.get(at).zip(given.get_mut(at)));
        let Some((argument, place)) = found else { return Err(unknown(shown, arguments, name)) };
        let value = match &argument.role {
            ArgumentRole::Rows(each) => rows(shown, each, value),
            _ => Value::from_json(value, &argument.argument_type).map(Given::Value),
        };
        *place = value.map_err(|error| error.with("argument", name))?;
    }
    Ok(given)
}

/// What a JSON array gives for rows of a call with `many`.
pub fn rows(shown: Shown<'_>, each: &[Argument], json: &Json) -> Result<Given> {
    let Json::Array(rows) = json else {
        return Err(Error::new(ErrorKind::Argument, "rows are a JSON array of objects"));
    };
    let rows = rows.iter().enumerate();
    let rows =
        rows.map(|(number, one)| row(shown, each, one).map_err(|error| error.with("row", number)));
    rows.collect::<Result<_>>().map(Given::Rows)
}

/// The error of a name that no argument has.
pub fn unknown(shown: Shown<'_>, arguments: &[Argument], name: &str) -> Error {
    let known: Vec<String> = arguments.iter().map(|argument| shown(&argument.name)).collect();
    let error = Error::new(ErrorKind::Argument, "the pattern has no such argument")
        .with("argument", name.chars().take(64).collect::<String>());
    match nearest(name, known.iter().map(String::as_str)) {
        Some(meant) => error.with("did_you_mean", meant),
        None if known.is_empty() => error.with("arguments", "none"),
        None => error.with("arguments", known.join(", ")),
    }
}

/// An answer as JSON.
pub fn answer(schema: &Schema, answer: &Answer) -> Result<Json> {
    let shown = |name: &str| schema.keyspace().shown(name);
    Ok(match answer {
        Answer::Row(row) => optional(row.as_ref())?,
        Answer::Rows(rows) => {
            let rows = rows.iter().map(|row| optional(row.as_ref()));
            object([("rows".to_string(), rows.collect::<Result<_>>()?)])
        }
        Answer::Page { rows, next } => {
            let rows = rows.iter().map(Record::to_json);
            let next = next.clone().map_or(Json::Null, Json::String);
            object([("rows".to_string(), rows.collect::<Result<_>>()?), ("next".to_string(), next)])
        }
        Answer::Changed(one) => changed(schema, one)?,
        Answer::ChangedRows(rows) => {
            let rows = rows.iter().map(|one| changed(schema, one));
            object([("rows".to_string(), rows.collect::<Result<_>>()?)])
        }
        Answer::Total(total) => Value::I64(*total).to_json(&Type::I64),
        Answer::Window { allowed, remaining, resets_at } => object([
            ("allowed".to_string(), Json::Bool(*allowed)),
            ("remaining".to_string(), Value::I64(*remaining).to_json(&Type::I64)),
            (shown("resets_at"), Value::Timestamp(*resets_at).to_json(&Type::Timestamp)),
        ]),
        Answer::Results(results) => {
            let results = results.iter().map(|one| self::answer(schema, one));
            object([("results".to_string(), results.collect::<Result<_>>()?)])
        }
    })
}

fn object<const N: usize>(members: [(String, Json); N]) -> Json {
    Json::Object(members.into_iter().collect())
}

fn optional(row: Option<&Record>) -> Result<Json> {
    row.map_or(Ok(Json::Null), Record::to_json)
}

fn changed(schema: &Schema, changed: &Changed) -> Result<Json> {
    let version = changed.version.map_or(Json::Null, |version| Json::String(version.to_string()));
    Ok(object([
        ("key".to_string(), Json::String(key_text(schema, &changed.key)?)),
        ("version".to_string(), version),
        ("row".to_string(), optional(changed.row.as_ref())?),
    ]))
}

/// A key as people see it: `user:ann:notes:note_01J…`.
pub fn key_text(schema: &Schema, key: &Key) -> Result<String> {
    use keyspace::key::text::{Part, Separator, format};
    use keyspace::model;
    let data::schema::Space::Rows(collection) = schema.space(key.space())? else {
        return Err(Error::new(ErrorKind::Internal, "the key of a row is that of an entry"));
    };
    let values = collection.key.decode(key)?;
    let mut types = collection.key.segments.iter();
    let mut template = Vec::new();
    for part in &collection.model.key.parts {
        template.push(match part {
            model::Part::Literal(literal) => Part::Literal(literal),
            model::Part::Segment(_) => match types.next() {
                Some(segment) => Part::Segment(segment.kind),
                None => return Err(Error::new(ErrorKind::Internal, "a key has fewer segments")),
            },
        });
    }
    let separator = match schema.keyspace().separator {
        '/' => Separator::Slash,
        _ => Separator::Colon,
    };
    let values: Vec<_> = values.iter().filter_map(Value::as_segment).collect();
    Ok(format(separator, &template, &values)?)
}
