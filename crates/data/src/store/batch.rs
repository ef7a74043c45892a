//! Batches: writes that happen together, or not at all, if their checks hold.
//!
//! A batch is a value: it can be printed, sent twice and compared. Its id is the new version of
//! every row it writes, so that "is the row's version my id?" answers whether it was committed.
//! Its keys and values may be slices of one buffer: whoever keeps some for long copies them.

use super::Key;
use crate::clock::{Milliseconds, Random};
use crate::error::{Error, ErrorKind};
use bytes::Bytes;
use keyspace::key::text::uuid_letters;
use std::fmt;
use std::str::FromStr;

/// The id of a batch: 16 bytes, unique, with the time first as in a UUID of version 7.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId([u8; 16]);

/// The version of a row: the id of the commit that last wrote it. Compared for equality only.
pub type Version = CommitId;

impl CommitId {
    /// A new id.
    pub fn new(now: Milliseconds, random: &dyn Random) -> Self {
        let mut bytes = [0; 16];
        random.fill(&mut bytes);
        let time = now.max(0).to_be_bytes();
        let [_, _, time @ ..] = time;
        for (byte, part) in bytes.iter_mut().zip(time) {
            *byte = part;
        }
        CommitId::from_bytes(bytes)
    }

    /// Its text, as a UUID is written.
    pub fn text(&self) -> [u8; 36] {
        uuid_letters(self.0)
    }

    /// An id of these bytes, with the marks of a UUID of version 7 set.
    pub fn from_bytes(mut bytes: [u8; 16]) -> Self {
        let [_, _, _, _, _, _, version, _, variant, ..] = &mut bytes;
        *version = (*version & 0x0f) | 0x70;
        *variant = (*variant & 0x3f) | 0x80;
        CommitId(bytes)
    }

    /// An id that a store has kept as its bytes, unchanged.
    pub fn from_stored(bytes: [u8; 16]) -> Self {
        CommitId(bytes)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The time in it.
    pub fn time(&self) -> Milliseconds {
        let [a, b, c, d, e, f, ..] = self.0;
        Milliseconds::from_be_bytes([0, 0, a, b, c, d, e, f])
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Hexadecimal digits and hyphens are text.
        formatter.write_str(str::from_utf8(&self.text()).unwrap_or_default())
    }
}

impl fmt::Debug for CommitId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "CommitId({self})")
    }
}

impl FromStr for CommitId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refused = || {
            Error::new(ErrorKind::Argument, "an id is a UUID: 32 hexadecimal digits in five groups")
                .with("given", text.chars().take(64).collect::<String>())
        };
        let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
        let (pairs, rest) = digits.as_chunks::<2>();
        let mut bytes = [0; 16];
        if pairs.len() != bytes.len() || !rest.is_empty() {
            return Err(refused());
        }
        for (byte, pair) in bytes.iter_mut().zip(pairs) {
            let pair = std::str::from_utf8(pair).map_err(|_| refused())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| refused())?;
        }
        Ok(CommitId(bytes))
    }
}

/// Writes that happen together if their checks hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Its id, and the version of what it writes.
    pub id: CommitId,
    /// The instant by which expiry is judged.
    pub now: Milliseconds,
    /// What must hold; at most [`limits::BATCH_CHECKS_MAX`](super::limits::BATCH_CHECKS_MAX).
    pub checks: Vec<Check>,
    /// What is written, in order; at most
    /// [`limits::BATCH_WRITES_MAX`](super::limits::BATCH_WRITES_MAX).
    pub writes: Vec<Write>,
    /// Until when a store may try to find out what became of it.
    pub deadline: Milliseconds,
}

impl Batch {
    /// The bytes of all keys and values.
    pub fn bytes(&self) -> usize {
        let checks: usize = self.checks.iter().map(|check| check.key.bytes().len()).sum();
        checks + self.writes.iter().map(Write::bytes).sum::<usize>()
    }
}

/// Something that must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Of this row.
    pub key: Key,
    /// What.
    pub expect: Expect,
}

/// What a row must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Not there: no row, an expired one, or a tombstone.
    Absent,
    /// There, whatever its version.
    Present,
    /// There, with this version.
    Version(Version),
    /// What lies there, be it expired or a tombstone, has this version; with none, nothing at all
    /// lies there. Only the protocol over group-atomic stores asks for it.
    Physical(Option<Version>),
}

/// A change of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// The row is now this.
    Put {
        /// Its key.
        key: Key,
        /// Its content.
        value: Bytes,
        /// When it ends.
        expires: Option<Milliseconds>,
        /// Whether it has a version: the batch's id.
        versioned: bool,
        /// What the protocol over group-atomic stores keeps with it.
        trail: Option<Box<super::Trail>>,
    },
    /// There is no row.
    Delete {
        /// Its key.
        key: Key,
    },
    /// The counter is so much more. An expired one, or none, is 0.
    Add {
        /// Its key.
        key: Key,
        /// How much, or less.
        amount: i64,
        /// When the counter ends, if this creates it.
        expires: Option<Milliseconds>,
        /// The rule of a window: refused as a conflict where the sum would pass the limit.
        window: Option<WindowRule>,
    },
}

impl Write {
    /// The row it changes.
    pub fn key(&self) -> &Key {
        match self {
            Write::Put { key, .. } | Write::Delete { key } | Write::Add { key, .. } => key,
        }
    }

    /// The bytes of its key and value.
    pub fn bytes(&self) -> usize {
        let value = match self {
            Write::Put { value, .. } => value.len(),
            Write::Delete { .. } => 0,
            Write::Add { .. } => 8,
        };
        self.key().bytes().len() + value
    }
}

/// What one window lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowRule {
    /// The most that may be added in one window.
    pub limit: i64,
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All of it is there.
    Committed {
        /// What each `Add` came to, in their order.
        totals: Vec<Total>,
    },
    /// Nothing of it is there.
    Conflict(Conflict),
    /// Not known; the same batch may be sent again.
    Indeterminate {
        /// Its id.
        id: CommitId,
    },
}

/// What a counter came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Total {
    /// Its value.
    pub value: i64,
    /// When it ends.
    pub expires: Option<Milliseconds>,
}

/// Why a batch was not committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// What met it: the first that did not hold, checks before writes.
    pub at: Where,
    /// What was there instead.
    pub found: Found,
}

/// A part of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// The check with this number.
    Check(usize),
    /// The write with this number: only an `Add` can fail.
    Write(usize),
}

/// What a check or an `Add` found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// No live row.
    Absent,
    /// A live row, with this version if it has one.
    Row(Option<Version>),
    /// A window without room for the amount.
    Full(Total),
    /// A counter that would leave the range of `i64`.
    Overflow(Total),
}
