//! Commands that show a sound file: explain, layout, doc, schema.

use crate::{Directory, apps, keyway, keyway_with};

const CHAT: &str = "apps/chat/keyspace.toml";
const STORES: [&str; 10] = [
    "memory",
    "engine",
    "files",
    "sqlite",
    "postgres",
    "redis",
    "redis-cluster",
    "cassandra",
    "scylla",
    "indexeddb",
];

#[test]
fn explain_shows_every_pattern_or_one() {
    let all = keyway(&["explain", CHAT]);
    assert_eq!(all.status, 0);
    assert!(all.output.contains("\nsend_message "), "{}", all.output);
    assert!(all.output.contains("conditional: users_by_email is unique"), "{}", all.output);
    let one = keyway(&["explain", CHAT, "read_messages", "--store", "cassandra"]);
    assert_eq!(one.status, 0);
    assert!(one.output.contains("cassandra"), "{}", one.output);
    assert!(!one.output.contains("postgres"), "{}", one.output);
    let unknown = keyway(&["explain", CHAT, "read_mesages"]);
    assert_eq!(unknown.status, 2);
    assert!(unknown.complaint.contains("did you mean `read_messages`?"), "{}", unknown.complaint);
    assert!(keyway(&["explain", CHAT, "zzz"]).complaint.contains("the patterns are send_message,"));
}

#[test]
fn explain_as_json() {
    let ran = keyway(&["explain", CHAT, "read_messages", "--json"]);
    let object: serde_json::Value = serde_json::from_str(&ran.output).unwrap();
    let pattern = &object["patterns"][0];
    assert_eq!(pattern["name"], "read_messages");
    assert_eq!(pattern["verb"], "list");
    assert_eq!(pattern["stores"].as_array().unwrap().len(), 10);
    assert!(pattern["stores"][0]["most"]["rows_read"].as_u64().unwrap() > 0);
    assert!(!pattern["steps"].as_array().unwrap().is_empty());
    let one = keyway(&["explain", CHAT, "--json", "--store", "redis"]);
    let object: serde_json::Value = serde_json::from_str(&one.output).unwrap();
    assert!(object["patterns"].as_array().unwrap().len() > 10);
    assert_eq!(object["patterns"][0]["stores"][0]["store"], "redis");
}

#[test]
fn layouts_of_every_application_on_every_store() {
    for app in apps() {
        let all = keyway(&["layout", &app]);
        assert_eq!(all.status, 0);
        for store in STORES {
            assert!(all.output.contains(&format!("=== {store} ===\n")), "{app} {store}");
            let one = keyway(&["layout", &app, "--store", store]);
            assert_eq!(one.status, 0);
            assert!(!one.output.is_empty(), "{app} {store}");
            assert!(all.output.contains(one.output.trim_end()), "{app} {store}");
        }
    }
}

#[test]
fn layout_as_json() {
    let text = keyway(&["layout", CHAT, "--store", "postgres"]).output;
    let ran = keyway(&["layout", CHAT, "--store", "postgres", "--json"]);
    let object: serde_json::Value = serde_json::from_str(&ran.output).unwrap();
    assert_eq!(object, serde_json::json!({ "store": "postgres", "text": text }));
    let all: serde_json::Value =
        serde_json::from_str(&keyway(&["layout", CHAT, "--json"]).output).unwrap();
    assert_eq!(all["layouts"].as_array().unwrap().len(), 10);
}

#[test]
fn openapi_of_every_application() {
    for app in apps() {
        let printed = keyway(&["generate", "openapi", &app]);
        assert_eq!((printed.status, printed.complaint.as_str()), (0, ""), "{app}");
        let document: serde_json::Value = serde_json::from_str(&printed.output).unwrap();
        assert_eq!(document["openapi"], "3.1.0", "{app}");
        assert!(document["paths"].as_object().unwrap().len() > 3, "{app}");
    }
    let there = keyway(&["generate", "openapi", CHAT, "--store", "redis"]).output;
    let refused = keyway(&["generate", "openapi", CHAT, "--store", "redis-cluster"]).output;
    assert!(there.contains("\"/open_direct\"") && there.contains("On redis, a call takes at most"));
    assert!(!refused.contains("\"/open_direct\""), "a pattern that the store refuses");
}

