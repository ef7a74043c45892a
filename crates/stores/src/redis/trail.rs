//! What a row on a cluster tells of itself beside its content: version, end, and its trail.
//!
//! ```text
//! a Hash     ~v VERSION  ~x 1794736830000  ~p VERSION VERSION  ~h HELD HELD  ~d 1
//! beside it  VERSION x1794736830000 d pVERSION,VERSION hHELD,HELD
//! ```
//!
//! On one server there are no trails, and then all of it is a version and an end. The script reads
//! a few of these words; nothing here knows of it.

use super::error::damaged;
use super::fields::{Field, instant};
use super::outcome::{version, version_text};
use super::script::Texts;
use data::clock::Milliseconds;
use data::store::{CommitId, Held, Trail, Version};
use data::{Error, Result};
use keyspace::key::text::{parse_scalar, scalar_text};
use keyspace::key::{self, KeyType};
use keyspace::layout::redis::{DEAD, EXPIRY, HELD, PREVIOUS, VERSION};

/// The bytes of an entry that a row holds.
const HELD_BYTES: usize = 26;

/// What is told of a row that is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Telling<'t> {
    /// When it ends.
    pub(super) expires: Option<Milliseconds>,
    /// Its version.
    pub(super) version: Option<&'t str>,
    /// How it came to be.
    pub(super) trail: Option<&'t Trail>,
}

impl Telling<'_> {
    /// Whether it is a row that was removed.
    pub(super) fn is_dead(&self) -> bool {
        self.trail.is_some_and(|trail| trail.dead)
    }

    /// Adds the fields of a trail to those of a Hash. An entry is told apart by its key, so that one
    /// whose attempt expects nothing needs none.
    pub(super) fn add_fields(&self, is_entry: bool, texts: &mut Texts) {
        let Some(trail) = self.trail else { return };
        if !is_entry || !trail.previous.is_empty() {
            texts.push(PREVIOUS);
            texts.push(joined(trail.previous.iter().map(version_text), " "));
        }
        if !trail.held.is_empty() {
            texts.push(HELD);
            texts.push(joined(trail.held.iter().map(held_text), " "));
        }
        if trail.dead {
            texts.push(DEAD);
            texts.push("1");
        }
    }

    /// All of it in words, for rows that have no fields.
    pub(super) fn words(&self) -> Option<String> {
        let mut words = self.version?.to_string();
        if let Some(ends) = self.expires {
            words.push_str(&format!(" x{ends}"));
        }
        if let Some(trail) = self.trail {
            if trail.dead {
                words.push_str(" d");
            }
            words.push_str(" p");
            words.push_str(&joined(trail.previous.iter().map(version_text), ","));
            if !trail.held.is_empty() {
                words.push_str(" h");
                words.push_str(&joined(trail.held.iter().map(held_text), ","));
            }
        }
        Some(words)
    }
}

/// What was told of a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    /// Its version.
    pub(super) version: Option<Version>,
    /// When it ends.
    pub(super) expires: Option<Milliseconds>,
    /// How it came to be.
    pub(super) trail: Option<Box<Trail>>,
}

