//! What a call gives, as a JSON Schema of one object.

use super::types::{self, Place};
use keyspace::model::limits::{KEY_BYTES_MAX, MANY_MAX};
use keyspace::model::{
    Argument, ArgumentRole, Assignment, DefaultValue, Keyspace, Pattern, StepAction, Type, Verb,
};
use keyspace::parse::grouped;
use serde_json::{Map, Value as Json, json};

/// The arguments of a pattern in words and schemas.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'k> {
    /// The keyspace.
    pub keyspace: &'k Keyspace,
    /// The pattern.
    pub pattern: &'k Pattern,
    /// Where schemas of types stand.
    pub place: Place,
}

impl Arguments<'_> {
    /// The schema of the object that a call gives.
    pub fn schema(&self) -> Json {
        let mut schema = self.object(&self.pattern.arguments);
        let Json::Object(object) = &mut schema else { return schema };
        let least = self.one_of().into_iter().map(|names| {
            let any: Json = names.iter().map(|name| json!({ "required": [name] })).collect();
            ("anyOf".to_string(), any)
        });
        let least: Vec<(String, Json)> = least.collect();
        match least.len() {
            0 | 1 => object.extend(least),
            _ => {
                let all = least.into_iter().map(|any| Json::Object(Map::from_iter([any])));
                object.insert("allOf".to_string(), all.collect());
            }
        }
        schema
    }

    /// The arguments of which an update gives at least one: of the pattern, or of each such step.
    pub fn one_of(&self) -> Vec<Vec<String>> {
        let updates = self.runs().filter(|(pattern, _)| {
            pattern.verb == Verb::Update && pattern.compute.is_empty() && !pattern.set.is_empty()
        });
        let of_updates = updates.filter_map(|(pattern, bind)| {
            let is_given = |name: &str| {
                let mut all = self.pattern.arguments.iter();
                let changes =
                    |role: &ArgumentRole| matches!(role, ArgumentRole::Change | ArgumentRole::Body);
                !bind.iter().any(|bound| bound.name.value == name)
                    && all.any(|known| known.name == name && changes(&known.role))
            };
            let names = || pattern.set.iter().map(|name| name.value.as_str());
            names().all(is_given).then(|| names().map(|name| self.keyspace.shown(name)).collect())
        });
        of_updates.collect()
    }

    /// The pattern and those that its steps run, each with what the step binds.
    pub(super) fn runs(&self) -> impl Iterator<Item = (&Pattern, &[Assignment])> {
        let steps = self.pattern.steps.iter().filter_map(|step| match &step.action {
            StepAction::Run(run) => Some((run.as_ref(), step.bind.as_slice())),
            StepAction::Check { .. } => None,
        });
        let nothing: &[Assignment] = &[];
        std::iter::once((self.pattern, nothing)).chain(steps)
    }

    /// Whether rows are given ids of their own: two that say the same are then two.
    fn makes_ids(&self) -> bool {
        let inserts = self.runs().filter(|(pattern, _)| pattern.verb == Verb::Insert);
        let mut targets = inserts.filter_map(|(pattern, _)| pattern.target.as_ref());
        targets.any(|target| {
            let mut segments = target.collection.key.segments();
            segments.any(|segment| matches!(segment.default, Some(DefaultValue::New(_))))
        })
    }

    fn object(&self, arguments: &[Argument]) -> Json {
        let shown = |argument: &Argument| self.keyspace.shown(&argument.name);
        let properties = arguments.iter().map(|argument| (shown(argument), self.one(argument)));
        let required = arguments.iter().filter(|argument| argument.required).map(shown).collect();
        types::object(properties.collect(), required)
    }

    /// The schema of one argument as JSON gives it.
    pub fn one(&self, argument: &Argument) -> Json {
        let schema = match &argument.role {
            ArgumentRole::Rows(each) => {
                let most = self.pattern.many.unwrap_or(MANY_MAX);
                let rows = json!({ "type": "array", "items": self.object(each), "maxItems": most });
                // No row is written twice in one call.
                match self.pattern.verb.is_read() || self.makes_ids() {
                    true => rows,
                    false => with(rows, json!({ "uniqueItems": true })),
                }
            }
            ArgumentRole::Version => types::version(self.place),
            // What steers a page is left out by null.
            ArgumentRole::Page => {
                let limited = types::schema(&argument.argument_type, self.place);
                types::nullable(self.limited(argument, limited))
            }
            _ => self.limited(argument, types::schema(&argument.argument_type, self.place)),
        };
        self.told(argument, schema)
    }

    /// The schema of one argument as a query gives it, and whether it is JSON there.
    pub fn parameter(&self, argument: &Argument) -> (Json, bool) {
        match &argument.role {
            ArgumentRole::Rows(_) => (self.one(argument), true),
            _ => {
                let (schema, is_json) = types::parameter(&argument.argument_type);
                (self.limited(argument, schema), is_json)
            }
        }
    }

    /// The schema with what the argument is for.
    fn told(&self, argument: &Argument, schema: Json) -> Json {
        let mut more = json!({ "description": self.words(argument) });
        if let (Some(default), Json::Object(object)) = (self.default(argument), &mut more) {
            object.insert("default".to_string(), default);
        }
        with(schema, more)
    }

    /// What an argument is for.
    pub fn words(&self, argument: &Argument) -> String {
        let of_type = match argument.argument_type.required() {
            Type::Bytes => ", as base64url without padding",
            Type::Timestamp => ", such as 2026-11-15T10:00:00Z",
            Type::Duration => ", such as 30s, 15m or 7d",
            _ => "",
        };
        // A limit in bytes is none in letters, which is what a schema could say.
        let most = match (&argument.role, argument.argument_type.required()) {
            (ArgumentRole::Key, Type::Text | Type::Path | Type::Bytes) => {
                format!("; a whole key has up to {} bytes", grouped(KEY_BYTES_MAX as u64))
            }
            _ => String::new(),
        };
        let words = match &argument.role {
            ArgumentRole::Key if matches!(self.pattern.verb, Verb::List | Verb::Take) => {
                "Names the group".to_string()
            }
            ArgumentRole::Key => "Part of the row's key".to_string(),
            ArgumentRole::Field if argument.required => "A field of the row".to_string(),
            ArgumentRole::Field => "A field of the row; may be left out".to_string(),
            ArgumentRole::Change => "The new value; left out, it stays as it is".to_string(),
            ArgumentRole::Value => "The row's value".to_string(),
            ArgumentRole::Body => "The row's body".to_string(),
            ArgumentRole::Amount => "What is added; below zero, taken away".to_string(),
            ArgumentRole::WindowRule => "A rule of the window".to_string(),
            ArgumentRole::Version => {
                "The version that was read; if the row has another by now, nothing is done"
                    .to_string()
            }
            ArgumentRole::Place => self.place_words(&argument.name),
            ArgumentRole::Rows(_) if self.pattern.verb == Verb::Get => {
                "The keys, in the order in which they are answered".to_string()
            }
            ArgumentRole::Rows(_) => "The rows; all of them are written, or none".to_string(),
            ArgumentRole::Declared => "A value that the pattern calculates with".to_string(),
            ArgumentRole::Page => page_words(&argument.name),
            ArgumentRole::History => "A part of a history".to_string(),
        };
        format!("{words}{of_type}{most}")
    }

    fn place_words(&self, name: &str) -> String {
        match name {
            "lat" => "Latitude of the middle, in degrees".to_string(),
            "lon" => "Longitude of the middle, in degrees".to_string(),
            _ => {
                let most = self.pattern.radius_max.unwrap_or(0.0);
                format!("How far around the middle, in metres, up to {most}")
            }
        }
    }

    /// What is taken where a call leaves an argument out.
    fn default(&self, argument: &Argument) -> Option<Json> {
        match argument.role {
            ArgumentRole::Amount => return Some(json!(1)),
            ArgumentRole::Key | ArgumentRole::Field => {}
            _ => return None,
        }
        let collection = &self.pattern.target.as_ref()?.collection;
        let field = collection.field(&argument.name).and_then(|field| field.default.as_ref());
        let segment = || collection.key.segment(&argument.name)?.default.as_ref();
        Some(match field.or_else(segment)? {
            DefaultValue::Number(text) => serde_json::from_str(text).ok()?,
            DefaultValue::Text(text) => json!(text),
            DefaultValue::Bool(value) => json!(value),
            DefaultValue::EmptyList => json!([]),
            DefaultValue::EmptyObject => json!({}),
            _ => return None,
        })
    }
}

fn page_words(name: &str) -> String {
    let words = match name {
        "from" => "Only rows from this value on, itself included",
        "before" => "Only rows before this value, itself left out",
        "starts" => "Only rows whose value begins so",
        "under" => "Only rows below this path",
        "limit" => "How many rows at most",
        "reverse" => "Whether the last row stands first",
        _ => "The `next` of the answer before, with otherwise the same arguments",
    };
    words.to_string()
}

/// A schema with further members; those that it has are replaced.
pub fn with(schema: Json, more: Json) -> Json {
    let (Json::Object(mut object), Json::Object(more)) = (schema, more) else {
        return Json::Object(Map::new());
    };
    object.extend(more);
    Json::Object(object)
}
