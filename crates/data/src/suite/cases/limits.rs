//! Every limit one below, at it and one above; what is refused has changed nothing.

use super::cases;
use crate::error::{Error, ErrorKind};
use crate::store::limits::{
    BATCH_BYTES_MAX, BATCH_CHECKS_MAX, BATCH_WRITES_MAX, KEY_BYTES_MAX, READ_ROWS_MAX,
    ROW_BYTES_MAX,
};
use crate::store::{Batch, Expect, Key, Range, Scan, Trail, Write};
use crate::suite::bench::{
    Bench, Checked, add, check, delete, holds, put, refused, same, versioned,
};
use crate::suite::{Case, Failure};
use bytes::Bytes;

const KEY: usize = KEY_BYTES_MAX;
const ROW: usize = ROW_BYTES_MAX as usize;
const WRITES: usize = BATCH_WRITES_MAX as usize;
const CHECKS: usize = BATCH_CHECKS_MAX as usize;
const BYTES: usize = BATCH_BYTES_MAX as usize;
const READ: usize = READ_ROWS_MAX as usize;

pub(super) fn cases() -> Vec<Case> {
    let mut all = cases! {
        "limits" "key: one byte below the limit" => |b| key_of(b, KEY - 1, true);
        "limits" "key: at the limit" => |b| key_of(b, KEY, true);
        "limits" "key: one byte above the limit" => |b| key_of(b, KEY + 1, false);
        "limits" "key: far above the limit" => |b| key_of(b, 1 << 20, false);
        "limits" "key: of no bytes" => |b| short_key(b, &[]);
        "limits" "key: of one byte" => |b| short_key(b, &[1]);
        "limits" "key: of the number 0" => |b| short_key(b, &[0, 0, 0x18]);
        "limits" "key: too long a one cannot be asked for" => get_long_key;
        "limits" "key: too long a one cannot be checked" => check_long_key;
        "limits" "key: too long a one cannot be deleted" => delete_long_key;
        "limits" "key: too long a one cannot be added to" => add_long_key;
        "limits" "row: one byte below the limit" => |b| row_of(b, ROW - 1, true);
        "limits" "row: at the limit" => |b| row_of(b, ROW, true);
        "limits" "row: one byte above the limit" => |b| row_of(b, ROW + 1, false);
        "limits" "batch: one write below the limit" => |b| writes_of(b, WRITES - 1, true);
        "limits" "batch: writes at the limit" => |b| writes_of(b, WRITES, true);
        "limits" "batch: one write above the limit" => |b| writes_of(b, WRITES + 1, false);
        "limits" "batch: one check below the limit" => |b| checks_of(b, CHECKS - 1, true);
        "limits" "batch: checks at the limit" => |b| checks_of(b, CHECKS, true);
        "limits" "batch: one check above the limit" => |b| checks_of(b, CHECKS + 1, false);
        "limits" "batch: one byte below the limit" => |b| bytes_of(b, BYTES - 1, true);
        "limits" "batch: bytes at the limit" => |b| bytes_of(b, BYTES, true);
        "limits" "batch: one byte above the limit" => |b| bytes_of(b, BYTES + 1, false);
    };
    all.extend(twice());
    all.extend(reads());
    all
}

fn twice() -> Vec<Case> {
    cases! {
        "limits" "batch: a row put twice" => |b| two_ways(b, 0, |k| vec![put(k, "1"), put(k, "2")]);
        "limits" "batch: a row put and deleted" =>
            |b| two_ways(b, 0, |k| vec![put(k, "1"), delete(k)]);
        "limits" "batch: a row deleted and put" =>
            |b| two_ways(b, 0, |k| vec![delete(k), put(k, "1")]);
        "limits" "batch: a row deleted twice" => |b| two_ways(b, 0, |k| vec![delete(k), delete(k)]);
        "limits" "batch: a row put and added to" =>
            |b| two_ways(b, 0, |k| vec![put(k, "1"), add(k, 1)]);
        "limits" "batch: a row added to and put" =>
            |b| two_ways(b, 0, |k| vec![add(k, 1), put(k, "1")]);
        "limits" "batch: a row added to and deleted" =>
            |b| two_ways(b, 0, |k| vec![add(k, 1), delete(k)]);
        "limits" "batch: a row put twice among many" =>
            |b| two_ways(b, 60, |k| vec![put(k, "1"), put(k, "2")]);
        "limits" "batch: a row added to twice and deleted among many" =>
            |b| two_ways(b, 60, |k| vec![add(k, 1), delete(k), add(k, 1)]);
        "limits" "batch: one check of a row twice is no harm" => check_twice;
        "limits" "batch: a trail of too many commits" => long_trail;
        "limits" "batch: an error is not remembered" => error_not_remembered;
    }
}

