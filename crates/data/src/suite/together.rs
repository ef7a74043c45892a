//! What patterns must do when 2 to 16 callers call them at the same time, on any store.
//!
//! A unique value has one winner, a counter the exact total, a window never more than its limit, a
//! job one taker, and money that is moved is conserved. Afterwards every index entry must be true.

use super::{Failure, Make, Options, Report, patterns};
use crate::caller::Caller;
use crate::clock::{Clock, Milliseconds, SeededRandom};
use crate::error::{Error, ErrorKind};
use crate::maintain::Scrub;
use crate::request::{self, Call, Runtime};
use crate::suite::bench::{holds, same};
use crate::suite::{Checked, Clients};
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

/// Callers at the same time.
const CALLERS: [usize; 3] = [2, 5, 16];
/// Times a caller tries what others were faster at.
const TRIES_MAX: usize = 500;

type Run = fn(Arc<Together>, usize) -> BoxFuture<'static, Checked>;

const CASES: [(&str, &str, Run); 7] = [
    ("of callers that insert one key one wins", "P1", |all, count| Box::pin(one_row(all, count))),
    ("of callers that claim a value one wins", "P3", |all, count| Box::pin(one_owner(all, count))),
    ("a value given up is claimed by one", "P3", |all, count| Box::pin(given_up(all, count))),
    ("no addition to a counter is lost", "P7", |all, count| Box::pin(counted(all, count))),
    ("no addition to a field is lost", "P7", |all, count| Box::pin(starred(all, count))),
    ("a window lets its limit through, exactly", "P7", |all, count| Box::pin(let_in(all, count))),
    ("a job is taken once", "P1", |all, count| Box::pin(taken(all, count))),
];

/// Runs every case, with few and many callers.
pub async fn run(make: Make<'_>, options: &Options) -> Result<Report, Error> {
    let keyspace = patterns::keyspace()?;
    let mut report = Report::default();
    for (name, promise, case) in CASES {
        let mut failed = None;
        for count in CALLERS {
            let store = make().await;
            let clock = Arc::new(Still(options.now));
            let random = Arc::new(SeededRandom::new(options.seed ^ count as u64));
            let mut behaviour = request::Options::new(clock.clone(), random.clone());
            behaviour.check_bounds = true;
            let runtime = Runtime::open(store.clone(), keyspace.clone(), behaviour).await?;
            let together = Together { runtime: Arc::new(runtime), clients: options.clients };
            let together = Arc::new(together);
            let mut checked = case(together.clone(), count).await;
            if checked.is_ok() {
                let scrub = Scrub {
                    store: store.as_ref(),
                    schema: together.runtime.schema(),
                    clock: clock.as_ref(),
                    random: random.as_ref(),
                    repair: false,
                };
                checked = scrubbed(scrub).await;
            }
            if let Err(Failure::Broken(found)) = checked {
                failed.get_or_insert(format!("{count} callers: {found}"));
            }
        }
        match failed {
            None => report.passed.push(name),
            Some(found) => report.failed.push((name, promise, found)),
        }
    }
    Ok(report)
}

/// Entries that lost attempts left behind are no problem where they lie apart from their rows.
async fn scrubbed(scrub: Scrub<'_>) -> Checked {
    use crate::maintain::ProblemKind::LeftBehind;
    let apart = scrub.store.describe().atomicity == keyspace::model::Atomicity::Group;
    let mut found = Vec::new();
    scrub.run(&mut |problem, _| found.extend(problem.cloned())).await?;
    found.retain(|problem| !(apart && problem.kind == LeftBehind));
    same("problems of the scrub", found, Vec::new())
}

/// A clock that stands; whoever waits lets others run.
#[derive(Debug)]
struct Still(Milliseconds);

#[async_trait]
impl Clock for Still {
    fn now(&self) -> Milliseconds {
        self.0
    }

