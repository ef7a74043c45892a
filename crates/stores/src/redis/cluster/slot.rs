//! Slots: which of a cluster's 16,384 a name belongs to.
//!
//! Only what stands between the first brace and the next closing one is looked at, if that is
//! anything: names with one tag have one slot.

/// How many slots a cluster has.
pub(in crate::redis) const SLOTS: u16 = 16_384;

/// The slot of a name.
pub(in crate::redis) fn slot(name: &[u8]) -> u16 {
    check_sum(tag(name)) % SLOTS
}

/// What decides about the slot of a name.
pub(in crate::redis) fn tag(name: &[u8]) -> &[u8] {
    let within = || {
        let start = name.iter().position(|byte| *byte == b'{')? + 1;
        let rest = name.get(start..)?;
        let end = rest.iter().position(|byte| *byte == b'}')?;
        rest.get(..end).filter(|tag| !tag.is_empty())
    };
    within().unwrap_or(name)
}

/// The check sum of Redis Cluster: CRC-16 with the polynomial 0x1021, from 0 (XMODEM).
fn check_sum(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum: u16, byte| {
        (0..8).fold(sum ^ (u16::from(*byte) << 8), |sum, _| match sum & 0x8000 {
            0 => sum << 1,
            _ => (sum << 1) ^ 0x1021,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(check_sum(b"123456789"), 0x31c3);
        assert_eq!(slot(b"foo"), 12_182);
        assert_eq!(slot(b"bar"), 5_061);
        assert_eq!(slot(b"{user1000}.following"), slot(b"{user1000}.followers"));
    }

    #[test]
    fn a_tag_is_what_stands_between_the_first_braces() {
        for (name, expected) in [
            ("{user:42}:notes", "user:42"),
            ("~x:{user:42}:notes", "user:42"),
            ("foo{}{bar}", "foo{}{bar}"),
            ("foo{{bar}}zap", "{bar"),
            ("foo{bar}{zap}", "bar"),
            ("foo{bar", "foo{bar"),
            ("foo", "foo"),
        ] {
            assert_eq!(tag(name.as_bytes()), expected.as_bytes(), "{name}");
        }
    }
}
