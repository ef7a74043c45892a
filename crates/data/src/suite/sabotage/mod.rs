//! Stores that are broken on purpose, in one way each: the suite must refuse every one of them.
//!
//! ```text
//! case ─▶ SabotagedStore ─(one thing wrong)─▶ a sound store
//! ```
//!
//! These are tests of the tests. Whoever finds a way to break a promise unseen adds it here, and
//! then the case that sees it.

mod commit;
mod read;

use crate::clock::Milliseconds;
use crate::error::Result;
use crate::schema::Schema;
use crate::store::{
    Batch, Changes, CommitId, Description, Joined, Key, Outcome, Page, Position, Row, Scan, Store,
    Stretch, Through,
};
use async_trait::async_trait;
use keyspace::model::Keyspace;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A list of ways to break a store: name, what is wrong, the case that must see it.
macro_rules! sabotages {
    ($($(#[doc = $about:literal])* $name:ident => $case:literal,)*) => {
        /// A way to break a store.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Sabotage {
            $($(#[doc = $about])* $name,)*
        }

        impl Sabotage {
            /// Every way.
            pub const ALL: &[Sabotage] = &[$(Sabotage::$name,)*];

            /// The name of the case that must see it.
            pub fn caught_by(self) -> &'static str {
                match self {
                    $(Sabotage::$name => $case,)*
                }
            }
        }
    };
}

sabotages! {
    /// The first write of a batch is there before the checks are made.
    TornBatch => "batch: a failed check leaves every row as it was",
    /// Checks are not made.
    ChecksIgnored => "check: absent, of a live row",
    /// Checks are made, then others may write, then the batch is written.
    CheckThenWrite => "at once: counting by version loses nothing",
    /// An ended row is in the way of `Absent`.
    AbsentSeesEnded => "check: absent, at its end",
    /// An ended row still has its version.
    VersionOfEnded => "check: its version, at its end",
    /// Any version will do.
    AnyVersion => "update: an old version never wins",
    /// Versions count up from 1 for each row, and begin anew with it.
    VersionCounted => "update: the version of a deleted row never comes back",
    /// A batch sent again is done again.
    DoneAgain => "again: an add counts once",
    /// A conflict is answered for ever.
    ConflictRemembered => "again: a conflict can be committed",
    /// A batch sent again answers no totals.
    TotalsForgotten => "again: an add answers the same total",
    /// Outcomes are remembered for eight commits only.
    OutcomesForgotten => "again: after a thousand other commits",
    /// A total is what the counter was before.
    TotalBefore => "add: again",
    /// Totals come in the opposite order.
    TotalsReversed => "add: totals are in the order of the adds",
    /// A window counts what it refuses.
    WindowCountsRefused => "window: what was refused does not count",
    /// A window lets one more through.
    WindowOneMore => "window: refuses one more",
    /// A counter wraps around.
    OverflowWraps => "add: past the largest number is refused",
    /// An add to an ended counter counts on.
    EndedCountsOn => "add: after the end begins anew",
    /// An add to an ended counter leaves the old end.
    EndedKeepsEnd => "add: at the end begins anew",
    /// Every add moves the end of a counter.
    AddMovesEnd => "add: a later one leaves the end",
    /// A put without an end leaves the old one.
    PutKeepsEnd => "put: without an end, onto a row with one",
    /// A put of the value that is there is left out.
    SameValueSkipped => "put: the same value again is a new version",
    /// Ends are kept in seconds.
    EndInSeconds => "put: an end keeps its milliseconds",
    /// Deletes are left out.
    DeleteForgotten => "delete: of a row",
    /// Zero bytes at the end of a value are cut off.
    ValueTrimmed => "value: begins and ends with zero bytes",
    /// An empty value is no row.
    EmptyIsNothing => "put: an empty value is a row",
    /// Keys are folded to small letters.
    KeysFolded => "key: case twins are two rows",
    /// What is too large is acknowledged and thrown away.
    TooLargeAccepted => "row: one byte above the limit",
    /// The first write of a refused batch is there.
    RefusedHalf => "batch: one write above the limit",
    /// One write less than may be is refused.
    LimitLower => "batch: writes at the limit",
    /// The conflict names the part behind the one that met it.
    ConflictBehind => "conflict: names the only check that failed, in the middle",
    /// The conflict names the last check that failed.
    ConflictLast => "conflict: names the first check that failed",
    /// The conflict finds nothing.
    ConflictBlind => "conflict: says which version was found",
    /// Rows of a batch that meets a conflict are seen for a moment.
    ReadsUncommitted => "at once: what conflicts is never seen",
    /// The first read after a commit sees what was there before.
    ReadsStale => "at once: what one acknowledges the others see",
    /// A get reads one row after the other.
    GetTorn => "at once: a get sees both rows of a batch or neither",
    /// A scan reads one row after the other.
    ScanTorn => "at once: a scan sees both rows of a batch or neither",
    /// A get answers in the order of the keys.
    GetSorted => "get: rows in the order of their keys as asked",
    /// A scan has the end of its range in it.
    ScanIncludesEnd => "scan: the last key of a range is not in it",
    /// A scan has not the start of its range in it.
    ScanSkipsStart => "scan: the first key of a range is in it",
    /// A scan leaves out the last row of its range.
    ScanDropsLast => "scan: one row more than there are",
    /// A reversed scan answers the first rows, reversed.
    ReverseOfFirst => "scan: reversed, the last rows",
    /// A reversed scan is not reversed.
    ReverseIgnored => "scan: reversed, the same rows",
    /// A full page says that nothing follows.
    FullPageEnds => "scan: a full page says that more may follow",
    /// A page has one row more than was asked for.
    OneRowMore => "scan: one row at a time",
    /// Rows of a scan have no version.
    ScanWithoutVersions => "scan: whole rows: value, version, end",
    /// Entries are read, and then the rows they name.
    ThroughTorn => "at once: entries and rows are of one instant",
    /// An entry that names no row is left out.
    ThroughInner => "through: an entry without a row is answered",
    /// Rows are answered in the order of their own keys.
    ThroughSorted => "through: entries and rows as they are read apart",
    /// A stretch of a walk begins one row behind its mark.
    MarkSkips => "places: a walk goes on from its marks",
    /// A walk begins anew, whatever its mark.
    MarkForgotten => "places: a walk goes on from its marks",
    /// Sweeping takes rows a millisecond early.
    SweepEarly => "sweep: leaves a row that ends in a millisecond",
    /// Changes are cut in the middle of a commit.
    FeedSplits => "changes: a commit comes whole",
    /// Changes of one commit are reported twice if it is sent again.
    FeedRepeats => "changes: a batch again is none",
    /// Of a batch over several places that is refused, the first place is written.
    PlacesHalf => "places: puts of two are refused, or one commit",
    /// A tombstone is not returned.
    TombstoneHidden => "trail: a tombstone lies there and is read as dead",
    /// A tombstone counts as nothing at all.
    BareSeesLive => "check: bare, of a tombstone",
    /// Trails are not kept.
    TrailDropped => "trail: comes back as it was given",
}

impl Sabotage {
    /// Whether it needs a group-atomic store to break.
    pub fn is_of_groups(self) -> bool {
        use Sabotage::{BareSeesLive, PlacesHalf, TombstoneHidden, TrailDropped};
        matches!(self, PlacesHalf | TombstoneHidden | BareSeesLive | TrailDropped)
    }
}

/// A store that is broken in one way.
#[derive(Debug)]
pub struct SabotagedStore {
    store: Arc<dyn Store>,
    sabotage: Sabotage,
    memory: Mutex<Memory>,
}

/// What a broken store remembers.
#[derive(Debug, Default)]
struct Memory {
    /// Outcomes by id.
    outcomes: HashMap<CommitId, Outcome>,
    /// Ids, oldest first.
    ids: Vec<CommitId>,
    /// Rows that the next read sees instead of what is there.
    shown: HashMap<Key, Option<Row>>,
    /// How often a row was written since it was last deleted.
    written: HashMap<Key, u32>,
    /// Commits that were sent again.
    repeated: HashSet<CommitId>,
}

impl SabotagedStore {
    /// This store, broken so.
    pub fn new(store: Arc<dyn Store>, sabotage: Sabotage) -> Self {
        SabotagedStore { store, sabotage, memory: Mutex::new(Memory::default()) }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Store for SabotagedStore {
    fn describe(&self) -> Description {
        self.store.describe()
    }

    async fn ensure(&self, keyspace: &Arc<Keyspace>) -> Result<Arc<Schema>> {
        self.store.ensure(keyspace).await
    }

    async fn get(&self, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        self.broken_get(keys).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Page> {
        self.broken_scan(scan).await
    }

    async fn scan_through(&self, through: &Through<'_>) -> Result<Option<Joined>> {
        self.broken_through(through).await
    }

    async fn walk(&self, scan: &Scan) -> Result<Page> {
        self.store.walk(scan).await
    }

    async fn walk_from(
        &self,
        space: u16,
        mark: Option<&[u8]>,
        rows: usize,
    ) -> Result<Option<Stretch>> {
        self.broken_stretch(space, mark, rows).await
    }

    async fn commit(&self, batch: &Batch) -> Result<Outcome> {
        self.broken_commit(batch).await
    }

    async fn changes(&self, since: Position, rows: usize) -> Result<Changes> {
        self.broken_changes(since, rows).await
    }

    async fn sweep(&self, now: Milliseconds, rows: usize) -> Result<usize> {
        let early = i64::from(self.sabotage == Sabotage::SweepEarly);
        self.store.sweep(now + early, rows).await
    }
}
