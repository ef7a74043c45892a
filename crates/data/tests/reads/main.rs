//! Reads through the whole run time: every rule of `get`, `list` and `near`, who may call, and what
//! calls and answers look like at the edge. Every call is held to the bounds of its plan.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice
)]

mod admit;
mod cursors;
mod edge;
mod get;
mod guesses;
mod hazards;
mod list;
mod near;
mod slices;
mod support;
