//! Replies that are lost: whatever a node did or did not do before its connection was cut is found
//! out, and is done once.
//!
//! The driver stays on the proxy: it asks a node for the others, and takes the address that it
//! reached the node by for the node's own.

use crate::app::{App, item};
use crate::{new_place, now, open, options, runtime};
use data::Value;
use data::clock::SystemRandom;
use data::schema::Schema;
use data::store::{Batch, CommitId, Key, Outcome, Store, Write};
use serde_json::{Value as Json, json};
use servers::cassandra::Cassandra;
use servers::proxy::{Cut, Proxy};
use std::sync::Arc;
use std::time::Duration;
use stores::cassandra::{CassandraStore, Options};
use tokio::time::sleep;

/// How many commits a counter remembers.
const REMEMBERED: usize = 64;
/// More requests with one value than any call makes.
const REQUESTS_MAX: u64 = 100;

/// A store that reaches its node through a proxy.
fn behind(proxy: &Proxy, server: &Cassandra, place: &str) -> Arc<CassandraStore> {
    let nodes = vec![proxy.address()];
    Arc::new(CassandraStore::open(Options { nodes, ..options(server, place) }).unwrap())
}

/// The application behind a proxy, and the same with a connection of its own.
struct Both {
    proxy: Proxy,
    cut: App,
    whole: App,
}

impl Both {
    async fn open() -> Both {
        let (server, place) = (Cassandra::shared(), new_place());
        let whole = App::open(open(server, &place)).await.unwrap();
        let proxy = Proxy::start(&server.address(1));
        let cut = App::open(behind(&proxy, server, &place)).await.unwrap();
        // Statements are prepared, and what is asked once is known.
        for (pattern, arguments) in [add_item("warm"), sell("warm"), like("warm"), place_of("warm")]
        {
            cut.call(pattern, arguments).await.unwrap();
        }
        Both { proxy, cut, whole }
    }

