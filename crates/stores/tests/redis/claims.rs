//! Pages through unique indexes: a list names claims, and only claims say whose they are. They are
//! the pages that memory answers, in two round trips, whatever changes in between.

use crate::app::App;
use crate::support::{at, in_runtime, store};
use data::memory::MemoryStore;
use data::store::Store;
use data::{ErrorKind, Result};
use serde_json::{Value as Json, json};
use servers::proxy::Proxy;
use servers::redis::RedisServer;
use std::future::Future;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use stores::redis::{Options, RedisStore};

const GUILD: &str = r#"
[keyspace]
name = "guild"

# The texts of claims are the keys of members, with whatever must be escaped in them.
[collection.members]
key = "guild:{guild: text}:members | {name: text}:{number: i64}"
expect = { rows_per_group = 100_000 }
fields = { guild_id = "text", handle = "text", rank = "i64", about = "text?", motto = "text?" }
index.handles = { key = "guild:{guild_id}:handles | {handle}", unique = true }
index.ranks = { key = "guild:{guild_id}:ranks | {rank desc}:{handle}", unique = true, keep = ["about"] }

# Files are named by paths; what they keep makes their claims Hashes.
[collection.files]
key = "files:{drive: text} | {path: text..}"
fields = { hash = "text", size = "i64", note = "text" }
index.by_hash = { key = "drive:{drive}:hashes | {hash}", unique = true, keep = ["size"] }
index.by_note = { key = "drive:{drive}:notes | {note}", unique = true }

[collection.visits]
key = "visit:{visit: text}"
fields = { place = "text", badge = "text" }
ttl = "1h"
index.badges = { key = "place:{place}:badges | {badge}", unique = true }

[pattern.add_member]
insert = "members"
allow = "user"
[pattern.change_member]
update = "members"
set = ["handle", "rank", "about"]
allow = "user"
[pattern.drop_member]
delete = "members"
allow = "user"
[pattern.by_handle]
list = "members.handles"
page = 7
[pattern.all_by_handle]
list = "members.handles"
page = 400
[pattern.by_rank]
list = "members.ranks"
page = 7

[pattern.add_file]
insert = "files"
allow = "user"
[pattern.by_hash]
list = "files.by_hash"
page = 4
[pattern.by_note]
list = "files.by_note"
page = 4

[pattern.add_visit]
insert = "visits"
allow = "user"
[pattern.badges_of]
list = "visits.badges"
page = 50
"#;

async fn app(store: Arc<dyn Store>) -> App {
    App::of(GUILD, store, |options| options.check_bounds = true).await.unwrap()
}

async fn app_behind(port: u16, prefix: &str) -> App {
    let options = Options { prefix: prefix.to_string(), ..at(port) };
    app(Arc::new(RedisStore::open(options).await.unwrap())).await
}

fn member(name: &str, number: i64, handle: &str) -> Json {
    json!({"guild": "g", "name": name, "number": number, "guild_id": "g", "handle": handle,
        "rank": number % 5, "about": (number % 2 == 0).then(|| format!("about {name}")),
        "motto": (number % 3 == 0).then(|| format!("motto {name}"))})
}

/// Names with everything that is written otherwise in keys.
const NAMES: [&str; 10] =
    ["ann", "a:b", "50%", "{x}", "", "%3a", "é—ü", "tab\tnul\0del\u{7f}", "[^%w]-", "~v"];

async fn fill(app: &App) {
    for (number, name) in NAMES.iter().cycle().take(30).enumerate() {
        let handle = format!("h{}:{name}", number * 7 % 30);
        let number = i64::try_from(number).unwrap() - 3;
        app.call("add_member", member(name, number, &handle)).await.unwrap();
    }
    let paths =
        [vec![], vec![""], vec!["%"], vec!["a", "b:c"], vec!["", ""], vec!["x", "50%", "é"]];
    for (number, path) in paths.iter().enumerate() {
        let (hash, note) = (format!("{}", 9 - number), format!("n{number}"));
        let file =
            json!({"drive": "d:1", "path": path, "hash": hash, "size": number, "note": note});
        app.call("add_file", file).await.unwrap();
        let visit = json!({"visit": format!("v{number}"), "place": "p", "badge": hash});
        app.call("add_visit", visit).await.unwrap();
    }
}

