//! A batch as the keys and arguments of the commit script.
//!
//! ```text
//! checks ─▶ where a row, its version and its end are read, and what is expected
//! adds   ─▶ which number, how much, when it ends, its limit
//! writes ─▶ what changes in Redis, key by key: none of it can fail
//! ```
//!
//! What is done is one argument, the plan: letters, and numbers of three bytes. The others are the
//! texts it needs, in its order. The script knows no collections: all of the layout's knowledge
//! ends here. Nothing is sent here.

use super::layout::{Ends, Layout, Place, Trails, What};
use super::member::{List, ListKind, Parts};
use super::name::joined;
use super::outcome::version_text;
use super::script::{Arguments, Texts};
use super::trail::Telling;
use data::clock::Milliseconds;
use data::store::limits::REDIS_SET_ROWS_MAX;
use data::store::{Batch, Check, CommitId, Expect, Key, Write};
use data::{Error, ErrorKind, Result};
use keyspace::layout::redis::RedisType;

/// The letters by which the script knows types.
pub(super) const HASH: u8 = b'h';
const SET: u8 = b'm';
pub(super) const SORTED_SET: u8 = b'z';
const STRING: u8 = b's';

/// What the script is given.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub(super) arguments: Arguments,
    checks: Checks,
    adds: Adds,
    sets: Vec<SetChange>,
    pub(super) writes: Writes,
}

/// What happens to one Set.
#[derive(Debug)]
pub(super) struct SetChange {
    /// The number of its key.
    key: usize,
    /// Members to add.
    pub(super) more: Vec<Vec<u8>>,
    /// Members to remove.
    pub(super) less: Vec<Vec<u8>>,
}

/// What is checked: for each seven bytes of the plan, and its texts.
#[derive(Debug, Default)]
struct Checks {
    plan: Vec<u8>,
    texts: Texts,
}

/// What is added.
#[derive(Debug, Default)]
struct Adds {
    count: usize,
    texts: Texts,
}

/// What is written: a letter and the number of a key each, and their texts.
#[derive(Debug, Default)]
pub(super) struct Writes {
    steps: Vec<u8>,
    pub(super) texts: Texts,
}

/// What happens to a key; the script knows each by its letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Step {
    Member = b'm',
    /// A Hash without a version; how many texts it has follows.
    Hash = b'h',
    /// A Hash whose version is the id of the batch.
    Versioned = b'H',
    String = b's',
    Field = b'f',
    /// A String that ends.
    Ending = b'e',
    /// When a key ends.
    Ends = b'x',
    /// When a row ends, in the sorted set of its group.
    Due = b'd',
    NoKey = b'K',
    NoMember = b'M',
    NoField = b'F',
    /// A slice is named no more if it has nothing left.
    NoSlice = b'S',
    /// What follows is done only if the key holds something.
    OnlyIf = b'o',
}

impl Checks {
    /// Begins a check that reads something of the key with this number.
    fn read(&mut self, kind: u8, key: usize) {
        self.plan.push(kind);
        self.plan.extend_from_slice(&three_bytes(key));
    }
}

impl Writes {
    /// Adds a step on the key with this number; what it needs besides is added to `texts`.
    pub(super) fn step(&mut self, step: Step, key: usize) {
        self.steps.push(step as u8);
        self.steps.extend_from_slice(&three_bytes(key));
    }

    /// Adds a step on a Hash of so many texts.
    pub(super) fn hash(&mut self, step: Step, key: usize, texts: usize) {
        self.step(step, key);
        self.steps.extend_from_slice(&three_bytes(texts));
    }

    /// Adds what others do, behind how much it is.
    pub(super) fn append_counted(&mut self, others: &Writes) {
        self.texts.number(others.texts.len());
        self.texts.number(others.steps.len());
        self.texts.append(&others.texts);
        self.steps.extend_from_slice(&others.steps);
    }
}

