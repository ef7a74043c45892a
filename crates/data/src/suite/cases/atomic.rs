//! All of a batch or nothing, and which part of it is named when it is nothing.

use super::cases;
use crate::store::{Check, Conflict, Expect, Found, Key, Where, Write};
use crate::suite::Case;
use crate::suite::bench::{
    Bench, Checked, HOUR, add, check, delete, holds, pass, put, same, versioned,
};

pub(super) fn cases() -> Vec<Case> {
    cases! {
        "P1" "batch: of nothing" => nothing;
        "P1" "batch: of checks that hold" => checks_only;
        "P1" "batch: of a check that does not hold" => failing_check_only;
        "P1" "batch: a hundred rows" => |b| many(b, 100);
        "P1" "batch: a thousand rows" => |b| many(b, 1_000);
        "P1" "batch: puts, deletes and adds together" => together;
        "P1" "batch: rows of two rooms together, where a commit reaches them" => two_rooms;
        "P1" "batch: a failed check leaves every row as it was" => |b| leaves_all(b, fail_check);
        "P1" "batch: a full window leaves every row as it was" => |b| leaves_all(b, fail_window);
        "P1" "batch: an overflow leaves every row as it was" => |b| leaves_all(b, fail_overflow);
        "P1" "conflict: names the first check that failed" => first_check;
        "P1" "conflict: names the only check that failed, the last" => last_check;
        "P1" "conflict: names the only check that failed, in the middle" => middle_check;
        "P1" "conflict: a check goes before a write" => check_before_write;
        "P1" "conflict: names the first add that failed" => first_add;
        "P1" "conflict: counts puts and deletes as writes" => counts_writes;
        "P1" "conflict: says which version was found" => found_version;
        "P1" "conflict: finds nothing where nothing is" => found_nothing;
        "P1" "conflict: finds a row without a version" => found_unversioned;
        "P1" "check: of a row the batch writes sees it as it was" => checks_see_before;
        "P1" "check: of a row the batch deletes" => check_and_delete;
        "P1" "check: of a counter the batch adds to" => check_and_add;
        "P1" "check: two of one row, one holds" => two_checks;
        "P1" "update: by version, one after the other" => chain;
        "P1" "update: an old version never wins" => stale;
        "P1" "update: the version of a deleted row never comes back" => aba;
    }
}

async fn nothing(bench: &Bench) -> Checked {
    let batch = bench.batch(Vec::new(), Vec::new());
    same("totals", bench.committed(&batch).await?, Vec::new())
}

async fn checks_only(bench: &Bench) -> Checked {
    let keys = bench.keys("notes", "row", 2)?;
    let id = bench.write(keys.iter().take(1).map(|key| put(key, "value")).collect()).await?;
    let expects = [Expect::Version(id), Expect::Absent];
    let checks = keys.iter().zip(expects).map(|(key, expect)| check(key, expect)).collect();
    same("totals", bench.committed(&bench.batch(checks, Vec::new())).await?, Vec::new())
}

async fn failing_check_only(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    let batch = bench.batch(vec![check(&key, Expect::Present)], Vec::new());
    let expected = Conflict { at: Where::Check(0), found: Found::Absent };
    same("the conflict", bench.conflict(&batch).await?, expected)
}

async fn many(bench: &Bench, count: usize) -> Checked {
    let keys = bench.keys("notes", "row", count)?;
    let id = bench.write(keys.iter().map(|key| put(key, "value")).collect()).await?;
    let rows = bench.store.get(&keys).await?;
    let expected = versioned("value", id);
    holds("every row is there", rows.into_iter().all(|row| row == expected))
}

async fn together(bench: &Bench) -> Checked {
    let keys = bench.keys("notes", "row", 3)?;
    let count = bench.key("counts", "count")?;
    bench.write(keys.iter().map(|key| put(key, "old")).collect()).await?;
    let mut writes: Vec<Write> = keys.iter().take(1).map(|key| put(key, "new")).collect();
    writes.extend(keys.iter().skip(1).take(1).map(delete));
    writes.push(add(&count, 1));
    let id = bench.write(writes).await?;
    let rows = bench.store.get(&keys).await?;
    let values: Vec<_> = rows.iter().map(|row| row.as_ref().map(|row| row.value.clone())).collect();
    same("values", values, vec![Some("new".into()), None, Some("old".into())])?;
    holds("one has the version", rows.iter().flatten().any(|row| row.version == Some(id)))?;
    bench.expect_count("the counter", &count, Some(1)).await
}

