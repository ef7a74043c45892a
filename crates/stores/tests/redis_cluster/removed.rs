//! What a removed row with a version leaves at its node: that it is gone, for a day.

use crate::app::{App, item};
use crate::support::{in_runtime, store};
use data::store::Store;
use serde_json::json;
use servers::redis_cluster::RedisCluster;
use std::sync::Arc;

const HOUR: i64 = 60 * 60 * 1_000;
/// How long a removed row stays.
const STAYS: i64 = 24 * HOUR;

#[test]
fn a_removed_row_stays_for_a_day() {
    let cluster = RedisCluster::start(&[]);
    in_runtime(async {
        let app = App::open(store(&cluster).await as Arc<dyn Store>).await.unwrap();
        app.call("add_item", item("i1", "a", 1)).await.unwrap();
        assert_eq!(cluster.cli_anywhere(&["PTTL", "{item:i1}"]), "-1");
        app.call("drop_item", json!({"item_id": "i1"})).await.unwrap();
        assert!(app.call("item", json!({"item_id": "i1"})).await.unwrap()["row"].is_null());
        assert_eq!(cluster.cli_anywhere(&["HEXISTS", "{item:i1}", "~d"]), "1");
        let left: i64 = cluster.cli_anywhere(&["PTTL", "{item:i1}"]).parse().unwrap();
        assert!(left <= STAYS && STAYS - left < HOUR / 60, "dropped in {left} milliseconds");
    });
}
