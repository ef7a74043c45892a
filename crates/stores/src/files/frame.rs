//! Frames: pieces of a file that is only added to, each with its number and its checksum.
//!
//! ```text
//! kwf1 │ length 4 │ number 8 │ synced 8 │ checksum 8 │ payload      behind the last: zeros
//! ```
//!
//! Numbers count by one. `synced` is the number of the last frame the disk was known to hold when
//! this one was written. So a bad frame at the end is one that was never finished, and a bad frame
//! which a later one says was synced is damage: what follows it was promised, and may not be
//! dropped without a word.

use bytes::{BufMut, Bytes};

const MAGIC: [u8; 4] = *b"kwf1";
const HEAD_BYTES: usize = 32;
/// Bytes of a checksum.
const CHECKSUM_BYTES: usize = 8;
/// The largest payload: a group of batches and the index files they touch.
const PAYLOAD_BYTES_MAX: usize = 1 << 30;

/// A frame that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) number: u64,
    pub(super) payload: Bytes,
}

impl Frame {
    /// The bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        HEAD_BYTES + self.payload.len()
    }
}

/// Where a file is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damage {
    /// Where the first bad frame begins.
    pub(super) offset: usize,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frames {
    pub(super) frames: Vec<Frame>,
    /// Whether something behind them was never finished.
    pub(super) is_torn: bool,
}

/// The bytes of a frame.
pub(super) fn encode(number: u64, synced: u64, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEAD_BYTES + payload.len());
    frame.extend_from_slice(&MAGIC);
    frame.put_u32(u32::try_from(payload.len()).unwrap_or(u32::MAX));
    frame.put_u64(number);
    frame.put_u64(synced);
    let checksum = checksum(&frame, payload);
    frame.extend_from_slice(&checksum);
    frame.extend_from_slice(payload);
    frame
}

/// Whether a payload fits a frame.
pub(super) fn fits(payload: &[u8]) -> bool {
    payload.len() <= PAYLOAD_BYTES_MAX
}

fn checksum(head: &[u8], payload: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(head);
    hasher.update(payload);
    let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
    [a, b, c, d, e, f, g, h]
}

/// The frames of a file, whose first has the number `first`.
pub(super) fn decode(content: &Bytes, first: u64) -> Result<Frames, Damage> {
    let mut frames = Vec::new();
    let mut offset = 0;
    let mut next = first;
    while offset < content.len() {
        match frame_at(content, offset) {
            Some((frame, _)) if frame.number == next => {
                offset += frame.bytes();
                next += 1;
                frames.push(frame);
            }
            // Nothing may be left out, and nothing may come twice.
            Some(_) => return Err(Damage { offset }),
            None if is_room(content, offset) => break,
            None if is_promised(content, offset, next) => return Err(Damage { offset }),
            None => return Ok(Frames { frames, is_torn: true }),
        }
    }
    Ok(Frames { frames, is_torn: false })
}

/// Whether nothing but zeros follows: room for frames that were not written.
fn is_room(content: &Bytes, offset: usize) -> bool {
    content.get(offset..).is_some_and(|rest| rest.iter().all(|byte| *byte == 0))
}

/// Whether some frame behind this place says that the one here was synced.
fn is_promised(content: &Bytes, offset: usize, number: u64) -> bool {
    let Some(rest) = content.get(offset..) else { return false };
    let places = rest.windows(MAGIC.len()).enumerate().filter(|(_, window)| *window == MAGIC);
    places
        .filter_map(|(place, _)| frame_at(content, offset + place))
        .any(|(frame, synced)| frame.number > number && synced >= number)
}

