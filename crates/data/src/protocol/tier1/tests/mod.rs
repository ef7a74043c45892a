//! Tests of the protocol over group-atomic stores.
