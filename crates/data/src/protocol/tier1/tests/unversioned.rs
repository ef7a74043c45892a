//! What the simulation does beside people: lines with an entry, events in slices, a counter.
//!
//! ```text
//! line     put or removed; the last writer wins    no entry missing or too short, none left
//!                                                  behind, nothing acknowledged lost
//! event    put                                     its slice is in the directory before it
//! counter  added to, alone or with people;         exact: each addition once, no window too
//!          in some worlds a window that ends       full, and none refused that had room
//! ```
//!
//! Where a blind batch reaches one place only, lines have versions that no caller sees. Written
//! blindly all the same, they lose their entries: whoever removes a line while another puts it
//! removes the entry of the row that the other has just put. A rule is broken to see it.

use super::wire::Added;
use super::world::{Call, LIFE, Ran, Told, World};
use crate::change::{After, Entry, RowChange};
use crate::clock::Milliseconds;
use crate::entries;
use crate::protocol::tier1::readers::stored_entry_key;
use crate::schema::CollectionSchema;
use crate::session::Session;
use crate::store::judge::count_of;
use crate::store::{CommitId, Key, Reach, Row, Total, Version};
use crate::value::Value;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Lines there are.
const LINES: u64 = 3;

/// A change of a row without a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plain {
    /// A line is put, or removed.
    Line {
        /// Which one.
        line: u64,
        /// Whether it is put.
        put: bool,
        /// Whether it ends soon, if it is put.
        ends: bool,
    },
    /// An event is put.
    Event {
        /// Its day: one slice.
        day: u8,
        /// Which one of the day.
        number: u8,
    },
}

/// All runs of a set.
struct Runs {
    call: Call,
    /// When the first began.
    begun: usize,
    /// When the first was told that it is done.
    done: Option<usize>,
    /// Whether all were told that it is not.
    refused: bool,
    total: Option<i64>,
}

type Checked = Result<(), String>;

impl World {
    pub fn line(&self) -> Plain {
        let (line, put) = (self.below(LINES), self.below(3) != 0);
        Plain::Line { line, put, ends: self.below(4) == 0 }
    }

    pub fn event(&self) -> Plain {
        Plain::Event { day: self.below(3) as u8, number: self.below(200) as u8 }
    }

    pub fn counter(&self) -> Key {
        let segments = [Value::Text("r".into()), Value::Text("all".into())];
        self.counts.key.encode(&segments).unwrap()
    }

    fn line_key(&self, line: u64) -> Key {
        let segments = [Value::Text("r".into()), Value::Text(line.to_string())];
        self.logs.key.encode(&segments).unwrap()
    }

    fn event_key(&self, day: u8, number: u8) -> Key {
        // Of the middle part of its time, 202 make a day and a little.
        let days = (0x1111 + u16::from(day) * 202).to_be_bytes();
        let [high, low] = days;
        let bytes = [0, 0, 0, 0, high, low, 0x1e, 0xee, 0x80, 0, 0, 0, 0, 0, 0, number];
        let segments = [Value::Text("r".into()), Value::TimeUuid(bytes)];
        self.events.key.encode(&segments).unwrap()
    }

    /// What a verb would make of it. What is put says which set put it.
    pub fn plain_change(&self, session: &Session<'_>, id: CommitId, plain: Plain) -> RowChange {
        let (collection, key, put, ends) = match plain {
            Plain::Line { line, put, ends } => (&self.logs, self.line_key(line), put, ends),
            Plain::Event { day, number } => {
                (&self.events, self.event_key(day, number), true, false)
            }
        };
        let expires = ends.then(|| session.now + 1 + self.below(LIFE) as i64);
        let value = collection.encode(&[Value::Text(id.to_string())]).unwrap();
        let entries = entries_of(collection, &key, &value);
        let (gained, lost) = if put { (entries, Vec::new()) } else { (Vec::new(), entries) };
        RowChange {
            collection: collection.clone(),
            key,
            expect: None,
            read: false,
            before: None,
            after: put.then_some(After { value, expires }),
            gained,
            lost,
        }
    }

