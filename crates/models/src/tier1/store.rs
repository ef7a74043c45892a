//! What the store holds, and the requests that change it: one place at a time, compared and set.

use std::sync::Arc;

/// The id of a set, an attempt or a fence.
pub type Id = u32;
/// The version of a row: the id of the commit that wrote it.
pub type Version = Option<Id>;

/// The id that follows from others and from what it is for.
pub(super) fn derived(purpose: &str, parts: &[Id]) -> Id {
    let start = purpose.bytes().fold(0x9e37_79b9_7f4a_7c15_u64, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mixed = parts.iter().fold(start, |state, part| {
        let state = (state ^ u64::from(*part)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (state ^ (state >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb)
    });
    (mixed >> 32) as Id
}

/// A version as a part of another id.
pub(super) fn part(version: Version) -> Id {
    version.unwrap_or_default()
}

/// A row that is there for the protocol, be it dead or live.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Row {
    /// The commit that wrote it.
    pub version: Id,
    /// The commits before, newest first.
    pub previous: Vec<Id>,
    /// What it holds; nothing if it is dead.
    pub held: Option<Held>,
}

/// What a live row holds: its content, and the attempts behind its entry and its claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Held {
    /// Its color, which has an index.
    pub color: u8,
    /// Its email, which is unique.
    pub email: u8,
    /// The attempt that entered the color.
    pub entered: Id,
    /// The attempt that claimed the email.
    pub claimed: Id,
}

/// An index entry. Its attempt is a part of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Entry {
    /// The color.
    pub color: u8,
    /// The row.
    pub row: u8,
    /// Who wrote it.
    pub attempt: Id,
    /// The version that this attempt expects its row to have.
    pub expected: Version,
}

impl Entry {
    /// What names it; what else it says is for the cleaner.
    pub(super) fn key(&self) -> (u8, u8, Id) {
        (self.color, self.row, self.attempt)
    }
}

/// A claim of an email.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Claim {
    /// The row.
    pub owner: u8,
    /// Who wrote it.
    pub attempt: Id,
    /// The version that this attempt expects its row to have.
    pub expected: Version,
}

/// What a claim must be for another to take its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Expect {
    /// Not there.
    Absent,
    /// This attempt's.
    Of(Id),
    /// Anything: no sound rule asks so little.
    Anything,
}

/// A request that changes the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Command {
    /// Takes an email.
    Claim {
        /// The email.
        email: u8,
        /// If it is this.
        expect: Expect,
        /// The claim.
        claim: Claim,
    },
    /// Writes an entry.
    Enter(Entry),
    /// Sets a row.
    Set {
        /// The set that does.
        id: Id,
        /// The row.
        row: u8,
        /// If it has this version.
        expect: Version,
        /// What it becomes; nothing where it goes for good.
        to: Option<Arc<Row>>,
    },
    /// Gives a row a new version.
    Fence {
        /// The new version.
        id: Id,
        /// The row.
        row: u8,
        /// If it has this version.
        expect: Version,
    },
    /// Removes an entry.
    Remove(Entry),
    /// Removes a claim.
    Release {
        /// The email.
        email: u8,
        /// If it is this attempt's.
        attempt: Id,
    },
}

/// What a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// Done.
    Done,
    /// The row has this version instead.
    Version(Version),
    /// The claim is this instead.
    Claim(Option<Claim>),
}

/// Rows, entries and claims.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Store {
    /// The rows.
    pub rows: [Option<Arc<Row>>; 2],
    /// The entries, in order.
    pub entries: Vec<Entry>,
    /// The claim of each email.
    pub claims: [Option<Claim>; 3],
}

impl Store {
    pub(super) fn row(&self, row: u8) -> Option<&Arc<Row>> {
        self.rows.get(usize::from(row)).and_then(Option::as_ref)
    }

    pub(super) fn version(&self, row: u8) -> Version {
        self.row(row).map(|row| row.version)
    }

    /// What a row holds, if it is live.
    pub(super) fn held(&self, row: u8) -> Option<Held> {
        self.row(row).and_then(|row| row.held)
    }

    pub(super) fn claim(&self, email: u8) -> Option<Claim> {
        self.claims.get(usize::from(email)).copied().flatten()
    }

    /// Does what a request asks for, if things are as it expects.
    pub(super) fn apply(&mut self, command: &Command, remembered: usize) -> Reply {
        match command {
            Command::Claim { email, expect, claim } => {
                let found = self.claim(*email);
                let met = match expect {
                    Expect::Absent => found.is_none(),
                    Expect::Of(attempt) => found.is_some_and(|found| found.attempt == *attempt),
                    Expect::Anything => true,
                };
                self.claim_if(met, *email, Some(*claim))
            }
            Command::Release { email, attempt } => {
                let found = self.claim(*email);
                let met = found.is_some_and(|found| found.attempt == *attempt);
                self.claim_if(met, *email, None)
            }
            Command::Enter(entry) => {
                if let Err(place) = self.entries.binary_search(entry) {
                    self.entries.insert(place, *entry);
                }
                Reply::Done
            }
            Command::Remove(entry) => {
                self.entries.retain(|other| other.key() != entry.key());
                Reply::Done
            }
            Command::Set { row, expect, to, .. } => self.set_if(*row, *expect, to.clone()),
            Command::Fence { id, row, expect } => {
                let before = self.row(*row);
                let held = before.and_then(|before| before.held);
                let previous = previous(before.map(Arc::as_ref), remembered);
                let fenced = Row { version: *id, previous, held };
                self.set_if(*row, *expect, Some(Arc::new(fenced)))
            }
        }
    }

    fn claim_if(&mut self, met: bool, email: u8, to: Option<Claim>) -> Reply {
        match self.claims.get_mut(usize::from(email)) {
            Some(claim) if met => {
                *claim = to;
                Reply::Done
            }
            claim => Reply::Claim(claim.and_then(|claim| *claim)),
        }
    }

    fn set_if(&mut self, row: u8, expect: Version, to: Option<Arc<Row>>) -> Reply {
        let found = self.version(row);
        match self.rows.get_mut(usize::from(row)) {
            Some(row) if found == expect => {
                *row = to;
                Reply::Done
            }
            _ => Reply::Version(found),
        }
    }
}

/// The commits before the next one, newest first.
pub(super) fn previous(row: Option<&Row>, remembered: usize) -> Vec<Id> {
    let Some(row) = row else { return Vec::new() };
    let commits = std::iter::once(row.version).chain(row.previous.iter().copied());
    commits.take(remembered).collect()
}
