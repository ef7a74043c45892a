//! The protocol under every misfortune at once, one seed a run: callers, a reader and a cleaner
//! interleave at every request, die between any two, lose replies, meet requests of the dead,
//! disagree about the time, and read what was before a change that nobody was told of. They change
//! rows with versions, rows without, events in slices of time, and a counter, on one of two kinds
//! of store.
//!
//! `SIMULATION_SEED=7 cargo test -p data simulation` runs one seed again, `SIMULATION_TRACE=1`
//! tells what happened in it, and `SIMULATION_SEEDS=100000` runs more of them. A run says on
//! standard error which seeds it is made of, even where the output of tests is not shown.
//!
//! What is left out: a plain batch over several places is there in all of them at once, and ranges
//! are always read as they are.

use super::wire::{Fault, Faults};
use super::world::{PROCESSES, World};
use crate::protocol::tier1::Rules;
use std::future::Future;
use std::io::Write;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Waker};

/// Seeds of one run of the tests.
const SEEDS: u64 = 20_000;
/// Requests of one seed, at most.
const STEPS: u64 = 3_000;

/// Seeds that failed once, whatever for; they are run before all others. What a seed does changes
/// whenever something is asked of chance that was not asked before, so what one finds in the
/// protocol is kept as a test of its own beside it. Those here found promises that were asked for
/// and never given, by the simulated store or by a real one:
///
/// - 79975: on a store that forgets, a call of several rows that is made again counts again. No
///   store does: Redis Cluster remembers the batch, and on Cassandra the counter, which is in the
///   batch of every run whatever other rows are, names the commits that added to it, the last 64.
/// - 4130: a store answered that a check did not hold while a copy of the batch was under way, and
///   the copy was committed when the check held again, after its entries had been taken back.
const FAILED: &[u64] = &[79_975, 4_130];

type Task<'w> = Pin<Box<dyn Future<Output = ()> + 'w>>;

/// Runs a seed, and says which faults there were, or what went wrong.
fn run(seed: u64, rules: Rules) -> Result<Faults, String> {
    run_on(seed, rules, true)
}

/// The same on a store on which what was read once stays read, or does not.
fn run_on(seed: u64, rules: Rules, repairs: bool) -> Result<Faults, String> {
    let world = World::new(seed, rules, repairs);
    // A panic says nothing of the seed.
    let outcome = catch_unwind(AssertUnwindSafe(|| run_in(&world)));
    let problem = match outcome {
        Ok(Ok(())) => return Ok(world.wire.faults()),
        Ok(Err(problem)) => problem,
        Err(_) => "it panics".to_string(),
    };
    Err(format!("SIMULATION_SEED={seed}: {problem}\n{}", world.wire.trace()))
}

/// Runs seeds on all cores; the faults of all of them, or the problem of the first that has one.
fn run_all(seeds: Range<u64>) -> Result<Faults, String> {
    let (next, all) = (AtomicU64::new(seeds.start), Mutex::new(Faults::new()));
    let failed: Mutex<Option<(u64, String)>> = Mutex::default();
    let work = || {
        let mut faults = Faults::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end || failed.lock().unwrap().is_some() {
                break;
            }
            match run(seed, Rules::SOUND) {
                Ok(more) => add(&mut faults, &more),
                Err(problem) => {
                    let mut failed = failed.lock().unwrap();
                    if failed.as_ref().is_none_or(|(other, _)| seed < *other) {
                        *failed = Some((seed, problem));
                    }
                }
            }
        }
        add(&mut all.lock().unwrap(), &faults);
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        (0..cores).for_each(|_| drop(scope.spawn(work)));
    });
    match failed.into_inner().unwrap() {
        Some((_, problem)) => Err(problem),
        None => Ok(all.into_inner().unwrap()),
    }
}

fn add(all: &mut Faults, more: &Faults) {
    more.iter().for_each(|(fault, count)| *all.entry(*fault).or_default() += count);
}

