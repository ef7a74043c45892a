//! The waist: everything a store must be able to do, and what it promises when it does it.
//!
//! ```text
//!              get(keys) ─▶ rows          scan(range) ─▶ page          what is there
//! run time ──▶                                                   ──▶ STORE
//!              commit(batch: checks, writes) ─▶ committed │ conflict │ not known
//! ```
//!
//! Two classes of store pass through it. A *whole-store atomic* one takes any batch; a
//! *group-atomic* one takes batches whose keys have one place ([`Schema::place`]), and the protocol
//! in `protocol/` builds indexes and unique values across places above it.
//!
//! # The contract
//!
//! 1. **Atomic.** After any crash, all writes of a batch are there or none; no reader ever sees a
//!    part of one (of several places: of one place).
//! 2. **Serializable.** A batch that commits saw all its checks hold at one instant between call
//!    and return. Reads see committed rows only, and every commit acknowledged before they began.
//! 3. **Once.** A batch sent again with the same id answers `Committed` with the same totals, if it
//!    was committed in the last [`OUTCOME_KEPT`]; only `Committed` is remembered. The id alone
//!    decides: what a call made again sends is worked out from the rows as they are by then, so
//!    that its batch may well be another, and no store can tell it from the batch of another call.
//! 4. **Durable.** What was acknowledged, *and what a read has returned*, survives what
//!    [`Description::durability`] names.
//! 5. **Honest.** [`Outcome::Indeterminate`] only after the store has tried to find out until the
//!    batch's deadline. A store that cannot write any more is [`ErrorKind::Poisoned`] until it is
//!    opened anew.
//! 6. **Expired is absent**, for every check and every write: a row whose `expires` is not after
//!    the batch's `now`. Reads may still return such rows, with their `expires`: whoever asked
//!    judges.
//! 7. **Order.** A scan answers keys in the order of their bytes, or wholly reversed, none twice.
//! 8. **Bytes** of keys and values come back as they were given.
//! 9. **Limits** are checked at the door: nothing larger than [`limits`] is kept, and a refused
//!    batch has changed nothing.
//! 10. **Walks** meet every row that stays: one by [`walk`](Store::walk) exactly once, in one
//!     process; one by [`walk_from`](Store::walk_from) at least once, even if each stretch of it is
//!     asked for by another process. A mark after which a row could be missed is not taken.
//!
//! | what happens in a store | what it answers |
//! |---|---|
//! | a check does not hold, a window is full, a counter overflows | `Conflict`, nothing written |
//! | the same on a group-atomic store, but a copy of the batch is under way | `Indeterminate` |
//! | cannot be reached, is starting, is out of memory; nothing sent | [`ErrorKind::Unavailable`] |
//! | the reply to a commit was lost and its fate could not be found out | `Indeterminate` |
//! | another program's data, or another type, lies where a row should | [`ErrorKind::Mismatch`] |
//! | bytes that no version of Keyway wrote | [`ErrorKind::Corrupt`] |
//! | a batch reaches several places of a group-atomic store | [`ErrorKind::Unsupported`] |
//!
//! Histories need nothing more: a batch of unversioned puts appends without reading, a scan ranges
//! over any whole leading part of a key, and a snapshot row names in its value what it covers.

mod batch;
mod description;
pub mod door;
mod feed;
mod hold;
pub mod judge;
mod key;
mod row;
mod through;

pub use batch::{
    Batch, Check, CommitId, Conflict, Expect, Found, Outcome, Total, Version, Where, WindowRule,
    Write,
};
pub use description::{Description, Durability, Memory, Reach};
pub use feed::{Change, Changes, Position};
pub use hold::Hold;
pub use judge::{Judgement, judge};
pub(crate) use key::front;
pub use key::{Key, Range, Sieve};
pub use row::{
    End, Held, InColumns, Keyed, Lying, Page, Row, Scan, Seen, Stretch, Trail, Versions,
};
pub use through::{Gathered, Joined, Named, ShowNamed, Through};

pub use keyspace::model::limits;

