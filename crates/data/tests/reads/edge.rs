//! The edge: calls from JSON and from text, answers as JSON.

use crate::support::{Bench, NOW, ann, object};
use data::request::{Answer, Changed, Given};
use data::store::CommitId;
use data::{Error, ErrorKind, Value};
use serde_json::{Value as Json, json};

fn camel() -> Bench {
    let text = r#"
        names = "camelCase"

        [collection.notes]
        key = "org:{org_id: text}/{day: date} | {note_id: u64}:{path: text..}"
        fields.created_at = "timestamp = now"
        fields.due_at = "timestamp?"
        fields.tags = "[text] = []"
        fields.extra_data = "json?"
        fields.big_number = "i64 = 0"
        fields.done = "bool = false"
        body = "bytes"
        expect = { rows_per_group = 100 }

        [pattern.write_notes]
        put = "notes"
        many = 3
        allow = "user"

        [pattern.get_note]
        get = "notes"

        [pattern.change_note]
        update = "notes"
        set = ["due_at", "done"]
        if_version = true
        allow = "user"

        [pattern.list_notes]
        list = "notes"
        page = 5
    "#;
    Bench::open(&text.replace("}/{day", "}:{day"))
}

fn given(bench: &Bench, pattern: &str, json: Json) -> Result<Vec<Given>, Error> {
    bench.pattern(pattern).given_from_json(bench.runtime.keyspace(), &object(json))
}

fn texts(bench: &Bench, pattern: &str, pairs: &[(&str, &str)]) -> Result<Vec<Given>, Error> {
    let pairs: Vec<(String, String)> =
        pairs.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
    bench.pattern(pattern).given_from_text(bench.runtime.keyspace(), &pairs)
}

const KEY: [(&str, &str); 4] =
    [("orgId", "o"), ("day", "2026-11-15"), ("noteId", "7"), ("path", "a/b")];

