//! What each codec does with each kind of key.
//!
//! Every key begins with the number of its collection: ours always does, the others get a `u16`.
//! A UUID is given to each codec in the type it writes fastest: a `u128`, two `u64`, a `Uuid`.
//! None of the others sorts time UUIDs by time or has paths; they get a plain UUID and plain
//! texts, which is less work than ours.

use std::borrow::Cow;
use std::hint::black_box;

use foundationdb_tuple as fdb;
use keyspace::key::{Direction::Ascending, Error, KeyReader, KeyWriter};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::data::many;
use super::{Contender, Line};

const COLLECTION: u16 = 7;

pub fn lines() -> Vec<Line> {
    let mut lines = Vec::new();
    lines.extend(text_integer_uuid());
    lines.extend(two_texts());
    lines.extend(message());
    lines.extend(two_integers());
    lines.extend(path());
    let zeros = many(5, |random| random.text_with_zeros());
    lines.extend(one_text("long text with NULs", zeros));
    let plain = many(6, |random| random.text(200, 600));
    lines.extend(one_text("long plain text", plain));
    lines
}

/// One way to encode and one to decode, over the same keys. Both are called through pointers the
/// compiler cannot see through, so that no codec gains or loses by being inlined into the loop.
fn contend<T: 'static>(
    keys: Vec<T>,
    encode: fn(&T, &mut Vec<u8>),
    decode: fn(&[u8]),
) -> [Contender; 2] {
    let (encode, decode) = black_box((encode, decode));
    let count = keys.len();
    let mut encoded = Vec::new();
    for key in &keys {
        let mut bytes = Vec::new();
        encode(key, &mut bytes);
        encoded.push(bytes);
    }
    let mut buffer = Vec::with_capacity(2_048);
    let encode = move || {
        for key in &keys {
            buffer.clear();
            encode(black_box(key), &mut buffer);
            black_box(buffer.as_slice());
        }
    };
    let decode = move || encoded.iter().for_each(|bytes| decode(black_box(bytes)));
    [
        Contender { keys: count, pass: Box::new(encode) },
        Contender { keys: count, pass: Box::new(decode) },
    ]
}

fn pair_up(case: &'static str, pairs: [[Contender; 2]; 4]) -> [Line; 2] {
    let (mut encode, mut decode) = (Vec::new(), Vec::new());
    for [first, second] in pairs {
        encode.push(first);
        decode.push(second);
    }
    [
        Line { case, verb: "encode", contenders: encode },
        Line { case, verb: "decode", contenders: decode },
    ]
}

fn storekey<T>(keys: Vec<T>, decode: fn(&[u8])) -> [Contender; 2]
where
    T: storekey::Encode + 'static,
{
    let encode = |key: &T, buffer: &mut Vec<u8>| storekey::encode(buffer, key).unwrap();
    contend(keys, encode, decode)
}

