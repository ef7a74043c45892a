//! Counters and windows: exact, with their ends, and refused without a trace.

use super::cases;
use crate::store::{Conflict, Found, Key, Outcome, Total, Where};
use crate::suite::Case;
use crate::suite::bench::{
    Bench, Checked, HOUR, MINUTE, add, add_until, delete, pass, put, same, until, unversioned,
};

pub(super) fn cases() -> Vec<Case> {
    let mut all = cases! {
        "P7" "add: to nothing" => |b| adds(b, &[5], &[5]);
        "P7" "add: again" => |b| adds(b, &[5, 3], &[5, 8]);
        "P7" "add: less than nothing" => |b| adds(b, &[-5, 2], &[-5, -3]);
        "P7" "add: nothing makes a counter" => |b| adds(b, &[0], &[0]);
        "P7" "add: up to the largest number" =>
            |b| adds(b, &[i64::MAX - 1, 1], &[i64::MAX - 1, i64::MAX]);
        "P7" "add: down to the smallest number" =>
            |b| adds(b, &[i64::MIN + 1, -1], &[i64::MIN + 1, i64::MIN]);
        "P7" "add: from the smallest to the largest number" =>
            |b| adds(b, &[i64::MIN, i64::MAX], &[i64::MIN, -1]);
        "P7" "add: a hundred times" => add_hundred;
        "P7" "add: twice in one batch" => add_twice_in_batch;
        "P7" "add: twice in one batch, to an ended counter" => add_twice_to_ended;
        "P7" "add: totals are in the order of the adds" => add_order;
        "P7" "add: beside puts and deletes" => add_beside;
        "P7" "add: is stored as eight bytes, without a version" => add_bytes;
        "P7" "add: past the largest number is refused" => |b| overflow(b, i64::MAX, 1);
        "P7" "add: far past the largest number is refused" => |b| overflow(b, i64::MAX, i64::MAX);
        "P7" "add: past the smallest number is refused" => |b| overflow(b, i64::MIN, -1);
        "P7" "add: far past the smallest number is refused" => |b| overflow(b, i64::MIN, i64::MIN);
        "P1" "add: a refused one leaves the batch unwritten" => overflow_batch;
        "P7" "add: a later one of a batch is refused" => overflow_later;
        "P7" "add: after a refused one" => overflow_then;
    };
    all.extend(ends());
    all.extend(windows());
    all
}

fn ends() -> Vec<Case> {
    cases! {
        "P6" "add: the first sets the end" => |b| end(b, None, Some(HOUR), 1, Some(HOUR));
        "P6" "add: a later one leaves the end" =>
            |b| end(b, Some(MINUTE), Some(HOUR), 8, Some(MINUTE));
        "P6" "add: a later one without an end leaves it" =>
            |b| end(b, Some(MINUTE), None, 8, Some(MINUTE));
        "P6" "add: a millisecond before the end counts on" =>
            |b| end(b, Some(1), Some(HOUR), 8, Some(1));
        "P6" "add: at the end begins anew" => |b| end(b, Some(0), Some(HOUR), 1, Some(HOUR));
        "P6" "add: after the end begins anew" =>
            |b| end(b, Some(-MINUTE), Some(HOUR), 1, Some(HOUR));
        "P6" "add: after the end, without one" => |b| end(b, Some(-MINUTE), None, 1, None);
        "P6" "add: an ended full counter overflows no more" => ended_overflow;
    }
}

fn windows() -> Vec<Case> {
    cases! {
        "P7" "window: lets its limit through" => |b| window(b, &[4, 5, 1], &[true, true, true]);
        "P7" "window: refuses one more" => |b| window(b, &[10, 1], &[true, false]);
        "P7" "window: refuses what does not fit whole" =>
            |b| window(b, &[7, 4, 3], &[true, false, true]);
        "P7" "window: what was refused does not count" =>
            |b| window(b, &[9, 2, 2, 2, 1, 1], &[true, false, false, false, true, false]);
        "P7" "window: refuses more than its limit at once" =>
            |b| window(b, &[11, 10], &[false, true]);
        "P7" "window: giving back makes room" =>
            |b| window(b, &[10, -3, 3, 1], &[true, true, true, false]);
        "P7" "window: an amount of nothing fits a full one" =>
            |b| window(b, &[10, 0], &[true, true]);
        "P7" "window: a number past all numbers is full, not an overflow" => window_huge;
        "P7" "window: says what it holds and when it ends" => window_says;
        "P7" "window: refused on nothing, it says so" => window_refused_on_nothing;
        "P6" "window: a refused call does not move its end" => window_end_stays;
        "P6" "window: begins anew at its end" => window_anew;
        "P6" "window: is full a millisecond before its end" => window_before_end;
        "P1" "window: a full one leaves the batch unwritten" => window_batch;
        "P7" "window: twice in one batch" => window_twice;
        "P7" "window: a lower limit refuses at once" => window_lower_limit;
    }
}

