//! Recognisable: after the five applications' calls, every key in the server, its type and the
//! fields of its Hash are a line of the printed layout, and every line and field of it was seen.

use crate::support::{ahead, in_runtime, options, store};
use async_trait::async_trait;
use data::schema::Schema;
use data::store::{Batch, Description, Key, Outcome, Page, Row, Scan, Store};
use data::suite::patterns::{play, read};
use keyspace::model::{Keyspace, StoreKind};
use servers::redis::RedisServer;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex};

const APPS: [(&str, &str, &str); 5] = [
    (
        "chat",
        include_str!("../../../../apps/chat/keyspace.toml"),
        include_str!("../../../../apps/chat/calls.cases"),
    ),
    (
        "keri",
        include_str!("../../../../apps/keri/keyspace.toml"),
        include_str!("../../../../apps/keri/calls.cases"),
    ),
    (
        "scaffold",
        include_str!("../../../../apps/scaffold/keyspace.toml"),
        include_str!("../../../../apps/scaffold/calls.cases"),
    ),
    (
        "spreadapi",
        include_str!("../../../../apps/spreadapi/keyspace.toml"),
        include_str!("../../../../apps/spreadapi/calls.cases"),
    ),
    (
        "documents",
        include_str!("../../../../apps/documents/keyspace.toml"),
        include_str!("../../../../apps/documents/calls.cases"),
    ),
];

/// A line of the layout: a type, and a name of literals and `{segments}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    of: String,
    name: String,
    /// The fields of its example, if it is a Hash whose fields have names of their own.
    fields: Option<BTreeSet<String>>,
}

/// The lines of a printed layout that name keys.
fn lines(printed: &str) -> Vec<Line> {
    let types = ["Hash", "Sorted set", "Set", "String"];
    let mut lines: Vec<Line> = Vec::new();
    let mut is_named = false;
    for line in printed.lines() {
        if let Some(told) = line.strip_prefix("        ") {
            match (told.strip_prefix("> HSET "), lines.last_mut()) {
                (Some(example), Some(last)) if is_named && last.fields.is_none() => {
                    let names = words(example).into_iter().skip(1).step_by(2);
                    last.fields = Some(names.collect());
                }
                // The fields of counters and of versions are keys.
                (None, _) => is_named |= told == "a record" || told.starts_with("index "),
                _ => {}
            }
            continue;
        }
        is_named = false;
        let Some(line) = line.strip_prefix("    ") else { continue };
        let Some(of) = types.iter().find(|of| line.starts_with(**of)) else { continue };
        let name = line[of.len()..].trim().trim_end_matches("(helper)").trim();
        lines.push(Line { of: (*of).to_string(), name: name.to_string(), fields: None });
    }
    lines
}

/// The words of a command as a shell reads them.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (end, Some(begun)) if end == begun => quote = None,
            ('\\', Some('"')) => word.get_or_insert_default().extend(letters.next()),
            (' ', None) => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// Whether a key is of a line: as many parts, the same literals, and a path is any number.
fn is_of(line: &Line, separator: char, paths: &BTreeSet<String>, key: &str, of: &str) -> bool {
    let parts: Vec<&str> = line.name.split(separator).collect();
    let found: Vec<&str> = key.split(separator).collect();
    let has_path = parts.last().is_some_and(|last| paths.contains(*last));
    let fits = |(part, found): (&&str, &&str)| part.starts_with('{') || part == found;
    let counts = match has_path {
        true => found.len() + 1 >= parts.len(),
        false => found.len() == parts.len(),
    };
    let expected = match line.of.as_str() {
        "Hash" => "hash",
        "Set" => "set",
        "Sorted set" => "zset",
        _ => "string",
    };
    counts && parts.iter().zip(&found).all(fits) && of == expected
}

/// All keys of a server with their types.
fn keys(server: &RedisServer) -> BTreeSet<(String, String)> {
    let names = server.cli(&["--raw", "KEYS", "*"]);
    let typed = |name: &str| (name.to_string(), server.cli(&["TYPE", name]));
    names.lines().filter(|name| !name.is_empty()).map(typed).collect()
}

/// The fields of a Hash, each with the line it is of; those that no line has are the error.
fn own_fields(
    server: &RedisServer,
    key: &str,
    lines: &[&Line],
) -> Result<Vec<(String, String)>, BTreeSet<String>> {
    let all = server.cli(&["--raw", "HKEYS", key]);
    let all: BTreeSet<String> = all.lines().map(str::to_string).collect();
    let has = |line: &&&Line| line.fields.as_ref().is_some_and(|fields| all.is_subset(fields));
    match lines.iter().find(has) {
        Some(line) => Ok(all.into_iter().map(|field| (line.name.clone(), field)).collect()),
        None => Err(all),
    }
}

