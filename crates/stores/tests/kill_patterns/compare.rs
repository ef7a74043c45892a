//! What must be in a folder after a kill, held against what is.

use crate::Answered;
use crate::common::wait;
use crate::work::{ACCOUNTS, PAGES, Round, TAGS, all, call};
use data::clock::SeededRandom;
use data::maintain::Scrub;
use data::request::Runtime;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What all rounds in a folder have come to.
#[derive(Debug, Default)]
pub struct Model {
    /// By shelf and number.
    things: BTreeMap<(String, u64), Json>,
    hits: BTreeMap<String, i64>,
    transfers: BTreeMap<String, Json>,
    /// By id: the task, and who holds it.
    jobs: BTreeMap<String, (String, Option<String>)>,
    names: BTreeSet<String>,
}

/// The calls that were under way at the kill: by whom, the pattern, the arguments.
type UnderWay = Vec<(String, &'static str, Json)>;

impl Model {
    /// Opens what a child left, holds it against the model, and takes over what was under way.
    pub fn compare(&mut self, round: &Round, folder: &Path, acks: &[Vec<Answered>]) {
        let (runtime, store, clock) = round.open(folder);
        let mut under_way = UnderWay::new();
        for (thread, answers) in acks.iter().enumerate() {
            let thread = u8::try_from(thread).unwrap();
            for (number, answer) in answers.iter().enumerate() {
                let step = round.step(thread, u32::try_from(number).unwrap());
                let (pattern, arguments) = step.call();
                if let Ok(answer) = answer {
                    self.acknowledge(&step.caller(), pattern, &arguments, answer);
                }
            }
            let next = round.step(thread, u32::try_from(answers.len()).unwrap());
            let (pattern, arguments) = next.call();
            under_way.push((next.caller(), pattern, arguments));
        }
        self.names.extend(round.names().map(|name| name.to_lowercase()));
        let check = Check { round, runtime: &runtime, under_way: &under_way };
        check.things(&mut self.things);
        check.indexes(&self.things, &self.names);
        check.hits(&mut self.hits, acks);
        check.ledger(&mut self.transfers);
        check.jobs(&mut self.jobs);
        let mut problems = Vec::new();
        let scrub = Scrub {
            store: store.as_ref(),
            schema: runtime.schema(),
            clock: &clock,
            random: &SeededRandom::new(1),
            repair: false,
        };
        let mut seen = |problem: Option<&_>, _: &_| problems.extend(problem.cloned());
        wait(scrub.run(&mut seen)).unwrap();
        assert!(problems.is_empty(), "{round:?}: {problems:?}");
        wait(store.close()).unwrap();
    }

    fn acknowledge(&mut self, caller: &str, pattern: &str, arguments: &Json, answer: &Json) {
        match pattern {
            "hit" => {
                let page = arguments["page"].as_str().unwrap().to_string();
                *self.hits.entry(page).or_default() += arguments["amount"].as_i64().unwrap();
            }
            "pay" => {
                self.transfers.insert(text(&arguments["transfer"]), arguments.clone());
            }
            "add_job" => {
                // Its taker's answer may have been read first.
                let job = self.jobs.entry(text(&answer["id"])).or_default();
                job.0 = text(&arguments["task"]);
            }
            "take_job" => {
                let job = self.jobs.entry(text(&answer["id"])).or_default();
                let before = job.1.replace(caller.to_string());
                assert_eq!(before, None, "{} is given to two", answer["id"]);
            }
            _ => change_things(&mut self.things, pattern, arguments),
        }
    }
}

fn text(json: &Json) -> String {
    json.as_str().unwrap_or_else(|| panic!("{json} is no text")).to_string()
}

fn place_of(thing: &Json) -> (String, u64) {
    (text(&thing["shelf"]), thing["thing"].as_u64().unwrap())
}

/// What a call does to the things, if it does anything.
fn change_things(things: &mut BTreeMap<(String, u64), Json>, pattern: &str, arguments: &Json) {
    match pattern {
        "put_thing" => {
            things.insert(place_of(arguments), arguments.clone());
        }
        "edit_thing" => {
            if let Some(thing) = things.get_mut(&place_of(arguments)) {
                for (name, value) in arguments.as_object().unwrap() {
                    thing[name] = value.clone();
                }
            }
        }
        "drop_thing" => {
            things.remove(&place_of(arguments));
        }
        _ => {}
    }
}

/// One comparison.
struct Check<'c> {
    round: &'c Round,
    runtime: &'c Runtime,
    under_way: &'c UnderWay,
}

