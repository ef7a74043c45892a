//! `atomic`: several changes and looks in one batch.

use crate::world::{World, world, worlds};
use data::caller::Caller;
use data::error::ErrorKind;
use serde_json::{Value as Json, json};

const GUILDS: &str = r#"
    [collection.guilds]
    key = "guild:{guild_id: text = new('guild')}"
    fields = { name = "text", members = "u64 = 0" }

    [collection.invites]
    key = "guild:{guild_id: text}:invites | {invite_id: text}"
    fields = { code = "text", role = "text", expires_at = "timestamp" }
    expect = { rows_per_group = 100 }
    index.by_code = { key = "invite:{lower(code)}", unique = true }

    [collection.seats]
    key = "guild:{guild_id: text}:seats | {user_id: text}"
    fields = { role = "text", joined_at = "timestamp = now" }
    expect = { rows_per_group = 100 }
    index.user_guilds = { key = "user:{user_id}:guilds | {guild_id}" }

    [pattern.create_guild]
    insert = "guilds"
    allow = "user"
    [pattern.get_guild]
    get = "guilds"
    [pattern.invite]
    put = "invites"
    allow = "user"
    [pattern.sit]
    insert = "seats"
    bind = { user_id = "caller" }
    allow = "step"
    [pattern.seat]
    get = "seats"
    [pattern.guilds]
    list = "seats.user_guilds"
    page = 10
    [pattern.count_member]
    add = "guilds.members"
    allow = "step"
    [pattern.drop_invite]
    delete = "invites"
    allow = "step"
    [pattern.found_guild]
    atomic = [
        { run = "create_guild", as = "made" },
        { run = "sit", bind = { guild_id = "made.guild_id", role = "'founder'" } },
    ]
    allow = "user"
    [pattern.accept]
    atomic = [
        { check = "invites.by_code", as = "invite", if = "expires_at > now" },
        { run = "sit", bind = { guild_id = "invite.guild_id", role = "invite.role" } },
        { run = "count_member", bind = { guild_id = "invite.guild_id", amount = "1" } },
    ]
    allow = "user"
    [pattern.accept_once]
    atomic = [
        { check = "invites.by_code", as = "i" },
        { run = "drop_invite", bind = { guild_id = "i.guild_id", invite_id = "i.invite_id" } },
        { run = "sit", bind = { guild_id = "drop_invite.guild_id", role = "drop_invite.role" } },
    ]
    allow = "user"
"#;

fn guild_with_invite(world: &World) -> Json {
    let guild = world.ok("create_guild", json!({ "name": "G" }))["row"]["guild_id"].clone();
    let invite = json!({
        "guild_id": guild, "invite_id": "i", "code": "JoinUs", "role": "scribe",
        "expires_at": "2026-11-15T13:00:00.000Z",
    });
    world.ok("invite", invite);
    guild
}

#[test]
fn later_steps_use_generated_ids() {
    let world = world(GUILDS);
    let answer = world.ok("found_guild", json!({ "name": "G" }));
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!(results[0]["row"]["guild_id"], results[1]["row"]["guild_id"]);
    assert_eq!(results[1]["row"]["role"], "founder");
    assert_eq!(results[0]["version"], results[1]["version"]);
    assert_eq!(
        world.ok("guilds", json!({ "user_id": "ann" }))["rows"].as_array().unwrap().len(),
        1
    );
}

#[test]
fn a_check_through_a_unique_index_gives_its_members() {
    let world = world(GUILDS);
    let guild = guild_with_invite(&world);
    let reply = world.reply(&Caller::user("ann"), "accept", json!({ "code": "joinus" }), None);
    let reply = reply.unwrap();
    // The claim, the invite, the guild that is added to; then the commit.
    assert_eq!(reply.usage.round_trips, 4);
    let seat = world.ok("seat", json!({ "guild_id": guild, "user_id": "ann" }));
    assert_eq!(seat["row"]["role"], "scribe");
    assert_eq!(world.ok("get_guild", json!({ "guild_id": guild }))["row"]["members"], 1);
}

