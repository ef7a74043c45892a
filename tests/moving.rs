//! The chat moves from the embedded engine to other stores while people use it: every write that
//! was acknowledged, before, during or after, is in the store it has moved to.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use data::maintain::{Problem, Scrub};
use futures_util::FutureExt;
use keyway::{Caller, ErrorKind, Keyway, Moved, Stage, SystemRandom};
use serde_json::{Value, json};
use servers::cassandra::Cassandra;
use servers::process::Folder;
use servers::redis::RedisServer;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::runtime::Runtime;

const CHAT: &str = include_str!("../apps/chat/keyspace.toml");
const CHANNEL: &str = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
const MESSAGE: &str = "6ba7b811-9dad-11d1-80b4-00c04fd430c8";
/// People who write at the same time.
const PEOPLE: u64 = 6;
/// What each of them thinks between two calls: no store is as fast as the engine, and one that
/// cannot follow is not moved to.
const PACE: Duration = Duration::from_millis(20);
/// Milliseconds for which writes may wait; a move gives up after ten seconds.
const PAUSE_MAX: i64 = 3_000;
/// Messages that are there before anybody moves.
const MESSAGES: u64 = 400;

fn uuid(number: u64) -> String {
    format!("00000000-0000-4000-8000-{number:012x}")
}

/// A person, and what they were told is done.
struct Person {
    number: u64,
    caller: Caller,
    email: String,
    messages: BTreeMap<String, String>,
    guilds: BTreeSet<String>,
    emojis: BTreeSet<String>,
}

impl Person {
    async fn register(chat: &Keyway, number: u64) -> Person {
        let caller = Caller::user(uuid(number));
        let email = format!("person{number}@example.org");
        let arguments = json!({ "email": email, "display_name": "P" });
        chat.call_json("register", arguments, &caller).await.unwrap();
        let (messages, guilds) = (BTreeMap::new(), BTreeSet::new());
        Person { number, caller, email, messages, guilds, emojis: BTreeSet::new() }
    }

    /// Makes a call; nothing if somebody else was first.
    async fn call(&self, chat: &Keyway, pattern: &str, arguments: Value) -> Option<Value> {
        match chat.call_json(pattern, arguments, &self.caller).await {
            Ok(answer) => Some(answer),
            Err(error) => {
                let others = [ErrorKind::Taken, ErrorKind::Busy, ErrorKind::Conflict];
                assert!(others.contains(&error.kind()), "{pattern}: {error} {error:?}");
                None
            }
        }
    }

    async fn act(&mut self, chat: &Keyway, turn: u64) {
        let content = format!("{} says {turn}", self.number);
        match turn % 4 {
            0 => {
                let arguments = json!({ "channel_id": CHANNEL, "content": content });
                let sent = self.call(chat, "send_message", arguments).await.unwrap();
                let id = sent["row"]["message_id"].as_str().unwrap().to_string();
                self.messages.insert(id, content);
            }
            1 => {
                // Few addresses for many people: each is let go and taken up all the time.
                let email = format!("shared{}@example.org", (turn / 4 + self.number) % PEOPLE);
                let arguments = json!({ "email": email });
                if self.call(chat, "change_email", arguments).await.is_some() {
                    self.email = email;
                }
            }
            2 => {
                let guild = uuid(100 + turn % 3);
                let is_in = self.guilds.contains(&guild);
                let pattern = if is_in { "leave_guild" } else { "join_guild" };
                self.call(chat, pattern, json!({ "guild_id": guild })).await.unwrap();
                if !self.guilds.remove(&guild) {
                    self.guilds.insert(guild);
                }
            }
            _ => {
                let emoji = format!("e{}", turn % 5);
                let arguments = json!({ "message_id": MESSAGE, "emoji": emoji });
                let pattern = match self.emojis.contains(&emoji) {
                    true => "remove_reaction",
                    false => "add_reaction",
                };
                if self.call(chat, pattern, arguments).await.is_some()
                    && !self.emojis.remove(&emoji)
                {
                    self.emojis.insert(emoji);
                }
            }
        }
    }