/// The rows of a page, without their versions, and where the next one begins.
fn rows(page: &Json) -> (Vec<Json>, Json) {
    let mut rows = page["rows"].as_array().unwrap().clone();
    for row in &mut rows {
        let row = row.as_object_mut().unwrap();
        row.remove("version");
        row.remove("expires");
    }
    (rows, page["next"].clone())
}

/// All pages of a list; `each` is told of every call.
async fn pages(
    app: &App,
    pattern: &str,
    arguments: &Json,
    each: &mut dyn FnMut(),
) -> Vec<Vec<Json>> {
    let (mut found, mut arguments) = (Vec::new(), arguments.clone());
    loop {
        let page = app.call(pattern, arguments.clone()).await.unwrap();
        each();
        let (rows, next) = rows(&page);
        found.push(rows);
        if next.is_null() {
            return found;
        }
        arguments["cursor"] = next;
    }
}

const LISTS: [(&str, &str, &str); 6] = [
    ("by_handle", "guild_id", "g"),
    ("all_by_handle", "guild_id", "g"),
    ("by_rank", "guild_id", "g"),
    ("by_hash", "drive", "d:1"),
    ("by_note", "drive", "d:1"),
    ("badges_of", "place", "p"),
];

#[test]
fn pages_are_those_of_memory_in_two_round_trips() {
    let server = RedisServer::start(&[]);
    let proxy = Proxy::start(&server.address());
    in_runtime(async {
        let memory = app(Arc::new(MemoryStore::new())).await;
        fill(&memory).await;
        for prefix in ["", "app[%d]:"] {
            server.cli(&["FLUSHALL"]);
            let filler = Options { prefix: prefix.to_string(), ..at(server.port()) };
            fill(&app(Arc::new(RedisStore::open(filler).await.unwrap())).await).await;
            server.cli(&["SCRIPT", "FLUSH"]);
            let app = app_behind(proxy.port(), prefix).await;
            for (pattern, name, value) in LISTS {
                for reverse in [false, true] {
                    let arguments = json!({name: value, "reverse": reverse});
                    let expected = pages(&memory, pattern, &arguments, &mut || {}).await;
                    let mut before = proxy.turns();
                    // Also the first of all, to which the server does not know the script.
                    let mut two = || {
                        let now = proxy.turns();
                        assert_eq!(now - before, 2, "{pattern} {prefix}");
                        before = now;
                    };
                    let found = pages(&app, pattern, &arguments, &mut two).await;
                    assert_eq!(found, expected, "{pattern}");
                }
                let plan = app.runtime.pattern(pattern).unwrap().bounds().unwrap().round_trips;
                // Rows that end may fall out, and a page is then read again.
                let times = if pattern == "badges_of" { 4 } else { 1 };
                assert_eq!(plan, 2 * times, "the plan of {pattern}");
            }
        }
    });
}

#[test]
fn pages_of_large_rows_end_before_they_are_full() {
    let server = RedisServer::start(&[]);
    in_runtime(async {
        let app = App::of(GUILD, store(&server).await, |_| {}).await.unwrap();
        for number in 0..15 {
            let mut large = member("ann", number, &format!("h{number:02}"));
            large["motto"] = json!("x".repeat(900 << 10));
            app.call("add_member", large).await.unwrap();
        }
        let sent = || {
            let told = server.cli(&["--raw", "INFO", "stats"]);
            let bytes = told.lines().find_map(|line| line.strip_prefix("total_net_output_bytes:"));
            bytes.unwrap().trim().parse::<u64>().unwrap()
        };
        for (pattern, rows) in [("all_by_handle", vec![10, 5]), ("by_rank", vec![7, 7, 1])] {
            let before = sent();
            let found = pages(&app, pattern, &json!({"guild_id": "g"}), &mut || {}).await;
            assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), rows, "{pattern}");
            // No row was sent twice, for a page that could not take it.
            assert!(sent() - before < 15 << 20, "{pattern}");
        }
    });
}

/// Carries what one store says to a server. While it is armed, a script is held back until the
/// test lets it pass.
struct Gate {
    port: u16,
    is_armed: Arc<AtomicBool>,
    reached: Receiver<()>,
    pass: Sender<()>,
}

