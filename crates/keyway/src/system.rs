//! The machine's time, for calls that say nothing else.

use async_trait::async_trait;
use data::clock::{Clock, Milliseconds, SystemTimeSampled};
use std::time::Duration;

/// The machine's time, which never goes back; waiting is a timer of tokio's.
#[derive(Clone, Debug)]
pub struct SystemClock(SystemTimeSampled);

impl SystemClock {
    /// The machine's time from now on.
    pub fn start() -> Self {
        SystemClock(SystemTimeSampled::start())
    }

    /// A clock that shows this time now: a server's, which all who use it share.
    pub(crate) fn at(now: Milliseconds) -> Self {
        SystemClock(SystemTimeSampled::at(now))
    }
}

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Milliseconds {
        self.0.now()
    }

    async fn wait(&self, milliseconds: u64) {
        let length = Duration::from_millis(milliseconds);
        match tokio::runtime::Handle::try_current() {
            Ok(_) => tokio::time::sleep(length).await,
            // Another executor: a few milliseconds of a thread, rather than a panic.
            Err(_) => std::thread::sleep(length),
        }
    }
}