async fn two_rooms(bench: &Bench) -> Checked {
    let one = bench.key_in(0, "notes", "one")?;
    let two = bench.key_in(bench.next_door(), "notes", "two")?;
    let id = bench.write(vec![put(&one, "1"), put(&two, "2")]).await?;
    bench.expect_row("one", &one, versioned("1", id)).await?;
    bench.expect_row("two", &two, versioned("2", id)).await?;
    let batch = bench.batch(
        vec![check(&two, Expect::Version(id)), check(&one, Expect::Absent)],
        vec![delete(&one), delete(&two)],
    );
    same("where", bench.conflict(&batch).await?.at, Where::Check(1))?;
    bench.expect_row("one still", &one, versioned("1", id)).await?;
    bench.expect_row("two still", &two, versioned("2", id)).await
}

/// What makes a batch fail: its checks, and writes to go before, between and behind others.
type Fail = fn(&Bench, &Key, &Key) -> (Vec<Check>, Vec<Write>);

fn fail_check(_: &Bench, note: &Key, _: &Key) -> (Vec<Check>, Vec<Write>) {
    (vec![check(note, Expect::Absent)], Vec::new())
}

fn fail_window(bench: &Bench, _: &Key, counter: &Key) -> (Vec<Check>, Vec<Write>) {
    (Vec::new(), vec![pass(counter, 1, 0, bench.now + HOUR)])
}

fn fail_overflow(_: &Bench, _: &Key, counter: &Key) -> (Vec<Check>, Vec<Write>) {
    (Vec::new(), vec![add(counter, i64::MAX)])
}

async fn leaves_all(bench: &Bench, fail: Fail) -> Checked {
    let (old, new) = (bench.keys("notes", "old", 4)?, bench.keys("notes", "new", 4)?);
    let (counter, other) = (bench.key("gates", "gate")?, bench.key("counts", "count")?);
    let mut writes: Vec<Write> = old.iter().map(|key| put(key, "old")).collect();
    writes.extend([pass(&counter, 5, 10, bench.now + HOUR), add(&other, 7)]);
    bench.write(writes).await?;
    let all = [old.clone(), new.clone(), vec![counter.clone(), other.clone()]].concat();
    let before = bench.store.get(&all).await?;
    let Some(first) = old.first() else { return holds("there are keys", false) };
    for place in 0..3 {
        let (checks, failing) = fail(bench, first, &counter);
        let mut writes: Vec<Write> = new.iter().map(|key| put(key, "new")).collect();
        writes.extend(old.iter().take(2).map(|key| put(key, "changed")));
        writes.extend(old.iter().skip(2).map(delete));
        writes.push(add(&other, 1));
        let at = [0, writes.len() / 2, writes.len()].get(place).copied().unwrap_or_default();
        for write in failing {
            writes.insert(at, write);
        }
        bench.conflict(&bench.batch(checks, writes)).await?;
        same("every row", bench.store.get(&all).await?, before.clone())?;
    }
    Ok(())
}

/// Ten checks of which these fail, and the conflict that must come of it.
async fn failing(bench: &Bench, fails: &[usize], expected: usize) -> Checked {
    let keys = bench.keys("notes", "row", 10)?;
    let there = keys.iter().enumerate().filter(|(number, _)| fails.contains(number));
    let id = bench.write(there.map(|(_, key)| put(key, "value")).collect()).await?;
    let checks = keys.iter().map(|key| check(key, Expect::Absent)).collect();
    let conflict = bench.conflict(&bench.batch(checks, Vec::new())).await?;
    same(
        "the conflict",
        conflict,
        Conflict { at: Where::Check(expected), found: Found::Row(Some(id)) },
    )
}

async fn first_check(bench: &Bench) -> Checked {
    failing(bench, &[3, 5, 9], 3).await
}

async fn last_check(bench: &Bench) -> Checked {
    failing(bench, &[9], 9).await
}

async fn middle_check(bench: &Bench) -> Checked {
    failing(bench, &[4], 4).await
}

async fn check_before_write(bench: &Bench) -> Checked {
    let (key, count) = (bench.key("notes", "row")?, bench.key("counts", "count")?);
    bench.write(vec![add(&count, i64::MAX)]).await?;
    let checks = vec![check(&count, Expect::Present), check(&key, Expect::Present)];
    let conflict = bench.conflict(&bench.batch(checks, vec![add(&count, 1)])).await?;
    same("where", conflict.at, Where::Check(1))
}