    /// What must hold at every instant: no line without its entry, no event without its slice.
    /// A line that ends keeps its entry until it has ended for every clock.
    pub fn check_unversioned(&self, now: Milliseconds) -> Checked {
        for keyed in self.all(self.logs.key.space) {
            if !keyed.row.is_live(now) {
                continue;
            }
            for entry in entries_of(&self.logs, &keyed.key, &keyed.row.value) {
                let stored = stored_entry_key(&self.logs, &entry, &keyed.row);
                let Some(entry) = stored.and_then(|key| self.get(&key)) else {
                    return Err(format!("a line without its entry: {keyed:?}"));
                };
                if entry.expires != keyed.row.expires {
                    return Err(format!("an entry ends when its line does not: {keyed:?}"));
                }
            }
        }
        for keyed in self.all(self.events.key.space) {
            let slice = self.events.key.slice_key(keyed.key.as_ref()).unwrap();
            if slice.is_some_and(|slice| self.get(&slice).is_none()) {
                return Err(format!("an event in a slice that no directory has: {keyed:?}"));
            }
        }
        Ok(())
    }

    /// What must hold when nothing is under way: what was acknowledged is there, unless another
    /// wrote over it, what was refused is not, and the counter came to what was added.
    pub fn check_unversioned_end(&self, versions: &BTreeMap<Key, Vec<Version>>) -> Checked {
        let runs = self.runs();
        (0..LINES).try_for_each(|line| self.check_line(line, &runs))?;
        let index = &self.logs.indexes[0];
        for entry in self.all(index.key.space) {
            let owner = entries::owner(&self.logs, index, &entry).unwrap();
            if self.wire.reach == Reach::Store && self.get(&owner).is_none() {
                return Err(format!("an entry without its line: {entry:?}"));
            }
        }
        for (id, of) in &runs {
            if let Some(Plain::Event { day, number }) = of.call.plain
                && of.done.is_some()
                && self.get(&self.event_key(day, number)).is_none()
            {
                return Err(format!("an event was lost that {id} had put"));
            }
        }
        self.check_counter(&runs, versions)
    }

    fn runs(&self) -> BTreeMap<CommitId, Runs> {
        let mut all: BTreeMap<CommitId, Runs> = BTreeMap::new();
        for ran in self.ran.lock().unwrap().iter() {
            let Ran { id, call, told, total, begun, ended } = ran;
            let fresh =
                Runs { call: call.clone(), begun: *begun, done: None, refused: true, total: None };
            let of = all.entry(*id).or_insert(fresh);
            of.refused &= *told == Told::NotDone;
            of.total = of.total.or(*total);
            if *told == Told::Done {
                of.done = Some(of.done.map_or(*ended, |done| done.min(*ended)));
            }
        }
        all
    }

    /// What lies there of a line is what the last writer left.
    fn check_line(&self, line: u64, runs: &BTreeMap<CommitId, Runs>) -> Checked {
        let of_line = |of: &Runs| match of.call.plain {
            Some(Plain::Line { line: of, put, ends }) if of == line => Some((put, ends)),
            _ => None,
        };
        let puts = |of: &Runs| of_line(of).is_some_and(|(put, _)| put);
        // A line that has ended may be made a dead one by whoever cleans up behind another.
        let removes = |of: &Runs| of_line(of).is_some_and(|(put, ends)| !put || ends);
        let all: Vec<(&CommitId, &Runs)> =
            runs.iter().filter(|(_, of)| of_line(of).is_some()).collect();
        let may_be_last = |id: &CommitId, of: &Runs| {
            let later = |(other, others): &(&CommitId, &Runs)| {
                others.done.is_some() && self.is_over(other, others, id, of)
            };
            !of.refused && !all.iter().any(later)
        };
        let is_dead = |row: &Row| row.trail.as_ref().is_some_and(|trail| trail.dead);
        let row = self.get(&self.line_key(line)).filter(|row| !is_dead(row));
        let fits = match &row {
            Some(row) => {
                let slots = self.logs.decode(&row.value).unwrap();
                all.iter().any(|(id, of)| {
                    slots == [Value::Text(id.to_string())] && puts(of) && may_be_last(id, of)
                })
            }
            None => {
                all.iter().all(|(_, of)| of.done.is_none())
                    || all.iter().any(|(id, of)| removes(of) && may_be_last(id, of))
            }
        };
        match fits {
            true => Ok(()),
            false => Err(format!("line {line} is what nobody left: {row:?}")),
        }
    }