impl Call {
    /// The arguments of a batch; nothing for one that is about nothing.
    pub(super) fn of_batch(layout: &Layout, batch: &Batch) -> Result<Option<Arguments>> {
        let mut call = Call::default();
        let id = version_text(&batch.id);
        let keys = batch.checks.iter().map(|check| &check.key);
        let Some(first) = keys.chain(batch.writes.iter().map(Write::key)).next() else {
            return Ok(None);
        };
        let place = layout.place(first.space())?;
        let beside = place.own_name(layout, &place.parts(first.as_ref())?)?;
        call.arguments.key(layout.naming.call(&beside, &id), STRING);
        for check in &batch.checks {
            call.check(layout, check)?;
        }
        for (number, write) in batch.writes.iter().enumerate() {
            match write {
                Write::Put { key, value, expires, versioned, trail } => {
                    let version = versioned.then_some(id.as_str());
                    let telling = Telling { expires: *expires, version, trail: trail.as_deref() };
                    call.put(layout, key, value, telling)?;
                }
                Write::Delete { key } => call.delete(layout, key)?,
                Write::Add { key, amount, expires, window } => {
                    let limit = window.map(|window| window.limit);
                    call.add(layout, (number, key), *amount, (*expires, limit))?;
                }
            }
        }
        Ok(Some(call.finish(Some(batch.id), batch.now)))
    }

    /// All arguments, in the script's order.
    pub(super) fn finish(self, id: Option<CommitId>, now: Milliseconds) -> Arguments {
        let Call { mut arguments, checks, adds, sets, writes } = self;
        let mut plan = arguments.letters();
        plan.extend_from_slice(&checks.plan);
        plan.push(b'.');
        plan.push(if adds.count > 0 { b'+' } else { b'.' });
        plan.push(if sets.is_empty() { b'.' } else { b'+' });
        plan.extend_from_slice(&writes.steps);
        let values = &mut arguments.values;
        values.push(id.map_or(String::new(), |id| version_text(&id)));
        values.number(now);
        values.push(plan);
        values.append(&checks.texts);
        if adds.count > 0 {
            values.number(adds.count);
            values.append(&adds.texts);
        }
        if !sets.is_empty() {
            values.number(REDIS_SET_ROWS_MAX);
            values.number(sets.len());
        }
        for SetChange { key, more, less } in sets {
            values.number(key);
            values.number(more.len());
            more.iter().for_each(|member| values.push(member));
            values.number(less.len());
            less.iter().for_each(|member| values.push(member));
        }
        values.append(&writes.texts);
        arguments
    }

    fn check(&mut self, layout: &Layout, check: &Check) -> Result<()> {
        let place = layout.place(check.key.space())?;
        let row = place.parts(check.key.as_ref())?;
        self.locate(layout, place, &row)?;
        let (letter, version) = match check.expect {
            Expect::Absent => (b'a', None),
            Expect::Present => (b'p', None),
            Expect::Physical(None) => (b'n', None),
            Expect::Version(version) => (b'v', Some(version)),
            Expect::Physical(Some(version)) => (b'w', Some(version)),
        };
        self.checks.plan.push(letter);
        if let Some(version) = version {
            self.checks.texts.push(version_text(&version));
        }
        Ok(())
    }

    /// Checks that a row still ends at this instant, as its group's list of ends says.
    pub(super) fn check_due(
        &mut self,
        layout: &Layout,
        key: &Key,
        due: (Vec<u8>, &str, Milliseconds),
    ) -> Result<()> {
        let place = layout.place(key.space())?;
        let row = place.parts(key.as_ref())?;
        let (set, member, ends) = due;
        let own = self.own(layout, place, &row)?;
        self.checks.read(b'k', own);
        self.checks.plan.extend_from_slice(b"-bd");
        let set = self.arguments.key(set, SORTED_SET);
        self.checks.texts.number(set);
        self.checks.texts.push(member);
        self.checks.texts.number(ends);
        Ok(())
    }

