//! A sequence under way: the store, the oracle, and what is said to both.

use super::{Asked, COLLECTIONS, Change, LIMIT, Step};
use crate::clock::Milliseconds;
use crate::store::{
    Batch, Check, CommitId, End, Expect, Key, Keyed, Range, Scan, WindowRule, Write,
};
use crate::suite::bench::{Bench, Checked, Failure, MINUTE, holds, same};
use crate::suite::oracle::Oracle;
use crate::suite::page_is_sound;
use bytes::Bytes;
use std::collections::HashMap;

/// A sequence under way.
pub(super) struct State<'b> {
    bench: &'b Bench,
    room: usize,
    keys: Vec<(&'static str, Key)>,
    now: Milliseconds,
    oracle: Oracle,
    sent: Vec<Batch>,
    swept: Milliseconds,
    old: HashMap<Key, CommitId>,
}

impl<'b> State<'b> {
    /// Nothing yet, in this room.
    pub(super) fn new(bench: &'b Bench, room: usize) -> Checked<Self> {
        let mut keys = Vec::new();
        for (collection, count) in COLLECTIONS {
            for number in 0..count {
                let key = bench.key_in(room, collection, &format!("row{number}"))?;
                keys.push((collection, key));
            }
        }
        Ok(State {
            bench,
            room,
            keys,
            now: bench.now,
            oracle: Oracle::default(),
            sent: Vec::new(),
            swept: Milliseconds::MIN,
            old: HashMap::new(),
        })
    }

    fn key(&self, row: usize) -> Checked<&(&'static str, Key)> {
        self.keys.get(row).ok_or_else(|| Failure::broken("the model has no such row"))
    }

    /// Does one step, and compares what came of it.
    pub(super) async fn step(&mut self, step: &Step) -> Checked {
        match step {
            Step::Commit(checks, writes) => {
                let batch = self.batch(checks, writes)?;
                self.commit(batch).await
            }
            Step::Again(ago) => {
                let sent = self.sent.iter().rev().nth(*ago).cloned();
                match sent.filter(|batch| self.may_send_again(batch)) {
                    Some(batch) => self.commit(batch).await,
                    None => Ok(()),
                }
            }
            Step::Get(rows) => {
                for row in rows {
                    self.compare_row(*row).await?;
                }
                Ok(())
            }
            Step::Scan(from, to, reverse, size) => {
                let range = self.range(*from, *to)?;
                self.scan(&range, *reverse, *size).await
            }
            Step::Pass(milliseconds) => {
                self.now += milliseconds;
                Ok(())
            }
            Step::Sweep(rows) => {
                self.bench.store.sweep(self.now, *rows).await?;
                self.swept = self.now;
                Ok(())
            }
        }
    }

    /// Whether the store still owes an answer: it may have forgotten the batch, or, if it was not
    /// committed, have let rows go that had not ended at the batch's time.
    fn may_send_again(&self, batch: &Batch) -> bool {
        let remembered = self.now - batch.now <= 10 * MINUTE;
        remembered && (self.oracle.has_committed(&batch.id) || batch.now >= self.swept)
    }

    /// A batch of what the steps name.
    fn batch(&self, checks: &[(usize, Asked)], writes: &[(usize, Change)]) -> Checked<Batch> {
        let mut batch = self.bench.batch_at(self.now, Vec::new(), Vec::new());
        for (row, asked) in checks {
            let (_, key) = self.key(*row)?;
            let current = self.oracle.lies(key).and_then(|row| row.version);
            let expect = match asked {
                Asked::Absent => Expect::Absent,
                Asked::Present => Expect::Present,
                Asked::Current => Expect::Version(current.unwrap_or(batch.id)),
                Asked::Old => Expect::Version(self.old.get(key).copied().unwrap_or(batch.id)),
            };
            batch.checks.push(Check { key: key.clone(), expect });
        }
        for (row, change) in writes {
            let (collection, key) = self.key(*row)?;
            batch.writes.push(self.write(collection, key.clone(), *change));
        }
        Ok(batch)
    }

    fn write(&self, collection: &str, key: Key, change: Change) -> Write {
        let ends = matches!(collection, "leases" | "hours" | "gates" | "copies");
        let until = |life: Milliseconds| ends.then_some(self.now + life);
        match change {
            Change::Delete => Write::Delete { key },
            Change::Put(byte, life) => Write::Put {
                key,
                value: Bytes::from(vec![byte; usize::from(byte % 5)]),
                expires: until(life),
                versioned: matches!(collection, "notes" | "leases"),
                trail: None,
            },
            Change::Add(amount, life) => Write::Add {
                key,
                amount,
                expires: until(life),
                window: (collection == "gates").then_some(WindowRule { limit: LIMIT }),
            },
        }
    }

    async fn commit(&mut self, batch: Batch) -> Checked {
        for write in &batch.writes {
            if let Some(version) = self.oracle.lies(write.key()).and_then(|row| row.version) {
                self.old.insert(write.key().clone(), version);
            }
        }
        let expected = self.oracle.commit(&batch);
        let found = self.bench.store.commit(&batch).await?;
        same("the outcome", found, expected)?;
        self.sent.push(batch);
        Ok(())
    }

    async fn compare_row(&self, row: usize) -> Checked {
        let (_, key) = self.key(row)?;
        let found = self.bench.lies(key).await?.filter(|row| !row.is_expired(self.now));
        let expected = self.oracle.lies(key).filter(|row| !row.is_expired(self.now)).cloned();
        same("a row", found, expected)
    }

    /// From one row to another of its collection, or all of the collection.
    fn range(&self, from: usize, to: usize) -> Checked<Range> {
        let (collection, start) = self.key(from)?;
        match self.keys.get(to) {
            Some((other, end)) if other == collection => {
                Ok(Range { start: start.bytes().clone(), end: end.bytes().clone() })
            }
            _ => self.bench.range_in(self.room, collection),
        }
    }

    /// Pages through a range; rows that have ended may be among them.
    async fn scan(&self, range: &Range, reverse: bool, rows: usize) -> Checked {
        let expected = self.oracle.scan(range, reverse, self.now);
        let mut left = range.clone();
        let mut found: Vec<Keyed> = Vec::new();
        loop {
            let scan = Scan { range: left.clone(), reverse, rows };
            let page = self.bench.store.scan(&scan).await?;
            page_is_sound(&left, reverse, rows, &page)?;
            let last = page.rows.last().map(|keyed| keyed.key.clone());
            let live = page.rows.into_iter().filter(|keyed| !keyed.row.is_expired(self.now));
            found.extend(live);
            match (page.end, last) {
                (End::Range, _) => return same("rows of a range", found, expected),
                (_, None) => return holds("a page that goes on has rows", false),
                (_, Some(last)) => left = left.after(&last, reverse),
            }
        }
    }

    /// Everything there is.
    pub(super) async fn compare(&self) -> Checked {
        for row in 0..self.keys.len() {
            self.compare_row(row).await?;
        }
        for (collection, _) in COLLECTIONS {
            let range = self.bench.range_in(self.room, collection)?;
            self.scan(&range, false, 100).await?;
        }
        Ok(())
    }
}
