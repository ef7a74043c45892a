//! What `include_keyspace!` writes is Rust: for every application, and for names that Rust has
//! taken. That it compiles without a warning is the test; what it does is tested in `typed.rs`.

#![deny(warnings, missing_docs)]

/// Every verb and every type.
pub mod sample {
    keyway::include_keyspace!("../macros/tests/golden/sample.toml");
}

/// Names that Rust has taken.
pub mod hostile {
    keyway::include_keyspace!("tests/hostile.toml");
}

/// A chat for many guilds.
pub mod chat {
    keyway::include_keyspace!("../../apps/chat/keyspace.toml");
}

/// Histories, which are left out.
pub mod documents {
    keyway::include_keyspace!("../../apps/documents/keyspace.toml");
}

/// Events and credentials.
pub mod keri {
    keyway::include_keyspace!("../../apps/keri/keyspace.toml");
}

/// The start of an application.
pub mod scaffold {
    keyway::include_keyspace!("../../apps/scaffold/keyspace.toml");
}

/// Spreadsheets as services.
pub mod spreadapi {
    keyway::include_keyspace!("../../apps/spreadapi/keyspace.toml");
}

#[test]
fn a_keyspace_may_be_included_in_a_function() {
    keyway::include_keyspace!("examples/notes.toml");
    assert!(Notebook::KEYSPACE.contains("[collection.notes]"));
    assert_eq!(NoteState::Done.to_string(), "done");
    assert_eq!("open".parse::<NoteState>().ok(), Some(NoteState::Open));
    assert!("shut".parse::<NoteState>().is_err());
}

#[test]
fn words_of_any_spelling_are_variants() {
    let words = [sample::TicketState::Open, sample::TicketState::InProgress];
    assert_eq!(words.map(|word| word.as_str()), ["open", "in-progress"]);
}
