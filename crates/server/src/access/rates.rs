//! How often somebody may ask: by token, and by address where no token was right.
//!
//! Kept in this process: several servers on one store each have their own count.

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

/// Wrong tokens that an address may send in a minute.
const FAILURES_A_MINUTE: u32 = 10;

/// Limits of callers.
pub struct Rates {
    calls: Option<DefaultKeyedRateLimiter<String>>,
    failures: DefaultKeyedRateLimiter<IpAddr>,
    clock: DefaultClock,
}

/// Too often; how long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limited(pub Duration);

impl Rates {
    /// So many calls of one token a second, in bursts of twice as many; no limit without a number.
    pub fn new(calls_a_second: Option<NonZeroU32>) -> Rates {
        let calls = calls_a_second.map(|calls| {
            let burst = calls.saturating_mul(NonZeroU32::new(2).unwrap_or(NonZeroU32::MIN));
            RateLimiter::keyed(Quota::per_second(calls).allow_burst(burst))
        });
        let failures = NonZeroU32::new(FAILURES_A_MINUTE).unwrap_or(NonZeroU32::MIN);
        let failures = RateLimiter::keyed(Quota::per_minute(failures));
        Rates { calls, failures, clock: DefaultClock::default() }
    }

    /// Counts a call of a token.
    pub fn call(&self, token: &str) -> Result<(), Limited> {
        let Some(calls) = &self.calls else { return Ok(()) };
        calls.check_key(&token.to_string()).map_err(|early| self.limited(&early))
    }

    /// Counts a token that was wrong.
    pub fn failure(&self, address: IpAddr) -> Result<(), Limited> {
        self.failures.check_key(&prefix(address)).map_err(|early| self.limited(&early))
    }

    /// Forgets who has not been there for long.
    pub fn tidy(&self) {
        self.failures.retain_recent();
        if let Some(calls) = &self.calls {
            calls.retain_recent();
        }
    }

    fn limited(&self, early: &governor::NotUntil<<DefaultClock as Clock>::Instant>) -> Limited {
        Limited(early.wait_time_from(self.clock.now()))
    }
}

/// The part of an address that one customer has.
fn prefix(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [first, second, third, _] = address.octets();
            IpAddr::from([first, second, third, 0])
        }
        IpAddr::V6(address) => {
            IpAddr::from((u128::from(address) & (u128::MAX << 72)).to_be_bytes())
        }
    }
}

impl fmt::Debug for Rates {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Rates").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_limited_by_itself() {
        let rates = Rates::new(NonZeroU32::new(5));
        let allowed = (0..100).filter(|_| rates.call("a").is_ok()).count();
        assert!((10..20).contains(&allowed), "{allowed}");
        assert!(rates.call("b").is_ok());
        assert!(Rates::new(None).call("a").is_ok());
        assert!(rates.call("a").is_err_and(|limited| limited.0 <= Duration::from_millis(200)));
    }

    #[test]
    fn neighbours_in_one_network_are_one_customer() {
        let rates = Rates::new(None);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        for last in 0..10 {
            assert_eq!(rates.failure(address(&format!("192.0.2.{last}"))), Ok(()));
        }
        assert!(rates.failure(address("192.0.2.99")).is_err());
        assert!(rates.failure(address("::ffff:192.0.2.99")).is_err());
        assert!(rates.failure(address("192.0.3.1")).is_ok());
        assert_eq!(prefix(address("2001:db8:1:2ff::1")), address("2001:db8:1:200::"));
    }
}
