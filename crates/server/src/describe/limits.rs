//! What narrows an argument beyond its type: pages, circles, and what indexes ask of fields.

use super::arguments::{Arguments, with};
use keyspace::model::limits::{EACH_ENTRIES_MAX, PAGE_ROWS_MAX};
use keyspace::model::{
    Argument, ArgumentRole, Collection, Content, ExpressionKind, Function, Type, Verb,
};
use keyspace::plan::GEOHASH_LATITUDE_MAX;
use serde_json::{Value as Json, json};

impl Arguments<'_> {
    /// The schema with the limits that the argument has for its role.
    pub fn limited(&self, argument: &Argument, schema: Json) -> Json {
        let name = argument.name.as_str();
        let limits = match (&argument.role, name) {
            (ArgumentRole::Page, "limit") => {
                let most = self.pattern.page.unwrap_or(PAGE_ROWS_MAX);
                return json!({ "type": "integer", "minimum": 1, "maximum": most });
            }
            (ArgumentRole::Place, "lat") => {
                let most = self.latitude_max();
                json!({ "minimum": -most, "maximum": most })
            }
            (ArgumentRole::Place, "lon") => json!({ "minimum": -180, "maximum": 180 }),
            (ArgumentRole::Place, _) => {
                json!({ "minimum": 0, "maximum": self.pattern.radius_max.unwrap_or(0.0) })
            }
            (ArgumentRole::Amount, _) if self.is_of_window() => json!({ "minimum": 0 }),
            (
                ArgumentRole::Key
                | ArgumentRole::Field
                | ArgumentRole::Change
                | ArgumentRole::Value
                | ArgumentRole::Declared,
                _,
            ) if !self.pattern.verb.is_read() => return self.stored(argument, schema),
            _ => return schema,
        };
        with(schema, limits)
    }

    /// What a row is stored with: places on the earth, and texts that keys begin with.
    fn stored(&self, argument: &Argument, mut schema: Json) -> Json {
        let name = argument.name.as_str();
        if let Some(most) = self.writes(name).find_map(|(_, of, name)| degrees(of, name)) {
            return with(schema, json!({ "minimum": -most, "maximum": most }));
        }
        let begins = |(verb, of, name): (Verb, &Collection, &str)| {
            let is_key = of.key.segment(name).is_some();
            let stores = matches!(verb, Verb::Insert | Verb::Put) || !is_key;
            is_key && begins_key(of, name) || stores && begins_index(of, name)
        };
        if !self.writes(name).any(begins) {
            return schema;
        }
        match argument.argument_type.required() {
            Type::Text => with(schema, json!({ "minLength": 1 })),
            Type::List(item) if **item == Type::Text => {
                if let Some(Json::Object(items)) = schema.get_mut("items") {
                    items.insert("minLength".to_string(), json!(1));
                }
                with(schema, json!({ "maxItems": EACH_ENTRIES_MAX }))
            }
            _ => schema,
        }
    }

    /// What the pattern, or its steps, do to which collections, and what an argument is called
    /// there: a step may bind it to another name.
    fn writes<'a>(
        &'a self,
        name: &'a str,
    ) -> impl Iterator<Item = (Verb, &'a Collection, &'a str)> {
        self.runs().flat_map(move |(pattern, bind)| {
            let is_bound = bind.iter().any(|bound| bound.name.value == name);
            let bound = bind.iter().filter(move |bound| {
                matches!(&bound.expression.kind, ExpressionKind::Argument(of) if of == name)
            });
            let names = bound.map(|bound| bound.name.value.as_str());
            let names = names.chain((!is_bound).then_some(name));
            let target = pattern.target.as_ref().map(|target| target.collection.as_ref());
            names.filter_map(move |name| Some((pattern.verb, target?, name)))
        })
    }

    fn is_of_window(&self) -> bool {
        let mut targets = self.runs().filter_map(|(pattern, _)| pattern.target.as_ref());
        targets.any(|target| matches!(target.collection.content, Content::Window { .. }))
    }

    fn latitude_max(&self) -> f64 {
        let target = self.pattern.target.as_ref();
        let key = target.and_then(|target| target.index.as_ref()).map(|index| &index.key);
        let mut segments = key.into_iter().flat_map(|key| key.segments());
        let is_hash = segments.any(|segment| segment.function() == Some(Function::Geohash));
        if is_hash { GEOHASH_LATITUDE_MAX } else { 90.0 }
    }
}

/// How far a field goes that an index finds on the earth, in degrees.
fn degrees(collection: &Collection, name: &str) -> Option<f64> {
    let segments = collection.indexes.iter().flat_map(|index| index.key.segments());
    segments.filter(|segment| segment.is_geographic()).find_map(|segment| {
        let members = segment.source.as_ref()?.members();
        let at = members.iter().position(|member| *member == name)?;
        Some(if at == 0 { 90.0 } else { 180.0 })
    })
}

/// Whether a segment stands before the bar of the key: a text there is never empty.
fn begins_key(collection: &Collection, name: &str) -> bool {
    collection.key.group_segments().any(|segment| segment.name == name)
}

/// Whether a member stands before the bar of an index that every row is in.
fn begins_index(collection: &Collection, name: &str) -> bool {
    let indexes = collection.indexes.iter().filter(|index| index.when.is_none());
    let mut segments = indexes.flat_map(|index| index.key.group_segments());
    segments.any(|segment| {
        segment.source.as_ref().is_some_and(|source| source.members().contains(&name))
    })
}
