//! Who may: owners, users, roles, the public, members, and steps.

use crate::support::{Bench, NOW, ann, away, bob};
use data::memory::{MemoryStore, PartitionedMemory};
use data::store::Store;
use data::{Caller, ErrorKind};
use serde_json::{Value as Json, json};
use std::sync::Arc;

const GUILDS: &str = r#"
    [collection.members]
    key = "guild:{guild_id: text}:members | {user_id: text}"
    fields = { role = "text = 'member'", until = "timestamp?" }
    expect = { rows_per_group = 1_000 }

    [collection.channels]
    key = "guild:{guild_id: text}:channels | {channel: text}"
    fields = { topic = "text = ''", kind = "text = ''" }
    expect = { rows_per_group = 1_000 }
    index.channels_by_kind.key = "kind:{guild_id}:{kind} | {channel}"
    index.channels_by_kind.expect = { rows_per_group = 1_000 }

    [pattern.join]
    put = "members"
    allow = "role:keeper"

    [pattern.get_channel]
    get = "channels"
    allow = { member = "members", caller = "user_id" }

    [pattern.get_channels]
    get = "channels"
    many = 4
    allow = { member = "members", caller = "user_id" }

    [pattern.channels]
    list = "channels"
    page = 10
    allow = { member = "members", caller = "user_id" }

    [pattern.of_kind]
    list = "channels.channels_by_kind"
    page = 10
    allow.member = "members"
    allow.caller = "user_id"
    allow.if = "role = 'admin' and (until is null or until > now)"

    [pattern.all_channels]
    list = "channels"
    page = 10
    allow = "role:keeper"

    [pattern.any_channel]
    get = "channels"
    allow = "public"

    [pattern.some_channel]
    get = "channels"
    allow = "user"

    [pattern.write_channel]
    put = "channels"
    allow = "step"

    [pattern.edit_channel]
    put = "channels"
    allow = { member = "members", caller = "user_id", if = "role = 'admin'" }

    [pattern.write_both]
    atomic = [
        { run = "edit_channel", bind = { channel = "'a'", topic = "'x'", kind = "''" } },
        { run = "write_channel", bind = { channel = "'b'", topic = "'x'", kind = "''" } },
    ]
    allow = "user"

    [pattern.write_apart]
    atomic = [
        { run = "edit_channel", bind = { guild_id = "$other", channel = "'a'", topic = "'x'" } },
    ]
    allow = "user"
"#;

fn guilds() -> Bench {
    let bench = Bench::open(GUILDS);
    for (guild, user, role) in
        [("g", "ann", "admin"), ("g", "bob", "member"), ("h", "ann", "member")]
    {
        bench.put("members", json!({"guild_id": guild, "user_id": user, "role": role}));
    }
    for guild in ["g", "h", "i"] {
        bench.put(
            "channels",
            json!({"guild_id": guild, "channel": "c", "topic": guild, "kind": "k"}),
        );
    }
    bench
}

fn denied(bench: &Bench, pattern: &str, arguments: Json, caller: &Caller) -> String {
    let error = bench.error(pattern, arguments, caller);
    assert_eq!(error.kind(), ErrorKind::Denied, "{pattern}: {error}");
    error.to_string()
}

#[test]
fn members_may() {
    let bench = guilds();
    let channel = json!({"guild_id": "g", "channel": "c"});
    assert_eq!(bench.json("get_channel", channel.clone(), &bob())["row"]["topic"], "g");
    assert_eq!(bench.page("channels", json!({"guild_id": "h"}), &ann(), "topic"), [json!("h")]);
    denied(&bench, "channels", json!({"guild_id": "h"}), &bob());
    denied(&bench, "get_channel", channel, &Caller::user("eve"));
    let usage = bench.call("channels", json!({"guild_id": "g"}), &ann()).unwrap().usage;
    assert_eq!((usage.round_trips, usage.rows_read), (2, 2));
}

#[test]
fn a_condition_on_the_membership_is_judged() {
    let bench = guilds();
    let kind = |guild: &str| json!({"guild_id": guild, "kind": "k"});
    assert_eq!(bench.page("of_kind", kind("g"), &ann(), "topic"), [json!("g")]);
    denied(&bench, "of_kind", kind("g"), &bob());
    denied(&bench, "of_kind", kind("h"), &ann());
    let until = "2026-11-15T10:00:01.000Z";
    bench.put(
        "members",
        json!({"guild_id": "g", "user_id": "ann", "role": "admin", "until": until}),
    );
    assert_eq!(bench.page("of_kind", kind("g"), &ann(), "topic").len(), 1);
    bench.clock.advance(1_000);
    denied(&bench, "of_kind", kind("g"), &ann());
}

