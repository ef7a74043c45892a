//! Talking to a cluster: statements prepared once, answers as columns, and what an error means.
//!
//! ```text
//! text ─▶ prepared once ─▶ bound ─▶ a replica of its partition, LOCAL_QUORUM ─▶ columns
//! ```
//!
//! Reads and plain writes may be sent twice: a plain write has its own timestamp. A conditional one
//! is sent once, and whoever sent it finds out what became of it. The driver itself sends no write
//! again: it would tell of the last try only, and an earlier one may have been taken.

use super::value::Cell;
use data::{Error, ErrorKind, Result};
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::deserialize::row::ColumnIterator;
use scylla::errors::{DbError, ExecutionError, PrepareError, RequestAttemptError};
use scylla::policies::retry::FallthroughRetryPolicy;
use scylla::response::query_result::QueryResult;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::prepared::PreparedStatement;
use scylla::statement::{Consistency, SerialConsistency, Statement};
use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The longest that one request may take: a server gives up before.
const REQUEST_WITHIN: Duration = Duration::from_secs(12);

/// What an error says about the request.
#[derive(Debug)]
pub(super) enum Fault {
    /// It will not be taken, now or later.
    Refused(Error),
    /// It was not taken, and may be sent again.
    Unsent(Error),
    /// It may have been taken.
    Lost(Error),
}

impl Fault {
    /// The error it is.
    pub(super) fn into_error(self) -> Error {
        match self {
            Fault::Refused(error) | Fault::Unsent(error) | Fault::Lost(error) => error,
        }
    }
}

/// How a statement is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Way {
    /// It may be sent twice.
    Again,
    /// It may be sent twice, and whoever sends it is told each time what became of it.
    Stamped,
    /// It is judged, and sent once.
    Judged,
}

/// A statement with its values.
pub(super) type Bound = (Arc<PreparedStatement>, Vec<Cell>);

/// Statements by their text.
type Prepared = HashMap<(Arc<str>, Way), Arc<PreparedStatement>>;

/// A session with the statements it has prepared.
pub(super) struct Client {
    pub(super) session: Session,
    prepared: RwLock<Prepared>,
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Client")
    }
}

/// How all statements are sent unless they say something else.
pub(super) fn profile() -> ExecutionProfile {
    ExecutionProfile::builder()
        .consistency(Consistency::LocalQuorum)
        .serial_consistency(Some(SerialConsistency::LocalSerial))
        .request_timeout(Some(REQUEST_WITHIN))
        .build()
}

/// A batch without statements. What is not judged reaches several partitions: the server's log
/// sees to it that all of it arrives. What is judged is of one, and needs none.
fn batch(way: Way) -> Batch {
    let kind = if way == Way::Judged { BatchType::Unlogged } else { BatchType::Logged };
    let mut batch = Batch::new(kind);
    batch.set_is_idempotent(way != Way::Judged);
    batch.set_retry_policy(Some(Arc::new(FallthroughRetryPolicy)));
    batch
}

impl Client {
    pub(super) fn new(session: Session) -> Client {
        Client { session, prepared: RwLock::default() }
    }

    /// A statement, prepared once.
    pub(super) async fn prepare(
        &self,
        text: &str,
        way: Way,
    ) -> Result<Arc<PreparedStatement>, Fault> {
        let key = (Arc::from(text), way);
        let known = self.prepared.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        // Boxed, because hardly any call prepares: every read and write would carry the room.
        let prepared = Box::pin(self.session.prepare(text)).await;
        let mut statement = prepared.map_err(unprepared)?;
        statement.set_is_idempotent(way != Way::Judged);
        statement.set_use_cached_result_metadata(true);
        if way != Way::Again {
            statement.set_retry_policy(Some(Arc::new(FallthroughRetryPolicy)));
        }
        // Who writes knows the partition, so that one of its own nodes does the work.
        let is_token_aware = statement.is_token_aware();
        debug_assert!(way == Way::Again || is_token_aware, "sent to any node: {text}");
        let statement = Arc::new(statement);
        let mut all = self.prepared.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(key, statement.clone());
        Ok(statement)
    }

