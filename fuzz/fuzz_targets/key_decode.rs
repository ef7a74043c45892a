//! Any bytes, read with any shape: never a panic, and what is accepted is canonical.
//!
//! The first byte says how many segments there are and one byte for each says what it is; the
//! rest is the key.

#![no_main]

use keyspace::key::{self, KeyType, Segment};
use libfuzzer_sys::fuzz_target;

fn segment(byte: u8) -> Segment {
    let kind = KeyType::ALL[usize::from(byte & 0x1f) % KeyType::ALL.len()];
    let segment = if byte & 0x80 == 0 { kind.ascending() } else { kind.descending() };
    if byte & 0x40 == 0 { segment } else { segment.or_null() }
}

fuzz_target!(|data: &[u8]| {
    let Some((count, data)) = data.split_first() else { return };
    let Some((shape, bytes)) = data.split_at_checked(usize::from(count % 8)) else { return };
    let shape: Vec<Segment> = shape.iter().map(|byte| segment(*byte)).collect();
    if let Ok((collection, values)) = key::decode(bytes, &shape) {
        let again = key::encode(collection, &shape, &values).expect("decoded values are valid");
        assert_eq!(again, bytes, "{shape:?} {values:?}");
        let owned: Vec<_> = values.into_iter().map(|value| value.into_owned()).collect();
        assert_eq!(key::decode(&again, &shape).expect("just written").1, owned);
    }
});
