//! Every write onto every state a row can be in, and sweeping.

use super::cases;
use crate::store::Key;
use crate::suite::Case;
use crate::suite::bench::{
    Bench, Checked, HOUR, MINUTE, add_until, delete, holds, plain, plain_until, put, put_until,
    same, until, unversioned, versioned,
};

pub(super) fn cases() -> Vec<Case> {
    let mut all = cases! {
        "P1" "put: onto nothing" => put_onto_nothing;
        "P1" "put: onto a row" => put_onto_row;
        "P1" "put: the same value again is a new version" => put_same_again;
        "P1" "put: onto a deleted row" => put_onto_deleted;
        "P6" "put: onto an ended row" => |b| put_onto_end(b, -HOUR);
        "P6" "put: onto a row that ends now" => |b| put_onto_end(b, 0);
        "P6" "put: onto a row that ends in a millisecond" => |b| put_onto_end(b, 1);
        "P6" "put: without an end, onto a row with one" => put_takes_end_away;
        "P6" "put: with an end, onto a row without one" => put_gives_end;
        "P6" "put: with another end" => put_moves_end;
        "P6" "put: an end keeps its milliseconds" => put_end_is_exact;
        "P6" "put: what has ended already is absent at once" => put_ended;
        "P1" "put: without a version" => plain_onto_nothing;
        "P1" "put: without a version, twice" => plain_twice;
        "P6" "put: without a version, with an end" => plain_with_end;
        "P6" "put: without a version or an end, onto one with an end" => plain_takes_end_away;
        "P1" "put: many rows in one batch have one version" => put_many;
        "P1" "put: an empty value is a row" => put_empty;
    };
    all.extend(more());
    all
}

fn more() -> Vec<Case> {
    cases! {
        "P1" "delete: of nothing" => delete_nothing;
        "P1" "delete: of a row" => delete_row;
        "P1" "delete: twice" => delete_twice;
        "P6" "delete: of an ended row" => delete_ended;
        "P1" "delete: of a row without a version" => delete_plain;
        "P1" "delete: of a counter begins it anew" => delete_counter;
        "P1" "delete: leaves its neighbours" => delete_neighbours;
        "P4" "get: rows in the order of their keys as asked" => get_order;
        "P4" "get: the same key twice" => get_twice;
        "P4" "get: no keys" => get_none;
        "P4" "get: some are there, some are not" => get_some;
        "P4" "get: a hundred keys" => get_many;
        "P6" "sweep: leaves live rows" => sweep_leaves_live;
        "P6" "sweep: leaves a row that ends in a millisecond" => sweep_edge;
        "P6" "sweep: an ended row can be written again" => sweep_then_write;
        "P6" "sweep: a row whose end was moved stays" => sweep_moved_end;
        "P6" "sweep: a row whose end was taken away stays" => sweep_end_taken_away;
        "P6" "sweep: no more rows than asked for" => sweep_at_most;
    }
}

async fn put_onto_nothing(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    bench.expect_row("before", &key, None).await?;
    let id = bench.write(vec![put(&key, "value")]).await?;
    bench.expect_row("after", &key, versioned("value", id)).await
}

async fn put_onto_row(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    bench.write(vec![put(&key, "a rather long value")]).await?;
    let id = bench.write(vec![put(&key, "short")]).await?;
    bench.expect_row("after", &key, versioned("short", id)).await
}

async fn put_same_again(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    let first = bench.write(vec![put(&key, "value")]).await?;
    let second = bench.write(vec![put(&key, "value")]).await?;
    holds("ids differ", first != second)?;
    bench.expect_row("after", &key, versioned("value", second)).await
}

async fn put_onto_deleted(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    bench.write(vec![put(&key, "first")]).await?;
    bench.write(vec![delete(&key)]).await?;
    let id = bench.write(vec![put(&key, "second")]).await?;
    bench.expect_row("after", &key, versioned("second", id)).await
}

/// Writes a lease that ends so long after now, an hour before that.
async fn lease(bench: &Bench, name: &str, after: i64) -> Checked<Key> {
    let key = bench.key("leases", name)?;
    let end = bench.now + after;
    let writes = vec![put_until(&key, "old", Some(end))];
    bench.committed(&bench.batch_at(end - HOUR, Vec::new(), writes)).await?;
    Ok(key)
}

async fn put_onto_end(bench: &Bench, after: i64) -> Checked {
    let key = lease(bench, "row", after).await?;
    let end = bench.now + HOUR;
    let id = bench.write(vec![put_until(&key, "new", Some(end))]).await?;
    bench.expect_row("after", &key, until(versioned("new", id), end)).await
}

async fn put_takes_end_away(bench: &Bench) -> Checked {
    let key = lease(bench, "row", MINUTE).await?;
    let id = bench.write(vec![put(&key, "new")]).await?;
    bench.expect_row("after", &key, versioned("new", id)).await
}

