//! What lasts: a store that is closed and opened again is as it was.
//!
//! ```text
//! open ─▶ write ─▶ close ─▶ open ─▶ the same numbers, rows, versions, ends, outcomes ─▶ close ─▶ …
//! ```
//!
//! The other cases never let go of a store, and one that keeps everything in memory passes them.

use super::bench::{
    Bench, Checked, HOUR, add, add_until, check, delete, holds, pass, plain, plain_until, put,
    put_until, same, until, unversioned, versioned,
};
use super::{Make, Options, keyspace, seed};
use crate::store::{Batch, Expect, Key, Row, Stretch, Total};
use std::collections::BTreeSet;

/// How often the store is opened again: the second time after one that wrote next to nothing.
const OPENED_AGAIN: u64 = 2;

/// Writes, closes the store, opens it again and reads. `open` opens the same place each time.
pub async fn run(open: Make<'_>, options: &Options) -> Checked {
    let bench = opened(open, options, 0).await?;
    let written = Written::write(&bench).await?;
    let catalogue = bench.schema.catalogue().clone();
    let mut walk = Walked::begin(&bench).await?;
    bench.store.close().await?;
    drop(bench);
    for time in 1..=OPENED_AGAIN {
        let bench = opened(open, options, time).await?;
        same("the numbers", bench.schema.catalogue(), &catalogue)?;
        written.expect(&bench).await?;
        walk.stretch(&bench, if time < OPENED_AGAIN { 1 } else { usize::MAX }).await?;
        bench.store.close().await?;
    }
    Ok(())
}

/// The store, opened for so many times before; ids differ from time to time.
async fn opened(open: Make<'_>, options: &Options, time: u64) -> Checked<Bench> {
    let store = open().await;
    let schema = store.ensure(&keyspace()?).await?;
    Ok(Bench::new(store, schema, options, seed("it lasts", options.seed + time)))
}

/// A walk that goes on each time the store is opened.
struct Walked {
    /// Rows that it has not met.
    lacking: BTreeSet<Key>,
    mark: Option<Vec<u8>>,
}

impl Walked {
    async fn begin(bench: &Bench) -> Checked<Walked> {
        let mut lacking = BTreeSet::new();
        for (room, name) in [(0, "a"), (0, "b"), (0, "c"), (1, "a"), (1, "b"), (1, "c")] {
            let key = bench.key_in(room, "blobs", name)?;
            bench.write(vec![plain(&key, "walked")]).await?;
            lacking.insert(key);
        }
        let mut walk = Walked { lacking, mark: None };
        walk.stretch(bench, 1).await?;
        Ok(walk)
    }

    /// Goes on for so many stretches of a row; at its end everything was met.
    async fn stretch(&mut self, bench: &Bench, stretches: usize) -> Checked {
        let space = bench.shape("blobs")?.space;
        for _ in 0..stretches {
            let found = bench.store.walk_from(space, self.mark.as_deref(), 1).await?;
            let Some(Stretch { rows, mark }) = found else {
                return holds("a mark outlives the store that gave it", false);
            };
            self.lacking.retain(|key| rows.iter().all(|keyed| keyed.key != *key));
            self.mark = mark;
            if self.mark.is_none() {
                return same("keys that were not met", &self.lacking, &BTreeSet::new());
            }
        }
        Ok(())
    }
}

/// What was written, as it must be found.
struct Written {
    /// Batches that were committed, with what they answered.
    batches: Vec<(Batch, Vec<Total>)>,
    /// Rows that must be there, and keys at which there is none.
    rows: Vec<(Key, Option<Row>)>,
}

impl Written {
    async fn write(bench: &Bench) -> Checked<Written> {
        let key = |collection, name| bench.key(collection, name);
        let end = bench.now + HOUR;
        let (kept, gone, ends) =
            (key("notes", "kept")?, key("notes", "gone")?, key("copies", "x")?);
        let (count, hour, gate) = (key("counts", "c")?, key("hours", "h")?, key("gates", "g")?);
        let lease = key("leases", "l")?;
        bench.write(vec![put(&kept, "old"), put(&gone, "old")]).await?;
        let rows = bench
            .batch(vec![check(&lease, Expect::Absent)], vec![put(&kept, "new"), delete(&gone)]);
        let adds = bench.batch(
            Vec::new(),
            vec![add(&count, 5), add_until(&hour, 7, Some(end)), pass(&gate, 2, 10, end)],
        );
        let plain = bench.batch(Vec::new(), vec![plain_until(&ends, "plain", Some(end))]);
        let leased = bench.batch(Vec::new(), vec![put_until(&lease, "leased", Some(end))]);
        let mut batches = Vec::new();
        for batch in [&rows, &adds, &plain, &leased] {
            batches.push((batch.clone(), bench.committed(batch).await?));
        }
        let number = |number: i64| number.to_be_bytes().to_vec();
        Ok(Written {
            rows: vec![
                (kept, versioned("new", rows.id)),
                (gone, None),
                (ends, until(unversioned("plain"), end)),
                (lease, until(versioned("leased", leased.id), end)),
                (count, unversioned(number(5))),
                (hour, until(unversioned(number(7)), end)),
                (gate, until(unversioned(number(2)), end)),
            ],
            batches,
        })
    }

    async fn expect(&self, bench: &Bench) -> Checked {
        for (key, row) in &self.rows {
            bench.expect_row("a row", key, row.clone()).await?;
        }
        // Sent again, they are known, whatever their checks would find now.
        for (batch, totals) in &self.batches {
            same("totals", &bench.committed(batch).await?, totals)?;
        }
        for (key, row) in &self.rows {
            bench.expect_row("a row, the batches sent again", key, row.clone()).await?;
        }
        let Some((kept, Some(row))) = self.rows.first() else { return Ok(()) };
        let Some(version) = row.version else { return holds("it has a version", false) };
        let holds_still = bench.batch(vec![check(kept, Expect::Version(version))], Vec::new());
        bench.committed(&holds_still).await.map(|_| ())
    }
}
