//! A batch as the keys and arguments of the commit script.
//!
//! ```text
//! checks ─▶ where a row, its version and its end are read, and what is expected
//! adds   ─▶ which number, how much, when it ends, its limit
//! writes ─▶ what changes in Redis, key by key: none of it can fail
//! ```
//!
//! The script knows no collections: all of the layout's knowledge ends here. Nothing is sent here.

use super::layout::{Ends, Layout, Place, What};
use super::member::{List, ListKind, Parts};
use super::name::joined;
use super::outcome::version_text;
use super::script::Arguments;
use data::clock::Milliseconds;
use data::store::limits::REDIS_SET_ROWS_MAX;
use data::store::{Batch, Check, CommitId, Expect, Key, Write};
use data::{Error, ErrorKind, Result};
use keyspace::layout::redis::{CALL, RedisType};

/// The letters by which the script knows types.
pub(super) const HASH: u8 = b'h';
const SET: u8 = b'm';
pub(super) const SORTED_SET: u8 = b'z';
const STRING: u8 = b's';

/// What the script is given.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub(super) arguments: Arguments,
    checks: Section,
    adds: Section,
    sets: Vec<SetChange>,
    pub(super) writes: Section,
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

/// A list of arguments.
#[derive(Debug, Default)]
pub(super) struct Section {
    count: usize,
    values: Vec<Vec<u8>>,
}

impl Section {
    pub(super) fn push(&mut self, value: impl Into<Vec<u8>>) {
        self.values.push(value.into());
    }

    pub(super) fn number(&mut self, number: impl std::fmt::Display) {
        self.push(number.to_string());
    }
}

/// Where the number of what follows belongs.
pub(super) struct Reserved(usize);

impl Section {
    /// Makes room for the number of the arguments that follow.
    pub(super) fn reserve(&mut self) -> Reserved {
        self.push("");
        Reserved(self.values.len())
    }

    /// Fills in how many have followed.
    pub(super) fn fill(&mut self, place: Reserved) {
        let followed = self.values.len() - place.0;
        if let Some(number) = self.values.get_mut(place.0 - 1) {
            *number = followed.to_string().into_bytes();
        }
    }
}

impl Call {
    /// The arguments of a batch.
    pub(super) fn of_batch(layout: &Layout, batch: &Batch) -> Result<Arguments> {
        let mut call = Call::default();
        let id = version_text(&batch.id);
        call.arguments.key(layout.naming.fixed(&[CALL, &id]), STRING);
        for check in &batch.checks {
            call.check(layout, check)?;
        }
        for (number, write) in batch.writes.iter().enumerate() {
            match write {
                Write::Put { trail: Some(_), .. } => {
                    return Err(Error::new(
                        ErrorKind::Unsupported,
                        "one Redis server keeps no trails of rows",
                    ));
                }
                Write::Put { key, value, expires, versioned, .. } => {
                    call.put(layout, key, value, (*expires, versioned.then_some(id.as_str())))?;
                }
                Write::Delete { key } => call.delete(layout, key)?,
                Write::Add { key, amount, expires, window } => {
                    let limit = window.map(|window| window.limit);
                    call.add(layout, (number, key), *amount, (*expires, limit))?;
                }
            }
        }
        Ok(call.finish(Some(batch.id), batch.now))
    }

    /// All arguments, in the script's order.
    pub(super) fn finish(self, id: Option<CommitId>, now: Milliseconds) -> Arguments {
        let Call { mut arguments, mut checks, mut adds, sets, mut writes } = self;
        arguments.push(id.map_or(String::new(), |id| version_text(&id)));
        arguments.number(now);
        arguments.push(arguments.letters());
        arguments.number(checks.count);
        arguments.append(&mut checks.values);
        arguments.number(adds.count);
        arguments.append(&mut adds.values);
        arguments.number(REDIS_SET_ROWS_MAX);
        arguments.number(sets.len());
        for SetChange { key, mut more, mut less } in sets {
            arguments.number(key);
            arguments.number(more.len());
            arguments.append(&mut more);
            arguments.number(less.len());
            arguments.append(&mut less);
        }
        arguments.append(&mut writes.values);
        arguments
    }

