//! Connections: a few that are kept, each with its prepared statements, and requests sent together.
//!
//! ```text
//! lease ─▶ connection ─▶ [BEGIN │ statement │ statement │ COMMIT] ─one write─▶ server
//!   └ given back when it is known to be clean, closed otherwise
//! one row ─▶ shared.rs
//! ```
//!
//! Whoever gives up in the middle leaves a connection that is closed, so that no lock outlives its
//! caller for long: the server ends what it does for a client that is gone.

use super::error::{self, Fault};
use super::shared::{self, Shared};
use super::value::Native;
use data::{Error, ErrorKind, Result};
use futures_util::future::join_all;
use futures_util::stream::StreamExt;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::{Client, Config, NoTls, Row, Statement};

/// How long connecting may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How long an answer may take: a little more than the server gives itself.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// What every session is set to, for bounded work and for plans that never change with statistics:
/// every statement goes by a key.
const SESSION: &str = "\
    SET lock_timeout = '5s'; SET statement_timeout = '15s'; \
    SET idle_in_transaction_session_timeout = '15s'; \
    SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
    SET enable_bitmapscan = off; SET enable_sort = off; SET enable_hashjoin = off; \
    SET enable_mergejoin = off; SET max_parallel_workers_per_gather = 0; SET jit = off; \
    SET TIME ZONE 'UTC'";

/// The connections of a store.
pub(super) struct Pool {
    config: Config,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
    /// Those that nobody has for himself.
    shared: Shared,
    /// What a session is told beside [`SESSION`], once it is known.
    settings: OnceLock<String>,
}

/// A connection that is kept for whoever needs one.
struct Connection {
    session: Session,
    statements: Statements,
}

/// One connection.
pub(super) struct Session {
    pub(super) client: Client,
    driver: JoinHandle<()>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Statements that are prepared on a connection, by where their text is in memory: it stays there
/// as long as it is kept here.
#[derive(Default)]
pub(super) struct Statements(HashMap<usize, (Arc<str>, Statement)>);

impl Statements {
    pub(super) fn get(&self, text: &Arc<str>) -> Option<Statement> {
        self.0.get(&text.as_ptr().addr()).map(|(_, statement)| statement.clone())
    }

    pub(super) fn keep(&mut self, text: &Arc<str>, statement: &Statement) {
        self.0.insert(text.as_ptr().addr(), (text.clone(), statement.clone()));
    }
}

impl Pool {
    pub(super) fn new(config: Config, connections: usize) -> Arc<Pool> {
        let of_all = shared::of(connections);
        Arc::new(Pool {
            config,
            permits: Arc::new(Semaphore::new(connections - of_all)),
            idle: Mutex::default(),
            shared: Shared::new(of_all),
            settings: OnceLock::new(),
        })
    }

    /// What sessions are told from now on; connections made before are not used again.
    pub(super) fn settle(&self, settings: String) {
        if self.settings.set(settings).is_ok() {
            self.idle().clear();
            self.shared.clear();
        }
    }

