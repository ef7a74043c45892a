//! What a person finds in Cassandra with its own tools: the tables that the layout prints, rows in
//! readable columns, and no lightweight transaction where none is needed.

use crate::app::{App, item};
use crate::{new_place, open, runtime};
use data::Value;
use data::clock::SystemRandom;
use data::maintain::Scrub;
use data::request::{self, Runtime};
use data::store::{Batch, CommitId, Outcome, Store, Write};
use data::suite::patterns::{play, read};
use keyspace::layout::cql;
use keyspace::layout::tables::Role;
use keyspace::model::Keyspace;
use serde_json::{Value as Json, json};
use servers::cassandra::Cassandra;
use std::collections::BTreeMap;
use std::sync::Arc;

const CHAT: &str = include_str!("../../../../apps/chat/keyspace.toml");

/// In seconds.
const DAY: u64 = 24 * 60 * 60;

/// Who calls.
const USER: &str = "0a4d55a8-d778-4022-8d3e-8f1e1e2f3a4b";

fn keyspace(text: &str) -> Arc<Keyspace> {
    Arc::new(keyspace::read(text).keyspace.expect("the file is right"))
}

/// Each table with its columns: name, type, part in the key, its place in that part, direction.
type Structure = BTreeMap<String, Vec<[String; 5]>>;

fn found(server: &Cassandra, place: &str) -> Structure {
    let mut tables = Structure::new();
    let columns = "SELECT table_name, column_name, type, kind, CAST(position AS text), \
                   clustering_order FROM system_schema.columns WHERE keyspace_name";
    for row in server.cql(&format!("{columns} = '{place}'")) {
        let [table, column @ ..] = <[String; 6]>::try_from(row).unwrap();
        tables.entry(table).or_default().push(column);
    }
    tables.values_mut().for_each(|columns| columns.sort());
    tables
}

fn printed(keyspace: &Keyspace) -> Structure {
    let mut tables = Structure::new();
    for table in cql::layout(keyspace).tables {
        let columns = tables.entry(table.table.name.clone()).or_default();
        for column in &table.table.columns {
            let (kind, order) = match column.role {
                Role::Group => ("partition_key", "none"),
                Role::Order { descending: true } => ("clustering", "desc"),
                Role::Order { descending: false } => ("clustering", "asc"),
                Role::Value => ("regular", "none"),
            };
            // Columns that are no part of the key have no place.
            let before = columns.iter().filter(|[_, _, other, ..]| other == kind).count();
            let place = if kind == "regular" { "-1".to_string() } else { before.to_string() };
            let (name, native) = (column.name.as_str(), column.native.to_string());
            columns.push([name, &native, kind, &place, order].map(str::to_string));
        }
        columns.sort();
    }
    tables
}

#[test]
fn the_applications_run_and_leave_what_the_layout_prints() {
    let files = [
        (CHAT, include_str!("../../../../apps/chat/calls.cases")),
        (
            include_str!("../../../../apps/keri/keyspace.toml"),
            include_str!("../../../../apps/keri/calls.cases"),
        ),
        (
            include_str!("../../../../apps/scaffold/keyspace.toml"),
            include_str!("../../../../apps/scaffold/calls.cases"),
        ),
        (
            include_str!("../../../../apps/spreadapi/keyspace.toml"),
            include_str!("../../../../apps/spreadapi/calls.cases"),
        ),
        (
            include_str!("../../../../apps/documents/keyspace.toml"),
            include_str!("../../../../apps/documents/calls.cases"),
        ),
    ];
    // Rows of several groups in one call: the checker refuses them on Cassandra too.
    let refused = [
        "a key event log and its head",
        "registries",
        "a draft and its owner",
        "publishing",
        "a client within the service's own limit",
        "tokens",
    ];
    runtime().block_on(async {
        let server = Cassandra::shared();
        for (file, calls) in files {
            let (place, keyspace) = (new_place(), keyspace(file));
            let store: Arc<dyn Store> = open(server, &place);
            let make = || {
                crate::empty(server, &place);
                let store = store.clone();
                Box::pin(async { store }) as _
            };
            let scripts = read(calls).unwrap();
            let options = data::suite::Options::default();
            let report = play(&scripts, &keyspace, &make, &options).await.unwrap();
            let name = &keyspace.name.value;
            assert!(report.failed.is_empty(), "{name}: {report}");
            for (script, _) in &report.not_offered {
                assert!(refused.contains(script), "{name}: {script} is refused: {report}");
            }
            assert_eq!(found(server, &place), printed(&keyspace), "{name}");
        }
    });
}

