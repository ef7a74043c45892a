//! KW108: a key leaves its texts enough of the 1,024 bytes.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::limits::{KEY_BYTES_MAX, TEXT_SEGMENT_BYTES_ASSUMED};
use crate::model::{Part, Type};
use crate::parse::grouped;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for key in facts.keys() {
        let mut fixed = 0;
        let mut free = 0;
        for part in &key.key().parts {
            fixed += 1;
            match part {
                Part::Literal(text) => fixed += text.len() as u64,
                Part::Segment(segment) => match shown_bytes(&segment.segment_type) {
                    Some(bytes) => fixed += bytes,
                    None => free += 1,
                },
            }
        }
        if fixed + free * TEXT_SEGMENT_BYTES_ASSUMED <= KEY_BYTES_MAX as u64 {
            continue;
        }
        let message = format!(
            "a key has at most {} bytes: here {} are fixed, and {free} texts of {} go beyond",
            grouped(KEY_BYTES_MAX as u64),
            grouped(fixed),
            TEXT_SEGMENT_BYTES_ASSUMED
        );
        problems.push(
            Diagnostic::new(&codes::KEY_TOO_LONG, key.key().span, message)
                .fix("shorten the literals, or leave segments out that others imply")
                .fix("or make long parts fields, and index their `hash(…)`"),
        );
    }
}

/// The most bytes a segment takes in the text form of a key.
fn shown_bytes(segment_type: &Type) -> Option<u64> {
    Some(match segment_type {
        Type::Bool => 5,
        Type::I64 | Type::U64 => 20,
        Type::F64 => 24,
        Type::Uuid | Type::TimeUuid => 36,
        Type::Ulid => 26,
        Type::Timestamp => 28,
        Type::Date => 10,
        other => return other.bytes_max(),
    })
}
