//! Several clients at once: nothing lost, nothing half, nothing that was not committed.

use super::cases;
use crate::store::{Expect, Key, Outcome, Range, Scan};
use crate::suite::Case;
use crate::suite::bench::{Bench, Checked, HOUR, add, check, delete, holds, pass, put, same};
use crate::suite::clients::{Client, at_once};
use bytes::Bytes;
use std::sync::atomic::Ordering;

pub(super) fn cases() -> Vec<Case> {
    cases! {
        "P1" "at once: one of eight inserts wins" => one_insert_wins;
        "P1" "at once: counting by version loses nothing" => no_lost_update;
        "P1" "at once: two checks that exclude each other" => no_write_skew;
        "P1" "at once: a get sees both rows of a batch or neither" => |b| both_or_neither(b, false);
        "P1" "at once: a scan sees both rows of a batch or neither" => |b| both_or_neither(b, true);
        "P1" "at once: a sum stays the same while it is moved about" => sum_stays;
        "P4" "at once: what conflicts is never seen" => never_dirty;
        "P4" "at once: what one acknowledges the others see" => others_see;
        "P4" "at once: versions never go back" => never_back;
        "P5" "at once: paging meets every row that stays, once" => paging;
        "P6" "at once: sweeping takes no live row" => sweeping;
        "P7" "at once: adds are exact, and each total comes once" => exact_adds;
        "P7" "at once: a window lets exactly its limit through" => exact_window;
        "P8" "at once: the same batch from all counts once" => same_batch;
    }
}

fn often(bench: &Bench, times: usize) -> usize {
    times * bench.effort as usize
}

async fn one_insert_wins(bench: &Bench) -> Checked {
    let keys = bench.keys("notes", "row", often(bench, 50).min(1_000))?;
    let insert = |client: Client| {
        let keys = keys.clone();
        Box::pin(async move {
            let mut won = 0;
            for key in &keys {
                let checks = vec![check(key, Expect::Absent)];
                let mine = put(key, client.number.to_string());
                won += usize::from(client.commits(checks, vec![mine]).await?);
            }
            Ok(won)
        }) as _
    };
    let won: Vec<usize> = at_once(bench, 8, insert).await?;
    same("inserts that won", won.iter().sum(), keys.len())
}

fn number(value: &Bytes) -> usize {
    std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()).unwrap_or(usize::MAX)
}

async fn no_lost_update(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    bench.write(vec![put(&key, "0")]).await?;
    let times = often(bench, 50);
    let count = |client: Client| {
        let key = key.clone();
        Box::pin(async move {
            let mut done = 0;
            while done < times {
                let Some(row) = client.row(&key).await? else { return holds("it is there", false) };
                let checks = row.version.map(|version| check(&key, Expect::Version(version)));
                let next = put(&key, (number(&row.value) + 1).to_string());
                let commits = client.commits(checks.into_iter().collect(), vec![next]).await?;
                done += usize::from(commits);
            }
            Ok(())
        }) as _
    };
    at_once(bench, 4, count).await?;
    let row = bench.row(&key).await?;
    same("the number", row.map(|row| number(&row.value)), Some(4 * times))
}

async fn no_write_skew(bench: &Bench) -> Checked {
    let times = often(bench, 100).min(1_000);
    let (left, right) = (bench.keys("notes", "left", times)?, bench.keys("notes", "right", times)?);
    for (one, two) in left.iter().zip(&right) {
        bench.write(vec![put(one, "here"), put(two, "here")]).await?;
    }
    let leave = |client: Client| {
        let (left, right) = (left.clone(), right.clone());
        Box::pin(async move {
            let mut left_with = 0;
            for (one, two) in left.iter().zip(&right) {
                let checks = vec![check(one, Expect::Present), check(two, Expect::Present)];
                let mine = if client.number == 0 { one } else { two };
                left_with += usize::from(client.commits(checks, vec![delete(mine)]).await?);
            }
            Ok(left_with)
        }) as _
    };
    let gone: Vec<usize> = at_once(bench, 2, leave).await?;
    same("rows that went", gone.iter().sum(), times)?;
    let rows = bench.store.get(&[left, right].concat()).await?;
    same("rows that stayed", rows.into_iter().flatten().count(), times)
}

/// Two clients write both rows, two look at them.
async fn both_or_neither(bench: &Bench, by_scan: bool) -> Checked {
    let keys = vec![bench.key("notes", "a")?, bench.key("notes", "b")?];
    bench.write(keys.iter().map(|key| put(key, "0")).collect()).await?;
    let times = often(bench, 2_000);
    let range = bench.range_in(0, "notes")?;
    let work = |client: Client| {
        let (keys, range) = (keys.clone(), range.clone());
        Box::pin(async move {
            for number in 0..times {
                if client.number < 2 {
                    let value = format!("{}-{number}", client.number);
                    let writes = keys.iter().map(|key| put(key, value.clone())).collect();
                    client.commits(Vec::new(), writes).await?;
                } else {
                    let seen = look(&client, &keys, &range, by_scan).await?;
                    same("rows of one commit", seen.first(), seen.last())?;
                    same("rows", seen.len(), 2)?;
                }
            }
            Ok(())
        }) as _
    };
    at_once(bench, 4, work).await.map(|_| ())
}

