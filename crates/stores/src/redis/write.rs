//! What a row's writes are in Redis: its key, its place in a list, its version, its end.
//!
//! ```text
//! put user:u1    hash user:u1 …  │ member user:…  │ due ~x:…      one write of the script each
//! ```
//!
//! After the script's checks none of these can fail, so nothing here may be able to.

use super::call::{Call, HASH, SORTED_SET, Step};
use super::layout::{Ends, Layout, Owner, Place, Trails, What};
use super::member::{List, ListKind, Parts};
use super::name::joined;
use super::trail::Telling;
use bytes::Bytes;
use data::clock::Milliseconds;
use data::entries::split_claim;
use data::store::Key;
use data::{Error, ErrorKind, Result};
use keyspace::key::Value;
use keyspace::layout::redis::{EXPIRY, GRACE_MILLISECONDS, ROW};

impl Call {
    /// Writes a row, and what lies beside it.
    pub(super) fn put(
        &mut self,
        layout: &Layout,
        key: &Key,
        value: &Bytes,
        telling: Telling<'_>,
    ) -> Result<()> {
        let place = layout.place(key.space())?;
        let row = place.parts(key.as_ref())?;
        place.check_telling(&telling)?;
        let drops = place.drops(&telling);
        match &place.what {
            What::Record { fields, has_mark } => {
                let step = telling.step();
                let mut count = match telling.is_dead() {
                    true => 0,
                    false => fields.write(value, &mut self.writes.texts)?,
                };
                count += self.told(place, &telling);
                count += self.mark(*has_mark || (count == 0 && step == Step::Hash));
                self.hash((layout, place, &row), (step, count), drops)?;
            }
            What::Value | What::Counter if telling.is_dead() => {
                self.remove(layout, place, &row)?;
            }
            What::Value => self.string(layout, place, &row, value.to_vec(), drops)?,
            What::Counter => self.string(layout, place, &row, count_text(value)?, drops)?,
            What::Counters => {
                let own = self.own(layout, place, &row)?;
                self.writes.step(Step::Field, own);
                self.writes.texts.push(joined(layout.naming.separator(), row.rest(), true)?);
                self.writes.texts.push(count_text(value)?);
            }
            What::Member => {}
            What::Entry(kept) => {
                let count = kept.write(value, &mut self.writes.texts)?;
                let mut count = count + self.told(place, &telling);
                // One whose Hash is not there has ended, and Redis has dropped it.
                let may_end = matches!(place.ends, Ends::Field(_));
                count += self.mark(may_end && telling.expires.is_none());
                let ends = telling.expires;
                let drops = ends.map(|ends| ends.saturating_add_unsigned(GRACE_MILLISECONDS));
                match count {
                    0 => self.remove(layout, place, &row)?,
                    count => {
                        let drops = drops.map(|at| at.max(1));
                        self.hash((layout, place, &row), (Step::Hash, count), drops)?;
                    }
                }
            }
            What::Claim(owner) => {
                self.claim((layout, place), (&row, owner), value, (&telling, drops))?;
            }
        }
        self.beside(layout, place, &row, &telling)
    }

    /// Adds what a Hash tells of its row. Answers how many texts that are.
    fn told(&mut self, place: &Place, telling: &Telling<'_>) -> usize {
        let texts = &mut self.writes.texts;
        let before = texts.len();
        if let (Ends::Field(_), Some(ends)) = (&place.ends, telling.expires) {
            texts.push(EXPIRY);
            texts.number(ends);
        }
        if place.trails == Trails::Fields {
            telling.add_fields(matches!(place.what, What::Entry(_)), texts);
        }
        texts.len() - before
    }

    /// Adds what keeps a Hash: Redis has no empty one, and the script may not fail. Answers how
    /// many texts that are.
    fn mark(&mut self, is_marked: bool) -> usize {
        if is_marked {
            self.writes.texts.push(ROW);
            self.writes.texts.push("1");
        }
        if is_marked { 2 } else { 0 }
    }

    /// Writes what lies beside a row: its place in the list, its version, its end.
    fn beside(
        &mut self,
        layout: &Layout,
        place: &Place,
        row: &Parts<'_>,
        telling: &Telling<'_>,
    ) -> Result<()> {
        match (telling.is_dead(), &place.list) {
            (false, _) => self.enlist(layout, place, row)?,
            (true, Some(list)) => self.delist(layout, list, row)?,
            (true, None) => {}
        }
        if place.versions.is_none() && place.expiries.is_none() {
            return Ok(());
        }
        let text = place.text.text(layout.naming.separator(), &row.values)?;
        if let Some(versions) = &place.versions {
            let versions = versions.name(&layout.naming, &row.values, None)?;
            let versions = self.arguments.key(versions, HASH);
            let told = match place.trails {
                Trails::Words => telling.words(),
                _ => telling.version.map(str::to_string),
            };
            self.writes.step(if told.is_some() { Step::Field } else { Step::NoField }, versions);
            self.writes.texts.push(text.as_str());
            if let Some(told) = told {
                self.writes.texts.push(told);
            }
        }
        if let Some(expiries) = &place.expiries {
            let expiries = expiries.name(&layout.naming, &row.values, None)?;
            let expiries = self.arguments.key(expiries, SORTED_SET);
            // The Hash of a removed row goes by itself, and is in no list.
            let is_gone = telling.is_dead() && place.trails == Trails::Fields;
            let expires = telling.expires.filter(|_| !is_gone);
            self.writes.step(if expires.is_some() { Step::Due } else { Step::NoMember }, expiries);
            if let Some(ends) = expires {
                self.writes.texts.number(ends);
            }
            self.writes.texts.push(text);
        }
        Ok(())
    }

