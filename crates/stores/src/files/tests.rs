//! Tests of the parts that nobody outside sees.
