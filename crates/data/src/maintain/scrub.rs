//! Proof that indexes are true: every entry belongs to a live row that yields it, and every live
//! row has all its entries.
//!
//! ```text
//! rows ─▶ what entries each must have ─▶ are they there?          missing, different
//! entries ─▶ whose are they ─▶ does that row yield them?          left behind
//! ```
//!
//! A row may change while it is looked at, so whatever looks wrong is looked at again before it is
//! reported. Repairs are commits with checks: they change nothing that has moved meanwhile, and
//! never the row itself.

use super::walk::Walk;
use crate::change::Entry;
use crate::clock::{Clock, Milliseconds, Random};
use crate::entries;
use crate::error::{ErrorKind, Result};
use crate::protocol;
use crate::schema::{CollectionSchema, IndexSchema, Schema};
use crate::session::Session;
use crate::store::{Batch, Check, CommitId, Expect, Key, Keyed, Outcome, Row, Store, Write};
use keyspace::model::{Atomicity, Mode};
use std::collections::HashMap;
use std::sync::Arc;

/// How long a repair may try, in milliseconds.
const REPAIR_MILLISECONDS_MAX: i64 = 30_000;

/// What is wrong with an entry or a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// A live row has no such entry.
    Missing,
    /// An entry holds something else than its row says, or ends at another time.
    Different,
    /// An entry belongs to no live row that yields it.
    LeftBehind,
    /// A row or an entry cannot be read.
    Unreadable,
}

impl ProblemKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            ProblemKind::Missing => "missing",
            ProblemKind::Different => "different",
            ProblemKind::LeftBehind => "left behind",
            ProblemKind::Unreadable => "unreadable",
        }
    }
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What.
    pub kind: ProblemKind,
    /// The collection.
    pub collection: String,
    /// The index; none where the row itself is wrong.
    pub index: Option<String>,
    /// The key of the entry, or of the row.
    pub key: Key,
    /// Whether it was put right.
    pub repaired: bool,
}

/// How far a scrub has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubCounts {
    /// Rows looked at.
    pub rows: u64,
    /// Entries and claims looked at.
    pub entries: u64,
    /// Problems found.
    pub problems: u64,
    /// Problems put right.
    pub repaired: u64,
    /// Collections and indexes that are done, of [`Scrub::parts`].
    pub parts: u64,
}

/// A scrub of a whole store.
pub struct Scrub<'a> {
    /// The store.
    pub store: &'a dyn Store,
    /// Its schema.
    pub schema: &'a Arc<Schema>,
    /// Where time comes from.
    pub clock: &'a dyn Clock,
    /// Where ids of repairs come from.
    pub random: &'a dyn Random,
    /// Whether to put right what can be.
    pub repair: bool,
}

