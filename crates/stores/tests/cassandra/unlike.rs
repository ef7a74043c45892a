//! Clusters whose nodes are not alike: each is looked at, and the weakest counts.

use crate::ensure::notes;
use crate::{new_place, options, runtime};
use data::store::{Durability, Store};
use data::{ErrorKind, Result};
use servers::cassandra::Cassandra;
use std::sync::Arc;
use stores::cassandra::{CassandraStore, Options};

/// Opens a store, and makes it ready.
async fn ready(options: Options) -> Result<Arc<CassandraStore>> {
    let store = Arc::new(CassandraStore::open(options)?);
    store.ensure(&notes("a = \"text\"")).await?;
    Ok(store)
}

/// Opens a store that is told of one node.
async fn ready_by(server: &Cassandra, node: usize, place: &str) -> Result<Arc<CassandraStore>> {
    let nodes = vec![server.address(node)];
    ready(Options { nodes, replication: Some(1), ..options(server, place) }).await
}

/// One node in each of two data centres, one of which syncs now and then.
#[test]
fn nodes_that_are_not_alike_are_all_looked_at() {
    let east = [("endpoint_snitch", "GossipingPropertyFileSnitch"), ("data_centre", "east")];
    let late = [("commitlog_sync", "periodic"), ("commitlog_sync_period", "10000ms")];
    let west = [[east[0], ("data_centre", "west")], late].concat();
    let mut server = Cassandra::unlike(&[&east, &west]);
    runtime().block_on(async {
        let place = a_keyspace_lies_in_one_data_centre(&server).await;
        the_least_that_a_node_keeps_counts(&server, &place).await;
        server.set(2, "paxos_variant", "v1_without_linearizable_reads_or_rejected_writes");
        server.restart(2);
        for node in [1, 2] {
            let error = ready_by(&server, node, &place).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch);
            let text = error.to_string();
            assert!(text.contains("not linearizable"), "{text}");
            assert!(text.contains(&server.address(2)), "{text}");
        }
        // One that is away may be set to anything.
        server.kill(2);
        let store = ready_by(&server, 1, &place).await.unwrap();
        assert_eq!(store.describe().durability, Durability::Power);
        let told = "did not answer, and was not asked for its settings";
        assert_eq!(store.remarks(), [format!("{} {told}", server.address(2))]);
    });
}

/// The server takes a number of copies for that many in each data centre it knows.
async fn a_keyspace_lies_in_one_data_centre(server: &Cassandra) -> String {
    let make = |replication: &str| {
        let place = new_place();
        server.cql(&format!("CREATE KEYSPACE {place} WITH replication = {{{replication}}}"));
        place
    };
    let created = new_place();
    let simple = make("'class': 'SimpleStrategy', 'replication_factor': 1");
    let both = make("'class': 'NetworkTopologyStrategy', 'east': 1, 'west': 1");
    // The first of them is made by the first who opens it, and is there for the second.
    for place in [&created, &created, &simple, &both] {
        let error = ready_by(server, 1, place).await.expect_err("it lies in both");
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        let text = error.to_string();
        assert!(text.contains(place) && text.contains("east, west"), "{text}");
        assert!(text.contains("ALTER KEYSPACE"), "{text}");
    }
    // What the error says mends it.
    let in_one = "{'class': 'NetworkTopologyStrategy', 'east': 1}";
    for place in [&simple, &created] {
        server.cql(&format!("ALTER KEYSPACE {place} WITH replication = {in_one}"));
        ready_by(server, 1, place).await.unwrap();
    }
    created
}

/// Whichever node is asked first.
async fn the_least_that_a_node_keeps_counts(server: &Cassandra, place: &str) {
    for node in [1, 2] {
        let nodes = vec![server.address(node)];
        let power = Some(Durability::Power);
        let error = ready(Options { nodes, durability: power, ..options(server, place) }).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        let text = error.to_string();
        assert!(text.contains("commitlog_sync: batch"), "{text}");
        assert!(text.contains(&server.address(2)), "{text}");
        let store = ready_by(server, node, place).await.unwrap();
        assert_eq!(store.describe().durability, Durability::Process);
        let told = format!(
            "commitlog_sync is periodic at {}: a commit is lost if all its copies lose power \
             within 10 seconds",
            server.address(2)
        );
        assert_eq!(store.remarks(), [told]);
    }
}

/// Where there is one data centre it does not matter how it is said.
#[test]
fn a_simple_strategy_will_do_in_one_data_centre() {
    let (server, place) = (Cassandra::shared(), new_place());
    server.cql(&format!(
        "CREATE KEYSPACE {place} WITH replication = \
         {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
    ));
    runtime().block_on(ready(options(server, &place))).unwrap();
}