/// The frame that begins here, and the last one that was synced before it.
fn frame_at(content: &Bytes, offset: usize) -> Option<(Frame, u64)> {
    let rest = content.get(offset..)?;
    let (head, rest) = rest.split_at_checked(HEAD_BYTES)?;
    let (covered, checked) = head.split_at_checked(HEAD_BYTES - CHECKSUM_BYTES)?;
    let (magic, numbers) = covered.split_first_chunk::<4>()?;
    let (length, numbers) = numbers.split_first_chunk::<4>()?;
    let (number, numbers) = numbers.split_first_chunk::<8>()?;
    let (synced, _) = numbers.split_first_chunk::<8>()?;
    let payload = rest.get(..usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
    if *magic != MAGIC || checksum(covered, payload) != checked {
        return None;
    }
    let frame = Frame { number: u64::from_be_bytes(*number), payload: content.slice_ref(payload) };
    Some((frame, u64::from_be_bytes(*synced)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn three(synced: [u64; 3]) -> (Vec<u8>, Vec<usize>) {
        let mut content = Vec::new();
        let mut ends = Vec::new();
        for (number, synced) in (5..).zip(synced) {
            content.extend(encode(number, synced, format!("payload {number}").as_bytes()));
            ends.push(content.len());
        }
        (content, ends)
    }

    fn numbers(content: &[u8]) -> Result<(Vec<u64>, bool), usize> {
        let frames = decode(&Bytes::copy_from_slice(content), 5);
        let frames = frames.map_err(|damage| damage.offset)?;
        Ok((frames.frames.iter().map(|frame| frame.number).collect(), frames.is_torn))
    }

    #[test]
    fn frames_come_back_until_the_file_ends() {
        let (content, ends) = three([4, 5, 6]);
        for length in 0..=content.len() {
            let whole = ends.iter().filter(|end| **end <= length).count();
            let is_torn = length > 0 && !ends.contains(&length);
            let expected: Vec<u64> = (5..).take(whole).collect();
            assert_eq!(numbers(&content[..length]), Ok((expected, is_torn)), "{length}");
        }
    }

    #[test]
    fn a_bad_byte_in_a_synced_frame_is_damage_and_its_place_is_named() {
        let (content, ends) = three([4, 5, 6]);
        for place in 0..content.len() {
            let mut bad = content.clone();
            bad[place] ^= 0x20;
            let frame = ends.iter().position(|end| place < *end).unwrap();
            let offset = frame.checked_sub(1).map_or(0, |before| ends[before]);
            match frame {
                // Nothing behind it says that it was synced.
                2 => assert_eq!(numbers(&bad), Ok((vec![5, 6], true)), "{place}"),
                _ => assert_eq!(numbers(&bad), Err(offset), "{place}"),
            }
        }
    }

    #[test]
    fn a_bad_frame_that_nobody_synced_ends_the_file() {
        let (mut content, ends) = three([4, 4, 4]);
        content[ends[0] + 40] ^= 1;
        assert_eq!(numbers(&content), Ok((vec![5], true)));
        let zeros = [vec![0; ends[0]], content[ends[0]..].to_vec()].concat();
        assert_eq!(numbers(&zeros), Ok((vec![], true)));
    }

    #[test]
    fn zeros_behind_the_last_frame_are_room_and_before_another_they_are_not() {
        let (content, ends) = three([4, 5, 6]);
        for whole in 0..=3 {
            let end = if whole == 0 { 0 } else { ends[whole - 1] };
            let room = [&content[..end], &[0; 100]].concat();
            let expected: Vec<u64> = (5..).take(whole).collect();
            assert_eq!(numbers(&room), Ok((expected, false)));
        }
        let between = [&content[..ends[0]], &[0; 100], &content[ends[0]..]].concat();
        assert_eq!(numbers(&between), Err(ends[0]));
        // Half of a frame that was written over zeros.
        let half = [&content[..ends[1] - 1], &[0; 100]].concat();
        assert_eq!(numbers(&half), Ok((vec![5], true)));
    }

    #[test]
    fn a_frame_left_out_or_twice_is_damage() {
        let (content, ends) = three([4, 5, 6]);
        let without = [&content[..ends[0]], &content[ends[1]..]].concat();
        assert_eq!(numbers(&without), Err(ends[0]));
        let twice = [&content[..ends[0]], &content].concat();
        assert_eq!(numbers(&twice), Err(ends[0]));
    }
}
