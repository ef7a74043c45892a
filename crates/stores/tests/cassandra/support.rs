//! A clock for the application that is called in tests.

use data::clock::Milliseconds;

/// The machine's time; waiting is a timer.
#[derive(Debug)]
pub struct RealClock;

#[async_trait::async_trait]
impl data::clock::Clock for RealClock {
    fn now(&self) -> Milliseconds {
        crate::now()
    }

    async fn wait(&self, milliseconds: u64) {
        tokio::time::sleep(std::time::Duration::from_millis(milliseconds)).await;
    }
}
