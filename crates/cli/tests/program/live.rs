//! `keyway copy --live` while `keyway serve` has the engine: people go on calling over HTTP, and
//! every call that was answered is in the store to which the keyspace has moved.

use crate::serve::{Server, ask};
use crate::{Directory, Ran, SHOP, Shop, command, keyway, root, token};
use serde_json::{Value as Json, json};
use servers::cassandra::Cassandra;
use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

const CHANNEL: &str = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
/// People who write at the same time.
const PEOPLE: u64 = 4;
/// What each of them thinks between two calls.
const PACE: Duration = Duration::from_millis(15);
/// Messages that are there before.
const MESSAGES: u64 = 600;
/// Milliseconds for which writes may wait; a move gives up after ten seconds.
const PAUSE_MAX: i64 = 3_000;

fn uuid(number: u64) -> String {
    format!("00000000-0000-4000-8000-{number:012x}")
}

/// The chat on an engine, in a directory of its own.
struct Chat {
    directory: Directory,
    file: String,
    /// The folder of the engine.
    folder: String,
}

impl Chat {
    /// With some messages; `folder` is where the engine is.
    fn new(test: &str, folder: &str) -> Chat {
        let directory = Directory::new(test);
        let file = directory.path("keyspace.toml");
        fs::copy(root().join("apps/chat/keyspace.toml"), &file).unwrap();
        let folder = directory.path(folder);
        fs::create_dir_all(&folder).unwrap();
        let chat = Chat { directory, file, folder };
        let line = |number| json!({ "channel_id": CHANNEL, "content": format!("{number}") });
        let lines: String = (0..MESSAGES).map(|number| format!("{}\n", line(number))).collect();
        let lines = chat.directory.write("messages.jsonl", &lines);
        let url = format!("{}?durability=process", chat.engine());
        let (ann, send) = (uuid(1), "send_message");
        let ran =
            keyway(&["load", &chat.file, &lines, "--pattern", send, "--as", &ann, "--store", &url]);
        assert_eq!(ran.status, 0, "{}", ran.complaint);
        chat
    }

    fn engine(&self) -> String {
        format!("engine:{}", self.folder)
    }

    /// The file system's word for the socket.
    fn hatch(&self) -> Option<fs::Metadata> {
        fs::symlink_metadata(format!("{}/hatch", self.folder)).ok()
    }

    fn serve(&self) -> Server {
        Server::start(&self.file, &["--store", &self.engine(), "--rate", "0"])
    }

    fn arguments<'a>(&'a self, from: &'a str, to: &'a str) -> [&'a str; 8] {
        ["copy", &self.file, "--from", from, "--to", to, "--live", "--json"]
    }

    fn copy(&self, to: &str, more: &[&str]) -> Ran {
        keyway(&[&self.arguments(&self.engine(), to), more].concat())
    }

    /// The same, begun.
    fn begin(&self, to: &str) -> Child {
        let engine = self.engine();
        let mut begun = command(&self.arguments(&engine, to));
        begun.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// What messages say and who is in which guild, in a store that nobody has open.
    fn stored(&self, url: &str) -> (Vec<String>, BTreeSet<(String, String)>) {
        let ran = keyway(&["export", &self.file, "--store", url]);
        assert_eq!(ran.status, 0, "{}", ran.complaint);
        let (mut messages, mut members) = (Vec::new(), BTreeSet::new());
        for line in ran.output.lines() {
            let line: Json = serde_json::from_str(line).unwrap();
            let text = |name: &str| line["row"][name].as_str().unwrap().to_string();
            match line["collection"].as_str() {
                Some("messages_by_channel") => messages.push(text("content")),
                Some("guild_members") => {
                    members.insert((text("user_id"), text("guild_id")));
                }
                _ => {}
            }
        }
        messages.sort();
        (messages, members)
    }
}

/// A person who calls, and what they were told is done.
struct Person {
    number: u64,
    token: String,
    messages: Vec<String>,
    guilds: BTreeSet<String>,
    /// Calls that were told to come again: they have done nothing.
    refused: u64,
}

impl Person {
    fn call(&mut self, address: &str, path: &str, body: &Json) -> bool {
        match ask(address, &self.token, "POST", path, &body.to_string()) {
            (200, _) => true,
            (503, _) => {
                self.refused += 1;
                false
            }
            (status, answer) => panic!("{path}: {status} {answer}"),
        }
    }

    fn act(&mut self, address: &str, turn: u64) {
        let content = format!("{} says {turn}", self.number);
        let body = json!({ "channel_id": CHANNEL, "content": content });
        if self.call(address, "/send_message", &body) {
            self.messages.push(content);
        }
        let guild = uuid(100 + turn % 5);
        let path = match self.guilds.contains(&guild) {
            true => "/leave_guild",
            false => "/join_guild",
        };
        if self.call(address, path, &json!({ "guild_id": guild })) && !self.guilds.remove(&guild) {
            self.guilds.insert(guild);
        }
    }
}

/// People who go on until they are told to stop.
struct Traffic {
    stop: Arc<AtomicBool>,
    turns: Arc<AtomicU64>,
    people: Vec<JoinHandle<Person>>,
}

