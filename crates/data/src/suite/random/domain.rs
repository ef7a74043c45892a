//! Values for rows by chance: few of each kind, so that rows meet, and how they sort.
//!
//! Values are JSON, as calls give them. Order is written here a second time, over what people read
//! and not over the bytes of keys, so that no mistake of the key codec can hide in both.

use crate::clock::SeededRandom;
use serde_json::{Value as Json, json};
use std::cmp::Ordering;

/// A kind of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Bytes,
    Bool,
    I64,
    U64,
    F64,
    Uuid,
    TimeUuid,
    Ulid,
    Timestamp,
    Date,
    /// One of the words of an enum.
    Word,
    /// A path: the last segment of a key, and nothing else.
    Path,
    /// Any JSON: a field, and nothing else.
    Json,
}

/// Bytes, by how they sort; their text sorts differently.
const BYTES: [&str; 6] = ["", "AA", "AAA", "AQ", "fw", "_w"];

impl Kind {
    /// Kinds that stand anywhere in a key.
    pub(super) const IN_KEYS: [Kind; 12] = [
        Kind::Text,
        Kind::Bytes,
        Kind::Bool,
        Kind::I64,
        Kind::U64,
        Kind::F64,
        Kind::Uuid,
        Kind::TimeUuid,
        Kind::Ulid,
        Kind::Timestamp,
        Kind::Date,
        Kind::Word,
    ];

    /// Its type in a keyspace file.
    pub(super) fn notation(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Bytes => "bytes",
            Kind::Bool => "bool",
            Kind::I64 => "i64",
            Kind::U64 => "u64",
            Kind::F64 => "f64",
            Kind::Uuid => "uuid",
            Kind::TimeUuid => "timeuuid",
            Kind::Ulid => "ulid",
            Kind::Timestamp => "timestamp",
            Kind::Date => "date",
            Kind::Word => "low|mid|high",
            Kind::Path => "text..",
            Kind::Json => "json",
        }
    }

    /// All its values.
    pub(super) fn values(self) -> Vec<Json> {
        match self {
            Kind::Text => {
                ["", "a", "b", "A", "B", "a:b", "a\u{0}", "é", "É", "😀"].map(Json::from).to_vec()
            }
            Kind::Bytes => BYTES.map(Json::from).to_vec(),
            Kind::Bool => vec![json!(false), json!(true)],
            Kind::I64 => {
                vec![json!(-300), json!(-1), json!(9), json!(10), json!("9223372036854775807")]
            }
            Kind::U64 => vec![json!(0), json!(9), json!(10), json!("18446744073709551615")],
            Kind::F64 => vec![json!(-1.5), json!(0.0), json!(2.25), json!(1e300)],
            Kind::Uuid => [
                "00000000-0000-4000-8000-000000000000",
                "7d444840-9dc0-41d1-b245-5ffdce74fad2",
                "ffffffff-ffff-4fff-bfff-ffffffffffff",
            ]
            .map(Json::from)
            .to_vec(),
            // The first has the latest time and the lowest first byte.
            Kind::TimeUuid => [
                "00000000-0000-1ef0-8000-000000000000",
                "ffffffff-0000-11d1-b245-5ffdce74fad2",
                "7d444840-9dc0-11d1-b245-5ffdce74fad2",
            ]
            .map(Json::from)
            .to_vec(),
            Kind::Ulid => [
                "00000000000000000000000000",
                "01HZZZZZZZZZZZZZZZZZZZZZZZ",
                "01J00000000000000000000000",
            ]
            .map(Json::from)
            .to_vec(),
            Kind::Timestamp => [
                "1969-12-31T23:30:00.000Z",
                "2027-01-15T08:20:00.000Z",
                "2027-01-15T08:59:59.999Z",
                "2027-01-15T09:00:00.000Z",
                "2027-01-16T00:10:00.000Z",
            ]
            .map(Json::from)
            .to_vec(),
            Kind::Date => ["1969-12-31", "2027-01-15", "2027-01-16"].map(Json::from).to_vec(),
            Kind::Word => ["low", "mid", "high"].map(Json::from).to_vec(),
            Kind::Path => vec![json!(["a"]), json!(["a", "b"]), json!(["ab"]), json!(["a", ""])],
            Kind::Json => {
                vec![json!(1), json!({"z": [null, "x"], "a": 2.5}), json!("é"), json!([])]
            }
        }
    }

    /// How two of its values sort in a key.
    pub(super) fn compare(self, one: &Json, other: &Json) -> Ordering {
        match self {
            Kind::Bool => one.as_bool().cmp(&other.as_bool()),
            Kind::I64 | Kind::U64 => whole(one).cmp(&whole(other)),
            Kind::F64 => one.as_f64().partial_cmp(&other.as_f64()).unwrap_or(Ordering::Equal),
            Kind::Bytes => {
                let place = |json: &Json| BYTES.iter().position(|bytes| json == bytes);
                place(one).cmp(&place(other))
            }
            Kind::TimeUuid => ticks(one).cmp(&ticks(other)),
            Kind::Path => {
                let parts = |json: &Json| -> Vec<String> {
                    json.as_array().into_iter().flatten().map(text).collect()
                };
                parts(one).cmp(&parts(other))
            }
            _ => text(one).cmp(&text(other)),
        }
    }
}

