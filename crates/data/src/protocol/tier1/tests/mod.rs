//! Tests of the protocol over group-atomic stores: its parts, its costs, and all of it at once.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice
)]

mod parts;
mod readers;
mod simulation;
mod unversioned;
mod wire;
mod world;

pub(in crate::protocol) use parts::keyspace;