impl Traffic {
    fn start(chat: &Chat, server: &Server) -> Traffic {
        let (stop, turns) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let person = |number| {
            let token = token(&chat.file, &["--as", &uuid(number)]);
            let (messages, guilds) = (Vec::new(), BTreeSet::new());
            let mut person = Person { number, token, messages, guilds, refused: 0 };
            let (stop, turns, address) = (stop.clone(), turns.clone(), server.address.clone());
            std::thread::spawn(move || {
                for turn in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    person.act(&address, turn);
                    sleep(PACE);
                    turns.fetch_add(1, Ordering::Relaxed);
                }
                person
            })
        };
        let people = (1..=PEOPLE).map(person).collect();
        Traffic { stop, turns, people }
    }

    fn turns(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }

    /// Waits until so many more turns were taken.
    fn go_on(&self, more: u64) {
        let end = self.turns() + more;
        while self.turns() < end {
            assert!(!self.people.iter().any(JoinHandle::is_finished), "someone gave up");
            sleep(Duration::from_millis(5));
        }
    }

    fn end(self) -> Vec<Person> {
        self.stop.store(true, Ordering::Relaxed);
        self.people.into_iter().map(|person| person.join().unwrap()).collect()
    }
}

/// What a command has written as JSON.
#[track_caller]
fn json_of(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|_| panic!("no JSON: {text}"))
}

#[track_caller]
fn refused(ran: &Ran, status: i32, part: &str) {
    assert_eq!((ran.status, ran.output.as_str()), (status, ""), "{}", ran.complaint);
    assert!(ran.complaint.contains(part), "{}", ran.complaint);
}

/// Moves the chat while it is served and used, and proves that nothing was lost.
fn moves_to(chat: &Chat, url: &str) {
    let server = chat.serve();
    let hatch = chat.hatch().unwrap();
    assert!(hatch.file_type().is_socket());
    assert_eq!(hatch.permissions().mode() & 0o777, 0o600);
    let traffic = Traffic::start(chat, &server);
    traffic.go_on(40);
    let before = traffic.turns();
    let ran = chat.copy(url, &[]);
    assert_eq!(ran.status, 0, "{}", ran.complaint);
    assert!(traffic.turns() > before, "nobody called meanwhile");
    let moved = json_of(&ran.output);
    assert!(moved["copied"].as_u64().unwrap() >= MESSAGES, "{moved}");
    assert!(moved["followed"].as_u64().unwrap() > 0, "{moved}");
    assert!((0..PAUSE_MAX).contains(&moved["paused_milliseconds"].as_i64().unwrap()), "{moved}");
    assert_eq!(moved["served"], true);
    println!("{url}: {moved}");
    traffic.go_on(80);
    let again = chat.copy(url, &[]);
    refused(&again, 2, "the keyspace has moved already");
    refused(&again, 2, moved["to"].as_str().unwrap());
    let mut people = traffic.end();
    let late = "after the move".to_string();
    let body = json!({ "channel_id": CHANNEL, "content": late });
    assert!(people[0].call(&server.address, "/send_message", &body));
    people[0].messages.push(late.clone());
    let ann = people[0].token.clone();
    let (status, health) = ask(&server.address, &ann, "GET", "/health", "");
    assert_eq!((status, &health["status"]), (200, &json!("up")));
    let (status, logged) = server.ended();
    assert_eq!(status, Some(0), "{logged}");
    assert!(chat.hatch().is_none(), "the socket goes with the server");

    // Every call that was answered is there once, and nothing else is.
    let (messages, members) = chat.stored(url);
    let said = people.iter().flat_map(|person| person.messages.iter().cloned());
    let mut sent: Vec<String> =
        (0..MESSAGES).map(|number| format!("{number}")).chain(said).collect();
    sent.sort();
    assert_eq!(messages, sent);
    let member = |person: &Person| {
        let (user, guilds) = (uuid(person.number), person.guilds.clone());
        guilds.into_iter().map(move |guild| (user.clone(), guild))
    };
    assert_eq!(members, people.iter().flat_map(member).collect());
    let refusals: u64 = people.iter().map(|person| person.refused).sum();
    assert!(refusals <= PEOPLE, "only who was under way is told to come again: {refusals}");
    // The engine has what was there before, and takes no more.
    let (left, _) = chat.stored(&chat.engine());
    assert!(left.len() < messages.len() && !left.contains(&late), "{}", left.len());
    // The next server is on the other store, and knows the same people.
    let server = Server::start(&chat.file, &["--store", url, "--rate", "0"]);
    let (status, guilds) =
        ask(&server.address, &ann, "GET", &format!("/list_guilds_of_user?user_id={}", uuid(1)), "");
    assert_eq!(status, 200, "{guilds}");
    assert_eq!(guilds["rows"].as_array().unwrap().len(), people[0].guilds.len());
    assert_eq!(server.end(), Some(0));
}

