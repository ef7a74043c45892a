//! Batches that were done before: a step finds its own row.

use crate::world::{world, worlds};
use data::caller::Caller;
use data::error::ErrorKind;
use serde_json::json;

#[test]
fn a_row_already_there_makes_the_batch_done_before() {
    let file = r#"
        [collection.users]
        key = "user:{user: text}"
        fields = { name = "text", visits = "u64 = 0" }
        [collection.joins]
        key = "user:{user: text}:joined"
        fields = { at = "timestamp = now" }
        [collection.welcomes]
        key = "welcomes"
        value = "counter"
        [pattern.add_user]
        insert = "users"
        existing = "return"
        allow = "step"
        [pattern.join]
        put = "joins"
        allow = "step"
        [pattern.welcome]
        add = "welcomes"
        allow = "step"
        [pattern.welcomed]
        get = "welcomes"
        [pattern.get_join]
        get = "joins"
        [pattern.get_user]
        get = "users"
        [pattern.sign_up]
        atomic = ["add_user", "join", { run = "welcome", bind = { amount = "1" } }]
        allow = "user"
    "#;
    let world = world(file);
    let first = world.ok("sign_up", json!({ "user": "u", "name": "U" }));
    world.clock.advance(1_000);
    let again = world.ok("sign_up", json!({ "user": "u", "name": "other" }));
    assert_eq!(again["results"][0]["row"]["name"], "U");
    assert_eq!(again["results"][0]["existed"], true);
    assert_eq!(again["results"][1]["row"], first["results"][1]["row"], "nothing is written twice");
    assert_eq!(again["results"][2], json!({ "total": 1 }));
    assert_eq!(world.ok("welcomed", json!({}))["row"]["value"], 1);
}

const CLUB: &str = r#"
    [collection.invites]
    key = "club:{club_id: text} | invite:{code: text}"
    fields = { rank = "guest|full", ends_at = "timestamp" }
    expect = { rows_per_group = 1000 }

    [collection.members]
    key = "club:{club_id: text} | member:{user_id: text}"
    fields = { rank = "guest|full" }
    expect = { rows_per_group = 5000 }

    [collection.oaths]
    key = "club:{club_id: text} | oath:{user_id: text}"
    fields = { words = "text", rank = "guest|full" }
    immutable = true
    expect = { rows_per_group = 5000 }

    [pattern.invite]
    insert = "invites"
    allow = "user"
    [pattern.use_invite]
    delete = "invites"
    allow = "step"
    [pattern.add_member]
    insert = "members"
    existing = "return"
    allow = "step"
    [pattern.swear_oath]
    insert = "oaths"
    allow = "step"
    [pattern.list_members]
    list = "members"
    page = 100
    [pattern.oath]
    get = "oaths"
    [pattern.join]
    atomic = [
        { check = "invites", as = "invite", if = "ends_at > now" },
        { run = "add_member", bind = { user_id = "caller", rank = "invite.rank" } },
        "use_invite",
    ]
    allow = "user"
    [pattern.swear]
    atomic = [
        { check = "invites", as = "invite", if = "ends_at > now" },
        { run = "swear_oath", bind = { user_id = "caller", rank = "invite.rank" } },
        "use_invite",
    ]
    allow = "user"
"#;

#[test]
fn done_before_goes_ahead_of_a_row_that_is_used_up() {
    for world in worlds(CLUB) {
        let ends = "2026-11-15T13:00:00.000Z";
        let invite =
            |code: &str| json!({ "club_id": "c", "code": code, "rank": "full", "ends_at": ends });
        world.ok("invite", invite("i"));
        let join = json!({ "club_id": "c", "code": "i" });
        let first = world.ok("join", join.clone());
        assert_eq!(first["results"][0]["row"]["rank"], "full");
        // The invitation is gone, and so is what the row was made of.
        let again = world.ok("join", join);
        assert_eq!(again["results"][0]["existed"], true);
        assert_eq!(again["results"][0]["row"], first["results"][0]["row"]);
        assert_eq!(again["results"][1]["row"], json!(null));
        let bob = Caller::user("bob");
        let (kind, _) = world.fails_by(&bob, "join", json!({ "club_id": "c", "code": "i" }));
        assert_eq!(kind, ErrorKind::NotFound);

        world.ok("invite", invite("j"));
        let swear = json!({ "club_id": "c", "code": "j", "words": "so be it" });
        world.ok("swear", swear.clone());
        assert_eq!(world.ok("swear", swear)["results"][0]["existed"], true);
        // Other words are another oath, and the failure of the first step is the answer.
        let other = json!({ "club_id": "c", "code": "j", "words": "never" });
        let (kind, text) = world.fails("swear", other);
        assert_eq!(kind, ErrorKind::NotFound);
        assert!(text.contains("step: invite"), "{text}");
    }
}
