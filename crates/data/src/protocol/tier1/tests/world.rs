//! What the simulation knows: its rows, what callers were told, and what must hold at every step.

use super::unversioned::Plain;
use super::wire::{Door, Fault, Wire};
use crate::change::{After, CounterAdd, Entry, RowChange, RowCheck, WriteSet};
use crate::clock::{Clock, ManualClock, Milliseconds, SeededRandom};
use crate::entries;
use crate::error::{ErrorKind, Result};
use crate::memory::PartitionedMemory;
use crate::protocol::tier1::clean::clean_by;
use crate::protocol::tier1::ids::derived;
use crate::protocol::tier1::readers::{belongs, stored_entry_key};
use crate::protocol::tier1::{Rules, commit_by};
use crate::protocol::{Obstacle, Shared, Verdict};
use crate::schema::{CollectionSchema, Schema};
use crate::session::Session;
use crate::store::{CommitId, Expect, Found, Key, Keyed, Range, Row, Scan, Store, WindowRule};
use crate::value::Value;
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::FutureExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Longer than an attempt may be under way.
pub(super) const LONG: Milliseconds = 11 * 60 * 1_000;
/// How long rows live that end, at most.
pub(super) const LIFE: u64 = 30;

/// How wrong a clock is, at most, to either side: about as long as rows live.
const SKEW: u64 = 20;
/// Processes at work, at most.
pub(super) const PROCESSES: usize = 6;

/// A clock that is ahead of the others, or behind.
#[derive(Clone, Debug)]
struct SkewedClock {
    clock: ManualClock,
    ahead: Milliseconds,
}

#[async_trait]
impl Clock for SkewedClock {
    fn now(&self) -> Milliseconds {
        self.clock.now() + self.ahead
    }

    async fn wait(&self, milliseconds: u64) {
        self.clock.wait(milliseconds).await;
    }
}

/// A process: its clock, its way to the store, and what it remembers.
struct Process {
    clock: SkewedClock,
    door: Door,
    shared: Shared,
}

/// What a caller was told about a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Done,
    NotDone,
    /// It died, or was told that this is not known.
    Nothing,
}

/// A set that was run.
pub(super) struct Ran {
    pub id: CommitId,
    pub call: Call,
    pub told: Told,
    /// What it was told the counter came to.
    pub total: Option<i64>,
    /// When it began and ended, in the order of all that did.
    pub begun: usize,
    pub ended: usize,
}

/// A simulated store with its callers' knowledge.
pub(super) struct World {
    pub wire: Arc<Wire>,
    pub schema: Arc<Schema>,
    pub people: Arc<CollectionSchema>,
    pub logs: Arc<CollectionSchema>,
    pub events: Arc<CollectionSchema>,
    pub counts: Arc<CollectionSchema>,
    pub chance: SeededRandom,
    pub clock: ManualClock,
    processes: Vec<Process>,
    /// What the counter lets through in a window, if it is one.
    pub window: Option<WindowRule>,
    pub rules: Rules,
    pub ran: Mutex<Vec<Ran>>,
    moments: AtomicUsize,
    /// Calls that were made, and may be made again.
    calls: Mutex<Vec<(CommitId, Call)>>,
    pub remembers: bool,
    /// What somebody was answered wrongly.
    pub misread: Mutex<Option<String>>,
}

/// What one call wants.
#[derive(Clone, Debug, Default)]
pub(super) struct Call {
    pub people: Vec<Wish>,
    /// A person who must be as it was when it was read.
    checked: Option<u64>,
    /// What the counter is added.
    pub amount: i64,
    pub plain: Option<Plain>,
}

/// A change of one person.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    person: u64,
    /// Color and email; nothing where the person is removed.
    to: Option<(u64, u64)>,
    ends: bool,
    /// Whether the row is read before.
    looks: bool,
}

