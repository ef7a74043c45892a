//! Round trips, counted between the driver and its server.

use crate::load::call;
use crate::seen_common::APPS;
use crate::{keyspace as read_keyspace, open};
use async_trait::async_trait;
use data::clock::{ManualClock, SeededRandom};
use data::request::{Options, Runtime};
use data::schema::Schema;
use data::store::{
    Batch, Description, Joined, Key, Outcome, Page, Row, Scan, Store, Stretch, Through,
};
use data::suite;
use data::suite::patterns::{play, play_counted, read};
use keyspace::model::Keyspace;
use serde_json::{Value as Json, json};
use servers::postgres::{Postgres, url};
use servers::proxy::{Proxy, Turn};
use std::sync::Arc;
use stores::postgres::PostgresStore;

const KEYSPACE: &str = r#"
[keyspace]
name = "trips"

[collection.notes]
key    = "user:{user_id: text}:notes | {note_id: text}"
fields = { title = "text", folder = "text", at = "timestamp" }
expect = { rows_per_group = 1_000 }
index.by_folder.key    = "folder:{user_id}:{folder} | {at desc}"
index.by_folder.expect = { rows_per_group = 1_000 }
index.by_title  = { key = "title:{lower(title)}", unique = true }

[collection.logs]
key    = "log:{day: text} | {line: text}"
value  = "text"
expect = { rows_per_group = 1_000 }

[pattern.add_note]
insert = "notes"
allow  = "user"
[pattern.put_note]
put   = "notes"
allow = "user"
[pattern.change_note]
update = "notes"
set    = ["title", "folder"]
allow  = "user"
[pattern.drop_note]
delete = "notes"
allow  = "user"
[pattern.note]
get = "notes"
[pattern.some_notes]
get  = "notes"
many = 100
[pattern.notes]
list = "notes"
page = 50
[pattern.folder]
list = "notes.by_folder"
page = 50
[pattern.titled]
get = "notes.by_title"
[pattern.log]
put   = "logs"
allow = "user"
[pattern.read_log]
list = "logs"
page = 50
"#;

/// A pattern, its arguments for a number, and the round trips it takes.
type CountedCall<'a> = (&'a str, &'a dyn Fn(u32) -> Json, u64);

#[test]
fn calls_wait_for_the_server_as_seldom_as_can_be() {
    let server = Postgres::shared();
    let database = server.database();
    let proxy = Proxy::start(&server.address());
    // On one thread: what is sent together is not overtaken by the answer to its first part.
    let alone = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    alone.block_on(async {
        let store = open(&url(proxy.port(), &database));
        let clock = Arc::new(ManualClock::at(1_800_000_000_000));
        let mut options = Options::new(clock, Arc::new(SeededRandom::new(7)));
        options.check_bounds = true;
        let runtime = Runtime::open(store.clone(), read_keyspace(KEYSPACE), options).await.unwrap();
        let note = |number: u32| {
            json!({"user_id": "u", "note_id": number.to_string(), "folder": "f",
                "title": format!("Title {number}"), "at": "2026-11-15T10:00:00Z"})
        };
        let ids: Vec<Json> =
            (0..20).map(|n| json!({"user_id": "u", "note_id": n.to_string()})).collect();
        // Every statement is prepared by the first call.
        let id = |number: u32| json!({"user_id": "u", "note_id": number.to_string()});
        let changed = |number: u32| {
            json!({"user_id": "u", "note_id": number.to_string(), "folder": "g",
                "title": format!("Changed {number}")})
        };
        let calls: [CountedCall<'_>; 11] = [
            ("add_note", &note, 2),
            // The old row is read for its entries, which are checked and written in two more.
            ("change_note", &changed, 3),
            ("put_note", &note, 3),
            ("drop_note", &|number| id(number + 100), 3),
            ("log", &|n| json!({"day": "d", "line": n.to_string(), "value": "x"}), 1),
            ("note", &|_| json!({"user_id": "u", "note_id": "1"}), 1),
            ("some_notes", &|_| json!({"rows": ids}), 1),
            ("notes", &|_| json!({"user_id": "u"}), 1),
            ("read_log", &|_| json!({"day": "d"}), 1),
            ("folder", &|_| json!({"user_id": "u", "folder": "f"}), 1),
            ("titled", &|_| json!({"title": "title 1"}), 2),
        ];
        for number in 100..106 {
            call(&runtime, "u", "add_note", &note(number)).await.unwrap();
        }
        for (pattern, arguments, most) in calls {
            for number in 0..6 {
                let before = proxy.turns();
                call(&runtime, "u", pattern, &arguments(number)).await.unwrap();
                let trips = proxy.turns() - before;
                let told = format!("{pattern} {number}: {trips} round trips, not {most}");
                assert!(number == 0 || trips <= most, "{told}");
            }
            let planned = runtime.pattern(pattern).unwrap().bounds().unwrap().round_trips;
            assert!(most <= planned, "{pattern}: its plan says {planned}, not {most}");
        }
        store.close().await.unwrap();
    });
}

/// The rows of all tables but the catalogue's.
const EMPTY: &str = "DO $$ DECLARE found record; BEGIN \
    FOR found IN SELECT schemaname, tablename FROM pg_tables \
        WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND tablename <> 'keyway' \
    LOOP EXECUTE format('TRUNCATE %I.%I', found.schemaname, found.tablename); END LOOP; END $$";

/// A store that is made ready once: to do so takes a connection away.
#[derive(Debug)]
struct Settled {
    store: Arc<PostgresStore>,
    schema: Arc<Schema>,
}

#[async_trait]
impl Store for Settled {
    fn describe(&self) -> Description {
        self.store.describe()
    }

    async fn ensure(&self, _: &Arc<Keyspace>) -> data::Result<Arc<Schema>> {
        Ok(self.schema.clone())
    }

    async fn get(&self, keys: &[Key]) -> data::Result<Vec<Option<Row>>> {
        self.store.get(keys).await
    }

    async fn scan(&self, scan: &Scan) -> data::Result<Page> {
        self.store.scan(scan).await
    }

    async fn scan_through(&self, through: &Through<'_>) -> data::Result<Option<Joined>> {
        self.store.scan_through(through).await
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
        self.store.commit(batch).await
    }
}

#[test]
fn the_calls_of_the_applications_wait_no_longer_than_their_plans_say() {
    let server = Postgres::shared();
    let proxy = Proxy::start(&server.address());
    // Every statement is prepared once on each connection: a message that begins with a P.
    proxy.count_by(|said| match said.first() {
        Some(b'P') => Turn::LeftOut,
        _ => Turn::Counted,
    });
    let alone = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (name, file, calls) in APPS {
        let (keyspace, scripts) = (read_keyspace(file), read(calls).unwrap());
        let database = server.database();
        let report = alone.block_on(async {
            let store = open(&url(proxy.port(), &database));
            let schema = store.ensure(&keyspace).await.unwrap();
            let store: Arc<dyn Store> = Arc::new(Settled { store, schema });
            let make = || {
                server.psql(&database, EMPTY);
                let store = store.clone();
                Box::pin(async { store }) as _
            };
            let options = suite::Options::default();
            // Connections are made by those who first need one more.
            play(&scripts, &keyspace, &make, &options).await.unwrap();
            let turns = || proxy.turns();
            play_counted(&scripts, &keyspace, &make, &options, Some(&turns)).await.unwrap()
        });
        assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{name}: {report}");
        assert!(!report.passed.is_empty());
    }
}
