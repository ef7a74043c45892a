//! Callers that work on a store while something happens to its server, and what must hold after.
//!
//! ```text
//! callers ─▶ transfers, counts, things with indexes, jobs ─▶ what each was answered
//!    └─ after: all that was acknowledged is there as it was, nothing that was refused is, sums
//!       agree, every index is true
//! ```

use crate::keyspace;
use data::clock::{ManualClock, SeededRandom};
use data::maintain::Scrub;
use data::request::{Call, Options, Runtime};
use data::store::Store;
use data::{Caller, Error, ErrorKind};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use stores::postgres::PostgresStore;

const KEYSPACE: &str = include_str!("../kill_patterns/keyspace.toml");
const NOW: i64 = 1_800_000_000_000;
const ACCOUNTS: u64 = 4;

/// A shelf, and the number of a thing on it.
type Place = (String, u64);

/// What calls came to.
#[derive(Debug, Default)]
pub struct Told {
    /// Transfers that were acknowledged.
    paid: BTreeSet<String>,
    /// Transfers of which nobody knows.
    perhaps: BTreeSet<String>,
    /// What was added to the counter, and what perhaps was.
    hits: i64,
    hits_perhaps: i64,
    /// What may lie in each place of a shelf, nothing or a thing: more than one of them after a
    /// call of which nobody knows.
    things: BTreeMap<Place, Vec<Option<Json>>>,
    /// Jobs that were added, by id, with their tasks; and the tasks of those that perhaps were.
    added: BTreeMap<String, String>,
    added_perhaps: BTreeSet<String>,
    /// Jobs that somebody was given, and to whom; and who perhaps was given one.
    taken: Vec<(String, String)>,
    taken_perhaps: Vec<String>,
    /// Answers that changed something, and those that a server which was away is the reason for.
    pub changes: u64,
    pub unavailable: u64,
    pub unknown: u64,
}

/// A store under load.
pub struct Load {
    pub store: Arc<PostgresStore>,
    runtime: Arc<Runtime>,
    stop: Arc<AtomicBool>,
    callers: Vec<tokio::task::JoinHandle<Told>>,
}

impl Load {
    /// Opens the store for the callers' keyspace, and lets so many begin.
    pub async fn begin(store: Arc<PostgresStore>, callers: u64, within: i64) -> Load {
        let clock = Arc::new(ManualClock::at(NOW));
        let mut options = Options::new(clock, Arc::new(SeededRandom::new(7)));
        options.call_milliseconds_max = within;
        let opened = Runtime::open(store.clone(), keyspace(KEYSPACE), options).await;
        let runtime = Arc::new(opened.unwrap());
        for account in 0..ACCOUNTS {
            let account = json!({"ledger": "main", "account": account.to_string()});
            call(&runtime, "parent", "open_account", &account).await.unwrap();
        }
        let stop = Arc::new(AtomicBool::new(false));
        let begin = |caller| {
            let (runtime, stop) = (runtime.clone(), stop.clone());
            tokio::spawn(async move { work(&runtime, caller, &stop).await })
        };
        let callers = (0..callers).map(begin).collect();
        Load { store, runtime, stop, callers }
    }

    /// Ends the callers, and holds what is stored against what they were told.
    pub async fn end(self) -> Told {
        self.stop.store(true, Ordering::SeqCst);
        let mut told = Told::default();
        for caller in self.callers {
            let mut one = caller.await.unwrap();
            told.paid.append(&mut one.paid);
            told.perhaps.append(&mut one.perhaps);
            told.things.append(&mut one.things);
            told.added.append(&mut one.added);
            told.added_perhaps.append(&mut one.added_perhaps);
            told.taken.append(&mut one.taken);
            told.taken_perhaps.append(&mut one.taken_perhaps);
            told.hits += one.hits;
            told.hits_perhaps += one.hits_perhaps;
            told.changes += one.changes;
            told.unavailable += one.unavailable;
            told.unknown += one.unknown;
        }
        compare(&self.runtime, &told).await;
        for shelf in told.shelves() {
            let rows = all(&self.runtime, "things", json!({"shelf": shelf})).await;
            told.compare_shelf(&shelf, rows);
        }
        compare_jobs(&self.runtime, &told).await;
        scrub(self.store.as_ref(), &self.runtime).await;
        told
    }
}

