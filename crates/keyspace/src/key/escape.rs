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

/// Up to this length, copying word by word is faster than a call that copies all at once.
const SHORT_BYTES_MAX: usize = 48;

/// A mark in each byte that is zero. The lowest mark is exact; higher ones may be false.
#[inline]
const fn zero_marks(word: u64) -> u64 {
    word.wrapping_sub(LOW_BITS) & !word & HIGH_BITS
}

/// Where `needle` first stands in `bytes`: by words at first, then by blocks.
#[inline(always)]
pub(super) fn find(bytes: &[u8], needle: u8) -> Option<usize> {
    let pattern = u64::from_ne_bytes([needle; 8]);
    let (words, tail) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate().take(4) {
        let marks = zero_marks(u64::from_le_bytes(*word) ^ pattern);
        if marks != 0 {
            return Some(index * 8 + marks.trailing_zeros() as usize / 8);
        }
    }
    if words.len() > 4 {
        return find_far(bytes, needle);
    }
    // The last eight bytes overlap bytes already seen, none of which is the needle.
    match bytes.last_chunk::<8>() {
        Some(word) => {
            let marks = zero_marks(u64::from_le_bytes(*word) ^ pattern);
            (marks != 0).then(|| bytes.len() - 8 + marks.trailing_zeros() as usize / 8)
        }
        None => tail.iter().position(|byte| *byte == needle),
    }
}

/// Whether `needle` is in a block. Without a branch, so that the compiler uses vectors.
#[inline(always)]
fn block_holds<const N: usize>(block: &[u8; N], needle: u8) -> bool {
    block.iter().fold(false, |found, byte| found | (*byte == needle))
}

fn find_far(bytes: &[u8], needle: u8) -> Option<usize> {
    let (blocks, tail) = bytes.as_chunks::<64>();
    let clean = blocks.iter().take_while(|block| !block_holds(block, needle)).count();
    let rest = blocks.get(clean).map_or(tail, |block| block.as_slice());
    let pattern = u64::from_ne_bytes([needle; 8]);
    let (words, last) = rest.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let marks = zero_marks(u64::from_le_bytes(*word) ^ pattern);
        if marks != 0 {
            return Some(clean * 64 + index * 8 + marks.trailing_zeros() as usize / 8);
        }
    }
    let at = last.iter().position(|byte| *byte == needle)?;
    Some(bytes.len() - last.len() + at)
}

/// Whether there is a zero in bytes that fill at least one block: the least of each column of
/// the blocks, the last of which may overlap the one before.
#[inline(always)]
fn holds_zero(bytes: &[u8]) -> bool {
    let mut least = [0xff; 32];
    let (blocks, _) = bytes.as_chunks::<32>();
    for block in blocks.iter().chain(bytes.last_chunk::<32>()) {
        least.iter_mut().zip(block).for_each(|(least, byte)| *least = (*least).min(*byte));
    }
    block_holds(&least, 0x00)
}

/// Appends `bytes`, ascending, each zero escaped, without an end.
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

/// Appends `bytes`, ascending, each zero escaped, and the end.
#[inline(always)]
pub(super) fn push_terminated(buffer: &mut Vec<u8>, bytes: &[u8]) {
    let from = buffer.len();
    if bytes.len() > SHORT_BYTES_MAX {
        return push_terminated_long(buffer, bytes);
    }
    let (words, tail) = bytes.as_chunks::<8>();
    for word in words {
        if zero_marks(u64::from_le_bytes(*word)) != 0 {
            buffer.truncate(from);
            return push_terminated_slowly(buffer, bytes);
        }
        buffer.extend_from_slice(word);
    }
    let bits = 8 * tail.len() as u32;
    let last = last_word(bytes, tail);
    if zero_marks(last) & ((1 << bits) - 1) != 0 {
        buffer.truncate(from);
        return push_terminated_slowly(buffer, bytes);
    }
    // The rest and the end in one piece, of which the surplus is taken back.
    let piece = u128::from(last) | u128::from(u16::from_le_bytes(END)) << bits;
    buffer.extend_from_slice(&piece.to_le_bytes());
    buffer.truncate(from + bytes.len() + END.len());
}

/// The bytes of `tail`, which ends `bytes` and is shorter than a word, and zeros above them.
#[inline]
fn last_word(bytes: &[u8], tail: &[u8]) -> u64 {
    let bits = 8 * tail.len() as u32;
    if let Some(word) = bytes.last_chunk::<8>() {
        return u64::from_le_bytes(*word).checked_shr(64 - bits).unwrap_or(0);
    }
    if let (Some(first), Some(last)) = (tail.first_chunk::<4>(), tail.last_chunk::<4>()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return u64::from(first) | u64::from(last) << (bits - 32);
    }
    match tail {
        [] => 0,
        [first] => u64::from(*first),
        [first, second] => u64::from(u16::from_le_bytes([*first, *second])),
        [first, second, third, ..] => u64::from(u32::from_le_bytes([*first, *second, *third, 0])),
    }
}

fn push_terminated_long(buffer: &mut Vec<u8>, bytes: &[u8]) {
    if holds_zero(bytes) {
        return push_terminated_slowly(buffer, bytes);
    }
    buffer.extend_from_slice(bytes);
    buffer.extend_from_slice(&END);
}

#[cold]
fn push_terminated_slowly(buffer: &mut Vec<u8>, bytes: &[u8]) {
    push_escaped(buffer, bytes);
    buffer.extend_from_slice(&END);
}

/// One escaped string taken off the front of a key.
pub(super) struct Taken<'a> {
    pub content: Cow<'a, [u8]>,
    /// Bytes read, the end included.
    pub length: usize,
}

/// The front of `bytes` up to its end, if it is ascending and nothing in it was escaped.
#[inline(always)]
pub(super) fn take_plain(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    match bytes.split_at_checked(find(bytes, 0x00)?)? {
        (run, [0x00, 0x01, rest @ ..]) => Some((run, rest)),
        _ => None,
    }
}

/// Reads one string up to and including its end. Borrows if nothing was escaped or complemented.
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
        for length in 0..150_usize {
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
