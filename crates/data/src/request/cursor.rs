//! Cursors: where a list goes on, sealed so that only the same caller, pattern and keyspace can.
//!
//! ```text
//! base64url( key id, 1 byte │ nonce, 24 │ XChaCha20-Poly1305( expiry, 8 │ kind, 1 │ mark ) )
//!                                           bound to: keyspace, pattern, key, caller, query
//! ```
//!
//! The last key of a page may hold what the caller may not see, so it is sealed and not only
//! signed. A cursor is judged before anything is read. Whatever is wrong with one, the answer is
//! the same: nobody learns from it which part was wrong.

#[cfg(test)]
mod tests;

use super::call::{Call, Given};
use crate::clock::{Milliseconds, Random};
use crate::error::{Error, ErrorKind, Result};
use crate::schema::KeyShape;
use crate::store::Key;
use crate::value::Value;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use keyspace::key::text::{parse_scalar, scalar_text};
use keyspace::key::{self, Direction, KeyType};
use keyspace::model::{Argument, ArgumentRole, Pattern};
use std::fmt;

/// How long a cursor can be used.
const LIFE: Milliseconds = 24 * 60 * 60 * 1_000;
/// Characters of a cursor: the longest key, what is around it, and base64 over both, with room.
const TEXT_BYTES_MAX: usize = 2_048;
/// Bytes of a nonce.
const NONCE_BYTES: usize = 24;
/// Room for what is sealed, with its tag: most keys are short.
const BODY_USUAL: usize = 128;
/// The marks of a body.
const AFTER_KEY: u8 = 1;
const AFTER_SLICE: u8 = 2;

/// What cursors are sealed with.
///
/// Of a key that was exchanged for another, cursors are still accepted: see [`CursorKey::after`].
#[derive(Clone)]
pub struct CursorKey {
    current: Seal,
    previous: Option<Seal>,
}

#[derive(Clone)]
struct Seal {
    cipher: XChaCha20Poly1305,
    id: u8,
    ids: [u8; 32],
}

/// Where a list goes on, in its own direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// After this key, which was read.
    Key(Key),
    /// After this time slice, all of which was read.
    Slice(i64),
}

impl CursorKey {
    /// A key of these bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        CursorKey { current: Seal::new(bytes), previous: None }
    }

    /// A key that nobody knows.
    pub fn random(random: &dyn Random) -> Self {
        let mut bytes = [0; 32];
        random.fill(&mut bytes);
        CursorKey::new(bytes)
    }

    /// The same key, after another one whose cursors are still accepted.
    pub fn after(mut self, previous: [u8; 32]) -> Self {
        self.previous = Some(Seal::new(previous));
        self
    }

    /// A key of the same secrecy, for the ids that a call makes.
    pub(super) fn ids_key(&self) -> &[u8; 32] {
        &self.current.ids
    }

    /// A cursor for whoever is bound.
    pub(super) fn seal(
        &self,
        bound: &[u8],
        mark: &Mark,
        now: Milliseconds,
        random: &dyn Random,
    ) -> Result<String> {
        let mut nonce = [0; NONCE_BYTES];
        random.fill(&mut nonce);
        let mut body = Vec::with_capacity(BODY_USUAL);
        body.extend_from_slice(&now.saturating_add(LIFE).to_be_bytes());
        match mark {
            Mark::Key(key) => {
                body.push(AFTER_KEY);
                body.extend_from_slice(key.as_ref());
            }
            Mark::Slice(number) => {
                body.push(AFTER_SLICE);
                body.extend_from_slice(&number.to_be_bytes());
            }
        }
        let payload = Payload { msg: &body, aad: bound };
        let sealed = self.current.cipher.encrypt(&XNonce::from(nonce), payload);
        let unsealed = |_| Error::new(ErrorKind::Internal, "a cursor cannot be sealed");
        let sealed = sealed.map_err(unsealed)?;
        let mut bytes = Vec::with_capacity(1 + NONCE_BYTES + sealed.len());
        bytes.push(self.current.id);
        bytes.extend_from_slice(&nonce);
        bytes.extend_from_slice(&sealed);
        Ok(scalar_text(&key::Value::bytes(&bytes))?.into_owned())
    }

    /// The mark of a cursor, if it was sealed for whoever is bound and is not too old.
    pub(super) fn open(&self, bound: &[u8], text: &str, now: Milliseconds) -> Result<Mark> {
        self.opened(bound, text, now).ok_or_else(|| {
            let message = "the cursor is not one of this list, for this caller, or is too old: \
                           begin without one";
            Error::new(ErrorKind::Cursor, message)
        })
    }

    fn opened(&self, bound: &[u8], text: &str, now: Milliseconds) -> Option<Mark> {
        // Before anything is made of it: whoever sends a megabyte gets the same answer for nothing.
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let Ok(key::Value::Bytes(bytes)) = parse_scalar(KeyType::Bytes, text) else { return None };
        let (id, rest) = bytes.split_first()?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_BYTES>()?;
        let payload = || Payload { msg: sealed, aad: bound };
        let seals = [Some(&self.current), self.previous.as_ref()];
        let body = seals
            .into_iter()
            .flatten()
            .filter(|seal| seal.id == *id)
            .find_map(|seal| seal.cipher.decrypt(&XNonce::from(*nonce), payload()).ok())?;
        let (expiry, rest) = body.split_first_chunk::<8>()?;
        let (kind, mark) = rest.split_first()?;
        if Milliseconds::from_be_bytes(*expiry) <= now {
            return None;
        }
        match *kind {
            AFTER_KEY => Some(Mark::Key(Key::from(mark.to_vec()))),
            AFTER_SLICE => Some(Mark::Slice(i64::from_be_bytes(mark.try_into().ok()?))),
            _ => None,
        }
    }
}

