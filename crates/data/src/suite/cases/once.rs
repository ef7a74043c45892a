//! The same batch again: committed once, whatever happened since; a conflict is not remembered.

use super::cases;
use crate::store::{Batch, Expect, Memory, Outcome, Total};
use crate::suite::Case;
use crate::suite::bench::{
    Bench, Checked, Failure, HOUR, MINUTE, add, add_until, check, delete, pass, put, same,
    versioned,
};

pub(super) fn cases() -> Vec<Case> {
    cases! {
        "P8" "again: a put" => put_again;
        "P8" "again: a put that was overwritten since" => overwritten_since;
        "P8" "again: a put that was deleted since" => deleted_since;
        "P8" "again: a delete of what was put since" => put_since;
        "P8" "again: a batch whose check would fail now" => check_would_fail;
        "P8" "again: an add counts once" => add_again;
        "P8" "again: an add answers the same total" => add_same_total;
        "P8" "again: several adds answer the same totals" => adds_same_totals;
        "P8" "again: a total has its end" => total_has_its_end;
        "P8" "again: a window counts once" => window_again;
        "P8" "again: a window that is full since" => window_full_since;
        "P8" "again: a batch of nothing" => nothing_again;
        "P8" "again: a batch of checks only" => checks_again;
        "P8" "again: three times" => three_times;
        "P8" "again: a put that was sent as a new one" => new_again;
        "P8" "again: after a thousand other commits" => after_others;
        "P8" "again: ten minutes later" => ten_minutes_later;
        "P8" "again: with a later time of its own" => later_time;
        "P8" "again: a conflict can be committed" => conflict_then_commit;
        "P8" "again: a full window can be passed later" => full_then_pass;
        "P8" "again: a conflict stays one while its cause does" => conflict_stays;
        "P8" "another id: the same writes are another commit" => other_id;
    }
}

async fn put_again(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    let batch = bench.batch(Vec::new(), vec![put(&key, "value")]);
    let first = bench.committed(&batch).await?;
    same("outcomes", bench.committed(&batch).await?, first)?;
    bench.expect_row("the row", &key, versioned("value", batch.id)).await
}

async fn new_again(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    let batch = bench.batch(vec![check(&key, Expect::Absent)], vec![put(&key, "value")]);
    let first = match bench.store.commit_new(&batch).await? {
        Outcome::Committed { totals } => totals,
        other => return Err(Failure::broken(format!("a new batch: {other:?}"))),
    };
    same("outcomes", bench.committed(&batch).await?, first)?;
    let other = bench.batch(vec![check(&key, Expect::Absent)], vec![put(&key, "other")]);
    let outcome = bench.store.commit_new(&other).await?;
    same("a new batch is judged", matches!(outcome, Outcome::Conflict(_)), true)?;
    bench.expect_row("the row", &key, versioned("value", batch.id)).await
}

async fn overwritten_since(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    let batch = bench.batch(Vec::new(), vec![put(&key, "old")]);
    bench.committed(&batch).await?;
    let id = bench.write(vec![put(&key, "new")]).await?;
    bench.committed(&batch).await?;
    bench.expect_row("the row", &key, versioned("new", id)).await
}

async fn deleted_since(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    let batch = bench.batch(vec![check(&key, Expect::Absent)], vec![put(&key, "value")]);
    bench.committed(&batch).await?;
    bench.write(vec![delete(&key)]).await?;
    bench.committed(&batch).await?;
    bench.expect_row("the row", &key, None).await
}

async fn put_since(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    let batch = bench.batch(Vec::new(), vec![delete(&key)]);
    bench.committed(&batch).await?;
    let id = bench.write(vec![put(&key, "value")]).await?;
    bench.committed(&batch).await?;
    bench.expect_row("the row", &key, versioned("value", id)).await
}

async fn check_would_fail(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    let batch = bench.batch(vec![check(&key, Expect::Absent)], vec![put(&key, "value")]);
    bench.committed(&batch).await?;
    bench.committed(&batch).await?;
    bench.expect_row("the row", &key, versioned("value", batch.id)).await
}

async fn add_again(bench: &Bench) -> Checked {
    let key = bench.key("counts", "count")?;
    let batch = bench.batch(Vec::new(), vec![add(&key, 5)]);
    bench.committed(&batch).await?;
    bench.committed(&batch).await?;
    bench.expect_count("the counter", &key, Some(5)).await
}

/// Sends a batch, lets something else happen, and expects the same answer again.
async fn same_answer(bench: &Bench, batch: &Batch, between: Batch) -> Checked {
    let first = bench.committed(batch).await?;
    bench.committed(&between).await?;
    same("totals", bench.committed(batch).await?, first)
}

async fn add_same_total(bench: &Bench) -> Checked {
    let key = bench.key("counts", "count")?;
    bench.write(vec![add(&key, 100)]).await?;
    let batch = bench.batch(Vec::new(), vec![add(&key, 5)]);
    let between = bench.batch(Vec::new(), vec![add(&key, 1_000)]);
    same_answer(bench, &batch, between).await?;
    same("once more", bench.committed(&batch).await?, vec![Total { value: 105, expires: None }])?;
    bench.expect_count("the counter", &key, Some(1_105)).await
}

async fn adds_same_totals(bench: &Bench) -> Checked {
    let keys = bench.keys("counts", "count", 3)?;
    let writes = keys.iter().zip([3, 1, 2]).map(|(key, amount)| add(key, amount)).collect();
    let batch = bench.batch(Vec::new(), writes);
    let between = bench.batch(Vec::new(), keys.iter().map(|key| add(key, 10)).collect());
    same_answer(bench, &batch, between).await
}

