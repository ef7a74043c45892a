//! A server that takes connections and never answers: callers are told in time, and it goes on when
//! it answers again.

use crate::load::call;
use crate::{keyspace, open, runtime};
use data::ErrorKind;
use data::clock::{ManualClock, SeededRandom};
use data::request::{Options, Runtime};
use futures_util::future::join;
use serde_json::json;
use servers::postgres::{Postgres, url};
use servers::proxy::Proxy;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

const CALL_MILLISECONDS: i64 = 3_000;
/// By when a call that takes so long at most is answered surely.
const CALL_WITHIN: Duration = Duration::from_secs(8);
/// A read has twenty seconds of its own.
const READ_WITHIN: Duration = Duration::from_secs(26);

#[test]
fn a_server_that_never_answers_is_given_up_in_time() {
    let server = Postgres::shared();
    let database = server.database();
    let proxy = Proxy::start(&server.address());
    runtime().block_on(async {
        let text = include_str!("../kill_patterns/keyspace.toml");
        let clock = Arc::new(ManualClock::at(1_800_000_000_000));
        let mut options = Options::new(clock, Arc::new(SeededRandom::new(7)));
        options.call_milliseconds_max = CALL_MILLISECONDS;
        let store = open(&url(proxy.port(), &database));
        let runtime = Runtime::open(store, keyspace(text), options).await.unwrap();
        let (hits, hit) = (json!({"page": "front"}), json!({"page": "front", "amount": 1}));
        // Two connections are kept, on which no statement of a commit is prepared yet.
        let first = call(&runtime, "me", "hits", &hits);
        let (first, second) = join(first, call(&runtime, "me", "hits", &hits)).await;
        assert!(first.is_ok() && second.is_ok());
        for expected in [0, 1] {
            proxy.stall(true);
            let commit = timeout(CALL_WITHIN, call(&runtime, "me", "hit", &hit));
            let read = timeout(READ_WITHIN, call(&runtime, "me", "hits", &hits));
            let (commit, read) = join(commit, read).await;
            let error = commit.expect("a commit is answered by its deadline").unwrap_err();
            let kinds = [ErrorKind::Unavailable, ErrorKind::Indeterminate];
            assert!(kinds.contains(&error.kind()), "{error:?}");
            let error = read.expect("a read is answered in its time").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
            let at = format!("127.0.0.1:{}", proxy.port());
            assert!(error.to_string().contains(&at), "{error}");
            proxy.stall(false);
            // What was swallowed never came.
            let back = call(&runtime, "me", "hit", &hit).await.unwrap();
            assert_eq!(back["total"], json!(expected + 1));
        }
    });
}