impl fmt::Debug for CursorKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CursorKey(…)")
    }
}

impl Seal {
    fn new(bytes: [u8; 32]) -> Self {
        let cipher = XChaCha20Poly1305::new(&bytes.into());
        // A byte that tells keys apart and says nothing about them: of a tag over nothing.
        let id = cipher.encrypt(&XNonce::default(), [].as_slice()).ok();
        let id = id.and_then(|tag| tag.first().copied()).unwrap_or_default();
        Seal { cipher, id, ids: blake3::derive_key("keyway 2026 ids of a call", &bytes) }
    }
}

/// What the cursors of a pattern are bound to, whoever calls: a hash of it, because all of it goes
/// into every seal.
pub(super) fn bound_front(keyspace: &str, pattern: &Pattern, key: &KeyShape) -> [u8; 32] {
    let mut bytes = Vec::with_capacity(256);
    put(&mut bytes, b"keyway cursor 1");
    put(&mut bytes, keyspace.as_bytes());
    put(&mut bytes, pattern.name.value.as_bytes());
    put_key(&mut bytes, key);
    put(&mut bytes, pattern.by.join("\n").as_bytes());
    *blake3::hash(&bytes).as_bytes()
}

/// What a cursor of this call is bound to.
///
/// The arguments are those the call gives: what a pattern binds to `now` is another in every call.
/// How many rows are asked for may change from page to page, and so may the caller's roles.
pub(super) fn bound(call: &Call<'_>, reverse: bool) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(128);
    bytes.extend_from_slice(&call.pattern.cursor_front);
    for id in [call.caller.id(), call.caller.tenant()] {
        bytes.push(u8::from(id.is_some()));
        put(&mut bytes, id.unwrap_or_default().as_bytes());
    }
    put_given(&mut bytes, &call.pattern.pattern.arguments, &call.given);
    bytes.push(u8::from(reverse));
    bytes
}

/// Bytes with their number in front, so that no two lists of them run into one.
fn put(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
    bytes.extend_from_slice(part);
}

/// What decides the bytes and the order of keys: a changed keyspace refuses older cursors.
fn put_key(bytes: &mut Vec<u8>, key: &KeyShape) {
    bytes.extend_from_slice(&key.space.to_be_bytes());
    put(bytes, &(key.group as u64).to_be_bytes());
    let every = key.slices.as_ref().map_or(0, |slices| slices.every);
    bytes.extend_from_slice(&every.to_be_bytes());
    bytes.push(u8::from(key.attempt));
    put(bytes, &(key.segments.len() as u64).to_be_bytes());
    for (segment, name) in key.segments.iter().zip(&key.names) {
        let kind = KeyType::ALL.iter().position(|kind| *kind == segment.kind);
        bytes.push(kind.and_then(|kind| u8::try_from(kind).ok()).unwrap_or(u8::MAX));
        bytes.push(u8::from(segment.direction == Direction::Descending));
        put(bytes, name.as_bytes());
    }
}

fn put_given(bytes: &mut Vec<u8>, arguments: &[Argument], given: &[Given]) {
    let steers = |argument: &Argument| {
        let words = ["limit", "reverse", "cursor"];
        argument.role == ArgumentRole::Page && words.contains(&argument.name.as_str())
    };
    for (argument, given) in arguments.iter().zip(given) {
        if steers(argument) {
            continue;
        }
        match (given, &argument.role) {
            (Given::Missing, _) => continue,
            (Given::Value(value), _) => {
                put(bytes, argument.name.as_bytes());
                put_value(bytes, value);
            }
            (Given::Rows(rows), ArgumentRole::Rows(each)) => {
                put(bytes, argument.name.as_bytes());
                bytes.extend_from_slice(&(rows.len() as u64).to_be_bytes());
                rows.iter().for_each(|row| put_given(bytes, each, row));
            }
            (Given::Rows(_), _) => put(bytes, argument.name.as_bytes()),
        }
    }
}

/// A value so that no two are alike: its kind, and its bytes.
fn put_value(bytes: &mut Vec<u8>, value: &Value) {
    let mut tagged = |tag: u8, part: &[u8]| {
        bytes.push(tag);
        put(bytes, part);
    };
    match value {
        Value::Null => tagged(0, &[]),
        Value::Bool(value) => tagged(1, &[u8::from(*value)]),
        Value::I64(value) => tagged(2, &value.to_be_bytes()),
        Value::U64(value) => tagged(3, &value.to_be_bytes()),
        Value::F64(value) => tagged(4, &value.to_bits().to_be_bytes()),
        Value::Text(text) => tagged(5, text.as_bytes()),
        Value::Bytes(value) => tagged(6, value),
        Value::Uuid(value) => tagged(7, value),
        Value::TimeUuid(value) => tagged(8, value),
        Value::Ulid(value) => tagged(9, value),
        Value::Timestamp(value) => tagged(10, &value.to_be_bytes()),
        Value::Date(value) => tagged(11, &value.to_be_bytes()),
        Value::Duration(value) => tagged(12, &value.to_be_bytes()),
        Value::Cell(value) => tagged(13, &value.to_be_bytes()),
        Value::Json(value) => tagged(14, value.to_string().as_bytes()),
        Value::Path(parts) => {
            tagged(15, &(parts.len() as u64).to_be_bytes());
            parts.iter().for_each(|part| put(bytes, part.as_bytes()));
        }
        Value::List(values) => {
            tagged(16, &(values.len() as u64).to_be_bytes());
            values.iter().for_each(|value| put_value(bytes, value));
        }
    }
}
