//! Names that people or enemies choose: whatever a key holds, its file is inside the tree, has a
//! name every disk takes, and reads back as the same key.

#![cfg(all(feature = "files", unix))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod common;

use bytes::Bytes;
use common::{Folder, NOW, batch, space, totals, wait};
use data::Value;
use data::schema::Schema;
use data::store::{Durability, Key, Scan, Store, Write};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use stores::files::{FilesStore, Options};

const KEYSPACE: &str = r#"
[keyspace]
name = "names"

[collection.texts]
key    = "texts:{room: text} | {name: text}"
value  = "text"
expect = { rows_per_group = 1000 }

[collection.records]
key    = "records:{room: text} | {name: text}"
fields = { said = "text" }
expect = { rows_per_group = 1000 }

[collection.paths]
key    = "paths:{room: text} | {path: text..}"
value  = "bytes"
expect = { rows_per_group = 1000 }

[collection.both]
key    = "both:{room: text} | {left: text}:{right: text}"
value  = "text"
file   = "{left}-{right}.txt"
expect = { rows_per_group = 1000 }

[pattern]
put_text   = { put = "texts", allow = "user" }
texts      = { list = "texts", page = 10 }
put_record = { put = "records", allow = "user" }
records    = { list = "records", page = 10 }
put_path   = { put = "paths", allow = "user" }
paths      = { list = "paths", page = 10 }
put_both   = { put = "both", allow = "user" }
both       = { list = "both", page = 10 }
"#;

/// Names that mean something to a disk, a shell, a server, or to Keyway.
const HOSTILE: &[&str] = &[
    "",
    " ",
    ".",
    "..",
    "...",
    "/",
    "//",
    "\\",
    "..\\..",
    "../../etc/passwd",
    "/etc/passwd",
    "~",
    "~root",
    "%",
    "%2e%2e",
    "%2f",
    "%25",
    "%00",
    "^",
    "^a",
    "{}",
    "}{",
    "a:b",
    "a|b",
    "a\0b",
    "\0",
    "\n",
    "\u{7f}",
    "\u{feff}",
    "\u{202e}gpj.exe",
    "é",
    "e\u{301}",
    "ﬀ",
    "ı",
    "İ",
    "ß",
    "💥",
    "con",
    "CON",
    "Con.txt",
    "aux.json",
    "nul",
    "NUL.",
    "com1",
    "COM0",
    "lpt9.x.y",
    "com10",
    "conx",
    "a.",
    "a ",
    " a",
    ".a",
    "a",
    "A",
    "x.json",
    "x.JSON",
    "x.value",
    "x.fields.json",
    ".json",
    ".value",
    ".keyway",
    ".keyway/format",
    "format",
    "new-1",
    "journal-000001",
    "lock",
    "-",
    "--help",
    "-rf",
    "*",
    "?",
    "\"",
    "<>",
    "$(x)",
    "`x`",
    "'; DROP",
    "a-b",
    "-a",
    "b-",
    "~a",
    "a~2",
    ".git",
    ".DS_Store",
    "desktop.ini",
    "x/",
    "x/y",
    "x//y",
    "\u{10ffff}",
];

fn hostile() -> Vec<String> {
    let mut names: Vec<String> = HOSTILE.iter().map(ToString::to_string).collect();
    for length in [179, 180, 181, 254, 255, 256, 900] {
        names.push("n".repeat(length));
        names.push("N".repeat(length));
    }
    // Alike for longer than is kept of a name.
    names.push(format!("{}1", "m".repeat(400)));
    names.push(format!("{}2", "m".repeat(400)));
    names.push("/".repeat(300));
    names.push("💥".repeat(200));
    names
}

struct World {
    store: FilesStore,
    schema: Arc<Schema>,
}

impl World {
    fn open(folder: &Path) -> World {
        let options = Options { durability: Durability::Process, ..Options::default() };
        let store = FilesStore::open(folder, &options).unwrap();
        let keyspace = keyspace::read(KEYSPACE).keyspace.unwrap();
        let schema = wait(store.ensure(&Arc::new(keyspace))).unwrap();
        World { store, schema }
    }

    fn key(&self, collection: &str, rest: &[Value]) -> Option<Key> {
        let mut values = vec![Value::Text("room".to_string())];
        values.extend_from_slice(rest);
        // Some are longer than a key may be; they never come so far.
        self.schema.collection(collection).unwrap().key.encode(&values).ok()
    }

    fn keys(&self) -> Vec<(Key, Bytes)> {
        let names = hostile();
        let text = |name: &String| Value::Text(name.clone());
        let mut keys = Vec::new();
        for (number, name) in names.iter().enumerate() {
            let other = &names[(number * 7 + 3) % names.len()];
            let path =
                |parts: &[&String]| Value::Path(parts.iter().map(|part| (*part).clone()).collect());
            let said = Value::Text(format!("of {}", name.chars().take(9).collect::<String>()));
            let record = self.schema.collection("records").unwrap().encode(&[said]).unwrap();
            let plain = Bytes::from(name.clone());
            let all = [
                (self.key("texts", &[text(name)]), plain.clone()),
                (self.key("records", &[text(name)]), record),
                (self.key("paths", &[path(&[name])]), plain.clone()),
                (self.key("paths", &[path(&[name, other])]), plain.clone()),
                (self.key("both", &[text(name), text(other)]), plain),
            ];
            keys.extend(all.into_iter().filter_map(|(key, value)| Some((key?, value))));
        }
        keys.extend(self.key("paths", &[Value::Path(Vec::new())]).map(|key| (key, Bytes::new())));
        keys.sort();
        keys.dedup();
        keys
    }