fn run_in(world: &World) -> Result<(), String> {
    let callers = 2 + world.chance.number() as usize % 3;
    let mut tasks: Vec<Option<Task<'_>>> = (0..callers)
        .map(|process| {
            let changes = 1 + world.chance.number() % 4;
            Some(Box::pin(world.caller(process, changes)) as Task<'_>)
        })
        .collect();
    tasks.push(Some(Box::pin(world.cleaner(PROCESSES - 1, world.chance.number() % 4))));
    tasks.push(Some(Box::pin(world.reader(PROCESSES - 2, world.chance.number() % 4))));
    let deaths = world.chance.number() % 3;
    let mut died = 0;
    for _ in 0..STEPS {
        poll(&mut tasks);
        if tasks.iter().all(Option::is_none) {
            break;
        }
        if died < deaths && world.chance.number().is_multiple_of(12) {
            let victim = (world.chance.number() % tasks.len() as u64) as usize;
            world.wire.set_dying(true);
            let was_alive = tasks[victim].take().is_some();
            world.wire.set_dying(false);
            if was_alive {
                world.wire.note(|| format!("caller {victim} dies"));
                died += 1;
            }
        }
        if world.chance.number().is_multiple_of(8) {
            world.clock.advance(1);
        }
        world.wire.step(&world.chance, true);
        world.check()?;
    }
    assert!(tasks.iter().all(Option::is_none), "a caller did not come to an end");
    while world.wire.step(&world.chance, false) {
        world.check()?;
    }
    let mut cleaning = vec![Some(Box::pin(world.clean_up()) as Task<'_>)];
    loop {
        poll(&mut cleaning);
        if cleaning.iter().all(Option::is_none) {
            break;
        }
        world.wire.step(&world.chance, false);
        world.check()?;
    }
    world.check_end()
}

fn poll(tasks: &mut [Option<Task<'_>>]) {
    let mut context = Context::from_waker(Waker::noop());
    for task in tasks {
        if task.as_mut().is_some_and(|task| task.as_mut().poll(&mut context).is_ready()) {
            *task = None;
        }
    }
}

/// Shows a line to whoever runs the tests: what goes to the handle is not captured.
fn show(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[test]
fn a_sound_protocol_survives_every_seed() {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    if let Some(seed) = number("SIMULATION_SEED") {
        run(seed, Rules::SOUND).unwrap_or_else(|problem| panic!("{problem}"));
        return;
    }
    let seeds = number("SIMULATION_SEEDS").unwrap_or(SEEDS);
    show(&format!(
        "simulation: {} seeds that failed once, then 0 to {}; SIMULATION_SEED=7 runs one again",
        FAILED.len(),
        seeds.saturating_sub(1),
    ));
    for seed in FAILED {
        run(*seed, Rules::SOUND).unwrap_or_else(|problem| panic!("{problem}"));
    }
    let faults = run_all(0..seeds).unwrap_or_else(|problem| panic!("{problem}"));
    show(&format!("simulation: {seeds} seeds passed: {faults:?}"));
    for fault in Fault::ALL {
        assert!(faults.contains_key(&fault), "{fault:?} never happened");
    }
}

#[test]
fn a_seed_does_the_same_each_time() {
    for seed in 0..20 {
        assert_eq!(run(seed, Rules::SOUND), run(seed, Rules::SOUND));
    }
}

/// Whether the simulation finds that a rule is broken.
fn finds(broken: Rules) -> bool {
    finds_in(0..SEEDS, broken, true)
}

fn finds_in(mut seeds: Range<u64>, broken: Rules, repairs: bool) -> bool {
    seeds.any(|seed| {
        let problem = run_on(seed, broken, repairs).err();
        // Shown by `--nocapture`: how soon, and what goes wrong.
        problem.iter().for_each(|problem| println!("{broken:?}: {problem}"));
        problem.is_some()
    })
}

#[test]
fn touching_what_is_in_flight_is_found() {
    assert!(finds(Rules { fences: false, ..Rules::SOUND }));
}

#[test]
fn removing_rows_for_good_is_found() {
    assert!(finds(Rules { leaves_dead: false, ..Rules::SOUND }));
}

#[test]
fn taking_back_before_the_outcome_is_known_is_found() {
    assert!(finds(Rules { settles_first: false, ..Rules::SOUND }));
}

#[test]
fn taking_a_claim_over_without_comparing_is_found() {
    assert!(finds(Rules { compares_claims: false, ..Rules::SOUND }));
}

#[test]
fn claiming_after_the_row_is_found() {
    assert!(finds(Rules { claims_first: false, ..Rules::SOUND }));
}

#[test]
fn entering_after_the_row_is_found() {
    assert!(finds(Rules { enters_first: false, ..Rules::SOUND }));
}

#[test]
fn two_runs_that_share_their_attempts_are_found() {
    assert!(finds(Rules { runs_apart: false, ..Rules::SOUND }));
}

#[test]
fn writing_blindly_what_nobody_sees_the_version_of_is_found() {
    assert!(finds(Rules { compares_unseen: false, ..Rules::SOUND }));
}

#[test]
fn an_event_before_its_slice_is_found() {
    assert!(finds(Rules { announces_first: false, ..Rules::SOUND }));
}

#[test]
fn a_check_that_is_not_part_of_the_commit_is_found() {
    assert!(finds(Rules { checks_with_rows: false, ..Rules::SOUND }));
}

#[test]
fn a_commit_that_is_sent_again_as_another_is_found() {
    assert!(finds(Rules { keeps_ids: false, ..Rules::SOUND }));
}

#[test]
fn readers_that_do_not_ask_the_row_are_found() {
    assert!(finds(Rules { readers_verify: false, ..Rules::SOUND }));
}

/// The third reason of the design note on reads by a quorum; it is seldom that more depends
/// on it.
#[test]
fn a_store_whose_reads_go_back_is_found() {
    assert!(finds_in(0..SEEDS * 10, Rules::SOUND, false));
}

#[test]
fn a_run_shows_its_seeds_even_where_output_is_captured() {
    let program = std::env::current_exe().unwrap();
    let test = "protocol::tier1::tests::simulation::a_sound_protocol_survives_every_seed";
    let mut command = std::process::Command::new(program);
    let output = command.args([test, "--exact"]).env("SIMULATION_SEEDS", "300").output().unwrap();
    let shown = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains("then 0 to 299; SIMULATION_SEED=7 runs one again"), "{shown}");
    assert!(shown.contains("300 seeds passed"), "{shown}");
}
