//! Bytes come back as they were given, in values and in keys.

use super::cases;
use crate::store::Key;
use crate::suite::Case;
use crate::suite::bench::{Bench, Checked, holds, plain, put, same, unversioned, versioned};
use crate::value::Value;
use bytes::Bytes;

pub(super) fn cases() -> Vec<Case> {
    cases! {
        "P9" "value: nothing" => |b| value(b, b"");
        "P9" "value: a zero byte" => |b| value(b, b"\0");
        "P9" "value: zero bytes" => |b| value(b, &[0; 100]);
        "P9" "value: begins and ends with zero bytes" => |b| value(b, b"\0\0value\0\0");
        "P9" "value: begins and ends with spaces" => |b| value(b, b"  value\t ");
        "P9" "value: ends with a line" => |b| value(b, b"value\r\n");
        "P9" "value: a number" => |b| value(b, b"0012");
        "P9" "value: a float" => |b| value(b, b"1e400");
        "P9" "value: a word of JSON" => |b| value(b, b"null");
        "P9" "value: JSON with a key twice" => |b| value(b, br#"{"b":1, "a":2,"b":3}"#);
        "P9" "value: quotes and backslashes" => |b| value(b, br#"'; DROP TABLE "notes" \x00 \'"#);
        "P9" "value: a byte order mark" => |b| value(b, b"\xef\xbb\xbfvalue");
        "P9" "value: no UTF-8" => |b| value(b, b"\xc3\x28\xff\xfe\xed\xa0\x80");
        "P9" "value: the last byte only" => |b| value(b, &[0xff; 100]);
        "P9" "value: every byte" => every_byte;
        "P9" "value: every single byte" => single_bytes;
        "P9" "value: every length to 300" => lengths;
        "P9" "value: half a megabyte" => |b| large(b, 500_000);
        "P9" "value: a megabyte, without a version" => large_plain;
        "P9" "value: eight bytes are no counter" => |b| value(b, &[1, 2, 3, 4, 5, 6, 7, 8]);
        "P9" "key: every byte" => key_bytes;
        "P9" "key: pairs of bytes that escape" => key_pairs;
        "P9" "key: case twins are two rows" => |b| twins(b, &["A", "a"]);
        "P9" "key: unicode forms are two rows" => |b| twins(b, &["\u{e9}", "e\u{301}"]);
        "P9" "key: widths are two rows" => |b| twins(b, &["ﬀ", "ff"]);
        "P9" "key: dots are names" => |b| twins(b, &[".", "..", "...", "../..", "%2e%2e"]);
        "P9" "key: separators are letters" =>
            |b| twins(b, &[":", "/", "|", "a:b", "a/b", "a", "b"]);
        "P9" "key: braces are letters" => |b| twins(b, &["{", "}", "{}", "}{", "{a}", "{room}"]);
        "P9" "key: devices are names" => |b| twins(b, &["CON", "aux.json", "a.", "a ", "a"]);
        "P9" "key: zero bytes count" => |b| twins(b, &["", "\u{0}", "a", "a\u{0}", "a\u{0}\u{0}"]);
        "P9" "key: marks that are not seen" =>
            |b| twins(b, &["a", "\u{feff}a", "\u{202e}a", "a\u{200b}"]);
        "P9" "key: wildcards are letters" => |b| twins(b, &["%", "_", "*", "?", "a%", "ab", "[a]"]);
    }
}

async fn value(bench: &Bench, value: &'static [u8]) -> Checked {
    let (note, blob) = (bench.key("notes", "row")?, bench.key("blobs", "row")?);
    let id = bench.write(vec![put(&note, value)]).await?;
    bench.write(vec![plain(&blob, value)]).await?;
    bench.expect_row("with a version", &note, versioned(value, id)).await?;
    bench.expect_row("without a version", &blob, unversioned(value)).await?;
    let page = bench.page(&bench.range_in(0, "notes")?, false, 10).await?;
    let found = page.rows.into_iter().next().map(|keyed| keyed.row);
    same("in a scan", found, versioned(value, id))
}

async fn every_byte(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    let up: Vec<u8> = (0..=255).collect();
    let down: Vec<u8> = (0..=255).rev().collect();
    for value in [up.clone(), down.clone(), [up, down].concat()] {
        let id = bench.write(vec![put(&key, value.clone())]).await?;
        bench.expect_row("the row", &key, versioned(value, id)).await?;
    }
    Ok(())
}

async fn single_bytes(bench: &Bench) -> Checked {
    let keys = bench.keys("notes", "row", 256)?;
    let writes = keys.iter().zip(0..=255).map(|(key, byte)| put(key, vec![byte])).collect();
    bench.write(writes).await?;
    for (row, byte) in bench.store.get(&keys).await?.into_iter().zip(0_u8..=255) {
        same("the value", row.map(|row| row.value), Some(Bytes::from(vec![byte])))?;
    }
    Ok(())
}

async fn lengths(bench: &Bench) -> Checked {
    let keys = bench.keys("notes", "row", 300)?;
    let value = |length: usize| vec![b'x'; length];
    let writes = keys.iter().enumerate().map(|(length, key)| put(key, value(length))).collect();
    bench.write(writes).await?;
    for (length, row) in bench.store.get(&keys).await?.into_iter().enumerate() {
        same("the value", row.map(|row| row.value), Some(Bytes::from(value(length))))?;
    }
    Ok(())
}

fn long(bytes: u32) -> Bytes {
    // No two stretches of it are alike.
    let parts = (0..bytes.div_ceil(4)).flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes());
    Bytes::from(parts.take(bytes as usize).collect::<Vec<u8>>())
}

async fn large(bench: &Bench, bytes: u32) -> Checked {
    let key = bench.key("notes", "row")?;
    bench.write(vec![put(&key, long(bytes))]).await?;
    let found = bench.row(&key).await?.map(|row| row.value);
    holds("the value is the same", found == Some(long(bytes)))
}

async fn large_plain(bench: &Bench) -> Checked {
    let key = bench.key("blobs", "row")?;
    bench.write(vec![plain(&key, long(1 << 20))]).await?;
    let found = bench.row(&key).await?.map(|row| row.value);
    holds("the value is the same", found == Some(long(1 << 20)))
}

/// Puts rows under these keys, and expects each key back, with its own value.
async fn round_trip(bench: &Bench, collection: &str, keys: Vec<Key>) -> Checked {
    for part in keys.chunks(50) {
        bench.write(part.iter().map(|key| plain(key, Bytes::new())).collect()).await?;
    }
    let rows = bench.store.get(&keys).await?;
    holds("each is there", rows.iter().all(Option::is_some))?;
    let mut expected = keys;
    expected.sort();
    let found = bench.all(&bench.range_in(0, collection)?, false, 100).await?;
    same("keys", found.into_iter().map(|keyed| keyed.key).collect::<Vec<_>>(), expected)
}

async fn key_bytes(bench: &Bench) -> Checked {
    let shape = bench.shape("byte_strings")?;
    let mut keys = Vec::new();
    for byte in 0..=255_u8 {
        let value = Value::Bytes(Bytes::from(vec![byte]));
        keys.push(shape.encode(&[bench.room(0), value])?);
    }
    round_trip(bench, "byte_strings", keys).await
}

async fn key_pairs(bench: &Bench) -> Checked {
    let mut keys = Vec::new();
    let shape = bench.shape("byte_strings_down")?;
    let edges = [0, 1, 2, 0x0f, 0x10, 0x7f, 0x80, 0xfe, 0xff];
    for one in edges {
        for two in edges {
            for bytes in [vec![one, two], vec![one, two, one]] {
                let value = Value::Bytes(Bytes::from(bytes));
                keys.push(shape.encode(&[bench.room(0), value])?);
            }
        }
    }
    round_trip(bench, "byte_strings_down", keys).await
}

/// Names that something between could take for one another.
async fn twins(bench: &Bench, names: &[&str]) -> Checked {
    let keys: Vec<Key> = names.iter().map(|n| bench.key("notes", n)).collect::<Checked<_>>()?;
    let mut ids = Vec::new();
    for (name, key) in names.iter().zip(&keys) {
        ids.push(bench.write(vec![put(key, name.to_string())]).await?);
    }
    for ((name, key), id) in names.iter().zip(&keys).zip(ids) {
        bench.expect_row(name, key, versioned(name.to_string(), id)).await?;
    }
    let mut expected = keys;
    expected.sort();
    let found = bench.all(&bench.range_in(0, "notes")?, false, 100).await?;
    same("keys", found.into_iter().map(|keyed| keyed.key).collect::<Vec<_>>(), expected)
}