/// The text of a value that is one.
pub(super) fn text(json: &Json) -> String {
    json.as_str().unwrap_or_default().to_string()
}

/// A whole number, which is a string where it is large.
pub(super) fn whole(json: &Json) -> i128 {
    let number = json.as_i64().map(i128::from).or_else(|| json.as_u64().map(i128::from));
    number.or_else(|| json.as_str()?.parse().ok()).unwrap_or_default()
}

/// A whole number as answers show it.
pub(super) fn shown(number: i128) -> Json {
    match i64::try_from(number) {
        Ok(small) if small.unsigned_abs() <= 1 << 53 => json!(small),
        _ => json!(number.to_string()),
    }
}

/// The time in a time UUID: its high digits stand last.
fn ticks(json: &Json) -> String {
    let text = text(json);
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default().to_string();
    part(15, 18) + &part(9, 13) + &part(0, 8) + &part(19, 36)
}

/// Milliseconds since 1970 of an instant as answers show it.
pub(super) fn instant(json: &Json) -> i64 {
    let text = text(json);
    let number = |from: usize, to: usize| -> i64 {
        text.get(from..to).and_then(|digits| digits.parse().ok()).unwrap_or_default()
    };
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    // Years begin in March, so that a leap day is the last of its year.
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let seconds = number(11, 13) * 3_600 + number(14, 16) * 60 + number(17, 19);
    ((days - 719_468) * 86_400 + seconds) * 1_000 + number(20, 23)
}

/// An instant as answers show it.
pub(super) fn instant_text(milliseconds: i64) -> Json {
    let (days, rest) = (milliseconds.div_euclid(86_400_000), milliseconds.rem_euclid(86_400_000));
    // The year is guessed and put right, which is slow, plain, and not how anybody else does it.
    let day_of = |year: i64| instant(&json!(format!("{year:04}-01-01T00:00:00.000Z"))) / 86_400_000;
    let mut year = 1970 + days / 365;
    while day_of(year) > days {
        year -= 1;
    }
    let mut month = 12;
    let first = |month: i64| {
        instant(&json!(format!("{year:04}-{month:02}-01T00:00:00.000Z"))).div_euclid(86_400_000)
    };
    while month > 1 && first(month) > days {
        month -= 1;
    }
    let day = days - first(month) + 1;
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, fraction) = (rest / 1_000 % 60, rest % 1_000);
    json!(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:03}Z"))
}

/// Chance.
pub(super) struct Chance(pub(super) SeededRandom);

impl Chance {
    /// A number below `below`.
    pub(super) fn below(&self, below: usize) -> usize {
        usize::try_from(self.0.number() % (below.max(1) as u64)).unwrap_or_default()
    }

    /// True so many times in a hundred.
    pub(super) fn percent(&self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of several.
    pub(super) fn one<'t, T>(&self, of: &'t [T]) -> Option<&'t T> {
        of.get(self.below(of.len()))
    }

    /// A value of a kind.
    pub(super) fn value(&self, kind: Kind) -> Json {
        let values = kind.values();
        self.one(&values).cloned().unwrap_or_default()
    }

    /// Some of several, in their order.
    pub(super) fn some<T: Clone>(&self, of: &[T], percent: usize) -> Vec<T> {
        of.iter().filter(|_| self.percent(percent)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_read_as_they_are_written() {
        for (text, milliseconds) in [
            ("1970-01-01T00:00:00.000Z", 0),
            ("1969-12-31T23:30:00.000Z", -1_800_000),
            ("2027-01-15T08:00:00.000Z", 1_800_000_000_000),
            ("2028-02-29T23:59:59.999Z", 1_835_481_599_999),
        ] {
            assert_eq!(instant(&json!(text)), milliseconds, "{text}");
            assert_eq!(instant_text(milliseconds), json!(text));
        }
    }

    #[test]
    fn bytes_are_listed_in_order() {
        assert!(Kind::Bytes.compare(&json!("AQ"), &json!("_w")).is_lt());
        let time = Kind::TimeUuid.values();
        assert!(Kind::TimeUuid.compare(&time[0], &time[1]).is_gt());
    }
}
