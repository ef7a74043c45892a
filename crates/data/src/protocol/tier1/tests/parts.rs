//! The parts of the protocol, one by one.

use keyspace::model::{Keyspace, StoreKind};
use std::sync::{Arc, OnceLock};

/// The keyspace of these tests.
pub(super) fn keyspace() -> Arc<Keyspace> {
    static KEYSPACE: OnceLock<Arc<Keyspace>> = OnceLock::new();
    let read = || {
        let text = include_str!("keyspace.toml");
        let reading = keyspace::check::read_for(text, &[StoreKind::Cassandra]);
        let problems: Vec<&String> = reading.diagnostics.iter().map(|of| &of.message).collect();
        Arc::new(reading.keyspace.unwrap_or_else(|| panic!("{problems:#?}")))
    };
    KEYSPACE.get_or_init(read).clone()
}
