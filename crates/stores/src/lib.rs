//! The native backends of Keyway, a folder each, the same files in each.
//!
//! This is the only crate that links database drivers; nothing above it names one.
