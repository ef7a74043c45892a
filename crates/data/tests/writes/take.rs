//! `take`.

use crate::world::{World, worlds};
use data::caller::Caller;
use data::error::ErrorKind;
use data::store::limits;
use serde_json::json;

const JOBS: &str = r#"
    [collection.jobs]
    key = "queue:{queue: text}:jobs | {job: text}"
    fields.due_at = "timestamp = now"
    fields.rank = "i64 = 0"
    fields.state = "open|taken|done = 'open'"
    fields.by = "text?"
    fields.attempts = "u64 = 0"
    expect = { rows_per_group = 1000 }
    index.due = { key = "queue:{queue}:due | {due_at}", when = "state != 'done'" }
    index.ranked = { key = "queue:{queue}:ranked | {rank desc}", when = "state = 'open'" }
    index.hourly = { key = "queue:{queue}:hourly | {hour = floor(due_at, '1h')}:{job}" }

    [pattern.enqueue]
    insert = "jobs"
    allow = "user"
    [pattern.delay]
    update = "jobs"
    compute = { due_at = "now + $delay" }
    arguments = { delay = "duration" }
    allow = "user"
    [pattern.claim]
    take = "jobs.due"
    if = "due_at <= now"
    compute = { due_at = "now + 5m", state = "'taken'", by = "caller", attempts = "attempts + 1" }
    allow = "user"
    [pattern.claim_open]
    take = "jobs.due"
    if = "due_at <= now and state = 'open'"
    compute = { state = "'taken'" }
    fields = ["job", "due_at"]
    allow = "user"
    [pattern.best]
    take = "jobs.ranked"
    if = "rank >= $least and rank < 100"
    arguments = { least = "i64?" }
    compute = { state = "'taken'" }
    allow = "user"
    [pattern.claim_hourly]
    take = "jobs.hourly"
    if = "due_at < now"
    compute = { due_at = "now + 2h" }
    allow = "user"
    [pattern.finish]
    update = "jobs"
    compute = { state = "'done'" }
    allow = "user"
    [pattern.job]
    get = "jobs"
"#;

fn enqueue(world: &World, job: &str) {
    world.ok("enqueue", json!({ "queue": "q", "job": job }));
}

fn claim(world: &World) -> String {
    let taken = world.ok("claim", json!({ "queue": "q" }));
    taken["row"]["job"].as_str().unwrap().to_string()
}

#[test]
fn the_first_row_that_fits_is_changed_and_returned() {
    for world in worlds(JOBS) {
        for job in ["b", "a", "c"] {
            enqueue(&world, job);
            world.clock.advance(1_000);
        }
        let taken = world.ok("claim", json!({ "queue": "q" }));
        assert_eq!(taken["row"]["job"], "b");
        assert_eq!(taken["row"]["by"], "ann");
        assert_eq!(taken["row"]["due_at"], "2026-11-15T12:05:03.000Z");
        let stored = world.ok("job", json!({ "queue": "q", "job": "b" }));
        assert_eq!(stored["row"], taken["row"]);
        assert_eq!(stored["version"], taken["version"]);
        assert_eq!([claim(&world), claim(&world)], ["a", "c"]);
        assert_eq!(world.fails("claim", json!({ "queue": "q" })).0, ErrorKind::NotFound);
        assert_eq!(world.fails("claim", json!({ "queue": "other" })).0, ErrorKind::NotFound);
        // A lease that ran out is claimed again.
        world.clock.advance(300_000);
        assert_eq!(claim(&world), "a");
        world.ok("finish", json!({ "queue": "q", "job": "b" }));
        assert_eq!(claim(&world), "c");
    }
}

#[test]
fn rows_outside_of_the_bounds_are_not_read() {
    for world in worlds(JOBS) {
        enqueue(&world, "now");
        for number in 0..50 {
            let job = format!("later{number}");
            enqueue(&world, &job);
            world.ok("delay", json!({ "queue": "q", "job": job, "delay": "1h" }));
        }
        let ann = Caller::user("ann");
        let reply = world.reply(&ann, "claim", json!({ "queue": "q" }), None).unwrap();
        assert!(reply.usage.rows_read <= 3, "{:?} on {}", reply.usage, world.kind());
        assert_eq!(world.fails("claim", json!({ "queue": "q" })).0, ErrorKind::NotFound);
    }
}

