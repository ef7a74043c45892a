//! Opening: whose folder it is, that one process has it, and what is left when a store is closed.

#![cfg(feature = "engine")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use common::{Folder, NOW, batch, key, put, totals, wait};
use data::ErrorKind;
use data::store::{Durability, Store};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use stores::engine::{EngineStore, Options};

fn options(durability: Durability) -> Options {
    Options { durability, ..Options::default() }
}

fn open(path: &Path) -> EngineStore {
    EngineStore::open(path, &options(Durability::Process)).unwrap()
}

fn refused(path: &Path) -> data::Error {
    EngineStore::open(path, &Options::default()).expect_err("it must be refused")
}

/// Every file below a folder, with what it holds.
fn content(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => {
                found.insert(path.display().to_string(), Vec::new());
                found.extend(content(&path));
            }
            false => {
                found.insert(path.display().to_string(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn what_was_committed_is_there_after_opening_anew() {
    for durability in [Durability::None, Durability::Process, Durability::Power] {
        for is_closed in [true, false] {
            let folder = Folder::new();
            let row = key(1, "a");
            {
                let store = EngineStore::open(folder.path(), &options(durability)).unwrap();
                assert_eq!(store.describe().durability, durability);
                let write = put(row.clone(), "value", Some(NOW + 5));
                totals(wait(store.commit(&batch(1, NOW, vec![write]))));
                if is_closed {
                    wait(store.close()).unwrap();
                }
            }
            let store = EngineStore::open(folder.path(), &options(durability)).unwrap();
            let found = wait(store.get(&[row])).unwrap().remove(0).unwrap();
            assert_eq!(found.value, "value");
            assert_eq!(found.version, Some(common::id(1)));
            assert_eq!(found.expires, Some(NOW + 5));
            // The same batch again is known, so it is not committed twice.
            totals(wait(store.commit(&batch(1, NOW, Vec::new()))));
        }
    }
}

#[test]
fn a_second_opener_learns_who_has_the_folder() {
    let folder = Folder::new();
    let first = open(folder.path());
    let error = refused(folder.path());
    assert_eq!(error.kind(), ErrorKind::Locked);
    assert_eq!(error.value("pid"), Some(std::process::id().to_string().as_str()));
    assert_eq!(error.value("folder"), Some(folder.path().display().to_string().as_str()));
    assert!(error.value("program").unwrap().starts_with("open-"));
    drop(first);
    open(folder.path());
}

#[test]
fn a_closed_store_lets_go_and_answers_nothing() {
    let folder = Folder::new();
    let store = open(folder.path());
    wait(store.close()).unwrap();
    wait(store.close()).unwrap();
    let again = open(folder.path());
    assert_eq!(wait(store.get(&[key(1, "a")])).unwrap_err().kind(), ErrorKind::Unavailable);
    let error = wait(store.commit(&batch(1, NOW, Vec::new()))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    drop(store);
    assert!(wait(again.get(&[key(1, "a")])).unwrap()[0].is_none());
}

#[test]
fn another_format_is_refused_and_left_alone() {
    let folder = Folder::new();
    drop(open(folder.path()));
    let format = folder.path().join("format");
    assert_eq!(fs::read_to_string(&format).unwrap(), "keyway engine 2\n");
    for (text, kept) in [
        ("keyway engine 3\nkeyspace notes\n", Some("3")),
        ("keyway engine 1\n", Some("1")),
        ("another program\n", None),
        ("", None),
    ] {
        fs::write(&format, text).unwrap();
        let before = content(folder.path());
        let error = refused(folder.path());
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{text}");
        assert_eq!(error.value("format"), kept, "{text}");
        assert!(content(folder.path()) == before, "{text}");
    }
    fs::write(&format, "keyway engine 2\nkeyspace notes\n").unwrap();
    open(folder.path());
}

#[test]
fn a_folder_of_somebody_else_is_refused_and_left_alone() {
    let things: [&[(&str, &str)]; 5] = [
        &[("notes.txt", "mine")],
        &[("lock", "held by me")],
        &[("lock", ""), ("fjall/version", "FJL")],
        &[("fjall/version", "FJL")],
        &[("lock", "keyway engine\npid 1\n"), ("fjall/version", "x"), ("more", "")],
    ];
    for files in things {
        let folder = Folder::new();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let before = content(folder.path());
        let error = refused(folder.path());
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{files:?}");
        assert!(content(folder.path()) == before, "{files:?}");
    }
}

#[test]
fn a_file_where_the_folder_should_be_is_refused() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path()).unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "mine").unwrap();
    assert_eq!(refused(&file).kind(), ErrorKind::Mismatch);
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn a_store_whose_making_was_cut_off_is_made_anew() {
    let left: [&[(&str, &str)]; 4] = [
        &[],
        &[("lock", "")],
        &[("lock", "keyway engine\npid 1\n"), ("format.new", "keyway eng")],
        &[("lock", "keyway engine\npid 1\n"), ("witness", ""), ("fjall/0.jnl", "")],
    ];
    for files in left {
        let folder = Folder::new();
        fs::create_dir_all(folder.path()).unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let store = open(folder.path());
        totals(wait(store.commit(&batch(1, NOW, vec![put(key(1, "a"), "v", None)]))));
    }
}

#[test]
fn a_keyspace_keeps_its_numbers() {
    let folder = Folder::new();
    let keyspace = data::suite::keyspace().unwrap();
    let store = open(folder.path());
    let first = wait(store.ensure(&keyspace)).unwrap();
    drop(store);
    let format = fs::read_to_string(folder.path().join("format")).unwrap();
    assert_eq!(format, format!("keyway engine 2\nkeyspace {}\n", keyspace.name.value));
    // The same file again, and one whose collections have another order.
    let mut turned = (*keyspace).clone();
    turned.collections.reverse();
    for keyspace in [keyspace.clone(), turned.into()] {
        let store = open(folder.path());
        let again = wait(store.ensure(&keyspace)).unwrap();
        assert_eq!(again.catalogue().spaces, first.catalogue().spaces);
    }
    let mut other = (*keyspace).clone();
    other.name.value = "another".to_string();
    let error = wait(open(folder.path()).ensure(&other.into())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
}