    /// Puts a row into the list of its group.
    pub(super) fn enlist(&mut self, layout: &Layout, place: &Place, row: &Parts<'_>) -> Result<()> {
        let Some(list) = &place.list else { return Ok(()) };
        let member = list.member(layout.naming.separator(), row)?;
        let list_key = match list.kind {
            ListKind::Hash => return Ok(()),
            ListKind::Set => {
                let list_key = self.list_key(layout, list, row)?;
                self.set(list_key, |set| set.more.push(member));
                return Ok(());
            }
            ListKind::SortedSet => self.list_key(layout, list, row)?,
        };
        self.writes.step(Step::Member, list_key);
        self.writes.texts.push(member);
        if let (Some(rule), Some(by)) = (&list.slices, row.rest().first()) {
            let directory = rule.directory.name(&layout.naming, &row.values, None)?;
            let directory = self.arguments.key(directory, SORTED_SET);
            self.writes.step(Step::Member, directory);
            self.writes.texts.push(rule.text(by));
        }
        Ok(())
    }

    /// Removes a row and all that lies beside it.
    pub(super) fn delete(&mut self, layout: &Layout, key: &Key) -> Result<()> {
        let place = layout.place(key.space())?;
        let row = place.parts(key.as_ref())?;
        let separator = layout.naming.separator();
        match &place.what {
            What::Member => {}
            What::Counters => {
                let own = self.own(layout, place, &row)?;
                self.writes.step(Step::NoField, own);
                self.writes.texts.push(joined(separator, row.rest(), true)?);
            }
            _ => self.remove(layout, place, &row)?,
        }
        if let Some(list) = &place.list {
            self.delist(layout, list, &row)?;
        }
        for (helper, letter) in [(&place.versions, HASH), (&place.expiries, SORTED_SET)] {
            let Some(helper) = helper else { continue };
            let helper = helper.name(&layout.naming, &row.values, None)?;
            let helper = self.arguments.key(helper, letter);
            self.writes.step(if letter == HASH { Step::NoField } else { Step::NoMember }, helper);
            self.writes.texts.push(place.text.text(separator, &row.values)?);
        }
        Ok(())
    }

    fn delist(&mut self, layout: &Layout, list: &List, row: &Parts<'_>) -> Result<()> {
        let member = list.member(layout.naming.separator(), row)?;
        if list.kind == ListKind::Hash {
            return Ok(());
        }
        let list_key = self.list_key(layout, list, row)?;
        if list.kind == ListKind::Set {
            self.set(list_key, |set| set.less.push(member));
            return Ok(());
        }
        self.writes.step(Step::NoMember, list_key);
        self.writes.texts.push(member);
        if let (Some(rule), Some(by)) = (&list.slices, row.rest().first()) {
            let directory = rule.directory.name(&layout.naming, &row.values, None)?;
            let directory = self.arguments.key(directory, SORTED_SET);
            self.writes.step(Step::NoSlice, list_key);
            self.writes.texts.number(directory);
            self.writes.texts.push(rule.text(by));
        }
        Ok(())
    }

    /// Removes an entry of a row that has ended. A claim may be another row's by now.
    pub(super) fn delete_entry(
        &mut self,
        layout: &Layout,
        key: &Key,
        content: &Bytes,
    ) -> Result<()> {
        let place = layout.place(key.space())?;
        let What::Claim(owner) = &place.what else { return self.delete(layout, key) };
        let row = place.parts(key.as_ref())?;
        let own = self.own(layout, place, &row)?;
        self.writes.step(Step::OnlyIf, own);
        match claimed(layout, (&row, owner), content)? {
            Claimed::Text(text) => {
                self.writes.texts.push("s");
                self.writes.texts.number(1);
                self.writes.texts.push("");
                self.writes.texts.push(text);
            }
            Claimed::Segments(segments, _) => {
                self.writes.texts.push("h");
                self.writes.texts.number(segments.len());
                self.segments(owner, &segments);
            }
        }
        let before = std::mem::take(&mut self.writes);
        self.delete(layout, key)?;
        let deletion = std::mem::replace(&mut self.writes, before);
        self.writes.append_counted(&deletion);
        Ok(())
    }

