//! A server as callers meet it: what is asked over HTTP, and what is answered.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod access;
mod calls;
mod club;
mod conditions;
mod hostile;
mod moving;
mod numbers;
mod streams;
mod support;
mod tenants;
mod wire;