fn totals_of(values: &[i64]) -> Vec<Total> {
    values.iter().map(|value| Total { value: *value, expires: None }).collect()
}

async fn adds(bench: &Bench, amounts: &[i64], expected: &[i64]) -> Checked {
    let key = bench.key("counts", "count")?;
    let mut found = Vec::new();
    for amount in amounts {
        let batch = bench.batch(Vec::new(), vec![add(&key, *amount)]);
        found.extend(bench.committed(&batch).await?);
    }
    same("totals", found, totals_of(expected))?;
    bench.expect_count("stored", &key, expected.last().copied()).await
}

async fn add_hundred(bench: &Bench) -> Checked {
    let key = bench.key("counts", "count")?;
    for _ in 0..100 {
        bench.write(vec![add(&key, 3)]).await?;
    }
    bench.expect_count("stored", &key, Some(300)).await
}

async fn add_twice_in_batch(bench: &Bench) -> Checked {
    let key = bench.key("counts", "count")?;
    bench.write(vec![add(&key, 10)]).await?;
    let batch = bench.batch(Vec::new(), vec![add(&key, 1), add(&key, 2), add(&key, -5)]);
    same("totals", bench.committed(&batch).await?, totals_of(&[11, 13, 8]))?;
    bench.expect_count("stored", &key, Some(8)).await
}

async fn add_twice_to_ended(bench: &Bench) -> Checked {
    let key = counter_ending(bench, 0, 7).await?;
    let end = bench.now + HOUR;
    let writes = vec![add_until(&key, 1, Some(end)), add_until(&key, 2, Some(end + 1))];
    let totals = bench.committed(&bench.batch(Vec::new(), writes)).await?;
    let total = |value| Total { value, expires: Some(end) };
    same("totals", totals, vec![total(1), total(3)])?;
    let row = until(unversioned(3_i64.to_be_bytes().to_vec()), end);
    bench.expect_row("stored", &key, row).await
}

async fn add_order(bench: &Bench) -> Checked {
    let keys = bench.keys("counts", "count", 4)?;
    let writes = keys.iter().zip([40, 10, 30, 20]).map(|(key, amount)| add(key, amount)).collect();
    let totals = bench.committed(&bench.batch(Vec::new(), writes)).await?;
    same("totals", totals, totals_of(&[40, 10, 30, 20]))
}

async fn add_beside(bench: &Bench) -> Checked {
    let (one, two) = (bench.key("notes", "one")?, bench.key("notes", "two")?);
    let keys = bench.keys("counts", "count", 2)?;
    bench.write(vec![put(&two, "value")]).await?;
    let mut writes = vec![put(&one, "value")];
    writes.extend(keys.first().map(|key| add(key, 1)));
    writes.push(delete(&two));
    writes.extend(keys.last().map(|key| add(key, 2)));
    let totals = bench.committed(&bench.batch(Vec::new(), writes)).await?;
    same("totals", totals, totals_of(&[1, 2]))?;
    same("put", bench.row(&one).await?.is_some(), true)?;
    same("deleted", bench.row(&two).await?, None)
}

async fn add_bytes(bench: &Bench) -> Checked {
    let key = bench.key("counts", "count")?;
    bench.write(vec![add(&key, -2)]).await?;
    let bytes = vec![0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe];
    bench.expect_row("stored", &key, unversioned(bytes)).await
}

async fn overflow(bench: &Bench, start: i64, amount: i64) -> Checked {
    let key = bench.key("counts", "count")?;
    bench.write(vec![add(&key, start)]).await?;
    let conflict = bench.conflict(&bench.batch(Vec::new(), vec![add(&key, amount)])).await?;
    let found = Found::Overflow(Total { value: start, expires: None });
    same("the conflict", conflict, Conflict { at: Where::Write(0), found })?;
    bench.expect_count("stored", &key, Some(start)).await
}

