//! Reads: what is asked for a row, and the row that the answers are.
//!
//! ```text
//! keys ─▶ commands, a few a key ─▶ one transaction ─▶ answers ─▶ rows
//! ```
//!
//! Several commands are one transaction, so that no row is put together from two commits and no
//! reader sees a part of a batch. Rows that have ended are answered with their end.

use super::RedisStore;
use super::answers::{Answers, Questions};
use super::error::{damaged, unexpected};
use super::fields::{Field, count, instant};
use super::layout::{Ends, Layout, Owner, Place, Trails, What};
use super::member::{ListKind, Parts};
use super::name::{joined, split};
use super::outcome::version;
use super::protocol::Part;
use super::trail::Told;
use bytes::Bytes;
use data::store::{Key, Row, Trail};
use data::{Error, Result};
use futures_util::future::try_join_all;
use keyspace::key::{self, KeyWriter};
use std::collections::BTreeMap;

impl RedisStore {
    /// The rows under these keys, in their order. On a cluster those of each slot are asked for
    /// together, and all slots at once.
    pub(super) async fn rows(&self, layout: &Layout, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        if !self.servers.is_cluster() {
            return self.rows_of_slot(layout, keys.iter()).await;
        }
        let mut slots: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
        for (number, key) in keys.iter().enumerate() {
            let place = layout.place(key.space())?;
            let name = place.own_name(layout, &place.parts(key.as_ref())?)?;
            slots.entry(self.servers.part_of(&name)).or_default().push(number);
        }
        let of_slot = |numbers: &Vec<usize>| {
            let keys: Vec<&Key> = numbers.iter().filter_map(|number| keys.get(*number)).collect();
            async move { self.rows_of_slot(layout, keys.into_iter()).await }
        };
        let found = try_join_all(slots.values().map(of_slot)).await?;
        let mut rows = vec![None; keys.len()];
        for (number, row) in slots.into_values().flatten().zip(found.into_iter().flatten()) {
            *rows.get_mut(number).ok_or_else(unexpected)? = row;
        }
        Ok(rows)
    }

    async fn rows_of_slot<'k>(
        &self,
        layout: &Layout,
        keys: impl ExactSizeIterator<Item = &'k Key>,
    ) -> Result<Vec<Option<Row>>> {
        let mut questions = Questions::about(keys.len());
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let place = layout.place(key.space())?;
            let row = place.parts(key.as_ref())?;
            place.ask(layout, &row, &mut questions)?;
            found.push((place, row));
        }
        let answered = self.answers(questions).await?;
        let mut answers = answered.read();
        found.iter().map(|(place, row)| place.answer(layout, row, &mut answers)).collect()
    }
}

impl Place {
    /// Asks for a row of which nothing is known yet.
    pub(super) fn ask(
        &self,
        layout: &Layout,
        row: &Parts<'_>,
        questions: &mut Questions,
    ) -> Result<()> {
        if let (What::Member | What::Entry(_), Some(list)) = (&self.what, &self.list) {
            let name = self.list_name(layout, row)?;
            let member = list.member(layout.naming.separator(), row)?;
            let is_set = list.kind == ListKind::Set;
            questions.ask(if is_set { "SISMEMBER" } else { "ZSCORE" }, &name, &[&member]);
        }
        self.ask_more(layout, row, questions)
    }