    /// Makes a call of a new value again and again, cut at the first request that holds the value,
    /// at the second and so on, until there is no such request; how often it was cut.
    async fn at_every_request(
        &self,
        kind: &str,
        call: fn(&str) -> (&'static str, Json),
        check: impl AsyncFn(&App, &str, &Json),
    ) -> u64 {
        let mut cuts = 0;
        for cut in [Cut::Before, Cut::After] {
            for passes in 0..REQUESTS_MAX {
                let value = format!("{kind}-{cut:?}-{passes}-");
                let before = self.proxy.cuts();
                self.proxy.cut(cut, value.as_bytes(), passes);
                let (pattern, arguments) = call(&value);
                let answer = self.cut.call(pattern, arguments).await;
                let answer = answer.unwrap_or_else(|error| panic!("{value}: {error}"));
                check(&self.whole, &value, &answer).await;
                if self.proxy.cuts() == before {
                    break;
                }
                cuts += 1;
            }
        }
        println!("{kind}: {cuts} cuts");
        cuts
    }
}

fn add_item(value: &str) -> (&'static str, Json) {
    ("add_item", item(value, "s", 1))
}

fn sell(value: &str) -> (&'static str, Json) {
    ("sell", json!({"shelf": value, "item_id": "all"}))
}

fn like(value: &str) -> (&'static str, Json) {
    ("like", json!({"post": value, "reader": "me", "note": "liked"}))
}

fn place_of(value: &str) -> (&'static str, Json) {
    ("place", json!({"shelf": "s", "item_id": value, "note": "here"}))
}

/// The rows that a list answers.
async fn listed(app: &App, pattern: &str, arguments: Json) -> Vec<Json> {
    let page = app.call(pattern, arguments).await.unwrap();
    page["rows"].as_array().unwrap().clone()
}

#[test]
fn a_transaction_whose_reply_is_lost_is_done_once() {
    runtime().block_on(async {
        let both = Both::open().await;
        let cuts = both
            .at_every_request("insert", add_item, async |app, id, answer| {
                assert_eq!(answer["row"]["item_id"], json!(id));
                let name = json!({"name": format!("name of {id}")});
                let found = app.call("item_named", name).await.unwrap();
                assert_eq!(found["row"], answer["row"], "{id}");
            })
            .await;
        assert!(cuts >= 4, "row and entries are requests of their own: {cuts}");
        let cuts = both
            .at_every_request("add", sell, async |app, shelf, answer| {
                assert_eq!(answer["total"], json!(1), "{shelf} was counted twice, or not at all");
                let rows = listed(app, "sold_of", json!({"shelf": shelf})).await;
                assert_eq!(rows[0]["value"], json!(1), "{shelf}");
            })
            .await;
        assert!(cuts >= 2, "{cuts}");
        let cuts = both
            .at_every_request("atomic", like, async |app, post, _| {
                let rows = listed(app, "likes_of", json!({"post": post})).await;
                let counts = listed(app, "like_counts_of", json!({"post": post})).await;
                assert_eq!((rows.len(), &counts[0]["value"]), (1, &json!(1)), "{post}");
            })
            .await;
        assert!(cuts >= 2, "{cuts}");
        both.whole.scrub().await;
    });
}

#[test]
fn a_logged_batch_whose_reply_is_lost_is_done_once() {
    runtime().block_on(async {
        let both = Both::open().await;
        let cuts = both
            .at_every_request("join", place_of, async |app, id, _| {
                let found = app.call("placed", json!({"shelf": "s", "item_id": id})).await.unwrap();
                assert_eq!(found["row"]["note"], json!("here"), "{id}");
                assert_eq!(listed(app, "places_of", json!({"item_id": id})).await.len(), 1, "{id}");
            })
            .await;
        assert!(cuts >= 2, "{cuts}");
        both.whole.scrub().await;
    });
}

/// Two stores with the suite's rows: one behind a proxy, one with a connection of its own.
struct Stores {
    proxy: Proxy,
    cut: Arc<CassandraStore>,
    whole: Arc<CassandraStore>,
    schema: Arc<Schema>,
}

impl Stores {
    async fn open() -> Stores {
        let (server, place) = (Cassandra::shared(), new_place());
        let keyspace = data::suite::keyspace().unwrap();
        let whole = open(server, &place);
        let schema = whole.ensure(&keyspace).await.unwrap();
        let proxy = Proxy::start(&server.address(1));
        let cut = behind(&proxy, server, &place);
        cut.ensure(&keyspace).await.unwrap();
        Stores { proxy, cut, whole, schema }
    }

    fn key(&self, collection: &str, name: &str) -> Key {
        let segments = ["room", name].map(|text| Value::Text(text.to_string()));
        self.schema.collection(collection).unwrap().key.encode(&segments).unwrap()
    }

    fn add(&self) -> Batch {
        let (key, window) = (self.key("counts", "all"), None);
        batch(now(), Write::Add { key, amount: 1, expires: None, window })
    }

    fn put(&self, now: i64, value: &'static str) -> Batch {
        let (key, value) = (self.key("blobs", "all"), value.into());
        let (expires, versioned, trail) = (None, false, None);
        batch(now, Write::Put { key, value, expires, versioned, trail })
    }

    /// Commits a batch whose reply is lost, and whose node is out of reach until it has done what
    /// it was sent, and then until something else has happened.
    async fn lost(&self, batch: &Batch, bytes: &[u8], meanwhile: impl AsyncFnOnce()) -> Outcome {
        let key = [batch.writes[0].key().clone()];
        let before = self.whole.get(&key).await.unwrap();
        let cuts = self.proxy.cuts();
        self.proxy.cut(Cut::After, bytes, 0);
        let gone = async {
            while self.proxy.cuts() == cuts {
                sleep(Duration::from_millis(1)).await;
            }
            self.proxy.stall(true);
            while self.whole.get(&key).await.unwrap() == before {
                sleep(Duration::from_millis(1)).await;
            }
            meanwhile().await;
            self.proxy.stall(false);
            // What was said meanwhile was swallowed, and nobody waits for answers to it.
            self.proxy.cut_all();
        };
        let (outcome, ()) = futures_util::future::join(self.cut.commit(batch), gone).await;
        outcome.unwrap()
    }

    /// Others add, one after the other.
    async fn others_add(&self, times: usize) {
        for _ in 0..times {
            totals(self.whole.commit(&self.add()).await.unwrap());
        }
    }

