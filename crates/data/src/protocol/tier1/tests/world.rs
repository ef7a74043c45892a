//! What the simulation knows: its rows, what callers were told, and what must hold at every step.

use super::wire::{Fault, Wire};
use crate::change::{After, Entry, RowChange, WriteSet};
use crate::clock::{Clock, ManualClock, Milliseconds, SeededRandom};
use crate::entries;
use crate::error::ErrorKind;
use crate::memory::PartitionedMemory;
use crate::protocol::tier1::clean::clean_by;
use crate::protocol::tier1::ids::derived;
use crate::protocol::tier1::readers::{belongs, stored_entry_key};
use crate::protocol::tier1::{Rules, commit_by};
use crate::protocol::{Obstacle, Shared, Verdict};
use crate::schema::{CollectionSchema, Schema};
use crate::session::Session;
use crate::store::{CommitId, Expect, Key, Keyed, Range, Row, Scan, Store};
use crate::value::Value;
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::FutureExt;
use std::sync::{Arc, Mutex};

/// Longer than an attempt may be under way.
pub(super) const LONG: Milliseconds = 11 * 60 * 1_000;
/// How long rows live that end, at most.
const LIFE: u64 = 30;

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

/// A process: its clock, and what it remembers.
struct Process {
    clock: SkewedClock,
    shared: Shared,
}

/// What a caller was told about a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Done,
    NotDone,
    /// It died, or was told that this is not known.
    Nothing,
}

/// A set that was run.
struct Ran {
    id: CommitId,
    told: Told,
}

/// A simulated store with its callers' knowledge.
pub(super) struct World {
    pub wire: Wire,
    pub schema: Arc<Schema>,
    pub people: Arc<CollectionSchema>,
    pub chance: SeededRandom,
    pub clock: ManualClock,
    processes: Vec<Process>,
    pub rules: Rules,
    ran: Mutex<Vec<Ran>>,
    /// Calls that were made, and may be made again.
    calls: Mutex<Vec<(CommitId, Vec<Wish>)>>,
    remembers: bool,
}

/// A change of one person.
#[derive(Clone, Copy, Debug)]
struct Wish {
    person: u64,
    /// Color and email; nothing where the person is removed.
    to: Option<(u64, u64)>,
    ends: bool,
    /// Whether the row is read before.
    looks: bool,
}

impl World {
    pub fn new(seed: u64, rules: Rules) -> Self {
        let chance = SeededRandom::new(seed);
        let remembers = chance.number().is_multiple_of(2);
        let store = match remembers {
            true => PartitionedMemory::new(),
            false => PartitionedMemory::forgetting(),
        };
        let wire = Wire::new(store);
        let schema = wire.ensure(&super::parts::keyspace()).now_or_never().unwrap().unwrap();
        let people = schema.collection("people").unwrap().clone();
        let clock = ManualClock::at(1_700_000_000_000);
        let is_skewed = chance.number().is_multiple_of(2);
        let process = || {
            let ahead = (chance.number() % (2 * SKEW + 1)) as i64 - SKEW as i64;
            let ahead = if is_skewed { ahead } else { 0 };
            if ahead != 0 {
                wire.count(Fault::Skewed);
            }
            let more_chance = Arc::new(SeededRandom::new(chance.number()));
            let clock = SkewedClock { clock: clock.clone(), ahead };
            Process { shared: Shared::new(Arc::new(clock.clone()), more_chance), clock }
        };
        let processes = (0..PROCESSES).map(|_| process()).collect();
        let (ran, calls) = (Mutex::default(), Mutex::default());
        World { wire, schema, people, chance, clock, processes, rules, ran, calls, remembers }
    }

    fn below(&self, limit: u64) -> u64 {
        self.chance.number() % limit
    }

    fn session(&self, process: usize, later: Milliseconds) -> Session<'_> {
        let process = &self.processes[process];
        let now = process.clock.now() + later;
        Session::new(&self.wire, &self.schema, now, now + 3_000).sharing(&process.shared)
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

    /// One caller: some changes, one after the other, now and then one that was made before.
    pub async fn caller(&self, process: usize, changes: u64) {
        for _ in 0..changes {
            let calls = self.calls.lock().unwrap().len() as u64;
            let again = calls > 0 && self.below(4) == 0;
            let given = again || self.below(2) == 0;
            let (first, wishes) = match again {
                true => self.calls.lock().unwrap()[self.below(calls) as usize].clone(),
                false => {
                    let mut wishes = vec![self.wish()];
                    if self.below(6) == 0 {
                        let other = Wish { person: (wishes[0].person + 1) % 3, ..self.wish() };
                        wishes.push(other);
                    }
                    let now = self.processes[process].clock.now();
                    let call = (CommitId::new(now, &self.chance), wishes);
                    if given {
                        self.calls.lock().unwrap().push(call.clone());
                    }
                    call
                }
            };
            self.change(process, first, &wishes, given).await;
        }
    }

