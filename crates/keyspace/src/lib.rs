//! The pure half of Keyway: one file in, a proof out.

pub mod key;
