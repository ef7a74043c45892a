//! Calls of patterns.
