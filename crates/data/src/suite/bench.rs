//! What a case works with: a store, keys of its own, ids, and short ways to ask and to compare.
//!
//! A case never looks outside its rooms, so that cases can share one store; and it never fails by
//! panicking, so that one broken case hides no other.

use super::wait::Clients;
use crate::clock::{Milliseconds, SeededRandom};
use crate::error::{Error, ErrorKind};
use crate::schema::{KeyShape, Schema};
use crate::store::{
    Batch, Check, CommitId, Conflict, Description, End, Expect, Key, Keyed, Outcome, Page, Range,
    Row, Scan, Seen, Store, Total, Versions, WindowRule, Write,
};
use crate::value::Value;
use bytes::Bytes;
use keyspace::model::Atomicity;
use std::fmt::Debug;
use std::sync::Arc;

/// A case that did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The store broke its promise: what was expected, what was found.
    Broken(String),
    /// The store does not promise it, for this reason.
    NotOffered(&'static str),
}

impl Failure {
    /// A promise that was broken.
    pub fn broken(text: impl Into<String>) -> Self {
        Failure::Broken(text.into())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Broken(format!("an error nobody asked for: {} ({error})", error.kind()))
    }
}

/// What a case answers.
pub type Checked<T = ()> = Result<T, Failure>;

/// Passes if both are the same.
pub fn same<T: PartialEq + Debug>(what: &str, found: T, expected: T) -> Checked {
    match found == expected {
        true => Ok(()),
        false => Err(Failure::broken(format!("{what}: found {found:?}, expected {expected:?}"))),
    }
}

/// Passes if it is so.
pub fn holds(what: &str, so: bool) -> Checked {
    match so {
        true => Ok(()),
        false => Err(Failure::broken(what)),
    }
}

/// Passes if the answer is an error of this kind.
pub fn refused<T: Debug>(answer: Result<T, Error>, kind: ErrorKind) -> Checked<Error> {
    match answer {
        Err(error) if error.kind() == kind => Ok(error),
        Err(error) => {
            Err(Failure::broken(format!("refused as {} ({error}), expected {kind}", error.kind())))
        }
        Ok(answer) => Err(Failure::broken(format!("not refused as {kind}: {answer:?}"))),
    }
}

/// What a case works with.
#[derive(Debug)]
pub struct Bench {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The suite's keyspace on it.
    pub schema: Arc<Schema>,
    /// What it says of itself.
    pub description: Description,
    /// The instant of every batch that says nothing else.
    pub now: Milliseconds,
    /// How clients run at the same time.
    pub clients: Clients,
    /// How hard random cases try: 1 is enough for every day.
    pub effort: u32,
    /// The seed of this case.
    pub seed: u64,
    random: SeededRandom,
}

/// A minute.
pub const MINUTE: Milliseconds = 60_000;
/// An hour.
pub const HOUR: Milliseconds = 60 * MINUTE;

impl Bench {
    pub(super) fn new(
        store: Arc<dyn Store>,
        schema: Arc<Schema>,
        options: &super::Options,
        seed: u64,
    ) -> Self {
        let description = store.describe();
        let (now, clients, effort) = (options.now, options.clients, options.effort);
        let random = SeededRandom::new(seed);
        Bench { store, schema, description, now, clients, effort, seed, random }
    }

    /// A number by chance, below `below`.
    pub fn below(&self, below: u64) -> u64 {
        self.random.number() % below.max(1)
    }

    /// A new id.
    pub fn id(&self) -> CommitId {
        CommitId::new(self.now, &self.random)
    }

    /// The name of a room of this case.
    pub fn room(&self, number: usize) -> Value {
        Value::Text(format!("{:016x}-{number}", self.seed))
    }

    /// The room next door, if a commit reaches it; otherwise the first room again.
    pub fn next_door(&self) -> usize {
        match self.description.atomicity {
            Atomicity::WholeStore => 1,
            Atomicity::Group => 0,
        }
    }

    /// Goes on only where a commit reaches any rows.
    pub fn whole_store(&self) -> Checked {
        match self.description.atomicity {
            Atomicity::WholeStore => Ok(()),
            Atomicity::Group => Err(Failure::NotOffered("a commit reaches one place only")),
        }
    }

    /// Goes on only where a commit reaches one place.
    pub fn group_only(&self) -> Checked {
        match self.description.atomicity {
            Atomicity::Group => Ok(()),
            Atomicity::WholeStore => Err(Failure::NotOffered("a commit reaches every place")),
        }
    }

