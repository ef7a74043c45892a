//! The protocol under every misfortune at once, one seed a run: callers and a cleaner interleave at
//! every request, die between any two, lose replies, and meet requests of the dead.
//!
//! `SIMULATION_SEED=7 cargo test -p data simulation` runs one seed again, `SIMULATION_TRACE=1`
//! tells what happened in it, and `SIMULATION_SEEDS=100000` runs more of them.

use super::world::World;
use crate::protocol::tier1::Rules;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

/// Seeds of one run of the tests.
const SEEDS: u64 = 4_000;
/// Requests of one seed, at most.
const STEPS: u64 = 3_000;

type Task<'w> = Pin<Box<dyn Future<Output = ()> + 'w>>;

/// Runs a seed, and says what went wrong.
fn run(seed: u64, rules: Rules) -> Result<(), String> {
    let world = World::new(seed, rules);
    let outcome = run_in(&world);
    outcome.map_err(|problem| format!("seed {seed}: {problem}\n{}", world.wire.trace()))
}

fn run_in(world: &World) -> Result<(), String> {
    let callers = 2 + world.chance.number() % 3;
    let mut tasks: Vec<Option<Task<'_>>> = (0..callers)
        .map(|_| Some(Box::pin(world.caller(1 + world.chance.number() % 4)) as Task<'_>))
        .collect();
    tasks.push(Some(Box::pin(world.cleaner(world.chance.number() % 4))));
    let deaths = world.chance.number() % 3;
    let mut died = 0;
    for _ in 0..STEPS {
        poll(&mut tasks);
        if tasks.iter().all(Option::is_none) {
            break;
        }
        if died < deaths && world.chance.number().is_multiple_of(12) {
            let victim = (world.chance.number() % tasks.len() as u64) as usize;
            if tasks[victim].take().is_some() {
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
    let seeds = match number("SIMULATION_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SIMULATION_SEEDS").unwrap_or(SEEDS),
    };
    for seed in seeds {
        run(seed, Rules::SOUND).unwrap_or_else(|problem| panic!("{problem}"));
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