    /// A claim: whose it is, and what it keeps.
    fn claim(
        &mut self,
        (layout, place): (&Layout, &Place),
        (row, owner): (&Parts<'_>, &Owner),
        value: &Bytes,
        (telling, drops): (&Telling<'_>, Option<Milliseconds>),
    ) -> Result<()> {
        match claimed(layout, (row, owner), value)? {
            Claimed::Text(text) => self.string(layout, place, row, text.into_bytes(), drops),
            Claimed::Segments(segments, kept) => {
                let fields = owner.kept.as_ref();
                self.segments(owner, &segments);
                let texts = &mut self.writes.texts;
                let kept = fields.map_or(Ok(0), |fields| fields.write(&kept, texts))?;
                let count = segments.len() * 2 + kept + self.told(place, telling);
                let step = if place.trails == Trails::Fields { telling.step() } else { Step::Hash };
                self.hash((layout, place, row), (step, count), drops)
            }
        }
    }

    /// The names and texts of an owner's segments.
    fn segments(&mut self, owner: &Owner, segments: &[String]) {
        for (name, segment) in owner.names.iter().zip(segments) {
            self.writes.texts.push(name);
            self.writes.texts.push(segment);
        }
    }

    /// A Hash whose texts were added.
    fn hash(
        &mut self,
        (layout, place, row): (&Layout, &Place, &Parts<'_>),
        (step, texts): (Step, usize),
        drops: Option<Milliseconds>,
    ) -> Result<()> {
        let own = self.own(layout, place, row)?;
        self.writes.hash(step, own, texts);
        if let Some(drops) = drops {
            self.writes.step(Step::Ends, own);
            self.writes.texts.number(drops);
        }
        Ok(())
    }

    fn string(
        &mut self,
        layout: &Layout,
        place: &Place,
        row: &Parts<'_>,
        value: Vec<u8>,
        drops: Option<Milliseconds>,
    ) -> Result<()> {
        let own = self.own(layout, place, row)?;
        self.writes.step(if drops.is_some() { Step::Ending } else { Step::String }, own);
        self.writes.texts.push(value);
        if let Some(drops) = drops {
            self.writes.texts.number(drops);
        }
        Ok(())
    }

    fn remove(&mut self, layout: &Layout, place: &Place, row: &Parts<'_>) -> Result<()> {
        let own = self.own(layout, place, row)?;
        self.writes.step(Step::NoKey, own);
        Ok(())
    }
}

impl Telling<'_> {
    /// How a Hash is written.
    fn step(&self) -> Step {
        if self.version.is_some() { Step::Versioned } else { Step::Hash }
    }
}

impl Place {
    /// Whether a row may tell this of itself here.
    fn check_telling(&self, telling: &Telling<'_>) -> Result<()> {
        if telling.trail.is_some() && self.trails == Trails::None {
            return Err(Error::new(ErrorKind::Unsupported, "rows of this kind leave no trails"));
        }
        if telling.expires.is_some() && matches!(self.ends, Ends::Never) {
            return Err(Error::new(
                ErrorKind::Internal,
                "a row has an end in a collection without",
            ));
        }
        Ok(())
    }

    /// When Redis drops the key of a row, if it does.
    fn drops(&self, telling: &Telling<'_>) -> Option<Milliseconds> {
        let grace = match self.ends {
            Ends::Field(_) if telling.is_dead() => 0,
            Ends::Field(grace) | Ends::Native(grace) | Ends::Words(grace) => grace,
            Ends::Never | Ends::Beside(_) => return None,
        };
        // Redis takes no instant before 1970; both are long past.
        telling.expires.map(|ends| ends.saturating_add(grace).max(1))
    }
}

/// What a claim holds.
enum Claimed {
    /// The text of the owner's key.
    Text(String),
    /// The texts of its segments, and what is kept.
    Segments(Vec<String>, Bytes),
}

fn claimed(
    layout: &Layout,
    (row, owner): (&Parts<'_>, &Owner),
    content: &Bytes,
) -> Result<Claimed> {
    let separator = layout.naming.separator();
    let (named, kept) = match owner.unique {
        true => split_claim(content).map(|(key, kept)| (Some(key), kept))?,
        false => (None, content.clone()),
    };
    let values: Vec<Value<'_>> = match &named {
        Some(key) => Parts::of(key.as_ref(), &owner.shape.segments, 0)?.values,
        None => {
            let at = owner.primary.iter();
            at.filter_map(|position| row.values.get(*position).cloned()).collect()
        }
    };
    if owner.kept.is_none() {
        return owner.text.text(separator, &values).map(Claimed::Text);
    }
    let segments = values.iter().take(owner.names.len());
    let text = |value| joined(separator, std::slice::from_ref(value), true);
    Ok(Claimed::Segments(segments.map(text).collect::<Result<_>>()?, kept))
}

/// A stored number as Redis counts: in decimal.
fn count_text(value: &Bytes) -> Result<Vec<u8>> {
    let bytes: [u8; 8] = value.as_ref().try_into().map_err(|_| {
        Error::new(ErrorKind::Mismatch, "a counter is put with something else than a number")
    })?;
    Ok(i64::from_be_bytes(bytes).to_string().into_bytes())
}