async fn call(runtime: &Runtime, pattern: &str, arguments: Json) -> Json {
    let prepared = runtime.pattern(pattern).unwrap();
    let Json::Object(arguments) = arguments else { panic!("arguments are an object") };
    let given = prepared.given_from_json(runtime.keyspace(), &arguments).unwrap();
    let caller = data::caller::Caller::user(USER);
    let call = request::Call::new(prepared, given, &caller);
    let reply = runtime.call(call).await.unwrap_or_else(|error| panic!("{pattern}: {error}"));
    reply.answer.to_json(runtime.schema()).unwrap()
}

/// How many statements a server was sent that were not prepared.
fn unprepared(server: &Cassandra) -> u64 {
    let asked = "SELECT CAST(value AS text) FROM system_views.cql_metrics WHERE name = ";
    let counted = server.cql(&format!("{asked}'regular_statements_executed'"));
    counted[0][0].parse::<f64>().unwrap() as u64
}

/// AP-10 is one LOGGED BATCH of two tables, AP-1 one INSERT: a lightweight transaction would leave
/// its state behind.
#[test]
fn plain_collections_are_never_written_by_lightweight_transactions() {
    runtime().block_on(async {
        let server = Cassandra::start();
        let place = new_place();
        let store: Arc<dyn Store> = open(&server, &place);
        let (clock, random) = (Arc::new(crate::support::RealClock), SystemRandom::start().unwrap());
        let options = request::Options::new(clock, Arc::new(random));
        let chat = Runtime::open(store, keyspace(CHAT), options).await.unwrap();
        let judged = || -> usize {
            server.cql("SELECT CAST(count(*) AS text) FROM system.paxos")[0][0].parse().unwrap()
        };
        // The most partitions that a batch of this kind has had.
        let batches = |kind: &str| -> u64 {
            let asked = "SELECT CAST(max AS text) FROM system_views.batch_metrics WHERE name = ";
            let most = server.cql(&format!("{asked}'partitions_per_{kind}_batch'"));
            most[0][0].parse::<f64>().unwrap() as u64
        };
        let regular = || unprepared(&server);
        // The first UUIDs say which version all have: the catalogue notes it by a transaction.
        call(&chat, "join_guild", json!({"guild_id": "0b33d9ab-3c7d-4c4c-9a5a-4ad2fa1e1b6a"}))
            .await;
        call(&chat, "leave_guild", json!({"guild_id": "0b33d9ab-3c7d-4c4c-9a5a-4ad2fa1e1b6a"}))
            .await;
        let before = judged();
        let unprepared = regular();
        let guild = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
        call(&chat, "join_guild", json!({"guild_id": guild})).await;
        let channel = "50554d6e-29bb-11e5-b345-feff819cdc9f";
        for number in 0..3 {
            let content = format!("message {number}");
            let message = json!({"channel_id": channel, "content": content});
            call(&chat, "send_message", message).await;
        }
        call(&chat, "leave_guild", json!({"guild_id": guild})).await;
        call(&chat, "join_guild", json!({"guild_id": guild})).await;
        assert_eq!(judged(), before, "no lightweight transaction was made");
        // Two that this test asks itself are not prepared.
        assert_eq!(regular() - unprepared, 2, "a statement was not prepared");
        // A join is a batch of two partitions, and the server keeps it in its log.
        assert_eq!((batches("logged"), batches("unlogged")), (2, 0));
        let seen = |asked: &str| server.cql(&format!("SELECT {asked}"));
        let of = |table: &str| format!("{place}.{table}");
        assert_eq!(
            seen(&format!("CAST(guild_id AS text) FROM {}", of("user_guilds"))),
            [[guild.to_string()]]
        );
        assert_eq!(seen(&format!("CAST(count(*) AS text) FROM {}", of("guild_members"))), [["1"]]);
        assert_eq!(
            seen(&format!("content FROM {}", of("messages_by_channel"))),
            [["message 2"], ["message 1"], ["message 0"]]
        );
        // What is judged does leave something: the count above can fail. It is prepared too.
        let unprepared = regular();
        call(&chat, "create_guild", json!({"name": "Rust"})).await;
        assert_eq!(regular() - unprepared, 1, "a statement of a transaction was not prepared");
        assert!(judged() > before, "a conditional row is written by a lightweight transaction");
        reads_and_walks_are_prepared(&server, &chat).await;
    });
}

