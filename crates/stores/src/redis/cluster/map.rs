//! The map of a cluster: which node is the master of which slot.
//!
//! ```text
//! CLUSTER SLOTS ─▶ 0 … 5460 127.0.0.1:7000, its replicas │ 5461 … ─▶ owner of each slot
//! ```
//!
//! A map is never changed: a newer one takes its place.

use super::slot::SLOTS;
use crate::redis::error::unexpected;
use data::Result;
use redis::Value;

/// Where a node is.
pub(in crate::redis) type Address = (String, u16);

/// Says that nobody serves a slot.
const NOBODY: u16 = u16::MAX;

/// Which node is the master of which slot.
#[derive(Clone, Debug)]
pub(in crate::redis) struct Map {
    /// The masters that have slots.
    pub(super) masters: Vec<Address>,
    /// Their replicas.
    pub(super) replicas: Vec<Address>,
    /// For each slot the number of its master.
    owners: Vec<u16>,
}

impl Map {
    /// A map on which nobody serves anything.
    pub(super) fn empty() -> Map {
        let owners = vec![NOBODY; usize::from(SLOTS)];
        Map { masters: Vec::new(), replicas: Vec::new(), owners }
    }

    /// The map that a node answers. One that does not know its own address means the one it was
    /// asked at.
    pub(super) fn read(answer: Value, asked: &Address) -> Result<Map> {
        let mut map = Map::empty();
        for range in parts(answer)? {
            let mut range = parts(range)?.into_iter();
            let (Some(Value::Int(first)), Some(Value::Int(last)), Some(master)) =
                (range.next(), range.next(), range.next())
            else {
                return Err(unexpected());
            };
            let master = map.number(address(master, asked)?)?;
            for slot in first.max(0)..=last.min(i64::from(SLOTS) - 1) {
                let place = usize::try_from(slot).ok().and_then(|slot| map.owners.get_mut(slot));
                *place.ok_or_else(unexpected)? = master;
            }
            for replica in range {
                let replica = address(replica, asked)?;
                if !map.replicas.contains(&replica) {
                    map.replicas.push(replica);
                }
            }
        }
        Ok(map)
    }

    /// The master of a slot.
    pub(in crate::redis) fn owner(&self, slot: u16) -> Option<&Address> {
        let number = self.owners.get(usize::from(slot))?;
        self.masters.get(usize::from(*number))
    }

    /// The same map, with another master of one slot.
    pub(super) fn with_owner(&self, slot: u16, address: Address) -> Result<Map> {
        let mut map = self.clone();
        let number = map.number(address)?;
        *map.owners.get_mut(usize::from(slot)).ok_or_else(unexpected)? = number;
        Ok(map)
    }

    fn number(&mut self, address: Address) -> Result<u16> {
        let known = self.masters.iter().position(|known| *known == address);
        let number = known.unwrap_or_else(|| {
            self.masters.push(address);
            self.masters.len() - 1
        });
        u16::try_from(number).ok().filter(|number| *number != NOBODY).ok_or_else(unexpected)
    }
}

fn parts(answer: Value) -> Result<Vec<Value>> {
    match answer {
        Value::Array(parts) => Ok(parts),
        _ => Err(unexpected()),
    }
}

fn address(node: Value, asked: &Address) -> Result<Address> {
    let mut node = parts(node)?.into_iter();
    let host = match node.next() {
        Some(Value::BulkString(host)) => String::from_utf8(host).map_err(|_| unexpected())?,
        Some(Value::SimpleString(host)) => host,
        _ => String::new(),
    };
    let Some(Value::Int(port)) = node.next() else { return Err(unexpected()) };
    let port = u16::try_from(port).map_err(|_| unexpected())?;
    Ok((known_host(&host, asked), port))
}

/// A host, or the one that was asked where a node does not know it.
pub(super) fn known_host(host: &str, asked: &Address) -> String {
    if host.is_empty() || host == "?" { asked.0.clone() } else { host.to_string() }
}

/// `host:port`; a host may hold colons.
pub(super) fn parse_address(text: &str, asked: &Address) -> Option<Address> {
    let (host, port) = text.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Some((known_host(host, asked), port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn node(host: &str, port: i64) -> Value {
        let id = Value::BulkString(b"id".to_vec());
        Value::Array(vec![Value::BulkString(host.as_bytes().to_vec()), Value::Int(port), id])
    }

    #[test]
    fn a_map_knows_the_master_of_each_slot_and_the_slots_of_nobody() {
        let range = |first, last, nodes: Vec<Value>| {
            Value::Array([vec![Value::Int(first), Value::Int(last)], nodes].concat())
        };
        let answer = Value::Array(vec![
            range(0, 99, vec![node("a", 1), node("b", 2)]),
            range(200, 16_383, vec![node("", 3)]),
        ]);
        let asked = ("here".to_string(), 9);
        let map = Map::read(answer, &asked).unwrap();
        assert_eq!(map.owner(0), Some(&("a".to_string(), 1)));
        assert_eq!(map.owner(99), Some(&("a".to_string(), 1)));
        assert_eq!(map.owner(100), None);
        assert_eq!(map.owner(16_383), Some(&("here".to_string(), 3)));
        assert_eq!(map.replicas, [("b".to_string(), 2)]);
        let moved = map.with_owner(7, ("c".to_string(), 4)).unwrap();
        assert_eq!(moved.owner(7), Some(&("c".to_string(), 4)));
        assert_eq!(moved.owner(8), map.owner(8));
    }

    #[test]
    fn addresses_may_hold_colons_or_no_host() {
        let asked = ("here".to_string(), 9);
        assert_eq!(parse_address("127.0.0.1:70", &asked), Some(("127.0.0.1".to_string(), 70)));
        assert_eq!(parse_address("::1:70", &asked), Some(("::1".to_string(), 70)));
        assert_eq!(parse_address(":70", &asked), Some(("here".to_string(), 70)));
        assert_eq!(parse_address("x", &asked), None);
    }
}
