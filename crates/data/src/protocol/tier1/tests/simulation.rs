//! The protocol under every misfortune at once, one seed a run: callers and a cleaner interleave at
//! every request, die between any two, lose replies, meet requests of the dead, and disagree about
//! the time.
//!
//! `SIMULATION_SEED=7 cargo test -p data simulation` runs one seed again, `SIMULATION_TRACE=1`
//! tells what happened in it, and `SIMULATION_SEEDS=100000` runs more of them.

use super::wire::{Fault, Faults};
use super::world::{PROCESSES, World};
use crate::protocol::tier1::Rules;
use std::future::Future;
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

type Task<'w> = Pin<Box<dyn Future<Output = ()> + 'w>>;

/// Runs a seed, and says which faults there were, or what went wrong.
fn run(seed: u64, rules: Rules) -> Result<Faults, String> {
    let world = World::new(seed, rules);
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

#[test]
fn a_sound_protocol_survives_every_seed() {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    if let Some(seed) = number("SIMULATION_SEED") {
        run(seed, Rules::SOUND).unwrap_or_else(|problem| panic!("{problem}"));
        return;
    }
    let seeds = number("SIMULATION_SEEDS").unwrap_or(SEEDS);
    let faults = run_all(0..seeds).unwrap_or_else(|problem| panic!("{problem}"));
    println!("{seeds} seeds: {faults:?}");
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
    (0..SEEDS).any(|seed| {
        let problem = run(seed, broken).err();
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
