//! What the threads of a child call. A call follows from its seed, round, thread and number alone;
//! what it is answered does not, for the threads take each other's names, money and jobs.

use crate::common::{NOW, wait};
use data::clock::{ManualClock, SeededRandom};
use data::request::{Call, Options, Runtime};
use data::store::{Durability, Store};
use data::{Caller, Error};
use serde_json::{Map, Value as Json, json};
use std::path::Path;
use std::sync::Arc;
use stores::engine::{self, EngineStore};
use stores::files::{self, FilesStore};
use stores::sqlite::{self, SqliteStore};

pub const TAGS: [&str; 4] = ["red", "blue", "round", "ROUND"];
pub const PAGES: [&str; 2] = ["front", "back"];
pub const ACCOUNTS: u64 = 5;
/// Names of a round; there are more things that want one.
const NAMES: u64 = 16;
const THINGS: u64 = 5;

/// The stores that are killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Engine,
    Files,
    Sqlite,
}

impl Kind {
    /// Its name, for the child.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Engine => "engine",
            Kind::Files => "files",
            Kind::Sqlite => "sqlite",
        }
    }

    /// The one with this name.
    pub fn from_name(name: &str) -> Kind {
        let all = [Kind::Engine, Kind::Files, Kind::Sqlite];
        all.into_iter().find(|kind| kind.name() == name).unwrap()
    }

    fn open(self, folder: &Path, durability: Durability) -> data::Result<Arc<dyn Store>> {
        Ok(match self {
            Kind::Engine => {
                let options = engine::Options { durability, ..engine::Options::default() };
                Arc::new(EngineStore::open(folder, &options)?)
            }
            Kind::Files => {
                let options = files::Options { durability, ..files::Options::default() };
                Arc::new(FilesStore::open(folder, &options)?)
            }
            Kind::Sqlite => {
                let options = sqlite::Options { durability };
                Arc::new(SqliteStore::open(folder.join("kill.db"), &options)?)
            }
        })
    }
}

/// A round: what chance decides in it.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    pub kind: Kind,
    pub seed: u64,
    pub number: u32,
    pub durability: Durability,
    pub threads: u8,
}

impl Round {
    pub fn new(kind: Kind, seed: u64, number: u32, durability: Durability) -> Self {
        let random = SeededRandom::new(seed ^ u64::from(number).wrapping_mul(0x5851_f42d));
        let threads = 6 + u8::try_from(random.number() % 3).unwrap();
        Round { kind, seed, number, durability, threads }
    }

    /// A run time on the folder. An hour passes between two rounds.
    pub fn open(&self, folder: &Path) -> (Runtime, Arc<dyn Store>, ManualClock) {
        let store = self.kind.open(folder, self.durability);
        let store = store.unwrap_or_else(|error| panic!("{self:?}: {error:?}"));
        let clock = ManualClock::at(NOW + i64::from(self.number) * 3_600_000);
        let random = SeededRandom::new(self.seed ^ (u64::from(self.number) << 32) ^ 0x1d5);
        let mut options = Options::new(Arc::new(clock.clone()), Arc::new(random));
        options.check_bounds = true;
        let keyspace = keyspace::read(include_str!("keyspace.toml")).keyspace.unwrap();
        let runtime = wait(Runtime::open(store.clone(), Arc::new(keyspace), options)).unwrap();
        (runtime, store, clock)
    }

    pub fn step(&self, thread: u8, number: u32) -> Step {
        Step { round: *self, thread, number }
    }

    pub fn shelf(&self, thread: u8) -> String {
        format!("{}-{thread}", self.number)
    }

    pub fn names(&self) -> impl Iterator<Item = String> {
        let number = self.number;
        (0..NAMES).map(move |name| format!("Name {number} {name}"))
    }
}

/// One call of one thread.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    round: Round,
    thread: u8,
    number: u32,
}

impl Step {
    /// The pattern and its arguments.
    pub fn call(&self) -> (&'static str, Json) {
        let place = u64::from(self.round.number) << 40 | u64::from(self.thread) << 32;
        let place = (place + u64::from(self.number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let random = SeededRandom::new(self.round.seed ^ place);
        let below = |below: u64| random.number() % below;
        let (shelf, thing) = (self.round.shelf(self.thread), below(THINGS));
        let tags: Vec<&str> = TAGS.into_iter().filter(|_| below(2) == 0).collect();
        let (open, stamp) = (below(2) == 0, below(1_000));
        let own = format!("{}-{}-{}", self.round.number, self.thread, self.number);
        match below(12) {
            0..3 => {
                let name = self.round.names().nth(usize::try_from(below(NAMES)).unwrap()).unwrap();
                let name = if below(2) == 0 { name } else { name.to_uppercase() };
                let thing = json!({"shelf": shelf, "thing": thing, "name": name, "tags": tags,
                    "open": open, "stamp": stamp});
                ("put_thing", thing)
            }
            3..5 => {
                let change = json!({"shelf": shelf, "thing": thing, "tags": tags, "open": open,
                    "stamp": stamp});
                ("edit_thing", change)
            }
            5 => ("drop_thing", json!({"shelf": shelf, "thing": thing})),
            6 => {
                let page = PAGES[usize::try_from(below(2)).unwrap()];
                ("hit", json!({"page": page, "amount": 1 + below(9)}))
            }
            7..9 => {
                let source = below(ACCOUNTS);
                let target = (source + 1 + below(ACCOUNTS - 1)) % ACCOUNTS;
                let transfer = json!({"ledger": "main", "transfer": own, "amount": 1 + below(400),
                    "source": source.to_string(), "target": target.to_string()});
                ("pay", transfer)
            }
            9..11 => ("add_job", json!({"queue": "main", "task": own})),
            _ => ("take_job", json!({"queue": "main"})),
        }
    }

    pub fn caller(&self) -> String {
        self.round.shelf(self.thread)
    }
}

/// Makes a call; the answer as JSON.
pub fn call(runtime: &Runtime, user: &str, pattern: &str, arguments: &Json) -> Result<Json, Error> {
    let prepared = runtime.pattern(pattern)?;
    let none = Map::new();
    let given =
        prepared.given_from_json(runtime.keyspace(), arguments.as_object().unwrap_or(&none))?;
    let caller = Caller::user(user);
    let reply = wait(runtime.call(Call::new(prepared, given, &caller)))?;
    reply.answer.to_json(runtime.schema())
}

/// All rows of a list.
pub fn all(runtime: &Runtime, pattern: &str, mut arguments: Json) -> Vec<Json> {
    let mut rows = Vec::new();
    loop {
        let mut page = call(runtime, "parent", pattern, &arguments).unwrap();
        rows.append(page["rows"].as_array_mut().unwrap());
        match page["next"].take() {
            Json::Null => return rows,
            next => arguments["cursor"] = next,
        }
    }
}
