//! `get`: by whole keys, through unique indexes, one and many.

use crate::support::{Bench, NOW, ann, bob};
use data::{Caller, ErrorKind};
use serde_json::json;

const USERS: &str = r#"
    [collection.users]
    key = "user:{user_id: u64}"
    fields = { email = "text", name = "text", nick = "text?", age = "u64 = 0" }
    ttl = "30d"
    index.users_by_email = { key = "email:{lower(email)}", unique = true }
    index.users_by_nick = { key = "nick:{nick}", unique = true, keep = ["name"] }

    [pattern.add_user]
    insert = "users"
    allow = "user"

    [pattern.get_user]
    get = "users"

    [pattern.get_users]
    get = "users"
    many = 5

    [pattern.find_user]
    get = "users.users_by_email"

    [pattern.find_name]
    get = "users.users_by_nick"
    fields = ["user_id", "nick", "name"]

    [pattern.find_names]
    get = "users.users_by_nick"
    fields = ["user_id", "nick", "name"]
    many = 3
"#;

fn users() -> Bench {
    let bench = Bench::open(USERS);
    for (id, email, nick) in [(1, "Ann@X.de", Some("a")), (2, "bob@x.de", None)] {
        let row = json!({"user_id": id, "email": email, "name": email, "nick": nick, "age": 7});
        bench.put("users", row);
    }
    bench
}

#[test]
fn a_row_is_found_by_its_key() {
    let bench = users();
    let answer = bench.json("get_user", json!({"user_id": 1}), &ann());
    let row = json!({"user_id": 1, "email": "Ann@X.de", "name": "Ann@X.de", "nick": "a", "age": 7});
    assert_eq!(answer["row"], row);
    assert_eq!(answer["version"].as_str().unwrap().len(), 36);
    let missing = bench.json("get_user", json!({"user_id": 3}), &ann());
    assert_eq!(missing, json!({"row": null, "version": null}));
}

#[test]
fn a_read_costs_what_its_plan_says() {
    let bench = users();
    let usage = |pattern, arguments| bench.call(pattern, arguments, &ann()).unwrap().usage;
    let one = usage("get_user", json!({"user_id": 1}));
    assert_eq!((one.round_trips, one.rows_read), (1, 1));
    let two = usage("find_user", json!({"email": "ann@x.de"}));
    assert_eq!((two.round_trips, two.rows_read), (2, 2));
    // The claim holds all that is asked for.
    let held = usage("find_name", json!({"nick": "a"}));
    assert_eq!((held.round_trips, held.rows_read), (1, 1));
}

#[test]
fn a_unique_index_leads_to_its_owner() {
    let bench = users();
    for email in ["ann@x.de", "ANN@X.DE", "Ann@X.de"] {
        let answer = bench.json("find_user", json!({"email": email}), &ann());
        assert_eq!(answer["row"]["user_id"], 1, "{email}");
    }
    assert!(bench.json("find_user", json!({"email": "ann"}), &ann())["row"].is_null());
    let answer = bench.json("find_name", json!({"nick": "a"}), &ann());
    assert_eq!(answer["row"], json!({"user_id": 1, "nick": "a", "name": "Ann@X.de"}));
}

#[test]
fn many_keys_are_answered_in_their_order() {
    let bench = users();
    let rows = json!({"rows": [{"user_id": 2}, {"user_id": 9}, {"user_id": 1}, {"user_id": 2}]});
    let answer = bench.json("get_users", rows, &ann());
    let ids: Vec<_> =
        answer["rows"].as_array().unwrap().iter().map(|r| r["user_id"].clone()).collect();
    assert_eq!(ids, [json!(2), json!(null), json!(1), json!(2)]);
    assert!(answer["rows"][1].is_null());
    assert_eq!(bench.json("get_users", json!({"rows": []}), &ann()), json!({"rows": []}));
    let names = json!({"rows": [{"nick": "b"}, {"nick": "a"}]});
    let answer = bench.json("find_names", names, &ann());
    assert_eq!(answer["rows"][1]["user_id"], 1);
    assert!(answer["rows"][0].is_null());
}

#[test]
fn too_many_keys_are_refused() {
    let rows: Vec<_> = (0..6).map(|id| json!({"user_id": id})).collect();
    let error = users().error("get_users", json!({"rows": rows}), &ann());
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert_eq!(error.value("most"), Some("5"));
}

