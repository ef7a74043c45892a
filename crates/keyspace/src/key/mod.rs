//! Typed key segments to ordered bytes and back.
