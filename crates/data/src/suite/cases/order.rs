//! The order of keys: every type, both directions, and mixes of them.
//!
//! The values are written down in their order; rows are put in any other.

use super::cases;
use crate::protocol::with_attempt;
use crate::schema::KeyShape;
use crate::store::{CommitId, Key, Range};
use crate::suite::bench::{Bench, Checked, plain, same};
use crate::suite::{Case, Failure};
use crate::value::Value;
use bytes::Bytes;
use keyspace::key::between;

pub(super) fn cases() -> Vec<Case> {
    let mut all = cases! {
        "P9" "order: bool" => |b| order(b, "bools", bools(), false);
        "P9" "order: bool desc" => |b| order(b, "bools_down", bools(), true);
        "P9" "order: i64" => |b| order(b, "integers", integers(), false);
        "P9" "order: i64 desc" => |b| order(b, "integers_down", integers(), true);
        "P9" "order: u64" => |b| order(b, "naturals", naturals(), false);
        "P9" "order: u64 desc" => |b| order(b, "naturals_down", naturals(), true);
        "P9" "order: f64" => |b| order(b, "floats", floats(), false);
        "P9" "order: f64 desc" => |b| order(b, "floats_down", floats(), true);
        "P9" "order: bytes" => |b| order(b, "byte_strings", byte_strings(), false);
        "P9" "order: bytes desc" => |b| order(b, "byte_strings_down", byte_strings(), true);
        "P9" "order: text" => |b| order(b, "texts", texts(), false);
        "P9" "order: text desc" => |b| order(b, "texts_down", texts(), true);
        "P9" "order: path" => |b| order(b, "paths", paths(), false);
        "P9" "order: path desc" => |b| order(b, "paths_down", paths(), true);
        "P9" "order: uuid" => |b| order(b, "uuids", uuids(), false);
        "P9" "order: uuid desc" => |b| order(b, "uuids_down", uuids(), true);
        "P9" "order: timeuuid" => |b| order(b, "time_uuids", time_uuids(), false);
        "P9" "order: timeuuid desc" => |b| order(b, "time_uuids_down", time_uuids(), true);
        "P9" "order: timestamp" => |b| order(b, "instants", instants(), false);
        "P9" "order: timestamp desc" => |b| order(b, "instants_down", instants(), true);
        "P9" "order: ulid" => |b| order(b, "ulids", ulids(), false);
        "P9" "order: ulid desc" => |b| order(b, "ulids_down", ulids(), true);
        "P9" "order: date" => |b| order(b, "dates", dates(), false);
        "P9" "order: date desc" => |b| order(b, "dates_down", dates(), true);
    };
    all.extend(cases! {
        "P9" "order: cell, in the entries of an index" => cells;
        "P9" "order: up, down, up, down" => mixed;
        "P9" "order: down, up, down, up" => mixed_down;
        "P9" "order: a random set of texts" => |b| random(b, "texts");
        "P9" "order: a random set of texts desc" => |b| random(b, "texts_down");
    });
    all
}

fn bools() -> Vec<Value> {
    [false, true].map(Value::Bool).to_vec()
}

fn integers() -> Vec<Value> {
    let numbers = [
        i64::MIN,
        -(1 << 53) - 1,
        -65_537,
        -65_536,
        -257,
        -256,
        -255,
        -2,
        -1,
        0,
        1,
        2,
        9,
        10,
        255,
        256,
        65_535,
        65_536,
        1 << 32,
        (1 << 53) + 1,
        i64::MAX,
    ];
    numbers.map(Value::I64).to_vec()
}

fn naturals() -> Vec<Value> {
    let numbers = [0, 1, 2, 9, 10, 255, 256, 65_536, 1 << 32, 1 << 53, 1 << 63, u64::MAX];
    numbers.map(Value::U64).to_vec()
}

fn floats() -> Vec<Value> {
    let numbers = [
        f64::NEG_INFINITY,
        f64::MIN,
        -10.0,
        -2.0,
        -1.5,
        -f64::MIN_POSITIVE,
        -5e-324,
        0.0,
        5e-324,
        0.1,
        1.0,
        2.0,
        10.0,
        1e300,
        f64::MAX,
        f64::INFINITY,
    ];
    numbers.map(Value::F64).to_vec()
}

fn byte_strings() -> Vec<Value> {
    let mut strings: Vec<Vec<u8>> = vec![vec![]];
    for first in 0..=255 {
        strings.push(vec![first]);
        if matches!(first, 0 | 1 | 0x7f | 0x80 | 0xfe | 0xff) {
            for second in [0, 1, 0x10, 0xff] {
                strings.push(vec![first, second]);
                strings.push(vec![first, second, 0]);
            }
        }
    }
    strings.into_iter().map(|bytes| Value::Bytes(Bytes::from(bytes))).collect()
}