    async fn wait(&self, milliseconds: u64) {
        let mut left = milliseconds.min(50);
        poll_fn(|context| {
            if left == 0 {
                return Poll::Ready(());
            }
            left -= 1;
            std::thread::yield_now();
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

/// What the callers share.
struct Together {
    runtime: Arc<Runtime>,
    clients: Clients,
}

impl Together {
    /// Makes a call, again if others were faster; nothing has changed then.
    async fn call(&self, user: usize, pattern: &str, arguments: Json) -> Result<Json, Error> {
        let caller = Caller::user(format!("caller {user}"));
        let prepared = self.runtime.pattern(pattern)?;
        let none = Map::new();
        let arguments = arguments.as_object().unwrap_or(&none);
        let given = prepared.given_from_json(self.runtime.keyspace(), arguments)?;
        let mut tries = 0;
        loop {
            let call = Call::new(prepared, given.clone(), &caller);
            match self.runtime.call(call).await {
                Err(error) if error.kind() == ErrorKind::Busy && tries < TRIES_MAX => tries += 1,
                answer => return answer?.answer.to_json(self.runtime.schema()),
            }
        }
    }

    /// Runs callers at the same time; what each answers, in their order.
    async fn all<T, W>(self: &Arc<Self>, count: usize, work: W) -> Checked<Vec<T>>
    where
        T: Send + 'static,
        W: Fn(Arc<Together>, usize) -> BoxFuture<'static, Checked<T>>,
    {
        let answers = Arc::new(Mutex::new(Vec::new()));
        let clients = (0..count).map(|number| -> BoxFuture<'static, ()> {
            let (work, answers) = (work(self.clone(), number), answers.clone());
            Box::pin(async move {
                let answer = work.await;
                answers.lock().unwrap_or_else(PoisonError::into_inner).push((number, answer));
            })
        });
        (self.clients)(clients.collect()).await;
        let mut answers =
            std::mem::take(&mut *answers.lock().unwrap_or_else(PoisonError::into_inner));
        same("callers that answered", answers.len(), count)?;
        answers.sort_by_key(|(number, _)| *number);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }
}

/// True for an answer, false for an error of this kind.
fn won(answer: Result<Json, Error>, loses: ErrorKind) -> Checked<bool> {
    match answer {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == loses => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn winners(won: &[bool]) -> usize {
    won.iter().filter(|won| **won).count()
}

fn number(json: &Json, name: &str) -> i64 {
    json.get(name).and_then(Json::as_i64).unwrap_or(i64::MIN)
}

fn member(json: &Json, name: &str) -> Json {
    json.get("row").and_then(|row| row.get(name)).cloned().unwrap_or_default()
}

async fn one_row(all: Arc<Together>, count: usize) -> Checked {
    for key in 0..10 {
        let won = all.all(count, |all, own| {
            Box::pin(async move {
                let user = json!({"user_id": key.to_string(), "name": own.to_string()});
                won(all.call(own, "add_user", user).await, ErrorKind::Conflict)
            })
        });
        let won = won.await?;
        same("winners of a key", winners(&won), 1)?;
        let stored = all.call(0, "user", json!({"user_id": key.to_string()})).await?;
        let winner = won.iter().position(|won| *won).unwrap_or_default();
        same("whose row it is", member(&stored, "name"), json!(winner.to_string()))?;
    }
    Ok(())
}

async fn one_owner(all: Arc<Together>, count: usize) -> Checked {
    for value in 0..10 {
        let won = all.all(count, |all, own| {
            Box::pin(async move {
                let (id, email) = (format!("{value}-{own}"), format!("Mail{value}@x"));
                let user = json!({"user_id": id, "name": "n", "email": email});
                won(all.call(own, "add_user", user).await, ErrorKind::Taken)
            })
        });
        let won = won.await?;
        same("winners of a unique value", winners(&won), 1)?;
        let owner =
            all.call(0, "user_by_email", json!({"email": format!("mAIL{value}@x")})).await?;
        let winner = won.iter().position(|won| *won).unwrap_or_default();
        same("who has it", member(&owner, "user_id"), json!(format!("{value}-{winner}")))?;
    }
    Ok(())
}

async fn given_up(all: Arc<Together>, count: usize) -> Checked {
    for own in 0..count {
        let user = json!({"user_id": own.to_string(), "name": "n", "email": format!("{own}@x")});
        all.call(own, "add_user", user).await?;
    }
    // All want the first one's value, while it is given up, taken and given up again.
    let held = all.all(count, |all, own| {
        Box::pin(async move {
            let id = own.to_string();
            let mut held = 0;
            for round in 0..10 {
                let wanted = json!({"user_id": id, "email": "0@x"});
                if won(all.call(own, "edit_user", wanted).await, ErrorKind::Taken)? {
                    held += 1;
                    let owner = all.call(own, "user_by_email", json!({"email": "0@x"})).await?;
                    same("who has it", member(&owner, "user_id"), json!(id))?;
                    let other = json!({"user_id": id, "email": format!("{own}-{round}@x")});
                    all.call(own, "edit_user", other).await?;
                }
            }
            Ok(held)
        })
    });
    holds("somebody had it", held.await?.into_iter().sum::<usize>() > 0)?;
    let owner = all.call(0, "user_by_email", json!({"email": "0@x"})).await?;
    let first = all.call(0, "user", json!({"user_id": "0"})).await?;
    let kept = member(&first, "email") == json!("0@x");
    same("who has it in the end", member(&owner, "user_id") == json!("0"), kept)
}

async fn counted(all: Arc<Together>, count: usize) -> Checked {
    let totals = all.all(count, |all, own| {
        Box::pin(async move {
            let mut totals = Vec::new();
            for amount in 1..=20 {
                let hit = json!({"site": "s", "page": "p", "amount": amount});
                totals.push(number(&all.call(own, "hit", hit).await?, "total"));
            }
            Ok(totals)
        })
    });
    let totals: Vec<i64> = totals.await?.into_iter().flatten().collect();
    let different: BTreeSet<i64> = totals.iter().copied().collect();
    same("totals, each answered once", different.len(), totals.len())?;
    let sum = i64::try_from(count).unwrap_or_default() * 210;
    same("the last total", different.last().copied(), Some(sum))?;
    let stored = all.call(0, "hit_count", json!({"site": "s", "page": "p"})).await?;
    same("the counter", member(&stored, "value"), json!(sum))
}

async fn starred(all: Arc<Together>, count: usize) -> Checked {
    // Notes belong to whoever calls: all call as the first.
    let note = all.call(0, "add_note", json!({"title": "a", "tags": ["x"]})).await?;
    let id = member(&note, "note_id");
    let stars = all.all(count, |all, _| {
        let id = id.clone();
        Box::pin(async move {
            let mut stars = Vec::new();
            for _ in 0..10 {
                let note = all.call(0, "star_note", json!({"note_id": id})).await?;
                stars.push(member(&note, "stars").as_i64());
            }
            Ok(stars)
        })
    });
    let stars: BTreeSet<Option<i64>> = stars.await?.into_iter().flatten().collect();
    let wanted = (1..=i64::try_from(count * 10).unwrap_or_default()).map(Some);
    same("numbers of stars, each answered once", stars, wanted.collect())
}

async fn let_in(all: Arc<Together>, count: usize) -> Checked {
    for client in 0..10 {
        let allowed = all.all(count, |all, own| {
            Box::pin(async move {
                let answer = all.call(own, "call", json!({"client": client.to_string()})).await?;
                Ok(answer.get("allowed") == Some(&json!(true)))
            })
        });
        same("calls a window lets in", winners(&allowed.await?), count.min(3))?;
    }
    Ok(())
}

async fn taken(all: Arc<Together>, count: usize) -> Checked {
    for task in 0..40 {
        all.call(0, "add_job", json!({"queue": "q", "task": task.to_string()})).await?;
    }
    let taken = all.all(count, |all, own| {
        Box::pin(async move {
            let mut tasks = Vec::new();
            loop {
                match all.call(own, "take_job", json!({"queue": "q"})).await {
                    Ok(job) => {
                        same("times it was taken", member(&job, "tries"), json!(1))?;
                        let holder = json!(format!("caller {own}"));
                        same("who holds it", member(&job, "holder"), holder)?;
                        tasks.push(member(&job, "task").to_string());
                    }
                    Err(error) if error.kind() == ErrorKind::NotFound => return Ok(tasks),
                    Err(error) => return Err(error.into()),
                }
            }
        })
    });
    let mut taken: Vec<String> = taken.await?.into_iter().flatten().collect();
    taken.sort();
    let mut wanted: Vec<String> = (0..40).map(|task| json!(task.to_string()).to_string()).collect();
    wanted.sort();
    same("jobs, each taken once", taken, wanted)
}
