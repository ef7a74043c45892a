//! The keyspace that the tests of this folder print: one of everything, in `sample.toml`.

use crate::model::Keyspace;

pub(super) fn keyspace() -> Keyspace {
    let reading = crate::read(include_str!("sample.toml"));
    reading.keyspace.unwrap_or_else(|| panic!("{:?}", reading.diagnostics))
}