    /// The row that a statement answers, if there is one, read on a connection that others read on
    /// too. Nothing where there is no such connection.
    pub(super) async fn shared_row(
        &self,
        statement: (&Arc<str>, &[Native<'_>]),
        until: Instant,
    ) -> Option<Result<Option<Row>, Fault>> {
        self.shared.row(self, statement, until).await
    }

    /// Takes a connection: one that is kept, or a new one.
    pub(super) async fn lease(self: &Arc<Self>, until: Instant) -> Result<Lease> {
        let permit = timeout_at(until, self.permits.clone().acquire_owned());
        let permit = match permit.await {
            Ok(Ok(permit)) => permit,
            Ok(Err(_)) => return Err(error::closed()),
            Err(_) => {
                return Err(Error::new(
                    ErrorKind::Unavailable,
                    "every connection to PostgreSQL is busy; open the store with more of them",
                ));
            }
        };
        let kept = loop {
            let next = self.idle().pop();
            match next {
                Some(connection) if connection.session.client.is_closed() => {}
                other => break other,
            }
        };
        let connection = match kept {
            Some(connection) => connection,
            None => {
                let session = self.connect(until).await?;
                Connection { session, statements: Statements::default() }
            }
        };
        Ok(Lease { connection: Some(connection), until, pool: self.clone(), _permit: permit })
    }

    pub(super) async fn connect(&self, until: Instant) -> Result<Session> {
        if self.permits.is_closed() {
            return Err(error::closed());
        }
        let until = until.min(Instant::now() + CONNECT_WITHIN);
        let connecting = async {
            let connected = self.config.connect(NoTls).await;
            let (client, connection) =
                connected.map_err(|error| error::connecting(error, &self.config))?;
            let driver = tokio::spawn(async move {
                // What went wrong is told to whoever waits for an answer.
                let _ = connection.await;
            });
            let session = Session { client, driver };
            let settings = match self.settings.get() {
                Some(settings) => format!("{SESSION}; {settings}"),
                None => SESSION.to_string(),
            };
            let set = session.client.batch_execute(&settings).await;
            set.map_err(|error| Fault::from(error).into_error())?;
            Ok(session)
        };
        timeout_at(until, connecting).await.unwrap_or_else(|_| Err(error::late()))
    }

    /// Closes every connection and takes no more.
    pub(super) fn close(&self) {
        self.permits.close();
        self.idle().clear();
        self.shared.clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection in somebody's hands.
pub(super) struct Lease {
    connection: Option<Connection>,
    /// When whoever holds it must be answered.
    until: Instant,
    pool: Arc<Pool>,
    _permit: OwnedSemaphorePermit,
}

/// Something sent to the server.
pub(super) enum Request<'r> {
    /// A statement without values.
    Plain(&'static str),
    /// A prepared statement and its values.
    Prepared(Statement, Vec<Native<'r>>),
}

impl Lease {
    /// Gives the connection back: nothing is under way on it.
    pub(super) fn give_back(mut self) {
        if let Some(connection) = self.connection.take()
            && !connection.session.client.is_closed()
            && !self.pool.permits.is_closed()
        {
            self.pool.idle().push(connection);
        }
    }

    fn connection(&mut self) -> Result<&mut Connection, Fault> {
        self.connection.as_mut().ok_or_else(|| Fault::Lost(error::lost()))
    }

    /// The driver's own handle, for what is done once.
    pub(super) fn client(&self) -> Result<&Client> {
        let connection = self.connection.as_ref();
        connection.map(|connection| &connection.session.client).ok_or_else(error::lost)
    }

    /// A statement, prepared on this connection the first time.
    pub(super) async fn statement(&mut self, text: &Arc<str>) -> Result<Statement, Fault> {
        let until = self.until.min(Instant::now() + ANSWER_WITHIN);
        let connection = self.connection()?;
        if let Some(statement) = connection.statements.get(text) {
            return Ok(statement);
        }
        let prepared = timeout_at(until, connection.session.client.prepare(text)).await;
        let statement = prepared.map_err(|_| Fault::Lost(error::late()))??;
        connection.statements.keep(text, &statement);
        Ok(statement)
    }

    /// Sends everything at once and waits for every answer. After the first failure inside a
    /// transaction the server does nothing of the rest, so the first is the one that counts.
    pub(super) async fn send(
        &mut self,
        requests: Vec<Request<'_>>,
        until: Instant,
    ) -> Result<Vec<Vec<Row>>, Fault> {
        let until = until.min(Instant::now() + ANSWER_WITHIN);
        let client = &self.connection()?.session.client;
        // All are sent before any is waited for.
        let answers = join_all(requests.into_iter().map(|request| answer(client, request)));
        let Ok(answers) = timeout_at(until, answers).await else {
            return Err(Fault::Lost(error::late()));
        };
        let mut rows = Vec::with_capacity(answers.len());
        let mut failed: Option<Fault> = None;
        for answer in answers {
            match answer {
                Ok(found) => rows.push(found),
                Err(error) => {
                    let fault = Fault::from(error);
                    // A connection that is gone says so whatever failed before.
                    if failed.is_none() || matches!(fault, Fault::Lost(_)) {
                        failed = Some(fault);
                    }
                }
            }
        }
        match failed {
            None => Ok(rows),
            Some(fault) => Err(fault),
        }
    }

    /// The rows of one statement, each handed to `take` until it has had enough; says whether all
    /// were read. A connection whose rows are not all read is not given back.
    pub(super) async fn read(
        &mut self,
        (text, values): (&Arc<str>, &[Native<'_>]),
        until: Instant,
        mut take: impl FnMut(Row) -> Result<bool>,
    ) -> Result<bool, Fault> {
        let statement = self.statement(text).await?;
        let client = &self.connection()?.session.client;
        // One clock for all rows: a page has up to a thousand.
        let read = async {
            let mut rows = pin!(client.query_raw(&statement, values).await?);
            while let Some(row) = rows.next().await {
                if !take(row?).map_err(Fault::Refused)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        timeout_at(until, read).await.unwrap_or_else(|_| Err(Fault::Lost(error::late())))
    }
}

async fn answer(client: &Client, request: Request<'_>) -> Result<Vec<Row>, tokio_postgres::Error> {
    match request {
        Request::Plain(text) => client.batch_execute(text).await.map(|()| Vec::new()),
        Request::Prepared(statement, values) => {
            let mut stream = pin!(client.query_raw(&statement, values).await?);
            let mut rows = Vec::new();
            while let Some(row) = stream.next().await {
                rows.push(row?);
            }
            Ok(rows)
        }
    }
}
