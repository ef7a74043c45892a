//! Doing something again: how long to wait, and when there is no time left.

use super::client::Fault;
use data::Result;
use data::store::CommitId;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The first wait.
const WAIT_FIRST: Duration = Duration::from_millis(5);
/// The longest one.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// How often something may be done again: for as long as there is time.
pub(super) struct Tries {
    until: Instant,
    wait: Duration,
}

impl Tries {
    pub(super) fn new(until: Instant) -> Tries {
        Tries { until, wait: WAIT_FIRST }
    }

    /// Waits, if it may be done again.
    pub(super) async fn failed(&mut self, fault: Fault) -> Result<()> {
        match fault {
            Fault::Unsent(_) | Fault::Lost(_) if Instant::now() + self.wait < self.until => {}
            fault => return Err(fault.into_error()),
        }
        sleep(self.wait).await;
        self.wait = (self.wait * 2).min(WAIT_MAX);
        Ok(())
    }
}

/// Waits a little longer each time, and not as long as others do; false if there is no time left.
pub(super) async fn pause(id: CommitId, tries: u32, until: Instant) -> bool {
    let [.., chance, _] = *id.as_bytes();
    let most = WAIT_FIRST * 2_u32.saturating_pow(tries.min(5));
    let wait = most * (64 + u32::from(chance.wrapping_mul(tries as u8 | 1)) % 192) / 256;
    if Instant::now() + wait >= until {
        return false;
    }
    sleep(wait).await;
    true
}
