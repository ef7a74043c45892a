//! One connection that all callers share, made anew when it broke.
//!
//! ```text
//! callers ─▶ requests, one behind the other, none waiting for another's reply ─▶ server
//! ```
//!
//! It knows neither names nor scripts. Every request has a time within which it must be answered;
//! one that was not leaves nothing known about it, and the connection is not used again.

use super::error::{Fault, fault};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, Pipeline, RedisError, RedisResult, Value};
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How long making a connection may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// A connection to one server.
pub(super) struct Connection {
    client: Client,
    current: Mutex<Current>,
    /// Held by whoever makes a connection: the others wait for that one.
    making: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Current {
    open: Option<MultiplexedConnection>,
    /// Counts connections, so that a late failure of an old one does not end a new one.
    number: u64,
    is_closed: bool,
}

impl Connection {
    /// Connections of a client; none is made yet.
    pub(super) fn new(client: Client) -> Connection {
        Connection { client, current: Mutex::default(), making: tokio::sync::Mutex::default() }
    }

    /// One command.
    pub(super) async fn ask(&self, command: &Cmd, within: Duration) -> RedisResult<Value> {
        let until = Instant::now() + within;
        let (mut open, number) = self.open(until).await?;
        let answer = timeout_at(until, open.send_packed_command(command)).await;
        match self.judged(number, answer.unwrap_or_else(|_| Err(late())))? {
            Value::ServerError(error) => Err(RedisError::from(error)),
            answer => Ok(answer),
        }
    }

    /// Several commands in one message; all of them at one instant if the pipeline says so. An
    /// error of one is in its place among the answers.
    pub(super) async fn ask_all(
        &self,
        commands: &Pipeline,
        within: Duration,
    ) -> RedisResult<Vec<Value>> {
        let until = Instant::now() + within;
        let (mut open, number) = self.open(until).await?;
        let (skipped, expected) = match commands.is_transaction() {
            true => (commands.len() + 1, 1),
            false => (0, commands.len()),
        };
        let asked = open.send_packed_commands(commands, skipped, expected);
        let answer = timeout_at(until, asked).await;
        let mut answers = self.judged(number, answer.unwrap_or_else(|_| Err(late())))?;
        if !commands.is_transaction() {
            return Ok(answers);
        }
        match answers.pop() {
            Some(Value::Array(answers)) => Ok(answers),
            Some(Value::ServerError(error)) => Err(RedisError::from(error)),
            _ => Err(RedisError::from((redis::ErrorKind::UnexpectedReturnType, "no transaction"))),
        }
    }

    /// Makes no more connections, and ends the one there is.
    pub(super) fn close(&self) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Current { open: None, number: current.number + 1, is_closed: true };
    }

    /// The connection there is, or a new one in time.
    async fn open(&self, until: Instant) -> RedisResult<(MultiplexedConnection, u64)> {
        if let Some(known) = self.known()? {
            return Ok(known);
        }
        timeout_at(until, self.made()).await.unwrap_or_else(|_| Err(unmade()))
    }

    /// A new connection, or the one that somebody else makes meanwhile.
    async fn made(&self) -> RedisResult<(MultiplexedConnection, u64)> {
        let _making = self.making.lock().await;
        if let Some(known) = self.known()? {
            return Ok(known);
        }
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_WITHIN))
            .set_response_timeout(None)
            .set_pipeline_buffer_size(1_024);
        let open = self.client.get_multiplexed_async_connection_with_config(&config).await?;
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.is_closed {
            return Err(closed());
        }
        current.number += 1;
        current.open = Some(open.clone());
        Ok((open, current.number))
    }

    fn known(&self) -> RedisResult<Option<(MultiplexedConnection, u64)>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.is_closed {
            return Err(closed());
        }
        Ok(current.open.clone().map(|open| (open, current.number)))
    }

    /// An answer; after one that never came the connection is let go.
    fn judged<T>(&self, number: u64, answer: RedisResult<T>) -> RedisResult<T> {
        if answer.as_ref().is_err_and(|error| fault(error) == Fault::Lost) {
            let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            if current.number == number {
                current.open = None;
            }
        }
        answer
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The client would show its password.
        formatter.debug_struct("Connection").finish_non_exhaustive()
    }
}

fn late() -> RedisError {
    RedisError::from(io::Error::from(io::ErrorKind::TimedOut))
}

/// Nothing was sent: that counts as a refused connection.
fn unmade() -> RedisError {
    let message = "the server took no connection in time";
    RedisError::from(io::Error::new(io::ErrorKind::ConnectionRefused, message))
}

fn closed() -> RedisError {
    RedisError::from(io::Error::new(io::ErrorKind::NotConnected, "the store is closed"))
}