    /// Sends a statement, and waits no longer than until then.
    pub(super) async fn send(&self, bound: &Bound, until: Instant) -> Result<QueryResult, Fault> {
        let (statement, cells) = bound;
        within(until, Box::pin(self.session.execute_unpaged(statement, cells.as_slice()))).await
    }

    /// Sends statements that happen together. Judged ones are of one partition.
    pub(super) async fn send_together(
        &self,
        all: &[Bound],
        way: Way,
        until: Instant,
    ) -> Result<QueryResult, Fault> {
        if let [one] = all {
            return self.send(one, until).await;
        }
        let mut batch = batch(way);
        for (statement, _) in all {
            batch.append_statement(PreparedStatement::clone(statement));
        }
        let values: Vec<&[Cell]> = all.iter().map(|(_, cells)| cells.as_slice()).collect();
        within(until, Box::pin(self.session.batch(&batch, values))).await
    }

    /// Sends a statement without values that is not worth preparing.
    pub(super) async fn run(
        &self,
        statement: impl Into<Statement>,
        until: Instant,
    ) -> Result<QueryResult, Fault> {
        within(until, Box::pin(self.session.query_unpaged(statement, ()))).await
    }

    /// The rows that a statement answers, each by its columns.
    pub(super) async fn rows<T>(
        &self,
        bound: &Bound,
        until: Instant,
        each: impl FnMut(&[Option<&[u8]>]) -> Result<T>,
    ) -> Result<Vec<T>, Fault> {
        let answer = self.send(bound, until).await?;
        rows_of(answer, each).map_err(Fault::Refused)
    }
}

/// Waits for the driver, whose futures are large: each has a place of its own, so that it is not
/// moved and made room for with everything that waits for it.
async fn within<F: Future<Output = Result<QueryResult, ExecutionError>>>(
    until: Instant,
    sent: Pin<Box<F>>,
) -> Result<QueryResult, Fault> {
    // The driver gives up by itself before: a second timer would tell nothing new.
    if until.saturating_duration_since(Instant::now()) > REQUEST_WITHIN {
        return sent.await.map_err(fault);
    }
    match timeout_at(until, sent).await {
        Ok(answer) => answer.map_err(fault),
        Err(_) => Err(Fault::Lost(unavailable("Cassandra did not answer in time"))),
    }
}

/// What an answer's rows are, each by its columns.
pub(super) fn rows_of<T>(
    answer: QueryResult,
    mut each: impl FnMut(&[Option<&[u8]>]) -> Result<T>,
) -> Result<Vec<T>> {
    let mut all = Vec::new();
    each_row(answer, |columns| {
        all.push(each(columns)?);
        Ok(())
    })?;
    Ok(all)
}

/// Shows an answer's rows one after the other, each by its columns.
pub(super) fn each_row(
    answer: QueryResult,
    mut each: impl FnMut(&[Option<&[u8]>]) -> Result<()>,
) -> Result<()> {
    let wrong = |error: &dyn fmt::Display| {
        Error::new(ErrorKind::Internal, "an answer of Cassandra cannot be read")
            .with("reason", error)
    };
    let rows = answer.into_rows_result().map_err(|error| wrong(&error))?;
    let mut columns = Vec::with_capacity(16);
    for row in rows.rows::<ColumnIterator<'_, '_>>().map_err(|error| wrong(&error))? {
        columns.clear();
        for column in row.map_err(|error| wrong(&error))? {
            let column = column.map_err(|error| wrong(&error))?;
            columns.push(column.slice.map(|slice| slice.as_slice()));
        }
        each(&columns)?;
    }
    Ok(())
}

/// Whether a judged statement, or batch of them, was applied.
pub(super) fn is_applied(answer: QueryResult) -> Result<bool> {
    let applied = rows_of(answer, |columns| Ok(columns.first().copied().flatten() == Some(&[1])))?;
    Ok(applied.first().copied().unwrap_or(false))
}