async fn put_gives_end(bench: &Bench) -> Checked {
    let key = bench.key("leases", "row")?;
    bench.write(vec![put(&key, "old")]).await?;
    let end = bench.now + MINUTE;
    let id = bench.write(vec![put_until(&key, "new", Some(end))]).await?;
    bench.expect_row("after", &key, until(versioned("new", id), end)).await
}

async fn put_moves_end(bench: &Bench) -> Checked {
    let key = lease(bench, "row", HOUR).await?;
    let end = bench.now + MINUTE;
    let id = bench.write(vec![put_until(&key, "new", Some(end))]).await?;
    bench.expect_row("after", &key, until(versioned("new", id), end)).await
}

async fn put_end_is_exact(bench: &Bench) -> Checked {
    for extra in [1, 7, 499, 500, 501, 999] {
        let key = bench.key("leases", &format!("row {extra}"))?;
        let end = bench.now - bench.now % 1_000 + HOUR + extra;
        let id = bench.write(vec![put_until(&key, "value", Some(end))]).await?;
        bench.expect_row("after", &key, until(versioned("value", id), end)).await?;
    }
    Ok(())
}

async fn put_ended(bench: &Bench) -> Checked {
    let key = bench.key("leases", "row")?;
    bench.write(vec![put_until(&key, "value", Some(bench.now))]).await?;
    bench.expect_row("after", &key, None).await
}

async fn plain_onto_nothing(bench: &Bench) -> Checked {
    let key = bench.key("blobs", "row")?;
    bench.write(vec![plain(&key, "value")]).await?;
    bench.expect_row("after", &key, unversioned("value")).await
}

async fn plain_twice(bench: &Bench) -> Checked {
    let key = bench.key("blobs", "row")?;
    bench.write(vec![plain(&key, "a rather long value")]).await?;
    bench.write(vec![plain(&key, "short")]).await?;
    bench.expect_row("after", &key, unversioned("short")).await
}

async fn plain_with_end(bench: &Bench) -> Checked {
    let key = bench.key("copies", "row")?;
    let end = bench.now + HOUR;
    bench.write(vec![plain_until(&key, "value", Some(end))]).await?;
    bench.expect_row("after", &key, until(unversioned("value"), end)).await
}

async fn plain_takes_end_away(bench: &Bench) -> Checked {
    let key = bench.key("copies", "row")?;
    bench.write(vec![plain_until(&key, "value", Some(bench.now + HOUR))]).await?;
    bench.write(vec![plain(&key, "value")]).await?;
    bench.expect_row("after", &key, unversioned("value")).await
}

async fn put_many(bench: &Bench) -> Checked {
    let keys = bench.keys("notes", "row", 50)?;
    let id = bench.write(keys.iter().map(|key| put(key, "value")).collect()).await?;
    let rows = bench.store.get(&keys).await?;
    same("after", rows, vec![versioned("value", id); keys.len()])
}

async fn put_empty(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    let id = bench.write(vec![put(&key, "")]).await?;
    bench.expect_row("by its key", &key, versioned("", id)).await?;
    let page = bench.page(&bench.range_in(0, "notes")?, false, 10).await?;
    same("rows of its range", page.rows.len(), 1)
}

async fn delete_nothing(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    bench.write(vec![delete(&key)]).await?;
    bench.expect_row("after", &key, None).await
}

async fn delete_row(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    bench.write(vec![put(&key, "value")]).await?;
    bench.write(vec![delete(&key)]).await?;
    same("what lies there", bench.lies(&key).await?, None)?;
    let page = bench.page(&bench.range_in(0, "notes")?, false, 10).await?;
    same("rows of its range", page.rows, Vec::new())
}

async fn delete_twice(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    bench.write(vec![put(&key, "value")]).await?;
    bench.write(vec![delete(&key)]).await?;
    bench.write(vec![delete(&key)]).await?;
    bench.expect_row("after", &key, None).await
}

async fn delete_ended(bench: &Bench) -> Checked {
    let key = lease(bench, "row", -MINUTE).await?;
    bench.write(vec![delete(&key)]).await?;
    same("what lies there", bench.lies(&key).await?, None)
}

async fn delete_plain(bench: &Bench) -> Checked {
    let key = bench.key("blobs", "row")?;
    bench.write(vec![plain(&key, "value")]).await?;
    bench.write(vec![delete(&key)]).await?;
    same("what lies there", bench.lies(&key).await?, None)
}

async fn delete_counter(bench: &Bench) -> Checked {
    let key = bench.key("hours", "count")?;
    bench.write(vec![add_until(&key, 5, Some(bench.now + MINUTE))]).await?;
    bench.write(vec![delete(&key)]).await?;
    bench.expect_count("deleted", &key, None).await?;
    bench.write(vec![add_until(&key, 2, Some(bench.now + HOUR))]).await?;
    let expected = until(unversioned(2_i64.to_be_bytes().to_vec()), bench.now + HOUR);
    bench.expect_row("anew", &key, expected).await
}