const LEDGERS: &str = r#"
    [collection.accounts]
    key = "ledger:{ledger: text} | account:{account: text}"
    fields = { open = "bool" }
    expect = { rows_per_group = 100 }
    [collection.orders]
    key = "ledger:{ledger: text} | order:{order: text}"
    fields = { cents = "i64" }
    expect = { rows_per_group = 100 }

    [pattern.open]
    insert = "accounts"
    allow = "user"
    [pattern.account]
    get = "accounts"
    [pattern.place]
    insert = "orders"
    allow = "user"
    [pattern.replace]
    put = "orders"
    allow = "user"
    [pattern.order]
    get = "orders"
    [pattern.replace_checked]
    atomic = [{ check = "accounts", as = "mine", if = "open" }, "replace"]
    allow = "user"
    [pattern.place_checked]
    atomic = [{ check = "accounts", as = "mine" }, "place"]
    allow = "user"
"#;

/// What a step changes without looking at it is read by the protocol where versions are compared:
/// together with what is checked, not behind it.
#[test]
fn rows_that_no_step_reads_cost_no_wait_of_their_own() {
    for world in worlds(LEDGERS) {
        world.ok("open", json!({ "ledger": "l", "account": "a", "open": true }));
        let order = |order: &str, cents: i64| json!({ "ledger": "l", "account": "a", "order": order, "cents": cents });
        for (pattern, arguments) in [
            ("place_checked", order("1", 1)),
            ("replace_checked", order("1", 2)),
            ("replace_checked", order("2", 3)),
        ] {
            let reply = world.reply(&Caller::user("ann"), pattern, arguments, None).unwrap();
            assert_eq!(reply.usage.round_trips, 2, "{pattern} on {:?}", world.kind());
        }
        let (kind, _) = world.fails("place_checked", order("1", 4));
        assert_eq!(kind, ErrorKind::Conflict);
        // Whoever changes it in between is noticed, and it is read again.
        world.before_next_commit(move |world| {
            world.ok("replace", json!({ "ledger": "l", "order": "1", "cents": 7 }));
        });
        world.ok("replace_checked", order("1", 5));
        let found = world.ok("order", json!({ "ledger": "l", "order": "1" }));
        assert_eq!(found["row"]["cents"], 5);
    }
}

#[test]
fn a_failed_check_changes_nothing() {
    let world = world(GUILDS);
    let guild = guild_with_invite(&world);
    let (kind, text) = world.fails("accept", json!({ "code": "other" }));
    assert_eq!(kind, ErrorKind::NotFound);
    assert_eq!(text, "there is no such row (collection: invites, step: invite)");
    world.clock.advance(3_600_000);
    let (kind, text) = world.fails("accept", json!({ "code": "joinus" }));
    assert_eq!(kind, ErrorKind::Conflict);
    assert_eq!(text, "the row does not fulfil the condition (collection: invites, step: invite)");
    assert_eq!(world.live_rows("seats"), 0);
    assert_eq!(world.ok("get_guild", json!({ "guild_id": guild }))["row"]["members"], 0);
}

#[test]
fn a_checked_row_that_moves_is_looked_at_again() {
    let world = world(GUILDS);
    let guild = guild_with_invite(&world);
    let other = json!({
        "guild_id": guild, "invite_id": "i", "code": "JoinUs", "role": "guest",
        "expires_at": "2026-11-15T13:00:00.000Z",
    });
    world.before_next_commit(move |world| {
        world.ok("invite", other);
    });
    let reply = world.reply(&Caller::user("ann"), "accept", json!({ "code": "joinus" }), None);
    assert_eq!(reply.unwrap().usage.attempts, 2);
    let seat = world.ok("seat", json!({ "guild_id": guild, "user_id": "ann" }));
    assert_eq!(seat["row"]["role"], "guest");
}

#[test]
fn the_first_step_that_fails_is_named() {
    let world = world(GUILDS);
    let guild = guild_with_invite(&world);
    world.ok("accept", json!({ "code": "joinus" }));
    let (kind, text) = world.fails("accept", json!({ "code": "joinus" }));
    assert_eq!(kind, ErrorKind::Conflict);
    assert_eq!(text, "the row is already there (collection: seats, step: sit)");
    assert_eq!(world.ok("get_guild", json!({ "guild_id": guild }))["row"]["members"], 1);
}

