//! Scans: what is in a range, in which order, in which pages, while others write.

use super::cases;
use crate::store::limits::PAGE_BYTES_MAX;
use crate::store::{End, Key, Keyed, Range};
use crate::suite::bench::{
    Bench, Checked, HOUR, MINUTE, add, delete, holds, put, put_until, same, versioned,
};
use crate::suite::{Case, page_is_sound};
use bytes::Bytes;

pub(super) fn cases() -> Vec<Case> {
    let mut all = cases! {
        "P5" "scan: nothing there" => nothing;
        "P5" "scan: a range that begins where it ends" => empty_range;
        "P5" "scan: a range that ends before it begins" => turned_range;
        "P5" "scan: one row" => one_row;
        "P5" "scan: the first key of a range is in it" => |b| edges(b, "c", "g", "cdef");
        "P5" "scan: the last key of a range is not in it" => |b| edges(b, "a", "b", "a");
        "P5" "scan: a range between two keys" => |b| edges(b, "cc", "dd", "d");
        "P5" "scan: a range before all keys" => |b| edges(b, "A", "Z", "");
        "P5" "scan: a range behind all keys" => |b| edges(b, "x", "z", "");
        "P5" "scan: a range around all keys" => |b| edges(b, "A", "z", "abcdefgh");
        "P5" "scan: behind a key" => behind;
        "P5" "scan: before a key" => before;
        "P5" "scan: one row at a time" => |b| pages(b, 23, 1);
        "P5" "scan: two rows at a time" => |b| pages(b, 23, 2);
        "P5" "scan: pages of seven" => |b| pages(b, 23, 7);
        "P5" "scan: one row less than there are" => |b| pages(b, 23, 22);
        "P5" "scan: as many rows as there are" => |b| pages(b, 23, 23);
        "P5" "scan: one row more than there are" => |b| pages(b, 23, 24);
        "P5" "scan: a thousand rows" => |b| pages(b, 1_000, 100);
        "P5" "scan: the first rows" => first_rows;
        "P5" "scan: reversed, the last rows" => last_rows;
        "P5" "scan: reversed, the same rows" => reversed;
    };
    all.extend(more());
    all
}

fn more() -> Vec<Case> {
    cases! {
        "P5" "scan: a full page says that more may follow" => full_page;
        "P5" "scan: of one room only" => one_room;
        "P5" "scan: of one collection only" => one_collection;
        "P5" "scan: whole rows: value, version, end" => whole_rows;
        "P5" "scan: what was deleted is gone" => deleted;
        "P5" "scan: what was overwritten comes once" => overwritten;
        "P6" "scan: ended rows come with their end, or not at all" => ended;
        "P5" "scan: counters" => counters;
        "P5" "scan: keys that begin alike" => prefixes;
        "P5" "scan: pages end for their bytes" => |b| bytes(b, false);
        "P5" "scan: reversed, pages end for their bytes" => |b| bytes(b, true);
        "P5" "scan: rows written before and behind the cursor" => |b| paging(b, false);
        "P5" "scan: reversed, rows written around the cursor" => |b| paging(b, true);
        "P5" "scan: the row at the cursor is deleted" => cursor_deleted;
        "P4" "scan: sees every commit acknowledged before" => sees_commits;
    }
}

async fn fill(bench: &Bench, names: &[&str]) -> Checked<Vec<Key>> {
    let keys: Vec<Key> = names.iter().map(|n| bench.key("notes", n)).collect::<Checked<_>>()?;
    bench.write(keys.iter().map(|key| put(key, key.bytes().clone())).collect()).await?;
    Ok(keys)
}

fn keys_of(rows: &[Keyed]) -> Vec<Key> {
    rows.iter().map(|keyed| keyed.key.clone()).collect()
}

async fn nothing(bench: &Bench) -> Checked {
    for reverse in [false, true] {
        let page = bench.page(&bench.range_in(0, "notes")?, reverse, 10).await?;
        same("rows", page.rows, Vec::new())?;
        same("end", page.end, End::Range)?;
    }
    Ok(())
}