async fn first_add(bench: &Bench) -> Checked {
    let keys = bench.keys("counts", "count", 4)?;
    bench.write(keys.iter().skip(1).map(|key| add(key, i64::MAX)).collect()).await?;
    let writes = keys.iter().map(|key| add(key, 1)).collect();
    let conflict = bench.conflict(&bench.batch(Vec::new(), writes)).await?;
    same("where", conflict.at, Where::Write(1))
}

async fn counts_writes(bench: &Bench) -> Checked {
    let keys = bench.keys("notes", "row", 2)?;
    let count = bench.key("counts", "count")?;
    bench.write(vec![add(&count, i64::MAX)]).await?;
    let mut writes: Vec<Write> = keys.iter().take(1).map(|key| put(key, "value")).collect();
    writes.extend(keys.iter().skip(1).map(delete));
    writes.push(add(&count, 1));
    let conflict = bench.conflict(&bench.batch(Vec::new(), writes)).await?;
    same("where", conflict.at, Where::Write(2))
}

async fn found_version(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    let old = bench.write(vec![put(&key, "old")]).await?;
    let new = bench.write(vec![put(&key, "new")]).await?;
    let batch = bench.batch(vec![check(&key, Expect::Version(old))], vec![put(&key, "mine")]);
    same("found", bench.conflict(&batch).await?.found, Found::Row(Some(new)))
}

async fn found_nothing(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    let version = bench.id();
    let batch = bench.batch(vec![check(&key, Expect::Version(version))], vec![put(&key, "mine")]);
    same("found", bench.conflict(&batch).await?.found, Found::Absent)
}

async fn found_unversioned(bench: &Bench) -> Checked {
    let key = bench.key("counts", "count")?;
    bench.write(vec![add(&key, 1)]).await?;
    let batch = bench.batch(vec![check(&key, Expect::Absent)], vec![add(&key, 1)]);
    same("found", bench.conflict(&batch).await?.found, Found::Row(None))
}

async fn checks_see_before(bench: &Bench) -> Checked {
    let keys = bench.keys("notes", "row", 2)?;
    let checks = keys.iter().map(|key| check(key, Expect::Absent)).collect();
    let batch = bench.batch(checks, keys.iter().map(|key| put(key, "value")).collect());
    bench.committed(&batch).await.map(|_| ())
}

async fn check_and_delete(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    let id = bench.write(vec![put(&key, "value")]).await?;
    let batch = bench.batch(vec![check(&key, Expect::Version(id))], vec![delete(&key)]);
    bench.committed(&batch).await?;
    bench.expect_row("the row", &key, None).await
}

async fn check_and_add(bench: &Bench) -> Checked {
    let key = bench.key("counts", "count")?;
    let first = bench.batch(vec![check(&key, Expect::Absent)], vec![add(&key, 1)]);
    bench.committed(&first).await?;
    let second = bench.batch(vec![check(&key, Expect::Present)], vec![add(&key, 1)]);
    bench.committed(&second).await?;
    bench.expect_count("the counter", &key, Some(2)).await
}

async fn two_checks(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    let checks = vec![check(&key, Expect::Absent), check(&key, Expect::Present)];
    let conflict = bench.conflict(&bench.batch(checks, Vec::new())).await?;
    same("where", conflict.at, Where::Check(1))
}

async fn chain(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    let mut version = bench.write(vec![put(&key, "0")]).await?;
    for number in 1..50 {
        let value = number.to_string();
        let checks = vec![check(&key, Expect::Version(version))];
        let batch = bench.batch(checks, vec![put(&key, value.clone())]);
        bench.committed(&batch).await?;
        version = batch.id;
        bench.expect_row("the row", &key, versioned(value, version)).await?;
    }
    Ok(())
}

async fn stale(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    let mut old = Vec::new();
    for number in 0..10 {
        old.push(bench.write(vec![put(&key, number.to_string())]).await?);
    }
    let Some(last) = old.pop() else { return Ok(()) };
    for version in old {
        let checks = vec![check(&key, Expect::Version(version))];
        bench.conflict(&bench.batch(checks, vec![put(&key, "mine")])).await?;
    }
    bench.expect_row("the row", &key, versioned("9", last)).await
}

async fn aba(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    bench.write(vec![put(&key, "value")]).await?;
    let read = bench.row(&key).await?.and_then(|row| row.version);
    let Some(first) = read else { return holds("the row has a version", false) };
    for _ in 0..5 {
        bench.write(vec![delete(&key)]).await?;
        bench.write(vec![put(&key, "value")]).await?;
        let checks = vec![check(&key, Expect::Version(first))];
        bench.conflict(&bench.batch(checks, vec![put(&key, "mine")])).await?;
    }
    Ok(())
}
