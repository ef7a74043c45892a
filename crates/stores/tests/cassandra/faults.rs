//! Nodes killed and paused while callers work: nothing acknowledged is lost, nothing is done twice,
//! no entry is left behind or missing, and unique values stay unique. Where two of three nodes are
//! left, the work goes on.

use crate::app::{App, item};
use crate::support::RealClock;
use crate::written::Written;
use crate::{new_place, open, runtime};
use data::ErrorKind;
use data::clock::{Clock, ManualClock, SystemRandom};
use data::maintain::{Problem, ProblemKind, Scrub};
use data::store::{CommitId, Store};
use serde_json::json;
use servers::cassandra::Cassandra;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const WORKERS: usize = 6;
/// Rounds after which there is enough to look at.
const ENOUGH: u64 = 60;
/// How long work may take to go on.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the workers have done.
#[derive(Default)]
struct Work {
    is_over: AtomicBool,
    items: Mutex<BTreeSet<String>>,
    /// Who got each name that all of them want.
    named: Mutex<Vec<(u64, String)>>,
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
            app.surely("add_item", item(&id, &format!("s{}", number % 3), number as i64)).await;
            self.items.lock().unwrap().insert(id.clone());
            // Each shelf counts by itself: one row takes a few hundred additions a second.
            app.surely("sell", json!({"shelf": format!("s{worker}"), "item_id": "all"})).await;
            self.sold.fetch_add(1, Ordering::SeqCst);
            self.written.write(&app, worker, &id, number).await;
            match number % 4 {
                1 => self.take_name(&app, &id, number / 4).await,
                3 => {
                    app.surely("drop_item", json!({"item_id": id})).await;
                    self.items.lock().unwrap().remove(&id);
                }
                _ => {}
            }
        }
    }

    /// Takes a name that all workers want: one of them gets it.
    async fn take_name(&self, app: &App, id: &str, round: u64) {
        let change = json!({"item_id": id, "shelf": "moved", "name": format!("Prize {round}")});
        let commit = CommitId::new(crate::now(), &SystemRandom::start().unwrap());
        loop {
            match app.call_as(Some(commit), "change_item", change.clone()).await {
                Ok(_) => return self.named.lock().unwrap().push((round, id.to_string())),
                Err(error) => match error.kind() {
                    ErrorKind::Unavailable | ErrorKind::Indeterminate | ErrorKind::Busy => {}
                    ErrorKind::Taken => return,
                    _ => panic!("{error}"),
                },
            }
        }
    }

    /// Whether all that was acknowledged is there, once, and nothing else.
    async fn check(&self, app: &App) {
        let items = self.items.lock().unwrap().clone();
        assert!(items.len() > 20, "the workers have worked: {}", items.len());
        for id in &items {
            let found = app.call("item", json!({"item_id": id})).await.unwrap();
            assert!(found["row"].is_object(), "{id} is lost");
        }
        let named = self.named.lock().unwrap().clone();
        assert!(!named.is_empty(), "nobody got a name that all want");
        let rounds: BTreeSet<u64> = named.iter().map(|(round, _)| *round).collect();
        assert_eq!(rounds.len(), named.len(), "a name was given twice: {named:?}");
        for (round, id) in &named {
            let name = format!("prize {round}");
            let found = app.call("item_named", json!({"name": name})).await.unwrap();
            assert_eq!(found["row"]["item_id"], json!(id), "{name}");
        }
        let mut sold = 0;
        for worker in 0..WORKERS {
            let of = json!({"shelf": format!("s{worker}")});
            let rows = app.call("sold_of", of).await.unwrap();
            sold += rows["rows"][0]["value"].as_u64().unwrap_or(0);
        }
        assert_eq!(sold, self.sold.load(Ordering::SeqCst), "additions were lost or done twice");
        let written = self.written.check(app).await;
        let rows = items.len() as u64 + WORKERS as u64 + written.places;
        let rows = rows + written.messages + written.likes + written.posts;
        check_entries(app, rows, items.len() as u64 * 2 + written.places).await;
        println!("{} items, {} names, {sold} additions, {written:?}", items.len(), named.len());
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

/// Lets workers work while something happens to the nodes, and checks what they did.
async fn under(mut server: Cassandra, happens: impl AsyncFnOnce(&mut Cassandra, &App)) {
    let store = open(&server, &new_place());
    let app = Arc::new(App::open(store as Arc<dyn Store>).await.unwrap());
    let work = Arc::new(Work::default());
    let worker = |number| tokio::spawn(work.clone().run(app.clone(), number));
    let workers: Vec<_> = (0..WORKERS).map(worker).collect();
    happens(&mut server, &app).await;
    reaches(&work.sold, ENOUGH, "in the end").await;
    work.is_over.store(true, Ordering::SeqCst);
    for worker in workers {
        worker.await.expect("a worker ends well");
    }
    work.check(&app).await;
}

async fn pause(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

/// Waits until a number has grown so far.
async fn reaches(number: &AtomicU64, least: u64, meanwhile: &str) {
    let until = Instant::now() + PATIENCE;
    while number.load(Ordering::SeqCst) < least {
        assert!(Instant::now() < until, "too little was acknowledged {meanwhile}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Lets callers work for so long, or longer on a slow machine, and expects that what they began
/// meanwhile is acknowledged, and not only what was under way before.
async fn goes_on(app: &App, seconds: u64, meanwhile: &str) {
    let (before, began) = (app.acknowledged.load(Ordering::SeqCst), Instant::now());
    pause(seconds).await;
    reaches(&app.acknowledged, before + WORKERS as u64 + 1, meanwhile).await;
    let changes = app.acknowledged.load(Ordering::SeqCst) - before;
    println!("{meanwhile}: {changes} changes in {:?}", began.elapsed());
}

#[test]
fn a_node_killed_under_load_loses_nothing() {
    runtime().block_on(under(Cassandra::start(), async |server, app| {
        goes_on(app, 3, "before it was killed").await;
        for _ in 0..2 {
            server.kill(1);
            pause(1).await;
            server.restart(1);
            goes_on(app, 3, "after it came back").await;
        }
    }));
}

#[test]
fn three_nodes_of_which_one_is_killed_and_another_paused_lose_nothing() {
    runtime().block_on(under(Cassandra::cluster(3), async |server, app| {
        goes_on(app, 4, "before a node was killed").await;
        server.kill(2);
        goes_on(app, 6, "while a node was away").await;
        server.restart(2);
        goes_on(app, 4, "after it came back").await;
        server.pause(3);
        goes_on(app, 8, "while a node was paused").await;
        server.resume(3);
        goes_on(app, 4, "after it went on").await;
    }));
}
