//! What native stores share: keys and ranges of keys, taken apart into the values of their
//! segments.
//!
//! ```text
//! waist: encoded keys, ranges of bytes ─▶ values of segments ─▶ columns, names, files
//! ```
//!
//! Nothing here knows a store, and nothing here writes or reads one.

mod first;
pub mod key;
pub mod range;
#[cfg(test)]
mod tests;
pub mod ulid;
