//! What calls must be answered: rows in a list, looked at one by one.
//!
//! Naive on purpose. Unique values are found by looking at every row, an end is a comparison of
//! two instants, and nothing here knows keys, entries or batches.

use super::domain::{Kind, instant, instant_text, shown, text, whole};
use super::entries::{asked_for, entries, holds};
use super::world::{Asked, Collection, Condition, Content, Filled, Life, Verb, World};
use crate::error::ErrorKind;
use serde_json::{Map, Value as Json, json};

/// A row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Its segments and fields.
    pub(super) members: Map<String, Json>,
    pub(super) expires: Option<i64>,
    /// As it was answered.
    pub(super) version: Json,
}

/// What a call must be answered.
#[derive(Debug)]
pub(super) enum Expected {
    /// `{"row", "version"}`.
    Row(Option<Row>),
    /// All rows of all pages.
    Rows(Vec<Json>),
    /// A change, and whether the row was there before.
    Changed(Option<Row>, bool),
    Total(Json),
    Window(Json),
    /// An error of one of these kinds, and nothing has changed.
    Refused(Vec<ErrorKind>),
}

/// Every row.
pub(super) struct Oracle<'w> {
    pub(super) world: &'w World,
    pub(super) now: i64,
    rows: Vec<Vec<Row>>,
}

/// A call, and its answer if there was one: made ids and versions are taken from it.
pub(super) struct Called<'c> {
    pub(super) asked: &'c Asked,
    pub(super) user: &'c str,
    pub(super) arguments: &'c Map<String, Json>,
    pub(super) answer: Option<&'c Json>,
}

impl<'w> Oracle<'w> {
    pub(super) fn new(world: &'w World, now: i64) -> Self {
        let rows = world.collections.iter().map(|_| Vec::new()).collect();
        Oracle { world, now, rows }
    }

    /// The rows of a collection that have not ended.
    pub(super) fn live(&self, collection: usize) -> impl Iterator<Item = &Row> {
        let rows = self.rows.get(collection).into_iter().flatten();
        rows.filter(|row| row.expires.is_none_or(|expires| expires > self.now))
    }

    /// What a call must be answered, and what becomes of it.
    pub(super) fn call(&mut self, called: &Called<'_>) -> Expected {
        let world = self.world;
        let place = called.asked.collection;
        let Some(collection) = world.collections.get(place) else {
            return Expected::Refused(Vec::new());
        };
        let key = key(collection, called);
        let stored = self.live(place).find(|row| has(row, &key)).cloned();
        let foreign = stored.as_ref().is_some_and(|row| is_foreign(collection, row, called.user));
        let own = stored.clone().filter(|_| !foreign);
        match &called.asked.verb {
            Verb::Get if matches!(collection.content, Content::Counter) => {
                let mut members = key;
                let value = own.and_then(|row| row.members.get("value").cloned());
                members.insert("value".to_string(), value.unwrap_or(json!(0)));
                Expected::Row(Some(Row { members, expires: None, version: Json::Null }))
            }
            Verb::Get => Expected::Row(own),
            Verb::GetBy(index) => Expected::Row(self.unique(place, *index, called)),
            Verb::List | Verb::ListBy { .. } => Expected::Rows(self.list(collection, called)),
            Verb::Delete => {
                if own.is_some() {
                    self.remove(place, &key);
                }
                Expected::Changed(None, false)
            }
            Verb::Insert | Verb::Put => {
                let new = self.whole(collection, called, key, called.arguments);
                let same = |row: &Row| collection.immutable && is_same(collection, row, &new);
                let replaces = matches!(called.asked.verb, Verb::Put) && !collection.immutable;
                match (own.filter(same), stored) {
                    (Some(row), _) => Expected::Changed(Some(row), true),
                    (_, Some(_)) if foreign || !replaces => {
                        let mut kinds = vec![ErrorKind::Conflict];
                        kinds.extend(self.obstacles(place, collection, &new));
                        Expected::Refused(kinds)
                    }
                    _ => self.store(place, collection, new),
                }
            }
            Verb::Update { condition, creates, .. } => match own {
                Some(row) => self.update(place, collection, called, row, condition.as_ref()),
                None if *creates && !foreign => self.create(place, collection, called, key),
                None => Expected::Refused(vec![ErrorKind::NotFound]),
            },
            Verb::Add if collection.content == Content::Window => self.window(place, called, key),
            Verb::Add => self.count(place, collection, called, key),
            Verb::AddTo(field) => match own {
                None => Expected::Refused(vec![ErrorKind::NotFound]),
                Some(row) => self.add_to(place, collection, called, row, field),
            },
        }
    }

