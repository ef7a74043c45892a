//! A server that takes connections and never answers: callers are told in time, and it goes on when
//! it answers again.

use crate::app::{App, item};
use crate::support::{at, in_runtime};
use data::ErrorKind;
use data::store::Store;
use futures_util::future::join;
use serde_json::json;
use servers::proxy::Proxy;
use servers::redis::RedisServer;
use std::sync::Arc;
use std::time::Duration;
use stores::redis::RedisStore;
use tokio::time::timeout;

/// Longer than a single answer is waited for: a second attempt must end in time too.
const CALL_MILLISECONDS: i64 = 6_000;
/// By when a call that takes so long at most is answered surely.
const CALL_WITHIN: Duration = Duration::from_secs(9);
/// A read has ten seconds of its own.
const READ_WITHIN: Duration = Duration::from_secs(14);

#[test]
fn a_server_that_never_answers_is_given_up_in_time() {
    let server = RedisServer::start(&[]);
    let proxy = Proxy::start(&server.address());
    in_runtime(async {
        let store = Arc::new(RedisStore::open(at(proxy.port())).await.unwrap()) as Arc<dyn Store>;
        let short = |options: &mut data::request::Options| {
            options.call_milliseconds_max = CALL_MILLISECONDS;
        };
        let app = App::open_with(store, short).await.unwrap();
        app.call("add_item", item("i1", "a", 1)).await.unwrap();
        let sell = || json!({"shelf": "a", "item_id": "i1"});
        proxy.stall(true);
        let commit = timeout(CALL_WITHIN, app.call("sell", sell()));
        let read = timeout(READ_WITHIN, app.call("item", json!({"item_id": "i1"})));
        let (commit, read) = join(commit, read).await;
        let error = commit.expect("a commit is answered by its deadline").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Indeterminate, "{error:?}");
        let error = read.expect("a read is answered in its time").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
        assert!(error.to_string().contains(&proxy.address()), "{error}");
        proxy.stall(false);
        assert!(app.call("item", json!({"item_id": "i1"})).await.unwrap()["row"].is_object());
        // What was swallowed never came.
        assert_eq!(app.call("sell", sell()).await.unwrap()["total"], 1);
    });
}
