//! A walk meets every row that stays exactly once, even if the server rebuilds its table meanwhile
//! or is started again. One that others go on with meets every row, or says that it cannot.

use crate::support::{RealClock, in_runtime, store};
use data::Value;
use data::clock::SystemRandom;
use data::maintain::{Existing, Import};
use data::store::{End, Range, Scan, Store};
use servers::redis::RedisServer;
use std::collections::{BTreeMap, BTreeSet};
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

/// Fills a store, and answers the number of its rows' space.
async fn filled(store: &dyn Store) -> u16 {
    let keyspace = Arc::new(keyspace::read(FILE).keyspace.unwrap());
    let schema = store.ensure(&keyspace).await.unwrap();
    let items = schema.collection("items").unwrap();
    let random = SystemRandom::start().unwrap();
    let mut import = Import::new(store, &schema, &RealClock, &random, Existing::Replace);
    for number in 0..ROWS {
        let text = |text: String| vec![Value::Text(text)];
        let row = (text(number.to_string()), text(format!("row {number}")));
        import.row(items.clone(), row.0, row.1, None).await.unwrap();
    }
    import.finish().await.unwrap();
    items.key.space
}

/// Makes the server's table large.
fn add_others(server: &RedisServer) -> usize {
    let fill = "for n = 1, ARGV[1] do redis.call('SET', 'other:' .. n, '') end";
    server.cli(&["EVAL", fill, "0", OTHERS]);
    table(server)
}

/// Waits until it has made its table smaller.
async fn remove_others(server: &RedisServer, large: usize) {
    let clear = "for n = 1, ARGV[1] do redis.call('DEL', 'other:' .. n) end";
    server.cli(&["EVAL", clear, "0", OTHERS]);
    let begun = Instant::now();
    while table(server) >= large {
        assert!(begun.elapsed() < Duration::from_secs(60), "it stays {large}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// How often each row is met by a walk in one process; something happens after so many pages.
async fn walked(
    (store, space): (&dyn Store, u16),
    pages: usize,
    mut happens: impl AsyncFnMut(),
) -> BTreeMap<Vec<u8>, usize> {
    let mut met: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let mut range = Range::of_space(space);
    for page_number in 1.. {
        let scan = Scan { range: range.clone(), reverse: false, rows: 100 };
        let page = store.walk(&scan).await.unwrap();
        for keyed in &page.rows {
            *met.entry(keyed.key.bytes().to_vec()).or_default() += 1;
        }
        if page_number == pages {
            happens().await;
        }
        match (page.end, page.rows.last()) {
            (End::Range, _) | (_, None) => break,
            (_, Some(last)) => range = range.after(&last.key, false),
        }
    }
    met
}

#[test]
fn a_walk_meets_each_row_once_while_the_server_rebuilds_its_table() {
    let server = RedisServer::start(&["--enable-debug-command", "yes", "--hz", "100"]);
    in_runtime(async {
        let store = store(&server).await;
        let space = filled(store.as_ref()).await;
        for walk in 0..WALKS {
            let large = add_others(&server);
            let happens = async || remove_others(&server, large).await;
            let met = walked((store.as_ref(), space), 1 + walk, happens).await;
            let twice: Vec<&usize> = met.values().filter(|count| **count > 1).collect();
            assert!(twice.is_empty(), "walk {walk}: {} rows were met again", twice.len());
            assert_eq!(met.len(), ROWS, "walk {walk}");
        }
    });
}

#[test]
fn a_walk_that_others_go_on_with_meets_each_row_while_the_server_rebuilds_its_table() {
    let server = RedisServer::start(&["--enable-debug-command", "yes", "--hz", "100"]);
    in_runtime(async {
        let first = store(&server).await;
        let space = filled(first.as_ref()).await;
        for walk in 0..WALKS {
            let large = add_others(&server);
            let mut met = BTreeSet::new();
            let mut mark: Option<Vec<u8>> = None;
            for stretch in 0.. {
                // Another process each time, as far as this can be seen.
                let store = store(&server).await;
                store.ensure(&Arc::new(keyspace::read(FILE).keyspace.unwrap())).await.unwrap();
                let found = store.walk_from(space, mark.as_deref(), 100).await.unwrap().unwrap();
                assert!(found.rows.len() <= 100 && found.mark.as_deref().is_none_or(is_small));
                met.extend(found.rows.into_iter().map(|keyed| keyed.key));
                if stretch == walk {
                    remove_others(&server, large).await;
                }
                mark = found.mark;
                if mark.is_none() {
                    break;
                }
            }
            assert_eq!(met.len(), ROWS, "walk {walk}");
        }
    });
}

/// Whether a mark has not many names in it.
fn is_small(mark: &[u8]) -> bool {
    mark.len() < 4_096
}

#[test]
fn a_server_that_was_started_again_is_walked_from_its_beginning() {
    let mut server = RedisServer::start(&["--appendonly", "yes"]);
    in_runtime(async {
        let store = store(&server).await;
        let space = filled(store.as_ref()).await;
        let begun = store.walk_from(space, None, 100).await.unwrap().unwrap();
        let mark = begun.mark.unwrap();
        assert!(store.walk_from(space, Some(&mark), 100).await.unwrap().is_some());
        server.restart();
        assert_eq!(store.walk_from(space, Some(&mark), 100).await.unwrap(), None);
        for nonsense in [&b""[..], b"x", &mark[..7], &[0, 0, 0, 0], &[255; 40]] {
            assert_eq!(store.walk_from(space, Some(nonsense), 100).await.unwrap(), None);
        }
        // One in this process notices it by itself, and remembers what it has met.
        let met = walked((store.as_ref(), space), 5, async || server.restart()).await;
        assert_eq!(met.len(), ROWS);
        assert!(met.values().all(|count| *count == 1));
    });
}
