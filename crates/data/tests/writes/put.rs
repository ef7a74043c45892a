//! `put`.

use crate::world::worlds;
use data::error::ErrorKind;
use serde_json::json;

const PAGES: &str = r#"
    [collection.pages]
    key = "site:{site: text} | {path: text}"
    fields.title = "text"
    fields.state = "draft|live = 'draft'"
    fields.hits = "i64 = 0"
    fields.at = "timestamp = now"
    fields.end = "timestamp?"
    ttl = "end"
    expect = { rows_per_group = 100 }
    index.by_title = { key = "title:{title} | {site}:{path}", keep = ["state"] }

    [collection.settings]
    key = "setting:{name: text}"
    value = "json"

    [collection.members]
    key = "guild:{guild: text} | {user: text}"
    fields = { joined_at = "timestamp = now" }
    expect = { rows_per_group = 100 }
    index.guilds = { key = "user:{user}:guilds | {guild}", expect = { rows_per_group = 100 } }

    [collection.facts]
    key = "fact:{id: text}"
    fields = { text = "text" }
    immutable = true

    [pattern.put_page]
    put = "pages"
    allow = "user"
    [pattern.publish]
    put = "pages"
    if = "state = 'draft'"
    allow = "user"
    [pattern.put_page_at]
    put = "pages"
    if_version = true
    allow = "user"
    [pattern.page]
    get = "pages"
    [pattern.titled]
    list = "pages.by_title"
    page = 10
    fields = ["site", "path", "state"]
    [pattern.set]
    put = "settings"
    allow = "user"
    [pattern.setting]
    get = "settings"
    [pattern.join]
    put = "members"
    allow = "user"
    [pattern.leave]
    delete = "members"
    allow = "user"
    [pattern.guilds]
    list = "members.guilds"
    page = 10
    [pattern.put_fact]
    put = "facts"
    allow = "user"
"#;

#[test]
fn the_whole_row_is_replaced_and_nothing_kept() {
    for world in worlds(PAGES) {
        let key = json!({ "site": "s", "path": "p" });
        world.ok("put_page", json!({ "site": "s", "path": "p", "title": "Old", "hits": 9 }));
        world.clock.advance(5_000);
        let put = world.ok("put_page", json!({ "site": "s", "path": "p", "title": "New" }));
        assert_eq!(put["row"]["hits"], 0);
        assert_eq!(put["row"]["at"], "2026-11-15T12:00:05.000Z");
        assert_eq!(world.ok("page", key)["row"], put["row"]);
        assert_eq!(world.ok("titled", json!({ "title": "Old" }))["rows"], json!([]));
        let titled = world.ok("titled", json!({ "title": "New" }));
        assert_eq!(titled["rows"], json!([{ "site": "s", "path": "p", "state": "draft" }]));
    }
}

#[test]
fn what_an_entry_keeps_and_when_it_ends_follow_the_row() {
    for world in worlds(PAGES) {
        let page = |state: &str, end: serde_json::Value| {
            let mut page = json!({ "site": "s", "path": "p", "title": "T", "state": state });
            page["end"] = end;
            page
        };
        world.ok("put_page", page("draft", json!(null)));
        world.ok("put_page", page("live", json!("2026-11-15T12:00:01.000Z")));
        let titled = world.ok("titled", json!({ "title": "T" }));
        assert_eq!(titled["rows"][0]["state"], "live");
        world.clock.advance(1_000);
        assert_eq!(world.ok("titled", json!({ "title": "T" }))["rows"], json!([]));
        world.ok("put_page", page("draft", json!(null)));
        assert_eq!(world.ok("titled", json!({ "title": "T" }))["rows"][0]["state"], "draft");
    }
}

#[test]
fn a_condition_is_judged_on_a_row_that_is_there() {
    for world in worlds(PAGES) {
        let page = json!({ "site": "s", "path": "p", "title": "T", "state": "live" });
        world.ok("publish", page.clone());
        let (kind, text) = world.fails("publish", page);
        assert_eq!(kind, ErrorKind::Conflict);
        assert_eq!(text, "the row does not fulfil the condition (collection: pages)");
    }
}

#[test]
fn a_version_must_be_that_of_the_row() {
    for world in worlds(PAGES) {
        let page = |version: &serde_json::Value| {
            let mut page = json!({ "site": "s", "path": "p", "title": "T" });
            page["if_version"] = version.clone();
            page
        };
        let first = world.ok("put_page", json!({ "site": "s", "path": "p", "title": "T" }));
        let second = world.ok("put_page_at", page(&first["version"]));
        assert_ne!(first["version"], second["version"]);
        assert_eq!(world.fails("put_page_at", page(&first["version"])).0, ErrorKind::Conflict);
        world.ok("put_page_at", json!({ "site": "s", "path": "p", "title": "T" }));
        // Nobody can have read a row that is not there.
        let mut absent = page(&first["version"]);
        absent["path"] = json!("q");
        assert_eq!(world.fails("put_page_at", absent).0, ErrorKind::Conflict);
        assert_eq!(world.fails("put_page_at", page(&json!("x"))).0, ErrorKind::Argument);
    }
}

#[test]
fn plain_rows_have_no_version_and_are_written_blindly() {
    for world in worlds(PAGES) {
        let ann = data::caller::Caller::user("ann");
        for value in [json!({ "a": [1, null] }), json!("text")] {
            let reply =
                world.reply(&ann, "set", json!({ "name": "n", "value": value }), None).unwrap();
            assert_eq!((reply.usage.rows_read, reply.usage.round_trips), (0, 1));
            let read = world.ok("setting", json!({ "name": "n" }));
            assert_eq!(read["row"]["value"], value);
            assert_eq!(read["version"], json!(null));
        }
        world.ok("join", json!({ "guild": "g", "user": "u" }));
        world.ok("join", json!({ "guild": "g", "user": "u" }));
        let joined = world.ok("guilds", json!({ "user": "u" }));
        assert_eq!(joined["rows"].as_array().unwrap().len(), 1);
        world.ok("leave", json!({ "guild": "g", "user": "u" }));
        assert_eq!(world.ok("guilds", json!({ "user": "u" }))["rows"], json!([]));
        assert_eq!(world.live_rows("members.guilds"), 0);
    }
}

#[test]
fn an_immutable_row_is_put_once() {
    for world in worlds(PAGES) {
        world.ok("put_fact", json!({ "id": "f", "text": "one" }));
        assert_eq!(world.ok("put_fact", json!({ "id": "f", "text": "one" }))["existed"], true);
        let other = json!({ "id": "f", "text": "two" });
        assert_eq!(world.fails("put_fact", other).0, ErrorKind::Conflict);
    }
}