/// An attempt that is late must not take a row for one that never was: what stays of a removed one
/// outlives every attempt by far.
#[test]
fn a_removed_row_with_a_version_stays_for_a_day() {
    runtime().block_on(async {
        let (server, place) = (Cassandra::shared(), new_place());
        let app = App::open(open(server, &place)).await.unwrap();
        // Whether a row is a stone, and how many seconds it has left.
        let stone = |table: &str, key: &str| {
            let columns = "CAST(\"_dead\" AS text), CAST(TTL(\"_v\") AS text)";
            let asked = format!("SELECT {columns} FROM {place}.{table} WHERE {key}");
            let [row] = <[_; 1]>::try_from(server.cql(&asked)).expect("it is there, or its stone");
            <[String; 2]>::try_from(row).unwrap()
        };
        let item_of = |id: &str| stone("items", &format!("item_id = '{id}'"));
        for id in ["dropped", "changed", "deleted", "kept"] {
            app.call("add_item", item(id, "s", 1)).await.unwrap();
            assert_eq!(item_of(id), ["false", ""], "it does not end");
        }
        app.call("change_item", json!({"item_id": "changed", "price": 2})).await.unwrap();
        for id in ["dropped", "changed"] {
            app.call("drop_item", json!({"item_id": id})).await.unwrap();
        }
        app.call("like", json!({"post": "p", "reader": "r", "note": "n"})).await.unwrap();
        app.call("unlike", json!({"post": "p", "reader": "r"})).await.unwrap();
        let like = stone("likes", "post = 'p' AND \"_kind\" = 'by' AND id = 'r'");
        delete(&app, "deleted").await;
        // What the protocol removes is read as dead for a day, and lies there for one more.
        let (dropped, changed) = (item_of("dropped"), item_of("changed"));
        let deleted = item_of("deleted");
        for (row, dead, days) in
            [(dropped, "true", 2), (changed, "true", 2), (like, "true", 2), (deleted, "", 1)]
        {
            let [found, seconds] = row;
            assert_eq!(found, dead);
            let seconds: u64 = seconds.parse().expect("it goes by itself");
            // The server counts down from the moment it was written.
            assert!((days * DAY - 60..=days * DAY).contains(&seconds), "{days} days: {seconds}");
        }
        assert_eq!(item_of("kept"), ["false", ""]);
    });
}

/// Removes an item as no call does: the store alone.
async fn delete(app: &App, id: &str) {
    let store = app.runtime.store();
    let items = app.runtime.schema().collection("items").unwrap();
    let key = items.key.encode(&[Value::Text(id.to_string())]).unwrap();
    let now = crate::now();
    let id = CommitId::new(now, &SystemRandom::start().unwrap());
    let (checks, writes) = (Vec::new(), vec![Write::Delete { key }]);
    let batch = Batch { id, now, checks, writes, deadline: now + 10_000 };
    let outcome = store.commit(&batch).await.unwrap();
    assert!(matches!(outcome, Outcome::Committed { .. }), "{outcome:?}");
}

/// Reads of one row, of a page and of an index, and a scrub: a statement that is not prepared is
/// parsed each time, and goes to any node.
async fn reads_and_walks_are_prepared(server: &Cassandra, chat: &Runtime) {
    let channel = "aa3b1c2e-29bb-11e5-b345-feff819cdc9f";
    let message = json!({"channel_id": channel, "content": "said"});
    let sent = call(chat, "send_message", message).await["row"].clone();
    let guild = call(chat, "create_guild", json!({"name": "Rust"})).await["row"].clone();
    let before = unprepared(server);
    let of = json!({"guild_id": guild["guild_id"]});
    assert_eq!(call(chat, "get_guild", of).await["row"], guild);
    let of = json!({"channel_id": channel, "message_id": sent["message_id"]});
    assert_eq!(call(chat, "get_message", of).await["row"], sent);
    let messages = call(chat, "read_messages", json!({"channel_id": channel})).await;
    assert_eq!(messages["rows"], json!([sent]));
    let guilds = call(chat, "list_guilds_of_user", json!({"user_id": USER})).await;
    assert_eq!(guilds["rows"].as_array().unwrap().len(), 1);
    let scrub = Scrub {
        store: chat.store().as_ref(),
        schema: chat.schema(),
        clock: &crate::support::RealClock,
        random: &SystemRandom::start().unwrap(),
        repair: true,
    };
    let counts = scrub.run(&mut |_, _| ()).await.unwrap();
    assert!(counts.rows > 0 && counts.entries > 0, "{counts:?}");
    // The one that this test asked itself.
    assert_eq!(unprepared(server) - before, 1, "a statement was not prepared");
}
