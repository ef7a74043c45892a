//! The change feed: whole commits, in their order, each once.

use super::cases;
use crate::error::ErrorKind;
use crate::store::{Change, Changes, CommitId, Expect, Key, Position};
use crate::suite::bench::{Bench, Checked, add, check, delete, holds, put, refused, same};
use crate::suite::{Case, Failure};

pub(super) fn cases() -> Vec<Case> {
    cases! {
        "feed" "changes: nothing yet" => nothing;
        "feed" "changes: a put" => one_put;
        "feed" "changes: a delete" => one_delete;
        "feed" "changes: an add" => one_add;
        "feed" "changes: commits in their order" => in_order;
        "feed" "changes: a commit comes whole" => whole;
        "feed" "changes: a commit larger than asked for comes whole" => larger;
        "feed" "changes: page by page" => pages;
        "feed" "changes: a conflict is none" => conflict;
        "feed" "changes: a batch again is none" => again;
        "feed" "changes: the same position again" => same_position;
        "feed" "changes: at the end" => at_the_end;
        "feed" "changes: a position the log has not reached" => beyond;
        "feed" "changes: no rows" => no_rows;
    }
}

/// What was committed since; not offered where there is no log.
async fn since(bench: &Bench, position: Position, rows: usize) -> Checked<Changes> {
    match bench.store.changes(position, rows).await {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            Err(Failure::NotOffered("the store keeps no log"))
        }
        answer => Ok(answer?),
    }
}

/// The end of the log: other cases may share it.
async fn end(bench: &Bench) -> Checked<Position> {
    let mut position = Position::START;
    loop {
        let changes = since(bench, position, 1_000).await?;
        if changes.changes.is_empty() {
            return Ok(position);
        }
        holds("a position goes on", changes.next > position)?;
        position = changes.next;
    }
}

fn change(id: CommitId, key: &Key) -> Change {
    Change { id, key: key.clone() }
}

async fn nothing(bench: &Bench) -> Checked {
    let position = end(bench).await?;
    let expected = Changes { changes: Vec::new(), next: position };
    same("changes", since(bench, position, 10).await?, expected)
}

async fn one_put(bench: &Bench) -> Checked {
    let position = end(bench).await?;
    let key = bench.key("notes", "row")?;
    let id = bench.write(vec![put(&key, "value")]).await?;
    let changes = since(bench, position, 10).await?;
    same("changes", changes.changes, vec![change(id, &key)])?;
    holds("the position goes on", changes.next > position)
}

async fn one_delete(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    bench.write(vec![put(&key, "value")]).await?;
    let position = end(bench).await?;
    let id = bench.write(vec![delete(&key)]).await?;
    same("changes", since(bench, position, 10).await?.changes, vec![change(id, &key)])
}

async fn one_add(bench: &Bench) -> Checked {
    let position = end(bench).await?;
    let key = bench.key("counts", "count")?;
    let id = bench.write(vec![add(&key, 1), add(&key, 1)]).await?;
    same("changes", since(bench, position, 10).await?.changes, vec![change(id, &key)])
}

/// Commits so many batches of so many rows; answers what the log must hold.
async fn write(bench: &Bench, batches: usize, rows: usize) -> Checked<Vec<Change>> {
    let mut expected = Vec::new();
    let keys = bench.keys("notes", "row", rows)?;
    for _ in 0..batches {
        let id = bench.write(keys.iter().map(|key| put(key, "value")).collect()).await?;
        expected.extend(keys.iter().map(|key| change(id, key)));
    }
    Ok(expected)
}

async fn in_order(bench: &Bench) -> Checked {
    let position = end(bench).await?;
    let expected = write(bench, 10, 1).await?;
    same("changes", since(bench, position, 100).await?.changes, expected)
}

async fn whole(bench: &Bench) -> Checked {
    let position = end(bench).await?;
    let expected = write(bench, 3, 4).await?;
    // Room for two commits and a half.
    let changes = since(bench, position, 10).await?;
    same("changes", changes.changes, expected.into_iter().take(8).collect())
}

async fn larger(bench: &Bench) -> Checked {
    let position = end(bench).await?;
    let expected = write(bench, 2, 10).await?;
    let changes = since(bench, position, 3).await?;
    same("the first", changes.changes, expected.iter().take(10).cloned().collect())?;
    let rest = since(bench, changes.next, 3).await?;
    same("the second", rest.changes, expected.into_iter().skip(10).collect())
}

async fn pages(bench: &Bench) -> Checked {
    let mut position = end(bench).await?;
    let expected = write(bench, 10, 3).await?;
    let mut found = Vec::new();
    loop {
        let changes = since(bench, position, 7).await?;
        if changes.changes.is_empty() {
            return same("changes", found, expected);
        }
        found.extend(changes.changes);
        position = changes.next;
    }
}

async fn conflict(bench: &Bench) -> Checked {
    let position = end(bench).await?;
    let key = bench.key("notes", "row")?;
    bench.conflict(&bench.batch(vec![check(&key, Expect::Present)], vec![put(&key, "1")])).await?;
    same("changes", since(bench, position, 10).await?.changes, Vec::new())
}

async fn again(bench: &Bench) -> Checked {
    let position = end(bench).await?;
    let key = bench.key("notes", "row")?;
    let batch = bench.batch(Vec::new(), vec![put(&key, "value")]);
    bench.committed(&batch).await?;
    bench.committed(&batch).await?;
    same("changes", since(bench, position, 10).await?.changes, vec![change(batch.id, &key)])
}

async fn same_position(bench: &Bench) -> Checked {
    let position = end(bench).await?;
    write(bench, 3, 2).await?;
    let first = since(bench, position, 4).await?;
    same("changes", since(bench, position, 4).await?, first)
}

async fn at_the_end(bench: &Bench) -> Checked {
    let before = end(bench).await?;
    write(bench, 1, 2).await?;
    let position = since(bench, before, 10).await?.next;
    same("changes", since(bench, position, 10).await?.changes, Vec::new())?;
    let expected = write(bench, 1, 1).await?;
    same("the next", since(bench, position, 10).await?.changes, expected)
}

async fn beyond(bench: &Bench) -> Checked {
    end(bench).await?;
    let answer = bench.store.changes(Position(u64::MAX), 10).await;
    refused(answer, ErrorKind::Mismatch).map(|_| ())
}

async fn no_rows(bench: &Bench) -> Checked {
    let position = end(bench).await?;
    refused(bench.store.changes(position, 0).await, ErrorKind::Argument).map(|_| ())
}
