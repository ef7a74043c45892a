//! Which node is asked: one that has the partition itself, or every read and write would take a way
//! more and wait for two nodes.

use crate::app::App;
use crate::{new_place, options, runtime};
use serde_json::json;
use servers::cassandra::Cassandra;
use servers::cql::Connection;
use std::sync::Arc;
use stores::cassandra::{CassandraStore, Options};

/// Partitions: by chance a third of them would go where they belong.
const PARTITIONS: usize = 100;
/// What each node counts of a table: requests that clients made of it, and what it did itself.
const COUNTS: [&str; 4] = [
    "coordinator_write_latency",
    "local_write_latency",
    "coordinator_read_latency",
    "local_read_latency",
];

/// The counts of each node, so far.
fn counts(nodes: &mut [Connection], place: &str) -> Vec<[u64; 4]> {
    let of = |node: &mut Connection| {
        COUNTS.map(|table| {
            let rows = node.run(&format!(
                "SELECT CAST(count AS text) FROM system_views.{table} \
                 WHERE keyspace_name = '{place}' AND table_name = 'places'"
            ));
            rows.unwrap().first().map_or(0, |row| row[0].parse().unwrap())
        })
    };
    nodes.iter_mut().map(of).collect()
}

const PLACES: &str = r#"
[keyspace]
name = "routes"

[collection.places]
key = "places:{shelf: text} | {item_id: text}"
fields = { note = "text" }

[pattern.place]
put = "places"
allow = "user"
[pattern.placed]
get = "places"
[pattern.places_on]
list = "places"
page = 10
"#;

/// Each call alone, so that two that went astray cannot make up for each other.
#[test]
fn a_partition_is_asked_of_the_node_that_has_it() {
    runtime().block_on(async {
        let (server, place) = (Cassandra::cluster(3), new_place());
        let options = Options { replication: Some(1), ..options(&server, &place) };
        let store = Arc::new(CassandraStore::open(options).unwrap());
        let app = App::of(PLACES, store, |_| {}).await.unwrap();
        let addresses = server.addresses().into_iter();
        let mut nodes: Vec<_> = addresses.map(|at| Connection::open(at).unwrap()).collect();
        let (mut before, mut had) = (counts(&mut nodes, &place), [0; 3]);
        for number in 0..PARTITIONS {
            let (shelf, item) = (format!("s{number}"), "one");
            let row = json!({"shelf": shelf, "item_id": item, "note": "here"});
            app.call("place", row.clone()).await.unwrap();
            let found = app.call("placed", json!({"shelf": shelf, "item_id": item})).await.unwrap();
            assert_eq!(found["row"], row);
            let found = app.call("places_on", json!({"shelf": shelf})).await.unwrap();
            assert_eq!(found["rows"], json!([row]));
            let after = counts(&mut nodes, &place);
            let more: Vec<[u64; 4]> = (0..3)
                .map(|node| std::array::from_fn(|of| after[node][of] - before[node][of]))
                .collect();
            // One node was asked, for a write and two reads, and has done them itself.
            let all = [1, 1, 2, 2];
            let node = more.iter().position(|counts| *counts == all);
            let node = node.unwrap_or_else(|| panic!("{shelf} went astray: {more:?}"));
            let others = more.iter().filter(|counts| **counts == [0; 4]).count();
            assert_eq!(others, 2, "{shelf} went astray: {more:?}");
            had[node] += 1;
            before = after;
        }
        assert!(had.iter().all(|count| *count > 0), "a node had nothing: {had:?}");
    });
}
