//! Being made ready: tables as the layout prints them, changed files, and what is refused.

use crate::load::call;
use crate::{keyspace, open, options, runtime};
use data::clock::{ManualClock, SeededRandom};
use data::request::{self, Runtime};
use data::store::{Durability, Store};
use data::{Error, ErrorKind};
use keyspace::layout::postgres;
use serde_json::{Value as Json, json};
use servers::postgres::Postgres;
use std::sync::Arc;
use stores::postgres::{Options, PostgresStore};

const FILE: &str = r#"
[keyspace]
name = "shop"

[collection.goods]
key    = "shelf:{shelf: text} | {good: text}"
fields = { name = "text", state = "new|sold" }
expect = { rows_per_group = 1_000 }
index.goods_by_name = { key = "name:{lower(name)}", unique = true }

[pattern.put_good]
put   = "goods"
allow = "user"
[pattern.goods]
list = "goods"
page = 10
[pattern.named]
get = "goods.goods_by_name"
"#;

async fn opened(url: &str, file: &str) -> Result<Runtime, Error> {
    let clock = Arc::new(ManualClock::at(1_800_000_000_000));
    let options = request::Options::new(clock, Arc::new(SeededRandom::new(7)));
    Runtime::open(open(url), keyspace(file), options).await
}

async fn put(runtime: &Runtime, good: Json) -> Result<Json, Error> {
    call(runtime, "me", "put_good", &good).await
}

async fn rows(runtime: &Runtime) -> Vec<Json> {
    let page = call(runtime, "me", "goods", &json!({"shelf": "a"})).await.unwrap();
    page["rows"].as_array().unwrap().clone()
}

fn good(name: &str) -> Json {
    json!({"shelf": "a", "good": name, "name": name, "state": "new"})
}

#[test]
fn what_it_makes_is_what_the_layout_prints() {
    let server = Postgres::shared();
    let types = include_str!("../../../keyspace/tests/golden/layout/types/keyspace.toml");
    for file in [FILE, types, data::suite::KEYSPACE] {
        let (made, printed) = (server.database(), server.database());
        let keyspace = keyspace(file);
        runtime().block_on(async { open(&server.url(&made)).ensure(&keyspace).await.unwrap() });
        server.psql(&printed, &postgres::print(&keyspace));
        assert_eq!(server.structure(&made), server.structure(&printed));
    }
}

#[test]
fn tables_made_from_the_printed_layout_are_taken_over() {
    let server = Postgres::shared();
    let database = server.database();
    server.psql(&database, &postgres::print(&keyspace(FILE)));
    runtime().block_on(async {
        let runtime = opened(&server.url(&database), FILE).await.unwrap();
        put(&runtime, good("x")).await.unwrap();
        assert_eq!(rows(&runtime).await, [good("x")]);
    });
}

#[test]
fn a_table_of_somebody_else_is_refused_with_every_difference() {
    let server = Postgres::shared();
    let database = server.database();
    server.psql(
        &database,
        "CREATE SCHEMA shop; CREATE TABLE shop.goods (shelf text NOT NULL, good integer NOT NULL, \
         price integer NOT NULL, PRIMARY KEY (good))",
    );
    runtime().block_on(async {
        let refused = opened(&server.url(&database), FILE).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Mismatch);
        let told = refused.to_string();
        for part in [
            "table: shop.goods",
            "its primary key is (good) and not (shelf, good)",
            "`shelf` is collated as `default` and not as `C`",
            "`good` is `integer` and not `text`",
            "it has no column `name`",
            "another column that must be given, `price`",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
    });
    // Nothing was made beside it.
    let count = "SELECT count(*) FROM pg_tables WHERE schemaname = 'shop'";
    assert_eq!(server.psql(&database, count), "1\n");
}