    /// Goes on only where rows have trails.
    pub fn with_trails(&self) -> Checked {
        self.group_only().map_err(|_| Failure::NotOffered("rows have no trails"))
    }

    /// The shape of a collection's keys.
    pub fn shape(&self, collection: &str) -> Checked<&KeyShape> {
        Ok(&self.schema.collection(collection)?.key)
    }

    /// A key of a room of this case.
    pub fn key_in(&self, room: usize, collection: &str, name: &str) -> Checked<Key> {
        let values = [self.room(room), Value::Text(name.to_string())];
        Ok(self.shape(collection)?.encode(&values)?)
    }

    /// A key of the first room.
    pub fn key(&self, collection: &str, name: &str) -> Checked<Key> {
        self.key_in(0, collection, name)
    }

    /// Keys of the first room: `prefix` and a number of four digits.
    pub fn keys(&self, collection: &str, prefix: &str, count: usize) -> Checked<Vec<Key>> {
        (0..count).map(|n| self.key(collection, &format!("{prefix}{n:04}"))).collect()
    }

    /// Everything of a collection in a room.
    pub fn range_in(&self, room: usize, collection: &str) -> Checked<Range> {
        let shape = self.shape(collection)?;
        Ok(shape.children(&shape.front(&[self.room(room)])?))
    }

    /// A batch at the bench's time.
    pub fn batch(&self, checks: Vec<Check>, writes: Vec<Write>) -> Batch {
        self.batch_at(self.now, checks, writes)
    }

    /// A batch.
    pub fn batch_at(&self, now: Milliseconds, checks: Vec<Check>, writes: Vec<Write>) -> Batch {
        let id = CommitId::new(now, &self.random);
        Batch { id, now, checks, writes, deadline: now + MINUTE }
    }

    /// Commits, and expects it to succeed.
    pub async fn committed(&self, batch: &Batch) -> Checked<Vec<Total>> {
        match self.store.commit(batch).await? {
            Outcome::Committed { totals } => Ok(totals),
            other => Err(Failure::broken(format!("not committed: {other:?}"))),
        }
    }

    /// Commits, and expects a conflict.
    pub async fn conflict(&self, batch: &Batch) -> Checked<Conflict> {
        match self.store.commit(batch).await? {
            Outcome::Conflict(conflict) => Ok(conflict),
            other => Err(Failure::broken(format!("no conflict: {other:?}"))),
        }
    }

    /// Writes without checks; answers the id.
    pub async fn write(&self, writes: Vec<Write>) -> Checked<CommitId> {
        let batch = self.batch(Vec::new(), writes);
        self.committed(&batch).await?;
        Ok(batch.id)
    }

    /// What lies under a key, ended or not.
    pub async fn lies(&self, key: &Key) -> Checked<Option<Row>> {
        let mut rows = self.store.get(std::slice::from_ref(key)).await?;
        same("rows answered for one key", rows.len(), 1)?;
        Ok(rows.pop().flatten())
    }

    /// What lies under a key and has not ended; a store may let others go at any time.
    pub async fn unended(&self, key: &Key) -> Checked<Option<Row>> {
        Ok(self.lies(key).await?.filter(|row| !row.is_expired(self.now)))
    }

    /// The live row under a key.
    pub async fn row(&self, key: &Key) -> Checked<Option<Row>> {
        Ok(self.lies(key).await?.filter(|row| row.is_live(self.now)))
    }

    /// Expects this row under a key.
    pub async fn expect_row(&self, what: &str, key: &Key, expected: Option<Row>) -> Checked {
        same(what, self.row(key).await?, expected)
    }

    /// Expects a counter to have come to this.
    pub async fn expect_count(&self, what: &str, key: &Key, value: Option<i64>) -> Checked {
        let found = self.row(key).await?.map(|row| row.value);
        same(what, found, value.map(|value| Bytes::copy_from_slice(&value.to_be_bytes())))
    }

    /// One page.
    pub async fn page(&self, range: &Range, reverse: bool, rows: usize) -> Checked<Page> {
        let scan = Scan { range: range.clone(), reverse, rows };
        let page = self.store.scan(&scan).await?;
        if page.rows.iter().all(|keyed| keyed.row.trail.is_none()) {
            self.shows(&scan, &page).await?;
        }
        Ok(page)
    }