fn reads() -> Vec<Case> {
    cases! {
        "limits" "scan: of no rows" => |b| scan_of(b, 0, Some(ErrorKind::Argument));
        "limits" "scan: of one row" => |b| scan_of(b, 1, None);
        "limits" "scan: one row below the limit" => |b| scan_of(b, READ - 1, None);
        "limits" "scan: rows at the limit" => |b| scan_of(b, READ, None);
        "limits" "scan: one row above the limit" =>
            |b| scan_of(b, READ + 1, Some(ErrorKind::TooLarge));
        "limits" "scan: of all rows there are numbers" =>
            |b| scan_of(b, usize::MAX, Some(ErrorKind::TooLarge));
        "limits" "scan: bounds one byte longer than a key" => |b| bound_of(b, KEY + 1, true);
        "limits" "scan: bounds two bytes longer than a key" => |b| bound_of(b, KEY + 2, false);
        "limits" "get: one key below the limit" => |b| get_of(b, READ - 1, true);
        "limits" "get: keys at the limit" => |b| get_of(b, READ, true);
        "limits" "get: one key above the limit" => |b| get_of(b, READ + 1, false);
    }
}

/// A key of exactly so many bytes.
fn long_key(bench: &Bench, bytes: usize) -> Checked<Key> {
    let short = bench.key("notes", "")?;
    let fill = bytes.saturating_sub(short.bytes().len());
    // The codec refuses to make what is too long, so the text is put in by hand, before its end.
    let split = short.bytes().len().saturating_sub(2);
    let (front, end) = (short.bytes().slice(..split), short.bytes().slice(split..));
    let key = Key::from([front.as_ref(), &vec![b'x'; fill], end.as_ref()].concat());
    same("bytes of the key", key.bytes().len(), bytes)?;
    Ok(key)
}

/// Expects a batch to be refused as too large, with the limit, and to have changed nothing.
async fn too_large(bench: &Bench, batch: &Batch) -> Checked<Error> {
    let error = refused(bench.store.commit(batch).await, ErrorKind::TooLarge)?;
    let named = error.value("limit").is_some() && error.value("given").is_some();
    holds("the error names the limit and what was given", named)?;
    Ok(error)
}

async fn key_of(bench: &Bench, bytes: usize, fits: bool) -> Checked {
    let (key, witness) = (long_key(bench, bytes)?, bench.key("notes", "witness")?);
    let batch = bench.batch(Vec::new(), vec![put(&witness, "there"), put(&key, "value")]);
    if !fits {
        too_large(bench, &batch).await?;
        return bench.expect_row("the other row of the batch", &witness, None).await;
    }
    bench.committed(&batch).await?;
    bench.expect_row("the row", &key, versioned("value", batch.id)).await?;
    let rows = bench.all(&bench.range_in(0, "notes")?, true, 10).await?;
    holds("a scan answers it", rows.iter().any(|keyed| keyed.key == key))
}

async fn short_key(bench: &Bench, bytes: &[u8]) -> Checked {
    let key = Key::new(Bytes::copy_from_slice(bytes));
    let witness = bench.key("notes", "witness")?;
    let batch = bench.batch(Vec::new(), vec![put(&witness, "there"), put(&key, "value")]);
    refused(bench.store.commit(&batch).await, ErrorKind::Argument)?;
    bench.expect_row("the other row of the batch", &witness, None).await?;
    refused(bench.store.get(&[key]).await, ErrorKind::Argument).map(|_| ())
}