#[test]
fn a_field_comes_goes_and_comes_back() {
    let server = Postgres::shared();
    let database = server.database();
    let url = server.url(&database);
    let with = FILE.replace(
        r#"state = "new|sold" }"#,
        "state = \"new|sold\", price = \"u64 = 18446744073709551615\", note = \"text?\", \
         tags = \"[text] = []\" }",
    );
    runtime().block_on(async {
        put(&opened(&url, FILE).await.unwrap(), good("old")).await.unwrap();
        let runtime = opened(&url, &with).await.unwrap();
        let old = rows(&runtime).await.remove(0);
        assert_eq!(old["price"], json!("18446744073709551615"), "{old}");
        assert_eq!((&old["note"], &old["tags"]), (&Json::Null, &json!([])));
        let mut new = good("new");
        new["price"] = json!(5);
        put(&runtime, new).await.unwrap();
        // Gone: rows are written without it.
        put(&opened(&url, FILE).await.unwrap(), good("between")).await.unwrap();
        let runtime = opened(&url, &with).await.unwrap();
        let prices: Vec<Json> =
            rows(&runtime).await.iter().map(|row| row["price"].clone()).collect();
        let missing = json!("18446744073709551615");
        assert_eq!(prices, [missing.clone(), json!(5), missing]);
    });
    let required = "SELECT is_nullable, column_default FROM information_schema.columns \
        WHERE table_name = 'goods' AND column_name = 'price'";
    assert_eq!(server.psql(&database, required), "NO|\n");
}

#[test]
fn an_enum_gets_more_words() {
    let server = Postgres::shared();
    let database = server.database();
    let url = server.url(&database);
    runtime().block_on(async {
        put(&opened(&url, FILE).await.unwrap(), good("x")).await.unwrap();
        let more = FILE.replace("new|sold", "new|sold|it's gone");
        let more = more.replace("it's gone", "gone");
        let runtime = opened(&url, &more).await.unwrap();
        let mut gone = good("y");
        gone["state"] = json!("gone");
        put(&runtime, gone).await.unwrap();
        let fewer = FILE.replace("new|sold", "new|other");
        let refused = opened(&url, &fewer).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Mismatch, "{refused}");
    });
}

#[test]
fn rows_that_never_ended_go_on_when_rows_get_an_end() {
    let server = Postgres::shared();
    let url = server.url(&server.database());
    runtime().block_on(async {
        put(&opened(&url, FILE).await.unwrap(), good("old")).await.unwrap();
        let ends = FILE.replace(
            "expect = { rows_per_group = 1_000 }",
            "expect = { rows_per_group = 1_000 }\nttl = '1d'",
        );
        let runtime = opened(&url, &ends).await.unwrap();
        put(&runtime, good("new")).await.unwrap();
        let store = runtime.store();
        assert_eq!(store.sweep(1_900_000_000_000, 10).await.unwrap(), 2, "a row and its claim");
        assert_eq!(rows(&runtime).await, [good("old")]);
        let named = call(&runtime, "me", "named", &json!({"name": "old"})).await.unwrap();
        assert_eq!(named["row"], good("old"));
        let runtime = opened(&url, FILE).await.unwrap();
        assert_eq!(rows(&runtime).await, [good("old")]);
    });
}

#[test]
fn a_renamed_collection_keeps_its_rows() {
    let server = Postgres::shared();
    let database = server.database();
    let url = server.url(&database);
    runtime().block_on(async {
        put(&opened(&url, FILE).await.unwrap(), good("x")).await.unwrap();
        let renamed = FILE
            .replace("[collection.goods]", "[collection.wares]\nwas = 'goods'")
            .replace("\"goods\"", "\"wares\"")
            .replace("goods.goods_by_name", "wares.goods_by_name");
        let runtime = opened(&url, &renamed).await.unwrap();
        assert_eq!(rows(&runtime).await, [good("x")]);
        let other = renamed.replace("was = 'goods'", "was = 'goods'\ntable = 'things'");
        let runtime = opened(&url, &other).await.unwrap();
        assert_eq!(rows(&runtime).await, [good("x")]);
    });
    assert_eq!(server.psql(&database, "SELECT good FROM shop.things"), "x\n");
}

