//! The tree that the applications leave is the one `keyway layout` prints: no file more, none less,
//! of every kind that is printed, with the names in it that the examples have.
//!
//! The layout is read as people read it, from its print; the store's own code has no say here.

#![cfg(unix)]
#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test fails by panicking"
)]

use data::maintain::Scrub;
use data::store::{Durability, Store};
use data::suite::patterns::{play, read};
use data::suite::{Options, block_on};
use keyspace::layout;
use keyspace::model::{Keyspace, StoreKind, Type};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use stores::files::FilesStore;

const APPS: [&str; 5] = ["chat", "keri", "scaffold", "spreadapi", "documents"];

/// What an application's own calls take away again, left where it is.
const LEFT: [(&str, &str); 2] = [
    (
        "scaffold",
        r#"= everything stays [scaffold]
ann> save_note {"title": "t", "content": "c"} -> {}
ann> put_preferences {"value": {"dark": true, "size": 3}} -> {}
r#admin> put_config {"name": "c", "value": 1} -> {}
r#admin> put_template {"name": "t", "value": {"a": []}} -> {}
ann> count {"name": "visits"} -> {"total": 1}
"#,
    ),
    (
        "spreadapi",
        r#"= caches stay [spreadapi]
g#gateway> cache_api {"serviceId": "s", "value": {"a": 1}} -> {}
g#gateway> cache_result {"serviceId": "s", "hash": "AAAA", "value": 7} -> {}
"#,
    ),
];

/// A kind of file as the layout prints it.
#[derive(Debug)]
struct Printed {
    collection: String,
    template: String,
    about: String,
    /// The names in its example, if it holds fields.
    members: Option<BTreeSet<String>>,
}

/// The names in a JSON object.
fn members(json: &str) -> BTreeSet<String> {
    let object: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{json} is no object: {error}"));
    object.into_iter().map(|(name, _)| name).collect()
}

/// The kinds of files a layout prints, and the names in `.keyway`.
fn printed(keyspace: &Keyspace) -> (Vec<Printed>, Vec<String>) {
    let text = layout::print(keyspace, StoreKind::Files);
    let (mut kinds, mut own) = (Vec::new(), Vec::new());
    let mut collection = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let line = line.trim();
        match indent {
            0 => collection = line.split(' ').next().unwrap_or_default().to_string(),
            4 if line.starts_with(".keyway/") => {
                let name = line.trim_start_matches(".keyway/").split(' ').next().unwrap();
                own.push(name.to_string());
            }
            4 if !line.starts_with("in memory ") => {
                let about = lines.peek().map(|about| about.trim().to_string()).unwrap();
                let (collection, template) = (collection.clone(), line.to_string());
                kinds.push(Printed { collection, template, about, members: None });
            }
            8 if line.starts_with("> ") => {
                let kind = kinds.last_mut().unwrap();
                let has_fields = ["a record, JSON", "its fields, JSON"].contains(&&*kind.about);
                if let Some((_, example)) = line.split_once("  holds  ").filter(|_| has_fields) {
                    kind.members = Some(members(example));
                }
            }
            _ => {}
        }
    }
    (kinds, own)
}

/// Whether a path is one of a template: a member is a name, or several where it is a path.
fn fits(keyspace: &Keyspace, template: &str, path: &str) -> bool {
    match template.split_once('{') {
        None => template == path,
        Some((literal, rest)) => {
            let Some(path) = path.strip_prefix(literal) else { return false };
            let (name, rest) = rest.split_once('}').unwrap();
            let mut types = keyspace.collections.iter().filter_map(|c| c.member_type(name));
            let is_path = types.any(|of| *of == Type::Path);
            let least = usize::from(!is_path);
            (least..=path.len())
                .filter(|end| is_path || !path[..*end].contains('/'))
                .any(|end| fits(keyspace, rest, &path[end..]))
        }
    }
}

fn files(directory: &Path, root: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => {
                let count = std::fs::read_dir(&path).unwrap().count();
                assert!(count > 0, "{} is empty", path.display());
                files(&path, root, found);
            }
            false => {
                found.insert(path.strip_prefix(root).unwrap().to_str().unwrap().to_string());
            }
        }
    }
}

fn open(path: &Path) -> FilesStore {
    let options = stores::files::Options {
        durability: Durability::Process,
        ..stores::files::Options::default()
    };
    FilesStore::open(path, &options).expect("a tree can be opened")
}

/// Plays an application's calls; each script leaves a tree.
fn trees(name: &str, keyspace: &Arc<Keyspace>, folder: &Path) -> Vec<PathBuf> {
    let calls = std::fs::read_to_string(format!("../apps/{name}/calls.cases")).unwrap();
    let calls: &'static str = calls.leak();
    let number = AtomicU32::new(0);
    let made = std::sync::Mutex::new(Vec::new());
    let make = || {
        let path = folder.join(format!("{name}-{}", number.fetch_add(1, Ordering::SeqCst)));
        let store: Arc<dyn Store> = Arc::new(open(&path));
        made.lock().unwrap().push(path);
        Box::pin(async { store }) as _
    };
    let mut scripts = read(calls).unwrap();
    let left = LEFT.iter().filter(|(app, _)| *app == name);
    scripts.extend(left.flat_map(|(_, calls)| read(calls).unwrap()));
    let report = block_on(play(&scripts, keyspace, &make, &Options::default())).unwrap();
    assert!(report.failed.is_empty(), "{name}: {report}");
    made.into_inner().unwrap()
}

