//! Nodes killed and paused while callers work: nothing acknowledged is lost, nothing is done twice,
//! no entry is left behind or missing, and unique values stay unique. Where two of three nodes are
//! left, the work goes on. Two programs work at once: what they share is the cluster.

use crate::app::{App, item};
use crate::support::RealClock;
use crate::written::Written;
use crate::{new_place, open, runtime};
use data::ErrorKind;
use data::clock::{Clock, ManualClock, SystemRandom};
use data::maintain::{Problem, ProblemKind, Scrub};
use data::store::Store;
use serde_json::{Value as Json, json};
use servers::cassandra::Cassandra;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const WORKERS: usize = 6;
/// How long a call of each program may take, in milliseconds: one waits until the nodes are back,
/// the other gives up before and calls again under the same id.
const PROGRAMS: [i64; 2] = [30_000, 2_000];
/// How many a door lets in.
const LET_IN: u64 = 3;
/// Rounds after which there is enough to look at.
const ENOUGH: u64 = 60;
/// How long work may take to go on.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the workers have done.
#[derive(Default)]
struct Work {
    is_over: AtomicBool,
    /// The items as they were acknowledged last; nothing of those that were dropped.
    items: Mutex<BTreeMap<String, Option<Json>>>,
    /// Who got each name that all of them want.
    named: Mutex<Vec<(u64, String)>>,
    /// How many came to each door, and how many it let in.
    doors: Mutex<BTreeMap<u64, (u64, u64)>>,
    sold: AtomicU64,
    written: Written,
}

impl Work {
    /// Inserts, moves, drops and sells until it is told to end.
    async fn run(self: Arc<Self>, app: Arc<App>, worker: usize) {
        for number in 0_u64.. {
            if self.is_over.load(Ordering::SeqCst) {
                return;
            }
            let id = format!("w{worker}-{number}");
            let mut row = item(&id, &format!("s{}", number % 3), number as i64);
            app.surely("add_item", row.clone()).await;
            self.keep(&id, Some(&row));
            // Each shelf counts by itself: one row takes a few hundred additions a second.
            app.surely("sell", json!({"shelf": format!("s{worker}"), "item_id": "all"})).await;
            self.sold.fetch_add(1, Ordering::SeqCst);
            self.written.write(&app, worker, &id, number).await;
            match number % 4 {
                0 => self.enter(&app, number / 4).await,
                1 => self.take_name(&app, row, number / 4).await,
                2 => {
                    let price = json!(1_000 + number);
                    app.surely("change_item", json!({"item_id": id, "price": price})).await;
                    row["price"] = price;
                    self.keep(&id, Some(&row));
                }
                _ => {
                    app.surely("drop_item", json!({"item_id": id})).await;
                    self.keep(&id, None);
                }
            }
        }
    }

    /// Notes what an item was acknowledged to be.
    fn keep(&self, id: &str, row: Option<&Json>) {
        self.items.lock().unwrap().insert(id.to_string(), row.cloned());
    }

    /// Comes to a door that all workers come to.
    async fn enter(&self, app: &App, round: u64) {
        let answer = app.surely("enter", json!({"door": format!("d{round}")})).await;
        let mut doors = self.doors.lock().unwrap();
        let (came, entered) = doors.entry(round).or_default();
        *came += 1;
        *entered += u64::from(answer["allowed"].as_bool().unwrap());
    }

    /// Takes a name that all workers want: one of them gets it.
    async fn take_name(&self, app: &App, mut row: Json, round: u64) {
        let id = row["item_id"].as_str().unwrap().to_string();
        (row["name"], row["shelf"]) = (json!(format!("Prize {round}")), json!("moved"));
        let change = json!({"item_id": id, "shelf": row["shelf"], "name": row["name"]});
        match app.until_known("change_item", change).await {
            Ok(_) => {
                self.keep(&id, Some(&row));
                self.named.lock().unwrap().push((round, id));
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Taken, "{error}"),
        }
    }

    /// Every item is as it was acknowledged last, and is found by its name; how many there are.
    async fn check_items(&self, app: &App) -> u64 {
        let items = self.items.lock().unwrap().clone();
        for (id, row) in &items {
            let found = app.call("item", json!({"item_id": id})).await.unwrap();
            assert_eq!(found["row"], json!(row), "{id}");
            let Some(row) = row else { continue };
            let name = row["name"].as_str().unwrap().to_lowercase();
            let found = app.call("item_named", json!({"name": name})).await.unwrap();
            assert_eq!(&found["row"], row, "{name}");
        }
        let kept = items.values().flatten().count();
        assert!(kept > 20 && items.len() > kept, "{kept} of {} items", items.len());
        kept as u64
    }

    /// Every door let in its limit and no more; how many doors there are.
    fn check_doors(&self) -> u64 {
        let doors = self.doors.lock().unwrap();
        for (door, (came, entered)) in doors.iter() {
            assert_eq!(*entered, LET_IN.min(*came), "{came} came to door {door}");
        }
        assert!(doors.values().any(|(came, _)| *came > LET_IN), "no door was full: {doors:?}");
        doors.len() as u64
    }

