//! Recognisable: after the five applications' calls, every key in a server, its type and the fields
//! of its Hash are a line of the printed layout.
//!
//! A cluster's print has its tags in braces and its segments in angles; here both are read as the
//! print of one server is.

#![allow(dead_code, reason = "each test file uses a part of it")]

use async_trait::async_trait;
use data::schema::Schema;
use data::store::{Batch, Description, Key, Outcome, Page, Row, Scan, Store, Stretch};
use keyspace::model::{Keyspace, StoreKind};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// The applications: their names, files and calls.
pub const APPS: [(&str, &str, &str); 5] = [
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
pub struct Line {
    of: String,
    pub name: String,
    /// The fields of its example, if it is a Hash whose fields have names of their own.
    pub fields: Option<BTreeSet<String>>,
}

/// The lines of a printed layout that name keys.
pub fn lines(printed: &str) -> Vec<Line> {
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
        let found = types.iter().find_map(|of| Some((of, line.strip_prefix(*of)?)));
        let Some((of, name)) = found else { continue };
        let name = name.trim().trim_end_matches("(helper)").trim();
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

/// A key of a server.
#[derive(Clone, Debug)]
pub struct Held {
    /// Its name, without the braces of a cluster.
    pub name: String,
    /// Its type.
    pub of: String,
    /// The fields of a Hash.
    pub fields: BTreeSet<String>,
}

/// What a server is asked by [`LOOK`]: all keys with their types and fields, as JSON.
pub const LOOK: &str = "local all = {} \
    for _, name in ipairs(redis.call('KEYS', '*')) do \
      local of = redis.call('TYPE', name)['ok'] \
      all[#all + 1] = {name, of, of == 'hash' and redis.call('HKEYS', name) or {}} \
    end \
    return #all > 0 and cjson.encode(all) or '[]'";

/// The keys that a server answers to [`LOOK`].
pub fn held(answer: &str) -> Vec<Held> {
    let found: Vec<serde_json::Value> = serde_json::from_str(answer).expect(answer);
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_string();
    let each = found.iter().map(|found| {
        let mut name = text(&found[0]);
        name.retain(|letter| !matches!(letter, '{' | '}'));
        // Lua knows no difference between an empty list and an empty object.
        let fields = found[2].as_array().into_iter().flatten().map(text).collect();
        Held { name, of: text(&found[1]), fields }
    });
    each.collect()
}

/// A layout, and what of it was seen.
pub struct Seen {
    app: &'static str,
    printed: String,
    separator: char,
    paths: BTreeSet<String>,
    pub lines: Vec<Line>,
    pub seen: BTreeSet<Line>,
    /// The fields that were seen, each with its line.
    pub fields: BTreeSet<(String, String)>,
}

impl Seen {
    /// Nothing of a layout yet.
    pub fn new(app: &'static str, keyspace: &Keyspace, store: StoreKind) -> Seen {
        let segments = keyspace.collections.iter().flat_map(|of| of.key.segments());
        let is_path = |s: &&keyspace::model::Segment| s.segment_type == keyspace::model::Type::Path;
        let paths = segments.filter(is_path).map(|segment| format!("{{{}}}", segment.name));
        let mut printed = keyspace::layout::redis::print(keyspace, store);
        if store == StoreKind::RedisCluster {
            printed.retain(|letter| !matches!(letter, '{' | '}'));
            printed =
                printed.replace('<', "{").replace('>', "}").replace("        } ", "        > ");
        }
        Seen {
            app,
            separator: keyspace.separator,
            paths: paths.collect(),
            lines: lines(&printed),
            printed,
            seen: BTreeSet::new(),
            fields: BTreeSet::new(),
        }
    }

    /// Looks at what a server holds: everything is of a line.
    pub fn look(&mut self, held: Vec<Held>) {
        let Seen { app, printed, .. } = self;
        for Held { name, of, fields } in held {
            let is_known = |line: &&Line| is_of(line, self.separator, &self.paths, &name, &of);
            let known: Vec<&Line> = self.lines.iter().filter(is_known).collect();
            assert!(!known.is_empty(), "{app}: {name} ({of}) is nowhere in\n{printed}");
            if of == "hash" && known.iter().all(|line| line.fields.is_some()) {
                let has =
                    |line: &&&Line| line.fields.as_ref().is_some_and(|own| fields.is_subset(own));
                let Some(line) = known.iter().find(has) else {
                    panic!("{app}: {name} has {fields:?}, which is not in\n{printed}")
                };
                self.fields.extend(fields.into_iter().map(|field| (line.name.clone(), field)));
            }
            self.seen.extend(known.into_iter().cloned());
        }
    }
}

/// The fields of the layout that no record ever had, each with its line. What may be null is a
/// field only where a call gives it.
pub fn unseen_fields(
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
pub type Look = Arc<dyn Fn() + Send + Sync>;

/// A store after each of whose commits somebody looks: scripts remove much of what they write.
pub struct Watched {
    pub store: Arc<dyn Store>,
    pub look: Look,
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

    async fn walk_from(
        &self,
        space: u16,
        mark: Option<&[u8]>,
        rows: usize,
    ) -> data::Result<Option<Stretch>> {
        self.store.walk_from(space, mark, rows).await
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
