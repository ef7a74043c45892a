//! The cleaner: looks at an entry or a claim, at its row, fences that if need be, and removes.

use super::Rules;
use super::store::{Claim, Command, Entry, Id, Reply, Store, Version, derived, part};

/// Times a row is fenced for one entry.
const FENCE_TRIES: u8 = 2;

/// An entry or a claim that may belong to no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suspect {
    /// An entry.
    Entry(Entry),
    /// The claim of an email.
    Claim(u8, Claim),
}

/// What the cleaner is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cleaner {
    /// Nothing.
    Idle,
    /// To read the row of a suspect, after so many fences.
    Read(Suspect, u8),
    /// To fence it.
    Fence(Suspect, Version, u8),
    /// To remove the suspect.
    Remove(Suspect),
}

impl Suspect {
    fn attempt(&self) -> Id {
        match self {
            Suspect::Entry(entry) => entry.attempt,
            Suspect::Claim(_, claim) => claim.attempt,
        }
    }

    fn row(&self) -> u8 {
        match self {
            Suspect::Entry(entry) => entry.row,
            Suspect::Claim(_, claim) => claim.owner,
        }
    }

    fn expected(&self) -> Version {
        match self {
            Suspect::Entry(entry) => entry.expected,
            Suspect::Claim(_, claim) => claim.expected,
        }
    }

    fn belongs(&self, store: &Store) -> bool {
        let Some(held) = store.held(self.row()) else { return false };
        match self {
            Suspect::Entry(entry) => held.color == entry.color && held.entered == entry.attempt,
            Suspect::Claim(email, _) => held.email == *email,
        }
    }
}

impl Cleaner {
    /// The cleaner after its next request.
    pub(super) fn step(self, store: &mut Store, rules: Rules, remembered: usize) -> Cleaner {
        match self {
            Cleaner::Idle => Cleaner::Idle,
            Cleaner::Read(suspect, fenced) => {
                let version = store.version(suspect.row());
                if suspect.belongs(store) || fenced == FENCE_TRIES {
                    Cleaner::Idle
                } else if version != suspect.expected() || !rules.fences {
                    Cleaner::Remove(suspect)
                } else {
                    Cleaner::Fence(suspect, version, fenced)
                }
            }
            Cleaner::Fence(suspect, version, fenced) => {
                let row = suspect.row();
                let id = derived("fence", &[suspect.attempt(), part(version), Id::from(row)]);
                let fence = Command::Fence { id, row, expect: version };
                match store.apply(&fence, remembered) {
                    Reply::Done => Cleaner::Remove(suspect),
                    Reply::Version(Some(found)) if found == id => Cleaner::Remove(suspect),
                    _ => Cleaner::Read(suspect, fenced + 1),
                }
            }
            Cleaner::Remove(suspect) => {
                let removal = match suspect {
                    Suspect::Entry(entry) => Command::Remove(entry),
                    Suspect::Claim(email, claim) => {
                        Command::Release { email, attempt: claim.attempt }
                    }
                };
                store.apply(&removal, remembered);
                Cleaner::Idle
            }
        }
    }
}