#[test]
fn an_ended_membership_is_none() {
    let bench = guilds();
    let row = json!({"guild_id": "i", "user_id": "bob"});
    bench.put_until("members", row, NOW + 1);
    let channels = json!({"guild_id": "i"});
    assert_eq!(bench.page("channels", channels.clone(), &bob(), "topic").len(), 1);
    bench.clock.advance(1);
    denied(&bench, "channels", channels, &bob());
}

#[test]
fn every_key_of_many_needs_its_membership() {
    let bench = guilds();
    let rows = |guilds: &[&str]| {
        let row = |guild: &&str| json!({"guild_id": guild, "channel": "c"});
        json!({"rows": guilds.iter().map(row).collect::<Vec<_>>()})
    };
    let answer = bench.json("get_channels", rows(&["h", "g", "h", "g"]), &ann());
    assert_eq!(answer["rows"][3]["topic"], "g");
    denied(&bench, "get_channels", rows(&["g", "h"]), &bob());
    denied(&bench, "get_channels", rows(&["g", "nowhere"]), &ann());
    assert_eq!(bench.json("get_channels", rows(&[]), &bob()), json!({"rows": []}));
}

#[test]
fn c8_denied_says_nothing_about_rows() {
    let bench = guilds();
    let ask = |guild: &str, channel: &str| {
        let arguments = json!({"guild_id": guild, "channel": channel});
        denied(&bench, "get_channel", arguments, &Caller::user("eve"))
    };
    let said = ask("g", "c");
    assert_eq!(said, ask("g", "missing"));
    assert_eq!(said, ask("nowhere", "c"));
}

#[test]
fn roles_may() {
    let bench = guilds();
    let arguments = json!({"guild_id": "i"});
    let keeper = Caller::user("kim").with_role("keeper");
    assert_eq!(bench.page("all_channels", arguments.clone(), &keeper, "topic"), [json!("i")]);
    // A service has a role and no name.
    let service = Caller::nobody().with_role("keeper");
    assert_eq!(bench.page("all_channels", arguments.clone(), &service, "topic").len(), 1);
    denied(&bench, "all_channels", arguments.clone(), &ann());
    denied(&bench, "all_channels", arguments.clone(), &ann().with_role("keepers"));
    denied(&bench, "all_channels", arguments, &Caller::nobody());
}

#[test]
fn only_the_public_may_be_nobody() {
    let bench = guilds();
    let arguments = json!({"guild_id": "i", "channel": "c"});
    let nobody = Caller::nobody();
    assert_eq!(bench.json("any_channel", arguments.clone(), &nobody)["row"]["topic"], "i");
    assert_eq!(bench.json("some_channel", arguments.clone(), &bob())["row"]["topic"], "i");
    denied(&bench, "some_channel", arguments.clone(), &nobody);
    denied(&bench, "get_channel", arguments.clone(), &nobody);
    // A role or a tenant alone is no user.
    denied(&bench, "some_channel", arguments, &nobody.of_tenant("t").with_role("keeper"));
}

#[test]
fn a_step_is_not_called() {
    let bench = guilds();
    let arguments = json!({"guild_id": "g", "channel": "c", "topic": "", "kind": ""});
    denied(&bench, "write_channel", arguments.clone(), &ann());
    denied(&bench, "write_channel", arguments, &ann().with_role("keeper"));
}

#[test]
fn an_atomic_asks_for_the_memberships_of_its_steps() {
    let bench = guilds();
    let guild = |guild: &str| json!({"guild_id": guild});
    for (guild, caller) in [(guild("g"), bob()), (guild("h"), ann()), (guild("i"), ann())] {
        denied(&bench, "write_both", guild, &caller);
    }
    // Whether the batch itself goes through is not the question here.
    let admitted = bench.call("write_both", guild("g"), &ann());
    assert!(admitted.is_ok() || admitted.unwrap_err().kind() != ErrorKind::Denied);
    denied(&bench, "write_apart", json!({"other": "h"}), &ann());
    let admitted = bench.call("write_apart", json!({"other": "g"}), &ann());
    assert!(admitted.is_ok() || admitted.unwrap_err().kind() != ErrorKind::Denied);
}

