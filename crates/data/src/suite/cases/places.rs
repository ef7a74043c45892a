//! Several places: one commit where the store reaches them, a refusal without a trace where not.

use super::cases;
use crate::error::ErrorKind;
use crate::store::{Expect, Held, Key, Range, Reach, Row, Scan, Stretch, Trail, Write};
use crate::suite::bench::{
    Bench, Checked, add, check, delete, holds, plain, put, refused, same, unversioned,
};
use crate::suite::{Case, Failure};
use crate::value::Value;
use bytes::Bytes;
use std::collections::BTreeSet;

pub(super) fn cases() -> Vec<Case> {
    cases! {
        "P1" "places: puts of two are refused, or one commit" =>
            |b| across(b, |k, l| (None, vec![put(k, "1"), put(l, "2")]));
        "P1" "places: a check of one and a write of another" =>
            |b| across(b, |k, l| (Some(check(k, Expect::Absent)), vec![put(l, "2")]));
        "P1" "places: a put and a delete of two" =>
            |b| across(b, |k, l| (None, vec![put(k, "1"), delete(l)]));
        "P1" "places: counters of two" => counters;
        "P1" "places: rows without versions, by one blind batch" => blind;
        "P1" "places: a blind batch deletes too" => blind_deletes;
        "P8" "places: a blind batch again" => blind_again;
        "P1" "places: a checked batch of rows without versions" => not_blind;
        "P4" "places: a get of many" => get_many;
        "P5" "places: a scan across groups" => scan_across;
        "P5" "places: a scan that fixes no group" => scan_open;
        "P5" "places: a walk meets every row of all groups once" => walk;
        "P5" "places: a walk goes on from its marks" => marks;
        "P1" "places: all collections of a group are one" => one_group;
        "P9" "trail: comes back as it was given" => trail;
        "P1" "trail: a tombstone lies there and is read as dead" => tombstone;
    }
}

type Across = fn(&Key, &Key) -> (Option<crate::store::Check>, Vec<Write>);

/// A batch over two rooms: one commit, or refused and nothing done.
async fn across(bench: &Bench, of: Across) -> Checked {
    let (one, two) = (bench.key_in(0, "notes", "row")?, bench.key_in(1, "notes", "row")?);
    let (checks, writes) = of(&one, &two);
    let puts = writes.iter().filter(|write| matches!(write, Write::Put { .. })).count();
    let batch = bench.batch(checks.into_iter().collect(), writes);
    let answer = bench.store.commit(&batch).await;
    let expected = match bench.whole_store() {
        Ok(()) => {
            answer?;
            puts
        }
        Err(_) => {
            refused(answer, ErrorKind::Unsupported)?;
            0
        }
    };
    let rows = bench.store.get(&[one, two]).await?;
    same("rows there", rows.into_iter().flatten().count(), expected)
}

async fn counters(bench: &Bench) -> Checked {
    let (one, two) = (bench.key_in(0, "counts", "count")?, bench.key_in(1, "counts", "count")?);
    let batch = bench.batch(Vec::new(), vec![add(&one, 1), add(&two, 2)]);
    let answer = bench.store.commit(&batch).await;
    let expected = match bench.whole_store() {
        Ok(()) => {
            answer?;
            [Some(1), Some(2)]
        }
        Err(_) => {
            refused(answer, ErrorKind::Unsupported)?;
            [None, None]
        }
    };
    for (key, expected) in [one, two].iter().zip(expected) {
        bench.expect_count("a counter", key, expected).await?;
    }
    Ok(())
}

/// Keys of rows without versions, each in a room of its own.
fn blobs(bench: &Bench) -> Checked<Vec<Key>> {
    (0..5).map(|room| bench.key_in(room, "blobs", "row")).collect()
}

/// Goes on only where a blind batch reaches several places.
fn blind_reaches(bench: &Bench) -> Checked {
    match bench.description.blind {
        Reach::Store => Ok(()),
        Reach::Place => Err(Failure::NotOffered("a blind batch reaches one place only")),
    }
}

async fn blind(bench: &Bench) -> Checked {
    blind_reaches(bench)?;
    let keys = blobs(bench)?;
    bench.write(keys.iter().map(|key| plain(key, "value")).collect()).await?;
    same("rows", bench.store.get(&keys).await?, vec![unversioned("value"); keys.len()])
}