fn texts() -> Vec<Value> {
    let texts = [
        "",
        "\u{0}",
        "\u{0}\u{0}",
        "\u{0}a",
        "\u{1}",
        "\n",
        " ",
        "%",
        "-1",
        "..",
        "/",
        "0",
        "1",
        "10",
        "2",
        ":",
        "A",
        "CON",
        "Z",
        "_",
        "a",
        "a\u{0}",
        "a\u{0}\u{0}",
        "a\u{1}",
        "a ",
        "aa",
        "b",
        "e\u{301}",
        "z",
        "{}",
        "|",
        "\u{7f}",
        "\u{80}",
        "ß",
        "é",
        "ı",
        "ﬀ",
        "\u{feff}",
        "\u{ffff}",
        "😀",
        "\u{10ffff}",
    ];
    texts.map(|text| Value::Text(text.to_string())).to_vec()
}

fn paths() -> Vec<Value> {
    let paths: [&[&str]; 11] = [
        &["\u{0}"],
        &["a"],
        &["a", "\u{0}"],
        &["a", "b"],
        &["a", "b", "c"],
        &["a", "b\u{0}"],
        &["a", "c"],
        &["a\u{0}"],
        &["a!"],
        &["aa", "a"],
        &["b"],
    ];
    let path = |parts: &[&str]| Value::Path(parts.iter().map(ToString::to_string).collect());
    paths.map(path).to_vec()
}

/// Sixteen bytes with these first and last ones, and the marks of a UUID.
fn uuid(version: u8, first: [u8; 4], last: u8) -> [u8; 16] {
    let [a, b, c, d] = first;
    [a, b, c, d, 0, 0, version << 4, 0, 0x80, 0, 0, 0, 0, 0, 0, last]
}

fn uuids() -> Vec<Value> {
    let firsts = [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0], [0x7f, 0, 0, 0], [0x80, 0, 0, 0]];
    let mut all = Vec::new();
    for first in firsts {
        all.extend([0, 1, 0xff].map(|last| Value::Uuid(uuid(4, first, last))));
    }
    all
}

fn time_uuids() -> Vec<Value> {
    // The high part of the time stands behind the low one; the node decides last, as bytes do.
    let uuid = |high: [u8; 2], middle: [u8; 2], low: [u8; 4], last: u8| {
        let ([h0, h1], [m0, m1], [a, b, c, d]) = (high, middle, low);
        let bytes = [a, b, c, d, m0, m1, 0x10 | h0, h1, 0x80, 0, 0, 0, 0, 0, 0, last];
        Value::TimeUuid(bytes)
    };
    vec![
        uuid([0, 1], [0, 0], [0xff, 0, 0, 0], 0),
        uuid([0, 1], [0, 0], [0xff, 0, 0, 0], 1),
        uuid([0, 1], [0, 1], [0, 0, 0, 0], 0),
        uuid([0, 1], [0xff, 0], [0x80, 0, 0, 0], 0),
        uuid([0, 2], [0, 0], [0, 0, 0, 0], 5),
        uuid([1, 0], [0, 0], [0, 0, 0, 1], 0),
        uuid([1, 0xef], [0x12, 0x34], [1, 2, 3, 4], 0),
    ]
}

fn instants() -> Vec<Value> {
    let instants =
        [-62_135_596_800_000, -1_000, -1, 0, 1, 999, 1_000, 1_794_736_800_000, 4_102_444_800_000];
    instants.map(Value::Timestamp).to_vec()
}

fn ulids() -> Vec<Value> {
    let ulid = |first: u8, last: u8| {
        let mut bytes = [0; 16];
        bytes.iter_mut().take(1).for_each(|byte| *byte = first);
        bytes.iter_mut().skip(15).for_each(|byte| *byte = last);
        Value::Ulid(bytes)
    };
    vec![ulid(0, 0), ulid(0, 1), ulid(0, 0xff), ulid(1, 0), ulid(0x7f, 0), ulid(0xff, 0xff)]
}

fn dates() -> Vec<Value> {
    [-719_162, -1, 0, 1, 255, 256, 20_000, 47_481].map(Value::Date).to_vec()
}

/// Puts rows in any order.
async fn put_shuffled(bench: &Bench, keys: &[Key]) -> Checked {
    let mut left: Vec<Key> = keys.to_vec();
    while !left.is_empty() {
        let mut batch = Vec::new();
        while batch.len() < 20 && !left.is_empty() {
            let any = usize::try_from(bench.below(left.len() as u64)).unwrap_or_default();
            batch.push(plain(&left.swap_remove(any), Bytes::new()));
        }
        bench.write(batch).await?;
    }
    Ok(())
}

/// The values a range answers, without the room.
async fn values(
    bench: &Bench,
    shape: &KeyShape,
    range: &Range,
    reverse: bool,
) -> Checked<Vec<Vec<Value>>> {
    let mut found = Vec::new();
    for keyed in bench.all(range, reverse, 7).await? {
        found.push(shape.decode(&keyed.key)?.split_off(1));
    }
    Ok(found)
}

/// Expects the rows of a collection in this order, and reversed.
async fn in_order(bench: &Bench, collection: &str, expected: Vec<Vec<Value>>) -> Checked {
    let shape = bench.shape(collection)?;
    let mut keys = Vec::new();
    for row in &expected {
        keys.push(shape.encode([bench.room(0)].iter().chain(row))?);
    }
    put_shuffled(bench, &keys).await?;
    let range = bench.range_in(0, collection)?;
    same("forwards", values(bench, shape, &range, false).await?, expected.clone())?;
    let reversed: Vec<_> = expected.into_iter().rev().collect();
    same("reversed", values(bench, shape, &range, true).await?, reversed)
}