/// A project says which team it is of; who adds a task must be of that team.
const TEAMS: &str = r#"
    [collection.members]
    key = "team:{team_id: text}:members | {user_id: text}"
    fields = { role = "text = 'member'" }
    expect = { rows_per_group = 100 }

    [collection.projects]
    key = "project:{project_id: text} | about"
    fields = { team_id = "text", open = "bool = true" }

    [collection.tasks]
    key = "project:{project_id: text} | task:{team_id: text}:{task: text}"
    fields = { words = "text = ''" }
    expect = { rows_per_group = 100 }

    [pattern.put_project]
    put = "projects"
    allow = "role:keeper"

    [pattern.put_member]
    put = "members"
    allow = "role:keeper"

    [pattern.add_task]
    insert = "tasks"
    allow = { member = "members", caller = "user_id", if = "role = 'member'" }

    [pattern.add_tasks]
    insert = "tasks"
    many = 5
    allow = { member = "members", caller = "user_id" }

    [pattern.get_task]
    get = "tasks"
    allow = "user"

    [pattern.work]
    atomic = [
        { check = "projects", as = "project", if = "open = true" },
        { run = "add_task", bind = { team_id = "project.team_id" } },
    ]
    allow = "user"

    [pattern.work_much]
    atomic = [
        { check = "projects", as = "project" },
        { run = "add_tasks", bind = { team_id = "project.team_id" } },
        { run = "add_task", bind = { task = "'last'", words = "''" } },
    ]
    allow = "user"
"#;

#[test]
fn rows_of_earlier_steps_say_where_one_must_be_a_member() {
    let stores: [Arc<dyn Store>; 2] =
        [Arc::new(MemoryStore::new()), Arc::new(PartitionedMemory::new())];
    for store in stores {
        let bench = Bench::open_on(store, TEAMS);
        bench.put("projects", json!({"project_id": "p", "team_id": "red", "open": true}));
        bench.put("projects", json!({"project_id": "q", "team_id": "red", "open": false}));
        bench.put("members", json!({"team_id": "red", "user_id": "ann", "role": "member"}));
        bench.put("members", json!({"team_id": "red", "user_id": "eve", "role": "guest"}));
        bench.put("members", json!({"team_id": "blue", "user_id": "bob", "role": "member"}));
        let task = |project: &str| json!({"project_id": project, "task": "t", "words": "w"});
        let done = bench.json("work", task("p"), &ann());
        assert_eq!(done["results"][0]["row"]["team_id"], "red", "{done}");
        // A closed project or a task that is there already is nothing for who is denied.
        for (project, caller) in [("p", bob()), ("p", Caller::user("eve")), ("q", bob())] {
            denied(&bench, "work", task(project), &caller);
        }
        for (project, kind) in
            [("p", ErrorKind::Conflict), ("q", ErrorKind::Conflict), ("r", ErrorKind::NotFound)]
        {
            assert_eq!(bench.error("work", task(project), &ann()).kind(), kind, "{project}");
        }
        // Without the project nobody knows the team: what is missing was the batch's to ask for.
        assert_eq!(bench.error("work", task("r"), &bob()).kind(), ErrorKind::NotFound);
    }
}

#[test]
fn memberships_of_the_call_and_of_rows_are_both_asked_for() {
    let bench = Bench::open(TEAMS);
    bench.put("projects", json!({"project_id": "p", "team_id": "red", "open": true}));
    bench.put("members", json!({"team_id": "red", "user_id": "ann", "role": "member"}));
    let tasks = |team: &str| {
        let rows = json!([{"task": "a", "words": ""}, {"task": "b", "words": ""}]);
        json!({"project_id": "p", "team_id": team, "rows": rows})
    };
    denied(&bench, "work_much", tasks("blue"), &ann());
    bench.put("members", json!({"team_id": "blue", "user_id": "bob", "role": "member"}));
    denied(&bench, "work_much", tasks("blue"), &bob());
    bench.put("members", json!({"team_id": "blue", "user_id": "ann", "role": "member"}));
    let reply = bench.call("work_much", tasks("blue"), &ann()).unwrap();
    // The membership of the call, the project, that of the rows, and the commit.
    assert_eq!(reply.usage.round_trips, 4);
    let last = json!({"project_id": "p", "team_id": "blue", "task": "last"});
    assert_eq!(bench.json("get_task", last, &bob())["row"]["task"], "last");
}

