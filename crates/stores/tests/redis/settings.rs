//! What a server's settings let us promise, and servers that cannot be used.

use crate::app::{App, item};
use crate::support::{at, in_runtime, store};
use data::ErrorKind;
use data::store::{Durability, Store};
use serde_json::json;
use servers::redis::RedisServer;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stores::redis::{Options, RedisStore};

async fn opened(server: &RedisServer, durability: Option<Durability>) -> data::Result<RedisStore> {
    RedisStore::open(Options { durability, ..at(server.port()) }).await
}

/// The settings of a log.
fn log<'s>(syncs: &'s str, rests: &'s str) -> Vec<&'s str> {
    let settings = ["--appendonly", "yes", "--appendfsync", syncs];
    [settings.as_slice(), &["--no-appendfsync-on-rewrite", rests]].concat()
}

#[test]
fn it_promises_what_the_settings_give_and_refuses_to_promise_more() {
    use Durability::{None as Nothing, Power, Process};
    let each_second = "so may a kill while the disk is slow";
    // What is said where nothing was asked for, and where `process` was.
    let cases = [
        (log("always", "no"), Power, "", "", ""),
        (
            log("always", "yes"),
            Process,
            "while it writes its log anew",
            "",
            "no-appendfsync-on-rewrite no",
        ),
        (log("everysec", "no"), Process, each_second, each_second, "appendfsync always"),
        (log("no", "no"), Process, "of up to half a minute", "", "appendfsync always"),
        (vec![], Nothing, "when it ends, acknowledged ones may be lost", "", "appendonly yes"),
    ];
    for (settings, given, remark, remark_of_process, fix) in cases {
        let server = RedisServer::start(&settings);
        in_runtime(async {
            let store = opened(&server, None).await.unwrap();
            assert_eq!(store.describe().durability, given);
            let remarks = store.remarks().join("\n");
            assert_eq!((remarks.is_empty(), true), (given == Power, remarks.contains(remark)));
            for wanted in [Nothing, Process, Power] {
                match opened(&server, Some(wanted)).await {
                    Ok(store) => {
                        assert!(wanted <= given, "{settings:?}: {wanted}");
                        assert_eq!(store.describe().durability, wanted);
                        // Whoever says what is enough is told only what takes of that.
                        let said = if wanted == Process { remark_of_process } else { "" };
                        let remarks = store.remarks().join("\n");
                        assert!(remarks.contains(said), "{settings:?}: {remarks}");
                        assert_eq!(remarks.is_empty(), said.is_empty(), "{remarks}");
                    }
                    Err(error) => {
                        assert!(wanted > given, "{error}");
                        assert_eq!(error.kind(), ErrorKind::Mismatch);
                        assert!(error.to_string().contains(fix), "{error}");
                    }
                }
            }
        });
    }
}

