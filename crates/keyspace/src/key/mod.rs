//! Typed key segments to ordered bytes and back, and the text form of a key.
//!
//! ```text
//!   values ──write──▶ bytes ──read──▶ values       what stores keep and compare
//!     └─────format──▶ text ──parse──▶ values       what people, Redis and addresses see
//! ```
//!
//! Comparing two keys byte by byte compares their values segment by segment, each in its own
//! direction. The format is frozen: it is written down in `docs/reference/key-encoding.md` and
//! held by the vectors beside the tests. Nothing here may change the bytes of a key that was
//! ever stored, give one key two spellings, or change a value on the way.
//!
//! ```
//! use keyspace::key::{Direction::*, KeyReader, KeyWriter, children};
//!
//! # fn main() -> Result<(), keyspace::key::Error> {
//! let mut bytes = Vec::new();
//! let mut writer = KeyWriter::new(&mut bytes, 7);
//! writer.text("room", Ascending)?;
//! let room = writer.written();
//! writer.timestamp(1_794_736_800_000, Descending)?;
//!
//! let mut reader = KeyReader::new(&bytes)?;
//! assert_eq!(reader.text(Ascending)?, "room");
//! assert_eq!(reader.timestamp(Descending)?, 1_794_736_800_000);
//! reader.finish()?;
//!
//! let messages = children(bytes.get(..room).unwrap_or_default());
//! assert!(messages.contains(&bytes));
//! # Ok(())
//! # }
//! ```

mod error;
mod escape;
mod range;
mod read;
mod shape;
pub mod text;
mod value;
mod write;

pub use error::{Error, ErrorKind};
pub use range::{KeyRange, between, children, starts, under};
pub use read::{KeyReader, decode};
pub use shape::{Direction, KeyType, Segment};
pub use value::Value;
pub use write::{KeyWriter, encode, encode_front};

pub use crate::model::limits::{KEY_BYTES_MAX, KEY_SEGMENTS_MAX, KEY_TEXT_BYTES_MAX};