async fn work(runtime: &Runtime, caller: u64, stop: &AtomicBool) -> Told {
    let random = SeededRandom::new(caller + 1);
    let mut told = Told::default();
    for number in 0.. {
        if stop.load(Ordering::SeqCst) {
            return told;
        }
        let below = |below: u64| random.number() % below;
        let own = format!("{caller}-{number}");
        let (pattern, arguments) = match below(10) {
            0..3 => {
                let (source, more) = (below(ACCOUNTS), 1 + below(ACCOUNTS - 1));
                let target = (source + more) % ACCOUNTS;
                let pay = json!({"ledger": "main", "transfer": own, "amount": 1 + below(9),
                    "source": source.to_string(), "target": target.to_string()});
                ("pay", pay)
            }
            3 => ("hit", json!({"page": "front", "amount": 1})),
            4..7 => {
                let name = format!("Name {}", below(30));
                let thing = json!({"shelf": caller.to_string(), "thing": below(4), "name": name,
                    "tags": ["red"], "open": below(2) == 0, "stamp": below(100)});
                ("put_thing", thing)
            }
            7 => ("drop_thing", json!({"shelf": caller.to_string(), "thing": below(4)})),
            8 => ("add_job", json!({"queue": "main", "task": own})),
            _ => ("take_job", json!({"queue": "main"})),
        };
        let caller = caller.to_string();
        if pattern.ends_with("_thing") {
            // The next change would hide that the last one was lost.
            told.look_at(runtime, &caller).await;
        }
        let answer = call(runtime, &caller, pattern, &arguments).await;
        told.take(&caller, pattern, &arguments, answer);
    }
    told
}

impl Told {
    fn take(&mut self, caller: &str, pattern: &str, arguments: &Json, answer: Result<Json, Error>) {
        use ErrorKind::{Busy, Conflict, Indeterminate, NotFound, Taken, Unavailable};
        let kind = answer.as_ref().err().map(Error::kind);
        match kind {
            None => self.changes += 1,
            Some(Busy | Conflict | NotFound | Taken) => {}
            Some(Unavailable) => self.unavailable += 1,
            Some(Indeterminate) => self.unknown += 1,
            Some(_) => panic!("{pattern} {arguments}: {answer:?}"),
        }
        let job = || text(&answer.as_ref().unwrap()["row"]["job_id"]);
        match (pattern, kind) {
            ("pay", None) => drop(self.paid.insert(text(&arguments["transfer"]))),
            ("pay", Some(Indeterminate)) => {
                self.perhaps.insert(text(&arguments["transfer"]));
            }
            ("hit", None) => self.hits += 1,
            ("hit", Some(Indeterminate)) => self.hits_perhaps += 1,
            ("put_thing" | "drop_thing", None | Some(Indeterminate)) => {
                let after = Some(arguments).filter(|_| pattern == "put_thing").cloned();
                let all = self.things.entry(place_of(arguments)).or_insert_with(|| vec![None]);
                match kind {
                    None => *all = vec![after],
                    Some(_) => all.push(after),
                }
            }
            ("add_job", None) => drop(self.added.insert(job(), text(&arguments["task"]))),
            ("add_job", Some(Indeterminate)) => {
                self.added_perhaps.insert(text(&arguments["task"]));
            }
            ("take_job", None) => self.taken.push((job(), caller.to_string())),
            ("take_job", Some(Indeterminate)) => self.taken_perhaps.push(caller.to_string()),
            _ => {}
        }
    }

    fn shelves(&self) -> BTreeSet<String> {
        self.things.keys().map(|(shelf, _)| shelf.clone()).collect()
    }

    /// Compares the shelf of a caller while nobody else changes it, if the server is there.
    async fn look_at(&self, runtime: &Runtime, shelf: &str) {
        let page = call(runtime, shelf, "things", &json!({"shelf": shelf})).await;
        match page {
            Ok(mut page) => {
                self.compare_shelf(shelf, std::mem::take(page["rows"].as_array_mut().unwrap()));
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}"),
        }
    }

    /// Every thing is as it was acknowledged, and no other is there.
    fn compare_shelf(&self, shelf: &str, rows: Vec<Json>) {
        let mut found: BTreeMap<Place, Json> =
            rows.into_iter().map(|row| (place_of(&row), row)).collect();
        for (place, possible) in self.things.iter().filter(|((of, _), _)| of == shelf) {
            let thing = found.remove(place);
            assert!(possible.contains(&thing), "{place:?}: {thing:?}, none of {possible:?}");
        }
        assert!(found.is_empty(), "nobody put {found:?}");
    }
}

fn text(json: &Json) -> String {
    json.as_str().unwrap_or_else(|| panic!("{json} is no text")).to_string()
}

