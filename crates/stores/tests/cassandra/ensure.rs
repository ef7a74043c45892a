//! Keyspaces and tables: made, changed where that is free, refused with the reason.

use crate::promises::callers_agree;
use crate::{new_place, open, options, runtime};
use data::ErrorKind;
use data::store::{Durability, Store};
use keyspace::model::Keyspace;
use servers::cassandra::Cassandra;
use std::sync::Arc;
use stores::cassandra::{CassandraStore, Options};

pub fn notes(fields: &str) -> Arc<Keyspace> {
    let text = format!(
        "[keyspace]\nname = \"notes\"\n\
         [collection.notes]\nkey = \"user:{{user: text}} | {{note: text}}\"\n\
         fields = {{ {fields} }}\n[pattern.save]\nput = \"notes\"\nallow = \"user\"\n\
         [pattern.list]\nlist = \"notes\"\npage = 10\n"
    );
    let reading = keyspace::read(&text);
    Arc::new(reading.keyspace.unwrap_or_else(|| panic!("{:?}", reading.diagnostics)))
}

#[test]
fn a_keyspace_that_is_not_there_is_created_only_if_its_copies_are_given() {
    runtime().block_on(async {
        let server = Cassandra::shared();
        let place = new_place();
        let without = Options { replication: None, ..options(server, &place) };
        let error = CassandraStore::open(without).unwrap().ensure(&notes("a = \"text\"")).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(error.to_string().contains("?replication=3"), "{error}");
        assert!(!open(server, &place).holds(&notes("a = \"text\"")).await.unwrap());
        open(server, &place).ensure(&notes("a = \"text\"")).await.unwrap();
        assert!(open(server, &place).holds(&notes("a = \"text\"")).await.unwrap());
    });
}

