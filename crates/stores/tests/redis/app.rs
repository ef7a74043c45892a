//! A small application, called through the run time: items with two indexes, counters, places of
//! items, which are plain rows with an index, messages in slices of time, likes, which are counted
//! in the batch that writes them, and doors that let in so many.

use crate::support::RealClock;
use data::caller::Caller;
use data::clock::{Clock, SystemRandom};
use data::maintain::Scrub;
use data::request::{self, Call, Runtime};
use data::store::{CommitId, Store};
use data::{ErrorKind, Result};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Its keyspace.
pub const SHOP: &str = r#"
[keyspace]
name = "shop"

[collection.items]
key = "item:{item_id: text}"
fields = { name = "text", shelf = "text", price = "i64" }
index.items_by_name = { key = "name:{lower(name)}", unique = true }
index.items_by_shelf = { key = "shelf:{shelf} | {price}" }

[collection.sold]
key = "shelf:{shelf: text}:sold | {item_id: text}"
value = "counter"

[collection.places]
key = "places:{shelf: text} | {item_id: text}"
fields = { note = "text" }
index.places_by_item = { key = "placed:{item_id} | {shelf}" }

[collection.messages]
key = "channel:{channel: text}:messages | {sent_at: timestamp}:{message_id: text}"
fields = { content = "text" }
bucket = { by = "sent_at", every = "1h" }

[collection.likes]
key = "post:{post: text}:likes | by:{reader: text}"
fields = { note = "text" }

[collection.like_counts]
key = "post:{post: text}:likes | count:{kind: text}"
value = "counter"

[collection.doors]
key = "door:{door: text}"
value = "window"
limit = 3
per = "1d"

[pattern.enter]
add = "doors"
allow = "user"

[pattern.send]
put = "messages"
allow = "user"
[pattern.messages_of]
list = "messages"
page = 50

[pattern.put_like]
insert = "likes"
existing = "return"
allow = "step"
[pattern.drop_like]
delete = "likes"
allow = "step"
[pattern.shift_likes]
add = "like_counts"
allow = "step"
[pattern.like]
atomic = ["put_like", { run = "shift_likes", bind = { kind = "'all'", amount = "1" } }]
allow = "user"
[pattern.unlike]
atomic = [
    { check = "likes", as = "mine" },
    "drop_like",
    { run = "shift_likes", bind = { kind = "'all'", amount = "-1" } },
]
allow = "user"
[pattern.likes_of]
list = "likes"
page = 50
[pattern.like_counts_of]
list = "like_counts"
page = 50

[pattern.place]
put = "places"
allow = "user"
[pattern.unplace]
delete = "places"
allow = "user"
[pattern.placed]
get = "places"
[pattern.places_of]
list = "places.places_by_item"
page = 50

[pattern.add_item]
insert = "items"
allow = "user"
[pattern.put_item]
put = "items"
allow = "user"
[pattern.change_item]
update = "items"
set = ["name", "shelf", "price"]
allow = "user"
[pattern.drop_item]
delete = "items"
allow = "user"
[pattern.item]
get = "items"
[pattern.items]
get = "items"
many = 100
[pattern.item_named]
get = "items.items_by_name"
[pattern.items_of]
list = "items.items_by_shelf"
page = 50
[pattern.sell]
add = "sold"
allow = "user"
[pattern.sold_of]
list = "sold"
page = 100
"#;

/// The application on a store.
pub struct App {
    pub runtime: Runtime,
    /// Changes that were made until they were known to be done.
    pub acknowledged: AtomicU64,
    /// Times one was called again because it was not known to be done.
    pub again: AtomicU64,
}

impl App {
    /// Opens it.
    pub async fn open(store: Arc<dyn Store>) -> Result<App> {
        App::open_with(store, |_| {}).await
    }

    /// Opens it with other options.
    pub async fn open_with(
        store: Arc<dyn Store>,
        change: impl FnOnce(&mut request::Options),
    ) -> Result<App> {
        App::of(SHOP, store, change).await
    }

    /// The same of another keyspace.
    pub async fn of(
        file: &str,
        store: Arc<dyn Store>,
        change: impl FnOnce(&mut request::Options),
    ) -> Result<App> {
        let keyspace = Arc::new(keyspace::read(file).keyspace.expect("the file is right"));
        let random = Arc::new(SystemRandom::start()?);
        let mut options = request::Options::new(Arc::new(RealClock), random);
        change(&mut options);
        Ok(App::around(Runtime::open(store, keyspace, options).await?))
    }

    /// The application, opened already.
    pub fn around(runtime: Runtime) -> App {
        App { runtime, acknowledged: AtomicU64::new(0), again: AtomicU64::new(0) }
    }

    /// Makes a call.
    pub async fn call(&self, pattern: &str, arguments: Json) -> Result<Json> {
        self.call_as(None, pattern, arguments).await
    }

    /// Makes a call under an id of its own.
    pub async fn call_as(
        &self,
        id: Option<CommitId>,
        pattern: &str,
        arguments: Json,
    ) -> Result<Json> {
        let prepared = self.runtime.pattern(pattern)?;
        let Json::Object(arguments) = arguments else { panic!("arguments are an object") };
        let given = prepared.given_from_json(self.runtime.keyspace(), &arguments)?;
        let caller = Caller::user("ann");
        let mut call = Call::new(prepared, given, &caller);
        if let Some(id) = id {
            call = call.with_id(id);
        }
        self.runtime.call(call).await?.answer.to_json(self.runtime.schema())
    }

    /// Makes a change until it is known to be done, under one id; what it was answered.
    pub async fn surely(&self, pattern: &str, arguments: Json) -> Json {
        let answer = self.until_known(pattern, arguments).await;
        answer.unwrap_or_else(|error| panic!("{pattern}: {error}"))
    }

    /// Makes a change until what became of it is known, under one id.
    pub async fn until_known(&self, pattern: &str, arguments: Json) -> Result<Json> {
        let id = CommitId::new(RealClock.now(), &SystemRandom::start().unwrap());
        loop {
            let answer = self.call_as(Some(id), pattern, arguments.clone()).await;
            match answer.as_ref().map_err(data::Error::kind) {
                Ok(_) => {
                    self.acknowledged.fetch_add(1, Ordering::SeqCst);
                    return answer;
                }
                Err(ErrorKind::Unavailable | ErrorKind::Indeterminate) => {
                    self.again.fetch_add(1, Ordering::SeqCst);
                }
                Err(ErrorKind::Busy) => {}
                Err(_) => return answer,
            }
            RealClock.wait(5).await;
        }
    }

    /// How many rows and entries there are; fails if an entry is not true.
    pub async fn scrub(&self) -> (u64, u64) {
        let random = SystemRandom::start().unwrap();
        let scrub = Scrub {
            store: self.runtime.store().as_ref(),
            schema: self.runtime.schema(),
            clock: &RealClock,
            random: &random,
            repair: false,
        };
        let mut found = Vec::new();
        let counts = scrub.run(&mut |problem, _| found.extend(problem.cloned())).await.unwrap();
        assert!(found.is_empty(), "{found:?}");
        (counts.rows, counts.entries)
    }
}

/// An item.
pub fn item(id: &str, shelf: &str, price: i64) -> Json {
    json!({"item_id": id, "name": format!("Name of {id}"), "shelf": shelf, "price": price})
}
