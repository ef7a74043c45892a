//! Workers on a small application, and what must be true of what they did.

use crate::app::{App, item};
use crate::support::RealClock;
use crate::written::Written;
use data::clock::{Clock, ManualClock, SystemRandom};
use data::maintain::{Problem, ProblemKind, Scrub, ScrubCounts, Walk};
use data::store::Store;
use data::{ErrorKind, Value};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use stores::redis::RedisStore;

const WORKERS: usize = 6;
/// Rounds of the workers after which there is enough to look at.
const ENOUGH: u64 = 60;
/// Names that all workers want for items of their own.
const WANTED: u64 = 5;

/// What the workers have done.
#[derive(Default)]
pub struct Work {
    is_over: AtomicBool,
    /// Acknowledged items, as they must be found.
    items: Mutex<BTreeMap<String, Json>>,
    /// Items that were acknowledged as gone.
    gone: Mutex<BTreeSet<String>>,
    pub sold: AtomicU64,
    /// Times somebody got a name that all want.
    won: AtomicU64,
    written: Written,
}

impl Work {
    /// Inserts, moves, drops, sells and quarrels over names until it is told to end.
    async fn run(self: Arc<Self>, app: Arc<App>, worker: usize) {
        for number in 0_u64.. {
            if self.is_over.load(Ordering::SeqCst) {
                return;
            }
            let (id, shelf) = (format!("w{worker}-{number}"), format!("s{}", number % 3));
            let mut added = item(&id, &shelf, number as i64);
            app.surely("add_item", added.clone()).await;
            self.items.lock().unwrap().insert(id.clone(), added.clone());
            app.surely("sell", json!({"shelf": "s0", "item_id": "all"})).await;
            self.sold.fetch_add(1, Ordering::SeqCst);
            self.written.write(&app, worker, &id, number).await;
            match number % 5 {
                1 => {
                    let (shelf, name) = ("moved", format!("N {id}"));
                    let change = json!({"item_id": id, "shelf": shelf, "name": name});
                    app.surely("change_item", change).await;
                    (added["shelf"], added["name"]) = (json!(shelf), json!(name));
                    self.items.lock().unwrap().insert(id, added);
                }
                3 => {
                    app.surely("drop_item", json!({"item_id": id})).await;
                    self.items.lock().unwrap().remove(&id);
                    self.gone.lock().unwrap().insert(id);
                }
                4 => self.quarrel(&app, worker, number).await,
                _ => {}
            }
        }
    }

    /// Tries to get a name that others want too, and lets go of it.
    async fn quarrel(&self, app: &App, worker: usize, number: u64) {
        let id = format!("q{worker}-{number}");
        let mut wanted = item(&id, "wanted", 1);
        wanted["name"] = json!(format!("Wanted {}", number % WANTED));
        match app.call("add_item", wanted).await {
            Ok(_) => {
                self.won.fetch_add(1, Ordering::SeqCst);
                app.surely("drop_item", json!({"item_id": id})).await;
                self.gone.lock().unwrap().insert(id);
            }
            Err(error) => match error.kind() {
                ErrorKind::Taken | ErrorKind::Busy | ErrorKind::Conflict => {}
                // Whether it was done is not known; nobody else has this key.
                ErrorKind::Unavailable | ErrorKind::Indeterminate => {
                    app.surely("drop_item", json!({"item_id": id})).await;
                }
                _ => panic!("{id}: {error}"),
            },
        }
    }

