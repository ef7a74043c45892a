//! Rows that move between the read and the commit.

use crate::world::{World, worlds};
use data::caller::Caller;
use data::error::ErrorKind;
use data::store::limits;
use serde_json::json;

const TASKS: &str = r#"
    [collection.tasks]
    key = "task:{task: text}"
    fields = { state = "open|done = 'open'", tries = "u64 = 0", note = "text?", slug = "text?" }
    index.slugs = { key = "slug:{slug}", unique = true }

    [pattern.add]
    insert = "tasks"
    allow = "user"
    [pattern.once]
    insert = "tasks"
    existing = "return"
    allow = "user"
    [pattern.try]
    update = "tasks"
    compute = { tries = "tries + 1" }
    if = "state = 'open'"
    allow = "user"
    [pattern.finish]
    update = "tasks"
    compute = { state = "'done'" }
    allow = "user"
    [pattern.note]
    update = "tasks"
    set = ["note", "slug"]
    allow = "user"
    [pattern.remove]
    delete = "tasks"
    allow = "user"
    [pattern.get]
    get = "tasks"
"#;

fn tries(world: &World) -> serde_json::Value {
    world.ok("get", json!({ "task": "t" }))["row"]["tries"].clone()
}

#[test]
fn an_update_is_done_again_on_what_is_there() {
    for world in worlds(TASKS) {
        world.ok("add", json!({ "task": "t" }));
        world.before_next_commit(|world| {
            world.ok("try", json!({ "task": "t" }));
        });
        let ann = Caller::user("ann");
        let reply = world.reply(&ann, "try", json!({ "task": "t" }), None).unwrap();
        assert_eq!(reply.usage.attempts, 2);
        assert_eq!(tries(&world), 2, "none is lost");
    }
}

#[test]
fn a_condition_is_judged_anew() {
    for world in worlds(TASKS) {
        world.ok("add", json!({ "task": "t" }));
        world.before_next_commit(|world| {
            world.ok("finish", json!({ "task": "t" }));
        });
        assert_eq!(world.fails("try", json!({ "task": "t" })).0, ErrorKind::Conflict);
        assert_eq!(tries(&world), 0);
    }
}

#[test]
fn a_row_that_went_is_not_found() {
    for world in worlds(TASKS) {
        world.ok("add", json!({ "task": "t" }));
        world.before_next_commit(|world| {
            world.ok("remove", json!({ "task": "t" }));
        });
        assert_eq!(world.fails("try", json!({ "task": "t" })).0, ErrorKind::NotFound);
        assert_eq!(world.live_rows("tasks"), 0);
    }
}

#[test]
fn who_inserts_second_gets_the_row_of_the_first() {
    for world in worlds(TASKS) {
        world.before_next_commit(|world| {
            world.ok("add", json!({ "task": "t", "note": "first" }));
        });
        let second = world.ok("once", json!({ "task": "t", "note": "second" }));
        assert_eq!(second["existed"], true);
        assert_eq!(second["row"]["note"], "first");
        world.before_next_commit(|world| {
            world.ok("add", json!({ "task": "u" }));
        });
        assert_eq!(world.fails("add", json!({ "task": "u" })).0, ErrorKind::Conflict);
    }
}

#[test]
fn others_that_are_always_faster_make_a_call_busy() {
    for world in worlds(TASKS) {
        world.ok("add", json!({ "task": "t" }));
        // More commits than attempts: on a group-atomic store an attempt may take several.
        for later in 0..8 * limits::COMMIT_ATTEMPTS_MAX as usize {
            world.before_commit(later, |world| {
                world.ok("try", json!({ "task": "t" }));
            });
        }
        let (kind, text) = world.fails("note", json!({ "task": "t", "note": "x" }));
        assert_eq!(kind, ErrorKind::Busy);
        assert_eq!(text, "other writers were faster, again and again");
        assert_eq!(tries(&world), limits::COMMIT_ATTEMPTS_MAX);
    }
}

#[test]
fn a_value_claimed_in_between_is_taken() {
    for world in worlds(TASKS) {
        world.ok("add", json!({ "task": "t" }));
        world.before_next_commit(|world| {
            world.ok("add", json!({ "task": "u", "slug": "s" }));
        });
        let (kind, text) = world.fails("note", json!({ "task": "t", "slug": "s" }));
        assert_eq!(kind, ErrorKind::Taken);
        assert_eq!(text, "a unique value belongs to another row (collection: tasks, index: slugs)");
    }
}