#[test]
fn the_served_chat_moves_to_cassandra_under_traffic() {
    let chat = Chat::new("live-cassandra", "data");
    moves_to(&chat, &format!("{}?replication=1", Cassandra::shared().url("served_chat")));
}

/// The folder has a path that is too long for a socket.
#[test]
#[cfg(target_os = "linux")]
fn the_served_chat_moves_to_sqlite_under_traffic() {
    let chat = Chat::new("live-sqlite", &format!("{0}/{0}", "long".repeat(25)));
    moves_to(&chat, &format!("sqlite:{}", chat.directory.path("chat.db")));
}

#[test]
fn what_cannot_be_moved_is_refused_and_is_served_as_before() {
    let chat = Chat::new("live-refused", "data");
    let server = chat.serve();
    let other = chat.directory.write(
        "other.toml",
        &format!("# Changed since.\n{}", chat.directory.read("keyspace.toml")),
    );
    let (engine, to) = (chat.engine(), format!("sqlite:{}", chat.directory.path("chat.db")));
    let copy = ["copy", other.as_str(), "--from", &engine, "--to", &to, "--live"];
    let ran = keyway(&copy);
    refused(&ran, 1, "the server was started with another file than this one");
    refused(&ran, 1, "fix: give the file that it was started with");
    refused(&chat.copy("memory:", &[]), 2, "ends with it");
    refused(&chat.copy("redis://127.0.0.1:1/0", &[]), 4, "error");
    assert!(!chat.directory.0.join("chat.db").exists(), "nothing was begun");
    // A target that holds rows is somebody's, unless it is said to be a move's.
    let made = keyway(&["copy", &chat.file, "--from", &engine, "--to", &to]);
    refused(&made, 4, "another process has the store open");
    let id = uuid(7);
    let arguments = ["email=ann@example.org", "display_name=Ann", "--as", &id, "--store", &to];
    let made = keyway(&[&["run", chat.file.as_str(), "register"], &arguments[..]].concat());
    assert_eq!(made.status, 0, "{}", made.complaint);
    refused(&chat.copy(&to, &[]), 3, "the target holds rows already");
    let ran = chat.copy(&to, &["--again"]);
    assert_eq!(ran.status, 0, "{}", ran.complaint);
    assert_eq!(server.end(), Some(0));
    assert_eq!(chat.stored(&to).0.len() as u64, MESSAGES);
}

#[test]
fn who_offers_no_socket_is_told_to_move_by_itself() {
    let shop = Shop::new("live-library");
    let (runtime, library) = shop.open();
    let to = format!("sqlite:{}", shop.directory.path("shop.db"));
    let file = shop.directory.path("keyspace.toml");
    fs::copy(root().join(SHOP), &file).unwrap();
    let copy = ["copy", &file, "--from", &shop.url, "--to", &to, "--live"];
    let ran = keyway(&copy);
    refused(&ran, 4, "another process has the store open");
    refused(&ran, 4, "`Keyway::move_to`");
    // What a server left that was killed is nobody's.
    let socket = std::os::unix::net::UnixListener::bind(shop.directory.path("data/hatch"));
    drop(socket.unwrap());
    refused(&keyway(&copy), 4, "`Keyway::move_to`");
    runtime.block_on(library.close()).unwrap();
    let server = Server::start(&file, &["--store", &shop.url]);
    server.kill();
    assert!(shop.directory.0.join("data/hatch").exists(), "nobody has taken it away");
    let server = Server::start(&file, &["--store", &shop.url]);
    let ran = keyway(&copy);
    assert_eq!(ran.status, 0, "{}", ran.complaint);
    assert!(ran.output.ends_with("give it that store: --store URL\n"), "{}", ran.output);
    assert_eq!(server.end(), Some(0));
}

/// Whoever has asked goes away, or the server ends, while the target does not answer: the move is
/// given up.
#[test]
fn a_move_ends_with_whoever_asked_for_it() {
    let chat = Chat::new("live-hangs", "data");
    let server = chat.serve();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let nowhere = format!("redis://{}/0", silent.local_addr().unwrap());
    let mut asked = chat.begin(&nowhere);
    let _reached = silent.accept().unwrap();
    refused(&chat.copy(&nowhere, &[]), 3, "the keyspace is being moved already");
    asked.kill().unwrap();
    asked.wait().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    let asked = loop {
        // The server notices a moment later that nobody listens any more.
        assert!(Instant::now() < until, "the first move goes on");
        let mut asked = chat.begin(&nowhere);
        let is_refused = (0..20).any(|_| {
            sleep(Duration::from_millis(100));
            asked.try_wait().unwrap().is_some()
        });
        if !is_refused {
            break asked;
        }
    };
    let begun = Instant::now();
    assert_eq!(server.end(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    let told = asked.wait_with_output().unwrap();
    let told = String::from_utf8(told.stderr).unwrap();
    assert!(told.contains("the server was told to end, so nothing has moved"), "{told}");
    let server = chat.serve();
    let ran = chat.copy(&format!("sqlite:{}", chat.directory.path("chat.db")), &[]);
    assert_eq!(ran.status, 0, "{}", ran.complaint);
    assert_eq!(server.end(), Some(0));
}
