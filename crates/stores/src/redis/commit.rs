//! Commits: one script, sent until its outcome is known or the batch's time is up.
//!
//! ```text
//! send ─┬─ answered ─▶ committed │ conflict │ an error that says nothing was written
//!       │              a conflict of what was sent before, unanswered, on a cluster: indeterminate
//!       ├─ not now, or the connection broke ─▶ wait, connect, send the same again
//!       └─ time is up ─▶ was it ever sent? ─▶ indeterminate │ unavailable
//! ```
//!
//! The script remembers the batch by its id, so sending it again never does it twice.

use super::call::Call;
use super::connection::{Connection, value};
use super::error::{Fault, failed, fault};
use super::layout::Layout;
use super::outcome::outcome;
use super::script::{Arguments, Script};
use super::{RedisStore, Within};
use bytes::Bytes;
use data::store::{Batch, Outcome};
use data::{Error, Result};
use redis::{Cmd, RedisError, RedisResult, Value};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The longest a single answer is waited for, so that a dead connection is noticed before the
/// batch's time is up.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// Between two attempts, at first and at most.
const WAIT_FIRST: Duration = Duration::from_millis(2);
const WAIT_MOST: Duration = Duration::from_millis(200);

impl RedisStore {
    /// All of the batch, or nothing.
    pub(super) async fn send(&self, layout: &Layout, batch: &Batch) -> Result<Outcome> {
        let call = Call::of_batch(layout, batch)?;
        let Some(call) = call else { return Ok(Outcome::Committed { totals: Vec::new() }) };
        let within = batch.deadline.saturating_sub(batch.now).max(1);
        let within = Within::for_milliseconds(within);
        match self.run(&call, within).await {
            Ok((answer, is_copied)) => match outcome(&answer, &call)? {
                // A server may yet come to the copy whose connection broke. On a cluster, whoever
                // asks removes entries after a conflict: the rows are to be fenced first.
                Outcome::Conflict(_) if is_copied && self.servers.is_cluster() => {
                    Ok(Outcome::Indeterminate { id: batch.id })
                }
                outcome => Ok(outcome),
            },
            Err(Unanswered { is_sent: true, .. }) => Ok(Outcome::Indeterminate { id: batch.id }),
            Err(Unanswered { error, .. }) => Err(failed(error).during("commit")),
        }
    }

    /// Runs the script until it was answered; true if a copy of it was sent before, unanswered.
    pub(super) async fn run(
        &self,
        call: &Arguments,
        within: Within,
    ) -> std::result::Result<(Bytes, bool), Unanswered> {
        let mut patience = Patience::new(within);
        let mut is_sent = false;
        loop {
            let until = patience.answer_until();
            let error = match self.commit_script.run(&self.servers, call, until).await {
                Ok(answer) => return Ok((answer, is_sent)),
                Err(error) => error,
            };
            match fault(&error) {
                Fault::Lost => is_sent |= !error.is_connection_refusal(),
                // An earlier attempt may have been done, and its answer lost.
                Fault::Refused => return Err(Unanswered { error, is_sent }),
                Fault::Later | Fault::NoScript => {}
            }
            if !patience.wait().await {
                return Err(Unanswered { error, is_sent });
            }
        }
    }

    /// Asks something of a key that may be asked any number of times, until it is answered:
    /// commands, and how many replies they have.
    pub(super) async fn patiently(&self, name: &[u8], sent: (&[u8], usize)) -> RedisResult<Bytes> {
        let mut patience = Patience::new(Within::of_reads());
        loop {
            let answer = self.servers.send(name, sent, patience.answer_until()).await;
            let Err(error) = answer else { return answer };
            let is_final = matches!(fault(&error), Fault::Refused | Fault::NoScript);
            if is_final || !patience.wait().await {
                return Err(error);
            }
        }
    }

    /// Runs a script that changes nothing, and may be run any number of times, until it has
    /// answered.
    pub(super) async fn told(&self, script: &Script, call: &Arguments) -> RedisResult<Bytes> {
        let mut patience = Patience::new(Within::of_reads());
        loop {
            let answer = script.run(&self.servers, call, patience.answer_until()).await;
            let Err(error) = answer else { return answer };
            if fault(&error) == Fault::Refused || !patience.wait().await {
                return Err(error);
            }
        }
    }
}

/// One question about a whole server that changes nothing, asked until it is answered.
pub(super) async fn question(server: &Connection, command: &Cmd) -> Result<Value> {
    let bytes = command.get_packed_command();
    let mut patience = Patience::new(Within::of_reads());
    loop {
        let answer = server.send((&bytes, 1), patience.answer_until()).await;
        let error = match answer.and_then(|reply| value(&reply)) {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        if fault(&error) == Fault::Refused || !patience.wait().await {
            return Err(failed(error));
        }
    }
}

/// A script without an answer.
pub(super) struct Unanswered {
    /// Why.
    pub(super) error: RedisError,
    /// Whether it may have run.
    pub(super) is_sent: bool,
}

impl From<Unanswered> for Error {
    fn from(unanswered: Unanswered) -> Self {
        failed(unanswered.error)
    }
}

/// Waits between attempts, longer each time, until time is up.
struct Patience {
    /// When the next attempt begins.
    next: Instant,
    until: Instant,
    wait: Duration,
}

impl Patience {
    fn new(within: Within) -> Patience {
        let now = Instant::now();
        Patience { next: now, until: now + within.0, wait: WAIT_FIRST }
    }

    /// Until when the answer to the next attempt is waited for.
    fn answer_until(&self) -> Instant {
        self.until.min(self.next + ANSWER_WITHIN).max(self.next + WAIT_FIRST)
    }

    /// Waits a while; false if there is no time left.
    async fn wait(&mut self) -> bool {
        if Instant::now() + self.wait >= self.until {
            return false;
        }
        sleep(self.wait).await;
        self.wait = (self.wait * 2).min(WAIT_MOST);
        self.next = Instant::now();
        true
    }
}