use crate::clock::Milliseconds;
use crate::error::{Error, ErrorKind, Result};
use crate::schema::Schema;
use async_trait::async_trait;
use keyspace::model::Keyspace;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How long a store remembers that a batch was committed, at least.
pub const OUTCOME_KEPT: Duration = Duration::from_secs(600);

/// A store: see the head of this module for what each method promises.
#[async_trait]
pub trait Store: fmt::Debug + Send + Sync {
    /// What kind of store it is and what it promises; the same for as long as it is open.
    fn describe(&self) -> Description;

    /// Makes the store ready for a keyspace: numbers for new collections and fields, tables where
    /// it has them. What is there already is kept; what does not fit is refused, with the reason.
    async fn ensure(&self, keyspace: &Arc<Keyspace>) -> Result<Arc<Schema>>;

    /// The rows under these keys, in their order.
    async fn get(&self, keys: &[Key]) -> Result<Vec<Option<Row>>>;

    /// A stretch of one range.
    async fn scan(&self, scan: &Scan) -> Result<Page>;

    /// Shows the rows of a stretch one after the other, those that [`scan`](Store::scan) answers,
    /// for as long as `show` wants more; if it does not, the stretch ends as one that is full.
    /// Asked of rows without trails only. Nothing from a store that answers them together.
    async fn each(
        &self,
        scan: &Scan,
        versions: Versions,
        show: &mut Show<'_>,
    ) -> Result<Option<End>> {
        let _ = (scan, versions, show);
        Ok(None)
    }

    /// All of the batch, or nothing.
    async fn commit(&self, batch: &Batch) -> Result<Outcome>;

    /// The same of a batch whose id was made for it, and that was never sent: a store need not ask
    /// whether it was committed before.
    async fn commit_new(&self, batch: &Batch) -> Result<Outcome> {
        self.commit(batch).await
    }

    /// A stretch of the entries of an index, and the rows that the first of them name, all as they
    /// are at one instant. A stretch ends for its bytes as a scan does, its rows counted too.
    /// Nothing from a store that does not read both at once: whoever asked then reads them apart.
    async fn scan_through(&self, through: &Through<'_>) -> Result<Option<Joined>> {
        let _ = through;
        Ok(None)
    }

    /// Shows the entries and the rows that [`scan_through`](Store::scan_through) answers one after
    /// the other. Nothing from a store that answers them together.
    async fn each_through(
        &self,
        through: &Through<'_>,
        versions: Versions,
        show: &mut ShowNamed<'_>,
    ) -> Result<Option<End>> {
        let _ = (through, versions, show);
        Ok(None)
    }

    /// The same reads without waiting, if the store has its rows in this process.
    fn at_once(&self) -> Option<&dyn AtOnce> {
        None
    }

    /// A stretch of every row of a space, whatever its place, for whoever looks after the store.
    /// The order is the store's own, and going on after the last key goes on in it. A row that
    /// stays is met exactly once.
    async fn walk(&self, scan: &Scan) -> Result<Page> {
        self.scan(scan).await
    }

    /// A stretch of the same from the beginning of a space, or from a mark that may have been kept
    /// for long and by another process. A row that stays is met at least once, and may be met
    /// again. Nothing if the mark says nothing any more, because the store was replaced or has
    /// another order by now: whoever asked begins anew, without one.
    async fn walk_from(
        &self,
        space: u16,
        mark: Option<&[u8]>,
        rows: usize,
    ) -> Result<Option<Stretch>> {
        let mut range = Range::of_space(space);
        if let Some(mark) = mark {
            let last = [space.to_be_bytes().as_slice(), mark].concat();
            range = range.after(&Key::from(last), false);
        }
        let Page { rows, end } = self.walk(&Scan { range, reverse: false, rows }).await?;
        let last = rows.last().filter(|_| end != End::Range);
        let mark = last.and_then(|last| last.key.bytes().get(2..)).map(<[u8]>::to_vec);
        Ok(Some(Stretch { rows, mark }))
    }