    /// Whether all that was acknowledged is there, once, and nothing else.
    async fn check(&self, app: &App) {
        let (items, doors) = (self.check_items(app).await, self.check_doors());
        let named = self.named.lock().unwrap().clone();
        assert!(!named.is_empty(), "nobody got a name that all want");
        let rounds: BTreeSet<u64> = named.iter().map(|(round, _)| *round).collect();
        assert_eq!(rounds.len(), named.len(), "a name was given twice: {named:?}");
        let mut sold = 0;
        for worker in 0..WORKERS {
            let of = json!({"shelf": format!("s{worker}")});
            let rows = app.call("sold_of", of).await.unwrap();
            sold += rows["rows"][0]["value"].as_u64().unwrap_or(0);
        }
        assert_eq!(sold, self.sold.load(Ordering::SeqCst), "additions were lost or done twice");
        let written = self.written.check(app).await;
        let rows = items + doors + WORKERS as u64 + written.places;
        let rows = rows + written.messages + written.likes + written.posts;
        check_entries(app, rows, items * 2 + written.places).await;
        println!("{items} items, {} names, {doors} doors, {sold} additions", named.len());
        println!("{written:?}");
    }
}

/// Whether every row has its entries, and whatever else there is goes once it is old: attempts that
/// a node took with it leave entries that no reader takes for true.
async fn check_entries(app: &App, rows: u64, entries: u64) {
    let later = ManualClock::at(crate::now() + 11 * 60_000);
    for (clock, repair) in [(&RealClock as &dyn Clock, false), (&later, true), (&later, false)] {
        let scrub = Scrub {
            store: app.runtime.store().as_ref(),
            schema: app.runtime.schema(),
            clock,
            random: &SystemRandom::start().unwrap(),
            repair,
        };
        let mut found = Vec::new();
        let counts = scrub.run(&mut |problem, _| found.extend(problem.cloned())).await.unwrap();
        let is_left = |problem: &Problem| problem.kind == ProblemKind::LeftBehind;
        assert!(found.iter().all(is_left), "{found:?}");
        assert_eq!(counts.rows, rows);
        if counts.entries == entries {
            assert_eq!(found, []);
            return;
        }
    }
    panic!("entries were left behind and stay");
}

/// The application as several programs have it: each has a session, timestamps and knowledge of its
/// own.
struct Apps(Vec<Arc<App>>);

impl Apps {
    async fn open(server: &Cassandra) -> Apps {
        let (place, mut apps) = (new_place(), Vec::new());
        for patience in PROGRAMS {
            let store = open(server, &place) as Arc<dyn Store>;
            let app = App::open_with(store, |options| options.call_milliseconds_max = patience);
            apps.push(Arc::new(app.await.unwrap()));
        }
        Apps(apps)
    }

    /// Changes that were acknowledged so far.
    fn acknowledged(&self) -> u64 {
        self.0.iter().map(|app| app.acknowledged.load(Ordering::SeqCst)).sum()
    }

    /// Times a change was called again because it was not known to be done.
    fn again(&self) -> u64 {
        self.0.iter().map(|app| app.again.load(Ordering::SeqCst)).sum()
    }
}

/// Lets workers work while something happens to the nodes, and checks what they did.
async fn under(mut server: Cassandra, happens: impl AsyncFnOnce(&mut Cassandra, &Apps)) {
    let apps = Apps::open(&server).await;
    let work = Arc::new(Work::default());
    let app = |worker: usize| apps.0[worker % apps.0.len()].clone();
    let worker = |number| tokio::spawn(work.clone().run(app(number), number));
    let workers: Vec<_> = (0..WORKERS).map(worker).collect();
    happens(&mut server, &apps).await;
    reaches(|| work.sold.load(Ordering::SeqCst), ENOUGH, "in the end").await;
    work.is_over.store(true, Ordering::SeqCst);
    for worker in workers {
        worker.await.expect("a worker ends well");
    }
    println!("{} calls were made again", apps.again());
    assert!(apps.again() > 0, "no call met what happened to the nodes");
    for app in &apps.0 {
        work.check(app).await;
    }
}

async fn pause(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

/// Waits until a number has grown so far.
async fn reaches(number: impl Fn() -> u64, least: u64, meanwhile: &str) {
    let until = Instant::now() + PATIENCE;
    while number() < least {
        assert!(Instant::now() < until, "too little was acknowledged {meanwhile}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Lets callers work for so long, or longer on a slow machine, and expects that what they began
/// meanwhile is acknowledged, and not only what was under way before.
async fn goes_on(apps: &Apps, seconds: u64, meanwhile: &str) {
    let (before, began) = (apps.acknowledged(), Instant::now());
    pause(seconds).await;
    reaches(|| apps.acknowledged(), before + WORKERS as u64 + 1, meanwhile).await;
    let changes = apps.acknowledged() - before;
    println!("{meanwhile}: {changes} changes in {:?}", began.elapsed());
}

#[test]
fn a_node_killed_under_load_loses_nothing() {
    runtime().block_on(under(Cassandra::start(), async |server, apps| {
        goes_on(apps, 3, "before it was killed").await;
        for _ in 0..2 {
            server.kill(1);
            pause(1).await;
            server.restart(1);
            goes_on(apps, 3, "after it came back").await;
        }
    }));
}

#[test]
fn three_nodes_of_which_one_is_killed_and_another_paused_lose_nothing() {
    runtime().block_on(under(Cassandra::cluster(3), async |server, apps| {
        goes_on(apps, 4, "before a node was killed").await;
        server.kill(2);
        goes_on(apps, 6, "while a node was away").await;
        server.restart(2);
        goes_on(apps, 4, "after it came back").await;
        server.pause(3);
        goes_on(apps, 8, "while a node was paused").await;
        server.resume(3);
        goes_on(apps, 4, "after it went on").await;
    }));
}
