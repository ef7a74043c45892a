//! The native backends of Keyway, a folder each, the same files in each.
//!
//! ```text
//! data::Store ◀── engine/   a folder on this machine, no server: the default store
//!             ◀── redis/    one Redis server: Hashes, Sets and sorted sets, one script a commit
//! ```
//!
//! This is the only crate that links database drivers; nothing above it names one.

#[cfg(feature = "engine")]
pub mod engine;
#[cfg(feature = "redis")]
pub mod redis;
