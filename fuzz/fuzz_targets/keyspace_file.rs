//! Any bytes as a keyspace file: never a panic, never a hang, and what is accepted can be planned,
//! laid out, documented and formatted.

#![no_main]

use keyspace::diagnostic::render::{Style, render};
use keyspace::model::StoreKind;
use keyspace::{document, layout, plan};
use libfuzzer_sys::fuzz_target;

/// Problems that are drawn of one file.
const DRAWN: usize = 8;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    if let Err(problem) = keyspace::decode(data) {
        render(&problem, "fuzz.toml", &text, Style::PLAIN);
    }
    let reading = keyspace::read(&text);
    if let Ok(tidy) = keyspace::format::format(&text) {
        assert_eq!(keyspace::format::format(&tidy).ok().as_ref(), Some(&tidy));
    }
    for problem in reading.diagnostics.iter().take(DRAWN) {
        render(problem, "fuzz.toml", &text, Style::PLAIN);
        render(problem, "fuzz.toml", &text, Style { colour: true, width: 30 });
    }
    let Some(keyspace) = reading.keyspace else { return };
    for one in plan::plans(&keyspace) {
        plan::explain::text(&keyspace, &one, None);
    }
    for store in StoreKind::ALL {
        layout::print(&keyspace, store);
    }
    document::markdown(&keyspace);
    document::mermaid(&keyspace);
    document::svg(&keyspace);
});