async fn get_long_key(bench: &Bench) -> Checked {
    let key = long_key(bench, KEY + 1)?;
    refused(bench.store.get(&[key]).await, ErrorKind::TooLarge).map(|_| ())
}

async fn check_long_key(bench: &Bench) -> Checked {
    let key = long_key(bench, KEY + 1)?;
    too_large(bench, &bench.batch(vec![check(&key, Expect::Absent)], Vec::new())).await.map(|_| ())
}

async fn delete_long_key(bench: &Bench) -> Checked {
    let key = long_key(bench, KEY + 1)?;
    too_large(bench, &bench.batch(Vec::new(), vec![delete(&key)])).await.map(|_| ())
}

async fn add_long_key(bench: &Bench) -> Checked {
    let key = long_key(bench, KEY + 1)?;
    too_large(bench, &bench.batch(Vec::new(), vec![add(&key, 1)])).await.map(|_| ())
}

/// Bytes that compress badly and hold every byte.
fn filler(bytes: usize) -> Bytes {
    let mut state = 0x2545_f491_u32;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_be_bytes().into_iter().next().unwrap_or_default()
    };
    Bytes::from((0..bytes).map(next).collect::<Vec<u8>>())
}

async fn row_of(bench: &Bench, bytes: usize, fits: bool) -> Checked {
    let (key, witness) = (bench.key("notes", "large")?, bench.key("notes", "witness")?);
    let value = filler(bytes);
    let batch = bench.batch(Vec::new(), vec![put(&witness, "there"), put(&key, value.clone())]);
    if !fits {
        too_large(bench, &batch).await?;
        return bench.expect_row("the other row of the batch", &witness, None).await;
    }
    bench.committed(&batch).await?;
    let found = bench.row(&key).await?.map(|row| row.value);
    holds("the value is the same", found == Some(value))
}

async fn writes_of(bench: &Bench, count: usize, fits: bool) -> Checked {
    let keys = bench.keys("notes", "row", count)?;
    let batch = bench.batch(Vec::new(), keys.iter().map(|key| put(key, "value")).collect());
    let expected = if fits { count } else { 0 };
    match fits {
        true => bench.committed(&batch).await.map(|_| ())?,
        false => too_large(bench, &batch).await.map(|_| ())?,
    }
    let rows = bench.all(&bench.range_in(0, "notes")?, false, READ).await?;
    same("rows", rows.len(), expected)
}

async fn checks_of(bench: &Bench, count: usize, fits: bool) -> Checked {
    let keys = bench.keys("notes", "row", count)?;
    let witness = bench.key("notes", "witness")?;
    let checks = keys.iter().map(|key| check(key, Expect::Absent)).collect();
    let batch = bench.batch(checks, vec![put(&witness, "there")]);
    match fits {
        true => bench.committed(&batch).await.map(|_| ())?,
        false => too_large(bench, &batch).await.map(|_| ())?,
    }
    same("the write", bench.row(&witness).await?.is_some(), fits)
}

async fn bytes_of(bench: &Bench, bytes: usize, fits: bool) -> Checked {
    let keys = bench.keys("notes", "row", 4)?;
    let mut left = bytes;
    let mut writes = Vec::new();
    for (number, key) in keys.iter().enumerate() {
        let share = left / (keys.len() - number);
        let value = share.saturating_sub(key.bytes().len());
        left = left.saturating_sub(value + key.bytes().len());
        writes.push(put(key, filler(value)));
    }
    let batch = bench.batch(Vec::new(), writes);
    same("bytes of the batch", batch.bytes(), bytes)?;
    match fits {
        true => bench.committed(&batch).await.map(|_| ())?,
        false => too_large(bench, &batch).await.map(|_| ())?,
    }
    let rows = bench.store.get(&keys).await?;
    holds("all rows or none", rows.iter().all(|row| row.is_some() == fits))
}

