//! Changes, rule by rule: on a store that is atomic as a whole and on one that is atomic by group.
//!
//! Every call is held to the bounds of its plan, and every test ends with a proof that all indexes
//! are true.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice
)]

mod add;
mod atomic;
mod delete;
mod done_before;
mod hazards;
mod insert;
mod limits;
mod many;
mod owners;
mod put;
mod repeated;
mod retries;
mod take;
mod update;
mod world;
