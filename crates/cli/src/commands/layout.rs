//! `keyway layout`: what a store would hold, or what each of them would.

use crate::answer::{Answer, Form};
use crate::arguments::Layout;
use crate::json;
use crate::report::read_sound;
use keyspace::model::StoreKind;
use serde::Serialize;

/// One store's layout, as `--json` prints it.
#[derive(Debug, Serialize)]
struct StoreLayout {
    store: &'static str,
    text: String,
}

/// All of them.
#[derive(Debug, Serialize)]
struct Layouts {
    layouts: Vec<StoreLayout>,
}

/// Prints one layout, or all with their names over them.
pub(crate) fn run(options: &Layout, form: Form) -> Answer {
    let keyspace = match read_sound(&options.file, form) {
        Ok(keyspace) => keyspace,
        Err(answer) => return answer,
    };
    let of = |store: StoreKind| StoreLayout {
        store: store.name(),
        text: keyspace::layout::print(&keyspace, store),
    };
    match (options.store, form.json) {
        (Some(store), true) => Answer::done(json::text(&of(store))),
        (Some(store), false) => Answer::done(of(store).text),
        (None, true) => {
            let layouts = StoreKind::ALL.into_iter().map(of).collect();
            Answer::done(json::text(&Layouts { layouts }))
        }
        (None, false) => {
            let headed = |layout: StoreLayout| {
                format!("=== {} ===\n\n{}\n", layout.store, layout.text.trim_end())
            };
            let texts: Vec<String> = StoreKind::ALL.into_iter().map(of).map(headed).collect();
            Answer::done(texts.join("\n"))
        }
    }
}