impl Scrub<'_> {
    /// Collections and indexes that there are to look at.
    pub fn parts(&self) -> u64 {
        let collections = self.schema.collections().iter();
        collections.map(|collection| 1 + collection.indexes.len() as u64).sum()
    }

    /// Looks at everything. `seen` is told of every problem, and after every page and every part
    /// how far it is.
    pub async fn run(
        &self,
        seen: &mut (dyn FnMut(Option<&Problem>, &ScrubCounts) + Send),
    ) -> Result<ScrubCounts> {
        let mut counts = ScrubCounts::default();
        for collection in self.schema.collections() {
            let mut walk = Walk::over(collection.key.space);
            while let Some(page) = walk.next(self.store).await? {
                let problems = self.rows(collection, &page, &mut counts).await?;
                self.settle(problems, &mut counts, seen).await?;
            }
            counts.parts += 1;
            seen(None, &counts);
            for position in 0..collection.indexes.len() {
                let Some(index) = collection.indexes.get(position) else { continue };
                let mut walk = Walk::over(index.key.space);
                while let Some(page) = walk.next(self.store).await? {
                    let problems = self.entries(collection, position, &page, &mut counts).await?;
                    self.settle(problems, &mut counts, seen).await?;
                }
                counts.parts += 1;
                seen(None, &counts);
            }
        }
        Ok(counts)
    }

    /// Rows without their entries, or with wrong ones.
    async fn rows<'s>(
        &self,
        collection: &'s Arc<CollectionSchema>,
        page: &[Keyed],
        counts: &mut ScrubCounts,
    ) -> Result<Vec<Suspect<'s>>> {
        let is_dead = |keyed: &&Keyed| keyed.row.trail.as_ref().is_some_and(|trail| trail.dead);
        counts.rows += page.iter().filter(|keyed| !is_dead(keyed)).count() as u64;
        let now = self.clock.now();
        let mut suspects = Vec::new();
        for keyed in page.iter().filter(|keyed| keyed.row.is_live(now)) {
            match self.yields(collection, keyed) {
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    suspects.push(Suspect::unreadable(collection, None, keyed.key.clone()));
                }
                Err(error) => return Err(error),
                Ok(wanted) => {
                    for (entry, state) in self.compare(collection, keyed, wanted).await? {
                        suspects.push(Suspect {
                            collection,
                            index: Some(entry.index),
                            kind: state,
                            key: entry.key.clone(),
                            owner: Some(keyed.key.clone()),
                        });
                    }
                }
            }
        }
        Ok(suspects)
    }

    /// What entries a row must have.
    fn yields(&self, collection: &CollectionSchema, keyed: &Keyed) -> Result<Vec<Entry>> {
        let segments = collection.key.decode(&keyed.key)?;
        let slots = collection.decode(&keyed.row.value)?;
        if collection.indexes.is_empty() {
            return Ok(Vec::new());
        }
        entries::entries(collection, &segments, &slots)
    }

    /// The entries of a row that are not as they must be.
    async fn compare(
        &self,
        collection: &CollectionSchema,
        keyed: &Keyed,
        wanted: Vec<Entry>,
    ) -> Result<Vec<(Entry, ProblemKind)>> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let keys: Option<Vec<Key>> = wanted
            .iter()
            .map(|entry| protocol::stored_entry_key(collection, entry, &keyed.row))
            .collect();
        let Some(keys) = keys else {
            // The row itself does not say where its entries are: all of them are missing.
            return Ok(wanted.into_iter().map(|entry| (entry, ProblemKind::Missing)).collect());
        };
        let found = self.store.get(&keys).await?;
        let wrong = wanted.into_iter().zip(found).filter_map(|(entry, found)| {
            let state = match found {
                None => Some(ProblemKind::Missing),
                Some(row) if row.expires != keyed.row.expires => Some(ProblemKind::Different),
                Some(row) if row.value != entry.value => Some(ProblemKind::Different),
                Some(_) => None,
            };
            state.map(|state| (entry, state))
        });
        Ok(wrong.collect())
    }

    /// Entries without a row that yields them.
    async fn entries<'s>(
        &self,
        collection: &'s Arc<CollectionSchema>,
        position: usize,
        page: &[Keyed],
        counts: &mut ScrubCounts,
    ) -> Result<Vec<Suspect<'s>>> {
        let Some(index) = collection.indexes.get(position) else { return Ok(Vec::new()) };
        counts.entries += page.len() as u64;
        let now = self.clock.now();
        let mut suspects = Vec::new();
        let mut owners: Vec<Key> = Vec::new();
        let mut live: Vec<&Keyed> = Vec::new();
        for keyed in page.iter().filter(|keyed| !keyed.row.is_expired(now)) {
            match entries::owner(collection, index, keyed) {
                Ok(owner) => {
                    owners.push(owner);
                    live.push(keyed);
                }
                Err(_) => suspects.push(Suspect::unreadable(
                    collection,
                    Some(position),
                    keyed.key.clone(),
                )),
            }
        }
        let rows = self.store.get(&owners).await?;
        for ((keyed, owner), row) in live.into_iter().zip(owners).zip(rows) {
            if !self.belongs(collection, index, keyed, &owner, row.as_ref(), now)? {
                suspects.push(Suspect {
                    collection,
                    index: Some(position),
                    kind: ProblemKind::LeftBehind,
                    key: keyed.key.clone(),
                    owner: Some(owner),
                });
            }
        }
        Ok(suspects)
    }

    /// Whether an entry belongs to a row.
    fn belongs(
        &self,
        collection: &CollectionSchema,
        index: &IndexSchema,
        keyed: &Keyed,
        owner: &Key,
        row: Option<&Row>,
        now: Milliseconds,
    ) -> Result<bool> {
        let Some(row) = row.filter(|row| row.is_live(now)) else { return Ok(false) };
        let owned = Keyed { key: owner.clone(), row: row.clone() };
        // A row that cannot be read is reported as such; its entries are left alone.
        let Ok(wanted) = self.yields(collection, &owned) else { return Ok(true) };
        let yielded = wanted.iter().any(|entry| {
            collection.indexes.get(entry.index).is_some_and(|of| of.key.space == index.key.space)
                && protocol::stored_entry_key(collection, entry, row).as_ref() == Some(&keyed.key)
        });
        Ok(yielded)
    }

    /// Looks again at what looked wrong, reports what still does, and repairs it if asked to.
    async fn settle(
        &self,
        suspects: Vec<Suspect<'_>>,
        counts: &mut ScrubCounts,
        seen: &mut (dyn FnMut(Option<&Problem>, &ScrubCounts) + Send),
    ) -> Result<()> {
        let mut seen_keys: HashMap<Key, ()> = HashMap::new();
        for suspect in suspects {
            if seen_keys.insert(suspect.key.clone(), ()).is_some() {
                continue;
            }
            let Some(still) = self.look_again(&suspect).await? else { continue };
            let repaired = self.repair && self.repair(&suspect, &still).await?;
            counts.problems += 1;
            counts.repaired += u64::from(repaired);
            let index = suspect.index.and_then(|index| suspect.collection.indexes.get(index));
            let problem = Problem {
                kind: suspect.kind,
                collection: suspect.collection.name().to_string(),
                index: index.map(|index| index.name().to_string()),
                key: suspect.key.clone(),
                repaired,
            };
            seen(Some(&problem), counts);
        }
        seen(None, counts);
        Ok(())
    }

    /// The state of a suspect's row now; nothing if all is well by now.
    async fn look_again(&self, suspect: &Suspect<'_>) -> Result<Option<Still>> {
        let (Some(position), Some(owner)) = (suspect.index, &suspect.owner) else {
            return Ok(Some(Still { row: None, entry: None }));
        };
        let Some(index) = suspect.collection.indexes.get(position) else { return Ok(None) };
        let now = self.clock.now();
        // Of an entry that is missing, the key is known without its attempt only.
        let is_there = suspect.kind == ProblemKind::LeftBehind;
        let keys = std::iter::once(owner).chain(is_there.then_some(&suspect.key));
        let keys: Vec<Key> = keys.cloned().collect();
        let mut rows = self.store.get(&keys).await?.into_iter();
        let (row, found) = (rows.next().flatten(), rows.next().flatten());
        let row = row.filter(|row| row.is_live(now));
        if is_there {
            let Some(found) = found.filter(|found| !found.is_expired(now)) else { return Ok(None) };
            let keyed = Keyed { key: suspect.key.clone(), row: found };
            let collection = suspect.collection;
            let belongs = self.belongs(collection, index, &keyed, owner, row.as_ref(), now)?;
            return Ok((!belongs).then_some(Still { row, entry: None }));
        }
        let Some(row) = row else { return Ok(None) };
        let keyed = Keyed { key: owner.clone(), row: row.clone() };
        let wanted = self.yields(suspect.collection, &keyed)?;
        let wrong = self.compare(suspect.collection, &keyed, wanted).await?;
        let entry = wrong.into_iter().map(|(entry, _)| entry);
        let entry = entry.into_iter().find(|entry| entry.key == suspect.key);
        Ok(entry.map(|entry| Still { row: Some(row), entry: Some(entry) }))
    }

    /// Puts one thing right; false if it moved meanwhile or cannot be.
    async fn repair(&self, suspect: &Suspect<'_>, still: &Still) -> Result<bool> {
        let Some(owner) = &suspect.owner else { return Ok(false) };
        let now = self.clock.now();
        let deadline = now.saturating_add(REPAIR_MILLISECONDS_MAX);
        if self.store.describe().atomicity == Atomicity::Group {
            let mut session = Session::new(self.store, self.schema, now, deadline);
            let (collection, position) = (suspect.collection, suspect.index);
            return protocol::repair(&mut session, collection, position, &suspect.key, owner).await;
        }
        let expect = match &still.row {
            Some(Row { version: Some(version), .. }) => Expect::Version(*version),
            Some(_) => Expect::Present,
            None => Expect::Absent,
        };
        let write = match (&still.entry, &still.row) {
            (Some(entry), Some(row)) => Write::Put {
                key: entry.key.clone(),
                value: entry.value.clone(),
                expires: row.expires,
                versioned: is_claim(suspect) && suspect.collection.mode == Mode::Conditional,
                trail: None,
            },
            _ => Write::Delete { key: suspect.key.clone() },
        };
        let mut checks = vec![Check { key: owner.clone(), expect }];
        if still.entry.is_some() && is_claim(suspect) && suspect.kind == ProblemKind::Missing {
            checks.push(Check { key: suspect.key.clone(), expect: Expect::Absent });
        }
        let id = CommitId::new(now, self.random);
        let batch = Batch { id, now, checks, writes: vec![write], deadline };
        Ok(matches!(self.store.commit(&batch).await?, Outcome::Committed { .. }))
    }
}

/// Something that looked wrong at first sight.
struct Suspect<'s> {
    collection: &'s Arc<CollectionSchema>,
    index: Option<usize>,
    kind: ProblemKind,
    key: Key,
    owner: Option<Key>,
}

impl<'s> Suspect<'s> {
    fn unreadable(
        collection: &'s Arc<CollectionSchema>,
        index: Option<usize>,
        key: Key,
    ) -> Suspect<'s> {
        Suspect { collection, index, kind: ProblemKind::Unreadable, key, owner: None }
    }
}

/// What still is wrong: the live row, and the entry it must have.
struct Still {
    row: Option<Row>,
    entry: Option<Entry>,
}

fn is_claim(suspect: &Suspect<'_>) -> bool {
    let index = suspect.index.and_then(|index| suspect.collection.indexes.get(index));
    index.is_some_and(|index| index.model.unique)
}