/// The values of rows, by their keys or by a scan.
async fn look(client: &Client, keys: &[Key], range: &Range, by_scan: bool) -> Checked<Vec<Bytes>> {
    if by_scan {
        let scan = Scan { range: range.clone(), reverse: false, rows: 1_000 };
        let page = client.store.scan(&scan).await?;
        return Ok(page.rows.into_iter().map(|keyed| keyed.row.value).collect());
    }
    let rows = client.store.get(keys).await?;
    Ok(rows.into_iter().flatten().map(|row| row.value).collect())
}

async fn sum_stays(bench: &Bench) -> Checked {
    let keys = bench.keys("counts", "account", 5)?;
    bench.write(keys.iter().map(|key| add(key, 100)).collect()).await?;
    let times = often(bench, 500);
    let range = bench.range_in(0, "counts")?;
    let work = |client: Client| {
        let (keys, range) = (keys.clone(), range.clone());
        Box::pin(async move {
            for _ in 0..times {
                let (from, to) = (client.below(keys.len()), client.below(keys.len()));
                if client.number > 0
                    && let (Some(from), Some(to)) = (keys.get(from), keys.get(to))
                {
                    client.commits(Vec::new(), vec![add(from, -7), add(to, 7)]).await?;
                } else {
                    let seen = look(&client, &keys, &range, false).await?;
                    let parts = seen.iter().map(|value| {
                        value.as_ref().try_into().map_or(i64::MIN, i64::from_be_bytes)
                    });
                    same("the sum", parts.sum::<i64>(), 500)?;
                }
            }
            Ok(())
        }) as _
    };
    at_once(bench, 3, work).await.map(|_| ())
}

async fn never_dirty(bench: &Bench) -> Checked {
    let (key, never) = (bench.key("notes", "row")?, bench.key("notes", "never")?);
    bench.write(vec![put(&key, "clean")]).await?;
    let times = often(bench, 1_000);
    let work = |client: Client| {
        let (key, never) = (key.clone(), never.clone());
        Box::pin(async move {
            for _ in 0..times {
                if client.number == 0 {
                    let checks = vec![check(&never, Expect::Present)];
                    let committed = client.commits(checks, vec![put(&key, "dirty")]).await?;
                    holds("it conflicts", !committed)?;
                } else {
                    let value = client.row(&key).await?.map(|row| row.value);
                    same("the value", value, Some(Bytes::from("clean")))?;
                }
            }
            Ok(())
        }) as _
    };
    at_once(bench, 3, work).await.map(|_| ())
}

async fn others_see(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    bench.write(vec![put(&key, "1")]).await?;
    let times = often(bench, 1_000);
    let work = |client: Client| {
        let key = key.clone();
        Box::pin(async move {
            for value in 2..times {
                if client.number == 0 {
                    client.commits(Vec::new(), vec![put(&key, value.to_string())]).await?;
                    client.shared.store(value as u64, Ordering::SeqCst);
                } else {
                    let acknowledged = client.shared.load(Ordering::SeqCst);
                    let seen = client.row(&key).await?.map_or(0, |row| number(&row.value));
                    holds("what was acknowledged is seen", seen as u64 >= acknowledged)?;
                }
            }
            Ok(())
        }) as _
    };
    at_once(bench, 3, work).await.map(|_| ())
}

async fn never_back(bench: &Bench) -> Checked {
    let key = bench.key("counts", "count")?;
    bench.write(vec![add(&key, 1)]).await?;
    let times = often(bench, 1_000);
    let work = |client: Client| {
        let key = key.clone();
        Box::pin(async move {
            let mut seen = 0;
            for _ in 0..times {
                if client.number == 0 {
                    client.commits(Vec::new(), vec![add(&key, 1)]).await?;
                } else {
                    let value = client.row(&key).await?.map(|row| row.value).unwrap_or_default();
                    let count = value.as_ref().try_into().map_or(-1, i64::from_be_bytes);
                    holds("a counter that grows never shrinks", count >= seen)?;
                    seen = count;
                }
            }
            Ok(())
        }) as _
    };
    at_once(bench, 3, work).await.map(|_| ())
}