impl Gate {
    fn before(server: &RedisServer) -> Gate {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (address, is_armed) = (server.address(), Arc::new(AtomicBool::new(false)));
        let ((reached, is_reached), (pass, may_pass)) = (channel(), channel());
        let armed = is_armed.clone();
        std::thread::spawn(move || {
            let (mut store, _) = listener.accept().unwrap();
            let mut server = TcpStream::connect(address).unwrap();
            let _ = (store.set_nodelay(true), server.set_nodelay(true));
            let (mut from, mut to) = (server.try_clone().unwrap(), store.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            let mut buffer = vec![0; 64 << 10];
            while let Ok(count @ 1..) = store.read(&mut buffer) {
                let is_script = buffer[..count].windows(4).any(|bytes| bytes == b"EVAL");
                if is_script && armed.swap(false, Ordering::SeqCst) {
                    reached.send(()).unwrap();
                    may_pass.recv().unwrap();
                }
                server.write_all(&buffer[..count]).unwrap();
            }
            let _ = server.shutdown(Shutdown::Both);
        });
        Gate { port, is_armed, reached: is_reached, pass }
    }

    /// A page, and something that happens after its list and before its claims are read.
    async fn page(&self, app: &App, change: impl Future<Output = ()>) -> Result<Json> {
        self.is_armed.store(true, Ordering::SeqCst);
        let change = async {
            let began = Instant::now();
            while self.reached.try_recv().is_err() {
                assert!(began.elapsed() < Duration::from_secs(20), "no script was sent");
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            change.await;
            self.pass.send(()).unwrap();
        };
        tokio::join!(app.call("all_by_handle", json!({"guild_id": "g"})), change).0
    }
}

#[test]
fn what_changes_after_the_list_was_read_is_in_the_page_as_a_whole() {
    let server = RedisServer::start(&[]);
    let gate = Gate::before(&server);
    in_runtime(async {
        let other = app(store(&server).await).await;
        fill(&other).await;
        let app = app(Arc::new(RedisStore::open(at(gate.port)).await.unwrap())).await;
        let key = |number: i64| json!({"guild": "g", "name": "ann", "number": number});
        let changed = |number: i64, handle: &str| {
            let mut change = key(number);
            change["handle"] = json!(handle);
            change
        };
        let changes: [(&str, Vec<(&str, Json)>); 5] = [
            ("another handle", vec![("change_member", changed(-3, "zz"))]),
            ("no more", vec![("drop_member", key(-3))]),
            ("one more", vec![("add_member", member("ann", 100, "a new one"))]),
            (
                "a handle of another's",
                vec![("drop_member", key(100)), ("add_member", member("bob", 101, "a new one"))],
            ),
            (
                "two who change",
                vec![
                    ("drop_member", key(7)),
                    ("change_member", changed(17, "h0:ann")),
                    ("add_member", member("ann", 7, "h1")),
                ],
            ),
        ];
        for (what, calls) in changes {
            let page = gate.page(&app, async {
                for (pattern, arguments) in calls {
                    other.call(pattern, arguments).await.unwrap();
                }
            });
            let page = page.await.unwrap();
            let now = other.call("all_by_handle", json!({"guild_id": "g"})).await.unwrap();
            assert_eq!(rows(&page), rows(&now), "{what}");
        }
    });
}

#[test]
fn a_foreign_key_under_the_name_of_a_row_or_a_claim_is_named() {
    let server = RedisServer::start(&[]);
    in_runtime(async {
        let app = app(store(&server).await).await;
        for (name, pattern, arguments) in [
            ("guild:g:members:a%3ab:1", "by_handle", json!({"guild_id": "g"})),
            ("guild:g:members:a%3ab:1", "by_rank", json!({"guild_id": "g"})),
            ("guild:g:handles:h1", "by_handle", json!({"guild_id": "g"})),
            ("guild:g:ranks:1:h1", "by_rank", json!({"guild_id": "g"})),
        ] {
            server.cli(&["FLUSHDB"]);
            app.runtime.store().ensure(app.runtime.keyspace()).await.unwrap();
            app.call("add_member", member("ann", 0, "h0")).await.unwrap();
            app.call("add_member", member("a:b", 1, "h1")).await.unwrap();
            assert_eq!(server.cli(&["DEL", name]), "1", "{name}");
            // Without its row a claim is no error, and no row.
            if name.contains("members") {
                let page = app.call(pattern, arguments.clone()).await.unwrap();
                assert_eq!(page["rows"].as_array().unwrap().len(), 1, "{pattern}");
            }
            server.cli(&["LPUSH", name, "theirs"]);
            let error = app.call(pattern, arguments).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Mismatch, "{pattern}: {error}");
            assert!(error.to_string().contains(name), "{pattern}: {error}");
            assert_eq!(server.cli(&["LLEN", name]), "1");
        }
    });
}