    /// Where a row, its version and its end are read.
    fn locate(&mut self, layout: &Layout, place: &Place, row: &Parts<'_>) -> Result<()> {
        let separator = layout.naming.separator();
        match (&place.what, &place.list) {
            (What::Member | What::Entry(_), Some(list)) => {
                let is_set = list.kind == ListKind::Set;
                let list_key = self.list_key(layout, list, row)?;
                self.checks.read(if is_set { b'm' } else { b'z' }, list_key);
                self.checks.texts.push(list.member(separator, row)?);
            }
            (What::Counters, _) => {
                let own = self.own(layout, place, row)?;
                self.checks.read(b'f', own);
                self.checks.texts.push(joined(separator, row.rest(), true)?);
            }
            _ => {
                let own = self.own(layout, place, row)?;
                self.checks.read(b'k', own);
            }
        }
        match (&place.versions, &place.what) {
            (Some(versions), _) => {
                let versions = versions.name(&layout.naming, &row.values, None)?;
                let versions = self.arguments.key(versions, HASH);
                let in_words = place.trails == Trails::Words;
                self.checks.plan.push(if in_words { b'B' } else { b'b' });
                self.checks.texts.number(versions);
                self.checks.texts.push(place.text.text(separator, &row.values)?);
            }
            (None, What::Record { .. } | What::Claim(_)) if place.trails == Trails::Fields => {
                self.checks.plan.push(b'V');
            }
            (None, What::Record { .. }) => self.checks.plan.push(b'v'),
            (None, _) => self.checks.plan.push(b'-'),
        }
        match &place.ends {
            Ends::Never => self.checks.plan.push(b'-'),
            Ends::Field(_) => self.checks.plan.push(b'x'),
            // The words with the version say it.
            Ends::Words(_) => self.checks.plan.push(b'w'),
            Ends::Native(grace) => {
                self.checks.plan.push(b'p');
                self.checks.texts.number(grace);
            }
            Ends::Beside(beside) => {
                let (set, member) = beside.as_ref();
                let set = set.name(&layout.naming, &row.values, None)?;
                let set = self.arguments.key(set, SORTED_SET);
                self.checks.plan.push(b'b');
                self.checks.texts.number(set);
                self.checks.texts.push(member.text(separator, &row.values)?);
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        layout: &Layout,
        (number, key): (usize, &Key),
        amount: i64,
        (expires, limit): (Option<Milliseconds>, Option<i64>),
    ) -> Result<()> {
        let place = layout.place(key.space())?;
        let row = place.parts(key.as_ref())?;
        let separator = layout.naming.separator();
        let own = self.own(layout, place, &row)?;
        self.adds.count += 1;
        self.adds.texts.number(number);
        let field = match place.what {
            What::Counters => joined(separator, row.rest(), true)?,
            What::Counter => String::new(),
            _ => {
                return Err(Error::new(
                    ErrorKind::Mismatch,
                    "a row that is added to is no counter",
                ));
            }
        };
        let is_field = matches!(place.what, What::Counters);
        self.adds.texts.push(if is_field { "f" } else { "s" });
        self.adds.texts.number(own);
        self.adds.texts.push(field);
        self.adds.texts.number(amount);
        self.adds.texts.push(expires.map_or(String::new(), |ends| ends.max(1).to_string()));
        self.adds.texts.push(limit.map_or(String::new(), |limit| limit.to_string()));
        match &place.expiries {
            None => self.adds.texts.push("-"),
            Some(expiries) => {
                let expiries = expiries.name(&layout.naming, &row.values, None)?;
                let expiries = self.arguments.key(expiries, SORTED_SET);
                self.adds.texts.push("b");
                self.adds.texts.number(expiries);
                self.adds.texts.push(place.text.text(separator, &row.values)?);
            }
        }
        self.enlist(layout, place, &row)
    }

    /// The number of a row's own key, or of the container it is in.
    pub(super) fn own(&mut self, layout: &Layout, place: &Place, row: &Parts<'_>) -> Result<usize> {
        let name = place.own_name(layout, row)?;
        Ok(self.arguments.key(name, letter(place.own_type)))
    }

    /// The number of the list a row is in.
    pub(super) fn list_key(
        &mut self,
        layout: &Layout,
        list: &List,
        row: &Parts<'_>,
    ) -> Result<usize> {
        let slice = match (&list.slices, row.rest().first()) {
            (Some(rule), Some(by)) => Some(rule.text(by)),
            _ => None,
        };
        let name = list.template.name(&layout.naming, &row.values, slice.as_deref())?;
        Ok(self.arguments.key(name, if list.kind == ListKind::Set { SET } else { SORTED_SET }))
    }

    /// Changes what is added to a Set and removed from it.
    pub(super) fn set(&mut self, key: usize, change: impl FnOnce(&mut SetChange)) {
        match self.sets.iter_mut().find(|set| set.key == key) {
            Some(set) => change(set),
            None => {
                let mut set = SetChange { key, more: Vec::new(), less: Vec::new() };
                change(&mut set);
                self.sets.push(set);
            }
        }
    }
}

/// A number as the plan has it: a batch has fewer keys and texts than it can say.
fn three_bytes(number: usize) -> [u8; 3] {
    let [.., high, middle, low] = number.to_be_bytes();
    [high, middle, low]
}

fn letter(of: RedisType) -> u8 {
    match of {
        RedisType::Hash => HASH,
        RedisType::Set => SET,
        RedisType::SortedSet => SORTED_SET,
        RedisType::String => STRING,
    }
}