    /// An update that found no row.
    fn create(
        &mut self,
        place: usize,
        collection: &Collection,
        called: &Called<'_>,
        key: Map<String, Json>,
    ) -> Expected {
        let given = called.arguments;
        let mut required = collection.fields.iter().filter(|field| field.is_required());
        if required.any(|field| !given.contains_key(&field.name)) {
            return Expected::Refused(vec![ErrorKind::Argument]);
        }
        let new = self.whole(collection, called, key, given);
        self.store(place, collection, new)
    }

    fn add_to(
        &mut self,
        place: usize,
        collection: &Collection,
        called: &Called<'_>,
        mut row: Row,
        field: &str,
    ) -> Expected {
        let sum = row.members.get(field).map_or(0, whole) + amount(called);
        let fits = match collection.field(field).map(|field| field.kind) {
            Some(Kind::U64) => u64::try_from(sum).is_ok(),
            _ => i64::try_from(sum).is_ok(),
        };
        if !fits {
            return Expected::Refused(vec![ErrorKind::Overflow]);
        }
        row.members.insert(field.to_string(), shown(sum));
        self.touch(collection, &mut row);
        self.store(place, collection, row)
    }

    /// Remembers the version a change was answered.
    pub(super) fn learn(&mut self, collection: usize, row: &Row, version: &Json) {
        let Some(shape) = self.world.collections.get(collection) else { return };
        let key = key_of(shape, row);
        let rows = self.rows.get_mut(collection).into_iter().flatten();
        rows.filter(|row| has(row, &key)).for_each(|row| row.version = version.clone());
    }

    fn update(
        &mut self,
        place: usize,
        collection: &Collection,
        called: &Called<'_>,
        mut row: Row,
        condition: Option<&Condition>,
    ) -> Expected {
        if condition.is_some_and(|condition| !holds(condition, &row.members)) {
            return Expected::Refused(vec![ErrorKind::Conflict]);
        }
        self.touch(collection, &mut row);
        let Verb::Update { set, .. } = &called.asked.verb else {
            return Expected::Refused(Vec::new());
        };
        for name in set {
            if let Some(value) = called.arguments.get(name) {
                row.members.insert(name.clone(), value.clone());
            }
        }
        if let Life::Field(field) = &collection.life {
            row.expires = row.members.get(field).filter(|end| !end.is_null()).map(instant);
        }
        self.store(place, collection, row)
    }

    fn touch(&self, collection: &Collection, row: &mut Row) {
        for field in collection.fields.iter().filter(|field| field.default == Filled::Touch) {
            row.members.insert(field.name.clone(), self.present(field));
        }
    }

    /// The present, as an instant or a day.
    fn present(&self, field: &super::world::Field) -> Json {
        let now = instant_text(self.now);
        match field.kind {
            Kind::Date => json!(text(&now).get(..10)),
            _ => now,
        }
    }

    /// A row with everything it has, from what a call gives.
    fn whole(
        &self,
        collection: &Collection,
        called: &Called<'_>,
        mut members: Map<String, Json>,
        given: &Map<String, Json>,
    ) -> Row {
        for field in &collection.fields {
            let value = match (given.get(&field.name), &field.default) {
                (_, Filled::Owner | Filled::Caller) => json!(called.user),
                (_, Filled::Now | Filled::Touch) => self.present(field),
                (Some(value), _) => value.clone(),
                (None, Filled::Constant(constant)) => constant.clone(),
                (None, Filled::ByCall) => Json::Null,
            };
            members.insert(field.name.clone(), value);
        }
        let expires = match &collection.life {
            Life::Endless => None,
            Life::HalfAnHour => Some(self.now + 30 * 60_000),
            Life::Field(field) => members.get(field).filter(|end| !end.is_null()).map(instant),
        };
        Row { members, expires, version: Json::Null }
    }

    /// Why a row cannot be stored: a unique value of another row, or an empty text where a group
    /// of an index needs one.
    fn obstacles(&self, place: usize, collection: &Collection, new: &Row) -> Vec<ErrorKind> {
        let own = key_of(collection, new);
        let mut found = Vec::new();
        for index in &collection.indexes {
            let wanted = entries(index, new);
            let empty = |entry: &Vec<Json>| {
                let mut group = index.parts.iter().zip(entry).take(index.group);
                group.any(|(part, value)| part.kind == Kind::Text && value == "")
            };
            if wanted.iter().any(empty) {
                found.push(ErrorKind::Argument);
            }
            let others = self.live(place).filter(|row| index.unique && !has(row, &own));
            let taken = |row: &Row| entries(index, row).iter().any(|entry| wanted.contains(entry));
            if others.into_iter().any(taken) {
                found.push(ErrorKind::Taken);
            }
        }
        found
    }

