//! A keyspace moved to another store while it is used.
//!
//! ```text
//! follow from here ─▶ copy ─▶ catch up ─▶ verify ─▶ catch up ┬▶ pause ─▶ last changes ─▶ MOVED
//!                                                            │   writes wait      durable, in
//! source: the truth, all the time ───────────────────────────┘                   the source
//! ```
//!
//! # What holds
//!
//! - The source is the truth until it has noted on its disk that the keyspace has moved. Whatever
//!   breaks off before, a crash included, leaves it as it was; a move is then begun anew.
//! - No acknowledged write is lost. Commits before the pause are in the log of changes, and the log
//!   is read to its end before the note; commits after the pause are refused, and have done
//!   nothing.
//! - What is in the target is what the source holds: every row is written as it lies in the source
//!   when it is written, again and again if it changes, and is then compared.
//!
//! # Rows that cannot come yet
//!
//! A row is copied as it is now, not as it was when the log noted it. Its unique value may still
//! belong to another row in the target, one whose change is further down the log. Such a row waits.
//! When the log is read to its end, the rows that wait can stand in no one's way but each other's,
//! as when two rows have exchanged their values: then all of them are taken out and put in anew.
//!
//! # Verifying
//!
//! Both stores are walked while the source is written, so a difference may be one that the log
//! already knows of. Rows that differ are noted, and compared once more in the pause, when nothing
//! changes: then any difference ends the move.

mod apply;
mod verify;

use super::copy::Side;
use super::walk::Walk;
use crate::clock::{Clock, Milliseconds, Random};
use crate::error::{Error, ErrorKind, Result};
use crate::schema::{CollectionSchema, Space};
use crate::store::{Hold, Key, Position};
use futures_util::FutureExt;
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

/// Rows read and written together.
const ROWS_TOGETHER: usize = 100;
/// Changed rows of the log that are read together.
const CHANGES_TOGETHER: usize = 500;
/// Changed rows that the pause may have to copy.
const LAG_ROWS_MAX: u64 = 200;
/// Times the log is read to its end before a target is too slow.
const ROUNDS_MAX: usize = 50;
/// How long writes may wait, in milliseconds: after that the move is given up, and they go on.
const PAUSE_MILLISECONDS_MAX: i64 = 10_000;

/// What a move is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It copies rows, so many so far.
    Copying(u64),
    /// It reads the log, so many changed rows so far.
    Following(u64),
    /// It compares rows, so many so far.
    Verifying(u64),
    /// Writes wait.
    Paused,
}

/// A move that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Rows copied.
    pub copied: u64,
    /// Changed rows that followed.
    pub followed: u64,
    /// Rows that were not compared, because they end soon and a store may let go of them.
    pub ending: u64,
    /// How long writes waited, in milliseconds.
    pub paused: Milliseconds,
}

/// A move under way.
pub struct Moving<'a> {
    from: Side<'a>,
    to: Side<'a>,
    clock: &'a dyn Clock,
    random: &'a dyn Random,
    /// Everything up to here is in the target, or waits.
    position: Position,
    /// Rows, by their keys in the source, that cannot come yet.
    waiting: BTreeSet<Key>,
    /// Rows that were not the same on both sides.
    suspects: BTreeSet<Key>,
    copied: u64,
    followed: u64,
    /// Rows that end too soon to be compared.
    ending: u64,
}

impl<'a> Moving<'a> {
    /// Begins to follow the source. A target that holds rows is refused, unless they are `known` to
    /// be what an interrupted move has left: they are then replaced and removed.
    pub async fn begin(
        from: Side<'a>,
        to: Side<'a>,
        (clock, random): (&'a dyn Clock, &'a dyn Random),
        known: bool,
    ) -> Result<Self> {
        if !known {
            check_empty(to, clock.now()).await?;
        }
        // One that has moved already, or cannot be held, says so before anything is done.
        from.store.hold(Hold::Open).await?;
        let position = from.store.follow().await?;
        let (waiting, suspects) = (BTreeSet::new(), BTreeSet::new());
        let (copied, followed, ending) = (0, 0, 0);
        Ok(Moving {
            from,
            to,
            clock,
            random,
            position,
            waiting,
            suspects,
            copied,
            followed,
            ending,
        })
    }

    /// Moves everything, telling how far it is; afterwards the source takes no more writes, and
    /// says that its keyspace is at `place`.
    pub async fn run(mut self, place: &str, told: &mut (dyn FnMut(Stage) + Send)) -> Result<Moved> {
        self.copy(told).await?;
        self.catch_up(told).await?;
        self.verify(told).await?;
        self.catch_up(told).await?;
        let begun = self.clock.now();
        let held = Held::pause(self.from).await?;
        told(Stage::Paused);
        others_first().await;
        self.settle(held.last, begun.saturating_add(PAUSE_MILLISECONDS_MAX)).await?;
        held.move_to(place).await?;
        let paused = self.clock.now().saturating_sub(begun);
        let Moving { copied, followed, ending, .. } = self;
        Ok(Moved { copied, followed, ending, paused })
    }