    fn check(&mut self, layout: &Layout, check: &Check) -> Result<()> {
        let place = layout.place(check.key.space())?;
        let row = place.parts(check.key.as_ref())?;
        self.locate(layout, place, &row)?;
        match check.expect {
            Expect::Absent => self.checks.push("a"),
            Expect::Present => self.checks.push("p"),
            Expect::Physical(None) => self.checks.push("n"),
            Expect::Version(version) => {
                self.checks.push("v");
                self.checks.push(version_text(&version));
            }
            Expect::Physical(Some(version)) => {
                self.checks.push("w");
                self.checks.push(version_text(&version));
            }
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
        self.checks.count += 1;
        self.checks.push("k");
        let own = self.own(layout, place, &row)?;
        self.checks.number(own);
        self.checks.push("-");
        self.checks.push("b");
        let set = self.arguments.key(set, SORTED_SET);
        self.checks.number(set);
        self.checks.push(member);
        self.checks.push("d");
        self.checks.number(ends);
        Ok(())
    }

    /// Where a row, its version and its end are read.
    fn locate(&mut self, layout: &Layout, place: &Place, row: &Parts<'_>) -> Result<()> {
        let separator = layout.naming.separator();
        self.checks.count += 1;
        match (&place.what, &place.list) {
            (What::Member | What::Entry(_), Some(list)) => {
                let is_set = list.kind == ListKind::Set;
                self.checks.push(if is_set { "m" } else { "z" });
                let list_key = self.list_key(layout, list, row)?;
                self.checks.number(list_key);
                self.checks.push(list.member(separator, row)?);
            }
            (What::Counters, _) => {
                self.checks.push("f");
                let own = self.own(layout, place, row)?;
                self.checks.number(own);
                self.checks.push(joined(separator, row.rest(), true)?);
            }
            _ => {
                self.checks.push("k");
                let own = self.own(layout, place, row)?;
                self.checks.number(own);
            }
        }
        match (&place.versions, &place.what) {
            (Some(versions), _) => {
                let versions = versions.name(&layout.naming, &row.values, None)?;
                let versions = self.arguments.key(versions, HASH);
                self.checks.push("b");
                self.checks.number(versions);
                self.checks.push(place.text.text(separator, &row.values)?);
            }
            (None, What::Record { .. }) => self.checks.push("v"),
            (None, _) => self.checks.push("-"),
        }
        match &place.ends {
            Ends::Never => self.checks.push("-"),
            Ends::Field(_) => self.checks.push("x"),
            Ends::Native(grace) => {
                self.checks.push("p");
                self.checks.number(grace);
            }
            Ends::Beside(beside) => {
                let (set, member) = beside.as_ref();
                let set = set.name(&layout.naming, &row.values, None)?;
                let set = self.arguments.key(set, SORTED_SET);
                self.checks.push("b");
                self.checks.number(set);
                self.checks.push(member.text(separator, &row.values)?);
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
        self.adds.number(number);
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
        self.adds.push(if is_field { "f" } else { "s" });
        self.adds.number(own);
        self.adds.push(field);
        self.adds.number(amount);
        self.adds.push(expires.map_or(String::new(), |ends| ends.max(1).to_string()));
        self.adds.push(limit.map_or(String::new(), |limit| limit.to_string()));
        match &place.expiries {
            None => self.adds.push("-"),
            Some(expiries) => {
                let expiries = expiries.name(&layout.naming, &row.values, None)?;
                let expiries = self.arguments.key(expiries, SORTED_SET);
                self.adds.push("b");
                self.adds.number(expiries);
                self.adds.push(place.text.text(separator, &row.values)?);
            }
        }
        self.enlist(layout, place, &row)
    }

    /// The number of a row's own key, or of the container it is in.
    pub(super) fn own(&mut self, layout: &Layout, place: &Place, row: &Parts<'_>) -> Result<usize> {
        let name = place.own.name(&layout.naming, &row.values, None)?;
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

fn letter(of: RedisType) -> u8 {
    match of {
        RedisType::Hash => HASH,
        RedisType::Set => SET,
        RedisType::SortedSet => SORTED_SET,
        RedisType::String => STRING,
    }
}