async fn overflow_batch(bench: &Bench) -> Checked {
    let (full, other) = (bench.key("counts", "full")?, bench.key("counts", "other")?);
    let note = bench.key("notes", "row")?;
    bench.write(vec![add(&full, i64::MAX)]).await?;
    let writes = vec![put(&note, "value"), add(&other, 1), add(&full, 1)];
    let conflict = bench.conflict(&bench.batch(Vec::new(), writes)).await?;
    same("where", conflict.at, Where::Write(2))?;
    bench.expect_row("the put", &note, None).await?;
    bench.expect_count("the other counter", &other, None).await
}

async fn overflow_later(bench: &Bench) -> Checked {
    let key = bench.key("counts", "count")?;
    bench.write(vec![add(&key, i64::MAX - 2)]).await?;
    let writes = vec![add(&key, 1), add(&key, 1), add(&key, 1)];
    let conflict = bench.conflict(&bench.batch(Vec::new(), writes)).await?;
    let found = Found::Overflow(Total { value: i64::MAX, expires: None });
    same("the conflict", conflict, Conflict { at: Where::Write(2), found })?;
    bench.expect_count("stored", &key, Some(i64::MAX - 2)).await
}

async fn overflow_then(bench: &Bench) -> Checked {
    let key = bench.key("counts", "count")?;
    bench.write(vec![add(&key, i64::MAX - 1)]).await?;
    bench.conflict(&bench.batch(Vec::new(), vec![add(&key, 2)])).await?;
    let totals = bench.committed(&bench.batch(Vec::new(), vec![add(&key, 1)])).await?;
    same("totals", totals, totals_of(&[i64::MAX]))
}

/// A counter that ends so long after now, an hour old.
async fn counter_ending(bench: &Bench, after: i64, value: i64) -> Checked<Key> {
    let key = bench.key("hours", "count")?;
    let end = bench.now + after;
    let writes = vec![add_until(&key, value, Some(end))];
    bench.committed(&bench.batch_at(end - HOUR, Vec::new(), writes)).await?;
    Ok(key)
}

/// A counter of 7 with an end, one more with another, and what it comes to.
async fn end(
    bench: &Bench,
    first: Option<i64>,
    given: Option<i64>,
    value: i64,
    expected: Option<i64>,
) -> Checked {
    let key = match first {
        Some(after) => counter_ending(bench, after, 7).await?,
        None => bench.key("hours", "count")?,
    };
    let at = |after: Option<i64>| after.map(|after| bench.now + after);
    let batch = bench.batch(Vec::new(), vec![add_until(&key, 1, at(given))]);
    let total = Total { value, expires: at(expected) };
    same("totals", bench.committed(&batch).await?, vec![total])?;
    let row = unversioned(value.to_be_bytes().to_vec());
    let row = row.map(|row| crate::store::Row { expires: total.expires, ..row });
    bench.expect_row("stored", &key, row).await
}

async fn ended_overflow(bench: &Bench) -> Checked {
    let key = counter_ending(bench, 0, i64::MAX).await?;
    let batch = bench.batch(Vec::new(), vec![add(&key, 1)]);
    same("totals", bench.committed(&batch).await?, totals_of(&[1]))
}

/// Passes amounts through a window of ten, and expects these to be let through.
async fn window(bench: &Bench, amounts: &[i64], expected: &[bool]) -> Checked {
    let key = bench.key("gates", "gate")?;
    let mut passed = Vec::new();
    let mut sum = 0;
    for amount in amounts {
        let batch = bench.batch(Vec::new(), vec![pass(&key, *amount, 10, bench.now + HOUR)]);
        match bench.store.commit(&batch).await? {
            Outcome::Committed { totals } => {
                sum += amount;
                let total = Total { value: sum, expires: Some(bench.now + HOUR) };
                same("totals", totals, vec![total])?;
                passed.push(true);
            }
            Outcome::Conflict(conflict) => {
                same("where", conflict.at, Where::Write(0))?;
                passed.push(false);
            }
            other => return Err(crate::suite::Failure::broken(format!("{other:?}"))),
        }
    }
    same("which were let through", passed, expected.to_vec())?;
    bench.expect_count("stored", &key, Some(sum)).await
}