#[test]
fn a_row_that_is_removed_is_still_known_to_later_steps() {
    let world = world(GUILDS);
    guild_with_invite(&world);
    let answer = world.ok("accept_once", json!({ "code": "JOINUS" }));
    assert_eq!(answer["results"][0]["row"], json!(null));
    assert_eq!(answer["results"][1]["row"]["role"], "scribe");
    assert_eq!(world.live_rows("invites.by_code"), 0);
    assert_eq!(world.fails("accept_once", json!({ "code": "JOINUS" })).0, ErrorKind::NotFound);
}

const LEDGER: &str = r#"
    [collection.accounts]
    key = "ledger:{ledger: text} | account:{account: text}"
    fields = { balance = "i64 = 0", floor = "i64 = 0" }
    expect = { rows_per_group = 100 }

    [collection.transfers]
    key = "ledger:{ledger: text} | transfer:{transfer: text}"
    fields = { source = "text", target = "text", amount = "i64", at = "timestamp = now" }
    immutable = true
    expect = { rows_per_group = 1000 }

    [collection.lines]
    key = "ledger:{ledger: text} | line:{transfer: text}:{line: u64}"
    fields = { text = "text", state = "text" }
    immutable = true
    expect = { rows_per_group = 1000 }

    [pattern.open]
    insert = "accounts"
    allow = "user"
    [pattern.account]
    get = "accounts"
    [pattern.record]
    insert = "transfers"
    allow = "step"
    [pattern.transfers]
    list = "transfers"
    page = 10
    [pattern.move]
    add = "accounts.balance"
    if = "balance + $amount >= floor"
    allow = "step"
    [pattern.transfer]
    atomic = [
        { run = "move", as = "debit", bind = { account = "$source", amount = "-$amount" } },
        { run = "move", as = "credit", bind = { account = "$target" } },
        { run = "record", bind = { amount = "$amount" } },
    ]
    allow = "user"
    [pattern.add_lines]
    insert = "lines"
    many = 5
    allow = "step"
    [pattern.lines]
    list = "lines"
    by = ["ledger", "transfer"]
    page = 10
    [pattern.annotate]
    atomic = [
        { check = "transfers", as = "t" },
        { run = "add_lines", bind = { rows = "$texts", transfer = "t.transfer", state = "'new'" } },
    ]
    allow = "user"
    [pattern.edit]
    update = "accounts"
    set = ["floor"]
    if_version = true
    allow = "step"
    [pattern.set_floor]
    atomic = ["edit"]
    allow = "user"
"#;

fn ledger(world: &World) {
    for account in ["a", "b"] {
        world.ok("open", json!({ "ledger": "l", "account": account, "balance": 100 }));
    }
}

fn balance(world: &World, account: &str) -> Json {
    world.ok("account", json!({ "ledger": "l", "account": account }))["row"]["balance"].clone()
}

fn transfer(id: &str, source: &str, target: &str, amount: i64) -> Json {
    json!({ "ledger": "l", "transfer": id, "source": source, "target": target, "amount": amount })
}

#[test]
fn a_transfer_moves_money_once() {
    for world in worlds(LEDGER) {
        ledger(&world);
        let first = world.ok("transfer", transfer("t", "a", "b", 30));
        assert_eq!(first["results"][0]["row"]["balance"], 70);
        assert_eq!(first["results"][1]["row"]["balance"], 130);
        // The same again was done before: nothing moves, although its own condition still holds.
        let again = world.ok("transfer", transfer("t", "a", "b", 30));
        for (step, balance) in [(0, 70), (1, 130)] {
            assert_eq!(again["results"][step]["existed"], true);
            assert_eq!(again["results"][step]["row"]["balance"], balance);
        }
        assert_eq!(again["results"][2]["row"], first["results"][2]["row"]);
        assert_eq!((balance(&world, "a"), balance(&world, "b")), (json!(70), json!(130)));
        let (kind, text) = world.fails("transfer", transfer("t", "a", "b", 31));
        assert_eq!(kind, ErrorKind::Conflict);
        assert!(text.contains("step: record"), "{text}");
    }
}

