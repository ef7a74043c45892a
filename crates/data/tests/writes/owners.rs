//! Rows whose owner or tenant is a field: another's row is as good as missing.

use crate::world::{World, worlds};
use data::caller::Caller;
use data::error::ErrorKind;
use serde_json::json;

const SERVICES: &str = r#"
    [collection.services]
    key = "service:{service: text}"
    owner = "user_id"
    tenant = "tenant_id"
    fields.user_id = "text"
    fields.tenant_id = "text"
    fields.name = "text"
    fields.calls = "u64 = 0"
    fields.state = "text = 'new'"
    fields.due = "timestamp = now"
    index.mine = { key = "user:{user_id}:services | {service}" }
    index.due = { key = "tenant:{tenant_id}:due | {due}", expect = { rows_per_group = 100 } }
    expect = { rows_per_group = 100 }

    [pattern.create]
    insert = "services"
    [pattern.create_once]
    insert = "services"
    existing = "return"
    [pattern.rename]
    update = "services"
    set = ["name"]
    [pattern.ensure]
    update = "services"
    set = ["name"]
    missing = "create"
    [pattern.replace]
    put = "services"
    [pattern.count]
    add = "services.calls"
    [pattern.remove]
    delete = "services"
    [pattern.next]
    take = "services.due"
    if = "due <= now"
    compute = { due = "now + 1h" }
    allow = "user"
    [pattern.get]
    get = "services"
    [pattern.admin_rename]
    update = "services"
    set = ["name"]
    allow = "role:admin"
    [pattern.admin_create]
    insert = "services"
    allow = "role:admin"
    [pattern.mine]
    list = "services.mine"
    page = 10
    [pattern.watched]
    atomic = [{ check = "services", as = "s" }, { run = "rename", bind = { name = "'seen'" } }]
"#;

fn ann() -> Caller {
    Caller::user("ann").of_tenant("acme")
}

fn world_with_a_service(world: &World) -> serde_json::Value {
    world.by(&ann(), "create", json!({ "service": "s", "name": "one" })).unwrap()
}

#[test]
fn owner_and_tenant_are_written_from_the_caller() {
    for world in worlds(SERVICES) {
        let created = world_with_a_service(&world);
        assert_eq!(created["row"]["user_id"], "ann");
        assert_eq!(created["row"]["tenant_id"], "acme");
        let renamed = world.by(&ann(), "rename", json!({ "service": "s", "name": "two" }));
        assert_eq!(renamed.unwrap()["row"]["name"], "two");
        let put = world.by(&ann(), "replace", json!({ "service": "s", "name": "three" }));
        assert_eq!(put.unwrap()["row"]["user_id"], "ann");
        for name in ["user_id", "tenant_id"] {
            let other = json!({ "service": "t", "name": "x", name: "bob" });
            assert_eq!(world.fails_by(&ann(), "create", other).0, ErrorKind::Argument);
        }
    }
}

#[test]
fn another_s_row_answers_as_a_missing_one() {
    for world in worlds(SERVICES) {
        world_with_a_service(&world);
        let others =
            [Caller::user("bob").of_tenant("acme"), Caller::user("ann").of_tenant("other")];
        for caller in &others {
            for (pattern, arguments) in [
                ("rename", json!({ "name": "x" })),
                ("ensure", json!({ "name": "x" })),
                ("count", json!({})),
                ("watched", json!({})),
            ] {
                let with = |service: &str| {
                    let mut all = arguments.clone();
                    all["service"] = json!(service);
                    all
                };
                let foreign = world.fails_by(caller, pattern, with("s"));
                assert_eq!(foreign.0, ErrorKind::NotFound, "{pattern}");
                if pattern != "ensure" {
                    assert_eq!(foreign, world.fails_by(caller, pattern, with("missing")));
                }
            }
            let removed = world.by(caller, "remove", json!({ "service": "s" })).unwrap();
            assert_eq!(removed["row"], json!(null));
            assert_eq!(removed["version"], json!(null));
        }
        let row = world.by(&ann(), "get", json!({ "service": "s" })).unwrap();
        assert_eq!(row["row"]["name"], "one");
    }
}

#[test]
fn another_s_row_is_never_overwritten_or_shown() {
    for world in worlds(SERVICES) {
        world_with_a_service(&world);
        let bob = Caller::user("bob").of_tenant("acme");
        for pattern in ["create", "create_once", "replace"] {
            let (kind, text) =
                world.fails_by(&bob, pattern, json!({ "service": "s", "name": "mine" }));
            assert_eq!(kind, ErrorKind::Conflict);
            assert_eq!(text, "the row is already there (collection: services)");
        }
        let row = world.by(&ann(), "get", json!({ "service": "s" })).unwrap();
        assert_eq!(row["row"]["name"], "one");
        assert_eq!(world.by(&bob, "mine", json!({})).unwrap()["rows"], json!([]));
    }
}

#[test]
fn a_role_sees_every_row_and_names_the_owner() {
    for world in worlds(SERVICES) {
        world_with_a_service(&world);
        let admin = Caller::user("root").with_role("admin");
        let renamed = world.by(&admin, "admin_rename", json!({ "service": "s", "name": "two" }));
        let row = renamed.unwrap()["row"].clone();
        assert_eq!((&row["name"], &row["user_id"]), (&json!("two"), &json!("ann")));
        let made = json!({ "service": "t", "name": "x", "user_id": "bob", "tenant_id": "acme" });
        let made = world.by(&admin, "admin_create", made).unwrap();
        assert_eq!(made["row"]["user_id"], "bob");
        assert_eq!(
            world.fails("admin_rename", json!({ "service": "s", "name": "x" })).0,
            ErrorKind::Denied
        );
    }
}

#[test]
fn a_take_passes_over_rows_of_others() {
    for world in worlds(SERVICES) {
        world_with_a_service(&world);
        world.clock.advance(1_000);
        let bob = Caller::user("bob").of_tenant("acme");
        world.by(&bob, "create", json!({ "service": "b", "name": "bob's" })).unwrap();
        let taken = world.by(&bob, "next", json!({})).unwrap();
        assert_eq!(taken["row"]["service"], "b");
        assert_eq!(world.fails_by(&bob, "next", json!({})).0, ErrorKind::NotFound);
        assert_eq!(world.by(&ann(), "next", json!({})).unwrap()["row"]["service"], "s");
    }
}

#[test]
fn somebody_without_a_name_writes_nothing() {
    for world in worlds(SERVICES) {
        let nobody = Caller::nobody();
        let (kind, _) = world.fails_by(&nobody, "create", json!({ "service": "s", "name": "x" }));
        assert_eq!(kind, ErrorKind::Denied);
        let homeless = Caller::user("ann");
        let (kind, _) = world.fails_by(&homeless, "create", json!({ "service": "s", "name": "x" }));
        assert_eq!(kind, ErrorKind::Denied);
    }
}