    /// Asks for what a list does not say about a row.
    pub(super) fn ask_more(
        &self,
        layout: &Layout,
        row: &Parts<'_>,
        questions: &mut Questions,
    ) -> Result<()> {
        let separator = layout.naming.separator();
        let own = || self.own.name(&layout.naming, &row.values, None);
        match &self.what {
            What::Record { .. } | What::Entry(_) => questions.ask("HGETALL", &own()?, &[]),
            What::Claim(owner) if owner.kept.is_some() => questions.ask("HGETALL", &own()?, &[]),
            What::Value | What::Counter | What::Claim(_) => questions.ask("GET", &own()?, &[]),
            What::Counters => {
                let field = joined(separator, row.rest(), true)?;
                questions.ask("HGET", &own()?, &[field.as_bytes()]);
            }
            What::Member => {}
        }
        if let Some(versions) = &self.versions {
            let name = versions.name(&layout.naming, &row.values, None)?;
            let text = self.text.text(separator, &row.values)?;
            questions.ask("HGET", &name, &[text.as_bytes()]);
        }
        match &self.ends {
            Ends::Never | Ends::Field(_) | Ends::Words(_) => {}
            Ends::Native(_) => questions.ask("PEXPIRETIME", &own()?, &[]),
            Ends::Beside(beside) => {
                let (set, member) = beside.as_ref();
                let name = set.name(&layout.naming, &row.values, None)?;
                let member = member.text(separator, &row.values)?;
                questions.ask("ZSCORE", &name, &[member.as_bytes()]);
            }
        }
        Ok(())
    }

    /// Whether a list says all there is about its rows.
    pub(super) fn is_all_in_list(&self) -> bool {
        let plain = matches!(self.what, What::Member) && self.versions.is_none();
        // Whoever reads the row of an entry sees when it ends.
        plain && (matches!(self.ends, Ends::Never) || !self.answers_alone)
    }

    /// The name of the list a row is in.
    pub(super) fn list_name(&self, layout: &Layout, row: &Parts<'_>) -> Result<Vec<u8>> {
        let Some(list) = &self.list else { return Err(unexpected()) };
        let slice = match (&list.slices, row.rest().first()) {
            (Some(rule), Some(by)) => Some(rule.text(by)),
            _ => None,
        };
        list.template.name(&layout.naming, &row.values, slice.as_deref())
    }

    /// The row that was asked for, if it is there.
    pub(super) fn answer(
        &self,
        layout: &Layout,
        row: &Parts<'_>,
        answers: &mut Answers<'_>,
    ) -> Result<Option<Row>> {
        let is_there = match (&self.what, &self.list) {
            (What::Member | What::Entry(_), Some(_)) => match answers.next()? {
                Part::Nothing | Part::Number(0) => false,
                Part::Number(_) | Part::Text(_) => true,
                _ => return Err(unexpected()),
            },
            _ => true,
        };
        self.read(layout, row, answers, is_there)
    }

    /// The row of a list, or any other, by what was asked besides.
    pub(super) fn answer_more(
        &self,
        layout: &Layout,
        row: &Parts<'_>,
        answers: &mut Answers<'_>,
    ) -> Result<Option<Row>> {
        self.read(layout, row, answers, true)
    }

    /// Takes the answers about a row; `is_there` is whether a list names it.
    fn read(
        &self,
        layout: &Layout,
        row: &Parts<'_>,
        answers: &mut Answers<'_>,
        is_there: bool,
    ) -> Result<Option<Row>> {
        let mut told = Told::default();
        let mut content = match &self.what {
            What::Record { fields, .. } => {
                let found = answers.fields()?;
                told = Told::of_fields(found)?;
                let named = |error: Error| self.named(layout, row, error);
                match (found.is_empty(), told.is_dead()) {
                    (true, _) => None,
                    (false, true) => Some(Bytes::new()),
                    (false, false) => Some(fields.read(found).map_err(named)?),
                }
            }
            What::Entry(kept) => {
                let found = answers.fields()?;
                if self.tells_of_entries() {
                    told = Told::of_fields(found)?;
                }
                match (is_there, kept.read(found)) {
                    (false, _) => None,
                    (true, _) if found.is_empty() && matches!(self.ends, Ends::Field(_)) => None,
                    // Redis has dropped what it kept after its row ended.
                    (true, Err(_)) if found.is_empty() => None,
                    (true, content) => Some(content?),
                }
            }
            What::Claim(owner) => match &owner.kept {
                Some(_) => {
                    let found = answers.fields()?;
                    if self.tells_of_entries() {
                        told = Told::of_fields(found)?;
                    }
                    owner.of_fields(layout, found)?
                }
                None => answers.bytes()?.map(|text| owner.of_text(layout, text)).transpose()?,
            },
            What::Value => answers.bytes()?.map(Bytes::copy_from_slice),
            What::Counter | What::Counters => {
                let found = answers.bytes()?.map(count).transpose();
                found.map_err(|error| self.named(layout, row, error))?
            }
            What::Member => is_there.then(Bytes::new),
        };
        match (self.versions.is_some(), self.trails) {
            (false, _) => {}
            (true, Trails::Words) => {
                told = answers.bytes()?.map(Told::of_words).transpose()?.unwrap_or_default();
                if told.is_dead() {
                    content = Some(Bytes::new());
                }
            }
            (true, _) => told.version = answers.bytes()?.map(version).transpose()?,
        }
        match &self.ends {
            Ends::Never | Ends::Field(_) | Ends::Words(_) => {}
            Ends::Native(grace) => {
                let drops = Some(answers.number()?).filter(|drops| *drops >= 0);
                told.expires = drops.map(|drops| drops.saturating_sub(*grace));
            }
            Ends::Beside(_) => told.expires = answers.bytes()?.map(instant).transpose()?,
        }
        let Told { version, expires, mut trail } = told;
        if self.trails == Trails::Fields && matches!(self.what, What::Entry(_)) {
            // One whose attempt expects nothing has no field for it.
            trail.get_or_insert_with(|| Box::new(Trail::default()));
        }
        Ok(content.map(|value| Row { value, version, expires, trail }))
    }