fn read_storekey<T: for<'a> Family<'a>>(bytes: &[u8])
where
    for<'a> <T as Family<'a>>::Key: storekey::BorrowDecode<'a>,
{
    black_box(storekey::decode_borrow::<<T as Family<'_>>::Key>(bytes).unwrap());
}

fn foundation<T>(keys: Vec<T>, decode: fn(&[u8])) -> [Contender; 2]
where
    T: fdb::TuplePack + 'static,
{
    let encode = |key: &T, buffer: &mut Vec<u8>| {
        fdb::pack_into(key, buffer);
    };
    contend(keys, encode, decode)
}

fn read_foundation<T: for<'a> Family<'a>>(bytes: &[u8])
where
    for<'a> <T as Family<'a>>::Key: fdb::TupleUnpack<'a>,
{
    black_box(fdb::unpack::<<T as Family<'_>>::Key>(bytes).unwrap());
}

fn comparable<T>(keys: Vec<T>) -> [Contender; 2]
where
    T: Serialize + for<'a> Deserialize<'a> + 'static,
{
    let encode = |key: &T, buffer: &mut Vec<u8>| {
        let mut serializer = memcomparable::Serializer::new(buffer);
        key.serialize(&mut serializer).unwrap();
    };
    let decode = |bytes: &[u8]| {
        black_box(memcomparable::from_slice::<T>(bytes).unwrap());
    };
    contend(keys, encode, decode)
}

/// A key type with its borrowed parts left open.
trait Family<'a> {
    type Key;
}

macro_rules! family {
    ($name:ident, $key:ty) => {
        struct $name;
        impl<'a> Family<'a> for $name {
            type Key = $key;
        }
    };
}

fn each<T, U>(keys: &[T], change: impl Fn(&T) -> U) -> Vec<U> {
    keys.iter().map(change).collect()
}

fn halves(uuid: u128) -> (u64, u64) {
    ((uuid >> 64) as u64, uuid as u64)
}

/// Runs steps that may be refused.
fn run<T>(steps: impl FnOnce() -> Result<T, Error>) -> T {
    steps().unwrap()
}

fn text_integer_uuid() -> [Line; 2] {
    family!(Store, (u16, Cow<'a, str>, i64, u128));
    family!(Foundation, (u16, Cow<'a, str>, i64, Uuid));
    let keys = many(1, |random| (random.text(10, 16), random.integer(), random.uuid()));
    let ours = contend(
        keys.clone(),
        |key, buffer| {
            run(|| {
                let mut writer = KeyWriter::new(buffer, COLLECTION);
                writer.text(&key.0, Ascending)?;
                writer.i64(key.1, Ascending)?;
                writer.uuid(&key.2.to_be_bytes(), Ascending)
            })
        },
        |bytes| {
            black_box(run(|| {
                let mut reader = KeyReader::new(bytes)?;
                let text = reader.text(Ascending)?;
                let key = (text, reader.i64(Ascending)?, reader.uuid(Ascending)?);
                reader.finish().map(|()| key)
            }));
        },
    );
    let store = each(&keys, |key| (COLLECTION, key.0.clone(), key.1, key.2));
    let foundation_keys =
        each(&keys, |key| (COLLECTION, key.0.clone(), key.1, Uuid::from_u128(key.2)));
    let comparable_keys = each(&keys, |key| (COLLECTION, key.0.clone(), key.1, halves(key.2)));
    pair_up(
        "text, i64, uuid",
        [
            ours,
            storekey(store, read_storekey::<Store>),
            foundation(foundation_keys, read_foundation::<Foundation>),
            comparable(comparable_keys),
        ],
    )
}

fn two_texts() -> [Line; 2] {
    family!(Key, (u16, Cow<'a, str>, Cow<'a, str>));
    let keys = many(2, |random| (random.text(4, 12), random.text(12, 36)));
    let ours = contend(
        keys.clone(),
        |key, buffer| {
            run(|| {
                let mut writer = KeyWriter::new(buffer, COLLECTION);
                writer.text(&key.0, Ascending)?;
                writer.text(&key.1, Ascending)
            })
        },
        |bytes| {
            black_box(run(|| {
                let mut reader = KeyReader::new(bytes)?;
                let key = (reader.text(Ascending)?, reader.text(Ascending)?);
                reader.finish().map(|()| key)
            }));
        },
    );
    let keys = each(&keys, |key| (COLLECTION, key.0.clone(), key.1.clone()));
    pair_up(
        "two texts",
        [
            ours,
            storekey(keys.clone(), read_storekey::<Key>),
            foundation(keys.clone(), read_foundation::<Key>),
            comparable(keys),
        ],
    )
}

fn message() -> [Line; 2] {
    family!(Store, (u16, Cow<'a, str>, u128));
    family!(Foundation, (u16, Cow<'a, str>, Uuid));
    let keys = many(3, |random| (random.text(6, 20), random.time_uuid()));
    let ours = contend(
        keys.clone(),
        |key, buffer| {
            run(|| {
                let mut writer = KeyWriter::new(buffer, COLLECTION);
                writer.text(&key.0, Ascending)?;
                writer.time_uuid(&key.1.to_be_bytes(), Ascending)
            })
        },
        |bytes| {
            black_box(run(|| {
                let mut reader = KeyReader::new(bytes)?;
                let key = (reader.text(Ascending)?, reader.time_uuid(Ascending)?);
                reader.finish().map(|()| key)
            }));
        },
    );
    let store = each(&keys, |key| (COLLECTION, key.0.clone(), key.1));
    let foundation_keys = each(&keys, |key| (COLLECTION, key.0.clone(), Uuid::from_u128(key.1)));
    let comparable_keys = each(&keys, |key| (COLLECTION, key.0.clone(), halves(key.1)));
    pair_up(
        "message: text, time uuid",
        [
            ours,
            storekey(store, read_storekey::<Store>),
            foundation(foundation_keys, read_foundation::<Foundation>),
            comparable(comparable_keys),
        ],
    )
}

fn two_integers() -> [Line; 2] {
    family!(Key, (u16, u64, i64));
    let keys = many(4, |random| (random.integer().unsigned_abs(), random.integer()));
    let ours = contend(
        keys.clone(),
        |key, buffer| {
            run(|| {
                let mut writer = KeyWriter::new(buffer, COLLECTION);
                writer.u64(key.0, Ascending)?;
                writer.i64(key.1, Ascending)
            })
        },
        |bytes| {
            black_box(run(|| {
                let mut reader = KeyReader::new(bytes)?;
                let key = (reader.u64(Ascending)?, reader.i64(Ascending)?);
                reader.finish().map(|()| key)
            }));
        },
    );
    let keys = each(&keys, |key| (COLLECTION, key.0, key.1));
    pair_up(
        "u64, i64",
        [
            ours,
            storekey(keys.clone(), read_storekey::<Key>),
            foundation(keys.clone(), read_foundation::<Key>),
            comparable(keys),
        ],
    )
}

fn path() -> [Line; 2] {
    family!(Key, (u16, Vec<Cow<'a, str>>));
    let keys = many(7, |random| (0..4).map(|_| random.text(3, 14)).collect::<Vec<String>>());
    let ours = contend(
        keys.clone(),
        |key, buffer| run(|| KeyWriter::new(buffer, COLLECTION).path(key, Ascending)),
        |bytes| {
            black_box(run(|| {
                let mut reader = KeyReader::new(bytes)?;
                let key = reader.path(Ascending)?;
                reader.finish().map(|()| key)
            }));
        },
    );
    let keys = each(&keys, |key| (COLLECTION, key.clone()));
    pair_up(
        "path of four",
        [
            ours,
            storekey(keys.clone(), read_storekey::<Key>),
            foundation(keys.clone(), read_foundation::<Key>),
            comparable(keys),
        ],
    )
}

fn one_text(case: &'static str, keys: Vec<String>) -> [Line; 2] {
    family!(Key, (u16, Cow<'a, str>));
    let ours = contend(
        keys.clone(),
        |key, buffer| run(|| KeyWriter::new(buffer, COLLECTION).text(key, Ascending)),
        |bytes| {
            black_box(run(|| {
                let mut reader = KeyReader::new(bytes)?;
                let key = reader.text(Ascending)?;
                reader.finish().map(|()| key)
            }));
        },
    );
    let keys = each(&keys, |key| (COLLECTION, key.clone()));
    pair_up(
        case,
        [
            ours,
            storekey(keys.clone(), read_storekey::<Key>),
            foundation(keys.clone(), read_foundation::<Key>),
            comparable(keys),
        ],
    )
}