async fn range_is_empty(bench: &Bench, start: &Key, end: &Key) -> Checked {
    for reverse in [false, true] {
        let range = Range { start: start.bytes().clone(), end: end.bytes().clone() };
        let page = bench.page(&range, reverse, 10).await?;
        same("rows", page.rows, Vec::new())?;
        same("end", page.end, End::Range)?;
    }
    Ok(())
}

async fn empty_range(bench: &Bench) -> Checked {
    fill(bench, &["a", "b", "c"]).await?;
    let key = bench.key("notes", "b")?;
    range_is_empty(bench, &key, &key).await
}

async fn turned_range(bench: &Bench) -> Checked {
    fill(bench, &["a", "b", "c"]).await?;
    range_is_empty(bench, &bench.key("notes", "c")?, &bench.key("notes", "a")?).await
}

async fn one_row(bench: &Bench) -> Checked {
    let keys = fill(bench, &["a"]).await?;
    for reverse in [false, true] {
        let page = bench.page(&bench.range_in(0, "notes")?, reverse, 10).await?;
        same("keys", keys_of(&page.rows), keys.clone())?;
        same("end", page.end, End::Range)?;
    }
    Ok(())
}

const LETTERS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// Which of eight letters lie from `start` to `end`.
async fn edges(bench: &Bench, start: &str, end: &str, expected: &str) -> Checked {
    fill(bench, &LETTERS).await?;
    let (start, end) = (bench.key("notes", start)?, bench.key("notes", end)?);
    let range = Range { start: start.bytes().clone(), end: end.bytes().clone() };
    let mut wanted = Vec::new();
    for letter in expected.chars() {
        wanted.push(bench.key("notes", &letter.to_string())?);
    }
    same("forwards", keys_of(&bench.all(&range, false, 3).await?), wanted.clone())?;
    wanted.reverse();
    same("reversed", keys_of(&bench.all(&range, true, 3).await?), wanted)
}

async fn behind(bench: &Bench) -> Checked {
    let keys = fill(bench, &["a", "a\u{0}", "aa", "b"]).await?;
    let range = bench.range_in(0, "notes")?.after(&bench.key("notes", "a")?, false);
    let found = keys_of(&bench.all(&range, false, 10).await?);
    same("keys", found, keys.into_iter().skip(1).collect())
}

async fn before(bench: &Bench) -> Checked {
    let keys = fill(bench, &["a", "a\u{0}", "aa", "b"]).await?;
    let range = bench.range_in(0, "notes")?.after(&bench.key("notes", "b")?, true);
    let found = keys_of(&bench.all(&range, true, 10).await?);
    same("keys", found, keys.into_iter().take(3).rev().collect())
}

async fn pages(bench: &Bench, count: usize, size: usize) -> Checked {
    let mut keys = bench.keys("notes", "row", count)?;
    bench.write(keys.iter().map(|key| put(key, "value")).collect()).await?;
    let range = bench.range_in(0, "notes")?;
    same("forwards", keys_of(&bench.all(&range, false, size).await?), keys.clone())?;
    keys.reverse();
    same("reversed", keys_of(&bench.all(&range, true, size).await?), keys)
}

async fn first_rows(bench: &Bench) -> Checked {
    let keys = fill(bench, &LETTERS).await?;
    let page = bench.page(&bench.range_in(0, "notes")?, false, 3).await?;
    same("keys", keys_of(&page.rows), keys.into_iter().take(3).collect())
}

async fn last_rows(bench: &Bench) -> Checked {
    let keys = fill(bench, &LETTERS).await?;
    let page = bench.page(&bench.range_in(0, "notes")?, true, 3).await?;
    same("keys", keys_of(&page.rows), keys.into_iter().rev().take(3).collect())
}

async fn reversed(bench: &Bench) -> Checked {
    fill(bench, &LETTERS).await?;
    let range = bench.range_in(0, "notes")?;
    let forwards = bench.page(&range, false, 100).await?;
    let mut backwards = bench.page(&range, true, 100).await?;
    backwards.rows.reverse();
    same("rows", backwards, forwards)
}

