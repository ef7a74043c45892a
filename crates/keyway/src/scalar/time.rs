//! Instants and days.

use super::scalar;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An instant: milliseconds since 1970, UTC. Its text is `2026-11-15T10:00:00.000Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// A calendar day: days since 1970. Its text is `2026-11-15`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub i32);

scalar!(Timestamp, i64, Timestamp, timestamp, "an instant is written `2026-11-15T10:00:00.000Z`");
scalar!(Date, i32, Date, date, "a day is written `2026-11-15`");

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

impl Timestamp {
    /// The machine's time.
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// The day it lies in, UTC.
    pub fn date(self) -> Date {
        Date(i32::try_from(self.0.div_euclid(DAY)).unwrap_or(i32::MAX))
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let milliseconds = |length: Duration| i64::try_from(length.as_millis());
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Timestamp(milliseconds(since).unwrap_or(i64::MAX)),
            Err(before) => Timestamp(milliseconds(before.duration()).map_or(i64::MIN, |ms| -ms)),
        }
    }
}

impl From<Date> for Timestamp {
    fn from(date: Date) -> Self {
        Timestamp(i64::from(date.0) * DAY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_from_their_text() {
        let text = "2026-11-15T10:00:00.250Z";
        let at: Timestamp = text.parse().unwrap();
        assert_eq!(at.to_string(), text);
        assert_eq!(at.date().to_string(), "2026-11-15");
        assert_eq!(Timestamp::from(at.date()).to_string(), "2026-11-15T00:00:00.000Z");
        assert_eq!(Timestamp(-1).date(), Date(-1));
        assert_eq!(format!("{at:?}"), "Timestamp(2026-11-15T10:00:00.250Z)");
        assert!("2026-13-01".parse::<Date>().is_err());
    }

    #[test]
    fn machine_times_are_milliseconds_since_1970() {
        assert_eq!(Timestamp::from(UNIX_EPOCH + Duration::from_secs(1)), Timestamp(1_000));
        assert_eq!(Timestamp::from(UNIX_EPOCH - Duration::from_secs(1)), Timestamp(-1_000));
    }
}
