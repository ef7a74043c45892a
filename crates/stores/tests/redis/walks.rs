//! A walk meets every row that stays exactly once, even if the server rebuilds its table meanwhile.

use crate::support::{RealClock, in_runtime, store};
use data::Value;
use data::clock::SystemRandom;
use data::maintain::{Existing, Import};
use data::store::{End, Scan, Store};
use servers::redis::RedisServer;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

const FILE: &str = r#"
[keyspace]
name = "walked"

[collection.items]
key = "item:{item: text}"
value = "text"

[pattern]
item = { get = "items" }
put_item = { put = "items", allow = "user" }
"#;

const ROWS: usize = 3_000;
/// Keys of nobody: with them the server's table is large enough to be made smaller without them.
const OTHERS: &str = "30000";
/// How often it is walked. One walk alone would meet a row twice in three or four tries only.
const WALKS: usize = 16;

/// The places of the server's table; of the smaller one while there are two.
fn table(server: &RedisServer) -> usize {
    let said = server.cli(&["DEBUG", "HTSTATS", "0"]);
    // Another table, of keys that end, follows.
    let sizes = said.lines().take_while(|line| !line.contains("[Expires"));
    let sizes = sizes.filter_map(|line| line.trim().strip_prefix("table size: "));
    sizes.filter_map(|size| size.parse().ok()).min().unwrap_or_else(|| panic!("{said}"))
}

#[test]
fn a_walk_meets_each_row_once_while_the_server_rebuilds_its_table() {
    let server = RedisServer::start(&["--enable-debug-command", "yes", "--hz", "100"]);
    in_runtime(async {
        let store = store(&server).await;
        let keyspace = Arc::new(keyspace::read(FILE).keyspace.unwrap());
        let schema = store.ensure(&keyspace).await.unwrap();
        let items = schema.collection("items").unwrap();
        let random = SystemRandom::start().unwrap();
        let mut import =
            Import::new(store.as_ref(), &schema, &RealClock, &random, Existing::Replace);
        for number in 0..ROWS {
            let text = |text: String| vec![Value::Text(text)];
            let row = (text(number.to_string()), text(format!("row {number}")));
            import.row(items.clone(), row.0, row.1, None).await.unwrap();
        }
        import.finish().await.unwrap();
        for walk in 0..WALKS {
            let fill = "for n = 1, ARGV[1] do redis.call('SET', 'other:' .. n, '') end";
            server.cli(&["EVAL", fill, "0", OTHERS]);
            let large = table(&server);
            let mut met: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
            let space = items.key.space;
            let mut range = data::store::Range {
                start: bytes::Bytes::copy_from_slice(&space.to_be_bytes()),
                end: bytes::Bytes::copy_from_slice(&(space + 1).to_be_bytes()),
            };
            let mut pages = 0;
            loop {
                let scan = Scan { range: range.clone(), reverse: false, rows: 100 };
                let page = store.walk(&scan).await.unwrap();
                for keyed in &page.rows {
                    *met.entry(keyed.key.bytes().to_vec()).or_default() += 1;
                }
                pages += 1;
                if pages == 1 + walk {
                    let clear = "for n = 1, ARGV[1] do redis.call('DEL', 'other:' .. n) end";
                    server.cli(&["EVAL", clear, "0", OTHERS]);
                    let begun = Instant::now();
                    while table(&server) >= large {
                        assert!(begun.elapsed() < Duration::from_secs(60), "it stays {large}");
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                }
                match (page.end, page.rows.last()) {
                    (End::Range, _) | (_, None) => break,
                    (_, Some(last)) => range = range.after(&last.key, false),
                }
            }
            let twice: Vec<&usize> = met.values().filter(|count| **count > 1).collect();
            assert!(twice.is_empty(), "walk {walk}: {} rows were met again", twice.len());
            assert_eq!(met.len(), ROWS, "walk {walk}");
        }
    });
}
