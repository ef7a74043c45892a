//! Callers that work on a store while something happens to its server, and what must hold after.
//!
//! ```text
//! callers ─▶ transfers, counts, things with indexes, jobs ─▶ what each was answered
//!    └─ after: all that was acknowledged is there, nothing that was refused is, sums agree, every
//!       index is true
//! ```

use crate::keyspace;
use data::clock::{ManualClock, SeededRandom};
use data::maintain::Scrub;
use data::request::{Call, Options, Runtime};
use data::store::Store;
use data::{Caller, Error, ErrorKind};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use stores::postgres::PostgresStore;

const KEYSPACE: &str = include_str!("../kill_patterns/keyspace.toml");
const NOW: i64 = 1_800_000_000_000;
const ACCOUNTS: u64 = 4;

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
    /// Jobs that somebody was given.
    taken: Vec<String>,
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
            told.taken.append(&mut one.taken);
            told.hits += one.hits;
            told.hits_perhaps += one.hits_perhaps;
            told.changes += one.changes;
            told.unavailable += one.unavailable;
            told.unknown += one.unknown;
        }
        compare(&self.runtime, &told).await;
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
        let (pattern, arguments) = match below(8) {
            0..3 => {
                let (source, more) = (below(ACCOUNTS), 1 + below(ACCOUNTS - 1));
                let target = (source + more) % ACCOUNTS;
                let pay = json!({"ledger": "main", "transfer": own, "amount": 1 + below(9),
                    "source": source.to_string(), "target": target.to_string()});
                ("pay", pay)
            }
            3 => ("hit", json!({"page": "front", "amount": 1})),
            4 => {
                let name = format!("Name {}", below(6));
                let thing = json!({"shelf": caller.to_string(), "thing": below(4), "name": name,
                    "tags": ["red"], "open": below(2) == 0, "stamp": below(100)});
                ("put_thing", thing)
            }
            5 => ("drop_thing", json!({"shelf": caller.to_string(), "thing": below(4)})),
            6 => ("add_job", json!({"queue": "main", "task": own})),
            _ => ("take_job", json!({"queue": "main"})),
        };
        let answer = call(runtime, &caller.to_string(), pattern, &arguments).await;
        told.take(pattern, &arguments, answer);
    }
    told
}

impl Told {
    fn take(&mut self, pattern: &str, arguments: &Json, answer: Result<Json, Error>) {
        use ErrorKind::{Busy, Conflict, Indeterminate, NotFound, Taken, Unavailable};
        let kind = answer.as_ref().err().map(Error::kind);
        match kind {
            None => self.changes += 1,
            Some(Busy | Conflict | NotFound | Taken) => {}
            Some(Unavailable) => self.unavailable += 1,
            Some(Indeterminate) => self.unknown += 1,
            Some(_) => panic!("{pattern} {arguments}: {answer:?}"),
        }
        let transfer = || arguments["transfer"].as_str().unwrap().to_string();
        match (pattern, kind) {
            ("pay", None) => drop(self.paid.insert(transfer())),
            ("pay", Some(Indeterminate)) => drop(self.perhaps.insert(transfer())),
            ("hit", None) => self.hits += 1,
            ("hit", Some(Indeterminate)) => self.hits_perhaps += 1,
            ("take_job", None) => {
                self.taken.push(answer.unwrap()["row"]["job_id"].as_str().unwrap().to_string());
            }
            _ => {}
        }
    }
}

async fn compare(runtime: &Runtime, told: &Told) {
    let found = all(runtime, "transfers", json!({"ledger": "main"})).await;
    let ids: BTreeSet<String> =
        found.iter().map(|row| row["transfer"].as_str().unwrap().to_string()).collect();
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
    let mut taken = told.taken.clone();
    taken.sort();
    let given_twice = taken.windows(2).find(|two| two[0] == two[1]);
    assert_eq!(given_twice, None);
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