async fn blind_deletes(bench: &Bench) -> Checked {
    blind_reaches(bench)?;
    let keys = blobs(bench)?;
    bench.write(keys.iter().map(|key| plain(key, "value")).collect()).await?;
    let mut writes: Vec<Write> = keys.iter().take(3).map(delete).collect();
    writes.extend(keys.iter().skip(3).map(|key| plain(key, "new")));
    bench.write(writes).await?;
    let new = unversioned("new");
    let expected = vec![None, None, None, new.clone(), new];
    same("rows", bench.store.get(&keys).await?, expected)
}

async fn blind_again(bench: &Bench) -> Checked {
    blind_reaches(bench)?;
    let keys = blobs(bench)?;
    let batch = bench.batch(Vec::new(), keys.iter().map(|key| plain(key, "old")).collect());
    bench.committed(&batch).await?;
    bench.write(keys.iter().map(|key| plain(key, "new")).collect()).await?;
    bench.committed(&batch).await?;
    same("rows", bench.store.get(&keys).await?, vec![unversioned("new"); keys.len()])
}

async fn not_blind(bench: &Bench) -> Checked {
    let keys = blobs(bench)?;
    let checks = keys.iter().take(1).map(|key| check(key, Expect::Absent)).collect();
    let batch = bench.batch(checks, keys.iter().map(|key| plain(key, "value")).collect());
    let answer = bench.store.commit(&batch).await;
    let expected = match bench.whole_store() {
        Ok(()) => {
            answer?;
            keys.len()
        }
        Err(_) => {
            refused(answer, ErrorKind::Unsupported)?;
            0
        }
    };
    let rows = bench.store.get(&keys).await?;
    same("rows there", rows.into_iter().flatten().count(), expected)
}

async fn get_many(bench: &Bench) -> Checked {
    let mut keys = Vec::new();
    for room in 0..10 {
        let key = bench.key_in(room, "notes", "row")?;
        bench.write(vec![put(&key, room.to_string())]).await?;
        keys.push(key);
    }
    keys.reverse();
    let rows = bench.store.get(&keys).await?;
    let values: Vec<Bytes> = rows.into_iter().flatten().map(|row| row.value).collect();
    same("values", values, (0..10).rev().map(|room| Bytes::from(room.to_string())).collect())
}

/// A scan that a whole-store atomic store answers and a group-atomic one refuses.
async fn scan_of(bench: &Bench, range: Range, at_least: usize) -> Checked {
    let answer = bench.store.scan(&Scan { range, reverse: false, rows: 1_000 }).await;
    match bench.whole_store() {
        Ok(()) => holds("its rows are there", answer?.rows.len() >= at_least),
        Err(_) => refused(answer, ErrorKind::Unsupported).map(|_| ()),
    }
}

async fn scan_across(bench: &Bench) -> Checked {
    for room in 0..3 {
        bench.write(vec![put(&bench.key_in(room, "notes", "row")?, "value")]).await?;
    }
    let (first, last) = (bench.range_in(0, "notes")?, bench.range_in(2, "notes")?);
    scan_of(bench, Range { start: first.start, end: last.end }, 3).await
}

async fn scan_open(bench: &Bench) -> Checked {
    for room in 0..3 {
        bench.write(vec![put(&bench.key_in(room, "notes", "row")?, "value")]).await?;
    }
    let shape = bench.shape("notes")?;
    let range = shape.children(&shape.space.to_be_bytes());
    scan_of(bench, range, 3).await
}

async fn walk(bench: &Bench) -> Checked {
    let mut expected = Vec::new();
    for room in 0..5 {
        for name in ["a", "b", "c"] {
            let key = bench.key_in(room, "notes", name)?;
            bench.write(vec![put(&key, "value")]).await?;
            expected.push(key);
        }
    }
    let shape = bench.shape("notes")?;
    let mut range = shape.children(&shape.space.to_be_bytes());
    let mut found: Vec<Key> = Vec::new();
    loop {
        let scan = Scan { range: range.clone(), reverse: false, rows: 4 };
        let page = bench.store.walk(&scan).await?;
        let Some(last) = page.rows.last().map(|keyed| keyed.key.clone()) else { break };
        found.extend(page.rows.into_iter().map(|keyed| keyed.key));
        range = range.after(&last, false);
    }
    // Other cases may have rows of the same space; the order is the store's own.
    found.retain(|key| expected.contains(key));
    found.sort();
    expected.sort();
    same("keys", found, expected)
}