    async fn change(&self, process: usize, first: CommitId, wishes: &[Wish], given: bool) {
        let mut session = self.session(process, 0);
        session.repeatable = given;
        for attempt in 0..5_u8 {
            session.now = self.processes[process].clock.now();
            let id = if attempt == 0 { first } else { derived(first, "again", &[&[attempt]]) };
            let Some(set) = self.set(&mut session, id, wishes).await else { return };
            let number = {
                let mut ran = self.ran.lock().unwrap();
                ran.push(Ran { id, told: Told::Nothing });
                ran.len() - 1
            };
            self.wire.note(|| format!("set {} {wishes:?}", set.id));
            let verdict = commit_by(&mut session, &set, self.rules).await;
            self.wire.note(|| format!("verdict {} {verdict:?}", set.id));
            let (told, again) = match verdict {
                Ok(Verdict::Committed { .. }) => (Told::Done, false),
                Ok(Verdict::Obstacle(Obstacle::Taken { .. })) => (Told::NotDone, false),
                Ok(Verdict::Obstacle(_)) => (Told::NotDone, true),
                Ok(Verdict::Indeterminate { .. }) => (Told::Nothing, self.below(2) == 0),
                Err(error) => match error.kind() {
                    ErrorKind::Unavailable => (Told::NotDone, true),
                    ErrorKind::Unsupported => (Told::NotDone, false),
                    _ => panic!("{error}: {error:?}"),
                },
            };
            self.ran.lock().unwrap()[number].told = told;
            if !again {
                return;
            }
        }
    }

    /// What a verb would make of the wishes; nothing if there is nothing to do.
    async fn set(
        &self,
        session: &mut Session<'_>,
        id: CommitId,
        wishes: &[Wish],
    ) -> Option<WriteSet> {
        let (now, deadline) = (session.now, session.deadline);
        let mut changes = Vec::new();
        for wish in wishes {
            let segments = [Value::Text("r".into()), Value::Text(wish.person.to_string())];
            let key = self.people.key.encode(&segments).unwrap();
            // A removal must know what it removes.
            let looks = wish.looks || wish.to.is_none();
            let before = match looks {
                true => session.get(std::slice::from_ref(&key)).await.ok()?.pop().flatten(),
                false => None,
            };
            let live = before.as_ref().filter(|row| row.is_live(now));
            if wish.to.is_none() && live.is_none() {
                continue;
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
            changes.push(RowChange {
                collection,
                key,
                expect,
                read: looks,
                before,
                after,
                gained,
                lost,
            });
        }
        let (checks, adds) = (Vec::new(), Vec::new());
        (!changes.is_empty()).then_some(WriteSet { id, now, deadline, checks, changes, adds })
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

    fn all(&self, space: u16) -> Vec<Keyed> {
        let next = space + 1;
        let bound = |space: u16| Bytes::copy_from_slice(&space.to_be_bytes());
        let range = Range { start: bound(space), end: bound(next) };
        let scan = Scan { range, reverse: false, rows: 1_000 };
        self.wire.store.walk(&scan).now_or_never().unwrap().unwrap().rows
    }

    pub fn all_entries(&self) -> Vec<Keyed> {
        self.people.indexes.iter().flat_map(|index| self.all(index.key.space)).collect()
    }

    fn get(&self, key: &Key) -> Option<Row> {
        let rows = self.wire.store.get(std::slice::from_ref(key));
        rows.now_or_never().unwrap().unwrap().pop().flatten()
    }

    /// What must hold at every instant: no entry is missing, every unique value is claimed by the
    /// row that holds it, and so held once. Of rows that end: until they have ended for the clock
    /// that is most ahead.
    pub fn check(&self) -> Result<(), String> {
        let clocks = self.processes.iter().map(|process| process.clock.now());
        let now = clocks.fold(self.clock.now(), Milliseconds::max);
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
    pub fn check_end(&self) -> Result<(), String> {
        self.check()?;
        for entry in self.all_entries() {
            let (_, index) = match self.schema.space(entry.key.space()).unwrap() {
                crate::schema::Space::Entries(of, number) => (of, &of.indexes[*number]),
                other => panic!("{other:?}"),
            };
            let owner = entries::owner(&self.people, index, &entry).unwrap();
            let row = self.get(&owner);
            let held = row.as_ref().is_some_and(|row| belongs(index, &entry, row).unwrap());
            if !held {
                return Err(format!("left behind: {entry:?} of {row:?}"));
            }
        }
        let versions = self.wire.versions();
        let ran = self.ran.lock().unwrap();
        for of in ran.iter() {
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