async fn delete_neighbours(bench: &Bench) -> Checked {
    let names = ["a", "ab", "b", "a\u{0}", "a\u{ff}"];
    let keys: Vec<Key> =
        names.iter().map(|name| bench.key("notes", name)).collect::<Checked<_>>()?;
    bench.write(keys.iter().map(|key| put(key, "value")).collect()).await?;
    let Some(first) = keys.first() else { return Ok(()) };
    bench.write(vec![delete(first)]).await?;
    let rows = bench.store.get(&keys).await?;
    let there: Vec<bool> = rows.iter().map(Option::is_some).collect();
    same("which are there", there, vec![false, true, true, true, true])
}

async fn get_order(bench: &Bench) -> Checked {
    let keys = bench.keys("notes", "row", 4)?;
    for (number, key) in keys.iter().enumerate() {
        bench.write(vec![put(key, format!("{number}"))]).await?;
    }
    let asked: Vec<Key> = [2, 0, 3, 1].iter().filter_map(|n| keys.get(*n)).cloned().collect();
    let rows = bench.store.get(&asked).await?;
    let values: Vec<_> = rows.into_iter().flatten().map(|row| row.value).collect();
    same("values", values, ["2", "0", "3", "1"].map(bytes::Bytes::from).to_vec())
}

async fn get_twice(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    let id = bench.write(vec![put(&key, "value")]).await?;
    let rows = bench.store.get(&[key.clone(), key]).await?;
    same("rows", rows, vec![versioned("value", id); 2])
}

async fn get_none(bench: &Bench) -> Checked {
    same("rows", bench.store.get(&[]).await?, Vec::new())
}

async fn get_some(bench: &Bench) -> Checked {
    let keys = bench.keys("notes", "row", 5)?;
    let written: Vec<_> = keys.iter().skip(1).step_by(2).map(|key| put(key, "value")).collect();
    let id = bench.write(written).await?;
    let row = versioned("value", id);
    let rows = bench.store.get(&keys).await?;
    same("rows", rows, vec![None, row.clone(), None, row, None])
}

async fn get_many(bench: &Bench) -> Checked {
    let keys = bench.keys("notes", "row", 100)?;
    let id = bench.write(keys.iter().map(|key| put(key, "value")).collect()).await?;
    same("rows", bench.store.get(&keys).await?, vec![versioned("value", id); 100])
}

/// Sweeps until nothing more goes.
async fn sweep_all(bench: &Bench) -> Checked {
    while bench.store.sweep(bench.now, 1_000).await? > 0 {}
    Ok(())
}

async fn sweep_leaves_live(bench: &Bench) -> Checked {
    let (note, lease_key) = (bench.key("notes", "row")?, bench.key("leases", "row")?);
    let end = bench.now + HOUR;
    let writes = vec![put(&note, "value"), put_until(&lease_key, "value", Some(end))];
    let id = bench.write(writes).await?;
    sweep_all(bench).await?;
    bench.expect_row("without an end", &note, versioned("value", id)).await?;
    bench.expect_row("with an end", &lease_key, until(versioned("value", id), end)).await
}

async fn sweep_edge(bench: &Bench) -> Checked {
    let (ends, stays) = (lease(bench, "ends", 0).await?, lease(bench, "stays", 1).await?);
    sweep_all(bench).await?;
    bench.expect_row("ended", &ends, None).await?;
    holds("the other is there", bench.row(&stays).await?.is_some())
}

async fn sweep_then_write(bench: &Bench) -> Checked {
    let key = lease(bench, "row", -MINUTE).await?;
    sweep_all(bench).await?;
    let end = bench.now + HOUR;
    let id = bench.write(vec![put_until(&key, "new", Some(end))]).await?;
    sweep_all(bench).await?;
    bench.expect_row("after", &key, until(versioned("new", id), end)).await
}

async fn sweep_moved_end(bench: &Bench) -> Checked {
    let key = lease(bench, "row", -MINUTE).await?;
    let end = bench.now + HOUR;
    let id = bench.write(vec![put_until(&key, "new", Some(end))]).await?;
    sweep_all(bench).await?;
    bench.expect_row("after", &key, until(versioned("new", id), end)).await
}

async fn sweep_end_taken_away(bench: &Bench) -> Checked {
    let key = lease(bench, "row", -MINUTE).await?;
    let id = bench.write(vec![put(&key, "new")]).await?;
    sweep_all(bench).await?;
    bench.expect_row("after", &key, versioned("new", id)).await
}

async fn sweep_at_most(bench: &Bench) -> Checked {
    for number in 0..5 {
        lease(bench, &format!("row {number}"), -MINUTE).await?;
    }
    same("rows of none", bench.store.sweep(bench.now, 0).await?, 0)?;
    let gone = bench.store.sweep(bench.now, 2).await?;
    holds("two at most go", gone <= 2)?;
    let range = bench.range_in(0, "leases")?;
    let left = bench.all(&range, false, 10).await?;
    holds("the others may lie there", left.len() <= 5)
}