fn unavailable(message: &'static str) -> Error {
    Error::new(ErrorKind::Unavailable, message)
}

fn unprepared(error: PrepareError) -> Fault {
    let message = error.to_string();
    match error {
        PrepareError::AllAttemptsFailed {
            first_attempt: RequestAttemptError::DbError(kind, told),
        } => database(&kind, told),
        _ => Fault::Unsent(unavailable("Cassandra cannot be reached").with("reason", message)),
    }
}

/// What an error of the driver says about the request.
fn fault(error: ExecutionError) -> Fault {
    let message = error.to_string();
    match error {
        ExecutionError::LastAttemptError(RequestAttemptError::DbError(kind, told)) => {
            database(&kind, told)
        }
        ExecutionError::LastAttemptError(RequestAttemptError::UnableToAllocStreamId)
        | ExecutionError::ConnectionPoolError(_)
        | ExecutionError::EmptyPlan => {
            Fault::Unsent(unavailable("Cassandra cannot be reached").with("reason", message))
        }
        ExecutionError::PrepareError(error) => unprepared(error),
        ExecutionError::BadQuery(_) => Fault::Refused(
            Error::new(ErrorKind::Internal, "a statement cannot be sent").with("reason", message),
        ),
        _ => Fault::Lost(unavailable("Cassandra did not answer").with("reason", message)),
    }
}

/// What an error of the server says.
fn database(kind: &DbError, told: String) -> Fault {
    let refused = |of: ErrorKind, message: &'static str| {
        Fault::Refused(Error::new(of, message).with("reason", &told))
    };
    match kind {
        DbError::Unavailable { .. } | DbError::Overloaded | DbError::IsBootstrapping => {
            Fault::Unsent(unavailable("too few nodes of Cassandra are there").with("reason", &told))
        }
        DbError::RateLimitReached { .. } => Fault::Unsent(
            unavailable("Cassandra takes no more for the moment").with("reason", &told),
        ),
        DbError::Unauthorized | DbError::AuthenticationError => refused(
            ErrorKind::Mismatch,
            "the user may not do this in Cassandra: grant it MODIFY and SELECT on the keyspace, \
             and CREATE and ALTER to whoever opens it first",
        ),
        // Another program has just made it, and this node has not heard of it.
        DbError::Invalid if told.contains("does not exist") => {
            Fault::Unsent(unavailable("a table is not there").with("reason", &told))
        }
        DbError::Invalid if told.contains("Batch too large") => {
            refused(ErrorKind::TooLarge, "a batch is too large for this cluster")
        }
        DbError::Invalid | DbError::SyntaxError | DbError::ConfigError => {
            refused(ErrorKind::Mismatch, "Cassandra refuses a statement")
        }
        _ => Fault::Lost(unavailable("Cassandra could not finish in time").with("reason", &told)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_asks_a_quorum_at_a_replica_of_its_partition() {
        let profile = profile();
        assert_eq!(profile.get_consistency(), Consistency::LocalQuorum);
        assert_eq!(profile.get_serial_consistency(), Some(SerialConsistency::LocalSerial));
        let policy = format!("{:?}", profile.get_load_balancing_policy());
        assert!(policy.contains("is_token_aware: true"), "{policy}");
    }

    #[test]
    fn what_is_not_judged_is_logged_and_may_be_sent_twice() {
        let (plain, judged) = (batch(Way::Stamped), batch(Way::Judged));
        assert!(matches!(plain.get_type(), BatchType::Logged));
        assert!(matches!(judged.get_type(), BatchType::Unlogged));
        assert!(plain.get_is_idempotent() && !judged.get_is_idempotent());
        // The default policy sends again what may have been taken, and tells of the last try only.
        for batch in [&plain, &judged] {
            let policy = format!("{:?}", batch.get_retry_policy().unwrap());
            assert!(policy.contains("Fallthrough"), "{policy}");
        }
        // Nothing says otherwise than the profile.
        let consistencies = [&plain, &judged].map(|batch| batch.get_consistency());
        assert_eq!(consistencies, [None, None]);
    }
}