async fn order(bench: &Bench, collection: &str, up: Vec<Value>, down: bool) -> Checked {
    let mut expected: Vec<Vec<Value>> = up.iter().map(|value| vec![value.clone()]).collect();
    if down {
        expected.reverse();
    }
    in_order(bench, collection, expected).await?;
    // From one value to another, by value, whatever the direction.
    let shape = bench.shape(collection)?;
    let front = shape.front(&[bench.room(0)])?;
    let (third, last) = (up.len() / 3, up.len() - 1);
    let bounds =
        (up.get(third).and_then(Value::as_segment), up.get(last).and_then(Value::as_segment));
    let (Some(segment), (Some(from), Some(to))) = (shape.segments.get(1), bounds) else {
        return Err(Failure::broken("the suite has no bounds for this type"));
    };
    let range = between(&front, *segment, Some(&from), Some(&to)).map_err(crate::Error::from)?;
    let mut expected: Vec<Vec<Value>> =
        up.iter().take(last).skip(third).map(|value| vec![value.clone()]).collect();
    if down {
        expected.reverse();
    }
    same("between", values(bench, shape, &Range::from(range), false).await?, expected)
}

async fn cells(bench: &Bench) -> Checked {
    let collection = bench.schema.collection("sights")?;
    let Some(index) = collection.indexes.first() else {
        return Err(Failure::broken("the suite's keyspace has no index"));
    };
    let numbers: [u64; 6] = [1, 0x1000, 1 << 32, 1 << 60, 1 << 63, u64::MAX];
    let sight = Value::Ulid([1; 16]);
    let content = index.keep.encode(&[])?;
    let mut writes = Vec::new();
    for number in numbers.into_iter().rev() {
        let entry = index.key.encode(&[bench.room(0), Value::Cell(number), sight.clone()])?;
        let entry = match index.key.attempt {
            true => with_attempt(&entry, &CommitId::from_bytes([1; 16]))?,
            false => entry,
        };
        writes.push(plain(&entry, content.clone()));
    }
    bench.write(writes).await?;
    let range = index.key.children(&index.key.front(&[bench.room(0)])?);
    let expected = numbers.map(|number| vec![Value::Cell(number), sight.clone()]).to_vec();
    same("forwards", values(bench, &index.key, &range, false).await?, expected)
}

/// Some values of each type of the mixed keys, upwards.
fn some() -> ([Value; 3], [Value; 4], [Value; 4]) {
    let texts = ["a", "a\u{0}", "b"].map(|text| Value::Text(text.to_string()));
    let bytes = [&b""[..], b"\0", b"\0\xff", b"\xff"];
    let bytes = bytes.map(|bytes| Value::Bytes(Bytes::from_static(bytes)));
    (texts, [-256, -1, 0, 300].map(Value::I64), bytes)
}

async fn mixed(bench: &Bench) -> Checked {
    let (texts, numbers, strings) = some();
    let mut expected = Vec::new();
    for text in &texts {
        for number in numbers.iter().rev() {
            for bytes in &strings {
                for at in [5_000, 0, -5_000].map(Value::Timestamp) {
                    expected.push(vec![text.clone(), number.clone(), bytes.clone(), at]);
                }
            }
        }
    }
    in_order(bench, "mixed", expected).await
}

async fn mixed_down(bench: &Bench) -> Checked {
    let (texts, numbers, strings) = some();
    let paths: [&[&str]; 3] = [&["a"], &["a", "b"], &["a!"]];
    let path = |parts: &[&str]| Value::Path(parts.iter().map(ToString::to_string).collect());
    let mut expected = Vec::new();
    for text in texts.iter().rev() {
        for number in &numbers {
            for bytes in strings.iter().rev() {
                for path in paths.map(path) {
                    expected.push(vec![text.clone(), number.clone(), bytes.clone(), path]);
                }
            }
        }
    }
    in_order(bench, "mixed_down", expected).await
}

async fn random(bench: &Bench, collection: &str) -> Checked {
    // Few letters, so that many texts begin alike.
    let letters = ['\u{0}', '\u{1}', 'a', 'b', '\u{ff}', '\u{ffff}', '\u{10ffff}'];
    let mut texts = Vec::new();
    for _ in 0..90 {
        let length = bench.below(5);
        let letter = |_| {
            let any = usize::try_from(bench.below(letters.len() as u64)).unwrap_or_default();
            letters.get(any).copied().unwrap_or('a')
        };
        texts.push((0..length).map(letter).collect::<String>());
    }
    texts.sort_by(|one, other| one.as_bytes().cmp(other.as_bytes()));
    texts.dedup();
    if collection.ends_with("down") {
        texts.reverse();
    }
    let expected = texts.into_iter().map(|text| vec![Value::Text(text)]).collect();
    in_order(bench, collection, expected).await
}
