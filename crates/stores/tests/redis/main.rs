//! The Redis store against real servers: its promises, what a person sees in the server, round
//! trips, and what happens when servers and connections break.

#![cfg(feature = "redis")]
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test fails by panicking"
)]

mod app;
mod changes;
mod claims;
mod deadlines;
mod ends;
mod faults;
mod foreign;
mod pages;
mod promises;
mod refusals;
mod seen;
#[path = "../common/seen.rs"]
mod seen_common;
mod settings;
mod support;
mod trips;
mod truncated;
mod values;
mod walks;
#[path = "../redis_cluster/work.rs"]
#[allow(dead_code, reason = "a cluster is looked at in more ways")]
mod work;
#[path = "../common/written.rs"]
mod written;
