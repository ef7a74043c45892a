//! Segments that nobody reads: only where they end is found out.
//!
//! What is in such a segment is not judged; whoever wants to know that a key is one that a writer
//! makes reads it.

use super::super::shape::tag;
use super::super::{Direction, Error, KeyType, Segment};
use super::KeyReader;

impl KeyReader<'_> {
    /// Passes a segment by: most types say by their tag, or by where they end, how long they are.
    #[inline]
    pub fn skip(&mut self, segment: Segment) -> Result<(), Error> {
        let direction = segment.direction;
        if segment.nullable && self.null(direction)? {
            return Ok(());
        }
        match segment.kind {
            KeyType::Uuid => self.payload::<16>(tag::UUID, direction).map(drop),
            KeyType::TimeUuid => self.payload::<16>(tag::TIME_UUID, direction).map(drop),
            KeyType::Ulid => self.payload::<16>(tag::ULID, direction).map(drop),
            KeyType::Timestamp => self.payload::<8>(tag::TIMESTAMP, direction).map(drop),
            KeyType::Bytes | KeyType::Text if direction == Direction::Ascending => {
                let of = if segment.kind == KeyType::Text { tag::TEXT } else { tag::BYTES };
                self.expect(of, direction)?;
                self.string(direction).map(drop)
            }
            _ => self.value(segment).map(drop),
        }
    }
}