    fn store(&mut self, place: usize, collection: &Collection, new: Row) -> Expected {
        let obstacles = self.obstacles(place, collection, &new);
        if !obstacles.is_empty() {
            return Expected::Refused(obstacles);
        }
        self.remove(place, &key_of(collection, &new));
        if let Some(rows) = self.rows.get_mut(place) {
            rows.push(new.clone());
        }
        Expected::Changed(Some(new), false)
    }

    fn remove(&mut self, place: usize, key: &Map<String, Json>) {
        if let Some(rows) = self.rows.get_mut(place) {
            rows.retain(|row| !has(row, key));
        }
    }

    fn count(
        &mut self,
        place: usize,
        collection: &Collection,
        called: &Called<'_>,
        key: Map<String, Json>,
    ) -> Expected {
        let stored = self.live(place).find(|row| has(row, &key)).cloned();
        let before = stored.as_ref().and_then(|row| row.members.get("value")).map_or(0, whole);
        let sum = before + amount(called);
        if i64::try_from(sum).is_err() {
            return Expected::Refused(vec![ErrorKind::Overflow]);
        }
        let mut row = stored.unwrap_or_else(|| {
            let expires = (collection.life == Life::HalfAnHour).then_some(self.now + 30 * 60_000);
            Row { members: key, expires, version: Json::Null }
        });
        row.members.insert("value".to_string(), shown(sum));
        self.store(place, collection, row);
        Expected::Total(shown(sum))
    }

    fn window(&mut self, place: usize, called: &Called<'_>, key: Map<String, Json>) -> Expected {
        let stored = self.live(place).find(|row| has(row, &key)).cloned();
        let mut row = stored.unwrap_or_else(|| {
            let mut members = key;
            members.insert("value".to_string(), json!(0));
            Row { members, expires: Some(self.now + 3_600_000), version: Json::Null }
        });
        let before = row.members.get("value").map_or(0, whole);
        let sum = before + amount(called);
        let allowed = sum <= 3;
        // A window that was never begun has nothing to wait for.
        let begun = allowed || before > 0;
        let resets_at = row.expires.filter(|_| begun).unwrap_or(self.now);
        let answer = json!({
            "allowed": allowed,
            "remaining": shown(3 - if allowed { sum } else { before }),
            "resets_at": instant_text(resets_at),
        });
        if let (true, Some(collection)) = (allowed, self.world.collections.get(place)) {
            row.members.insert("value".to_string(), shown(sum));
            self.store(place, collection, row);
        }
        Expected::Window(answer)
    }

    /// The row with these unique values.
    fn unique(&self, place: usize, index: usize, called: &Called<'_>) -> Option<Row> {
        let collection = self.world.collections.get(place)?;
        let index = collection.indexes.get(index)?;
        let wanted: Vec<Json> =
            index.parts.iter().map(|part| asked_for(collection, part, called)).collect();
        self.live(place).find(|row| entries(index, row).contains(&wanted)).cloned()
    }
}

/// The segments of a key: from the caller, the call, or what was made.
fn key(collection: &Collection, called: &Called<'_>) -> Map<String, Json> {
    let inserts = matches!(called.asked.verb, Verb::Insert);
    let segments = collection.segments.iter().map(|segment| {
        let value = match (collection.is_filled(&segment.name), segment.made && inserts) {
            (true, _) => json!(called.user),
            (_, true) => {
                let made = called.answer.and_then(|answer| answer.get("row")?.get(&segment.name));
                // Of a refused insert nobody knows the id; no row has it.
                made.cloned().unwrap_or(json!(""))
            }
            _ => called.arguments.get(&segment.name).cloned().unwrap_or_default(),
        };
        (segment.name.clone(), value)
    });
    segments.collect()
}

fn key_of(collection: &Collection, row: &Row) -> Map<String, Json> {
    let names = collection.segments.iter().map(|segment| &segment.name);
    names.filter_map(|name| Some((name.clone(), row.members.get(name)?.clone()))).collect()
}

fn has(row: &Row, key: &Map<String, Json>) -> bool {
    key.iter().all(|(name, value)| row.members.get(name) == Some(value))
}

fn is_foreign(collection: &Collection, row: &Row, user: &str) -> bool {
    collection.is_owned_by_field()
        && collection.owner.as_ref().and_then(|owner| row.members.get(owner)) != Some(&json!(user))
}

/// Whether an immutable row is given again: what fills itself is not compared.
fn is_same(collection: &Collection, stored: &Row, new: &Row) -> bool {
    let mut given = collection.fields.iter().filter(|field| field.is_argument());
    given.all(|field| stored.members.get(&field.name) == new.members.get(&field.name))
}

fn amount(called: &Called<'_>) -> i128 {
    called.arguments.get("amount").map_or(1, whole)
}
