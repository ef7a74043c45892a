//! Operations played on a store and on the oracle, call by call.

use super::domain::instant;
use super::operation::Operation;
use super::oracle::{Called, Expected, Oracle, Row};
use super::world::{Asked, World};
use crate::caller::Caller;
use crate::clock::{Clock, ManualClock, SeededRandom};
use crate::error::{Error, ErrorKind};
use crate::maintain::{Problem, ProblemKind, Scrub};
use crate::request::{self, Call, Runtime};
use crate::store::Store;
use crate::suite::shown;
use keyspace::model::{Atomicity, Keyspace};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The time at which every run begins: 2027-01-15T08:00:00Z.
const BEGIN: i64 = 1_800_000_000_000;
/// An id that no run makes.
const UNKNOWN_ID: &str = "01HZZZZZZZZZZZZZZZZZZZZZZZ";
/// More pages than any list of a run has, some of them empty.
const PAGES_MAX: usize = 1_000;

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls that were answered as the oracle says, by `ok` or the kind of error.
    pub answers: BTreeMap<&'static str, usize>,
    /// Rows that lists answered.
    pub listed: usize,
    /// Calls of patterns that the store does not offer.
    pub refused: usize,
    /// Entries that failed attempts left behind, where they may.
    pub left_behind: usize,
}

/// What went wrong, and at which operation; behind the last one it is the scrub.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    pub(super) at: usize,
    pub(super) found: String,
}

/// A run.
struct Play<'p> {
    runtime: &'p Runtime,
    world: &'p World,
    oracle: Oracle<'p>,
    /// Ids that inserts made, in their order.
    made: Vec<Json>,
    tally: Tally,
}

/// Plays operations, and proves the indexes true afterwards.
pub(super) async fn play(
    seed: u64,
    world: &World,
    keyspace: &Arc<Keyspace>,
    operations: &[Operation],
    store: Arc<dyn Store>,
) -> Result<Tally, Broken> {
    let clock = Arc::new(ManualClock::at(BEGIN));
    let random = Arc::new(SeededRandom::new(seed));
    let mut options = request::Options::new(clock.clone(), random.clone());
    options.check_bounds = true;
    let failed = |at: usize| move |error: Error| Broken { at, found: told(&error) };
    let runtime = Runtime::open(store.clone(), keyspace.clone(), options);
    let runtime = runtime.await.map_err(failed(0))?;
    let oracle = Oracle::new(world, BEGIN);
    let (made, tally) = (Vec::new(), Tally::default());
    let mut play = Play { runtime: &runtime, world, oracle, made, tally };
    for (at, operation) in operations.iter().enumerate() {
        match operation {
            Operation::Pass(milliseconds) => clock.advance(*milliseconds),
            Operation::Sweep => {
                store.sweep(clock.now(), 3).await.map_err(failed(at))?;
            }
            Operation::Call { pattern, user, arguments, .. } => {
                play.oracle.now = clock.now();
                let Some(asked) = world.patterns.get(*pattern) else { continue };
                let called = play.call(asked, user, arguments).await;
                called.map_err(|found| Broken { at, found })?;
            }
        }
    }
    let scrub = Scrub {
        store: store.as_ref(),
        schema: runtime.schema(),
        clock: clock.as_ref(),
        random: random.as_ref(),
        repair: false,
    };
    let at = operations.len();
    match scrubbed(scrub, &mut play.tally).await.map_err(failed(at))? {
        None => Ok(play.tally),
        Some(problem) => Err(Broken { at, found: format!("scrub: {problem:?}") }),
    }
}

/// The first problem with the indexes of a store. Where entries lie apart from their rows, what a
/// failed attempt leaves behind is no problem if it can be put right.
async fn scrubbed(mut scrub: Scrub<'_>, tally: &mut Tally) -> Result<Option<Problem>, Error> {
    let apart = scrub.store.describe().atomicity == Atomicity::Group;
    let mut problems = Vec::new();
    scrub.run(&mut |problem, _| problems.extend(problem.cloned())).await?;
    let left = |problem: &&Problem| apart && problem.kind == ProblemKind::LeftBehind;
    tally.left_behind += problems.iter().filter(left).count();
    if let Some(problem) = problems.iter().find(|problem| !left(problem)) {
        return Ok(Some(problem.clone()));
    }
    scrub.repair = true;
    scrub.run(&mut |_, _| {}).await?;
    problems.clear();
    scrub.run(&mut |problem, _| problems.extend(problem.cloned())).await?;
    Ok(problems.into_iter().next())
}

fn told(error: &Error) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    format!("{}: {error} {source}", error.kind())
}

