//! What a call costs, counted where rows come by.

use crate::error::{Error, ErrorKind, Result};
use crate::store::{Key, Named, Scan, Seen, Show, ShowNamed};
use crate::watch::Interest;

/// What a call has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Waits on the store.
    pub round_trips: u64,
    /// Times the whole was begun.
    pub attempts: u64,
    /// Records, entries and claims read.
    pub rows_read: u64,
    /// Records, entries, claims and helper rows written or removed.
    pub rows_written: u64,
    /// Bytes of keys and values read.
    pub bytes_read: u64,
    /// Bytes of keys and values written.
    pub bytes_written: u64,
}

impl Usage {
    /// Counts a row that a scan answered.
    #[inline]
    pub(super) fn take(&mut self, scan: &Scan, (key, weight): (&[u8], usize)) -> Result<()> {
        // Cheap, and no row of another owner gets past it, whatever a store does.
        if !scan.range.contains(key) {
            return Err(astray());
        }
        self.count_row(weight);
        Ok(())
    }

    #[inline]
    pub(super) fn count_row(&mut self, weight: usize) {
        self.rows_read += 1;
        self.bytes_read += weight as u64;
    }
}

#[cold]
fn astray() -> Error {
    Error::new(ErrorKind::Internal, "a store answered a row out of range")
}

/// Counts the rows of a scan on their way to whoever is shown them.
pub(super) fn counting<'c>(
    usage: &'c mut Usage,
    scan: &'c Scan,
    show: &'c mut Show<'_>,
) -> impl FnMut(&Seen<'_>) -> Result<bool> + Send + 'c {
    let sieve = scan.range.sieve();
    move |row| {
        match sieve.contains(row.key) {
            true => usage.count_row(row.weight()),
            false => return Err(astray()),
        }
        show(row)
    }
}

/// Counts entries, and the rows that they lead to, on their way to whoever is shown them.
pub(super) fn counting_named<'c>(
    usage: &'c mut Usage,
    seen: &'c mut Option<Box<Interest>>,
    scan: &'c Scan,
    show: &'c mut ShowNamed<'_>,
) -> impl FnMut(&Seen<'_>, Named<'_>) -> Result<()> + Send + 'c {
    move |entry, named| {
        usage.take(scan, (entry.key, entry.weight()))?;
        usage.rows_read += u64::from(!matches!(named, Named::Unread));
        if let Named::Row(row) = &named {
            usage.bytes_read += row.weight() as u64;
            if let Some(seen) = seen {
                seen.keys.push(Key::from(row.key.to_vec()));
            }
        }
        show(entry, named)
    }
}
