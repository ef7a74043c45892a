//! One connection that all callers share, made anew when it broke.
//!
//! ```text
//! callers ─▶ requests, one behind the other, none waiting for another's reply ─▶ server
//! ```
//!
//! A cluster has one of these for each node. It knows neither names nor scripts. Every request has a time within which it must be answered;
//! one that was not leaves nothing known about it, and the connection is not used again.

use super::Options;
use super::protocol::{Part, Reader};
use super::wire::Wire;
use bytes::Bytes;
use redis::{Cmd, ErrorKind, RedisError, RedisResult, Value};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

/// How long making a connection may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// Lets the next command pass at a node that is about to become the master of its slot.
const ASKING: &[u8] = b"*1\r\n$6\r\nASKING\r\n";

/// A connection to one server.
pub(super) struct Connection {
    server: Options,
    current: Mutex<Current>,
    /// Held by whoever makes a connection: the others wait for that one.
    making: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Current {
    open: Option<Arc<Wire>>,
    is_closed: bool,
}

impl Connection {
    /// Connections to a server; none is made yet.
    pub(super) fn new(server: Options) -> Connection {
        Connection { server, current: Mutex::default(), making: tokio::sync::Mutex::default() }
    }

    /// One command.
    pub(super) async fn ask(&self, command: &Cmd, within: Duration) -> RedisResult<Value> {
        let until = Instant::now() + within;
        value(&self.send((&command.get_packed_command(), 1), until).await?)
    }

    /// Commands and how many replies they have: the reply of one, or all that is in the reply of a
    /// transaction. There an error of one command is in its place.
    pub(super) async fn send(
        &self,
        (bytes, replies): (&[u8], usize),
        until: Instant,
    ) -> RedisResult<Bytes> {
        let open = self.open(until).await?;
        match open.ask(bytes, replies, until).await {
            Ok(reply) => content(reply, replies),
            Err(error) => {
                self.let_go(&open);
                Err(lost(error))
            }
        }
    }

    /// The same at a node that is about to become the master of the slot: it would send whoever
    /// does not say so away.
    pub(super) async fn send_asking(
        &self,
        (bytes, replies): (&[u8], usize),
        until: Instant,
    ) -> RedisResult<Bytes> {
        let open = self.open(until).await?;
        match open.ask(&[ASKING, bytes].concat(), replies + 1, until).await {
            Ok(reply) => {
                let mut reader = Reader::new(&reply);
                match reader.part() {
                    Some(Part::Text(_)) => content(reply.slice_ref(reader.rest()), replies),
                    _ => Err(refused(&reply)),
                }
            }
            Err(error) => {
                self.let_go(&open);
                Err(lost(error))
            }
        }
    }

    /// The host and port, as people write them.
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.server.host, self.server.port)
    }

    /// Makes no more connections, and ends the one there is.
    pub(super) fn close(&self) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Current { open: None, is_closed: true };
    }

    /// Does not use a connection again, unless there is another by now.
    fn let_go(&self, broken: &Arc<Wire>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.open.as_ref().is_some_and(|open| Arc::ptr_eq(open, broken)) {
            current.open = None;
        }
    }

    /// The connection there is, or a new one in time.
    async fn open(&self, until: Instant) -> RedisResult<Arc<Wire>> {
        if let Some(known) = self.known()? {
            return Ok(known);
        }
        timeout_at(until, self.made()).await.unwrap_or_else(|_| Err(unmade()))
    }

    /// A new connection, or the one that somebody else makes meanwhile.
    async fn made(&self) -> RedisResult<Arc<Wire>> {
        let _making = self.making.lock().await;
        if let Some(known) = self.known()? {
            return Ok(known);
        }
        let until = Instant::now() + CONNECT_WITHIN;
        let open = timeout_at(until, connected(&self.server, until)).await;
        let open = Arc::new(open.unwrap_or_else(|_| Err(unmade()))?);
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.is_closed {
            return Err(closed());
        }
        current.open = Some(open.clone());
        Ok(open)
    }

    fn known(&self) -> RedisResult<Option<Arc<Wire>>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.is_closed {
            return Err(closed());
        }
        Ok(current.open.clone())
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Connection").field("to", &self.place()).finish_non_exhaustive()
    }
}

/// What a reply answers, or the error that it is.
fn content(reply: Bytes, replies: usize) -> RedisResult<Bytes> {
    let mut reader = Reader::new(&reply);
    // Before the reply of a transaction each of its commands is said to be queued, or refused.
    for _ in 1..replies {
        if let Some(Part::Error(_)) = reader.part() {
            return Err(refused(&reply));
        }
    }
    let whole = reader.rest();
    match (reader.part(), replies) {
        (Some(Part::Error(_)), _) => Err(refused(whole)),
        (Some(_), 1) => Ok(reply),
        (Some(Part::Many(_)), _) => Ok(reply.slice_ref(reader.rest())),
        _ => Err((ErrorKind::UnexpectedReturnType, "no transaction").into()),
    }
}

/// The first error among replies.
#[cold]
fn refused(replies: &[u8]) -> RedisError {
    let mut reader = Reader::new(replies);
    loop {
        let reply = reader.rest();
        match (reader.part(), redis::parse_redis_value(reply)) {
            (Some(Part::Error(_)), Ok(Value::ServerError(error))) => return error.into(),
            (Some(_), Ok(_)) => {}
            (_, Err(error)) => return error,
            (None, _) => return (ErrorKind::UnexpectedReturnType, "no error").into(),
        }
    }
}

/// The value of a reply.
pub(super) fn value(reply: &[u8]) -> RedisResult<Value> {
    match redis::parse_redis_value(reply)? {
        Value::ServerError(error) => Err(RedisError::from(error)),
        answer => Ok(answer),
    }
}

/// A connection to a server that knows who is there and which database is meant.
async fn connected(server: &Options, until: Instant) -> RedisResult<Wire> {
    let stream = TcpStream::connect((server.host.as_str(), server.port)).await;
    let stream = stream.map_err(unsent)?;
    // Small requests go at once: they wait for nothing to be sent with them.
    stream.set_nodelay(true).map_err(unsent)?;
    let wire = Wire::new(stream);
    if let Some(password) = &server.password {
        let mut command = redis::cmd("AUTH");
        server.user.iter().for_each(|user| _ = command.arg(user));
        told(&wire, command.arg(password), until).await.map_err(|error| match error.kind() {
            ErrorKind::Io => error,
            _ => (ErrorKind::AuthenticationFailed, "the password was refused").into(),
        })?;
    }
    if server.database != 0 {
        told(&wire, redis::cmd("SELECT").arg(server.database), until).await?;
    }
    Ok(wire)
}

/// Says something to a server before anything is asked.
async fn told(wire: &Wire, command: &Cmd, until: Instant) -> RedisResult<Value> {
    let reply = wire.ask(&command.get_packed_command(), 1, until).await.map_err(unsent)?;
    value(&reply)
}

/// An error before anything was sent: that counts as a refused connection.
fn unsent(error: io::Error) -> RedisError {
    RedisError::from(io::Error::new(io::ErrorKind::ConnectionRefused, error))
}

fn unmade() -> RedisError {
    unsent(io::Error::other("the server took no connection in time"))
}

fn lost(error: io::Error) -> RedisError {
    match error.kind() {
        io::ErrorKind::NotConnected => unsent(error),
        _ => RedisError::from(error),
    }
}

fn closed() -> RedisError {
    RedisError::from(io::Error::new(io::ErrorKind::NotConnected, "the store is closed"))
}