    /// Whether what a set did lies over what another did.
    fn is_over(&self, above: &CommitId, later: &Runs, below: &CommitId, earlier: &Runs) -> bool {
        match self.wire.reach {
            // Another process that made the same call has another clock.
            Reach::Store => {
                let (above, below) = (self.wire.stamps(above), self.wire.stamps(below));
                above.map(|(first, _)| first) > below.map(|(_, last)| last)
            }
            // One that was under way at the same time may have come last, and so may anything
            // that is sent again to a store that forgets.
            Reach::Place => self.remembers && earlier.done.is_some_and(|done| done < later.begun),
        }
    }

    /// Every addition that was acknowledged was made once, none twice, and none that was refused.
    fn check_counter(
        &self,
        runs: &BTreeMap<CommitId, Runs>,
        versions: &BTreeMap<Key, Vec<Version>>,
    ) -> Checked {
        let added = self.wire.added();
        self.check_totals(&added)?;
        if let Some(of) = added.iter().find(|of| !runs.contains_key(&of.id)) {
            return Err(format!("nobody asked for {of:?}"));
        }
        for (id, of) in runs.iter().filter(|(_, of)| of.call.amount > 0) {
            let there = match of.call.people.is_empty() {
                true => of.done.is_some(),
                // The rows are set by the same commit, and know.
                false => versions.values().any(|of_key| of_key.contains(id)),
            };
            let unknown = of.call.people.is_empty() && !of.refused;
            let mut made = added.iter().filter(|made| made.id == *id);
            let fits = match (made.next(), made.next()) {
                (None, _) => !there,
                (Some(once), None) => {
                    let is_told = of.total.is_none_or(|told| told == once.total.value);
                    (there || unknown) && is_told
                }
                _ => false,
            };
            if !fits {
                return Err(format!(
                    "{id} adds {}, told {:?}: {added:?}",
                    of.call.amount, of.total
                ));
            }
        }
        Ok(())
    }

    /// Each addition goes on from the one before it, or begins a window after one that ends, and
    /// none passes the limit.
    fn check_totals(&self, added: &[Added]) -> Checked {
        let limit = self.window.map_or(i64::MAX, |rule| rule.limit);
        let mut before: Option<Total> = None;
        for of in added {
            let goes_on = before.is_some_and(|before| {
                before.value + of.amount == of.total.value && before.expires == of.total.expires
            });
            let begins = before.is_none_or(|before| before.expires.is_some());
            if of.total.value > limit || !(goes_on || (begins && of.total.value == of.amount)) {
                return Err(format!("the counter came to {of:?} after {before:?}"));
            }
            before = Some(of.total);
        }
        let row = self.get(&self.counter());
        match count_of(row.as_ref(), Milliseconds::MIN).unwrap() == before {
            true => Ok(()),
            false => Err(format!("the counter is {row:?}, not {before:?}")),
        }
    }
}

fn entries_of(collection: &Arc<CollectionSchema>, key: &Key, value: &Bytes) -> Vec<Entry> {
    let segments = collection.key.decode(key).unwrap();
    entries::entries(collection, &segments, &collection.decode(value).unwrap()).unwrap()
}
