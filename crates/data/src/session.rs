//! One call's view of its store: what it reads and writes is counted here and nowhere else.
//!
//! Every execution carries a session. At the end its usage is held against the bounds of the plan;
//! passing them is an error in tests, and behind a switch for users.

mod guess;
mod usage;

pub use usage::Usage;

use crate::clock::Milliseconds;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::Shared;
use crate::schema::Schema;
use crate::store::{
    AtOnce, Batch, End, Joined, Key, Keyed, Outcome, Page, Range, Row, Scan, Seen, Show, ShowNamed,
    Store, Through, Versions,
};
use crate::watch::Interest;
use futures_util::future::try_join_all;
use keyspace::plan::Bounds;
use std::sync::Arc;
use usage::{counting, counting_named};

/// One call's view of its store.
#[derive(Debug)]
pub struct Session<'a> {
    store: &'a dyn Store,
    /// The same store, if it answers reads without waiting.
    at_once: Option<&'a dyn AtOnce>,
    schema: &'a Arc<Schema>,
    shared: Option<&'a Shared>,
    /// Whether sets may run more than once under one id: the caller chose it.
    pub repeatable: bool,
    /// How often the call has waited for a claim in other hands.
    pub(crate) claim_waits: u32,
    /// The instant of the call: expiry is judged by it.
    pub now: Milliseconds,
    /// Until when it may try.
    pub deadline: Milliseconds,
    /// What it has cost so far.
    pub usage: Usage,
    /// What it has looked at, where somebody wants to know. Boxed: hardly anybody does.
    pub seen: Option<Box<Interest>>,
}

impl<'a> Session<'a> {
    /// A session of a call at `now`.
    pub fn new(
        store: &'a dyn Store,
        schema: &'a Arc<Schema>,
        now: Milliseconds,
        deadline: Milliseconds,
    ) -> Self {
        Session {
            store,
            at_once: store.at_once(),
            schema,
            shared: None,
            repeatable: true,
            claim_waits: 0,
            now,
            deadline,
            usage: Usage::default(),
            seen: None,
        }
    }

    /// The same session with what the calls of its run time share; without, it never waits.
    pub fn sharing(mut self, shared: &'a Shared) -> Self {
        self.shared = Some(shared);
        self
    }