    /// Every row, read one by one and in order.
    fn check(&self, expected: &[(Key, Bytes)]) {
        let mut listed = Vec::new();
        for collection in self.schema.collections() {
            let scan = Scan { range: space(collection.key.space), reverse: false, rows: 1_000 };
            let page = wait(self.store.scan(&scan)).unwrap();
            listed.extend(page.rows.into_iter().map(|keyed| (keyed.key, keyed.row.value)));
        }
        listed.sort();
        assert_eq!(listed, expected);
        for (key, value) in expected {
            let row = wait(self.store.get(std::slice::from_ref(key))).unwrap().remove(0);
            assert_eq!(row.map(|row| row.value).as_ref(), Some(value), "{key:?}");
        }
        assert_eq!(self.store.problems(), []);
    }
}

/// Every file below a directory, by its path.
fn files(directory: &Path, found: &mut BTreeSet<String>, root: &Path) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let shown = path.strip_prefix(root).unwrap().to_str().expect("a name in ASCII").to_string();
        if path.is_dir() {
            files(&path, found, root);
        } else {
            found.insert(shown);
        }
    }
}

#[test]
fn k8_hostile_names_stay_inside_and_come_back() {
    let folder = Folder::new();
    // A tree two levels down: what climbs out of it would be seen beside it.
    let root = folder.path().join("outer/tree");
    let world = World::open(&root);
    let rows = world.keys();
    for (number, (key, value)) in (1..).zip(&rows) {
        let put = Write::Put {
            key: key.clone(),
            value: value.clone(),
            expires: None,
            versioned: false,
            trail: None,
        };
        totals(wait(world.store.commit(&batch(number, NOW, vec![put]))));
    }
    world.check(&rows);
    wait(world.store.close()).unwrap();
    let mut found = BTreeSet::new();
    files(folder.path(), &mut found, folder.path());
    let own = found.iter().filter(|path| path.starts_with("outer/tree/.keyway/")).count();
    let tree: Vec<&str> =
        found.iter().filter_map(|path| path.strip_prefix("outer/tree/")).collect();
    assert_eq!(tree.len(), found.len(), "a file is outside the tree: {found:?}");
    assert_eq!(tree.len() - own, rows.len(), "a file a row");
    for path in tree.iter().filter(|path| !path.starts_with(".keyway")) {
        check_names(path);
    }
    // Read from the files and what is kept, and from the files of those that were not cut alone.
    World::open(&root).check(&rows);
    // Two texts in one name can be read in several ways, so those are left out.
    let is_plain = |path: &&str| !path.contains('~') && !path.starts_with("both/");
    let whole: Vec<&str> = tree.iter().copied().filter(is_plain).collect();
    let copy = folder.path().join("copy");
    drop(World::open(&copy));
    for path in whole.iter().filter(|path| !path.starts_with(".keyway")) {
        std::fs::create_dir_all(copy.join(path).parent().unwrap()).unwrap();
        std::fs::copy(root.join(path), copy.join(path)).unwrap();
    }
    let world = World::open(&copy);
    let mut listed = Vec::new();
    for collection in world.schema.collections() {
        let scan = Scan { range: space(collection.key.space), reverse: false, rows: 1_000 };
        listed.extend(wait(world.store.scan(&scan)).unwrap().rows.into_iter().map(|k| k.key));
    }
    assert_eq!(listed.len(), whole.iter().filter(|p| !p.starts_with(".keyway")).count());
    assert!(listed.iter().all(|key| rows.iter().any(|(known, _)| known == key)));
    assert_eq!(world.store.problems(), []);
}

/// Whether every disk takes the names of a path.
fn check_names(path: &str) {
    for name in path.split('/') {
        assert!(name.len() <= 255, "{path}: too long");
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-.%~".contains(c);
        assert!(name.chars().all(plain), "{path}: {name}");
        assert!(!name.starts_with('.') || name == ".value", "{path}: hidden");
        assert!(!name.ends_with('.') && !name.is_empty(), "{path}: {name}");
        let stem = name.split('.').next().unwrap().to_ascii_lowercase();
        let devices = ["con", "prn", "aux", "nul", "com1", "com0", "lpt9"];
        assert!(!devices.contains(&stem.as_str()), "{path}: a device");
    }
}

#[test]
fn a_file_whose_name_was_cut_is_refused_where_its_key_is_not_known() {
    let folder = Folder::new();
    let world = World::open(folder.path());
    wait(world.store.close()).unwrap();
    std::fs::create_dir_all(folder.path().join("texts/room")).unwrap();
    let name = format!("{}~abcdefghijklmnopqrstuvwxyz", "n".repeat(120));
    std::fs::write(folder.path().join("texts/room").join(name), "text").unwrap();
    let world = World::open(folder.path());
    assert!(world.store.problems()[0].what.contains("no part of the layout"));
}
