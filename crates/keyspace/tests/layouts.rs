//! What each store would hold of each keyspace, kept as text: `golden/layout/<app>/<store>.txt`.
//!
//! `KEYWAY_BLESS=1 cargo test --test layouts` writes the expectations anew.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use keyspace::layout::cql::{self, CqlLayout, CqlTable};
use keyspace::layout::tables::{Holds, Purpose, Role};
use keyspace::layout::{self, postgres, sqlite};
use keyspace::model::{Keyspace, StoreKind};
use std::path::{Path, PathBuf};

/// The applications, whose keyspaces stand in `apps/`.
const APPS: [&str; 5] = ["chat", "documents", "keri", "scaffold", "spreadapi"];
/// Keyspaces written for these tests, beside their layouts.
const OURS: [&str; 3] = ["ledger", "shapes", "types"];
/// Every kind but ScyllaDB, whose tables are Cassandra's.
const STORES: [StoreKind; 9] = [
    StoreKind::Memory,
    StoreKind::Engine,
    StoreKind::Files,
    StoreKind::Sqlite,
    StoreKind::Postgres,
    StoreKind::Redis,
    StoreKind::RedisCluster,
    StoreKind::Cassandra,
    StoreKind::IndexedDb,
];

#[test]
fn layouts_are_as_expected() {
    let mut differences = Vec::new();
    for name in APPS.into_iter().chain(OURS) {
        let keyspace = keyspace(name);
        for store in STORES {
            let expected = golden().join(name).join(format!("{store}.txt"));
            differences.extend(compare(&layout::print(&keyspace, store), &expected));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn every_collection_and_index_has_one_table() {
    for name in APPS.into_iter().chain(OURS) {
        let keyspace = keyspace(name);
        let mut wanted: Vec<String> = Vec::new();
        for collection in &keyspace.collections {
            wanted.push(collection.name.value.clone());
            wanted.extend(collection.indexes.iter().map(|index| index.name.value.clone()));
        }
        wanted.sort();
        let cql = cql::layout(&keyspace).tables.into_iter().map(|table| table.table.purpose);
        let sqlite = sqlite::layout(&keyspace).tables.into_iter().map(|table| table.table.purpose);
        let postgres =
            postgres::layout(&keyspace).tables.into_iter().map(|table| table.table.purpose);
        for purposes in [cql.collect::<Vec<_>>(), sqlite.collect(), postgres.collect()] {
            let mut served: Vec<String> = purposes.iter().flat_map(serves).collect();
            served.sort();
            assert_eq!(served, wanted, "{name}");
        }
    }
}

fn serves(purpose: &Purpose) -> Vec<String> {
    match purpose {
        Purpose::Rows(members) => members.iter().map(|member| member.collection.clone()).collect(),
        Purpose::Entries { index, .. } => vec![index.clone()],
        _ => Vec::new(),
    }
}

#[test]
fn names_of_tables_and_columns_are_unique() {
    let is_unique = |names: Vec<&String>| {
        let distinct: std::collections::BTreeSet<_> = names.iter().collect();
        distinct.len() == names.len()
    };
    for name in APPS.into_iter().chain(OURS) {
        let layout = cql::layout(&keyspace(name));
        assert!(is_unique(layout.tables.iter().map(|table| &table.table.name).collect()));
        for CqlTable { table, .. } in &layout.tables {
            assert!(is_unique(table.columns.iter().map(|column| &column.name).collect()));
            let ends = table.expires.as_ref();
            assert!(ends.is_none_or(|end| table.columns.iter().any(|c| c.name == *end)));
        }
    }
}

#[test]
fn only_conditional_tables_of_cassandra_have_versions() {
    let layout = cql::layout(&keyspace("chat"));
    let seven = [
        ("messages_by_channel", false),
        ("users", true),
        ("users_by_email", true),
        ("channels", true),
        ("user_guilds", false),
        ("guild_members", false),
        ("guilds", true),
    ];
    for (name, is_conditional) in seven {
        let table = table(&layout, name);
        assert_eq!(table.is_conditional, is_conditional, "{name}");
        let has_version = table.table.column(&Holds::Version).is_some();
        let has_attempt = table.table.column(&Holds::Attempt).is_some();
        assert_eq!(has_version || has_attempt, is_conditional, "{name}");
    }
}

/// Written by hand from the questions (`apps/chat/README.md`), and never blessed: another key would
/// answer them by more than one partition, in another order, or not at all. Columns of the store's
/// own begin with `_`.
#[test]
fn the_tables_of_the_chat_have_the_keys_and_columns_that_its_questions_ask_for() {
    let seven = [
        // AP-2, AP-1: a channel's messages, newest first, in partitions of a few days.
        (
            "messages_by_channel",
            "channel_id timeuuid, bucket timestamp",
            "message_id timeuuid desc",
            "author_id uuid, content text",
        ),
        // AP-3: a user by id.
        ("users", "user_id uuid", "", "email text, display_name text, created_at timestamp"),
        // AP-4: the user of an address, of which there is one.
        ("users_by_email", "email text", "", "user_id uuid"),
        // AP-5, AP-6: a guild's channels in the order of their creation, or one of them.
        ("channels", "guild_id uuid", "channel_id timeuuid asc", "name text"),
        // AP-7: the guilds of a user.
        ("user_guilds", "user_id uuid", "guild_id uuid asc", ""),
        // AP-8, AP-10: the members of a guild, each once.
        ("guild_members", "guild_id uuid", "user_id uuid asc", "joined_at timestamp"),
        // AP-9: a guild by id.
        ("guilds", "guild_id uuid", "", "name text, created_at timestamp"),
    ];
    let layout = cql::layout(&keyspace("chat"));
    for (name, partition, clustering, others) in seven {
        let expected = [partition, clustering, others];
        assert_eq!(columns(table(&layout, name)), expected, "{name}");
    }
}

/// The columns of a table's partition key, those that order rows in it, and those of fields.
fn columns(table: &CqlTable) -> [String; 3] {
    let (mut partition, mut clustering, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for column in &table.table.columns {
        let named = format!("{} {}", column.name, column.native);
        match column.role {
            Role::Group => partition.push(named),
            Role::Order { descending: true } => clustering.push(format!("{named} desc")),
            Role::Order { descending: false } => clustering.push(format!("{named} asc")),
            Role::Value if column.name.starts_with('_') => {}
            Role::Value => others.push(named),
        }
    }
    [partition.join(", "), clustering.join(", "), others.join(", ")]
}

#[test]
fn collections_of_one_group_share_a_table_of_cassandra() {
    let layout = cql::layout(&keyspace("ledger"));
    let ledger = table(&layout, "ledger");
    let Purpose::Rows(members) = &ledger.table.purpose else { panic!("not rows") };
    let kinds: Vec<_> = members.iter().map(|m| (&*m.collection, m.kind.as_deref())).collect();
    assert_eq!(kinds, [("accounts", Some("account")), ("transfers", Some("transfer"))]);
    assert_eq!(ledger.table.column(&Holds::Position(0)).unwrap().name, "id");
    // Keys of several shapes sort by their encoded form.
    assert!(table(&layout, "shop").table.column(&Holds::Rest).is_some());
    // A declared name wins over the group's literal.
    assert!(table(&layout, "sides").table.column(&Holds::Kind).is_some());
}

fn table<'a>(layout: &'a CqlLayout, name: &str) -> &'a CqlTable {
    layout.tables.iter().find(|table| table.table.name == name).unwrap()
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/layout")
}

fn keyspace(name: &str) -> Keyspace {
    let apps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps");
    let folder = if OURS.contains(&name) { golden() } else { apps };
    let path = folder.join(name).join("keyspace.toml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let reading = keyspace::read(&text);
    let messages: Vec<&str> = reading.diagnostics.iter().map(|d| d.message.as_str()).collect();
    let problems = messages.join("\n");
    reading.keyspace.unwrap_or_else(|| panic!("{}\n{problems}", path.display()))
}

/// The first differing line, or nothing; with `KEYWAY_BLESS` the file is written instead.
fn compare(found: &str, path: &Path) -> Option<String> {
    if std::env::var_os("KEYWAY_BLESS").is_some() {
        std::fs::create_dir_all(path.parent()?).unwrap();
        std::fs::write(path, found).unwrap();
        return None;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected == found {
        return None;
    }
    let mut lines = expected.lines().zip(found.lines()).enumerate();
    let (number, expected, found) = match lines.find(|(_, (expected, found))| expected != found) {
        Some((number, (expected, found))) => (number + 1, expected, found),
        None => (expected.lines().count().min(found.lines().count()) + 1, "…", "…"),
    };
    Some(format!("{}:{number}\n  expected {expected}\n  found    {found}", path.display()))
}