    /// Whether entries and claims say of themselves what their row cannot be asked for here.
    fn tells_of_entries(&self) -> bool {
        self.trails == Trails::Fields || matches!(self.ends, Ends::Field(_))
    }

    /// An error about a row, with its key's name.
    fn named(&self, layout: &Layout, row: &Parts<'_>, error: Error) -> Error {
        match self.own.name(&layout.naming, &row.values, None) {
            Ok(name) => error.with("key", name.escape_ascii()),
            Err(_) => error,
        }
    }
}

impl Owner {
    /// A claim by the text of the owner's key.
    fn of_text(&self, layout: &Layout, text: &[u8]) -> Result<Bytes> {
        let wrong = || damaged("a claim").with("owner", text.escape_ascii());
        let text = std::str::from_utf8(text).map_err(|_| wrong())?;
        let taken = self.text.take_text(layout.naming.separator(), text).ok_or_else(wrong)?;
        self.content(&taken.values, Bytes::new())
    }

    /// A claim by the fields of its Hash; nothing if it has none.
    fn of_fields(&self, layout: &Layout, found: &[Field<'_>]) -> Result<Option<Bytes>> {
        if found.is_empty() {
            return Ok(None);
        }
        let mut values = Vec::with_capacity(self.names.len());
        for (name, segment) in self.names.iter().zip(&self.shape.segments) {
            let text = found.iter().find(|(known, _)| *known == name.as_bytes());
            let text = text.and_then(|(_, text)| std::str::from_utf8(text).ok());
            let text = text.ok_or_else(|| damaged("a claim").with("field", name))?;
            values.extend(split(layout.naming.separator(), &[segment.kind], text, true)?);
        }
        let kept = match &self.kept {
            Some(fields) => fields.read(found)?,
            None => Bytes::new(),
        };
        self.content(&values, kept).map(Some)
    }

    /// What crosses the waist: the owner's key, if the claim names it, and what is kept.
    fn content(&self, values: &[key::Value<'_>], kept: Bytes) -> Result<Bytes> {
        if !self.unique {
            return Ok(kept);
        }
        let mut owner = Vec::with_capacity(64);
        let mut writer = KeyWriter::new(&mut owner, self.shape.space);
        for (segment, value) in self.shape.segments.iter().zip(values) {
            writer.value(*segment, value)?;
        }
        let length = u16::try_from(owner.len()).map_err(|_| damaged("a claim"))?;
        let content = [length.to_be_bytes().as_slice(), &owner, &kept].concat();
        Ok(Bytes::from(content))
    }
}
