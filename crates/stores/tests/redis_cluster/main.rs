//! The Redis store on a real cluster of six nodes: its promises, what a person sees in the nodes,
//! and what happens while slots move, masters are killed and replicas take over.

#![cfg(feature = "redis")]
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test fails by panicking"
)]

#[path = "../redis/app.rs"]
#[allow(dead_code, reason = "each test file uses a part of it")]
mod app;
mod faults;
mod plain;
mod promises;
mod removed;
mod seen;
#[path = "../common/seen.rs"]
mod seen_common;
mod support;
mod trips;
mod work;
#[path = "../common/written.rs"]
mod written;