type WriteOf = fn(&Key) -> Write;

/// Every stretch is asked for twice, and the second answer counts: a mark is all there is.
async fn marks(bench: &Bench) -> Checked {
    let write: [(&str, WriteOf); 4] = [
        ("notes", |key| put(key, "value")),
        ("blobs", |key| plain(key, "value")),
        ("counts", |key| add(key, 1)),
        ("texts", |key| plain(key, "")),
    ];
    for (collection, write) in write {
        let mut lacking = BTreeSet::new();
        for room in 0..4 {
            for name in ["a", "b", "c"] {
                let key = bench.key_in(room, collection, name)?;
                bench.write(vec![write(&key)]).await?;
                lacking.insert(key);
            }
        }
        let space = bench.shape(collection)?.space;
        let (mut mark, mut stretches): (Option<Vec<u8>>, usize) = (None, 0);
        loop {
            let _ = bench.store.walk_from(space, mark.as_deref(), 2).await?;
            let stretch = bench.store.walk_from(space, mark.as_deref(), 2).await?;
            let Some(Stretch { rows, mark: next }) = stretch else {
                return holds("a mark that is new says something", false);
            };
            holds("no more rows than were asked for", rows.len() <= 2)?;
            lacking.retain(|key| rows.iter().all(|keyed| keyed.key != *key));
            stretches += 1;
            // Other cases may have rows of the same space.
            holds("it comes to an end", stretches < 50_000)?;
            mark = match next {
                Some(next) => Some(next),
                None => break,
            };
        }
        same("keys that were not met", lacking, BTreeSet::new())?;
    }
    Ok(())
}

async fn one_group(bench: &Bench) -> Checked {
    let (note, lease) = (bench.key("notes", "row")?, bench.key("leases", "row")?);
    let (count, gate) = (bench.key("counts", "row")?, bench.key("gates", "row")?);
    let checks = [&note, &lease, &count, &gate].map(|key| check(key, Expect::Absent)).to_vec();
    let writes = vec![put(&note, "value"), put(&lease, "value"), add(&count, 1), add(&gate, 1)];
    bench.committed(&bench.batch(checks, writes)).await?;
    let rows = bench.store.get(&[note, lease, count, gate]).await?;
    same("rows there", rows.into_iter().flatten().count(), 4)
}

async fn trail(bench: &Bench) -> Checked {
    bench.with_trails()?;
    let key = bench.key("parts", "row")?;
    let parts = bench.schema.collection("parts")?;
    let held: Vec<Held> = [1, 0, 1, 0, 0]
        .iter()
        .filter_map(|index| parts.indexes.get(*index))
        .zip(1..)
        .map(|(index, hash)| Held { space: index.key.space, entry: [hash; 8], attempt: bench.id() })
        .collect();
    let previous = vec![bench.id(), bench.id()];
    let trail = Some(Box::new(Trail { previous, dead: false, held }));
    let text = |text: &str| Value::Text(text.to_string());
    let value = parts.encode(&[text("wheel"), Value::I64(7), text("a1")])?;
    let write = Write::Put {
        key: key.clone(),
        value: value.clone(),
        expires: None,
        versioned: true,
        trail: trail.clone(),
    };
    let id = bench.write(vec![write]).await?;
    let row = Some(Row { value, version: Some(id), expires: None, trail });
    bench.expect_row("the row", &key, row.clone()).await?;
    let page = bench.page(&bench.range_in(0, "parts")?, false, 10).await?;
    same("in a scan", page.rows.into_iter().next().map(|keyed| keyed.row), row)
}

async fn tombstone(bench: &Bench) -> Checked {
    bench.with_trails()?;
    let key = bench.key("notes", "row")?;
    let trail = Some(Box::new(Trail { dead: true, ..Trail::default() }));
    let (value, expires) = (Bytes::new(), None);
    let write = Write::Put { key: key.clone(), value, expires, versioned: true, trail };
    let id = bench.write(vec![write]).await?;
    let Some(row) = bench.lies(&key).await? else { return holds("it lies there", false) };
    same("its version", row.version, Some(id))?;
    holds("it is dead", !row.is_live(bench.now))?;
    bench.write(vec![put(&key, "again")]).await?;
    holds("it can be written again", bench.row(&key).await?.is_some())
}
