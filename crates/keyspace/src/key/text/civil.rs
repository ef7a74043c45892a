//! Dates and times as text: the proleptic Gregorian calendar, UTC, no leap seconds.
//!
//! Years 0 to 9999 have four digits. Beyond them a year has a sign and at least four digits,
//! `+10000` and `-0001`, so that every stored number has a text. The readers are lenient about
//! spelling; the caller compares with what the writer makes.

const DAY_MILLISECONDS: i64 = 86_400_000;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;
const CYCLE_DAYS: i64 = 146_097;
const CYCLE_YEARS: i64 = 400;

/// `2026-11-15`
pub fn date(days: i64) -> String {
    let (year, month, day) = civil_from_days(days);
    let sign = match year {
        ..0 => "-",
        0..=9_999 => "",
        10_000.. => "+",
    };
    format!("{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs())
}

/// `2026-11-15T10:00:00.000Z`
pub fn timestamp(milliseconds: i64) -> String {
    let date = date(milliseconds.div_euclid(DAY_MILLISECONDS));
    let rest = milliseconds.rem_euclid(DAY_MILLISECONDS);
    let (seconds, millisecond) = (rest / 1_000, rest % 1_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{date}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z")
}

pub fn from_date(text: &str) -> Option<i64> {
    let (rest, day) = text.rsplit_once('-')?;
    let (year, month) = rest.rsplit_once('-')?;
    let (negative, year) = match year.strip_prefix('-') {
        Some(year) => (true, year),
        None => (false, year.strip_prefix('+').unwrap_or(year)),
    };
    let year = number(year, 9, i64::MAX)?;
    let year = if negative { -year } else { year };
    let (month, day) = (number(month, 2, 12)?, number(day, 2, 31)?);
    (month > 0 && day > 0).then(|| days_from_civil(year, month, day))
}

pub fn from_timestamp(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let (time, millisecond) = time.split_once('.')?;
    let (hour, rest) = time.split_once(':')?;
    let (minute, second) = rest.split_once(':')?;
    let minutes = number(hour, 2, 23)? * 60 + number(minute, 2, 59)?;
    let seconds = minutes * 60 + number(second, 2, 59)?;
    let milliseconds = seconds * 1_000 + number(millisecond, 3, 999)?;
    // The first day may begin before the first millisecond, so the sum needs more room.
    let days = i128::from(from_date(date)?);
    i64::try_from(days * i128::from(DAY_MILLISECONDS) + i128::from(milliseconds)).ok()
}

fn number(text: &str, digits_max: usize, value_max: i64) -> Option<i64> {
    let plain = text.len() <= digits_max && text.bytes().all(|byte| byte.is_ascii_digit());
    if !plain {
        return None;
    }
    text.parse().ok().filter(|value| *value <= value_max)
}

/// Counts years from March, so that the leap day is the last day of a year.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH_DAYS;
    let (cycle, day) = (days.div_euclid(CYCLE_DAYS), days.rem_euclid(CYCLE_DAYS));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let year = year + cycle * CYCLE_YEARS;
    if month < 10 { (year, month + 3, day_of_month) } else { (year + 1, month - 9, day_of_month) }
}

fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (cycle, year) = (year.div_euclid(CYCLE_YEARS), year.rem_euclid(CYCLE_YEARS));
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let day_of_cycle = 365 * year + year / 4 - year / 100 + day_of_year;
    cycle * CYCLE_DAYS + day_of_cycle - EPOCH_DAYS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_count_up_one_by_one_through_eight_centuries() {
        let (mut year, mut month, mut day) = (1_600, 1, 1);
        for days in -135_140..157_055 {
            assert_eq!(civil_from_days(days), (year, month, day));
            assert_eq!(days_from_civil(year, month, day), days);
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + i64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
    }

    #[test]
    fn every_stored_number_has_a_text() {
        for milliseconds in [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX] {
            assert_eq!(from_timestamp(&timestamp(milliseconds)), Some(milliseconds));
        }
        for days in [i32::MIN, -719_529, -719_528, -1, 0, 2_932_896, 2_932_897, i32::MAX] {
            assert_eq!(from_date(&date(days.into())), Some(days.into()));
        }
        assert_eq!(date(-719_529), "-0001-12-31");
        assert_eq!(date(2_932_897), "+10000-01-01");
    }
}
