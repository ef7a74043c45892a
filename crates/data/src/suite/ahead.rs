//! A store whose instants are moved, for stores that drop rows by a clock of their own.
//!
//! The suite's clock stands wherever its scripts say. A server that ends rows by the real time
//! would drop some of them at once as soon as that time has passed; moved, none of them has.

use crate::clock::{Milliseconds, SystemTimeSampled};
use crate::error::Result;
use crate::schema::Schema;
use crate::store::{
    Batch, Conflict, Description, Found, Joined, Key, Keyed, Outcome, Page, Row, Scan, Store,
    Stretch, Through, Total, Write,
};
use async_trait::async_trait;
use keyspace::model::Keyspace;
use std::sync::Arc;

/// A day.
const DAY: Milliseconds = 24 * 60 * 60 * 1_000;

/// A store whose instants are so much later than they are given.
#[derive(Debug)]
pub struct Ahead {
    store: Arc<dyn Store>,
    ahead: Milliseconds,
}

impl Ahead {
    /// Moves instants so far that the suite's own are a day ahead of the machine's clock.
    pub fn of_clock(store: Arc<dyn Store>) -> Self {
        let now = SystemTimeSampled::start().now();
        Ahead { store, ahead: (now + DAY - super::Options::default().now).max(0) }
    }

    fn earlier(&self, ends: Option<Milliseconds>) -> Option<Milliseconds> {
        ends.map(|ends| ends.saturating_sub(self.ahead))
    }

    fn row(&self, row: Row) -> Row {
        Row { expires: self.earlier(row.expires), ..row }
    }

    fn total(&self, total: Total) -> Total {
        Total { expires: self.earlier(total.expires), ..total }
    }

    fn page(&self, page: Page) -> Page {
        let rows = page.rows.into_iter();
        let rows = rows.map(|keyed| Keyed { key: keyed.key, row: self.row(keyed.row) });
        Page { rows: rows.collect(), end: page.end }
    }

    fn batch(&self, batch: &Batch) -> Batch {
        let mut moved = batch.clone();
        moved.now = moved.now.saturating_add(self.ahead);
        moved.deadline = moved.deadline.saturating_add(self.ahead);
        for write in &mut moved.writes {
            match write {
                Write::Put { expires, .. } | Write::Add { expires, .. } => {
                    *expires = expires.map(|ends| ends.saturating_add(self.ahead));
                }
                Write::Delete { .. } => {}
            }
        }
        moved
    }
}

#[async_trait]
impl Store for Ahead {
    fn describe(&self) -> Description {
        self.store.describe()
    }

    async fn ensure(&self, keyspace: &Arc<Keyspace>) -> Result<Arc<Schema>> {
        self.store.ensure(keyspace).await
    }

    async fn get(&self, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        let rows = self.store.get(keys).await?;
        Ok(rows.into_iter().map(|row| row.map(|row| self.row(row))).collect())
    }

    async fn scan(&self, scan: &Scan) -> Result<Page> {
        Ok(self.page(self.store.scan(scan).await?))
    }

    async fn scan_through(&self, through: &Through<'_>) -> Result<Option<Joined>> {
        let Some(Joined { entries, rows }) = self.store.scan_through(through).await? else {
            return Ok(None);
        };
        let moved = |found: Keyed| Keyed { row: self.row(found.row), key: found.key };
        let rows = rows.into_iter().map(|row| row.map(moved)).collect();
        Ok(Some(Joined { entries: self.page(entries), rows }))
    }

    async fn walk(&self, scan: &Scan) -> Result<Page> {
        Ok(self.page(self.store.walk(scan).await?))
    }

    async fn walk_from(
        &self,
        space: u16,
        mark: Option<&[u8]>,
        rows: usize,
    ) -> Result<Option<Stretch>> {
        let Some(stretch) = self.store.walk_from(space, mark, rows).await? else {
            return Ok(None);
        };
        let moved = |found: Keyed| Keyed { row: self.row(found.row), key: found.key };
        let rows = stretch.rows.into_iter().map(moved).collect();
        Ok(Some(Stretch { rows, mark: stretch.mark }))
    }

    async fn commit(&self, batch: &Batch) -> Result<Outcome> {
        Ok(match self.store.commit(&self.batch(batch)).await? {
            Outcome::Committed { totals } => {
                let totals = totals.into_iter().map(|total| self.total(total));
                Outcome::Committed { totals: totals.collect() }
            }
            Outcome::Conflict(Conflict { at, found }) => {
                let found = match found {
                    Found::Full(total) => Found::Full(self.total(total)),
                    Found::Overflow(total) => Found::Overflow(self.total(total)),
                    found => found,
                };
                Outcome::Conflict(Conflict { at, found })
            }
            outcome => outcome,
        })
    }

    async fn sweep(&self, now: Milliseconds, rows: usize) -> Result<usize> {
        self.store.sweep(now.saturating_add(self.ahead), rows).await
    }

    fn remarks(&self) -> Vec<String> {
        self.store.remarks()
    }

    async fn close(&self) -> Result<()> {
        self.store.close().await
    }
}