#[test]
fn a_server_with_replicas_says_what_a_failover_may_lose() {
    let keeps =
        ["--appendonly", "yes", "--appendfsync", "always", "--repl-diskless-sync-delay", "0"];
    let server = RedisServer::start(&keeps);
    let port = server.port().to_string();
    in_runtime(async {
        assert_eq!(store(&server).await.remarks(), [""; 0]);
        let replica = RedisServer::start(&["--replicaof", "127.0.0.1", &port]);
        let until = Instant::now() + Duration::from_secs(20);
        while !replica.cli(&["INFO", "replication"]).contains("master_link_status:up") {
            assert!(Instant::now() < until, "the replica does not follow");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        for durability in [None, Some(Durability::Power)] {
            let remarks = opened(&server, durability).await.unwrap().remarks();
            assert_eq!(remarks.len(), 1, "{remarks:?}");
            assert!(
                remarks[0].contains("the last acknowledged commits may be lost"),
                "{remarks:?}"
            );
        }
    });
}

#[test]
fn settings_that_are_hidden_are_found_out_as_far_as_can_be() {
    let hidden = ["--rename-command", "CONFIG", ""];
    let server = RedisServer::start(&hidden);
    in_runtime(async {
        let store = opened(&server, None).await.unwrap();
        assert_eq!(store.describe().durability, Durability::None);
        let remarks = store.remarks().join("\n");
        assert!(remarks.contains("writes no log of its commits"), "{remarks}");
        assert!(!remarks.contains("is not known"), "{remarks}");
        let error = opened(&server, Some(Durability::Process)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
        App::open(Arc::new(store) as Arc<dyn Store>).await.unwrap();
    });
    let more = ["--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"];
    let server = RedisServer::start(&[hidden.as_slice(), &more].concat());
    in_runtime(async {
        let store = opened(&server, None).await.unwrap();
        assert_eq!(store.describe().durability, Durability::Process);
        let remarks = store.remarks().join("\n");
        assert!(remarks.contains("survives a power cut is not known"), "{remarks}");
        let error = App::open(Arc::new(store) as Arc<dyn Store>).await.err().unwrap();
        assert!(error.to_string().contains("noeviction"), "{error}");
    });
}

#[test]
fn a_server_that_evicts_keys_is_refused_unless_all_may_be_lost() {
    let server = RedisServer::start(&["--maxmemory-policy", "allkeys-lru"]);
    in_runtime(async {
        let store = store(&server).await;
        let error = App::open(store.clone() as Arc<dyn Store>).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(error.to_string().contains("noeviction"), "{error}");
        let cached = r#"
            [keyspace]
            name = "cached"
            [collection.pages]
            key = "page:{page: text}"
            value = "text"
            cache = true
            [pattern.keep]
            put = "pages"
            allow = "user"
            [pattern.page]
            get = "pages"
        "#;
        let cached = keyspace::read(cached).keyspace.unwrap();
        store.ensure(&Arc::new(cached)).await.unwrap();
    });
}

#[test]
fn a_server_out_of_memory_takes_no_part_of_a_batch() {
    let server = RedisServer::start(&[]);
    in_runtime(async {
        let app = App::open(store(&server).await as Arc<dyn Store>).await.unwrap();
        app.call("add_item", item("i1", "a", 1)).await.unwrap();
        server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
        for (pattern, arguments) in [
            ("add_item", item("i2", "a", 2)),
            // Begins with the removal of a key, which a server without memory would take.
            ("change_item", json!({"item_id": "i1", "shelf": "b"})),
            ("sell", json!({"shelf": "a", "item_id": "i1"})),
        ] {
            let error = app.call(pattern, arguments).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{pattern}: {error}");
            assert!(error.to_string().contains("maxmemory"), "{error}");
        }
        let found = app.call("item", json!({"item_id": "i1"})).await.unwrap();
        assert_eq!(found["row"]["shelf"], "a");
        server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
        assert_eq!(app.scrub().await, (1, 2));
        app.call("add_item", item("i2", "a", 2)).await.unwrap();
    });
}

#[test]
fn a_replica_is_refused_and_one_that_became_one_is_unavailable() {
    let master = RedisServer::start(&[]);
    let server = RedisServer::start(&[]);
    in_runtime(async {
        let app = App::open(store(&server).await as Arc<dyn Store>).await.unwrap();
        let mut short = app.runtime.options().clone();
        short.call_milliseconds_max = 300;
        let (kept, keyspace) = (app.runtime.store().clone(), app.runtime.keyspace().clone());
        let runtime = data::request::Runtime::open(kept, keyspace, short).await.unwrap();
        let app = App::around(runtime);
        server.cli(&["REPLICAOF", "127.0.0.1", &master.port().to_string()]);
        let error = app.call("add_item", item("i1", "a", 1)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("its master"), "{error}");
        let error = opened(&server, None).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains("its master"), "{error}");
    });
}

#[test]
fn a_password_is_given_and_never_shown() {
    let server = RedisServer::start(&[]);
    server.cli(&["CONFIG", "SET", "requirepass", "sec ret"]);
    in_runtime(async {
        let error = opened(&server, None).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        let password = Some("sec ret".to_string());
        let store = RedisStore::open(Options { password, ..at(server.port()) }).await.unwrap();
        let shown = format!("{store:?} {:?} {}", store.describe(), store.describe().address);
        assert!(!shown.contains("sec ret"), "{shown}");
        let password = Some("unmistakable-7391".to_string());
        let error = RedisStore::open(Options { password, ..at(server.port()) }).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert!(!format!("{error} {error:?}").contains("unmistakable"), "{error:?}");
    });
}

#[test]
fn a_server_that_is_not_there_is_unavailable() {
    in_runtime(async {
        let port = servers::process::free_port();
        let error = RedisStore::open(at(port)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        let told = format!("{error:?}");
        assert_eq!(told.matches(&format!("127.0.0.1:{port}")).count(), 1, "{told}");
        assert_eq!(told.matches("Connection refused").count(), 1, "{told}");
    });
}

#[test]
fn a_database_that_is_not_there_is_an_argument() {
    let server = RedisServer::start(&[]);
    in_runtime(async {
        let error = RedisStore::open(Options { database: 99, ..at(server.port()) }).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{error:?}");
        let told = error.to_string();
        assert!(told.contains("no database of this number: give a smaller one"), "{told}");
        assert!(told.contains("/99"), "{told}");
    });
}

#[test]
fn a_node_of_a_cluster_is_refused() {
    let server = RedisServer::start(&["--cluster-enabled", "yes"]);
    in_runtime(async {
        let error = opened(&server, None).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:?}");
        assert!(error.to_string().contains("`cluster-enabled no`"), "{error}");
    });
}

#[test]
fn a_user_who_may_not_run_every_command_is_refused_before_anything_is_written() {
    let server = RedisServer::start(&[]);
    let user = |name: &str, rights: &[&str]| {
        let words = [["ACL", "SETUSER", name, "on", ">pw"].as_slice(), rights].concat();
        assert_eq!(server.cli(&words), "OK");
    };
    user("all", &["~*", "+@all"]);
    user("lim", &["~*", "+@all", "-zadd"]);
    user("apart", &["~app:*", "+@all"]);
    user("reader", &["~app:*", "+@read", "+info"]);
    user("looker", &["%R~*", "+@all"]);
    user("blind", &["~*", "+@all", "-info", "-zadd"]);
    let rights = ["~app:*", "+@read", "+@write", "+@scripting", "+@transaction", "+info", "+time"];
    user("plain", &rights);
    let open = async |user: &str, prefix: &str| {
        let (user, password) = (Some(user.to_string()), Some("pw".to_string()));
        let prefix = prefix.to_string();
        let store = RedisStore::open(Options { user, password, prefix, ..at(server.port()) }).await;
        match store {
            Ok(store) => App::open(Arc::new(store)).await,
            Err(error) => Err(error),
        }
    };
    in_runtime(async {
        for (name, prefix, missing) in [
            ("lim", "", "ZADD"),
            ("lim", "app:", "ZADD"),
            ("reader", "app:", "EVAL"),
            ("blind", "", "ZADD, INFO"),
            ("apart", "", "DEL, EXISTS, GET"),
            ("looker", "", "DEL, HDEL, HSET"),
        ] {
            let error = open(name, prefix).await.err().unwrap();
            assert_eq!(error.kind(), ErrorKind::Denied, "{name}: {error:?}");
            assert!(error.value("missing").unwrap().starts_with(missing), "{error}");
            let allow = error.value("allow").unwrap();
            assert!(allow.starts_with(&format!("ACL SETUSER {name} ~{prefix}* +")), "{allow}");
        }
        assert_eq!(server.cli(&["DBSIZE"]), "0");
        // Rights over the store's own keys are enough, and what the message says grants them.
        server.cli(&["ACL", "SETUSER", "lim", "~*", "+zadd"]);
        for (name, prefix) in [("lim", ""), ("apart", "app:")] {
            let app = open(name, prefix).await.unwrap();
            app.call("add_item", item("i1", "a", 1)).await.unwrap();
        }
        // Who is no administrator can still be asked about.
        let app = open("plain", "app:").await.unwrap();
        app.call("add_item", item("i2", "a", 1)).await.unwrap();
        let remarks = app.runtime.store().remarks().join("\n");
        assert!(!remarks.contains("whether it takes every command"), "{remarks}");
        assert_eq!(app.scrub().await, (2, 4));
    });
}

#[test]
fn without_a_run_time_it_says_what_it_needs() {
    let error = data::suite::block_on(RedisStore::open(Options::default())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("tokio"), "{error}");
}