    /// Holds rows that the store shows one after the other, where it does, against those that it
    /// answers together: all of them, all without their versions, and the first alone.
    async fn shows(&self, scan: &Scan, page: &Page) -> Checked {
        let cases = [
            (usize::MAX, Versions::Wanted),
            (usize::MAX, Versions::Unwanted),
            (1, Versions::Wanted),
        ];
        for (wanted, versions) in cases {
            let (mut later, mut at_once) = (Vec::new(), Vec::new());
            let mut ends = [None, None];
            let mut show = |row: &Seen<'_>| {
                later.push(row.to_keyed()?);
                Ok(later.len() < wanted)
            };
            ends[0] = self.store.each(scan, versions, &mut show).await?;
            if let Some(store) = self.store.at_once() {
                let mut show = |row: &Seen<'_>| {
                    at_once.push(row.to_keyed()?);
                    Ok(at_once.len() < wanted)
                };
                ends[1] = Some(store.each(scan, versions, &mut show)?);
            }
            let is_cut = page.rows.len() >= wanted;
            let mut expected = Page {
                rows: page.rows.iter().take(wanted).cloned().collect(),
                end: if is_cut { End::Rows } else { page.end },
            };
            leave_out(&mut expected.rows, versions);
            for (mut rows, end) in [later, at_once].into_iter().zip(ends) {
                if let Some(end) = end {
                    leave_out(&mut rows, versions);
                    same("rows shown one after the other", &Page { rows, end }, &expected)?;
                }
            }
        }
        Ok(())
    }

    /// All rows of a range, page by page.
    pub async fn all(&self, range: &Range, reverse: bool, rows: usize) -> Checked<Vec<Keyed>> {
        let mut left = range.clone();
        let mut all: Vec<Keyed> = Vec::new();
        loop {
            let page = self.page(&left, reverse, rows).await?;
            super::page_is_sound(&left, reverse, rows, &page)?;
            let last = page.rows.last().map(|keyed| keyed.key.clone());
            all.extend(page.rows);
            match (page.end, last) {
                (End::Range, _) | (_, None) => return Ok(all),
                (_, Some(last)) => left = left.after(&last, reverse),
            }
        }
    }
}

/// A check.
pub fn check(key: &Key, expect: Expect) -> Check {
    Check { key: key.clone(), expect }
}

/// A put with a version.
pub fn put(key: &Key, value: impl Into<Bytes>) -> Write {
    put_until(key, value, None)
}

/// A put with a version, and an end.
pub fn put_until(key: &Key, value: impl Into<Bytes>, expires: Option<Milliseconds>) -> Write {
    Write::Put { key: key.clone(), value: value.into(), expires, versioned: true, trail: None }
}

/// A put without a version.
pub fn plain(key: &Key, value: impl Into<Bytes>) -> Write {
    plain_until(key, value, None)
}

/// A put without a version, with an end.
pub fn plain_until(key: &Key, value: impl Into<Bytes>, expires: Option<Milliseconds>) -> Write {
    Write::Put { key: key.clone(), value: value.into(), expires, versioned: false, trail: None }
}

/// A delete.
pub fn delete(key: &Key) -> Write {
    Write::Delete { key: key.clone() }
}

/// An add to a counter.
pub fn add(key: &Key, amount: i64) -> Write {
    add_until(key, amount, None)
}

/// An add to a counter with an end.
pub fn add_until(key: &Key, amount: i64, expires: Option<Milliseconds>) -> Write {
    Write::Add { key: key.clone(), amount, expires, window: None }
}

/// An add to a window.
pub fn pass(key: &Key, amount: i64, limit: i64, expires: Milliseconds) -> Write {
    let window = Some(WindowRule { limit });
    Write::Add { key: key.clone(), amount, expires: Some(expires), window }
}

/// A row with a version.
pub fn versioned(value: impl Into<Bytes>, version: CommitId) -> Option<Row> {
    Some(Row { value: value.into(), version: Some(version), expires: None, trail: None })
}

/// A row without a version.
pub fn unversioned(value: impl Into<Bytes>) -> Option<Row> {
    Some(Row { value: value.into(), version: None, expires: None, trail: None })
}

/// The same row, with an end.
pub fn until(row: Option<Row>, expires: Milliseconds) -> Option<Row> {
    row.map(|row| Row { expires: Some(expires), ..row })
}

/// Takes the versions away that are unwanted: a store may have left them out.
pub(super) fn leave_out<'k>(rows: impl IntoIterator<Item = &'k mut Keyed>, versions: Versions) {
    if versions == Versions::Unwanted {
        rows.into_iter().for_each(|keyed| keyed.row.version = None);
    }
}
