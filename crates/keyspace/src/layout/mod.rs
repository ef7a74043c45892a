//! What each store would hold: data first, then print.

pub mod postgres;
pub mod remarks;
mod sql;
pub mod sqlite;
pub mod tables;
pub mod words;
