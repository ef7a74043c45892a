//! What a key looks like before it has values: types, directions and tags.
//!
//! The tags are frozen: a number here is stored in every database. Add a tag, never move one.

/// The type of one key segment.
///
/// There is no type for enums. An enum is stored as the text of its value, so that adding a
/// value to the list moves no stored key, and every store sorts enums alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyType {
    /// `false` before `true`.
    Bool,
    /// A signed integer; shares one number line with [`KeyType::U64`].
    I64,
    /// An unsigned integer; shares one number line with [`KeyType::I64`].
    U64,
    /// A float. Negative zero is stored as zero, NaN is refused, infinities are kept.
    F64,
    /// Bytes, in unsigned order.
    Bytes,
    /// UTF-8 text, in byte order, which is code point order. Never normalised or folded.
    Text,
    /// A list of texts; a path sorts before everything beneath it.
    Path,
    /// Any UUID, in byte order.
    Uuid,
    /// A version 1 UUID, in order of time.
    TimeUuid,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    Timestamp,
    /// A ULID, in byte order, which is order of time.
    Ulid,
    /// The number of a cell of the earth's surface.
    Cell,
    /// Days since 1970-01-01 in the proleptic Gregorian calendar.
    Date,
}

impl KeyType {
    /// Every type.
    pub const ALL: [KeyType; 13] = [
        KeyType::Bool,
        KeyType::I64,
        KeyType::U64,
        KeyType::F64,
        KeyType::Bytes,
        KeyType::Text,
        KeyType::Path,
        KeyType::Uuid,
        KeyType::TimeUuid,
        KeyType::Timestamp,
        KeyType::Ulid,
        KeyType::Cell,
        KeyType::Date,
    ];

    /// A segment of this type in ascending order.
    #[must_use]
    pub const fn ascending(self) -> Segment {
        Segment { kind: self, direction: Direction::Ascending, nullable: false }
    }

    /// A segment of this type in descending order.
    #[must_use]
    pub const fn descending(self) -> Segment {
        Segment { kind: self, direction: Direction::Descending, nullable: false }
    }
}

/// Whether a segment sorts from low to high or from high to low.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Direction {
    /// From low to high.
    #[default]
    Ascending,
    /// From high to low.
    Descending,
}

impl Direction {
    /// What every byte of a segment is combined with: nothing, or its complement.
    #[inline]
    pub(super) const fn mask(self) -> u8 {
        match self {
            Self::Ascending => 0x00,
            Self::Descending => 0xff,
        }
    }
}

/// The shape of one segment of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Segment {
    /// The type of its value.
    pub kind: KeyType,
    /// The direction it sorts in.
    pub direction: Direction,
    /// Whether null may stand for the value. Only entries of optional fields need it.
    pub nullable: bool,
}

impl Segment {
    /// The same segment, with null allowed. Null sorts before every value.
    #[must_use]
    pub const fn or_null(self) -> Self {
        Self { nullable: true, ..self }
    }
}

/// The first byte of an ascending segment; a descending one begins with the complement.
pub(super) mod tag {
    pub const NULL: u8 = 0x05;
    pub const FALSE: u8 = 0x0a;
    pub const TRUE: u8 = 0x0b;
    /// Zero. A positive integer of n bytes has `INTEGER + n`, a negative one `INTEGER - n`.
    pub const INTEGER: u8 = 0x18;
    pub const INTEGER_MIN: u8 = 0x10;
    pub const INTEGER_MAX: u8 = 0x20;
    pub const F64: u8 = 0x28;
    pub const BYTES: u8 = 0x30;
    pub const TEXT: u8 = 0x31;
    pub const PATH: u8 = 0x32;
    pub const UUID: u8 = 0x38;
    pub const TIME_UUID: u8 = 0x39;
    pub const TIMESTAMP: u8 = 0x3a;
    pub const ULID: u8 = 0x3b;
    pub const CELL: u8 = 0x3c;
    pub const DATE: u8 = 0x3d;

    /// Whether an ascending segment can begin with `byte`.
    pub const fn is_known(byte: u8) -> bool {
        matches!(
            byte,
            NULL | FALSE | TRUE | INTEGER_MIN..=INTEGER_MAX | F64 | BYTES..=PATH | UUID..=DATE
        )
    }
}