/// The fields of the layout that no record ever had, each with its line. What may be null is a
/// field only where a call gives it.
fn unseen_fields(
    keyspace: &Keyspace,
    lines: &[Line],
    seen: &BTreeSet<(String, String)>,
) -> Vec<(String, String)> {
    let fields = keyspace.collections.iter().flat_map(|collection| collection.fields());
    let optional = fields.filter(|field| field.field_type.is_optional());
    let optional: BTreeSet<String> = optional.map(|field| keyspace.shown(&field.name)).collect();
    let of = |line: &Line| -> Vec<(String, String)> {
        let fields = line.fields.iter().flatten().filter(|field| !optional.contains(*field));
        fields.map(|field| (line.name.clone(), field.clone())).collect()
    };
    lines.iter().flat_map(of).filter(|field| !seen.contains(field)).collect()
}

/// What is done after each commit.
type Look = Arc<dyn Fn() + Send + Sync>;

/// A store after each of whose commits somebody looks: scripts remove much of what they write.
struct Watched {
    store: Arc<dyn Store>,
    look: Look,
}

impl fmt::Debug for Watched {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(formatter)
    }
}

#[async_trait]
impl Store for Watched {
    fn describe(&self) -> Description {
        self.store.describe()
    }

    async fn ensure(&self, keyspace: &Arc<Keyspace>) -> data::Result<Arc<Schema>> {
        self.store.ensure(keyspace).await
    }

    async fn get(&self, keys: &[Key]) -> data::Result<Vec<Option<Row>>> {
        self.store.get(keys).await
    }

    async fn scan(&self, scan: &Scan) -> data::Result<Page> {
        self.store.scan(scan).await
    }

    async fn walk(&self, scan: &Scan) -> data::Result<Page> {
        self.store.walk(scan).await
    }

    async fn commit(&self, batch: &Batch) -> data::Result<Outcome> {
        let outcome = self.store.commit(batch).await;
        (self.look)();
        outcome
    }

    async fn sweep(&self, now: i64, rows: usize) -> data::Result<usize> {
        self.store.sweep(now, rows).await
    }
}

#[test]
fn the_keys_of_the_applications_are_those_of_the_layout() {
    let server = Arc::new(RedisServer::start(&[]));
    for (name, file, calls) in APPS {
        let keyspace = Arc::new(keyspace::read(file).keyspace.unwrap());
        let separator = keyspace.separator;
        let segments = keyspace.collections.iter().flat_map(|of| of.key.segments());
        let is_path = |s: &&keyspace::model::Segment| s.segment_type == keyspace::model::Type::Path;
        let paths: BTreeSet<String> =
            segments.filter(is_path).map(|segment| format!("{{{}}}", segment.name)).collect();
        let printed = keyspace::layout::redis::print(&keyspace, StoreKind::Redis);
        let lines = lines(&printed);
        let seen: Arc<Mutex<BTreeSet<Line>>> = Arc::default();
        let fields: Arc<Mutex<BTreeSet<(String, String)>>> = Arc::default();
        let look = {
            let (server, lines, seen) = (server.clone(), lines.clone(), seen.clone());
            let fields = fields.clone();
            move || {
                for (key, of) in keys(&server) {
                    let is_known = |line: &&Line| is_of(line, separator, &paths, &key, &of);
                    let known: Vec<&Line> = lines.iter().filter(is_known).collect();
                    assert!(!known.is_empty(), "{name}: {key} ({of}) is nowhere in\n{printed}");
                    if of == "hash" && known.iter().all(|line| line.fields.is_some()) {
                        let own = own_fields(&server, &key, &known);
                        fields.lock().unwrap().extend(own.unwrap_or_else(|strange| {
                            panic!("{name}: {key} has {strange:?}, which is not in\n{printed}")
                        }));
                    }
                    seen.lock().unwrap().extend(known.into_iter().cloned());
                }
            }
        };
        let look: Look = Arc::new(look);
        let report = in_runtime(async {
            let make = || {
                server.cli(&["FLUSHALL"]);
                let (look, server) = (look.clone(), server.clone());
                Box::pin(async move {
                    let store = ahead(store(&server).await as Arc<dyn Store>);
                    Arc::new(Watched { store, look }) as Arc<dyn Store>
                }) as _
            };
            play(&read(calls).unwrap(), &keyspace, &make, &options()).await.unwrap()
        });
        assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{name}: {report}");
        let seen = seen.lock().unwrap();
        let unseen: Vec<&Line> = lines.iter().filter(|line| !seen.contains(line)).collect();
        // Histories are checked now and run later.
        let history = |line: &&&Line| name == "documents" && line.name.starts_with("doc:{doc_id}");
        let unseen: Vec<&&Line> = unseen.iter().filter(|line| !history(line)).collect();
        assert!(unseen.is_empty(), "{name}: never seen: {unseen:?}");
        let fields = fields.lock().unwrap();
        let unseen = unseen_fields(&keyspace, &lines, &fields);
        assert!(unseen.is_empty(), "{name}: never seen: {unseen:?}");
    }
}