/// Looks at one tree: every file is one of the layout, and every row has its files.
fn compare(keyspace: &Arc<Keyspace>, tree: &Path, seen: &mut BTreeMap<String, usize>) {
    let (kinds, own) = printed(keyspace);
    let mut found = BTreeSet::new();
    files(tree, tree, &mut found);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    for path in &found {
        if let Some(name) = path.strip_prefix(".keyway/") {
            let plain =
                |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_string();
            assert!(own.iter().any(|known| plain(known) == plain(name)), "{path} is not printed");
            assert!(!name.starts_with("new-"), "{path} was left behind");
            continue;
        }
        let kind = kinds.iter().find(|kind| fits(keyspace, &kind.template, path));
        let kind = kind.unwrap_or_else(|| panic!("{path} is not in the layout"));
        *counts.entry(&kind.template).or_default() += 1;
        *seen.entry(kind.template.clone()).or_default() += 1;
        let content = std::fs::read(tree.join(path)).unwrap();
        check_content(kind, path, &content);
        *lines.entry(&kind.template).or_default() +=
            content.iter().filter(|byte| **byte == b'\n').count();
    }
    let store = open(tree);
    let schema = block_on(store.ensure(keyspace)).unwrap();
    for kind in &kinds {
        let Ok(collection) = schema.collection(&kind.collection) else { continue };
        let (space, files) = match kind.about.strip_prefix("index ") {
            None => (collection.key.space, counts.get(kind.template.as_str())),
            Some(about) => {
                let name = about.split(',').next().unwrap();
                let index = collection.indexes.iter().find(|index| index.name() == name).unwrap();
                (index.key.space, lines.get(kind.template.as_str()))
            }
        };
        let rows = rows(&store, space);
        assert_eq!(files.copied().unwrap_or(0), rows, "{}: {}", tree.display(), kind.template);
    }
    let clock = data::clock::ManualClock::at(0);
    let random = data::clock::SeededRandom::new(1);
    let scrub =
        Scrub { store: &store, schema: &schema, clock: &clock, random: &random, repair: false };
    let counts = block_on(scrub.run(&mut |_, _| {})).unwrap();
    assert_eq!(counts.problems, 0, "{}", tree.display());
    assert_eq!(store.problems(), []);
}

/// What the layout says is in a file.
fn check_content(kind: &Printed, path: &str, content: &[u8]) {
    let text = || std::str::from_utf8(content).unwrap_or_else(|_| panic!("{path} is no text"));
    match kind.about.as_str() {
        "a record, JSON" | "its fields, JSON" | "a JSON value" => {
            let lines = text().lines().count();
            assert!(text().ends_with('\n'), "{path}");
            assert!(
                !text().starts_with('{') || lines > 1 || text() == "{}\n",
                "{path} is one line"
            );
            assert_eq!(kind.members.is_some(), kind.about != "a JSON value", "{kind:?}");
            if let Some(printed) = &kind.members {
                assert_eq!(members(text()), *printed, "{path}");
            }
        }
        "a count, decimal digits" => {
            assert!(text().parse::<i64>().is_ok(), "{path}: {}", text());
        }
        "empty: the key is all there is" => assert!(content.is_empty(), "{path}"),
        _ => {}
    }
}

/// Histories are printed and not written yet.
fn is_history(keyspace: &Keyspace, kind: &Printed) -> bool {
    let mut histories = keyspace.collections.iter().filter(|of| of.history.is_some());
    histories.any(|history| history.name.value == kind.collection)
}

fn rows(store: &FilesStore, space: u16) -> usize {
    let bound = |number: u16| bytes::Bytes::copy_from_slice(&number.to_be_bytes());
    let range = data::store::Range { start: bound(space), end: bound(space + 1) };
    let scan = data::store::Scan { range, reverse: false, rows: 1_000 };
    block_on(store.scan(&scan)).unwrap().rows.len()
}

#[test]
fn the_tree_is_what_the_layout_prints() {
    let folder = std::env::temp_dir().join(format!("keyway-trees-{}", std::process::id()));
    let mut seen = BTreeMap::new();
    for name in APPS {
        let text = std::fs::read_to_string(format!("../apps/{name}/keyspace.toml")).unwrap();
        let keyspace = Arc::new(keyspace::read(&text).keyspace.unwrap());
        let mut of_app = BTreeMap::new();
        for tree in trees(name, &keyspace, &folder) {
            compare(&keyspace, &tree, &mut of_app);
        }
        for kind in printed(&keyspace).0.iter().filter(|kind| !is_history(&keyspace, kind)) {
            assert!(of_app.contains_key(&kind.template), "{name} leaves no {kind:?}");
        }
        seen.append(&mut of_app);
    }
    // What people would expect to find.
    for template in [
        "kel/{aid}/{said}.{event_type}.cesr",
        "meta/kel/{said}.json",
        "idx/kel/{aid}/{sn}",
        "idx/prev/{prior}",
        "acdc/{said}.json",
        "head/{log}/{id}",
        "alias/{scope}/{alias}",
        "guild/{guild_id}/members/{user_id}.json",
        "message/{message_id}/reactions/count/{emoji}",
        "service/{service_id}/analytics/{metric}",
        "user/{user_id}/posts/{post_id}.json",
        "chunk/{doc_id}/{path}.value",
    ] {
        assert!(seen.contains_key(template), "no {template} in {seen:?}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
