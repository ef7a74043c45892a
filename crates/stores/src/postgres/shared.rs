//! Connections on which rows of many callers are read, a question behind the other.
//!
//! ```text
//! caller ─┐                                      ┌─▶ caller
//! caller ─┼─▶ least busy connection ─▶ server ─▶─┼─▶ caller
//! caller ─┘      several in one packet           └─▶ caller
//! ```
//!
//! Nothing but single statements that read is sent here: they leave nothing behind, so that one may
//! be given up, or fail, without the others noticing. An answer of some packets waits in the
//! connection until its caller looks at it, and those behind it wait with it. Hence rows that are
//! larger are read on a connection of one's own.

use super::connection::{Pool, Session, Statements};
use super::error::{self, Fault};
use super::value::Native;
use data::Result;
use futures_util::stream::StreamExt;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::{Instant, timeout_at};
use tokio_postgres::{Row, Statement};

/// Of so many connections one is shared, and this many at most.
const ONE_OF: usize = 5;
const SHARED_MAX: usize = 8;

/// Bytes of a row that may be read on a shared connection: its answer is one packet or two, which
/// the driver takes from the connection whether or not its caller looks.
pub(super) const SMALL: usize = 4 << 10;

/// How many of so many connections are shared.
pub(super) fn of(connections: usize) -> usize {
    (connections / ONE_OF).min(SHARED_MAX)
}

/// The connections that are shared.
pub(super) struct Shared(Vec<Place>);

/// Where one of them is, once it was needed.
#[derive(Default)]
struct Place {
    open: Mutex<Option<Arc<Open>>>,
    /// Held while it is made.
    opening: tokio::sync::Mutex<()>,
    under_way: AtomicUsize,
}

struct Open {
    session: Session,
    statements: Mutex<Statements>,
}

/// A question that is under way.
struct UnderWay<'p>(&'p AtomicUsize);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    pub(super) fn new(connections: usize) -> Shared {
        Shared((0..connections).map(|_| Place::default()).collect())
    }

    /// Lets go of every connection.
    pub(super) fn clear(&self) {
        self.0.iter().for_each(|place| drop(place.open().take()));
    }

    /// The row that a statement answers, if there is one. Nothing where nothing is shared.
    pub(super) async fn row(
        &self,
        pool: &Pool,
        statement: (&Arc<str>, &[Native<'_>]),
        until: Instant,
    ) -> Option<Result<Option<Row>, Fault>> {
        let place = self.0.iter().min_by_key(|place| place.under_way.load(Ordering::Relaxed))?;
        place.under_way.fetch_add(1, Ordering::Relaxed);
        let _under_way = UnderWay(&place.under_way);
        let open = match place.get(pool, until).await {
            Ok(open) => open,
            Err(error) => return Some(Err(Fault::Refused(error))),
        };
        let read = timeout_at(until, open.row(statement)).await;
        let row = read.unwrap_or_else(|_| Err(Fault::Lost(error::late())));
        if let Err(Fault::Lost(_)) = row {
            place.leave(&open);
        }
        Some(row)
    }
}

impl Place {
    /// The connection, which is made if there is none.
    async fn get(&self, pool: &Pool, until: Instant) -> Result<Arc<Open>> {
        if let Some(open) = self.kept() {
            return Ok(open);
        }
        let Ok(_opening) = timeout_at(until, self.opening.lock()).await else {
            return Err(error::late());
        };
        if let Some(open) = self.kept() {
            return Ok(open);
        }
        let session = pool.connect(until).await?;
        let open = Arc::new(Open { session, statements: Mutex::default() });
        *self.open() = Some(open.clone());
        Ok(open)
    }

    fn kept(&self) -> Option<Arc<Open>> {
        self.open().as_ref().filter(|open| !open.session.client.is_closed()).cloned()
    }

    /// Nobody else is to ask on this connection.
    fn leave(&self, left: &Arc<Open>) {
        let mut open = self.open();
        if open.as_ref().is_some_and(|open| Arc::ptr_eq(open, left)) {
            *open = None;
        }
    }

    fn open(&self) -> MutexGuard<'_, Option<Arc<Open>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    async fn row(&self, (text, values): (&Arc<str>, &[Native<'_>])) -> Result<Option<Row>, Fault> {
        let statement = self.statement(text).await?;
        let mut rows = pin!(self.session.client.query_raw(&statement, values).await?);
        let mut found = None;
        // The end of the answer is waited for: an error may still come.
        while let Some(row) = rows.next().await.transpose()? {
            found = Some(row);
        }
        Ok(found)
    }

    /// A statement, prepared on this connection the first time. Several callers may do so at once;
    /// one of theirs is kept.
    async fn statement(&self, text: &Arc<str>) -> Result<Statement, Fault> {
        if let Some(statement) = self.statements().get(text) {
            return Ok(statement);
        }
        let statement = self.session.client.prepare(text).await?;
        self.statements().keep(text, &statement);
        Ok(statement)
    }

    fn statements(&self) -> MutexGuard<'_, Statements> {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
