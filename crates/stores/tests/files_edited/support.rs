//! A tree of users, events and sessions, and an editor.

use crate::common::{Folder, NOW, wait};
use data::clock::{ManualClock, SeededRandom};
use data::maintain::{ProblemKind, Scrub};
use data::request::{self, Call, Runtime};
use data::store::{Durability, Store};
use data::{Caller, ErrorKind};
use serde_json::{Map, Value as Json, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use stores::files::{FilesStore, Options};

pub const KEYSPACE: &str = r#"
[keyspace]
name = "edited"

[collection.users]
key    = "user:{user_id: text}"
fields = { email = "text", name = "text", tags = "[text] = []", born = "date?" }
index.users_by_email = { key = "email:{lower(email)}", unique = true }
index.users_by_tag   = { key = "tag:{each(tags)} | {user_id}", file = "{tags}", expect = { rows_per_group = 10 } }

[collection.events]
key       = "log:{log: text} | {event: text}"
fields    = { kind = "a|b" }
body      = "bytes"
immutable = true
file      = "{event}.{kind}.bin"
fields_file = "meta/{log}/{event}.json"
expect    = { rows_per_group = 10 }
index.events_by_kind = { key = "kind:{kind} | {log}:{event}", expect = { rows_per_group = 10 } }

[collection.sessions]
key    = "session:{session: text}"
fields = { until = "timestamp?" }
ttl    = "until"

[collection.hits]
key   = "hits:{page: text}"
value = "counter"

[pattern]
add_user    = { insert = "users", allow = "user" }
change_user = { update = "users", set = ["name", "email", "tags"], if_version = true, allow = "user" }
user        = { get = "users" }
by_email    = { get = "users.users_by_email" }
by_tag      = { list = "users.users_by_tag", page = 10 }
add_event   = { insert = "events", allow = "user" }
event       = { get = "events" }
events      = { list = "events", page = 10 }
of_kind     = { list = "events.events_by_kind", page = 10 }
add_session = { insert = "sessions", allow = "user" }
session     = { get = "sessions" }
hit         = { add = "hits", allow = "user" }
hits        = { get = "hits" }
"#;

pub struct World {
    pub store: Arc<FilesStore>,
    pub runtime: Runtime,
    pub root: PathBuf,
}

impl World {
    pub fn open(folder: &Folder) -> World {
        World::try_open(folder, KEYSPACE).unwrap_or_else(|error| panic!("{error:?}"))
    }

    pub fn try_open(folder: &Folder, text: &str) -> data::Result<World> {
        let root = folder.path().to_path_buf();
        let options = Options { durability: Durability::Process, ..Options::default() };
        let store = Arc::new(FilesStore::open(&root, &options)?);
        let clock = Arc::new(ManualClock::at(NOW));
        // Ids of one opening are none of another.
        static SEED: AtomicU64 = AtomicU64::new(7);
        let random = SeededRandom::new(SEED.fetch_add(1, Ordering::Relaxed));
        let options = request::Options::new(clock, Arc::new(random));
        let reading = keyspace::read(text);
        let keyspace = reading.keyspace.unwrap_or_else(|| panic!("{:?}", reading.diagnostics));
        let runtime = wait(Runtime::open(store.clone(), Arc::new(keyspace), options))?;
        Ok(World { store, runtime, root })
    }

    pub fn call(&self, pattern: &str, arguments: Json) -> data::Result<Json> {
        let prepared = self.runtime.pattern(pattern)?;
        let none = Map::new();
        let given = arguments.as_object().unwrap_or(&none);
        let given = prepared.given_from_json(self.runtime.keyspace(), given)?;
        let reply = wait(self.runtime.call(Call::new(prepared, given, &Caller::user("u"))))?;
        reply.answer.to_json(self.runtime.schema())
    }

    pub fn ok(&self, pattern: &str, arguments: Json) -> Json {
        self.call(pattern, arguments).unwrap_or_else(|error| panic!("{pattern}: {error:?}"))
    }

    pub fn kind(&self, pattern: &str, arguments: Json) -> ErrorKind {
        self.call(pattern, arguments).unwrap_err().kind()
    }

    pub fn file(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Lets everything reach its file, and goes on.
    pub fn settle(self, folder: &Folder) -> World {
        wait(self.store.close()).unwrap();
        drop(self);
        World::open(folder)
    }

    pub fn ann(&self) -> Json {
        let ann = json!({"user_id": "ann", "email": "Ann@x.org", "name": "Ann", "tags": ["red"]});
        self.ok("add_user", ann)
    }

    /// What a scrub finds.
    pub fn scrub(&self) -> Vec<(ProblemKind, Option<String>)> {
        let mut problems = Vec::new();
        let scrub = Scrub {
            store: self.store.as_ref(),
            schema: self.runtime.schema(),
            clock: &ManualClock::at(NOW),
            random: &SeededRandom::new(1),
            repair: false,
        };
        let mut seen = |problem: Option<&data::maintain::Problem>, _: &_| {
            problems.extend(problem.map(|problem| (problem.kind, problem.index.clone())));
        };
        wait(scrub.run(&mut seen)).unwrap();
        problems
    }

    pub fn problems(&self) -> String {
        self.store.remarks().join("\n")
    }
}

pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Changes a text as an editor does: another file under the same name.
pub fn replace(path: &Path, from: &str, to: &str) {
    let text = read(path);
    assert!(text.contains(from), "{text}");
    let beside = path.with_extension("edited");
    fs::write(&beside, text.replace(from, to)).unwrap();
    fs::rename(beside, path).unwrap();
}