/// A batch that writes one row in two ways, among so many others.
async fn two_ways(bench: &Bench, others: usize, writes: fn(&Key) -> Vec<Write>) -> Checked {
    let key = bench.key("notes", "row0030x")?;
    let others = bench.keys("notes", "row", others)?;
    let mut all: Vec<Write> = others.iter().map(|key| put(key, "value")).collect();
    let mut unclear = writes(&key).into_iter();
    all.extend(unclear.next());
    all.reverse();
    all.extend(unclear);
    let batch = bench.batch(Vec::new(), all);
    refused(bench.store.commit(&batch).await, ErrorKind::Argument)?;
    let rows = bench.all(&bench.range_in(0, "notes")?, false, READ).await?;
    same("rows", rows, Vec::new())
}

async fn check_twice(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    let checks = vec![check(&key, Expect::Absent), check(&key, Expect::Absent)];
    let batch = bench.batch(checks, vec![put(&key, "value")]);
    bench.committed(&batch).await?;
    bench.expect_row("the row", &key, versioned("value", batch.id)).await
}

async fn long_trail(bench: &Bench) -> Checked {
    bench.with_trails()?;
    let key = bench.key("notes", "row")?;
    let trail = |commits: usize| {
        let previous = (0..commits).map(|_| bench.id()).collect();
        let trail = Some(Box::new(Trail { previous, ..Trail::default() }));
        let (key, value) = (key.clone(), Bytes::from("value"));
        vec![Write::Put { key, value, expires: None, versioned: true, trail }]
    };
    too_large(bench, &bench.batch(Vec::new(), trail(Trail::PREVIOUS_MAX + 1))).await?;
    bench.expect_row("the row", &key, None).await?;
    let batch = bench.batch(Vec::new(), trail(Trail::PREVIOUS_MAX));
    bench.committed(&batch).await.map(|_| ())
}

async fn error_not_remembered(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    let mut batch = bench.batch(Vec::new(), vec![put(&key, filler(ROW + 1))]);
    too_large(bench, &batch).await?;
    batch.writes = vec![put(&key, "value")];
    bench.committed(&batch).await?;
    bench.expect_row("the row", &key, versioned("value", batch.id)).await
}

async fn scan_of(bench: &Bench, rows: usize, refusal: Option<ErrorKind>) -> Checked {
    let key = bench.key("notes", "row")?;
    bench.write(vec![put(&key, "value")]).await?;
    let scan = Scan { range: bench.range_in(0, "notes")?, reverse: false, rows };
    let answer = bench.store.scan(&scan).await;
    match refusal {
        Some(kind) => refused(answer, kind).map(|_| ()),
        None => same("rows", answer?.rows.len(), 1),
    }
}

async fn bound_of(bench: &Bench, bytes: usize, fits: bool) -> Checked {
    let start = bench.key("notes", "a")?;
    let mut end = bench.key("notes", "b")?.bytes().to_vec();
    end.resize(bytes, 0);
    let range = Range { start: start.bytes().clone(), end: Bytes::from(end) };
    let answer = bench.store.scan(&Scan { range, reverse: false, rows: 1 }).await;
    match fits {
        true => same("rows", answer?.rows, Vec::new()),
        false => refused(answer, ErrorKind::TooLarge).map(|_| ()),
    }
}

async fn get_of(bench: &Bench, count: usize, fits: bool) -> Checked {
    let keys = bench.keys("notes", "row", count)?;
    let Some(last) = keys.last() else { return Err(Failure::broken("no keys")) };
    bench.write(vec![put(last, "value")]).await?;
    let answer = bench.store.get(&keys).await;
    if !fits {
        return refused(answer, ErrorKind::TooLarge).map(|_| ());
    }
    let rows = answer?;
    same("rows answered", rows.len(), count)?;
    same("rows there", rows.iter().flatten().count(), 1)?;
    holds("the last is there", rows.last().is_some_and(Option::is_some))
}
