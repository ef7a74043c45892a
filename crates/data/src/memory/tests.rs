//! Tests of what only the stores in memory have.