    /// Whether everything that this person was told is there, and nothing else of theirs.
    async fn check(&self, chat: &Keyway) {
        let ask = async |pattern: &str, arguments: Value| {
            chat.call_json(pattern, arguments, &self.caller).await.unwrap()
        };
        let me = uuid(self.number);
        let user = ask("get_user", json!({ "user_id": me })).await;
        assert_eq!(user["row"]["email"], self.email.as_str());
        for (id, content) in &self.messages {
            let asked = json!({ "channel_id": CHANNEL, "message_id": id });
            let message = ask("get_message", asked).await;
            assert_eq!(message["row"]["content"], content.as_str(), "{id}");
        }
        let guilds = ask("list_guilds_of_user", json!({ "user_id": me })).await;
        let guilds = guilds["rows"].as_array().unwrap().iter();
        let guilds = guilds.map(|row| row["guild_id"].as_str().unwrap().to_string());
        assert_eq!(guilds.collect::<BTreeSet<_>>(), self.guilds);
    }
}

/// Many people who go on until they are told to stop.
struct Traffic {
    stop: Arc<AtomicBool>,
    calls: Arc<AtomicU64>,
    people: Vec<tokio::task::JoinHandle<Person>>,
}

impl Traffic {
    async fn start(chat: &Keyway) -> Traffic {
        let stop = Arc::new(AtomicBool::new(false));
        let calls = Arc::new(AtomicU64::new(0));
        let mut people = Vec::new();
        for number in 1..=PEOPLE {
            let mut person = Person::register(chat, number).await;
            let (chat, stop, calls) = (chat.clone(), stop.clone(), calls.clone());
            people.push(tokio::spawn(async move {
                for turn in number.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    person.act(&chat, turn).await;
                    tokio::time::sleep(PACE).await;
                    calls.fetch_add(1, Ordering::Relaxed);
                }
                person
            }));
        }
        Traffic { stop, calls, people }
    }

    /// Waits until so many more calls were made.
    async fn go_on(&self, more: u64) {
        let end = self.calls.load(Ordering::Relaxed) + more;
        while self.calls.load(Ordering::Relaxed) < end {
            assert!(!self.people.iter().any(|person| person.is_finished()), "someone gave up");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn end(self) -> Vec<Person> {
        self.stop.store(true, Ordering::Relaxed);
        let mut people = Vec::new();
        for person in self.people {
            people.push(person.await.unwrap());
        }
        people
    }
}

/// Every row that a list answers, page by page.
async fn all(chat: &Keyway, pattern: &str, mut arguments: Value) -> Vec<Value> {
    let caller = Caller::user(uuid(1));
    let mut rows = Vec::new();
    loop {
        let page = chat.call_json(pattern, arguments.clone(), &caller).await.unwrap();
        rows.extend(page["rows"].as_array().unwrap().iter().cloned());
        match page["next"].as_str() {
            Some(next) => arguments["cursor"] = json!(next),
            None => return rows,
        }
    }
}

fn text(row: &Value, field: &str) -> String {
    row[field].as_str().unwrap().to_string()
}

/// Whether the channel has the messages that were acknowledged, each once, and no other.
async fn check_messages(chat: &Keyway, people: &[Person]) {
    let rows = all(chat, "read_messages", json!({ "channel_id": CHANNEL })).await;
    let mut found: Vec<String> = rows.iter().map(|row| text(row, "content")).collect();
    let said = people.iter().flat_map(|person| person.messages.values().cloned());
    let mut sent: Vec<String> =
        (0..MESSAGES).map(|number| number.to_string()).chain(said).collect();
    found.sort();
    sent.sort();
    assert_eq!(found, sent);
}

/// Whether reactions and their counts are those of all people, and no other.
async fn check_reactions(chat: &Keyway, people: &[Person]) {
    let mut reactions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for person in people {
        for emoji in &person.emojis {
            reactions.entry(emoji.clone()).or_default().insert(uuid(person.number));
        }
    }
    let counts = all(chat, "list_reaction_counts", json!({ "message_id": MESSAGE })).await;
    let counts = counts.iter().map(|row| (text(row, "emoji"), row["value"].as_u64().unwrap()));
    // An emoji that everyone took back stays with a count of 0.
    let counts: BTreeMap<String, u64> = counts.filter(|(_, count)| *count > 0).collect();
    let expected = reactions.iter().map(|(emoji, who)| (emoji.clone(), who.len() as u64));
    assert_eq!(counts, expected.collect());
    for number in 0..5 {
        let emoji = format!("e{number}");
        let asked = json!({ "message_id": MESSAGE, "emoji": emoji });
        let rows = all(chat, "list_reactions", asked).await;
        let who: Vec<String> = rows.iter().map(|row| text(row, "user_id")).collect();
        let expected = reactions.remove(&emoji).unwrap_or_default();
        assert_eq!(who, Vec::from_iter(expected), "{emoji}");
    }
}

async fn check(chat: &Keyway, people: &[Person]) {
    for person in people {
        person.check(chat).await;
    }
    check_messages(chat, people).await;
    check_reactions(chat, people).await;
    let (store, schema) = (chat.runtime().store().as_ref(), chat.runtime().schema());
    let clock = chat.runtime().options().clock.as_ref();
    let random = SystemRandom::start().unwrap();
    let scrub = Scrub { store, schema, clock, random: &random, repair: false };
    let mut problems: Vec<Problem> = Vec::new();
    scrub.run(&mut |problem, _| problems.extend(problem.cloned())).await.unwrap();
    assert!(problems.is_empty(), "{problems:?}");
}

/// The chat on an engine, with some messages.
async fn chat(folder: &Folder) -> Keyway {
    let url = format!("engine:{}/chat?durability=process", folder.path().display());
    let chat = Keyway::builder().open_text(CHAT, &url).await.unwrap();
    let caller = Caller::user(uuid(1));
    for number in 0..MESSAGES {
        let arguments = json!({ "channel_id": CHANNEL, "content": number.to_string() });
        chat.call_json("send_message", arguments, &caller).await.unwrap();
    }
    chat
}

/// Moves the chat while it is used, and proves that nothing was lost.
async fn moves_to(url: &str) -> Moved {
    let folder = Folder::new("moving");
    let chat = chat(&folder).await;
    let traffic = Traffic::start(&chat).await;
    traffic.go_on(100).await;
    let before = traffic.calls.load(Ordering::Relaxed);
    let moved = chat.move_to(url).await.unwrap();
    assert!(traffic.calls.load(Ordering::Relaxed) > before, "nobody called meanwhile");
    traffic.go_on(200).await;
    let people = traffic.end().await;
    check(&chat, &people).await;
    let address = chat.store().address;
    chat.close().await.unwrap();

    // Another process finds all of it there, and is sent there from here.
    let there = Keyway::builder().open_text(CHAT, url).await.unwrap();
    assert_eq!(there.store().address, address);
    check(&there, &people).await;
    there.close().await.unwrap();
    let engine = format!("engine:{}/chat", folder.path().display());
    let here = Keyway::builder().open_text(CHAT, &engine).await.unwrap();
    let arguments = json!({ "channel_id": CHANNEL, "content": "late" });
    let refused = here.call_json("send_message", arguments, &people[0].caller).await.unwrap_err();
    assert_eq!((refused.kind(), refused.value("to")), (ErrorKind::Moved, Some(address.as_str())));
    assert!(here.remarks().concat().contains(&address), "{:?}", here.remarks());
    assert_eq!(here.move_to("memory:").await.unwrap_err().kind(), ErrorKind::Moved);
    println!("{url}: {moved:?}");
    moved
}

/// What `docs/guide/outgrow.md` shows, word for word: it compiles.
#[allow(dead_code, reason = "it names servers that nobody has here")]
async fn as_the_guide_says() -> keyway::Result<()> {
    let chat = keyway::open("keyspace.toml", "engine:data").await?;
    // … on a signal, a command of yours, a date:
    let moved = chat.move_to("cassandra://db1,db2,db3/chat").await?;
    println!("{} rows moved; writes waited {} ms", moved.copied, moved.paused);
    Ok(())
}

#[test]
fn the_guide_shows_what_compiles() {
    let page = include_str!("../docs/guide/outgrow.md");
    let shown: Vec<&str> = page.split("```rust\n").skip(1).collect();
    let [shown] = shown.as_slice() else { panic!("{} examples", shown.len()) };
    let shown = shown.split("```").next().unwrap();
    let indented = shown.lines().map(|line| format!("    {line}\n")).collect::<String>();
    assert!(include_str!("moving.rs").contains(&format!("-> keyway::Result<()> {{\n{indented}")));
}

fn run<T>(work: impl Future<Output = T>) -> T {
    Runtime::new().unwrap().block_on(work)
}

#[test]
fn the_chat_moves_to_sqlite_under_traffic() {
    let folder = Folder::new("moved");
    let moved = run(moves_to(&format!("sqlite:{}/chat.db", folder.path().display())));
    assert_moved(&moved);
}

/// Whether rows were copied, others followed, and writes waited for a moment only.
fn assert_moved(moved: &Moved) {
    assert!(moved.copied >= MESSAGES && moved.followed > 0, "{moved:?}");
    assert!((0..PAUSE_MAX).contains(&moved.paused), "{moved:?}");
}

#[test]
fn the_chat_moves_to_redis_under_traffic() {
    let redis = RedisServer::start(&[]);
    let moved = run(moves_to(&redis.url()));
    // All of it may be there before anybody has changed a row.
    assert!(moved.copied >= MESSAGES && (0..PAUSE_MAX).contains(&moved.paused), "{moved:?}");
}

#[test]
fn the_chat_moves_to_cassandra_under_traffic() {
    let url = format!("{}?replication=1", Cassandra::shared().url("moved_chat"));
    assert_moved(&run(moves_to(&url)));
}

/// Two people exchange their addresses while the move is under way: neither row can come before
/// the other has gone.
#[test]
fn rows_that_stand_in_each_others_way_arrive() {
    run(async {
        let folder = Folder::new("exchange");
        let chat = chat(&folder).await;
        let (ann, bob) = (Person::register(&chat, 1).await, Person::register(&chat, 2).await);
        let mut is_done = false;
        let (inside, emails) = (chat.clone(), [ann.email.clone(), bob.email.clone()]);
        let exchange = move |stage: Stage| {
            if matches!(stage, Stage::Verifying(_)) && !std::mem::replace(&mut is_done, true) {
                let callers = [Caller::user(uuid(1)), Caller::user(uuid(2))];
                for (caller, email) in [
                    (&callers[0], "aside@example.org"),
                    (&callers[1], emails[0].as_str()),
                    (&callers[0], emails[1].as_str()),
                ] {
                    let arguments = json!({ "email": email });
                    let call = inside.call_json("change_email", arguments, caller);
                    call.now_or_never().expect("the engine answers at once").unwrap();
                }
            }
        };
        let url = format!("sqlite:{}/chat.db", folder.path().display());
        chat.move_to(&url).on_stage(exchange).await.unwrap();
        let people = [
            Person { email: bob.email.clone(), ..ann },
            Person { email: "person1@example.org".to_string(), ..bob },
        ];
        check(&chat, &people).await;
    });
}

/// The target goes away in the middle: the chat stays where it is, and moves when it is asked to
/// once more.
#[test]
fn a_move_that_fails_leaves_everything_as_it_was() {
    let redis = Arc::new(Mutex::new(RedisServer::start(&["--appendonly", "yes"])));
    run(async {
        let folder = Folder::new("failing");
        let chat = chat(&folder).await;
        let traffic = Traffic::start(&chat).await;
        let url = redis.lock().unwrap().url();
        let server = redis.clone();
        let kill = move |stage: Stage| {
            if matches!(stage, Stage::Following(_)) {
                server.lock().unwrap().kill();
            }
        };
        let failed = chat.move_to(&url).on_stage(kill).await.unwrap_err();
        assert!(failed.is_retryable(), "{failed}");
        assert!(chat.store().address.starts_with("engine:"));
        traffic.go_on(50).await;
        redis.lock().unwrap().restart();
        let refused = chat.move_to(&url).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict, "{refused}");
        chat.move_to(&url).again(true).await.unwrap();
        let people = traffic.end().await;
        check(&chat, &people).await;
    });
}

