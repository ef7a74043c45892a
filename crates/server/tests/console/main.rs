//! What the console asks for: who may, and that nothing is left out or shown twice.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod entry;
mod export;
mod rows;
mod scrub;
mod support;
mod tokens;
mod traffic;