    /// Whether all that was acknowledged is there, once, under all its keys, and nothing else;
    /// how many rows and entries that is.
    pub async fn check(&self, app: &App) -> (u64, u64) {
        let items = self.items.lock().unwrap().clone();
        assert!(items.len() > 20, "the workers have worked: {}", items.len());
        assert!(self.won.load(Ordering::SeqCst) > 0, "nobody got a name that all want");
        let mut listed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for shelf in ["s0", "s1", "s2", "moved", "wanted"] {
            listed.insert(shelf.to_string(), on_shelf(app, shelf).await);
        }
        for (id, acknowledged) in &items {
            let found = app.call("item", json!({"item_id": id})).await.unwrap();
            assert_eq!(found["row"], *acknowledged, "{id} is lost, or not as it was changed");
            let named = app.call("item_named", json!({"name": acknowledged["name"]})).await;
            assert_eq!(named.unwrap()["row"], *acknowledged, "{id} is not found by name");
            let shelf = acknowledged["shelf"].as_str().unwrap();
            assert!(listed[shelf].contains(id), "{id} is not on {shelf}");
        }
        let gone = self.gone.lock().unwrap().clone();
        for id in &gone {
            let found = app.call("item", json!({"item_id": id})).await.unwrap();
            assert!(found["row"].is_null(), "{id} is back: {found}");
        }
        assert_eq!(listed.values().map(BTreeSet::len).sum::<usize>(), items.len());
        let sold = app.call("sold_of", json!({"shelf": "s0"})).await.unwrap();
        let expected = self.sold.load(Ordering::SeqCst);
        assert_eq!(sold["rows"][0]["value"], json!(expected), "{sold}");
        assert_eq!(live_names(app).await, items.len());
        let written = self.written.check(app).await;
        let rows = written.places + written.messages + written.likes + written.posts;
        println!("{} items, {expected} additions, {rows} rows of others", items.len());
        let (items, counters) = (items.len() as u64, 1);
        (items + counters + rows, items * 2 + written.places)
    }
}

/// The ids that a listing by shelf answers.
async fn on_shelf(app: &App, shelf: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut cursor = Json::Null;
    loop {
        let mut asked = json!({"shelf": shelf});
        if !cursor.is_null() {
            asked["cursor"] = cursor;
        }
        let page = app.call("items_of", asked).await.unwrap();
        let rows = page["rows"].as_array().unwrap();
        found.extend(rows.iter().map(|row| row["item_id"].as_str().unwrap().to_string()));
        cursor = page["next"].clone();
        if cursor.is_null() {
            return found;
        }
    }
}

/// How many live items there are; fails if two have one name.
pub async fn live_names(app: &App) -> usize {
    let (store, schema) = (app.runtime.store(), app.runtime.schema());
    let items = schema.collection("items").unwrap();
    let slot = items.slot("name").unwrap();
    let mut walk = Walk::over(items.key.space);
    let mut names = BTreeSet::new();
    while let Some(page) = walk.next(store.as_ref()).await.unwrap() {
        for keyed in page.iter().filter(|keyed| keyed.row.is_live(RealClock.now())) {
            let Value::Text(name) = items.read(&keyed.row.value, slot).unwrap() else { panic!() };
            assert!(names.insert(name.to_lowercase()), "two items are called {name}");
        }
    }
    names.len()
}

/// Looks at every row and entry, as if it were so much later.
pub async fn scrub(app: &App, later: i64, repair: bool) -> (ScrubCounts, Vec<Problem>) {
    let clock = ManualClock::at(RealClock.now() + later);
    let random = SystemRandom::start().unwrap();
    let scrub = Scrub {
        store: app.runtime.store().as_ref(),
        schema: app.runtime.schema(),
        clock: &clock,
        random: &random,
        repair,
    };
    let mut found = Vec::new();
    let counts = scrub.run(&mut |problem, _| found.extend(problem.cloned())).await.unwrap();
    (counts, found)
}

/// Expects every row to have all its entries; some may have been left behind by attempts whose
/// replies were lost.
pub async fn no_entry_is_missing(app: &App) {
    let (counts, found) = scrub(app, 0, true).await;
    let left = |problem: &Problem| problem.kind == ProblemKind::LeftBehind;
    assert!(found.iter().all(left), "{found:?}");
    println!("{counts:?}");
}

/// Lets workers work while something happens; answers the application and what they did.
pub async fn under(store: &Arc<RedisStore>, happens: impl AsyncFnOnce()) -> (Arc<App>, Arc<Work>) {
    let app = Arc::new(App::open(store.clone() as Arc<dyn Store>).await.unwrap());
    let work = Arc::new(Work::default());
    let worker = |number| tokio::spawn(work.clone().run(app.clone(), number));
    let workers: Vec<_> = (0..WORKERS).map(worker).collect();
    happens().await;
    let until = Instant::now() + Duration::from_secs(60);
    while work.sold.load(Ordering::SeqCst) < ENOUGH {
        assert!(Instant::now() < until, "the workers do not go on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    work.is_over.store(true, Ordering::SeqCst);
    for worker in workers {
        worker.await.expect("a worker ends well");
    }
    (app, work)
}
