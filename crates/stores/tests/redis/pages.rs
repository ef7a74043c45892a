//! Large pages of rows of which a store has seen none: how large they are is known to nobody.

use crate::app::App;
use crate::support::{in_runtime, store};
use data::ErrorKind;
use data::store::Store;
use serde_json::{Value as Json, json};
use servers::redis::RedisServer;
use std::sync::Arc;

const FILE: &str = r#"
[keyspace]
name = "large"

[collection.lines]
key = "log:{log: text} | {line: text}"
value = "text"
expect = { rows_per_group = 100_000 }

[collection.books]
key = "books:{library: text} | {book: text}"
expect = { rows_per_group = 100_000 }
fields = { shelf = "text", title = "text", pages = "i64", text = "text" }
index.books_by_pages.key = "shelf:{shelf} | {pages}"
index.books_by_pages.keep = ["title"]
index.books_by_pages.expect = { rows_per_group = 100_000 }

[pattern.put_lines]
put = "lines"
many = 20
allow = "user"
[pattern.lines_of]
list = "lines"
page = 1_000
[pattern.put_books]
put = "books"
many = 20
allow = "user"
[pattern.by_pages]
list = "books.books_by_pages"
page = 1_000
"#;

/// Rows of each list.
const ROWS: usize = 800;
/// What is read of rows at once, and what comes with it: names of all, twice.
const BYTES_MOST: u64 = (16 << 20) + (1 << 20);

/// One who has seen no row yet.
async fn opened(server: &RedisServer) -> App {
    App::of(FILE, store(server).await as Arc<dyn Store>, |_| {}).await.unwrap()
}

fn line(number: usize, text: &str) -> Json {
    json!({"line": format!("l{number:04}"), "value": text})
}

fn book(number: usize, text: &str) -> Json {
    let id = format!("b{number:04}");
    json!({"book": id, "title": id, "shelf": "s", "pages": number, "text": text})
}

/// Puts so many of each, all with this text.
async fn filled(app: &App, rows: usize, text: &str) {
    for first in (0..rows).step_by(20) {
        let numbers = || first..(first + 20).min(rows);
        let lines: Vec<Json> = numbers().map(|number| line(number, text)).collect();
        app.call("put_lines", json!({"log": "l", "rows": lines})).await.unwrap();
        let books: Vec<Json> = numbers().map(|number| book(number, text)).collect();
        app.call("put_books", json!({"library": "l", "rows": books})).await.unwrap();
    }
}

/// What a server has said so far.
fn said(server: &RedisServer) -> u64 {
    let told = server.cli(&["INFO", "stats"]);
    let bytes = told.lines().find_map(|line| line.strip_prefix("total_net_output_bytes:"));
    bytes.unwrap().trim().parse().unwrap()
}

#[test]
fn rows_that_turn_out_large_are_read_until_there_is_enough() {
    let server = RedisServer::start(&[]);
    in_runtime(async {
        filled(&opened(&server).await, ROWS, &"x".repeat(50_000)).await;
        for (pattern, of, id) in
            [("lines_of", json!({"log": "l"}), "line"), ("by_pages", json!({"shelf": "s"}), "book")]
        {
            let app = opened(&server).await;
            let before = said(&server);
            let mut page = app.call(pattern, of.clone()).await.unwrap();
            let more = said(&server) - before;
            assert!(more < BYTES_MOST, "{pattern}: {more} bytes for one page");
            let mut found: Vec<Json> = Vec::new();
            loop {
                let rows = page["rows"].as_array().unwrap();
                assert!(!rows.is_empty(), "{pattern}: a page says nothing");
                found.extend(rows.iter().map(|row| row[id].clone()));
                if page["next"].is_null() {
                    break;
                }
                let mut asked = of.clone();
                asked["cursor"] = page["next"].clone();
                page = app.call(pattern, asked).await.unwrap();
            }
            let first = &id[..1];
            let all: Vec<Json> = (0..ROWS).map(|n| json!(format!("{first}{n:04}"))).collect();
            assert_eq!(found, all, "{pattern}: each row once, in its order");
        }
    });
}

/// Rows whose Hashes are far larger than what is stored of them elsewhere: most of it are names.
fn wide() -> (String, Vec<String>) {
    let name = |number| format!("a_field_with_a_name_that_is_rather_long_{number:03}");
    let names: Vec<String> = (0..400).map(name).collect();
    let fields: Vec<String> = names.iter().map(|name| format!("{name} = \"bool\"")).collect();
    let file = format!(
        r#"
[keyspace]
name = "wide"

[collection.rows]
key = "wide:{{group: text}} | {{row: text}}"
fields = {{ {} }}
expect = {{ rows_per_group = 100_000 }}

[pattern.put_rows]
put = "rows"
many = 20
allow = "user"
[pattern.rows_of]
list = "rows"
page = 1_000
"#,
        fields.join(", ")
    );
    (file, names)
}

#[test]
fn a_page_that_was_read_in_part_goes_on() {
    let server = RedisServer::start(&[]);
    let (file, names) = wide();
    in_runtime(async {
        let opened =
            async || App::of(&file, store(&server).await as Arc<dyn Store>, |_| {}).await.unwrap();
        let app = opened().await;
        let row = |number: usize| {
            let fields = names.iter().map(|name| (name.clone(), json!(true)));
            let mut row: serde_json::Map<String, Json> = fields.collect();
            row.insert("row".to_string(), json!(format!("r{number:04}")));
            Json::Object(row)
        };
        for first in (0..1_000).step_by(20) {
            let rows: Vec<Json> = (first..first + 20).map(row).collect();
            app.call("put_rows", json!({"group": "g", "rows": rows})).await.unwrap();
        }
        let before = said(&server);
        let page = opened().await.call("rows_of", json!({"group": "g"})).await.unwrap();
        let more = said(&server) - before;
        assert!(more > BYTES_MOST, "one reply of {more} bytes had them all: nothing is tried");
        assert_eq!(page["rows"].as_array().unwrap().len(), 1_000);
    });
}

#[test]
fn a_foreign_key_on_a_large_first_page_is_named() {
    let server = RedisServer::start(&[]);
    in_runtime(async {
        filled(&opened(&server).await, 400, "small").await;
        for (pattern, of, name) in [
            ("lines_of", json!({"log": "l"}), "log:l:l0333"),
            ("by_pages", json!({"shelf": "s"}), "books:l:b0333"),
        ] {
            server.cli(&["DEL", name]);
            server.cli(&["LPUSH", name, "theirs"]);
            let error = opened(&server).await.call(pattern, of).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{pattern}: {error}");
            assert!(error.to_string().contains(name), "{pattern}: {error}");
        }
    });
}