async fn total_has_its_end(bench: &Bench) -> Checked {
    let key = bench.key("hours", "count")?;
    let end = bench.now + HOUR;
    let batch = bench.batch(Vec::new(), vec![add_until(&key, 5, Some(end))]);
    bench.committed(&batch).await?;
    let total = Total { value: 5, expires: Some(end) };
    same("totals", bench.committed(&batch).await?, vec![total])
}

async fn window_again(bench: &Bench) -> Checked {
    let key = bench.key("gates", "gate")?;
    let batch = bench.batch(Vec::new(), vec![pass(&key, 6, 10, bench.now + HOUR)]);
    let first = bench.committed(&batch).await?;
    same("totals", bench.committed(&batch).await?, first)?;
    bench.expect_count("the window", &key, Some(6)).await
}

async fn window_full_since(bench: &Bench) -> Checked {
    let key = bench.key("gates", "gate")?;
    let batch = bench.batch(Vec::new(), vec![pass(&key, 6, 10, bench.now + HOUR)]);
    let between = bench.batch(Vec::new(), vec![pass(&key, 4, 10, bench.now + HOUR)]);
    same_answer(bench, &batch, between).await?;
    bench.expect_count("the window", &key, Some(10)).await
}

async fn nothing_again(bench: &Bench) -> Checked {
    let batch = bench.batch(Vec::new(), Vec::new());
    same("totals", bench.committed(&batch).await?, Vec::new())?;
    same("totals again", bench.committed(&batch).await?, Vec::new())
}

async fn checks_again(bench: &Bench) -> Checked {
    if bench.description.remembers == Memory::Rows {
        return Err(Failure::NotOffered("a batch is known by the rows it wrote"));
    }
    let key = bench.key("notes", "row")?;
    let batch = bench.batch(vec![check(&key, Expect::Absent)], Vec::new());
    bench.committed(&batch).await?;
    bench.write(vec![put(&key, "value")]).await?;
    bench.committed(&batch).await.map(|_| ())
}

async fn three_times(bench: &Bench) -> Checked {
    let key = bench.key("counts", "count")?;
    let batch = bench.batch(Vec::new(), vec![add(&key, 5), add(&key, 1)]);
    for _ in 0..3 {
        let totals = bench.committed(&batch).await?;
        let values: Vec<i64> = totals.iter().map(|total| total.value).collect();
        same("totals", values, vec![5, 6])?;
    }
    bench.expect_count("the counter", &key, Some(6)).await
}

async fn after_others(bench: &Bench) -> Checked {
    let (key, other) = (bench.key("counts", "count")?, bench.key("counts", "other")?);
    let batch = bench.batch(Vec::new(), vec![add(&key, 5)]);
    bench.committed(&batch).await?;
    for _ in 0..1_000 {
        bench.write(vec![add(&other, 1)]).await?;
    }
    bench.committed(&batch).await?;
    bench.expect_count("the counter", &key, Some(5)).await
}

async fn ten_minutes_later(bench: &Bench) -> Checked {
    let (key, other) = (bench.key("counts", "count")?, bench.key("counts", "other")?);
    // The clock of the batches goes on; the last of them is ten minutes after the first.
    let start = bench.now - 10 * MINUTE;
    let batch = bench.batch_at(start, Vec::new(), vec![add(&key, 5)]);
    bench.committed(&batch).await?;
    for minute in 1..=10 {
        let at = start + minute * MINUTE;
        bench.committed(&bench.batch_at(at, Vec::new(), vec![add(&other, 1)])).await?;
        bench.committed(&batch).await?;
    }
    bench.expect_count("the counter", &key, Some(5)).await
}

async fn later_time(bench: &Bench) -> Checked {
    let key = bench.key("hours", "count")?;
    let mut batch = bench.batch(Vec::new(), vec![add_until(&key, 5, Some(bench.now + MINUTE))]);
    let first = bench.committed(&batch).await?;
    batch.now = bench.now + 2 * MINUTE;
    same("totals", bench.committed(&batch).await?, first)?;
    bench.expect_count("the counter", &key, Some(5)).await
}

async fn conflict_then_commit(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    bench.write(vec![put(&key, "old")]).await?;
    let batch = bench.batch(vec![check(&key, Expect::Absent)], vec![put(&key, "new")]);
    bench.conflict(&batch).await?;
    bench.write(vec![delete(&key)]).await?;
    bench.committed(&batch).await?;
    bench.expect_row("the row", &key, versioned("new", batch.id)).await
}

async fn full_then_pass(bench: &Bench) -> Checked {
    let key = bench.key("gates", "gate")?;
    let end = bench.now + MINUTE;
    bench.write(vec![pass(&key, 10, 10, end)]).await?;
    let mut batch = bench.batch(Vec::new(), vec![pass(&key, 1, 10, end + HOUR)]);
    bench.conflict(&batch).await?;
    batch.now = end;
    let total = Total { value: 1, expires: Some(end + HOUR) };
    same("totals", bench.committed(&batch).await?, vec![total])
}

async fn conflict_stays(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    bench.write(vec![put(&key, "old")]).await?;
    let batch = bench.batch(vec![check(&key, Expect::Absent)], vec![put(&key, "new")]);
    let first = bench.conflict(&batch).await?;
    same("the conflict", bench.conflict(&batch).await?, first)
}

async fn other_id(bench: &Bench) -> Checked {
    let key = bench.key("counts", "count")?;
    let batch = bench.batch(Vec::new(), vec![add(&key, 5)]);
    let other = Batch { id: bench.id(), ..batch.clone() };
    bench.committed(&batch).await?;
    let total = Total { value: 10, expires: None };
    same("the other", bench.store.commit(&other).await?, Outcome::Committed { totals: vec![total] })
}