#[test]
fn a_new_field_is_a_new_column_and_another_type_is_refused() {
    runtime().block_on(async {
        let server = Cassandra::shared();
        let place = new_place();
        open(server, &place).ensure(&notes("a = \"text\"")).await.unwrap();
        server.cql(&format!("INSERT INTO {place}.notes (user, note, a) VALUES ('u', 'n', 'x')"));
        let more = notes("a = \"text\", b = \"i64 = 7\"");
        let store = open(server, &place);
        let schema = store.ensure(&more).await.unwrap();
        let collection = schema.collection("notes").unwrap();
        let segments = ["u", "n"].map(|text| data::Value::Text(text.to_string()));
        let key = collection.key.encode(&segments).unwrap();
        let row = store.get(&[key]).await.unwrap().remove(0).expect("it is there");
        let slots = collection.decode(&row.value).unwrap();
        assert_eq!(slots, [data::Value::Text("x".to_string()), data::Value::I64(7)]);
        let error = open(server, &place).ensure(&notes("a = \"i64\"")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    });
}

#[test]
fn a_table_of_somebody_else_is_refused_with_what_differs() {
    runtime().block_on(async {
        let server = Cassandra::shared();
        let place = new_place();
        server.cql(&format!(
            "CREATE KEYSPACE {place} WITH replication = \
             {{'class': 'NetworkTopologyStrategy', 'replication_factor': 1}}"
        ));
        server.cql(&format!("CREATE TABLE {place}.notes (user int PRIMARY KEY, a text)"));
        let error = open(server, &place).ensure(&notes("a = \"text\"")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        let text = error.to_string();
        assert!(text.contains("`user` is int, not text") && text.contains("`note`"), "{text}");
    });
}

#[test]
fn a_judged_table_whose_reads_repair_nothing_is_refused() {
    runtime().block_on(async {
        let (server, place) = (Cassandra::shared(), new_place());
        let shop = Arc::new(keyspace::read(crate::app::SHOP).keyspace.unwrap());
        open(server, &place).ensure(&shop).await.unwrap();
        let repair = |table: &str, how: &str| {
            server.cql(&format!("ALTER TABLE {place}.{table} WITH read_repair = '{how}'"));
        };
        // Of what is never judged, no decision hangs on what was read before.
        repair("messages", "NONE");
        open(server, &place).ensure(&shop).await.unwrap();
        for table in ["items", "items_by_name"] {
            repair(table, "NONE");
            let error = open(server, &place).ensure(&shop).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch);
            assert!(error.to_string().contains("read_repair = 'BLOCKING'"), "{error}");
            repair(table, "BLOCKING");
            open(server, &place).ensure(&shop).await.unwrap();
        }
    });
}

#[test]
fn a_place_belongs_to_one_keyspace_file() {
    runtime().block_on(async {
        let server = Cassandra::shared();
        let place = new_place();
        open(server, &place).ensure(&notes("a = \"text\"")).await.unwrap();
        let other = keyspace::read(crate::app::SHOP).keyspace.unwrap();
        let error = open(server, &place).ensure(&Arc::new(other)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(error.to_string().contains("belongs to another keyspace"), "{error}");
    });
}

#[test]
fn several_programs_that_begin_at_once_make_the_tables_once() {
    runtime().block_on(async {
        let server = Cassandra::shared();
        let place = new_place();
        let stores: Vec<_> = (0..4).map(|_| open(server, &place)).collect();
        let begun: Vec<_> = stores
            .into_iter()
            .map(|store| {
                tokio::spawn(async move {
                    let schema = store.ensure(&notes("a = \"text\"")).await?;
                    store.secret([7; 32]).await.map(|secret| (schema.catalogue().clone(), secret))
                })
            })
            .collect();
        let mut all = Vec::new();
        for begun in begun {
            // One that lost the race may be told to open again, and nothing else.
            match begun.await.unwrap() {
                Ok(made) => all.push(made),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}"),
            }
        }
        assert!(!all.is_empty() && all.iter().all(|one| one == &all[0]), "{all:?}");
    });
}

/// A node as Cassandra comes: it syncs now and then, and has the older Paxos.
#[test]
fn a_cluster_says_what_it_cannot_promise_and_keeps_the_rest() {
    runtime().block_on(async {
        let settings = [
            ("commitlog_sync", "periodic"),
            ("commitlog_sync_period", "10000ms"),
            ("paxos_variant", "v1"),
            // A transaction that meets many others may take its time, on a busy machine too.
            ("cas_contention_timeout", "10000ms"),
            ("write_request_timeout", "10000ms"),
        ];
        let server = Cassandra::with(1, &settings);
        let place = new_place();
        let asked = Options { durability: Some(Durability::Power), ..options(&server, &place) };
        let error = CassandraStore::open(asked).unwrap().ensure(&notes("a = \"text\"")).await;
        let error = error.unwrap_err();
        assert!(error.to_string().contains("commitlog_sync: batch"), "{error}");
        let store = open(&server, &place);
        store.ensure(&notes("a = \"text\"")).await.unwrap();
        assert_eq!(store.describe().durability, Durability::Process);
        let remarks = [
            "paxos_variant is v1: conditional writes take twice the round trips of v2",
            "commitlog_sync is periodic: a commit is lost if all its copies lose power within 10 \
             seconds",
        ];
        assert_eq!(store.remarks(), remarks);
        callers_agree(&server).await;
        // The others are asked for power and get it.
        let store = open(Cassandra::shared(), &new_place());
        store.ensure(&notes("a = \"text\"")).await.unwrap();
        assert_eq!(store.describe().durability, Durability::Power);
        assert_eq!(store.remarks(), [""; 0]);
    });
}

#[test]
fn a_paxos_that_is_not_linearizable_is_refused() {
    runtime().block_on(async {
        let variant = "v2_without_linearizable_reads";
        let server = Cassandra::with(1, &[("paxos_variant", variant)]);
        let error = open(&server, &new_place()).ensure(&notes("a = \"text\"")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        let text = error.to_string();
        let told = "conditional writes of this cluster are not linearizable: set paxos_variant: v2";
        assert!(text.contains(told) && text.contains(variant), "{text}");
    });
}