#[test]
fn an_empty_collection_begins_anew() {
    let server = Postgres::shared();
    let url = server.url(&server.database());
    runtime().block_on(async {
        opened(&url, FILE).await.unwrap();
        let other = FILE.replace("{good: text}", "{good: i64 desc}:{more: text}");
        let runtime = opened(&url, &other).await.unwrap();
        let mut good = good("x");
        good["good"] = json!(5);
        good["more"] = json!("more");
        put(&runtime, good.clone()).await.unwrap();
        assert_eq!(rows(&runtime).await, [good]);
        let refused = opened(&url, FILE).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Mismatch, "{refused}");
    });
}

#[test]
fn a_user_who_may_only_read_and_write_can_open_what_is_there() {
    let server = Postgres::shared();
    let database = server.database();
    runtime().block_on(async {
        opened(&server.url(&database), FILE).await.unwrap();
        server.psql(
            &database,
            "CREATE ROLE clerk LOGIN; GRANT USAGE ON SCHEMA shop TO clerk; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA shop TO clerk",
        );
        let url = server.url(&database).replace("keyway@", "clerk@");
        let runtime = opened(&url, FILE).await.unwrap();
        put(&runtime, good("x")).await.unwrap();
        let more = FILE.replace("state = \"new|sold\"", "state = \"new|sold\", note = \"text?\"");
        let refused = opened(&url, &more).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Mismatch, "{refused}");
        assert!(refused.to_string().contains("grant it"), "{refused}");
    });
}

#[test]
fn a_server_that_cannot_keep_the_promise_is_refused() {
    let server = Postgres::shared();
    let latin = "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0 \
        LOCALE_PROVIDER libc";
    server.psql("postgres", latin);
    runtime().block_on(async {
        let file = keyspace(FILE);
        let ask = async |url: &str, options: &Options| {
            let store = PostgresStore::open(url, options).unwrap();
            store.ensure(&file).await.unwrap_err()
        };
        let power = Options { durability: Durability::Power, ..Options::default() };
        let refused = ask(&server.url("postgres"), &power).await;
        assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
        assert!(refused.to_string().contains("durability=process"), "{refused}");
        let refused = ask(&server.url("latin"), &options()).await;
        assert!(refused.to_string().contains("UTF-8"), "{refused}");
        let refused = ask(&server.url("nowhere"), &options()).await;
        assert_eq!(refused.kind(), ErrorKind::Argument, "{refused}");
        assert!(refused.to_string().contains("no such database"), "{refused}");
        let refused = ask("postgres://keyway@127.0.0.1:1/x", &options()).await;
        assert_eq!(refused.kind(), ErrorKind::Unavailable, "{refused}");
        let told = format!("{refused:?}");
        assert_eq!(told.matches("127.0.0.1:1/").count(), 1, "{told}");
        assert_eq!(told.matches("onnect").count(), 1, "the cause is told once: {told}");
    });
}

#[test]
fn the_schema_of_another_keyspace_is_named_with_the_fix() {
    let server = Postgres::shared();
    let database = server.database();
    runtime().block_on(async {
        opened(&server.url(&database), FILE).await.unwrap();
        server.psql(&database, "UPDATE shop.keyway SET name = 'other' WHERE name = 'shop'");
        let refused = opened(&server.url(&database), FILE).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Mismatch, "{refused}");
        let told = refused.to_string();
        assert!(told.contains("give another database"), "{told}");
        assert!(told.contains("(schema: shop, belongs_to: other, given: shop)"), "{told}");
    });
}

#[test]
fn many_programs_may_open_at_once() {
    let server = Postgres::shared();
    let url = server.url(&server.database());
    runtime().block_on(async {
        let open = |number: u64| {
            let url = url.clone();
            tokio::spawn(async move {
                let runtime = opened(&url, FILE).await.unwrap();
                put(&runtime, good(&number.to_string())).await.unwrap();
            })
        };
        let opening: Vec<_> = (0..6).map(open).collect();
        for one in opening {
            one.await.unwrap();
        }
        assert_eq!(rows(&opened(&url, FILE).await.unwrap()).await.len(), 6);
    });
}
