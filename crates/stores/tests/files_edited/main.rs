//! What somebody else does to the files of a tree is noticed and respected, or reported; never
//! overlooked, and no file of theirs is lost.

#![cfg(all(feature = "files", unix))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod comings;
#[path = "../common/mod.rs"]
mod common;
mod edits;
mod opening;
mod reported;
mod support;
