//! Ids: 16 bytes and their text.

use super::scalar;

/// A UUID: `123e4567-e89b-42d3-a456-426614174000`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub [u8; 16]);

/// A UUID of version 1, which holds its time: `2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d`.
///
/// Its bytes do not sort by that time, so two are not compared here; keys sort them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeUuid(pub [u8; 16]);

/// A ULID, which begins with its time: `01J8Z0M4Q3X5T7V9WBDFHKMPRS`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ulid(pub [u8; 16]);

scalar!(Uuid, [u8; 16], Uuid, uuid, "a UUID is 32 hexadecimal digits in five groups");
scalar!(TimeUuid, [u8; 16], TimeUuid, time_uuid, "a time UUID is a UUID of version 1");
scalar!(Ulid, [u8; 16], Ulid, ulid, "a ULID is 26 letters and digits");

impl Ulid {
    /// The milliseconds since 1970 it begins with.
    pub fn milliseconds(&self) -> i64 {
        let [a, b, c, d, e, f, ..] = self.0;
        i64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_back_from_their_text() {
        let uuid = "123e4567-e89b-42d3-a456-426614174000";
        assert_eq!(uuid.parse::<Uuid>().unwrap().to_string(), uuid);
        let time = "5a6f1f00-5b0c-11ec-8d3d-0242ac130003";
        assert_eq!(time.parse::<TimeUuid>().unwrap().to_string(), time);
        let ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse::<Ulid>().unwrap();
        assert_eq!(ulid.to_string().to_ascii_uppercase(), "01ARZ3NDEKTSV4RRFFQ69G5FAV");
        assert_eq!(ulid.milliseconds(), 1_469_922_850_259);
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for text in ["", "123", "123e4567-e89b-42d3-a456-42661417400g"] {
            assert_eq!(text.parse::<Uuid>().unwrap_err().kind(), data::ErrorKind::Argument);
        }
        // Of version 4: it holds no time.
        assert!("123e4567-e89b-42d3-a456-426614174000".parse::<TimeUuid>().is_err());
    }
}
