//! A scrub in the background: one at a time, and it can be stopped.

use super::sent::{Sent, answered};
use crate::http::Operator;
use crate::http::problem::Problem;
use crate::service::Service;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use data::clock::Milliseconds;
use data::maintain::{self, ScrubCounts};
use data::schema::Schema;
use serde_json::{Value as Json, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::task::AbortHandle;

/// Problems that are remembered; all are counted.
const PROBLEMS_MAX: usize = 500;

/// The scrub that runs, or the last that ran.
#[derive(Debug, Default)]
pub struct Scrubs {
    last: Mutex<Option<Run>>,
}

#[derive(Debug)]
struct Run {
    by: String,
    repair: bool,
    began_at: Milliseconds,
    ended_at: Option<Milliseconds>,
    state: Progress,
    counts: ScrubCounts,
    /// Collections and indexes that there are to look at.
    parts: u64,
    problems: Vec<Json>,
    task: Option<AbortHandle>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Progress {
    Running,
    Done,
    Stopped,
    Failed(String),
}

impl Scrubs {
    fn locked(&self) -> MutexGuard<'_, Option<Run>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, state: Progress, at: Milliseconds) -> bool {
        let mut last = self.locked();
        let running = last.as_mut().filter(|run| run.state == Progress::Running);
        let Some(run) = running else { return false };
        run.state = state;
        run.ended_at = Some(at);
        if let Some(task) = run.task.take() {
            task.abort();
        }
        true
    }
}

/// Begins a scrub, unless one runs.
pub async fn start(
    State(service): State<Arc<Service>>,
    operator: Operator,
    sent: Sent,
) -> Result<Response, Problem> {
    let repair = sent.flag("repair")?;
    let is_running = || {
        let last = service.console.scrubs.locked();
        last.as_ref().is_some_and(|run| run.state == Progress::Running)
    };
    let refused = || {
        let title = "a scrub runs already: wait for it, or stop it";
        Problem::new(StatusCode::CONFLICT, "scrub_runs", title)
    };
    if is_running() {
        return Err(refused());
    }
    let subject = if repair { "look and repair" } else { "look only" };
    operator.note(&service, "scrub started", subject).await?;
    {
        let mut last = service.console.scrubs.locked();
        if last.as_ref().is_some_and(|run| run.state == Progress::Running) {
            return Err(refused());
        }
        let task = tokio::spawn(run(service.clone(), repair));
        *last = Some(Run {
            by: operator.0.name().to_string(),
            repair,
            began_at: service.keyway.runtime().options().clock.now(),
            ended_at: None,
            state: Progress::Running,
            counts: ScrubCounts::default(),
            parts: scrub(&service, repair).parts(),
            problems: Vec::new(),
            task: Some(task.abort_handle()),
        });
    }
    Ok(shown(&service))
}

/// Stops the scrub that runs. Repairs are whole commits: none is left half done.
pub async fn stop(
    State(service): State<Arc<Service>>,
    operator: Operator,
    _: Sent,
) -> Result<Response, Problem> {
    operator.note(&service, "scrub stopped", "the one that runs").await?;
    let now = service.keyway.runtime().options().clock.now();
    match service.console.scrubs.end(Progress::Stopped, now) {
        true => Ok(shown(&service)),
        false => {
            let title = "no scrub runs";
            Err(Problem::new(StatusCode::CONFLICT, "no_scrub", title))
        }
    }
}

/// How far it is, and what it found.
pub async fn state(State(service): State<Arc<Service>>, _: Operator) -> Response {
    shown(&service)
}

fn scrub(service: &Service, repair: bool) -> maintain::Scrub<'_> {
    let runtime = service.keyway.runtime();
    maintain::Scrub {
        store: runtime.store().as_ref(),
        schema: runtime.schema(),
        clock: runtime.options().clock.as_ref(),
        random: runtime.options().random.as_ref(),
        repair,
    }
}

async fn run(service: Arc<Service>, repair: bool) {
    let scrub = scrub(&service, repair);
    let (schema, clock) = (scrub.schema, scrub.clock);
    let mut seen = |problem: Option<&maintain::Problem>, counts: &ScrubCounts| {
        let mut last = service.console.scrubs.locked();
        let Some(run) = last.as_mut() else { return };
        run.counts = *counts;
        if let Some(problem) = problem.filter(|_| run.problems.len() < PROBLEMS_MAX) {
            run.problems.push(found(schema, problem));
        }
    };
    let state = match scrub.run(&mut seen).await {
        Ok(counts) => {
            if let Some(run) = service.console.scrubs.locked().as_mut() {
                run.counts = counts;
            }
            Progress::Done
        }
        Err(error) => {
            tracing::error!(?error, "a scrub failed");
            Progress::Failed(error.message().to_string())
        }
    };
    service.console.scrubs.end(state, clock.now());
}

fn found(schema: &Schema, problem: &maintain::Problem) -> Json {
    json!({
        "kind": problem.kind.name(),
        "collection": problem.collection,
        "index": problem.index,
        "key": maintain::key_shown(schema, &problem.key),
        "repaired": problem.repaired,
    })
}

fn shown(service: &Service) -> Response {
    let last = service.console.scrubs.locked();
    let Some(run) = last.as_ref() else { return answered(&json!({ "state": "none" })) };
    let (state, reason) = match &run.state {
        Progress::Running => ("running", None),
        Progress::Done => ("done", None),
        Progress::Stopped => ("stopped", None),
        Progress::Failed(reason) => ("failed", Some(reason)),
    };
    answered(&json!({
        "state": state,
        "reason": reason,
        "repair": run.repair,
        "by": run.by,
        "began_at": run.began_at,
        "ended_at": run.ended_at,
        "parts": run.parts,
        "parts_done": run.counts.parts,
        "rows": run.counts.rows,
        "entries": run.counts.entries,
        "found": run.counts.problems,
        "repaired": run.counts.repaired,
        "problems": run.problems,
    }))
}