    async fn copy(&mut self, told: &mut (dyn FnMut(Stage) + Send)) -> Result<()> {
        let collections = self.from.schema.collections().to_vec();
        for collection in collections {
            let mut walk = Walk::over(collection.key.space);
            while let Some(page) = walk.next(self.from.store).await? {
                let now = self.clock.now();
                let live = page.into_iter().filter(|keyed| keyed.row.is_live(now));
                let keys: Vec<Key> = live.map(|keyed| keyed.key).collect();
                self.copied += keys.len() as u64;
                self.apply(&keys).await?;
                told(Stage::Copying(self.copied));
                others_first().await;
            }
        }
        Ok(())
    }

    /// Reads the log until little is left of it.
    async fn catch_up(&mut self, told: &mut (dyn FnMut(Stage) + Send)) -> Result<()> {
        for _ in 0..ROUNDS_MAX {
            let before = self.followed;
            let end = self.from.store.follow().await?;
            self.read_log(end, None, told).await?;
            let waiting: Vec<Key> = std::mem::take(&mut self.waiting).into_iter().collect();
            self.apply(&waiting).await?;
            if self.followed - before <= LAG_ROWS_MAX {
                return Ok(());
            }
        }
        let message = "the target is too slow for what is written meanwhile, so nothing has moved";
        Err(Error::new(ErrorKind::Busy, message))
    }

    /// Reads the log up to a commit.
    async fn read_log(
        &mut self,
        end: Position,
        until: Option<Milliseconds>,
        told: &mut (dyn FnMut(Stage) + Send),
    ) -> Result<()> {
        while self.position < end {
            self.check_time(until)?;
            let changes = self.from.store.changes(self.position, CHANGES_TOGETHER).await?;
            let mut keys = BTreeSet::new();
            for change in changes.changes {
                if matches!(self.from.schema.space(change.key.space())?, Space::Rows(_)) {
                    keys.insert(change.key);
                }
            }
            let keys: Vec<Key> = keys.into_iter().collect();
            self.apply(&keys).await?;
            self.followed += keys.len() as u64;
            self.position = changes.next;
            told(Stage::Following(self.followed));
            others_first().await;
        }
        Ok(())
    }

    fn check_time(&self, until: Option<Milliseconds>) -> Result<()> {
        match until {
            Some(until) if self.clock.now() > until => {
                let message = "the last changes took too long to copy, so nothing has moved";
                Err(Error::new(ErrorKind::Busy, message))
            }
            _ => Ok(()),
        }
    }

    /// Makes the target the same as the source, which nobody writes.
    async fn settle(&mut self, end: Position, until: Milliseconds) -> Result<()> {
        self.read_log(end, Some(until), &mut |_| {}).await?;
        let waiting: Vec<Key> = std::mem::take(&mut self.waiting).into_iter().collect();
        self.apply(&waiting).await?;
        self.check_time(Some(until))?;
        if !self.waiting.is_empty() {
            self.exchange().await?;
        }
        let suspects: Vec<Key> = std::mem::take(&mut self.suspects).into_iter().collect();
        self.apply(&suspects).await?;
        for keys in suspects.chunks(ROWS_TOGETHER) {
            self.check_time(Some(until))?;
            let differ = self.differing(keys).await?;
            if let Some(key) = differ.first() {
                let collection = self.collection(key)?;
                let message = "a row is not the same in the target, so nothing has moved";
                return Err(
                    Error::new(ErrorKind::Mismatch, message).with("collection", collection.name())
                );
            }
        }
        Ok(())
    }

    fn collection(&self, key: &Key) -> Result<Arc<CollectionSchema>> {
        match self.from.schema.space(key.space())? {
            Space::Rows(collection) => Ok(collection.clone()),
            _ => Err(Error::new(ErrorKind::Internal, "an entry is taken for a row")),
        }
    }

    fn key_in_target(&self, key: &Key) -> Result<Key> {
        let collection = self.collection(key)?;
        let target = self.to.schema.collection(collection.name())?;
        target.key.encode(&collection.key.decode(key)?)
    }
}

/// Lets other tasks of the thread have their turn: some stores never wait.
async fn others_first() {
    let mut is_over = false;
    poll_fn(|context| match std::mem::replace(&mut is_over, true) {
        true => Poll::Ready(()),
        false => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

async fn check_empty(to: Side<'_>, now: Milliseconds) -> Result<()> {
    for collection in to.schema.collections() {
        let mut walk = Walk::over(collection.key.space);
        while let Some(page) = walk.next(to.store).await? {
            if page.iter().any(|keyed| keyed.row.is_live(now)) {
                let message = "the target holds rows already: give an empty one, or say that they \
                               are what an interrupted move has left";
                return Err(
                    Error::new(ErrorKind::Conflict, message).with("collection", collection.name())
                );
            }
        }
    }
    Ok(())
}

/// A source that takes no writes; it takes them again if this is dropped.
struct Held<'a> {
    source: Side<'a>,
    /// The last commit before.
    last: Position,
    is_moved: bool,
}

impl<'a> Held<'a> {
    async fn pause(source: Side<'a>) -> Result<Self> {
        let mut held = Held { source, last: Position::START, is_moved: false };
        held.last = source.store.hold(Hold::Paused).await?;
        Ok(held)
    }

    async fn move_to(mut self, place: &str) -> Result<()> {
        self.source.store.hold(Hold::Moved(place.to_string())).await?;
        self.is_moved = true;
        Ok(())
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if !self.is_moved {
            // A store takes the order when it is asked; nobody need wait for its answer. One that
            // has noted the move after all stays as it is.
            let _ = self.source.store.hold(Hold::Open).now_or_never();
        }
    }
}
