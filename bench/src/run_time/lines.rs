//! The lines of the comparison, in order: the data set is loaded first, the rest works on it.

use super::contender::{Contender, Entrant, Sync};
use super::fair;
use super::hand_written::settle;
use super::measure::{Turn, Work};
use super::notes::{NOTES_PER_USER, note};
use super::settings::Settings;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

/// Rows of one commit when the data set is loaded.
const LOADED_TOGETHER: u64 = NOTES_PER_USER;
/// Notes that a contender loads before it is another's turn.
const LOADED_IN_TURN: u64 = 20_000;
/// How long everybody may put their files in order after loading.
const SETTLE: Duration = Duration::from_secs(10);

/// What was measured on one line.
pub struct Line {
    pub name: &'static str,
    /// Operations a second of each contender, one number for each round; none where it cannot.
    pub rates: Vec<Vec<f64>>,
    /// What must be known to read it.
    pub remark: &'static str,
}

struct Plan {
    name: &'static str,
    work: Work,
    threads: usize,
    sync: Sync,
    remark: &'static str,
}

const NATIVE_SYNCS: &str = "native_db has no commit without a sync";
const NO_NEAR: &str = "native_db and Toasty have no search around a point";

const fn plan(name: &'static str, work: Work, threads: usize, sync: Sync) -> Plan {
    let remark = match (work, sync) {
        (Work::Commit | Work::Mixed, Sync::Process) => NATIVE_SYNCS,
        (Work::Near, _) => NO_NEAR,
        _ => "",
    };
    Plan { name, work, threads, sync, remark }
}

const PLANS: [Plan; 11] = [
    plan("get a note", Work::Get, 1, Sync::Process),
    plan("page of 50, newest first", Work::Page, 1, Sync::Process),
    plan("look up a tag, 20 notes", Work::Tagged, 1, Sync::Process),
    plan("20 nearest within 10 km", Work::Near, 1, Sync::Process),
    plan("90 % get, 10 % insert, 2 threads", Work::Mixed, 2, Sync::Process),
    plan("insert, no sync, 1 caller", Work::Commit, 1, Sync::Process),
    plan("insert, no sync, 4 callers", Work::Commit, 4, Sync::Process),
    plan("insert, no sync, 16 callers", Work::Commit, 16, Sync::Process),
    plan("insert, synced, 1 caller", Work::Commit, 1, Sync::Power),
    plan("insert, synced, 4 callers", Work::Commit, 4, Sync::Power),
    plan("insert, synced, 16 callers", Work::Commit, 16, Sync::Power),
];

/// A contender in the race: its store, and which notes nobody has stored there yet.
struct Runner<'a> {
    entrant: &'a Entrant,
    store: Option<Arc<dyn Contender>>,
    fresh: AtomicU64,
}

/// Measures every line that is asked for.
pub fn run(settings: &Settings, folder: &Path, entrants: &[Entrant]) -> Vec<Line> {
    let mut runners: Vec<Runner<'_>> = entrants
        .iter()
        .map(|entrant| {
            let store = Some((entrant.open)(&place(folder, entrant), Sync::Process));
            Runner { entrant, store, fresh: AtomicU64::new(settings.notes) }
        })
        .collect();
    fair::write_back();
    let mut lines = vec![load(settings, &runners)];
    announce(&lines[0]);
    for runner in &mut runners {
        let place = place(folder, runner.entrant);
        if let Some(engine) = runner.entrant.engine {
            runner.store = None;
            settle(&place.join(engine));
            runner.store = Some((runner.entrant.open)(&place, Sync::Process));
        }
    }
    std::thread::sleep(SETTLE.min(Duration::from_millis(settings.notes / 50)));
    let mut sync = Sync::Process;
    for plan in PLANS.iter().filter(|plan| plan.name.contains(&settings.only)) {
        if plan.sync != sync {
            sync = plan.sync;
            for runner in &mut runners {
                runner.store = None;
                runner.store = Some((runner.entrant.open)(&place(folder, runner.entrant), sync));
            }
        }
        let line = take_turns(settings, plan, &runners);
        announce(&line);
        lines.push(line);
    }
    lines
}

fn place(folder: &Path, entrant: &Entrant) -> std::path::PathBuf {
    folder.join(entrant.name.replace(' ', "_"))
}

fn load(settings: &Settings, runners: &[Runner<'_>]) -> Line {
    let mut spent = vec![Duration::ZERO; runners.len()];
    for start in (0..settings.notes).step_by(LOADED_IN_TURN as usize) {
        let end = (start + LOADED_IN_TURN).min(settings.notes);
        for (runner, spent) in runners.iter().zip(&mut spent) {
            let numbers: Vec<u64> = (start..end).collect();
            let together = numbers.chunks(LOADED_TOGETHER as usize);
            let batches: Vec<Vec<_>> = together
                .map(|numbers| numbers.iter().map(|at| note(*at, settings.notes)).collect())
                .collect();
            let store = runner.store.as_ref().unwrap();
            let began = Instant::now();
            batches.into_iter().for_each(|batch| store.load(batch));
            *spent += began.elapsed();
        }
    }
    let rate = |spent: &Duration| vec![settings.notes as f64 / spent.as_secs_f64()];
    let rates = spent.iter().map(rate).collect();
    Line { name: "load, 100 notes a commit (notes/s)", rates, remark: NATIVE_SYNCS }
}

fn take_turns(settings: &Settings, plan: &Plan, runners: &[Runner<'_>]) -> Line {
    let mut rates = vec![Vec::new(); runners.len()];
    for round in 0..settings.rounds {
        for at in fair::order(runners.len(), round) {
            let (runner, rates) = (&runners[at], &mut rates[at]);
            let contender = runner.store.as_ref().unwrap();
            if plan.work == Work::Near && contender.near(48.0, 9.0, 1.0).is_none() {
                continue;
            }
            if plan.sync == Sync::Power {
                fair::write_back();
            }
            fair::wait_for_quiet();
            let turn = Turn {
                contender,
                work: plan.work,
                threads: plan.threads,
                length: settings.turn,
                notes: settings.notes,
                fresh: &runner.fresh,
                seed: round as u64,
            };
            rates.push(turn.take());
        }
    }
    Line { name: plan.name, rates, remark: plan.remark }
}

fn announce(line: &Line) {
    let shown = line.rates.iter().map(|rates| format!("{:>10.0}", fair::median(rates)));
    println!("{:40} {}", line.name, shown.collect::<Vec<_>>().join(" "));
}