impl Told {
    /// What the fields of a Hash tell.
    pub(super) fn of_fields(fields: &[Field<'_>]) -> Result<Told> {
        let mut told = Told::default();
        for (name, value) in fields.iter().filter(|(name, _)| name.first() == Some(&b'~')) {
            if *name == VERSION.as_bytes() {
                told.version = Some(version(value)?);
            } else if *name == EXPIRY.as_bytes() {
                told.expires = Some(instant(value)?);
            } else if *name == PREVIOUS.as_bytes() {
                told.trail().previous = versions(value, b' ')?;
            } else if *name == HELD.as_bytes() {
                told.trail().held = all_held(value, b' ')?;
            } else if *name == DEAD.as_bytes() {
                told.trail().dead = true;
            }
        }
        Ok(told)
    }

    /// What words beside a group tell.
    pub(super) fn of_words(words: &[u8]) -> Result<Told> {
        let mut each = words.split(|byte| *byte == b' ');
        let mut told = Told { version: each.next().map(version).transpose()?, ..Told::default() };
        for word in each {
            match word.split_first() {
                Some((b'x', ends)) => told.expires = Some(instant(ends)?),
                Some((b'd', [])) => told.trail().dead = true,
                Some((b'p', previous)) => told.trail().previous = versions(previous, b',')?,
                Some((b'h', held)) => told.trail().held = all_held(held, b',')?,
                _ => return Err(damaged("a trail").with("trail", words.escape_ascii())),
            }
        }
        Ok(told)
    }

    /// Whether the row was removed.
    pub(super) fn is_dead(&self) -> bool {
        self.trail.as_ref().is_some_and(|trail| trail.dead)
    }

    fn trail(&mut self) -> &mut Trail {
        self.trail.get_or_insert_default()
    }
}

fn joined(texts: impl Iterator<Item = String>, separator: &str) -> String {
    texts.collect::<Vec<_>>().join(separator)
}

fn versions(text: &[u8], separator: u8) -> Result<Vec<CommitId>> {
    parts(text, separator).map(version).collect()
}

fn all_held(text: &[u8], separator: u8) -> Result<Vec<Held>> {
    parts(text, separator).map(held).collect()
}

fn parts(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    text.split(move |byte| *byte == separator).filter(|part| !part.is_empty())
}

fn held_text(held: &Held) -> String {
    let mut bytes = Vec::with_capacity(HELD_BYTES);
    bytes.extend_from_slice(&held.space.to_be_bytes());
    bytes.extend_from_slice(&held.entry);
    bytes.extend_from_slice(held.attempt.as_bytes());
    scalar_text(&key::Value::bytes(&bytes)).map(|text| text.into_owned()).unwrap_or_default()
}

fn held(text: &[u8]) -> Result<Held> {
    let wrong = || -> Error { damaged("an entry of a row").with("entry", text.escape_ascii()) };
    let text = std::str::from_utf8(text).map_err(|_| wrong())?;
    let Ok(key::Value::Bytes(bytes)) = parse_scalar(KeyType::Bytes, text) else {
        return Err(wrong());
    };
    let bytes = <[u8; HELD_BYTES]>::try_from(bytes.as_ref()).map_err(|_| wrong())?;
    let [high, low, a, b, c, d, e, f, g, h, attempt @ ..] = bytes;
    Ok(Held {
        space: u16::from_be_bytes([high, low]),
        entry: [a, b, c, d, e, f, g, h],
        attempt: CommitId::from_stored(attempt),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn id(number: u8) -> CommitId {
        CommitId::from_bytes([number; 16])
    }

    #[test]
    fn what_is_told_comes_back() {
        let held = Held { space: 7, entry: [1, 2, 3, 4, 5, 6, 7, 8], attempt: id(9) };
        let trails = [
            None,
            Some(Trail::default()),
            Some(Trail { previous: vec![id(1)], dead: true, held: Vec::new() }),
            Some(Trail { previous: vec![id(1), id(2)], dead: false, held: vec![held, held] }),
        ];
        for trail in &trails {
            for expires in [None, Some(0), Some(1_794_736_830_000)] {
                let text = version_text(&id(3));
                let telling = Telling { expires, version: Some(&text), trail: trail.as_ref() };
                let told = Told::of_words(telling.words().unwrap().as_bytes()).unwrap();
                assert_eq!((told.version, told.expires), (Some(id(3)), expires));
                assert_eq!(told.trail.as_deref(), trail.as_ref());
                assert_eq!(told.is_dead(), telling.is_dead());
            }
        }
    }

    #[test]
    fn what_nobody_wrote_is_damaged() {
        for words in ["", "x", "AaHg21HMUACAAAAAAAAAAQ q1", "AaHg21HMUACAAAAAAAAAAQ hAA"] {
            assert!(Told::of_words(words.as_bytes()).is_err(), "{words}");
        }
    }
}