#[test]
fn what_has_ended_is_missing() {
    let bench = users();
    let row = json!({"user_id": 7, "email": "e@x", "name": "e", "nick": "e"});
    bench.put_until("users", row, NOW + 1_000);
    assert_eq!(bench.json("get_user", json!({"user_id": 7}), &ann())["row"]["name"], "e");
    assert_eq!(bench.json("find_name", json!({"nick": "e"}), &ann())["row"]["name"], "e");
    bench.clock.advance(1_000);
    for (pattern, arguments) in [
        ("get_user", json!({"user_id": 7})),
        ("find_user", json!({"email": "e@x"})),
        ("find_name", json!({"nick": "e"})),
    ] {
        let answer = bench.json(pattern, arguments, &ann());
        assert_eq!(answer, json!({"row": null, "version": null}), "{pattern}");
    }
}

#[test]
fn an_argument_that_is_missing_or_null_is_named() {
    let bench = users();
    for arguments in [json!({}), json!({"user_id": null}), json!({"user_id": "x"})] {
        let error = bench.error("get_user", arguments, &ann());
        assert_eq!(error.kind(), ErrorKind::Argument);
        assert_eq!(error.value("argument"), Some("user_id"), "{error}");
    }
}

#[test]
fn a_counter_to_which_nothing_was_added_is_zero() {
    let bench = Bench::open(
        r#"
        [collection.visits]
        key = "visits:{page: text}"
        value = "counter"

        [pattern.count]
        add = "visits"
        allow = "user"

        [pattern.visits]
        get = "visits"
        "#,
    );
    let answer = bench.json("visits", json!({"page": "home"}), &ann());
    assert_eq!(answer, json!({"row": {"page": "home", "value": 0}, "version": null}));
    bench.put("visits", json!({"page": "home", "value": 12}));
    assert_eq!(bench.json("visits", json!({"page": "home"}), &ann())["row"]["value"], 12);
}

#[test]
fn a_segment_with_a_constant_may_be_left_out() {
    let bench = Bench::open(
        r#"
        [collection.settings]
        key = "settings:{area: text} | {name: text = 'main'}"
        value = "json"

        [pattern.set]
        put = "settings"
        allow = "user"

        [pattern.setting]
        get = "settings"

        [pattern.colour]
        get = "settings"
        bind = { area = "'looks'", name = "'colour'" }
        "#,
    );
    bench.put("settings", json!({"area": "looks", "name": "main", "value": {"a": [1]}}));
    bench.put("settings", json!({"area": "looks", "name": "colour", "value": "red"}));
    let get = |arguments| bench.json("setting", arguments, &ann())["row"]["value"].clone();
    assert_eq!(get(json!({"area": "looks"})), json!({"a": [1]}));
    assert_eq!(get(json!({"area": "looks", "name": "colour"})), json!("red"));
    assert_eq!(bench.json("colour", json!({}), &ann())["row"]["value"], json!("red"));
}

#[test]
fn the_caller_fills_owners_and_tenants() {
    let bench = Bench::open(
        r#"
        [collection.notes]
        key = "org:{org_id: text}:{user_id: uuid} | {note: text}"
        tenant = "org_id"
        owner = "user_id"
        fields = { title = "text" }

        [pattern.write]
        put = "notes"

        [pattern.note]
        get = "notes"

        [pattern.notes]
        list = "notes"
        page = 10
        "#,
    );
    let id = "8f14e45f-ceea-467f-a8f2-0d5f1a7b3c21";
    bench.put("notes", json!({"org_id": "x", "user_id": id, "note": "a", "title": "A"}));
    let note = |caller: &Caller| bench.call("note", json!({"note": "a"}), caller);
    let own = Caller::user(id).of_tenant("x");
    let answer = note(&own).unwrap().answer.to_json(bench.runtime.schema()).unwrap();
    assert_eq!(answer["row"]["title"], "A");
    assert_eq!(bench.page("notes", json!({}), &own, "note"), [json!("a")]);
    let other = Caller::user(id).of_tenant("y");
    let answer = note(&other).unwrap().answer.to_json(bench.runtime.schema()).unwrap();
    assert!(answer["row"].is_null());
    // Without a tenant, without a name, or with one that is no uuid, there is no key.
    for caller in [Caller::user(id), Caller::nobody().of_tenant("x"), bob().of_tenant("x")] {
        assert_eq!(note(&caller).unwrap_err().kind(), ErrorKind::Denied);
    }
}
