//! Escaping of bytes, text and paths: a zero byte becomes `00 ff`, the end is `00 01`.
//!
//! `00 01` is no prefix of `00 ff`, so two different strings always differ inside both of their
//! encodings, never by the end of one. That is why complementing a segment reverses its order;
//! a plain `00` as the end must never be used.

use std::borrow::Cow;

use super::{Direction, ErrorKind};

const LOW_BITS: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGH_BITS: u64 = u64::from_ne_bytes([0x80; 8]);

/// What follows a zero byte, before complementing.
pub(super) const ESCAPED_ZERO: u8 = 0xff;
/// Ends bytes, text, or one element of a path.
pub(super) const END: [u8; 2] = [0x00, 0x01];
/// Ends a path, in the place of a further element.
pub(super) const PATH_END: [u8; 2] = [0x00, 0x00];

/// Where `needle` first stands in `bytes`, eight bytes at a time.
#[inline]
pub(super) fn find(bytes: &[u8], needle: u8) -> Option<usize> {
    let pattern = u64::from_ne_bytes([needle; 8]);
    let (words, tail) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        if let Some(at) = find_in_word(*word, pattern) {
            return Some(index * 8 + at);
        }
    }
    if tail.is_empty() {
        return None;
    }
    // The last eight bytes overlap bytes already seen, none of which is the needle.
    match bytes.last_chunk::<8>() {
        Some(word) => find_in_word(*word, pattern).map(|at| bytes.len() - 8 + at),
        None => tail.iter().position(|byte| *byte == needle),
    }
}

/// The lowest byte that turns to zero is marked exactly; higher marks may be false.
#[inline]
fn find_in_word(word: [u8; 8], pattern: u64) -> Option<usize> {
    let word = u64::from_le_bytes(word) ^ pattern;
    let marks = word.wrapping_sub(LOW_BITS) & !word & HIGH_BITS;
    (marks != 0).then(|| marks.trailing_zeros() as usize / 8)
}

/// Appends `bytes`, ascending, each zero escaped, without an end.
#[inline]
pub(super) fn push_escaped(buffer: &mut Vec<u8>, bytes: &[u8]) {
    let mut rest = bytes;
    while let Some((run, after)) = find(rest, 0x00).and_then(|zero| rest.split_at_checked(zero + 1))
    {
        buffer.extend_from_slice(run);
        buffer.push(ESCAPED_ZERO);
        rest = after;
    }
    buffer.extend_from_slice(rest);
}

/// One escaped string taken off the front of a key.
pub(super) struct Taken<'a> {
    pub content: Cow<'a, [u8]>,
    /// Bytes read, the end included.
    pub length: usize,
}

/// Reads one string up to and including its end. Borrows if nothing was escaped or complemented.
#[inline]
pub(super) fn take(bytes: &[u8], direction: Direction) -> Result<Taken<'_>, (ErrorKind, usize)> {
    let mask = direction.mask();
    let zero = find(bytes, mask).ok_or((ErrorKind::Truncated, bytes.len()))?;
    let Some((run, after)) = bytes.split_at_checked(zero) else {
        return Err((ErrorKind::Truncated, bytes.len()));
    };
    match after.get(1).map(|byte| byte ^ mask) {
        Some(0x01) => {
            let content = match direction {
                Direction::Ascending => Cow::Borrowed(run),
                Direction::Descending => Cow::Owned(run.iter().map(|byte| !byte).collect()),
            };
            Ok(Taken { content, length: zero + 2 })
        }
        Some(ESCAPED_ZERO) => take_escaped(bytes, mask),
        Some(_) => Err((ErrorKind::BadEscape, zero + 1)),
        None => Err((ErrorKind::Truncated, bytes.len())),
    }
}

/// The slower way, for a string in which a zero was escaped.
fn take_escaped(bytes: &[u8], mask: u8) -> Result<Taken<'_>, (ErrorKind, usize)> {
    let mut content = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    loop {
        let offset = bytes.len() - rest.len();
        let zero = find(rest, mask).ok_or((ErrorKind::Truncated, bytes.len()))?;
        let Some((run, [_, next, after @ ..])) = rest.split_at_checked(zero) else {
            return Err((ErrorKind::Truncated, bytes.len()));
        };
        content.extend_from_slice(run);
        rest = after;
        match next ^ mask {
            0x01 => break,
            ESCAPED_ZERO => content.push(mask),
            _ => return Err((ErrorKind::BadEscape, offset + zero + 1)),
        }
    }
    if mask != 0 {
        content.iter_mut().for_each(|byte| *byte = !*byte);
    }
    content.shrink_to_fit();
    Ok(Taken { content: Cow::Owned(content), length: bytes.len() - rest.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find_agrees_with_a_plain_search_at_every_length_and_place() {
        for length in 0..40_usize {
            for place in 0..=length {
                for (filler, needle) in [(0x01, 0x00), (0x80, 0x00), (0xff, 0x00), (0xfe, 0xff)] {
                    let mut bytes = vec![filler; length];
                    bytes.iter_mut().skip(place).step_by(3).for_each(|byte| *byte = needle);
                    let plain = bytes.iter().position(|byte| *byte == needle);
                    assert_eq!(find(&bytes, needle), plain, "{bytes:?}");
                }
            }
        }
    }
}