#[test]
fn c3_who_may_is_judged_before_anything_else() {
    let bench = Bench::open_on(away(), GUILDS);
    // Neither the arguments nor the store are looked at.
    denied(&bench, "all_channels", json!({"guild_id": "g", "cursor": "x"}), &ann());
    denied(&bench, "some_channel", json!({}), &Caller::nobody());
    let error = bench.error("get_channel", json!({"guild_id": "g", "channel": "c"}), &ann());
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

const DOCUMENTS: &str = r#"
    [collection.docs]
    key = "doc:{doc_id: u64}"
    owner = "user_id"
    tenant = "org_id"
    fields = { user_id = "text", org_id = "text", title = "text", slug = "text" }
    index.docs_of_user = { key = "user:{user_id} | {doc_id}", expect = { rows_per_group = 1_000 } }
    index.docs_of_org.key = "org:{org_id} | {doc_id}"
    index.docs_of_org.keep = ["title"]
    index.docs_of_org.expect = { rows_per_group = 1_000 }
    index.doc_by_slug = { key = "slug:{slug}", unique = true, keep = ["title"] }

    [pattern.write]
    put = "docs"

    [pattern.own]
    get = "docs"

    [pattern.any]
    get = "docs"
    allow = "user"

    [pattern.some]
    get = "docs"
    many = 5

    [pattern.admin]
    get = "docs"
    allow = "role:admin"

    [pattern.mine]
    list = "docs.docs_of_user"
    page = 10

    [pattern.my_ids]
    list = "docs.docs_of_user"
    fields = ["doc_id"]
    page = 10

    [pattern.ours]
    list = "docs.docs_of_org"
    fields = ["doc_id", "title"]
    page = 10
    allow = "user"

    [pattern.by_slug]
    get = "docs.doc_by_slug"
    fields = ["title"]
    allow = "user"
"#;

fn documents() -> Bench {
    let bench = Bench::open(DOCUMENTS);
    for (id, user, org) in [(1, "ann", "x"), (2, "bob", "x"), (3, "ann", "y")] {
        let (title, slug) = (format!("t{id}"), format!("s{id}"));
        let row =
            json!({"doc_id": id, "user_id": user, "org_id": org, "title": title, "slug": slug});
        bench.put("docs", row);
    }
    bench
}

#[test]
fn c8_anothers_row_is_missing() {
    let bench = documents();
    let x = ann().of_tenant("x");
    let bytes = |pattern: &str, id: u64, caller: &Caller| {
        bench.json(pattern, json!({"doc_id": id}), caller).to_string()
    };
    let missing = bytes("own", 99, &x);
    assert_ne!(bytes("own", 1, &x), missing);
    assert_eq!(bytes("own", 2, &x), missing, "another's");
    assert_eq!(bytes("own", 3, &x), missing, "of another tenant");
    assert_ne!(bytes("any", 2, &x), missing, "of the same tenant, for any user");
    assert_eq!(bytes("any", 3, &x), missing);
    let admin = Caller::user("kim").with_role("admin");
    assert!((1..4).all(|id| bytes("admin", id, &admin) != missing));
    let rows = json!({"rows": [{"doc_id": 1}, {"doc_id": 2}, {"doc_id": 3}, {"doc_id": 4}]});
    let some = bench.json("some", rows, &x);
    let there: Vec<bool> = some["rows"].as_array().unwrap().iter().map(|r| !r.is_null()).collect();
    assert_eq!(there, [true, false, false, false]);
}

#[test]
fn lists_and_claims_look_at_owners_and_tenants_too() {
    let bench = documents();
    let (x, y) = (ann().of_tenant("x"), ann().of_tenant("y"));
    assert_eq!(bench.page("mine", json!({}), &x, "doc_id"), [json!(1)]);
    assert_eq!(bench.page("mine", json!({}), &y, "doc_id"), [json!(3)]);
    // An index that lacks the tenant does not change the answer.
    assert_eq!(bench.page("my_ids", json!({}), &x, "doc_id"), [json!(1)]);
    assert_eq!(bench.page("ours", json!({}), &x, "title"), [json!("t1"), json!("t2")]);
    let slug = |slug: &str, caller: &Caller| {
        bench.json("by_slug", json!({"slug": slug}), caller)["row"]["title"].clone()
    };
    assert_eq!(slug("s2", &x), json!("t2"));
    assert_eq!(slug("s3", &x), json!(null));
    assert_eq!(slug("s3", &y), json!("t3"));
}
