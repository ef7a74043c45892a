//! The pure half of Keyway: one file in, a proof out.
//!
//! ```text
//! keyspace.toml ─parse─▶ tree ─check─▶ keyspace ─plan─▶ plans ─layout─▶ DDL, keys, paths
//!                 └────── every diagnostic, with its place ──────┘
//! ```
//!
//! Nothing in this crate reads a file, opens a connection, asks the time or makes a random number;
//! text comes in as an argument and everything else goes out as values.

pub mod check;
pub mod diagnostic;
pub mod document;
pub mod format;
pub mod key;
pub mod layout;
pub mod model;
pub mod parse;
pub mod plan;
pub mod schema;
pub mod source;
pub mod starter;

pub use check::{Reading, read, read_for};
