//! A keyspace that moves to another store while it is used.
//!
//! ```text
//! calls ─▶ first store ─────────────── pause: writes wait ┐┌─▶ second store
//! move ─▶ copy, follow, verify ─▶ …                       └┘  noted in the first: moved
//! ```
//!
//! The embedded engine is open in one process, so the move runs in the process of the application,
//! beside its calls. `crates/data/src/maintain/moving.rs` says why nothing is lost.

use crate::handle::Keyway;
use crate::url::StoreUrl;
use data::maintain::{Moved, Moving, Side, Stage};
use data::request::Runtime;
use data::{Error, ErrorKind, Result};
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;

/// Whether a keyspace moves at the moment.
#[derive(Debug)]
pub(crate) struct Moves {
    /// What every call looks at.
    is_under_way: AtomicBool,
    /// What calls wait for.
    told: watch::Sender<bool>,
}

impl Default for Moves {
    fn default() -> Self {
        Moves { is_under_way: AtomicBool::new(false), told: watch::Sender::new(false) }
    }
}

impl Moves {
    pub(crate) fn is_under_way(&self) -> bool {
        self.is_under_way.load(Ordering::Acquire)
    }

    /// Waits until nothing moves.
    pub(crate) async fn wait(&self) {
        // The sender is as old as whoever waits for it.
        let _ = self.told.subscribe().wait_for(|is_under_way| !is_under_way).await;
    }

    fn begin(&self) -> Result<UnderWay<'_>> {
        if self.is_under_way.swap(true, Ordering::AcqRel) {
            return Err(Error::new(ErrorKind::Busy, "the keyspace is being moved already"));
        }
        self.told.send_replace(true);
        Ok(UnderWay(self))
    }
}

/// A move; it is over when this is dropped, however it ended.
struct UnderWay<'m>(&'m Moves);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.is_under_way.store(false, Ordering::Release);
        self.0.told.send_replace(false);
    }
}

/// A move of a keyspace to another store, made by awaiting it.
///
/// ```no_run
/// # async fn example(chat: keyway::Keyway) -> keyway::Result<()> {
/// let moved = chat.move_to("redis://cache:6379/0").await?;
/// println!("{} rows moved; writes waited {} ms", moved.copied, moved.paused);
/// # Ok(())
/// # }
/// ```
///
/// Calls go on meanwhile. At the end there is a pause in which writes wait; then all clones of the
/// handle are on the other store, and the first one takes no more writes: who opens it again and
/// writes is told [`ErrorKind::Moved`], with the place. If the move fails or is dropped, everything
/// is as it was.
///
/// It can be made from the embedded engine and from memory. Cursors and versions that were given
/// out before the switch are not known afterwards. Ids of calls are, for as long as this process
/// has the first store open.
#[must_use = "nothing moves before it is awaited"]
pub struct Move {
    keyway: Keyway,
    url: String,
    again: bool,
    told: Box<dyn FnMut(Stage) + Send>,
}

impl Move {
    pub(crate) fn new(keyway: &Keyway, url: &str) -> Self {
        let (keyway, url) = (keyway.clone(), url.to_string());
        Move { keyway, url, again: false, told: Box::new(|_| {}) }
    }

    /// What the target holds already is what an interrupted move has left: it is replaced, and
    /// removed where the source has it no more. Otherwise a target with rows is refused.
    pub fn again(mut self, again: bool) -> Self {
        self.again = again;
        self
    }

    /// Tells how far the move is.
    pub fn on_stage(mut self, told: impl FnMut(Stage) + Send + 'static) -> Self {
        self.told = Box::new(told);
        self
    }

    async fn run(mut self) -> Result<Moved> {
        let inner = &self.keyway.0;
        if inner.moved.get().is_some() {
            let message = "the keyspace has moved already: open it where it is, and move it then";
            let to = self.keyway.store().address;
            return Err(Error::new(ErrorKind::Unsupported, message).with("to", to));
        }
        let _under_way = inner.moves.begin()?;
        let url: StoreUrl = self.url.parse()?;
        let (target, _) = inner.opening.on(&url).await?;
        let moved = move_rows(&inner.first, &target, self.again, &mut self.told).await;
        match moved {
            // Whoever waits is woken when this is there.
            Ok(moved) => {
                let _ = inner.moved.set(target);
                // What is committed from now on is told by the watchers there.
                inner.first.shared().watchers().wake_all();
                Ok(moved)
            }
            Err(error) => {
                // The reason is of more use than what happens to the target now.
                let _ = target.store().close().await;
                Err(error)
            }
        }
    }
}

async fn move_rows(
    first: &Runtime,
    target: &Runtime,
    again: bool,
    told: &mut (dyn FnMut(Stage) + Send),
) -> Result<Moved> {
    let (from, to) = (first.store(), target.store());
    let (here, there) = (from.identity().await?, to.identity().await?);
    if here.is_some() && here == there {
        return Err(Error::new(ErrorKind::Argument, "a store cannot be moved onto itself"));
    }
    let options = target.options();
    let chance = (options.clock.as_ref(), options.random.as_ref());
    let moving = Moving::begin(side(first), side(target), chance, again).await?;
    moving.run(&to.describe().address, told).await
}

fn side(runtime: &Runtime) -> Side<'_> {
    Side { store: runtime.store().as_ref(), schema: runtime.schema() }
}

impl IntoFuture for Move {
    type Output = Result<Moved>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<Moved>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl fmt::Debug for Move {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL may hold a password.
        formatter.debug_struct("Move").field("keyway", &self.keyway).finish_non_exhaustive()
    }
}