    /// What was committed after a position, oldest first. Only whole-store atomic stores that keep
    /// a log offer it; [`ErrorKind::Mismatch`] if the log no longer reaches back so far.
    async fn changes(&self, since: Position, rows: usize) -> Result<Changes> {
        let _ = (since, rows);
        Err(Error::new(ErrorKind::Unsupported, "this store keeps no log of its changes"))
    }

    /// Keeps a log of changes from now on, if none is kept, and says where it is now: what is
    /// committed later is after this position.
    async fn follow(&self) -> Result<Position> {
        Err(Error::new(ErrorKind::Unsupported, "this store keeps no log of its changes"))
    }

    /// Takes no more writes from now on, or takes them again, and says which commit was the last.
    /// From a store that has moved this is [`ErrorKind::Moved`], from one that cannot be held
    /// [`ErrorKind::Unsupported`].
    async fn hold(&self, hold: Hold) -> Result<Position> {
        let _ = hold;
        Err(Error::new(ErrorKind::Unsupported, "this store cannot be moved while it is written"))
    }

    /// Removes rows that ended at or before `now`, at most so many, and says how many went.
    /// Stores that let rows go by themselves have nothing to do.
    async fn sweep(&self, now: Milliseconds, rows: usize) -> Result<usize> {
        let _ = (now, rows);
        Ok(0)
    }

    /// What people should know who use the store, in sentences: settings under which it promises
    /// less, data that somebody else changed. Asked after [`ensure`](Store::ensure).
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// The store's own time, if it has one that all who use it share: their clocks may differ, and
    /// rows end by one of them only.
    async fn time(&self) -> Result<Option<Milliseconds>> {
        Ok(None)
    }

    /// What tells this store from every other that is open now: two ways to one store say the
    /// same, a copy of it says something else. Stores that one path names need none. Asked after
    /// [`ensure`](Store::ensure).
    async fn identity(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// A secret that all who use the store share, if it keeps data: the one that is there, or this
    /// one from now on. Cursors are sealed with it. Asked after [`ensure`](Store::ensure).
    async fn secret(&self, fresh: [u8; 32]) -> Result<Option<[u8; 32]>> {
        let _ = fresh;
        Ok(None)
    }

    /// Writes what is still to be written and lets go of the store.
    async fn close(&self) -> Result<()> {
        Ok(())
    }
}

/// What is shown rows, and says whether it wants more.
pub type Show<'s> = dyn FnMut(&Seen<'_>) -> Result<bool> + Send + 's;

/// Reads that never wait, so that nothing has to be kept for the time of waiting.
pub trait AtOnce: fmt::Debug + Send + Sync {
    /// The row under a key, as [`Store::get`] answers it.
    fn row(&self, key: &Key) -> Result<Option<Row>>;

    /// Shows that row where it lies, if it is there.
    fn look(&self, key: &Key, versions: Versions, show: &mut Show<'_>) -> Result<()> {
        let _ = versions;
        if let Some(row) = self.row(key)? {
            show(&Seen::of(key, &row))?;
        }
        Ok(())
    }

    /// The rows under these keys, as [`Store::get`] answers them.
    fn rows(&self, keys: &[Key]) -> Result<Vec<Option<Row>>>;

    /// Shows the rows of a stretch one after the other, those that [`Store::scan`] answers, for as
    /// long as `show` wants more. If it does not, the stretch ends as one that is full.
    fn each(&self, scan: &Scan, versions: Versions, show: &mut Show<'_>) -> Result<End>;

    /// What [`Store::scan`] answers.
    fn scan(&self, scan: &Scan) -> Result<Page>;

    /// What [`Store::scan_through`] answers.
    fn scan_through(&self, through: &Through<'_>) -> Result<Joined>;

    /// Shows the entries and the rows that [`Store::scan_through`] answers one after the other.
    fn each_through(
        &self,
        through: &Through<'_>,
        versions: Versions,
        show: &mut ShowNamed<'_>,
    ) -> Result<End> {
        let _ = versions;
        self.scan_through(through)?.each(show)
    }
}