async fn full_page(bench: &Bench) -> Checked {
    fill(bench, &LETTERS).await?;
    let range = bench.range_in(0, "notes")?;
    for reverse in [false, true] {
        for rows in 1..LETTERS.len() {
            let page = bench.page(&range, reverse, rows).await?;
            same("rows", page.rows.len(), rows)?;
            same("end", page.end, End::Rows)?;
        }
    }
    Ok(())
}

async fn one_room(bench: &Bench) -> Checked {
    for room in 0..3 {
        let key = bench.key_in(room, "notes", "row")?;
        bench.write(vec![put(&key, "value")]).await?;
    }
    let found = bench.all(&bench.range_in(1, "notes")?, false, 10).await?;
    same("keys", keys_of(&found), vec![bench.key_in(1, "notes", "row")?])
}

async fn one_collection(bench: &Bench) -> Checked {
    let (note, lease) = (bench.key("notes", "row")?, bench.key("leases", "row")?);
    let count = bench.key("counts", "row")?;
    let end = Some(bench.now + HOUR);
    let writes = vec![put(&note, "value"), put_until(&lease, "value", end), add(&count, 1)];
    bench.write(writes).await?;
    for (collection, key) in [("notes", note), ("leases", lease), ("counts", count)] {
        let found = bench.all(&bench.range_in(0, collection)?, false, 10).await?;
        same(collection, keys_of(&found), vec![key])?;
    }
    Ok(())
}

async fn whole_rows(bench: &Bench) -> Checked {
    let key = bench.key("leases", "row")?;
    bench.write(vec![put_until(&key, "value", Some(bench.now + HOUR))]).await?;
    let row = bench.row(&key).await?;
    let page = bench.page(&bench.range_in(0, "leases")?, false, 10).await?;
    let found = page.rows.into_iter().next().map(|keyed| keyed.row);
    same("the row", found, row)
}

async fn deleted(bench: &Bench) -> Checked {
    let mut keys = fill(bench, &LETTERS).await?;
    bench.write(keys.iter().skip(2).step_by(3).map(delete).collect()).await?;
    let mut number = 0;
    keys.retain(|_| {
        number += 1;
        number % 3 != 0
    });
    let range = bench.range_in(0, "notes")?;
    same("keys", keys_of(&bench.all(&range, false, 2).await?), keys)
}

async fn overwritten(bench: &Bench) -> Checked {
    let keys = fill(bench, &LETTERS).await?;
    let id = bench.write(keys.iter().map(|key| put(key, "new")).collect()).await?;
    let found = bench.all(&bench.range_in(0, "notes")?, false, 3).await?;
    same("keys", keys_of(&found), keys)?;
    let new = versioned("new", id);
    holds("all are new", found.into_iter().all(|keyed| Some(keyed.row) == new))
}

async fn ended(bench: &Bench) -> Checked {
    for (name, after) in [("a", HOUR), ("b", -MINUTE), ("c", 1), ("d", 0)] {
        let key = bench.key("leases", name)?;
        let end = bench.now + after;
        let writes = vec![put_until(&key, "value", Some(end))];
        bench.committed(&bench.batch_at(bench.now - HOUR, Vec::new(), writes)).await?;
    }
    let found = bench.all(&bench.range_in(0, "leases")?, false, 10).await?;
    let live: Vec<Keyed> = found.into_iter().filter(|keyed| keyed.row.is_live(bench.now)).collect();
    let expected = vec![bench.key("leases", "a")?, bench.key("leases", "c")?];
    same("live rows", keys_of(&live), expected)
}

async fn counters(bench: &Bench) -> Checked {
    let keys = bench.keys("counts", "count", 5)?;
    bench.write(keys.iter().zip(1..).map(|(key, amount)| add(key, amount)).collect()).await?;
    let found = bench.all(&bench.range_in(0, "counts")?, false, 2).await?;
    let values: Vec<Bytes> = found.into_iter().map(|keyed| keyed.row.value).collect();
    let expected = (1..=5_i64).map(|n| Bytes::copy_from_slice(&n.to_be_bytes())).collect();
    same("values", values, expected)
}