async fn paging(bench: &Bench) -> Checked {
    let stays = bench.keys("notes", "row", 60)?;
    bench.write(stays.iter().map(|key| put(key, "stays")).collect()).await?;
    let comes: Vec<Key> =
        (0..60).map(|n| bench.key("notes", &format!("row{n:04}x"))).collect::<Checked<_>>()?;
    let range = bench.range_in(0, "notes")?;
    let times = often(bench, 20);
    let work = |client: Client| {
        let (stays, comes, range) = (stays.clone(), comes.clone(), range.clone());
        Box::pin(async move {
            for round in 0..times {
                if client.number == 0 {
                    for key in &comes {
                        let write = if round % 2 == 0 { put(key, "goes") } else { delete(key) };
                        client.commits(Vec::new(), vec![write]).await?;
                    }
                } else {
                    let seen = page_through(&client, range.clone(), client.number == 2).await?;
                    let mut seen: Vec<Key> =
                        seen.into_iter().filter(|key| stays.contains(key)).collect();
                    if client.number == 2 {
                        seen.reverse();
                    }
                    holds("rows that stay come once, in order", seen == stays)?;
                }
            }
            Ok(())
        }) as _
    };
    at_once(bench, 3, work).await.map(|_| ())
}

async fn page_through(client: &Client, mut range: Range, reverse: bool) -> Checked<Vec<Key>> {
    let mut seen = Vec::new();
    loop {
        let scan = Scan { range: range.clone(), reverse, rows: 7 };
        let page = client.store.scan(&scan).await?;
        let Some(last) = page.rows.last().map(|keyed| keyed.key.clone()) else { return Ok(seen) };
        seen.extend(page.rows.into_iter().map(|keyed| keyed.key));
        range = range.after(&last, reverse);
    }
}

async fn sweeping(bench: &Bench) -> Checked {
    let keys = bench.keys("leases", "row", 50)?;
    let times = often(bench, 10);
    let now = bench.now;
    let work = |client: Client| {
        let keys = keys.clone();
        Box::pin(async move {
            for _ in 0..times {
                for key in &keys {
                    if client.number == 0 {
                        client.store.sweep(now, 10).await?;
                        continue;
                    }
                    let write = |end| crate::suite::bench::put_until(key, "value", Some(end));
                    client.commits(Vec::new(), vec![write(now)]).await?;
                    client.commits(Vec::new(), vec![write(now + HOUR)]).await?;
                    holds("a live row is there", client.row(key).await?.is_some())?;
                }
            }
            Ok(())
        }) as _
    };
    at_once(bench, 2, work).await.map(|_| ())
}

async fn exact_adds(bench: &Bench) -> Checked {
    let key = bench.key("counts", "count")?;
    let times = often(bench, 200);
    let work = |client: Client| {
        let key = key.clone();
        Box::pin(async move {
            let mut seen = Vec::new();
            for _ in 0..times {
                let batch = client.batch(Vec::new(), vec![add(&key, 1)]);
                match client.store.commit(&batch).await? {
                    Outcome::Committed { totals } => {
                        seen.extend(totals.into_iter().map(|total| total.value));
                    }
                    other => holds(&format!("{other:?}"), false)?,
                }
            }
            Ok(seen)
        }) as _
    };
    let mut seen: Vec<i64> = at_once(bench, 4, work).await?.concat();
    seen.sort_unstable();
    let expected: Vec<i64> = (1_i64..).take(4 * times).collect();
    holds("each total comes once", seen == expected)?;
    bench.expect_count("the counter", &key, expected.last().copied()).await
}

async fn exact_window(bench: &Bench) -> Checked {
    let key = bench.key("gates", "gate")?;
    let end = bench.now + HOUR;
    let work = |client: Client| {
        let key = key.clone();
        Box::pin(async move {
            let mut passed = 0;
            for _ in 0..100 {
                let through = client.commits(Vec::new(), vec![pass(&key, 1, 137, end)]).await?;
                passed += usize::from(through);
            }
            Ok(passed)
        }) as _
    };
    let passed: Vec<usize> = at_once(bench, 4, work).await?;
    same("let through", passed.iter().sum(), 137)?;
    bench.expect_count("the window", &key, Some(137)).await
}

async fn same_batch(bench: &Bench) -> Checked {
    let key = bench.key("counts", "count")?;
    let times = often(bench, 50);
    let batches: Vec<_> = (0..times).map(|_| bench.batch(Vec::new(), vec![add(&key, 1)])).collect();
    let work = |client: Client| {
        let batches = batches.clone();
        Box::pin(async move {
            let mut outcomes = Vec::new();
            for batch in &batches {
                outcomes.push(client.store.commit(batch).await?);
            }
            Ok(outcomes)
        }) as _
    };
    let outcomes = at_once(bench, 4, work).await?;
    let alike = outcomes.array_windows().all(|[one, other]| one == other);
    holds("all get the same totals", alike)?;
    bench.expect_count("the counter", &key, i64::try_from(times).ok()).await
}
