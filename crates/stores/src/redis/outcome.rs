//! What became of a batch, as it is remembered and as the script answers it; and versions as text.
//!
//! ```text
//! ~call:AaHg21HMUACAAAAAAAAAAQ   5@ 12@1794736860000      two totals, the second of which ends
//! ```

use super::error::{damaged, foreign, unexpected};
use super::protocol::{Part, Reader};
use super::script::Arguments;
use data::store::limits::REDIS_SET_ROWS_MAX;
use data::store::{CommitId, Conflict, Found, Outcome, Total, Version, Where};
use data::{Error, ErrorKind, Result};
use keyspace::key::text::{parse_scalar, scalar_text};
use keyspace::key::{self, KeyType};
use std::borrow::Cow;

/// A version as rows show it: base64url.
pub(super) fn version_text(version: &CommitId) -> String {
    let value = key::Value::bytes(version.as_bytes());
    scalar_text(&value).map(|text| text.into_owned()).unwrap_or_default()
}

/// The version of such a text.
pub(super) fn version(text: &[u8]) -> Result<Version> {
    let wrong = || damaged("a version").with("version", text.escape_ascii());
    let text = std::str::from_utf8(text).map_err(|_| wrong())?;
    match parse_scalar(KeyType::Bytes, text) {
        Ok(key::Value::Bytes(bytes)) => {
            let bytes = <[u8; 16]>::try_from(bytes.as_ref()).map_err(|_| wrong())?;
            Ok(CommitId::from_stored(bytes))
        }
        _ => Err(wrong()),
    }
}

/// What the script answered. `call` says which key has which number.
pub(super) fn outcome(answer: &[u8], call: &Arguments) -> Result<Outcome> {
    let mut reader = Reader::new(answer);
    let mut parts: Vec<Cow<'_, [u8]>> = Vec::new();
    match reader.part() {
        Some(Part::Text(done)) => {
            let done = std::str::from_utf8(done).ok().and_then(|text| text.strip_prefix("done"));
            let done = done.ok_or_else(unexpected)?;
            return Ok(Outcome::Committed { totals: totals(done)? });
        }
        Some(Part::Many(count)) => {
            for _ in 0..count {
                parts.push(match reader.part() {
                    Some(Part::Text(text)) => text.into(),
                    Some(Part::Number(number)) => number.to_string().into_bytes().into(),
                    Some(Part::Nothing) => Cow::default(),
                    _ => return Err(unexpected()),
                });
            }
        }
        _ => return Err(unexpected()),
    }
    let text = |place: usize| {
        let part = parts.get(place).ok_or_else(unexpected)?;
        std::str::from_utf8(part).map_err(|_| unexpected())
    };
    let number = |place: usize| text(place)?.parse::<usize>().map_err(|_| unexpected());
    let name = |place: usize| number(place).map(|number| call.name(number));
    Ok(match text(0)? {
        "check" => {
            let at = Where::Check(number(1)?.saturating_sub(1));
            let found = match (text(2)?, parts.get(3).map(AsRef::as_ref)) {
                ("0", _) => Found::Absent,
                (_, None | Some(b"")) => Found::Row(None),
                (_, Some(found)) => Found::Row(Some(version(found)?)),
            };
            Outcome::Conflict(Conflict { at, found })
        }
        what @ ("full" | "overflow") => {
            let total = total(text(2)?, text(3)?)?;
            let found = if what == "full" { Found::Full(total) } else { Found::Overflow(total) };
            Outcome::Conflict(Conflict { at: Where::Write(number(1)?), found })
        }
        "type" => return Err(foreign(name(1)?, text(2)?, text(3)?)),
        "number" => {
            return Err(Error::new(
                ErrorKind::Mismatch,
                "something that is no whole number lies where a counter should be",
            )
            .with("key", name(1)?.escape_ascii())
            .with("found", text(2)?.chars().take(64).collect::<String>()));
        }
        "large" => {
            return Err(Error::new(
                ErrorKind::TooLarge,
                "a group kept as a Set is full: say what it holds in expect.rows_per_group, and \
                 it is a sorted set",
            )
            .with("key", name(1)?.escape_ascii())
            .with("limit", REDIS_SET_ROWS_MAX)
            .with("given", number(2)?));
        }
        _ => return Err(unexpected()),
    })
}

fn totals(text: &str) -> Result<Vec<Total>> {
    let each = text.split(' ').filter(|total| !total.is_empty());
    let each = each.map(|both| {
        let (value, ends) = both.split_once('@').ok_or_else(|| damaged("an outcome"))?;
        total(value, ends)
    });
    each.collect()
}

fn total(value: &str, ends: &str) -> Result<Total> {
    let wrong = || damaged("an outcome");
    let expires = match ends {
        "" => None,
        ends => Some(ends.parse().map_err(|_| wrong())?),
    };
    Ok(Total { value: value.parse().map_err(|_| wrong())?, expires })
}
