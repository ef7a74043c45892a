//! The waist between patterns and stores, the run time above it, and the suite every store passes.
//!
//! ```text
//! call ─match─▶ pattern ─bind─▶ rows ─diff indexes─▶ write set ─protocol─▶ batch ─commit─▶ STORE
//!                  └────bind────▶ plan step + cursor ─────────────────────read page─────▶ STORE
//! ```
//!
//! This crate names no backend and no protocol of a wire. Time and chance come in as arguments.

pub mod caller;
pub mod catalogue;
pub mod change;
pub mod clock;
pub mod entries;
pub mod error;
pub mod evaluate;
pub mod geo;
pub mod ids;
pub mod maintain;
pub mod memory;
pub mod protocol;
pub mod record;
pub mod request;
pub mod schema;
pub mod session;
pub mod store;
#[cfg(feature = "suite")]
pub mod suite;
pub mod value;
pub mod watch;

pub use caller::Caller;
pub use error::{Error, ErrorKind, Result};
pub use value::Value;
