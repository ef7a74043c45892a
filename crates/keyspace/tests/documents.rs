//! The documents of the five applications, kept as they are expected.
//!
//! `KEYWAY_BLESS=1` writes what is made now; otherwise the first line that differs is shown.

// A helper of a test may fail as a test does.
#![allow(clippy::expect_used, clippy::panic)]

use keyspace::document::{markdown, svg};
use keyspace::model::Keyspace;
use std::path::{Path, PathBuf};

const APPS: [&str; 5] = ["chat", "documents", "keri", "scaffold", "spreadapi"];

fn keyspace_of(app: &str) -> Keyspace {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../apps/{app}/keyspace.toml"));
    let text = std::fs::read_to_string(&path).expect("the application has a keyspace file");
    let reading = keyspace::read(&text);
    reading.keyspace.unwrap_or_else(|| panic!("{app}: {:?}", reading.diagnostics))
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/document").join(name)
}

/// Compares with the file, or writes it when asked to.
fn compare(name: &str, made: &str) {
    let path = golden(name);
    if std::env::var_os("KEYWAY_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is made");
        std::fs::write(&path, made).expect("the file is written");
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let longest = kept.lines().count().max(made.lines().count());
    for number in 0..longest {
        let (kept, made) = (kept.lines().nth(number), made.lines().nth(number));
        assert_eq!(kept, made, "{name}, line {}", number + 1);
    }
    assert_eq!(kept, made, "{name}: the ends of lines differ");
}

#[test]
fn pages_are_as_expected() {
    for app in APPS {
        compare(&format!("{app}.md"), &markdown(&keyspace_of(app)));
    }
}

#[test]
fn pictures_are_as_expected() {
    for app in APPS {
        compare(&format!("{app}.svg"), &svg(&keyspace_of(app)));
    }
}

#[test]
fn pictures_are_well_formed() {
    for app in APPS {
        let text = svg(&keyspace_of(app));
        let mut open: Vec<&str> = Vec::new();
        for piece in text.split('<').skip(1) {
            let (tag, words) = piece.split_once('>').expect("a tag is closed");
            let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
            match (tag.starts_with('/'), tag.ends_with('/')) {
                (true, _) => assert_eq!(open.pop(), Some(name), "{app}"),
                (false, true) => {}
                (false, false) => open.push(name),
            }
            let entities = words.split('&').skip(1);
            assert!(entities.into_iter().all(|rest| rest.contains(';')), "{app}: {words}");
        }
        assert!(open.is_empty(), "{app}: {open:?}");
    }
}

#[test]
fn the_same_keyspace_gives_the_same_bytes() {
    for app in APPS {
        assert_eq!(markdown(&keyspace_of(app)), markdown(&keyspace_of(app)), "{app}");
        assert_eq!(svg(&keyspace_of(app)), svg(&keyspace_of(app)), "{app}");
    }
}