#[test]
fn what_the_index_does_not_sort_by_is_judged_of_each_row() {
    for world in worlds(JOBS) {
        for number in 0..40 {
            enqueue(&world, &format!("{number:02}"));
        }
        for number in 0..20 {
            let taken = world.ok("claim_open", json!({ "queue": "q" }));
            let job = format!("{number:02}");
            assert_eq!(taken["row"], json!({ "job": job, "due_at": "2026-11-15T12:00:00.000Z" }));
        }
    }
}

#[test]
fn a_descending_index_gives_the_largest_first() {
    for world in worlds(JOBS) {
        for (job, rank) in [("low", 1), ("high", 9), ("too_high", 100), ("mid", 5)] {
            world.ok("enqueue", json!({ "queue": "q", "job": job, "rank": rank }));
        }
        let best = |least: i64| world.call("best", json!({ "queue": "q", "least": least }));
        assert_eq!(best(2).unwrap()["row"]["job"], "high");
        assert_eq!(best(5).unwrap()["row"]["job"], "mid");
        assert_eq!(best(2).unwrap_err().kind(), ErrorKind::NotFound);
        // A comparison with nothing holds for nothing.
        assert_eq!(world.fails("best", json!({ "queue": "q" })).0, ErrorKind::NotFound);
        assert_eq!(best(1).unwrap()["row"]["job"], "low");
    }
}

#[test]
fn a_bound_goes_through_a_function_that_grows() {
    for world in worlds(JOBS) {
        enqueue(&world, "a");
        let ann = Caller::user("ann");
        // The same hour, but not before now.
        let (kind, _) = world.fails("claim_hourly", json!({ "queue": "q" }));
        assert_eq!(kind, ErrorKind::NotFound);
        world.clock.advance(1);
        world.by(&ann, "claim_hourly", json!({ "queue": "q" })).unwrap();
        let (kind, _) = world.fails("claim_hourly", json!({ "queue": "q" }));
        assert_eq!(kind, ErrorKind::NotFound);
    }
}

#[test]
fn a_row_lost_to_another_is_passed_over() {
    for world in worlds(JOBS) {
        for job in ["a", "b", "c"] {
            enqueue(&world, job);
        }
        world.before_next_commit(|world| assert_eq!(claim(world), "a"));
        let ann = Caller::user("ann");
        let reply = world.reply(&ann, "claim", json!({ "queue": "q" }), None).unwrap();
        assert_eq!(reply.usage.attempts, 2);
        let row = world.ok("job", json!({ "queue": "q", "job": "b" }));
        assert_eq!(row["row"]["attempts"], 1);
        assert_eq!(claim(&world), "c");
    }
}

#[test]
fn a_row_that_was_only_touched_is_found_again() {
    for world in worlds(JOBS) {
        enqueue(&world, "a");
        world.before_next_commit(|world| {
            world.ok("delay", json!({ "queue": "q", "job": "a", "delay": "0s" }));
        });
        assert_eq!(claim(&world), "a");
    }
}

#[test]
fn rows_in_other_hands_again_and_again_make_a_take_busy() {
    for world in worlds(JOBS) {
        enqueue(&world, "a");
        for later in 0..8 * limits::TAKE_CANDIDATES_MAX as usize {
            world.before_commit(later, |world| {
                world.ok("delay", json!({ "queue": "q", "job": "a", "delay": "0s" }));
            });
        }
        assert_eq!(world.fails("claim", json!({ "queue": "q" })).0, ErrorKind::Busy);
    }
}

#[test]
fn workers_never_get_the_same_row() {
    for world in worlds(JOBS) {
        for number in 0..60 {
            enqueue(&world, &format!("{number:02}"));
        }
        let workers: Vec<_> = (0..4)
            .map(|_| {
                let world = world.clone();
                std::thread::spawn(move || {
                    let mut taken = Vec::new();
                    while taken.len() < 15 {
                        match world.call("claim", json!({ "queue": "q" })) {
                            Ok(answer) => taken.push(answer["row"]["job"].to_string()),
                            Err(error) => assert_eq!(error.kind(), ErrorKind::Busy),
                        }
                    }
                    taken
                })
            })
            .collect();
        let mut taken: Vec<String> =
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect();
        taken.sort();
        taken.dedup();
        assert_eq!(taken.len(), 60, "on {}", world.kind());
    }
}
