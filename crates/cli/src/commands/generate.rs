//! `keyway generate`: what other programs read of a keyspace.

use crate::answer::{Answer, Form};
use crate::arguments::{Generate, GenerateOpenApi};
use crate::report::read_sound;
use keyspace::model::StoreKind;

/// Prints it.
pub(crate) fn run(command: &Generate, form: Form) -> Answer {
    match command {
        Generate::OpenApi(options) => open_api(options, form),
    }
}

/// The OpenAPI document is JSON in either form.
fn open_api(options: &GenerateOpenApi, form: Form) -> Answer {
    let keyspace = match read_sound(&options.file, form) {
        Ok(keyspace) => keyspace,
        Err(answer) => return answer,
    };
    let first = keyspace.stores.first().map(|store| store.value);
    let store = options.store.or(first).unwrap_or(StoreKind::Engine);
    Answer::done(server::describe::openapi_text(&keyspace, store))
}