impl Play<'_> {
    async fn call(
        &mut self,
        asked: &Asked,
        user: &str,
        arguments: &Map<String, Json>,
    ) -> Result<(), String> {
        let prepared = self.runtime.pattern(&asked.name).map_err(|error| told(&error))?;
        if prepared.offered().is_err() {
            self.tally.refused += 1;
            return Ok(());
        }
        let arguments = self.known(arguments);
        let answer = match prepared.pattern.verb {
            keyspace::model::Verb::List => self.pages(asked, user, &arguments).await?,
            _ => self.answer(asked, user, &arguments).await,
        };
        let found = answer.as_ref().ok();
        let called = Called { asked, user, arguments: &arguments, answer: found };
        let expected = self.oracle.call(&called);
        let name = match &answer {
            Ok(_) => "ok",
            Err(error) => error.kind().name(),
        };
        *self.tally.answers.entry(name).or_default() += 1;
        self.learn(asked, &expected, found);
        match differs(&expected, &answer) {
            false => Ok(()),
            true => {
                let answer = answer.map_or_else(|error| told(&error), |answer| answer.to_string());
                Err(format!("answered {answer}\n  expected {expected:?}"))
            }
        }
    }

    /// Arguments with ids that were made in place of their numbers.
    fn known(&self, arguments: &Map<String, Json>) -> Map<String, Json> {
        let known = |value: &Json| match value.as_str().and_then(|text| text.strip_prefix('$')) {
            None => value.clone(),
            Some(number) => {
                let number: Option<usize> = number.parse().ok();
                let made = number.and_then(|number| self.made.get(number));
                made.cloned().unwrap_or_else(|| json!(UNKNOWN_ID))
            }
        };
        arguments.iter().map(|(name, value)| (name.clone(), known(value))).collect()
    }

    async fn answer(
        &self,
        asked: &Asked,
        user: &str,
        arguments: &Map<String, Json>,
    ) -> Result<Json, Error> {
        let prepared = self.runtime.pattern(&asked.name)?;
        let given = prepared.given_from_json(self.runtime.keyspace(), arguments)?;
        let caller = Caller::user(user);
        let call = Call::new(prepared, given, &caller);
        let reply = self.runtime.call(call.clone()).await;
        shown::alike(self.runtime, &call, &reply).await.map_err(|failure| {
            Error::new(ErrorKind::Internal, "what is shown is not what is answered")
                .with("failure", format!("{failure:?}"))
        })?;
        reply?.answer.to_json(self.runtime.schema())
    }

    /// All pages of a list, as one.
    async fn pages(
        &mut self,
        asked: &Asked,
        user: &str,
        arguments: &Map<String, Json>,
    ) -> Result<Result<Json, Error>, String> {
        let mut arguments = arguments.clone();
        let most = arguments.get("limit").and_then(Json::as_u64).unwrap_or(5);
        let mut all: Vec<Json> = Vec::new();
        for _ in 0..PAGES_MAX {
            let mut page = match self.answer(asked, user, &arguments).await {
                Ok(page) => page,
                Err(error) => return Ok(Err(error)),
            };
            let rows = page.get_mut("rows").and_then(Json::as_array_mut).ok_or("no rows")?;
            if rows.len() as u64 > most {
                return Err(format!("a page of {} rows, limit {most}", rows.len()));
            }
            self.tally.listed += rows.len();
            all.append(rows);
            match page.get("next") {
                Some(Json::String(next)) => arguments.insert("cursor".to_string(), json!(next)),
                _ => return Ok(Ok(json!({ "rows": all }))),
            };
        }
        Err("a list without an end".to_string())
    }

    /// Takes over versions and made ids from an answer.
    fn learn(&mut self, asked: &Asked, expected: &Expected, answer: Option<&Json>) {
        let (Expected::Changed(Some(row), false), Some(answer)) = (expected, answer) else {
            return;
        };
        let version = answer.get("version").cloned().unwrap_or_default();
        self.oracle.learn(asked.collection, row, &version);
        let segments = self.world.collections.get(asked.collection).map(|c| &c.segments);
        if matches!(asked.verb, super::world::Verb::Insert) {
            for segment in segments.into_iter().flatten().filter(|segment| segment.made) {
                self.made.extend(row.members.get(&segment.name).cloned());
            }
        }
    }
}

/// Whether an answer is not what it must be.
fn differs(expected: &Expected, answer: &Result<Json, Error>) -> bool {
    let Ok(answer) = answer else {
        let Err(error) = answer else { return true };
        return !matches!(expected, Expected::Refused(kinds) if kinds.contains(&error.kind()));
    };
    let member = |name: &str| answer.get(name).cloned().unwrap_or_default();
    let row = |row: &Option<Row>| {
        row.as_ref().map_or(Json::Null, |row| Json::Object(row.members.clone()))
    };
    let version = |row: &Option<Row>| row.as_ref().map_or(Json::Null, |row| row.version.clone());
    match expected {
        Expected::Refused(_) => true,
        Expected::Row(wanted) => {
            member("row") != row(wanted) || member("version") != version(wanted)
        }
        Expected::Rows(wanted) => member("rows") != Json::Array(wanted.clone()),
        Expected::Changed(wanted, existed) => {
            let same_version = !existed || member("version") == version(wanted);
            member("row") != row(wanted) || member("existed") != existing(*existed) || !same_version
        }
        Expected::Total(total) => member("total") != *total,
        Expected::Window(window) => {
            let ends = |json: &Json| json.get("resets_at").map(instant);
            answer != window || ends(answer) != ends(window)
        }
    }
}

fn existing(existed: bool) -> Json {
    if existed { json!(true) } else { Json::Null }
}
