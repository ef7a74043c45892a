//! Where rows live: what order a group gives, and which rows have one place.
//!
//! ```text
//! template    user:{user_id}:notes | {note_id}
//! group       user:{user_id}:notes                a Cassandra partition
//! place       user:{user_id}                      a Redis Cluster hash tag
//! ```

use crate::model::{Key, Part, Segment};

/// The segment a list is sorted by: the first that is not fixed. None if the key is used up.
pub fn order_given<'a>(key: &'a Key, by: &[String]) -> Option<&'a Segment> {
    key.segments().find(|segment| !by.contains(&segment.name))
}

/// The parts of a group that decide where it lives on Redis Cluster: those through its last typed
/// segment, or all if it has none.
pub fn place(key: &Key) -> &[Part] {
    let group = key.group();
    let last = group.iter().rposition(|part| part.segment().is_some());
    last.and_then(|last| group.get(..=last)).unwrap_or(group)
}
