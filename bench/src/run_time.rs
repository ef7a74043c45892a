//! Keyway on its engine beside the same engine driven by hand, tuned SQLite, native_db and Toasty,
//! all doing the same work in one run; prints ratios.
//!
//! Contenders take turns within each line, so that a slow moment of the machine falls on all alike;
//! the median of the rounds counts. Nothing here may favour us by giving the others more work.
//!
//! ```text
//! cargo run --release -p bench --bin run_time [--notes 1000000] [part of the name of a line]
//! ```

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

#[path = "run_time/contender.rs"]
mod contender;
#[path = "run_time/data.rs"]
mod data_set;
#[path = "run_time/hand_written.rs"]
mod hand_written;
#[path = "run_time/native.rs"]
mod native;
#[path = "run_time/sqlite.rs"]
mod sqlite;

fn main() {}
