//! Any text, read with any template: never a panic, and what is accepted is canonical.
//!
//! The first byte chooses the separator and the number of segments, one byte for each says what
//! it is; the rest is the text.

#![no_main]

use keyspace::key::KeyType;
use keyspace::key::text::{self, Part, Separator};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((first, data)) = data.split_first() else { return };
    let Some((kinds, bytes)) = data.split_at_checked(usize::from(first % 4)) else { return };
    let Ok(input) = str::from_utf8(bytes) else { return };
    let separator = if first & 0x80 == 0 { Separator::Colon } else { Separator::Slash };
    let segments = kinds.iter().map(|byte| KeyType::ALL[usize::from(*byte) % KeyType::ALL.len()]);
    let mut template = vec![Part::Literal("k")];
    template.extend(segments.map(Part::Segment));
    if let Ok(values) = text::parse(separator, &template, input) {
        let again = text::format(separator, &template, &values).expect("parsed values are valid");
        assert_eq!(again, input, "{template:?} {values:?}");
    }
});