fn place_of(thing: &Json) -> Place {
    (text(&thing["shelf"]), thing["thing"].as_u64().unwrap())
}

async fn compare(runtime: &Runtime, told: &Told) {
    let found = all(runtime, "transfers", json!({"ledger": "main"})).await;
    let ids: BTreeSet<String> = found.iter().map(|row| text(&row["transfer"])).collect();
    let lost: Vec<_> = told.paid.difference(&ids).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    let known: BTreeSet<String> = told.paid.union(&told.perhaps).cloned().collect();
    let strange: Vec<_> = ids.difference(&known).collect();
    assert!(strange.is_empty(), "refused, and there all the same: {strange:?}");
    let mut balances = vec![1_000; usize::try_from(ACCOUNTS).unwrap()];
    let account = |json: &Json| json.as_str().unwrap().parse::<usize>().unwrap();
    for transfer in &found {
        balances[account(&transfer["source"])] -= transfer["amount"].as_i64().unwrap();
        balances[account(&transfer["target"])] += transfer["amount"].as_i64().unwrap();
    }
    let stored = all(runtime, "accounts", json!({"ledger": "main"})).await;
    let stored: Vec<i64> = stored.iter().map(|row| row["balance"].as_i64().unwrap()).collect();
    assert_eq!(stored, balances);
    let hits = call(runtime, "parent", "hits", &json!({"page": "front"})).await.unwrap();
    let hits = hits["row"]["value"].as_i64().unwrap();
    assert!((told.hits..=told.hits + told.hits_perhaps).contains(&hits), "{hits}, {told:?}");
}

/// Every job that was added is there, held by whoever was given it, and given once.
async fn compare_jobs(runtime: &Runtime, told: &Told) {
    let (mut added, mut held_perhaps) = (told.added.clone(), told.taken_perhaps.clone());
    let mut held: BTreeMap<&String, &String> = BTreeMap::new();
    for (job, holder) in &told.taken {
        let before = held.insert(job, holder);
        assert_eq!(before, None, "{job} was given to {holder} too");
    }
    for row in all(runtime, "jobs", json!({"queue": "main"})).await {
        let (id, task) = (text(&row["job_id"]), text(&row["task"]));
        match added.remove(&id) {
            Some(acknowledged) => assert_eq!(task, acknowledged, "{id}"),
            None => assert!(told.added_perhaps.contains(&task), "nobody added {row}"),
        }
        let holder = row["holder"].as_str();
        assert_eq!(row["tries"], json!(u64::from(holder.is_some())), "{row}");
        match held.remove(&id) {
            Some(acknowledged) => assert_eq!(holder, Some(acknowledged.as_str()), "{row}"),
            None => {
                let Some(holder) = holder else { continue };
                let perhaps = held_perhaps.iter().position(|perhaps| perhaps == holder);
                held_perhaps.remove(perhaps.unwrap_or_else(|| panic!("nobody was given {row}")));
            }
        }
    }
    assert!(added.is_empty() && held.is_empty(), "lost: {added:?}, {held:?}");
}

/// Every index and claim is true.
pub async fn scrub(store: &dyn Store, runtime: &Runtime) {
    let clock = ManualClock::at(NOW);
    let random = SeededRandom::new(1);
    let schema = runtime.schema();
    let scrub = Scrub { store, schema, clock: &clock, random: &random, repair: false };
    let mut problems = Vec::new();
    let mut seen = |problem: Option<&_>, _: &_| problems.extend(problem.cloned());
    scrub.run(&mut seen).await.unwrap();
    assert!(problems.is_empty(), "{problems:?}");
}

/// Makes a call; the answer as JSON.
pub async fn call(
    runtime: &Runtime,
    user: &str,
    pattern: &str,
    arguments: &Json,
) -> Result<Json, Error> {
    let prepared = runtime.pattern(pattern)?;
    let none = Map::new();
    let given =
        prepared.given_from_json(runtime.keyspace(), arguments.as_object().unwrap_or(&none))?;
    let caller = Caller::user(user);
    let reply = runtime.call(Call::new(prepared, given, &caller)).await?;
    reply.answer.to_json(runtime.schema())
}

/// All rows of a list.
async fn all(runtime: &Runtime, pattern: &str, mut arguments: Json) -> Vec<Json> {
    let mut rows = Vec::new();
    loop {
        let mut page = call(runtime, "parent", pattern, &arguments).await.unwrap();
        rows.append(page["rows"].as_array_mut().unwrap());
        match page["next"].take() {
            Json::Null => return rows,
            next => arguments["cursor"] = next,
        }
    }
}
