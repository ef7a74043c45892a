//! Ids that are made: `new` of a key segment or a field.
//!
//! ```text
//! uuid       version 4: 122 random bits
//! timeuuid   version 1: 100 ns since 1582, 60 bits │ clock sequence, 14 │ node, 48
//! ulid       milliseconds since 1970, 48 bits │ random, 80
//! text       prefix_ and the text of a ULID
//! ```
//!
//! Those that hold a time never go back and never stand still, whatever the clock does and however
//! many threads ask: each is larger than the one made before it.

#[cfg(test)]
mod tests;

use crate::clock::{Milliseconds, Random};
use crate::error::{Error, ErrorKind, Result};
use crate::value::Value;
use keyspace::key::{self, text::scalar_text};
use keyspace::model::Type;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Milliseconds from 1582-10-15, where the time of a version 1 UUID begins, to 1970.
const UUID_EPOCH: i64 = 12_219_292_800_000;
/// Steps of 100 ns in a millisecond.
const TICKS: i64 = 10_000;
const TICK_BITS: u32 = 60;
const ULID_TIME_BITS: u32 = 48;
const ULID_RANDOM_BITS: u32 = 80;

/// Makes ids.
#[derive(Debug)]
pub struct Ids {
    random: Arc<dyn Random>,
    /// The last eight bytes of every time UUID made here: what tells this process from others.
    node: [u8; 8],
    last: Mutex<Last>,
}

/// What was made last.
#[derive(Debug, Default)]
struct Last {
    tick: u64,
    ulid: u128,
}

impl Ids {
    /// Ids from this source of chance.
    pub fn new(random: Arc<dyn Random>) -> Self {
        let mut node = [0; 8];
        random.fill(&mut node);
        let [variant, _, address, ..] = &mut node;
        *variant = *variant & 0x3f | 0x80;
        // No network card has this bit: the node is a random one.
        *address |= 0x01;
        Ids { random, node, last: Mutex::new(Last::default()) }
    }

    /// A new id of a type; only text has a prefix.
    pub fn make(&self, of: &Type, prefix: Option<&str>, now: Milliseconds) -> Result<Value> {
        match of.required() {
            Type::Uuid => Ok(Value::Uuid(self.uuid())),
            Type::TimeUuid => self.time_uuid(now).map(Value::TimeUuid),
            Type::Ulid => self.ulid(now).map(Value::Ulid),
            Type::Text => {
                let ulid = key::Value::Ulid(self.ulid(now)?);
                let text = scalar_text(&ulid)?;
                Ok(Value::Text(match prefix {
                    Some(prefix) => format!("{prefix}_{text}"),
                    None => text.into_owned(),
                }))
            }
            other => {
                Err(Error::new(ErrorKind::Internal, "no ids are made of this type")
                    .with("type", other))
            }
        }
    }

    fn uuid(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        self.random.fill(&mut bytes);
        let [.., version, _, variant, _, _, _, _, _, _, _] = &mut bytes;
        *version = *version & 0x0f | 0x40;
        *variant = *variant & 0x3f | 0x80;
        bytes
    }

    fn time_uuid(&self, now: Milliseconds) -> Result<[u8; 16]> {
        let ticks = now.saturating_add(UUID_EPOCH).saturating_mul(TICKS);
        let ticks = u64::try_from(ticks).unwrap_or(0);
        let tick = {
            let mut last = self.last();
            let tick = ticks.max(last.tick.saturating_add(1));
            // One call with a mad clock must not spoil those after it.
            if tick >> TICK_BITS != 0 {
                return Err(too_late(now));
            }
            last.tick = tick;
            tick
        };
        let [h0, h1, m0, m1, l0, l1, l2, l3] = tick.to_be_bytes();
        let [n0, n1, n2, n3, n4, n5, n6, n7] = self.node;
        Ok([l0, l1, l2, l3, m0, m1, h0 | 0x10, h1, n0, n1, n2, n3, n4, n5, n6, n7])
    }

    fn ulid(&self, now: Milliseconds) -> Result<[u8; 16]> {
        let mut bytes = [0; 16];
        self.random.fill(&mut bytes);
        let random = u128::from_be_bytes(bytes);
        let time = u128::try_from(now).unwrap_or(0);
        if time >> ULID_TIME_BITS != 0 {
            return Err(too_late(now));
        }
        let mut last = self.last();
        last.ulid = match time > last.ulid >> ULID_RANDOM_BITS {
            true => time << ULID_RANDOM_BITS | random >> (128 - ULID_RANDOM_BITS),
            // Not one step further but a random number of them: an id does not tell the next one.
            false => {
                let step = 1 + (random & u128::from(u32::MAX));
                last.ulid.checked_add(step).ok_or_else(|| too_late(now))?
            }
        };
        Ok(last.ulid.to_be_bytes())
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cold]
fn too_late(now: Milliseconds) -> Error {
    Error::new(ErrorKind::Overflow, "the clock is beyond the times an id can hold").with("now", now)
}
