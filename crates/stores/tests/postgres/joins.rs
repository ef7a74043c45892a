//! People with `psql` join and change what Keyway wrote, without it.

use crate::load::call;
use crate::{keyspace, open, runtime};
use data::clock::{ManualClock, SeededRandom};
use data::request::{Options, Runtime};
use serde_json::json;
use servers::postgres::Postgres;
use std::sync::Arc;

const SHOP: &str = r#"
[keyspace]
name = "shop"

[collection.customers]
key    = "customer:{customer_id: text}"
fields = { name = "text", since = "date" }
[pattern.put_customer]
put   = "customers"
allow = "user"
[pattern.customer]
get = "customers"

[collection.orders]
key    = "customer:{customer_id: text}:orders | {at: timestamp desc}:{order_id: text}"
fields = { cents = "i64", tags = "[text]", status = "open|paid" }
expect = { rows_per_group = 1_000 }
index.orders_by_status = { key = "status:{status} | {at}:{order_id}", expect = { rows_per_group = 1_000 } }
[pattern.put_order]
put   = "orders"
allow = "user"
[pattern.orders_by_status]
list = "orders.orders_by_status"
page = 10
"#;

#[test]
fn plain_sql_joins_what_keyway_wrote() {
    let server = Postgres::shared();
    let database = server.database();
    runtime().block_on(async {
        let clock = Arc::new(ManualClock::at(1_800_000_000_000));
        let options = Options::new(clock, Arc::new(SeededRandom::new(7)));
        let store = open(&server.url(&database));
        let runtime = Runtime::open(store, keyspace(SHOP), options).await.unwrap();
        for (id, name) in [("c1", "Ann"), ("c2", "Bo")] {
            let customer = json!({"customer_id": id, "name": name, "since": "2026-01-01"});
            call(&runtime, "x", "put_customer", &customer).await.unwrap();
        }
        for (customer, order, day, cents, status) in [
            ("c1", "o1", 14, 500, "paid"),
            ("c1", "o2", 15, 250, "open"),
            ("c2", "o3", 15, 700, "paid"),
            ("c1", "o4", 16, 125, "paid"),
        ] {
            let at = format!("2026-11-{day}T08:30:00.000Z");
            let order = json!({"customer_id": customer, "at": at, "order_id": order,
                "cents": cents, "tags": ["gift"], "status": status});
            call(&runtime, "x", "put_order", &order).await.unwrap();
        }
        let joined = server.psql(
            &database,
            "SELECT c.name, c.since, count(*), sum(o.cents), max(o.at)::date, \
             string_agg(tag, ',') \
             FROM shop.customers c JOIN shop.orders o USING (customer_id), unnest(o.tags) tag \
             WHERE o.status = 'paid' AND o.at >= '2026-11-14' \
             GROUP BY c.customer_id ORDER BY c.name",
        );
        assert_eq!(
            joined,
            "Ann|2026-01-01|2|625|2026-11-16|gift,gift\nBo|2026-01-01|1|700|2026-11-15|gift\n"
        );
        // The index is a table like any other, in its own order.
        let listed = "SELECT string_agg(order_id, ',' ORDER BY at) FROM shop.orders_by_status \
            WHERE status = 'paid'";
        assert_eq!(server.psql(&database, listed), "o1,o3,o4\n");
        // What somebody writes by hand, Keyway reads.
        let change = "UPDATE shop.customers SET name = 'Anna' WHERE customer_id = 'c1'";
        server.psql(&database, change);
        let found = call(&runtime, "x", "customer", &json!({"customer_id": "c1"})).await.unwrap();
        assert_eq!(found["row"]["name"], "Anna");
    });
}