    /// What the calls of its run time share.
    pub fn shared(&self) -> Option<&'a Shared> {
        self.shared
    }

    /// The store, if it answers reads without waiting.
    pub fn at_once(&self) -> Option<&'a dyn AtOnce> {
        self.at_once
    }

    /// The schema of the store.
    pub fn schema(&self) -> &'a Arc<Schema> {
        self.schema
    }

    /// The store, for what is not counted.
    pub fn store(&self) -> &'a dyn Store {
        self.store
    }

    /// The rows under these keys, in their order; expired ones and tombstones included.
    pub async fn get(&mut self, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        self.look_at(keys);
        let rows = match self.at_once {
            Some(store) => store.rows(keys)?,
            None => self.store.get(keys).await?,
        };
        if rows.len() != keys.len() {
            return Err(Error::new(ErrorKind::Internal, "a store answered another number of rows"));
        }
        self.usage.round_trips += 1;
        keys.iter().zip(&rows).for_each(|(key, row)| self.count_row(key, row.as_ref()));
        Ok(rows)
    }

    /// The row under a key, from a store that answers without waiting.
    pub fn get_at_once(&mut self, store: &dyn AtOnce, key: &Key) -> Result<Option<Row>> {
        self.look_at(std::slice::from_ref(key));
        let row = store.row(key)?;
        self.usage.round_trips += 1;
        self.count_row(key, row.as_ref());
        Ok(row)
    }

    /// Shows the same row where it lies, if it is there.
    pub fn look_at_once(
        &mut self,
        store: &dyn AtOnce,
        key: &Key,
        versions: Versions,
        show: &mut Show<'_>,
    ) -> Result<()> {
        self.look_at(std::slice::from_ref(key));
        self.usage.round_trips += 1;
        let mut weight = 0;
        store.look(key, versions, &mut |row| {
            weight = row.weight();
            show(row)
        })?;
        self.usage.count_row(weight);
        Ok(())
    }

    fn count_row(&mut self, key: &Key, row: Option<&Row>) {
        self.usage.count_row(row.map_or(0, |row| key.bytes().len() + row.weight()));
    }

    /// A stretch of one range.
    pub async fn scan(&mut self, scan: &Scan) -> Result<Page> {
        if scan.range.is_empty() {
            return Ok(Page { rows: Vec::new(), end: End::Range });
        }
        self.look_along(&scan.range);
        let page = match self.at_once {
            Some(store) => store.scan(scan)?,
            None => self.store.scan(scan).await?,
        };
        self.usage.round_trips += 1;
        self.count(scan, &page)?;
        Ok(page)
    }

    /// Shows the rows of a stretch of one range one after the other, from a store that answers
    /// without waiting; it is counted by whoever asks for several stretches at once.
    pub fn each(
        &mut self,
        store: &dyn AtOnce,
        scan: &Scan,
        versions: Versions,
        show: &mut Show<'_>,
    ) -> Result<End> {
        if scan.range.is_empty() {
            return Ok(End::Range);
        }
        self.look_along(&scan.range);
        store.each(scan, versions, &mut counting(&mut self.usage, scan, show))
    }

    /// The same from any store, counted as a scan is.
    pub async fn each_later(
        &mut self,
        scan: &Scan,
        versions: Versions,
        show: &mut Show<'_>,
    ) -> Result<End> {
        if scan.range.is_empty() {
            return Ok(End::Range);
        }
        self.usage.round_trips += 1;
        if let Some(store) = self.at_once {
            return self.each(store, scan, versions, show);
        }
        self.look_along(&scan.range);
        let mut counting = counting(&mut self.usage, scan, show);
        if let Some(end) = self.store.each(scan, versions, &mut counting).await? {
            return Ok(end);
        }
        let page = self.store.scan(scan).await?;
        for Keyed { key, row } in &page.rows {
            if !counting(&Seen::of(key, row))? {
                return Ok(End::Rows);
            }
        }
        Ok(page.end)
    }

    /// A stretch of an index with the rows that its entries name; nothing from a store that reads
    /// them apart.
    pub async fn scan_through(&mut self, through: &Through<'_>) -> Result<Option<Joined>> {
        self.look_along(&through.scan.range);
        let joined = match self.at_once {
            Some(store) => Some(store.scan_through(through)?),
            None => self.store.scan_through(through).await?,
        };
        if let Some(joined) = &joined {
            self.usage.round_trips += 1;
            self.count(through.scan, &joined.entries)?;
            self.usage.rows_read += joined.rows.len() as u64;
            for keyed in joined.rows.iter().flatten() {
                self.usage.bytes_read += (keyed.key.bytes().len() + keyed.row.weight()) as u64;
                if let Some(seen) = &mut self.seen {
                    seen.keys.push(keyed.key.clone());
                }
            }
        }
        Ok(joined)
    }

    /// Shows a stretch of an index with the rows that its entries name, from a store that answers
    /// without waiting.
    pub fn each_through(
        &mut self,
        store: &dyn AtOnce,
        through: &Through<'_>,
        versions: Versions,
        show: &mut ShowNamed<'_>,
    ) -> Result<End> {
        self.look_along(&through.scan.range);
        self.usage.round_trips += 1;
        let Session { usage, seen, .. } = self;
        store.each_through(through, versions, &mut counting_named(usage, seen, through.scan, show))
    }

    /// The same from any store; nothing from one that reads entries and rows apart.
    pub async fn each_through_later(
        &mut self,
        through: &Through<'_>,
        versions: Versions,
        show: &mut ShowNamed<'_>,
    ) -> Result<Option<End>> {
        if let Some(store) = self.at_once {
            return self.each_through(store, through, versions, show).map(Some);
        }
        self.look_along(&through.scan.range);
        self.usage.round_trips += 1;
        let Session { store, usage, seen, .. } = self;
        let mut counting = counting_named(usage, seen, through.scan, show);
        if let Some(end) = store.each_through(through, versions, &mut counting).await? {
            return Ok(Some(end));
        }
        if let Some(joined) = store.scan_through(through).await? {
            return joined.each(&mut counting).map(Some);
        }
        drop(counting);
        self.usage.round_trips -= 1;
        Ok(None)
    }

    /// Stretches of several ranges, asked for together: one wait.
    pub async fn scan_together(&mut self, scans: &[Scan]) -> Result<Vec<Page>> {
        scans.iter().for_each(|scan| self.look_along(&scan.range));
        let store = self.store;
        let pages = match self.at_once {
            Some(store) => scans.iter().map(|scan| store.scan(scan)).collect::<Result<_>>()?,
            None => try_join_all(scans.iter().map(|scan| store.scan(scan))).await?,
        };
        self.usage.round_trips += 1;
        for (scan, page) in scans.iter().zip(&pages) {
            self.count(scan, page)?;
        }
        Ok(pages)
    }

    fn count(&mut self, scan: &Scan, page: &Page) -> Result<()> {
        page.rows.iter().try_for_each(|Keyed { key, row }| {
            self.usage.take(scan, (key.as_ref(), key.bytes().len() + row.weight()))
        })
    }

    /// All of the batch, or nothing.
    pub async fn commit(&mut self, batch: &Batch) -> Result<Outcome> {
        self.count_batch(batch);
        let outcome = self.store.commit(batch).await;
        self.touched(batch);
        outcome
    }

    /// The same of a batch whose id was made for it, and that was never sent.
    pub async fn commit_new(&mut self, batch: &Batch) -> Result<Outcome> {
        self.count_batch(batch);
        let outcome = self.store.commit_new(batch).await;
        self.touched(batch);
        outcome
    }

    fn count_batch(&mut self, batch: &Batch) {
        self.usage.round_trips += 1;
        self.usage.rows_written += batch.writes.len() as u64;
        self.usage.bytes_written += batch.writes.iter().map(|w| w.bytes() as u64).sum::<u64>();
    }

    /// Batches for different places, sent together: one wait.
    pub async fn commit_together(&mut self, batches: &[Batch]) -> Result<Vec<Outcome>> {
        if batches.is_empty() {
            return Ok(Vec::new());
        }
        self.usage.round_trips += 1;
        for batch in batches {
            self.usage.rows_written += batch.writes.len() as u64;
            self.usage.bytes_written += batch.writes.iter().map(|w| w.bytes() as u64).sum::<u64>();
        }
        let store = self.store;
        let outcomes = try_join_all(batches.iter().map(|batch| store.commit(batch))).await;
        batches.iter().for_each(|batch| self.touched(batch));
        outcomes
    }

    /// Wakes whoever waits for rows of a batch: it is there, or may be.
    #[inline]
    pub(crate) fn touched(&self, batch: &Batch) {
        if let Some(shared) = self.shared {
            shared.watchers().touched(batch);
        }
    }

    fn look_at(&mut self, keys: &[Key]) {
        if let Some(seen) = &mut self.seen {
            seen.keys.extend_from_slice(keys);
        }
    }

    fn look_along(&mut self, range: &Range) {
        if let Some(seen) = &mut self.seen {
            seen.ranges.push(range.clone());
        }
    }

    /// Holds what was used against what the plan allows.
    pub fn hold_to(&self, bounds: &Bounds) -> Result<()> {
        let attempts = bounds.attempts;
        let most = |one: u64| one.saturating_mul(attempts);
        let used = [
            ("round_trips", self.usage.round_trips, most(bounds.round_trips)),
            ("rows_read", self.usage.rows_read, most(bounds.rows_read)),
            ("rows_written", self.usage.rows_written, most(bounds.rows_written)),
            ("bytes_read", self.usage.bytes_read, most(bounds.bytes_read)),
            ("bytes_written", self.usage.bytes_written, most(bounds.bytes_written)),
            ("attempts", self.usage.attempts, attempts),
        ];
        match used.into_iter().find(|(_, used, allowed)| used > allowed) {
            None => Ok(()),
            Some((what, used, allowed)) => {
                Err(Error::new(ErrorKind::Bound, "a call used more than its plan allows")
                    .with("what", what)
                    .with("used", used)
                    .with("allowed", allowed))
            }
        }
    }
}
