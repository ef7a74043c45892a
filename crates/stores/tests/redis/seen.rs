//! Recognisable: after the five applications' calls, every key in the server, its type and the
//! fields of its Hash are a line of the printed layout, and every line and field of it was seen.

use crate::seen_common::{APPS, LOOK, Line, Look, Seen, Watched, held, unseen_fields};
use crate::support::{ahead, in_runtime, options, store};
use data::store::Store;
use data::suite::patterns::{play, read};
use keyspace::model::StoreKind;
use servers::redis::RedisServer;
use std::sync::{Arc, Mutex};

#[test]
fn the_keys_of_the_applications_are_those_of_the_layout() {
    let server = Arc::new(RedisServer::start(&[]));
    for (name, file, calls) in APPS {
        let keyspace = Arc::new(keyspace::read(file).keyspace.unwrap());
        let seen = Arc::new(Mutex::new(Seen::new(name, &keyspace, StoreKind::Redis)));
        let look: Look = {
            let (server, seen) = (server.clone(), seen.clone());
            let look = move || {
                let answer = server.cli(&["--raw", "EVAL", LOOK, "0"]);
                seen.lock().unwrap().look(held(&answer));
            };
            Arc::new(look)
        };
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
        let unseen: Vec<&Line> =
            seen.lines.iter().filter(|line| !seen.seen.contains(line)).collect();
        // Histories are checked now and run later.
        let history = |line: &&&Line| name == "documents" && line.name.starts_with("doc:{doc_id}");
        let unseen: Vec<&&Line> = unseen.iter().filter(|line| !history(line)).collect();
        assert!(unseen.is_empty(), "{name}: never seen: {unseen:?}");
        let unseen = unseen_fields(&keyspace, &seen.lines, &seen.fields);
        assert!(unseen.is_empty(), "{name}: never seen: {unseen:?}");
    }
}