#[test]
fn arguments_have_the_names_people_see() {
    let bench = camel();
    let json = json!({"path": ["a", "b"], "orgId": "o", "noteId": 7, "day": "2026-11-15"});
    let from_json = given(&bench, "get_note", json).unwrap();
    assert_eq!(from_json, texts(&bench, "get_note", &KEY).unwrap());
    assert_eq!(from_json[2], Given::Value(Value::U64(7)));
    let error = given(&bench, "get_note", json!({"org_id": "o"})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert_eq!(error.value("argument"), Some("org_id"));
}

#[test]
fn an_unknown_argument_is_answered_with_a_near_one() {
    let bench = camel();
    let error = given(&bench, "get_note", json!({"noteIdd": 1})).unwrap_err();
    assert_eq!(error.value("did you mean"), Some("noteId"), "{error}");
    let error = given(&bench, "get_note", json!({"colour": 1})).unwrap_err();
    assert_eq!(error.value("arguments"), Some("orgId, day, noteId, path"), "{error}");
    let long = "x".repeat(100_000);
    let error = texts(&bench, "get_note", &[(&long, "1")]).unwrap_err();
    assert!(error.to_string().len() < 1_000);
}

#[test]
fn a_wrong_value_is_named_with_its_row() {
    let bench = camel();
    let error = given(&bench, "get_note", json!({"noteId": "x"})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert_eq!(error.value("argument"), Some("noteId"));
    let rows = json!([{"noteId": 1, "path": []}, {"noteId": 2, "path": [], "done": 3}]);
    let error = given(&bench, "write_notes", json!({"rows": rows})).unwrap_err();
    assert_eq!(error.value("row"), Some("1"), "{error}");
    assert_eq!(error.value("argument"), Some("done"), "{error}");
    for rows in [json!({}), json!([1]), json!("x"), json!(null)] {
        let error = given(&bench, "write_notes", json!({"rows": rows})).unwrap_err();
        assert_eq!(error.value("argument"), Some("rows"), "{error}");
    }
    let error = texts(&bench, "write_notes", &[("rows", "[")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
}

#[test]
fn null_is_a_value_where_it_may_be_and_nothing_for_pages() {
    let bench = camel();
    let find = |pattern: &str, given: Vec<Given>, name: &str| {
        let prepared = bench.pattern(pattern);
        let position = prepared.pattern.arguments.iter().position(|a| a.name == name).unwrap();
        given[position].clone()
    };
    let cleared = given(&bench, "change_note", json!({"dueAt": null})).unwrap();
    assert_eq!(find("change_note", cleared.clone(), "due_at"), Given::Value(Value::Null));
    assert_eq!(find("change_note", cleared, "done"), Given::Missing);
    assert!(given(&bench, "change_note", json!({"done": null})).is_err());
    assert!(given(&bench, "change_note", json!({"ifVersion": null})).is_err());
    let page = given(&bench, "list_notes", json!({"limit": null, "cursor": null})).unwrap();
    assert_eq!(find("list_notes", page.clone(), "limit"), Given::Missing);
    assert_eq!(find("list_notes", page, "cursor"), Given::Missing);
}

#[test]
fn text_gives_each_argument_once_and_rows_as_json() {
    let bench = camel();
    let twice = [("noteId", "1"), ("noteId", "2")];
    let error = texts(&bench, "get_note", &twice).unwrap_err();
    assert_eq!(error.value("argument"), Some("noteId"));
    let rows = r#"[{"noteId": 1, "path": ["a"], "tags": ["x"]}]"#;
    let from_text = texts(&bench, "write_notes", &[("rows", rows)]).unwrap();
    let json: Json = serde_json::from_str(rows).unwrap();
    assert_eq!(from_text, given(&bench, "write_notes", json!({"rows": json})).unwrap());
    let rows = r#"[{"noteId": 1, "noteId": 2, "path": ["a"], "tags": ["x"]}]"#;
    let error = texts(&bench, "write_notes", &[("rows", rows)]).unwrap_err();
    assert_eq!(error.value("argument"), Some("rows"));
}

#[test]
fn rows_are_answered_with_the_names_people_see() {
    let bench = camel();
    let row = json!({
        "org_id": "o", "day": "2026-11-15", "note_id": 7, "path": ["a", "b"],
        "created_at": "2026-11-15T10:00:00.000Z", "tags": ["x"],
        "extra_data": {"snake_case": [1.5, null]}, "big_number": "9007199254740993",
        "body": "AP8",
    });
    bench.put("notes", row);
    let arguments = json!({"orgId": "o", "day": "2026-11-15", "noteId": 7, "path": ["a", "b"]});
    let answer = bench.json("get_note", arguments, &ann());
    let expected = json!({
        "orgId": "o", "day": "2026-11-15", "noteId": 7, "path": ["a", "b"],
        "createdAt": "2026-11-15T10:00:00.000Z", "dueAt": null, "tags": ["x"],
        "extraData": {"snake_case": [1.5, null]}, "bigNumber": "9007199254740993",
        "done": false, "body": "AP8",
    });
    assert_eq!(answer["row"].to_string(), expected.to_string(), "in this order");
    let page = bench.json("list_notes", json!({"orgId": "o", "day": "2026-11-15"}), &ann());
    assert_eq!(page, json!({"rows": [expected], "next": null}));
}

#[test]
fn changes_counters_and_windows_have_their_shapes() {
    let bench = camel();
    let schema = bench.runtime.schema();
    let collection = bench.collection("notes");
    let row = json!({"org_id": "a:b", "day": "2026-11-15", "note_id": 7, "path": ["x", "y%"]});
    let (segments, _) = crate::support::values(&collection, &row);
    let key = collection.key.encode(&segments).unwrap();
    let version = CommitId::from_bytes([7; 16]);
    let changed =
        |existed| Changed { key: key.clone(), version: Some(version), row: None, existed };
    let json = |answer: Answer| answer.to_json(schema).unwrap();
    let text = "org:a%3ab:2026-11-15:7:x:y%25";
    let one = json!({"key": text, "version": version.to_string(), "row": null});
    assert_eq!(json(Answer::Changed(changed(false))), one);
    let mut there = one.clone();
    there["existed"] = json!(true);
    assert_eq!(json(Answer::Changed(changed(true))), there);
    let both = Answer::ChangedRows(vec![changed(false), changed(true)]);
    assert_eq!(json(both), json!({"results": [one, there]}));
    assert_eq!(json(Answer::Total(-3)), json!({"total": -3}));
    assert_eq!(json(Answer::Total(i64::MAX)), json!({"total": i64::MAX.to_string()}));
    let window = Answer::Window { allowed: false, remaining: 0, resets_at: NOW };
    let expected =
        json!({"allowed": false, "remaining": 0, "resets_at": "2026-11-15T10:00:00.000Z"});
    assert_eq!(json(window.clone()), expected);
    let results = Answer::Results(vec![Answer::Total(1), window]);
    assert_eq!(json(results), json!({"results": [{"total": 1}, expected]}));
    assert_eq!(json(Answer::Rows(vec![None])), json!({"rows": [null]}));
}
