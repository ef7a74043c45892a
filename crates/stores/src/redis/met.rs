//! Names that a walk has met, so that none is looked into twice.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

/// The names that one round of a walk has met.
#[derive(Debug)]
pub(super) struct Met {
    /// The hashes of a name, by keys that nobody outside knows: nobody can make two alike.
    keys: [RandomState; 2],
    hashes: HashSet<(u64, u64)>,
    /// The round, and how many there are.
    round: u64,
    rounds: u64,
}

impl Met {
    pub(super) fn new(rounds: u64) -> Met {
        let keys = [RandomState::new(), RandomState::new()];
        Met { keys, hashes: HashSet::new(), round: 0, rounds: rounds.max(1) }
    }

    /// Whether a name is of this round and is met for the first time.
    pub(super) fn is_new(&mut self, name: &[u8]) -> bool {
        let [one, two] = &self.keys;
        let hash = (one.hash_one(name), two.hash_one(name));
        hash.0 % self.rounds == self.round && self.hashes.insert(hash)
    }

    /// Goes on to the next round; false if that was the last.
    pub(super) fn next(&mut self) -> bool {
        self.hashes = HashSet::new();
        self.round += 1;
        self.round < self.rounds
    }
}