/// Whoever loses patience drops the move, in the pause or before: writes go on.
#[test]
fn a_move_that_is_dropped_lets_writes_go_on() {
    run(async {
        let folder = Folder::new("dropped");
        let chat = chat(&folder).await;
        let url = format!("sqlite:{}/chat.db", folder.path().display());
        for wanted in [Stage::Copying(MESSAGES), Stage::Paused] {
            let (reached, told) = tokio::sync::oneshot::channel();
            let mut reached = Some(reached);
            let stop = move |stage: Stage| {
                if std::mem::discriminant(&stage) == std::mem::discriminant(&wanted) {
                    reached.take().map(|reached| reached.send(()));
                }
            };
            let moving = chat.move_to(&url).again(true).on_stage(stop).into_future();
            tokio::select! {
                biased;
                _ = told => {}
                moved = moving => panic!("{moved:?}"),
            }
            Person::register(
                &chat,
                match wanted {
                    Stage::Paused => 2,
                    _ => 1,
                },
            )
            .await;
        }
        assert!(chat.store().address.starts_with("engine:"));
        let moved = chat.move_to(&url).again(true).await.unwrap();
        assert!(chat.store().address.starts_with("sqlite:"), "{moved:?}");
        Person::register(&chat, 3).await;
        assert_eq!(chat.move_to("memory:").await.unwrap_err().kind(), ErrorKind::Unsupported);
    });
}