impl Check<'_> {
    fn of(&self, pattern: &str) -> impl Iterator<Item = &(String, &'static str, Json)> {
        self.under_way.iter().filter(move |(_, under_way, _)| *under_way == pattern)
    }

    /// Rows of one thread alone: as acknowledged, or with what was under way done to them too.
    fn things(&self, things: &mut BTreeMap<(String, u64), Json>) {
        let mut shelves: BTreeSet<String> = things.keys().map(|(shelf, _)| shelf.clone()).collect();
        shelves.extend((0..self.round.threads).map(|thread| self.round.shelf(thread)));
        for shelf in shelves {
            let found = all(self.runtime, "things", json!({"shelf": shelf}));
            let found: BTreeMap<_, _> =
                found.into_iter().map(|row| (place_of(&row), row)).collect();
            let mine = things.iter().filter(|((of, _), _)| *of == shelf);
            let mine: BTreeMap<_, _> =
                mine.map(|(place, row)| (place.clone(), row.clone())).collect();
            let mut perhaps = mine.clone();
            for (_, pattern, arguments) in self.under_way.iter().filter(|(by, ..)| *by == shelf) {
                change_things(&mut perhaps, pattern, arguments);
            }
            let round = self.round;
            assert!(
                found == mine || found == perhaps,
                "{round:?}: {found:?}\nnot {mine:?}\nnor {perhaps:?}"
            );
            things.retain(|(of, _), _| *of != shelf);
            things.extend(found);
        }
    }

    /// Every index answers what a look at all rows would.
    fn indexes(&self, things: &BTreeMap<(String, u64), Json>, names: &BTreeSet<String>) {
        let round = self.round;
        for tag in TAGS {
            let tagged = |thing: &&Json| thing["tags"].as_array().unwrap().contains(&json!(tag));
            let kept = |thing: &Json| {
                let (shelf, number, stamp) = (&thing["shelf"], &thing["thing"], &thing["stamp"]);
                json!({"shelf": shelf, "thing": number, "stamp": stamp})
            };
            let wanted: Vec<Json> = things.values().filter(tagged).map(kept).collect();
            let found = all(self.runtime, "tagged", json!({"tags": tag}));
            assert_eq!(found, wanted, "{round:?} {tag}");
        }
        let shelves: BTreeSet<&String> = things.keys().map(|(shelf, _)| shelf).collect();
        for shelf in shelves {
            let open =
                |thing: &&Json| thing["shelf"] == json!(shelf) && thing["open"] == json!(true);
            let mut wanted: Vec<&Json> = things.values().filter(open).collect();
            wanted.sort_by_key(|thing| thing["stamp"].as_u64());
            let found = all(self.runtime, "opened", json!({"shelf": shelf}));
            assert_eq!(found.iter().collect::<Vec<_>>(), wanted, "{round:?} {shelf}");
        }
        for name in names {
            let bears = |thing: &&Json| text(&thing["name"]).to_lowercase() == *name;
            let wanted: Vec<&Json> = things.values().filter(bears).collect();
            let found = call(self.runtime, "parent", "named", &json!({"name": name})).unwrap();
            let found = Some(&found["row"]).filter(|row| !row.is_null());
            assert_eq!(found.into_iter().collect::<Vec<_>>(), wanted, "{round:?} {name}");
        }
    }

    /// At least what was acknowledged, at most that and what was under way; no total twice.
    fn hits(&self, hits: &mut BTreeMap<String, i64>, acks: &[Vec<Answered>]) {
        let totals = acks.iter().flatten().flatten().filter_map(|answer| answer["total"].as_i64());
        let mut totals: Vec<i64> = totals.collect();
        totals.sort_unstable();
        let twice = totals.windows(PAGES.len() + 1).find(|some| some.iter().all(|n| *n == some[0]));
        assert_eq!(twice, None, "{:?}: a total was given to two adds", self.round);
        for page in PAGES {
            let acked = hits.get(page).copied().unwrap_or_default();
            let more = self.of("hit").filter(|(_, _, arguments)| arguments["page"] == json!(page));
            let more: i64 =
                more.map(|(_, _, arguments)| arguments["amount"].as_i64().unwrap()).sum();
            let found = call(self.runtime, "parent", "hits", &json!({"page": page})).unwrap();
            let found = found["row"]["value"].as_i64().unwrap();
            assert!(
                (acked..=acked + more).contains(&found),
                "{:?}: {page}: {found}, acknowledged {acked}, under way {more}",
                self.round
            );
            hits.insert(page.to_string(), found);
        }
    }

    /// Every transfer that was acknowledged, none that nobody made, and balances that follow.
    fn ledger(&self, transfers: &mut BTreeMap<String, Json>) {
        let round = self.round;
        let found = all(self.runtime, "transfers", json!({"ledger": "main"}));
        let found: BTreeMap<String, Json> =
            found.into_iter().map(|row| (text(&row["transfer"]), row)).collect();
        for (id, transfer) in transfers.iter() {
            assert_eq!(found.get(id), Some(transfer), "{round:?}: lost");
        }
        for (id, transfer) in &found {
            let known = transfers.contains_key(id)
                || self.of("pay").any(|(_, _, arguments)| arguments == transfer);
            assert!(known, "{round:?}: nobody made {transfer}");
        }
        let mut balances = vec![1_000; usize::try_from(ACCOUNTS).unwrap()];
        let account = |json: &Json| json.as_str().unwrap().parse::<usize>().unwrap();
        for transfer in found.values() {
            balances[account(&transfer["source"])] -= transfer["amount"].as_i64().unwrap();
            balances[account(&transfer["target"])] += transfer["amount"].as_i64().unwrap();
        }
        let stored = all(self.runtime, "accounts", json!({"ledger": "main"}));
        let stored: Vec<i64> = stored.iter().map(|row| row["balance"].as_i64().unwrap()).collect();
        assert_eq!(stored, balances, "{round:?}");
        assert_eq!(stored.iter().sum::<i64>(), 1_000 * ACCOUNTS.cast_signed(), "{round:?}");
        *transfers = found;
    }

    /// Every job that was added, each held by whoever was given it, and taken once.
    fn jobs(&self, jobs: &mut BTreeMap<String, (String, Option<String>)>) {
        let round = self.round;
        let found = all(self.runtime, "jobs", json!({"queue": "main"}));
        let mut before = std::mem::take(jobs);
        let mut takers: Vec<&String> = self.of("take_job").map(|(by, ..)| by).collect();
        for row in &found {
            let holder = row["holder"].as_str().map(str::to_string);
            assert_eq!(row["tries"], json!(i64::from(holder.is_some())), "{round:?}: {row}");
            let task = text(&row["task"]);
            let (added, held) = before.remove(&text(&row["job_id"])).unwrap_or_default();
            let adding = self.of("add_job").any(|(_, _, add)| add["task"] == row["task"]);
            assert!(added == task || adding, "{round:?}: nobody added {row}");
            if holder != held {
                let taker = takers.iter().position(|by| Some(*by) == holder.as_ref());
                let taker = taker.unwrap_or_else(|| panic!("{round:?}: {row}, not {held:?}"));
                assert_eq!(held, None, "{round:?}: {row}");
                takers.remove(taker);
            }
            jobs.insert(text(&row["job_id"]), (task, holder));
        }
        assert!(before.is_empty(), "{round:?}: lost {before:?}");
    }
}
