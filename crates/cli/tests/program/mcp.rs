//! `keyway mcp`: an application without code of its own, and who calls.

use crate::tools::{Tools, reason};
use crate::{Directory, Ran, keyway, keyway_with, scaffold, token};
use serde_json::{Value as Json, json};

/// The scaffold's tools, as the program's own words have them.
const TOOLS: [&str; 9] = [
    "save_note",
    "list_notes",
    "get_template",
    "create_post",
    "recent_posts",
    "posts_by_tag",
    "save_location",
    "find_nearby",
    "change_email",
];

/// The scaffold's tools for somebody.
fn on_scaffold(caller: &[&str]) -> Tools {
    let begin = ["apps/scaffold/keyspace.toml", "--store", "memory:"];
    Tools::start(&[&begin, caller].concat(), &[])
}

/// One member of each row of a page.
fn column(page: &Json, member: &str) -> Vec<Json> {
    page["rows"].as_array().unwrap().iter().map(|row| row[member].clone()).collect()
}

#[test]
fn the_scaffold_works_with_no_code_of_its_own() {
    let mut tools = on_scaffold(&["--as", "ann", "--role", "admin"]);
    let listed = tools.ask("tools/list", json!({}));
    for name in TOOLS {
        let tool = listed["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name);
        let tool = tool.unwrap_or_else(|| panic!("there is no tool {name}"));
        let is_said = tool["description"].is_string() && tool["inputSchema"]["type"] == "object";
        assert!(is_said && tool["outputSchema"]["type"] == "object", "{tool}");
    }
    let note = tools.call("save_note", json!({ "title": "Milk", "content": "two bottles" }));
    assert_eq!((&note["row"]["user_id"], &note["row"]["title"]), (&json!("ann"), &json!("Milk")));
    assert_eq!(
        column(&tools.call("list_notes", json!({})), "note_id"),
        [note["row"]["note_id"].clone()]
    );
    let letter = json!({ "greeting": "Hello" });
    tools.call("put_template", json!({ "name": "letter", "value": letter }));
    let read = tools.call("get_template", json!({ "name": "letter" }));
    assert_eq!(read["row"]["value"], letter);
    for (content, tags) in [("one", json!(["x", "y"])), ("two", json!(["x"]))] {
        let post = tools.call("create_post", json!({ "content": content, "tags": tags }));
        assert_eq!(post["row"]["content"], content);
        // Posts of one millisecond have no order that could be told.
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(column(&tools.call("recent_posts", json!({})), "content"), ["two", "one"]);
    let tagged = |tools: &mut Tools, tag: &str| {
        column(&tools.call("posts_by_tag", json!({ "tags": tag })), "content")
    };
    assert_eq!(tagged(&mut tools, "x"), ["two", "one"]);
    assert_eq!(tagged(&mut tools, "y"), ["one"]);
    for (name, lat, lon) in [("Central", 59.911, 10.753), ("Bergen", 60.39, 5.32)] {
        let place = tools.call("save_location", json!({ "name": name, "lat": lat, "lon": lon }));
        assert_eq!(place["row"]["name"], name);
    }
    let near = json!({ "lat": 59.912, "lon": 10.75, "radius": 2_000 });
    assert_eq!(column(&tools.call("find_nearby", near), "name"), ["Central"]);
    tools.call("register", json!({ "email": "Ann@example.org", "name": "Ann" }));
    let changed = tools.call("change_email", json!({ "email": "ann@example.net" }));
    assert_eq!(changed["row"]["email"], "ann@example.net");
    let found = tools.call("find_user_by_email", json!({ "email": "ANN@example.net" }));
    assert_eq!(found["row"]["name"], "Ann");
    let gone = tools.call("find_user_by_email", json!({ "email": "ann@example.org" }));
    assert_eq!(gone["row"], json!(null));
    assert_eq!(tools.end(), Some(0));
}

#[test]
fn a_tool_says_what_it_lacks() {
    let mut tools = on_scaffold(&["--as", "ann"]);
    let refused = tools.refused("save_note", json!({ "title": "Milk" }));
    assert!(refused.contains("content"), "{refused}");
    let refused = tools.refused("put_template", json!({ "name": "letter", "value": 1 }));
    assert!(refused.contains("role"), "{refused}");
    let names = tools.names();
    assert!(TOOLS.iter().all(|name| names.iter().any(|known| known == name)), "{names:?}");
    assert!(!names.contains(&"put_template".to_string()), "{names:?}");
    assert_eq!(tools.end(), Some(0));
}

#[test]
fn a_token_says_who_calls() {
    let directory = Directory::new("mcp-token");
    let file = scaffold(&directory);
    let ann = token(&file, &["--as", "ann"]);
    let admin = token(&file, &["--as", "root", "--role", "admin"]);
    let mut tools = Tools::start(&[&file, "--token", &ann], &[]);
    assert!(!tools.names().contains(&"put_template".to_string()));
    let saved = tools.call("save_note", json!({"title": "Milk", "content": "two"}));
    assert_eq!(saved["row"]["user_id"], "ann", "{saved}");
    assert_eq!(tools.end(), Some(0));
    // The variable does what the option does.
    let mut tools = Tools::start(&[&file], &[("KEYWAY_TOKEN", &admin)]);
    assert!(tools.names().contains(&"put_template".to_string()));
    let notes = tools.call("list_notes", json!({}));
    assert_eq!(notes["rows"], json!([]), "Ann's note is Ann's");
    assert_eq!(tools.end(), Some(0));
}

#[test]
fn a_token_that_is_revoked_meanwhile_calls_nothing_more() {
    let directory = Directory::new("mcp-revoked");
    let file = scaffold(&directory);
    let ann = token(&file, &["--as", "ann"]);
    let mut tools = Tools::start(&[&file, "--token", &ann], &[]);
    tools.call("list_notes", json!({}));
    let id = ann.split('_').nth(2).unwrap();
    assert_eq!(keyway(&["token", "revoke", &file, id]).status, 0);
    let words = loop {
        if let Some(words) = reason(&tools.result("list_notes", json!({}))) {
            break words;
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
    };
    assert!(words.contains("revoked"), "{words}");
    assert!(tools.said("tools/list", json!({}))["error"].is_object());
    assert_eq!(tools.end(), Some(0));
}

#[test]
fn a_token_that_is_worth_nothing_is_refused_at_once() {
    let directory = Directory::new("mcp-refused");
    let file = scaffold(&directory);
    let ann = token(&file, &["--as", "ann"]);
    let refused = |ran: Ran, status: i32, words: &str| {
        assert_eq!(ran.status, status, "{}", ran.complaint);
        assert!(ran.complaint.contains(words), "{}", ran.complaint);
        assert!(ran.output.is_empty(), "{}", ran.output);
    };
    let asks = |more: &[&str]| keyway_with(&[&["mcp", &file], more].concat(), "", &[]);
    let (front, last) = ann.split_at(ann.len() - 1);
    let other = format!("{front}{}", if last == "A" { "B" } else { "A" });
    for wrong in ["x", "", front, &other] {
        refused(asks(&["--token", wrong]), 1, "not known, has ended or was revoked");
    }
    // A token of another book.
    let other = Directory::new("mcp-refused-other");
    let foreign = token(&scaffold(&other), &["--as", "ann"]);
    refused(asks(&["--token", &foreign]), 1, "not known, has ended or was revoked");
    for more in [["--as", "bob"], ["--role", "admin"], ["--tenant", "acme"]] {
        refused(asks(&[&["--token", &ann], more.as_slice()].concat()), 2, "--token");
        let in_variable = [("KEYWAY_TOKEN", ann.as_str())];
        let ran = keyway_with(&[&["mcp", &file], more.as_slice()].concat(), "", &in_variable);
        refused(ran, 2, "KEYWAY_TOKEN");
    }
}