impl World {
    /// A world of a seed, by these rules; and whether what was read once is read by everybody.
    pub fn new(seed: u64, rules: Rules, repairs: bool) -> Self {
        let chance = SeededRandom::new(seed);
        let remembers = chance.number().is_multiple_of(2);
        let store = match chance.number().is_multiple_of(2) {
            true => PartitionedMemory::new(),
            false => PartitionedMemory::of_places(),
        };
        let store = if remembers { store } else { store.forgetting() };
        let wire = Arc::new(Wire::new(store, repairs));
        let door = |process: usize| Door { wire: wire.clone(), process };
        let schema = door(0).ensure(&super::parts::keyspace()).now_or_never().unwrap().unwrap();
        let collection = |name: &str| schema.collection(name).unwrap().clone();
        let clock = ManualClock::at(1_700_000_000_000);
        let is_skewed = chance.number().is_multiple_of(2);
        let process = |number: usize| {
            let ahead = (chance.number() % (2 * SKEW + 1)) as i64 - SKEW as i64;
            let ahead = if is_skewed { ahead } else { 0 };
            if ahead != 0 {
                wire.count(Fault::Skewed);
            }
            let more_chance = Arc::new(SeededRandom::new(chance.number()));
            let clock = SkewedClock { clock: clock.clone(), ahead };
            let shared = Shared::new(Arc::new(clock.clone()), more_chance);
            Process { shared, door: door(number), clock }
        };
        let processes = (0..PROCESSES).map(process).collect();
        let limit = 3 + (chance.number() % 6) as i64;
        let window = chance.number().is_multiple_of(2).then_some(WindowRule { limit });
        World {
            people: collection("people"),
            logs: collection("logs"),
            events: collection("events"),
            counts: collection("counts"),
            wire,
            schema,
            chance,
            clock,
            processes,
            window,
            rules,
            ran: Mutex::default(),
            moments: AtomicUsize::new(0),
            calls: Mutex::default(),
            remembers,
            misread: Mutex::default(),
        }
    }

    /// The next of all moments that something began or ended at.
    fn moment(&self) -> usize {
        self.moments.fetch_add(1, Ordering::Relaxed)
    }

    pub fn below(&self, limit: u64) -> u64 {
        self.chance.number() % limit
    }