async fn prefixes(bench: &Bench) -> Checked {
    // In the order of their bytes.
    let names = [
        "",
        "\u{0}",
        "\u{0}\u{0}",
        "\u{1}",
        "a",
        "a\u{0}",
        "a\u{0}b",
        "a\u{1}",
        "a!",
        "aa",
        "ab",
        "b",
        "doc1",
        "doc10",
        "doc2",
        "z",
        "\u{7f}",
        "\u{80}",
        "\u{ff}",
        "\u{ffff}",
        "\u{10ffff}",
    ];
    let keys = fill(bench, &names).await?;
    let range = bench.range_in(0, "notes")?;
    same("keys", keys_of(&bench.all(&range, false, 4).await?), keys.clone())?;
    let reversed: Vec<Key> = keys.into_iter().rev().collect();
    same("reversed", keys_of(&bench.all(&range, true, 4).await?), reversed)
}

async fn bytes(bench: &Bench, reverse: bool) -> Checked {
    let value = Bytes::from(vec![b'x'; 1 << 20]);
    let mut keys = bench.keys("notes", "row", 12)?;
    for key in &keys {
        bench.write(vec![put(key, value.clone())]).await?;
    }
    if reverse {
        keys.reverse();
    }
    let mut range = bench.range_in(0, "notes")?;
    let first = bench.page(&range, reverse, 100).await?;
    page_is_sound(&range, reverse, 100, &first)?;
    same("the end of the first page", first.end, End::Bytes)?;
    let weight: usize = first.rows.iter().map(|keyed| keyed.row.value.len()).sum();
    holds("one row at most goes over the limit", weight < PAGE_BYTES_MAX + (2 << 20))?;
    let mut found = keys_of(&first.rows);
    if let Some(last) = found.last() {
        range = range.after(last, reverse);
    }
    found.extend(keys_of(&bench.all(&range, reverse, 100).await?));
    same("all keys", found, keys)
}

/// Rows that are there all the time come once, whatever is written around the cursor.
async fn paging(bench: &Bench, reverse: bool) -> Checked {
    let mut keys = bench.keys("notes", "row", 40)?;
    bench.write(keys.iter().map(|key| put(key, "value")).collect()).await?;
    let mut range = bench.range_in(0, "notes")?;
    let mut found: Vec<Key> = Vec::new();
    for round in 0.. {
        let page = bench.page(&range, reverse, 5).await?;
        page_is_sound(&range, reverse, 5, &page)?;
        let Some(last) = page.rows.last().map(|keyed| keyed.key.clone()) else { break };
        found.extend(keys_of(&page.rows));
        range = range.after(&last, reverse);
        let new = [format!("a{round}"), format!("row0020x{round}"), format!("z{round}")];
        for name in new {
            bench.write(vec![put(&bench.key("notes", &name)?, "new")]).await?;
        }
        let gone = bench.key("notes", &format!("row0020x{}", round - 1))?;
        bench.write(vec![delete(&gone)]).await?;
        if page.end == End::Range || round > 40 {
            break;
        }
    }
    found.retain(|key| keys.contains(key));
    if reverse {
        keys.reverse();
    }
    same("rows that were there all the time", found, keys)
}

async fn cursor_deleted(bench: &Bench) -> Checked {
    let keys = fill(bench, &LETTERS).await?;
    let range = bench.range_in(0, "notes")?;
    let page = bench.page(&range, false, 3).await?;
    let Some(last) = page.rows.last() else { return holds("a page has rows", false) };
    bench.write(vec![delete(&last.key)]).await?;
    let rest = bench.all(&range.after(&last.key, false), false, 3).await?;
    same("the rest", keys_of(&rest), keys.into_iter().skip(3).collect())
}

async fn sees_commits(bench: &Bench) -> Checked {
    let range = bench.range_in(0, "notes")?;
    for (number, key) in bench.keys("notes", "row", 20)?.iter().enumerate() {
        bench.write(vec![put(key, "value")]).await?;
        same("rows", bench.page(&range, false, 100).await?.rows.len(), number + 1)?;
    }
    Ok(())
}
