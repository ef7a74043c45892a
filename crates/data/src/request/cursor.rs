//! Cursors: where a list goes on, sealed so that only the same caller, pattern and keyspace can.

use crate::clock::Random;

/// What cursors are sealed with.
#[derive(Clone)]
pub struct CursorKey([u8; 32]);

impl CursorKey {
    /// A key of these bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        CursorKey(bytes)
    }

    /// A key that nobody knows.
    pub fn random(random: &dyn Random) -> Self {
        let mut bytes = [0; 32];
        random.fill(&mut bytes);
        CursorKey(bytes)
    }
}