    /// What was added so far.
    async fn counted(&self) -> i64 {
        let key = [self.key("counts", "all")];
        let row = self.whole.get(&key).await.unwrap().remove(0);
        row.map_or(0, |row| i64::from_be_bytes(row.value.as_ref().try_into().unwrap()))
    }
}

fn totals(outcome: Outcome) -> Vec<i64> {
    match outcome {
        Outcome::Committed { totals } => totals.iter().map(|total| total.value).collect(),
        other => panic!("{other:?}"),
    }
}

/// A batch of one write, which has ten seconds.
fn batch(now: i64, write: Write) -> Batch {
    let id = CommitId::new(now, &SystemRandom::start().unwrap());
    Batch { id, now, checks: Vec::new(), writes: vec![write], deadline: now + 10_000 }
}

#[test]
fn an_addition_whose_reply_is_lost_is_remembered_or_admitted_to_be_unknown() {
    runtime().block_on(async {
        let stores = Stores::open().await;
        // Of a row that was not there, and of one that was.
        for _ in 0..2 {
            let (before, add) = (stores.counted().await, stores.add());
            let many = async || stores.others_add(REMEMBERED + 1).await;
            let outcome = stores.lost(&add, add.id.as_bytes(), many).await;
            assert_eq!(outcome, Outcome::Indeterminate { id: add.id }, "no row can tell");
            let added = REMEMBERED as i64 + 2;
            assert_eq!(stores.counted().await, before + added, "it was done once");
        }
        let (before, add) = (stores.counted().await, stores.add());
        let few = async || stores.others_add(3).await;
        let outcome = stores.lost(&add, add.id.as_bytes(), few).await;
        assert_eq!(totals(outcome), [before + 1], "the total that it came to itself");
        assert_eq!(stores.counted().await, before + 4);
        // No row has changed since one that never arrived: it is made again.
        let add = stores.add();
        stores.proxy.cut(Cut::Before, add.id.as_bytes(), 0);
        assert_eq!(totals(stores.cut.commit(&add).await.unwrap()), [before + 5]);
        assert_eq!(stores.counted().await, before + 5);
    });
}

#[test]
fn a_row_written_meanwhile_is_not_written_over() {
    runtime().block_on(async {
        let stores = Stores::open().await;
        let begun = now();
        let first = stores.put(begun, "the first");
        let second = async || {
            let second = stores.put(begun + 1, "the second");
            totals(stores.whole.commit(&second).await.unwrap());
        };
        assert_eq!(totals(stores.lost(&first, b"the first", second).await), [0; 0]);
        let key = first.writes[0].key().clone();
        let row = stores.whole.get(&[key]).await.unwrap().remove(0).unwrap();
        assert_eq!(row.value, "the second");
    });
}

/// A request that was cut is followed by others that never leave: they say nothing of the first.
#[test]
fn a_node_gone_until_the_deadline_leaves_the_fate_of_a_commit_open() {
    runtime().block_on(async {
        let stores = Stores::open().await;
        let (add, put) = (stores.add(), stores.put(now(), "a value"));
        let id = *add.id.as_bytes();
        for (mut batch, bytes, totaled) in [(add, &id[..], vec![1]), (put, b"a value", Vec::new())]
        {
            batch.deadline = batch.now + 1_500;
            let cuts = stores.proxy.cuts();
            stores.proxy.cut(Cut::After, bytes, 0);
            let gone = async {
                while stores.proxy.cuts() == cuts {
                    sleep(Duration::from_millis(1)).await;
                }
                stores.proxy.refuse(true);
                sleep(Duration::from_millis(2_500)).await;
                stores.proxy.refuse(false);
            };
            let (outcome, ()) = futures_util::future::join(stores.cut.commit(&batch), gone).await;
            assert_eq!(outcome.unwrap(), Outcome::Indeterminate { id: batch.id });
            batch.deadline = batch.now + 10_000;
            assert_eq!(totals(stores.cut.commit(&batch).await.unwrap()), totaled);
        }
        assert_eq!(stores.counted().await, 1);
    });
}