#[test]
fn done_before_goes_ahead_of_every_failure() {
    for world in worlds(LEDGER) {
        ledger(&world);
        world.ok("transfer", transfer("t", "a", "b", 100));
        // The source has nothing left, so that a new transfer fails; the old one was made.
        let (kind, text) = world.fails("transfer", transfer("u", "a", "b", 100));
        assert_eq!(kind, ErrorKind::Conflict);
        assert!(text.contains("step: debit"), "{text}");
        let again = world.ok("transfer", transfer("t", "a", "b", 100));
        assert_eq!(again["results"][0]["existed"], true);
        assert_eq!(balance(&world, "b"), 200);
    }
}

#[test]
fn two_changes_of_one_row_add_up() {
    for world in worlds(LEDGER) {
        ledger(&world);
        let same = world.ok("transfer", transfer("t", "a", "a", 60));
        assert_eq!(same["results"][0]["row"]["balance"], 100);
        assert_eq!(same["results"][1]["row"]["balance"], 100);
        assert_eq!(balance(&world, "a"), 100);
        // Each step is judged on what the one before it left.
        let (kind, text) = world.fails("transfer", transfer("u", "a", "a", 160));
        assert_eq!(kind, ErrorKind::Conflict);
        assert!(text.contains("step: debit"), "{text}");
    }
}

#[test]
fn a_batch_is_done_again_when_a_row_moves() {
    for world in worlds(LEDGER) {
        ledger(&world);
        world.before_next_commit(|world| {
            world.ok("transfer", transfer("x", "b", "a", 5));
        });
        world.ok("transfer", transfer("t", "a", "b", 30));
        assert_eq!((balance(&world, "a"), balance(&world, "b")), (json!(75), json!(125)));
        // Somebody else makes the very same transfer first.
        world.before_next_commit(|world| {
            world.ok("transfer", transfer("y", "a", "b", 1));
        });
        let second = world.ok("transfer", transfer("y", "a", "b", 1));
        assert_eq!(second["results"][2]["existed"], true);
        assert_eq!((balance(&world, "a"), balance(&world, "b")), (json!(74), json!(126)));
    }
}

#[test]
fn rows_of_a_step_come_from_a_list_of_the_call() {
    for world in worlds(LEDGER) {
        ledger(&world);
        world.ok("transfer", transfer("t", "a", "b", 1));
        let texts = json!([{ "line": 1, "text": "one" }, { "line": 2, "text": "two" }]);
        let call = json!({ "ledger": "l", "transfer": "t", "texts": texts });
        let made = world.ok("annotate", call.clone());
        let rows = &made["results"][0]["results"];
        assert_eq!(rows[1]["row"]["text"], "two");
        assert_eq!(rows[1]["row"]["state"], "new");
        assert_eq!(rows[1]["row"]["transfer"], "t");
        let again = world.ok("annotate", call);
        assert_eq!(again["results"][0]["results"][0]["existed"], true);
        let twice = json!([{ "line": 3, "text": "x" }, { "line": 3, "text": "y" }]);
        let (kind, text) =
            world.fails("annotate", json!({ "ledger": "l", "transfer": "t", "texts": twice }));
        assert_eq!(kind, ErrorKind::Argument);
        assert!(text.contains("step: add_lines, row: 1, same_as: 0"), "{text}");
        let other = json!([{ "line": 9, "text": "new" }, { "line": 2, "text": "changed" }]);
        let (kind, text) =
            world.fails("annotate", json!({ "ledger": "l", "transfer": "t", "texts": other }));
        assert_eq!(kind, ErrorKind::Conflict);
        assert!(text.contains("step: add_lines, row: 1"), "{text}");
        let lines = world.ok("lines", json!({ "ledger": "l", "transfer": "t" }));
        assert_eq!(lines["rows"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn versions_of_steps_have_names_of_their_own() {
    for world in worlds(LEDGER) {
        let opened = world.ok("open", json!({ "ledger": "l", "account": "a" }));
        let floor = |version: &Json| {
            let mut floor = json!({ "ledger": "l", "account": "a", "floor": -5 });
            floor["edit.if_version"] = version.clone();
            floor
        };
        world.ok("set_floor", floor(&opened["version"]));
        assert_eq!(world.fails("set_floor", floor(&opened["version"])).0, ErrorKind::Conflict);
    }
}
