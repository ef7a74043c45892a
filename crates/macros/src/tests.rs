//! What a keyspace file becomes, word for word; `KEYWAY_BLESS=1` writes the expectations anew.
//!
//! That it is Rust, and does what it says, is proved where it is compiled: in `keyway`.

use crate::expand::expand;
use std::path::{Path, PathBuf};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(golden(name)).unwrap()
}

#[track_caller]
fn expect(name: &str, found: &str) {
    if std::env::var_os("KEYWAY_BLESS").is_some() {
        std::fs::write(golden(name), found).unwrap();
    }
    assert!(found == text(name), "{name} differs: run with KEYWAY_BLESS=1 and read the difference");
}

#[test]
fn a_keyspace_becomes_rust() {
    let code = expand(&text("sample.toml"), "sample.toml", "sample.toml");
    expect("sample.expanded", &code);
}

#[test]
fn errors_of_the_file_are_errors_of_the_compiler() {
    let code = expand(&text("broken.toml"), "broken.toml", "crates/notes/broken.toml");
    expect("broken.expanded", &code);
    let unescaped = code.replace("\\n", "\n");
    assert!(unescaped.contains("--> crates/notes/broken.toml:6:21"), "{unescaped}");
    assert!(unescaped.contains("error[KW"), "{unescaped}");
    assert!(code.contains("include_bytes!"), "the compiler looks again when the file changes");
}

#[test]
fn a_file_of_another_place_keeps_its_path() {
    let code = expand(&text("sample.toml"), "/etc/sample.toml", "/etc/sample.toml");
    assert!(code.contains("::std::include_str!(\"/etc/sample.toml\")"));
}
