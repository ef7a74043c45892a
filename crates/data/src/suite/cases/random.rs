//! Random sequences against the oracle, and random histories of several clients.

use super::cases;
use crate::store::{CommitId, Expect, Key, Outcome};
use crate::suite::bench::{Bench, Checked, check, put};
use crate::suite::clients::{Client, at_once};
use crate::suite::history::{self, Transaction};
use crate::suite::model::{Flavour, Run};
use crate::suite::{Case, Failure};

pub(super) fn cases() -> Vec<Case> {
    cases! {
        "P1" "random: rows and checks, as the oracle" => |b| model(b, Flavour::Rows);
        "P6" "random: rows that end, as the oracle" => |b| model(b, Flavour::Ends);
        "P7" "random: counters and windows, as the oracle" => |b| model(b, Flavour::Counters);
        "P5" "random: scans, as the oracle" => |b| model(b, Flavour::Scans);
        "P8" "random: batches again, as the oracle" => |b| model(b, Flavour::Again);
        "P1" "random: a history of 2 clients" => |b| histories(b, 2);
        "P1" "random: a history of 4 clients" => |b| histories(b, 4);
        "P1" "random: a history of 8 clients" => |b| histories(b, 8);
        "P1" "random: a history of 16 clients" => |b| histories(b, 16);
    }
}

async fn model(bench: &Bench, flavour: Flavour) -> Checked {
    Run { bench, flavour, steps: 60 }.seeds(0..60 * u64::from(bench.effort)).await
}

/// Rows of a history: few, so that clients meet.
const ROWS: usize = 5;

/// Clients read rows, and commit on what they read; the history must have an order.
async fn histories(bench: &Bench, clients: usize) -> Checked {
    let keys = bench.keys("notes", "row", ROWS)?;
    let times = 1_600 * bench.effort as usize / clients;
    let work = |client: Client| {
        let keys = keys.clone();
        Box::pin(async move {
            let mut history = Vec::new();
            for _ in 0..times {
                history.extend(transaction(&client, &keys).await?);
            }
            Ok(history)
        }) as _
    };
    let histories: Vec<Vec<Transaction>> = at_once(bench, clients, work).await?;
    let history = histories.concat();
    let rows = bench.store.get(&keys).await?;
    let last: Vec<(usize, Option<CommitId>)> =
        rows.into_iter().map(|row| row.and_then(|row| row.version)).enumerate().collect();
    history::check(&history, &last).map_err(|violation| {
        Failure::broken(format!("{} transactions have no order: {violation:?}", history.len()))
    })
}

/// One read, or one commit on rows that were read; nothing if it met a conflict.
async fn transaction(client: &Client, keys: &[Key]) -> Checked<Option<Transaction>> {
    let any = client.below(ROWS);
    let chosen: Vec<usize> = (0..=client.below(3)).map(|next| (any + next * 2) % ROWS).collect();
    let rows: Vec<Key> = chosen.iter().filter_map(|row| keys.get(*row)).cloned().collect();
    let is_read = client.below(3) == 0;
    let start = client.tick();
    let asked = if is_read { rows.get(..1).unwrap_or_default() } else { &rows };
    let found = client.store.get(asked).await?;
    let reads: Vec<(usize, Option<CommitId>)> =
        chosen.iter().copied().zip(found.into_iter().map(|row| row?.version)).collect();
    if is_read {
        let (id, end) = (client.id(), client.tick());
        return Ok(Some(Transaction { id, start, end, reads, writes: Vec::new() }));
    }
    let checks = rows.iter().zip(&reads).map(|(key, (_, version))| match version {
        Some(version) => check(key, Expect::Version(*version)),
        None => check(key, Expect::Absent),
    });
    let count = 1 + client.below(chosen.len());
    let writes = rows.iter().take(count).map(|key| put(key, "value")).collect();
    let batch = client.batch(checks.collect(), writes);
    let (id, start) = (batch.id, client.tick());
    let outcome = client.store.commit(&batch).await?;
    let writes = chosen.into_iter().take(count).collect();
    let end = match outcome {
        Outcome::Committed { .. } => client.tick(),
        Outcome::Indeterminate { .. } => u64::MAX,
        Outcome::Conflict(_) => return Ok(None),
    };
    Ok(Some(Transaction { id, start, end, reads, writes }))
}