#[test]
fn documents_are_printed_or_written() {
    let page = keyway(&["doc", CHAT]);
    assert_eq!(page.status, 0);
    assert!(page.output.starts_with("# "), "{}", page.output);
    assert!(keyway(&["doc", CHAT, "--svg"]).output.starts_with("<svg"));
    assert!(keyway(&["doc", CHAT, "--mermaid"]).output.contains("flowchart"));
    let directory = Directory::new("doc");
    let output = directory.path("made/here");
    let ran = keyway(&["doc", CHAT, "--output", &output]);
    assert_eq!(ran.status, 0);
    assert!(ran.output.contains("chat.md") && ran.output.contains("chat.svg"), "{}", ran.output);
    assert_eq!(directory.read("made/here/chat.md"), page.output);
    let file = directory.write("file", "");
    let ran = keyway(&["doc", CHAT, "--output", &file]);
    assert_eq!(ran.status, 2);
    assert!(ran.complaint.contains("fix: name a directory"), "{}", ran.complaint);
    assert_eq!(keyway(&["doc", CHAT, "--svg", "--mermaid"]).status, 2);
}

#[test]
fn the_schema_is_one_json_object() {
    let ran = keyway(&["schema"]);
    assert_eq!(ran.status, 0);
    let object: serde_json::Value = serde_json::from_str(&ran.output).unwrap();
    assert_eq!(object["$schema"], "http://json-schema.org/draft-07/schema#");
    assert!(object["properties"]["collection"].is_object());
}

#[test]
fn problems_of_a_file_go_to_standard_error() {
    let bad = "[keyspace]\nname = \"shop\"\n[collection.a]\nkey = \"a:{id: string}\"\n\
        [pattern.get_a]\nget = \"a\"\n[pattern.put_a]\nput = \"a\"\nallow = \"user\"\n";
    for arguments in [&["explain", "-"][..], &["layout", "-"], &["doc", "-"]] {
        let ran = keyway_with(arguments, bad, &[]);
        assert_eq!(ran.status, 1, "{arguments:?}");
        assert_eq!(ran.output, "", "{arguments:?}");
        assert!(ran.complaint.contains("error[KW023]"), "{arguments:?}: {}", ran.complaint);
        assert!(ran.complaint.contains(" in <standard input>"), "{}", ran.complaint);
    }
    let ran = keyway_with(&["layout", "-", "--json"], bad, &[]);
    assert_eq!((ran.status, ran.output.as_str()), (1, ""));
    let object: serde_json::Value = serde_json::from_str(&ran.complaint).unwrap();
    assert_eq!(object["problems"][0]["code"], "KW023");
}

#[test]
fn every_command_answers_in_json() {
    let bad = keyway_with(&["format", "-", "--json"], "a = \n", &[]);
    let problems: serde_json::Value = serde_json::from_str(&bad.complaint).unwrap();
    assert_eq!(problems["problems"][0]["code"], "KW001");
    let commands: [&[&str]; 9] = [
        &["check", CHAT],
        &["explain", CHAT],
        &["layout", CHAT],
        &["doc", CHAT],
        &["doc", CHAT, "--svg"],
        &["schema"],
        &["format", "--check", CHAT],
        &["new", "shop"],
        &["why"],
    ];
    for command in commands {
        let ran = keyway(&[command, &["--json"]].concat());
        assert_eq!(ran.status, 0, "{command:?}: {}", ran.complaint);
        let object: serde_json::Value = serde_json::from_str(&ran.output).unwrap();
        assert!(object.is_object(), "{command:?}");
    }
    let page: serde_json::Value =
        serde_json::from_str(&keyway(&["why", "KW103", "--json"]).output).unwrap();
    assert_eq!(page["code"]["code"], "KW103");
    let none = keyway(&["check", "no/such/file.toml", "--json"]);
    let failure: serde_json::Value = serde_json::from_str(&none.complaint).unwrap();
    assert!(failure["error"].as_str().unwrap().contains("no/such/file.toml"));
    assert_eq!(none.status, 2);
}