    pub fn session(&self, process: usize, later: Milliseconds) -> Session<'_> {
        let process = &self.processes[process];
        let now = process.clock.now() + later;
        Session::new(&process.door, &self.schema, now, now + 3_000).sharing(&process.shared)
    }

    fn wish(&self) -> Wish {
        let removed = self.below(4) == 0;
        Wish {
            person: self.below(3),
            to: (!removed).then(|| (self.below(2), self.below(3))),
            ends: self.below(4) == 0,
            looks: self.below(4) != 0,
        }
    }

    fn call(&self) -> Call {
        match self.below(8) {
            0 => Call { plain: Some(self.line()), ..Call::default() },
            1 => Call { plain: Some(self.event()), ..Call::default() },
            2 => Call { amount: self.amount(), ..Call::default() },
            _ => {
                let mut people = vec![self.wish()];
                if self.below(6) == 0 {
                    people.push(Wish { person: (people[0].person + 1) % 3, ..self.wish() });
                }
                let checked = (self.below(4) == 0).then_some((people[0].person + 2) % 3);
                // Made again, it may find other rows to change: the counter itself must tell.
                let amount = if self.below(4) == 0 { self.amount() } else { 0 };
                Call { people, checked, amount, plain: None }
            }
        }
    }

    fn amount(&self) -> i64 {
        1 + self.below(3) as i64
    }

    /// One caller: some changes, one after the other, now and then one that was made before.
    pub async fn caller(&self, process: usize, changes: u64) {
        for _ in 0..changes {
            let calls = self.calls.lock().unwrap().len() as u64;
            let again = calls > 0 && self.below(4) == 0;
            let given = again || self.below(2) == 0;
            let (first, call) = match again {
                true => self.calls.lock().unwrap()[self.below(calls) as usize].clone(),
                false => {
                    let now = self.processes[process].clock.now();
                    let call = (CommitId::new(now, &self.chance), self.call());
                    if given {
                        self.calls.lock().unwrap().push(call.clone());
                    }
                    call
                }
            };
            self.change(process, first, &call, given).await;
        }
    }

    async fn change(&self, process: usize, first: CommitId, call: &Call, given: bool) {
        let mut session = self.session(process, 0);
        session.repeatable = given;
        for attempt in 0..5_u8 {
            session.now = self.processes[process].clock.now();
            let id = if attempt == 0 { first } else { derived(first, "again", &[&[attempt]]) };
            let Some(set) = self.set(&mut session, id, call).await else { return };
            let number = self.begin(id, call);
            self.wire.note(|| format!("set {} {call:?}", set.id));
            let verdict = commit_by(&mut session, &set, self.rules).await;
            self.wire.note(|| format!("verdict {} {verdict:?}", set.id));
            let mut total = None;
            let (told, again) = match verdict {
                Ok(Verdict::Committed { totals, .. }) => {
                    total = totals.first().map(|total| total.value);
                    (Told::Done, false)
                }
                Ok(Verdict::Obstacle(Obstacle::Taken { .. })) => (Told::NotDone, false),
                Ok(Verdict::Obstacle(Obstacle::Counter { found, .. })) => {
                    self.refused(call, found);
                    (Told::NotDone, false)
                }
                Ok(Verdict::Obstacle(_)) => (Told::NotDone, true),
                Ok(Verdict::Indeterminate { .. }) => (Told::Nothing, self.below(2) == 0),
                Err(error) => match error.kind() {
                    ErrorKind::Unavailable => (Told::NotDone, true),
                    ErrorKind::Unsupported => (Told::NotDone, false),
                    _ => panic!("{error}: {error:?}"),
                },
            };
            self.end(number, told, total);
            if !again {
                return;
            }
        }
    }

    /// A window is full only where the addition passes its limit.
    fn refused(&self, call: &Call, found: Found) {
        self.wire.count(Fault::Full);
        let limit = self.window.map_or(i64::MAX, |rule| rule.limit);
        let is_full = matches!(found, Found::Full(total) if total.value + call.amount > limit);
        if !is_full {
            *self.misread.lock().unwrap() = Some(format!("refused by what is not full: {found:?}"));
        }
    }

    fn begin(&self, id: CommitId, call: &Call) -> usize {
        let (begun, ended) = (self.moment(), usize::MAX);
        let mut ran = self.ran.lock().unwrap();
        ran.push(Ran { id, call: call.clone(), told: Told::Nothing, total: None, begun, ended });
        ran.len() - 1
    }

    fn end(&self, number: usize, told: Told, total: Option<i64>) {
        let ended = self.moment();
        let of = &mut self.ran.lock().unwrap()[number];
        (of.told, of.total, of.ended) = (told, total, ended);
    }

    /// What a verb would make of a call; nothing if there is nothing to do.
    async fn set(&self, session: &mut Session<'_>, id: CommitId, call: &Call) -> Option<WriteSet> {
        let mut changes = Vec::new();
        for wish in &call.people {
            changes.extend(self.person(session, wish).await.ok()?);
        }
        if changes.is_empty() && !call.people.is_empty() {
            return None;
        }
        changes.extend(call.plain.map(|plain| self.plain_change(session, id, plain)));
        let mut checks = Vec::new();
        if let Some(person) = call.checked {
            let check = self.row_check(session, person).await.ok()?;
            self.wire.guard(id, check.key.clone(), check.expect);
            checks.push(check);
        }
        let add = CounterAdd {
            collection: self.counts.clone(),
            key: self.counter(),
            amount: call.amount,
            expires: self.window.map(|_| session.now + 1 + self.below(LIFE) as i64),
            window: self.window,
        };
        let adds = if call.amount > 0 { vec![add] } else { Vec::new() };
        let (now, deadline) = (session.now, session.deadline);
        Some(WriteSet { id, now, deadline, checks, changes, adds })
    }

    fn person_key(&self, person: u64) -> Key {
        let segments = [Value::Text("r".into()), Value::Text(person.to_string())];
        self.people.key.encode(&segments).unwrap()
    }

    /// What an `atomic` would check that has read a person.
    async fn row_check(&self, session: &mut Session<'_>, person: u64) -> Result<RowCheck> {
        let key = self.person_key(person);
        let row = session.get(std::slice::from_ref(&key)).await?.pop().flatten();
        let live = row.filter(|row| row.is_live(session.now));
        let expect = match live.and_then(|row| row.version) {
            Some(version) => Expect::Version(version),
            None => Expect::Absent,
        };
        Ok(RowCheck { collection: self.people.clone(), key, expect })
    }

    /// What a verb would make of a wish; nothing if there is nothing to do.
    async fn person(&self, session: &mut Session<'_>, wish: &Wish) -> Result<Option<RowChange>> {
        let now = session.now;
        let key = self.person_key(wish.person);
        // A removal must know what it removes.
        let looks = wish.looks || wish.to.is_none();
        let before = match looks {
            true => session.get(std::slice::from_ref(&key)).await?.pop().flatten(),
            false => None,
        };
        let live = before.as_ref().filter(|row| row.is_live(now));
        if wish.to.is_none() && live.is_none() {
            return Ok(None);
        }
        let after = wish.to.map(|to| After {
            value: self.people.encode(&slots(to)).unwrap(),
            expires: wish.ends.then(|| now + 1 + self.below(LIFE) as i64),
        });
        let old = live.map_or_else(Vec::new, |row| self.entries(&key, &row.value));
        let new = after.as_ref().map_or_else(Vec::new, |row| self.entries(&key, &row.value));
        let ends = after.as_ref().and_then(|after| after.expires);
        let moved = live.is_none_or(|row| row.expires != ends);
        let (gained, lost) = entries::diff(old, new, moved);
        let expect = match (looks, live) {
            (false, _) => None,
            (true, Some(row)) => row.version.map(Expect::Version),
            (true, None) => Some(Expect::Absent),
        };
        let collection = self.people.clone();
        let (read, before) = (looks, before);
        Ok(Some(RowChange { collection, key, expect, read, before, after, gained, lost }))
    }

    fn entries(&self, key: &Key, value: &Bytes) -> Vec<Entry> {
        let segments = self.people.key.decode(key).unwrap();
        entries::entries(&self.people, &segments, &self.people.decode(value).unwrap()).unwrap()
    }

    /// The cleaner: now and then it looks at everything there is.
    pub async fn cleaner(&self, process: usize, rounds: u64) {
        for _ in 0..rounds {
            let keys: Vec<Key> = self.all_entries().into_iter().map(|keyed| keyed.key).collect();
            let later = if self.below(3) == 0 { 0 } else { LONG };
            let mut session = self.session(process, later);
            // What goes wrong is left for the next round.
            let cleaned = clean_by(&mut session, &keys, self.rules).await;
            self.wire.note(|| format!("cleaned {cleaned:?}"));
        }
    }

    pub fn all(&self, space: u16) -> Vec<Keyed> {
        let next = space + 1;
        let bound = |space: u16| Bytes::copy_from_slice(&space.to_be_bytes());
        let range = Range { start: bound(space), end: bound(next) };
        let scan = Scan { range, reverse: false, rows: 1_000 };
        self.wire.store.walk(&scan).now_or_never().unwrap().unwrap().rows
    }

    /// The entries and claims that say which attempt wrote them.
    pub fn all_entries(&self) -> Vec<Keyed> {
        let versioned = [&self.people, &self.logs].into_iter().filter(|of| of.kept.has_version());
        let indexes = versioned.flat_map(|collection| &collection.indexes);
        indexes.flat_map(|index| self.all(index.key.space)).collect()
    }

    pub fn get(&self, key: &Key) -> Option<Row> {
        let rows = self.wire.store.get(std::slice::from_ref(key));
        rows.now_or_never().unwrap().unwrap().pop().flatten()
    }

    /// The time by the clock that is most ahead.
    pub fn latest(&self) -> Milliseconds {
        let clocks = self.processes.iter().map(|process| process.clock.now());
        clocks.fold(self.clock.now(), Milliseconds::max)
    }

    /// What must hold at every instant: no entry is missing, every unique value is claimed by the
    /// row that holds it, and so held once. Of rows that end: until they have ended for the clock
    /// that is most ahead. A set was committed only while what it checks was true, and nobody was
    /// answered wrongly.
    pub fn check(&self) -> std::result::Result<(), String> {
        if let Some(id) = self.wire.unguarded() {
            return Err(format!("a check was passed over by {id}"));
        }
        if let Some(problem) = self.misread.lock().unwrap().take() {
            return Err(problem);
        }
        let now = self.latest();
        self.check_unversioned(now)?;
        let mut emails = Vec::new();
        for keyed in self.all(self.people.key.space) {
            if !keyed.row.is_live(now) {
                continue;
            }
            for entry in self.entries(&keyed.key, &keyed.row.value) {
                let stored = stored_entry_key(&self.people, &entry, &keyed.row);
                let Some(row) = stored.as_ref().and_then(|key| self.get(key)) else {
                    return Err(format!("missing: {:?} of {keyed:?}", entry.key));
                };
                if row.expires.unwrap_or(i64::MAX) < keyed.row.expires.unwrap_or(i64::MAX) {
                    return Err(format!("ends before its row: {:?}", entry.key));
                }
                if !self.people.indexes[entry.index].model.unique {
                    if row.value != entry.value || row.expires != keyed.row.expires {
                        return Err(format!("different: {:?}", entry.key));
                    }
                    continue;
                }
                if emails.contains(&entry.key) {
                    return Err(format!("held twice: {:?}", entry.key));
                }
                emails.push(entry.key.clone());
                if entries::split_claim(&row.value).unwrap().0 != keyed.key {
                    return Err(format!("claimed by another: {:?}", entry.key));
                }
            }
        }
        Ok(())
    }

    /// What must hold when nothing is under way: nothing is left behind, what was acknowledged is
    /// there, and what was refused is not.
    pub fn check_end(&self) -> std::result::Result<(), String> {
        self.check()?;
        for entry in self.all_entries() {
            let (collection, index) = match self.schema.space(entry.key.space()).unwrap() {
                crate::schema::Space::Entries(of, number) => (of, &of.indexes[*number]),
                other => panic!("{other:?}"),
            };
            let owner = entries::owner(collection, index, &entry).unwrap();
            let row = self.get(&owner);
            let held = row.as_ref().is_some_and(|row| belongs(index, &entry, row).unwrap());
            if !held {
                return Err(format!("left behind: {entry:?} of {row:?}"));
            }
        }
        let versions = self.wire.versions();
        self.check_unversioned_end(&versions)?;
        let ran = self.ran.lock().unwrap();
        for of in ran.iter().filter(|of| !of.call.people.is_empty()) {
            // A call that is made again may find other rows to change, but is done once.
            let there = versions.values().any(|of_key| of_key.contains(&of.id));
            let mut runs = ran.iter().filter(|other| other.id == of.id);
            let refused = runs.all(|run| run.told == Told::NotDone);
            if (of.told == Told::Done && !there) || (refused && there) {
                return Err(format!("a caller was told {:?} of {}", of.told, of.id));
            }
        }
        // A store that forgets can be told twice.
        let unlike = |of_key: &Vec<CommitId>| {
            (1..of_key.len()).any(|number| of_key[..number].contains(&of_key[number]))
        };
        match self.remembers && versions.values().any(unlike) {
            true => Err(format!("a set was done twice: {versions:?}")),
            false => Ok(()),
        }
    }

    /// Cleans until nothing is left to clean, with a wire that works.
    pub async fn clean_up(&self) {
        for _ in 0..8 {
            let keys: Vec<Key> = self.all_entries().into_iter().map(|keyed| keyed.key).collect();
            let mut session = self.session(0, LONG);
            clean_by(&mut session, &keys, self.rules).await.unwrap();
        }
    }
}

fn slots((color, email): (u64, u64)) -> [Value; 2] {
    [Value::Text(format!("color{color}")), Value::Text(format!("email{email}"))]
}