async fn window_huge(bench: &Bench) -> Checked {
    let key = bench.key("gates", "gate")?;
    let end = bench.now + HOUR;
    bench.write(vec![pass(&key, 5, i64::MAX, end)]).await?;
    let batch = bench.batch(Vec::new(), vec![pass(&key, i64::MAX, i64::MAX, end)]);
    let found = Found::Full(Total { value: 5, expires: Some(end) });
    same("the conflict", bench.conflict(&batch).await?, Conflict { at: Where::Write(0), found })
}

async fn window_says(bench: &Bench) -> Checked {
    let key = bench.key("gates", "gate")?;
    let end = bench.now + MINUTE;
    bench.write(vec![pass(&key, 8, 10, end)]).await?;
    let batch = bench.batch(Vec::new(), vec![pass(&key, 3, 10, bench.now + HOUR)]);
    let found = Found::Full(Total { value: 8, expires: Some(end) });
    same("the conflict", bench.conflict(&batch).await?, Conflict { at: Where::Write(0), found })
}

async fn window_refused_on_nothing(bench: &Bench) -> Checked {
    let key = bench.key("gates", "gate")?;
    let batch = bench.batch(Vec::new(), vec![pass(&key, 11, 10, bench.now + HOUR)]);
    let found = Found::Full(Total { value: 0, expires: None });
    same("the conflict", bench.conflict(&batch).await?, Conflict { at: Where::Write(0), found })?;
    same("what lies there", bench.lies(&key).await?, None)
}

async fn window_end_stays(bench: &Bench) -> Checked {
    let key = bench.key("gates", "gate")?;
    let end = bench.now + MINUTE;
    bench.write(vec![pass(&key, 10, 10, end)]).await?;
    let later = bench.batch_at(bench.now + 1, Vec::new(), vec![pass(&key, 1, 10, end + HOUR)]);
    bench.conflict(&later).await?;
    let row = until(unversioned(10_i64.to_be_bytes().to_vec()), end);
    bench.expect_row("stored", &key, row).await
}

async fn window_anew(bench: &Bench) -> Checked {
    let key = bench.key("gates", "gate")?;
    let end = bench.now + MINUTE;
    bench.write(vec![pass(&key, 10, 10, end)]).await?;
    let batch = bench.batch_at(end, Vec::new(), vec![pass(&key, 4, 10, end + MINUTE)]);
    let total = Total { value: 4, expires: Some(end + MINUTE) };
    same("totals", bench.committed(&batch).await?, vec![total])
}

async fn window_before_end(bench: &Bench) -> Checked {
    let key = bench.key("gates", "gate")?;
    let end = bench.now + MINUTE;
    bench.write(vec![pass(&key, 10, 10, end)]).await?;
    let batch = bench.batch_at(end - 1, Vec::new(), vec![pass(&key, 1, 10, end + MINUTE)]);
    bench.conflict(&batch).await.map(|_| ())
}

async fn window_batch(bench: &Bench) -> Checked {
    let (key, count) = (bench.key("gates", "gate")?, bench.key("counts", "count")?);
    let note = bench.key("notes", "row")?;
    let end = bench.now + HOUR;
    bench.write(vec![pass(&key, 10, 10, end)]).await?;
    let writes = vec![add(&count, 1), pass(&key, 1, 10, end), put(&note, "value")];
    let conflict = bench.conflict(&bench.batch(Vec::new(), writes)).await?;
    same("where", conflict.at, Where::Write(1))?;
    bench.expect_row("the put", &note, None).await?;
    bench.expect_count("the counter", &count, None).await?;
    bench.expect_count("the window", &key, Some(10)).await
}

async fn window_twice(bench: &Bench) -> Checked {
    let key = bench.key("gates", "gate")?;
    let end = bench.now + HOUR;
    let twice = |one, two| vec![pass(&key, one, 10, end), pass(&key, two, 10, end)];
    let conflict = bench.conflict(&bench.batch(Vec::new(), twice(6, 5))).await?;
    same("where", conflict.at, Where::Write(1))?;
    bench.expect_count("after the refusal", &key, None).await?;
    bench.committed(&bench.batch(Vec::new(), twice(6, 4))).await?;
    bench.expect_count("after both", &key, Some(10)).await
}

async fn window_lower_limit(bench: &Bench) -> Checked {
    let key = bench.key("gates", "gate")?;
    let end = bench.now + HOUR;
    bench.write(vec![pass(&key, 8, 10, end)]).await?;
    let batch = bench.batch(Vec::new(), vec![pass(&key, 1, 5, end)]);
    bench.conflict(&batch).await?;
    bench.expect_count("stored", &key, Some(8)).await
}
