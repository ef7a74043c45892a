//! Opening a keyspace and calling it by name; what is wrong is said where it can be mended.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use keyway::clock::ManualClock;
use keyway::{Answer, Caller, Error, ErrorKind, Keyway, Page, Record, Timestamp, Value};
use serde_json::{Value as Json, json};
use std::time::Duration;

const NOTES: &str = "examples/notes.toml";

async fn notes() -> Keyway {
    Keyway::builder().check_bounds(true).open(NOTES, "memory:").await.unwrap()
}

async fn refused(text: &str, url: &str) -> Error {
    match keyway::open_text(text, url).await {
        Ok(_) => panic!("it was opened"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn errors_of_the_file_are_drawn_all_at_once() {
    let text = std::fs::read_to_string("tests/broken.toml").unwrap();
    let error = refused(&text, "memory:").await;
    assert_eq!(error.kind(), ErrorKind::Argument);
    let drawn = error.to_string();
    assert!(drawn.contains("error[KW023]") && drawn.contains("error[KW302]"), "{drawn}");
    assert!(drawn.contains("--> keyspace.toml:6:21"), "{drawn}");
    let missing = keyway::open("tests/none.toml", "memory:").await.unwrap_err();
    assert_eq!(missing.value("file"), Some("tests/none.toml"));
}

#[tokio::test]
async fn warnings_can_be_asked_for() {
    let text = "[keyspace]\nname = \"x\"\n[collection.notes]\nkey = \"n:{id: text}\"\n\
                fields = { a = \"text\" }\n[pattern.put]\nput = \"notes\"\n\
                [pattern.get]\nget = \"notes\"\n";
    let opened = keyway::open_text(text, "memory:").await.unwrap();
    let drawn = opened.warnings().join("\n");
    assert!(drawn.contains("warning[KW"), "{drawn}");
    assert!(notes().await.warnings().is_empty());
}

#[tokio::test]
async fn stores_of_later_versions_are_named() {
    let error = refused("", "indexeddb://ann:secret@host/db").await;
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(error.value("store"), Some("indexeddb"));
}

#[tokio::test]
async fn names_that_are_wrong_are_told_the_right_ones() {
    let notes = notes().await;
    let error = notes.call("write_not").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert!(error.to_string().contains("write_note"), "{error}");
    let error = notes.call("write_note").by("ann").arg("titel", "x").await.unwrap_err();
    assert!(error.to_string().contains("title"), "{error}");
    let error = notes.call("write_note").by("ann").arg("user_id", "ben").await.unwrap_err();
    assert!(error.to_string().contains("never an argument"), "{error}");
    let error = notes.call("my_notes").arg("limt", 1).pages().unwrap_err();
    assert!(error.to_string().contains("limit"), "{error}");
}

#[tokio::test]
async fn values_are_typed_by_the_file() {
    let notes = notes().await;
    let wrong = [
        notes.call("write_note").arg("title", 1),
        notes.call("write_note").arg("title", Value::Null),
        notes.call("write_note").arg("title", "x").arg("state", "shut"),
        notes.call("write_note").arg("title", "x").arg("due", "tomorrow"),
        notes.call("my_notes").arg("limit", -1),
        notes.call("get_note").arg("note_id", "x"),
        notes.call("write_note"),
    ];
    for call in wrong {
        let error = call.by("ann").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
    }
    let written = notes.call("write_note").by("ann").arg("title", "x").arg("due", "2026-11-15");
    let written = written.arg("tags", json!(["a"])).json().await.unwrap();
    assert_eq!(written["row"]["due"], "2026-11-15");
    assert_eq!(written["row"]["tags"], json!(["a"]));
}

#[tokio::test]
async fn nobody_and_others_see_nothing() {
    let notes = notes().await;
    let written = notes.call("write_note").by("ann").arg("title", "x").json().await.unwrap();
    let id = written["row"]["note_id"].as_str().unwrap();
    let denied = notes.call("get_note").arg("note_id", id).await.unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::Denied);
    let ben = Caller::user("ben");
    let foreign = notes.call("get_note").as_caller(&ben).arg("note_id", id);
    assert_eq!(foreign.answer::<Option<Record>>().await.unwrap().map(|_| ()), None);
}

#[tokio::test]
async fn json_goes_in_and_comes_out() {
    let notes = notes().await;
    let ann = Caller::user("ann");
    let written = notes.call_json("write_note", json!({"title": "x"}), &ann).await.unwrap();
    let key = written["key"].as_str().unwrap();
    assert!(key.starts_with("user:ann:notes:"), "{key}");
    let page = notes.call_json("my_notes", Json::Null, &ann).await.unwrap();
    assert_eq!((page["rows"][0]["title"].as_str(), &page["next"]), (Some("x"), &Json::Null));
    let error = notes.call_json("my_notes", json!([1]), &ann).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    let rows: Page<Json> = notes.call("my_notes").by("ann").answer().await.unwrap();
    assert_eq!(rows.rows[0]["state"], "open");
}

#[tokio::test]
async fn pages_end_where_the_list_ends() {
    let notes = notes().await;
    for number in 0..5 {
        let title = format!("n{number}");
        notes.call("write_note").by("ann").arg("title", title).await.unwrap();
    }
    let mut pages = notes.call("my_notes").by("ann").arg("limit", 2).pages().unwrap();
    let mut sizes = Vec::new();
    while let Some(page) = pages.next().await.unwrap() {
        sizes.push(page.rows.len());
    }
    assert_eq!(sizes.iter().sum::<usize>(), 5);
    assert!(pages.next().await.unwrap().is_none());
}

const SESSIONS: &str = "[keyspace]\nname = \"x\"\n[collection.sessions]\n\
    key = \"session:{id: text}\"\nfields = { at = \"timestamp = now\" }\nttl = \"1h\"\n\
    [pattern.start]\nput = \"sessions\"\nallow = \"user\"\n[pattern.get]\nget = \"sessions\"\n";

#[tokio::test]
async fn rows_that_have_ended_are_gone_and_then_removed() {
    let clock = ManualClock::at(1_000);
    let options = Keyway::builder().clock(clock.clone()).sweep_every(None);
    let sessions = options.open_text(SESSIONS, "memory:").await.unwrap();
    let started = sessions.call("start").by("ann").arg("id", "a").json().await.unwrap();
    assert_eq!(started["row"]["at"], Timestamp(1_000).to_string());
    assert_eq!(sessions.sweep().await.unwrap(), 0);
    clock.advance(3_600_000);
    let read = sessions.call("get").by("ann").arg("id", "a").json().await.unwrap();
    assert_eq!(read["row"], Json::Null);
    assert_eq!(sessions.sweep().await.unwrap(), 1);
    assert_eq!(sessions.sweep().await.unwrap(), 0);
}

#[tokio::test]
async fn a_task_removes_what_has_ended() {
    let clock = ManualClock::at(1_000);
    let options = Keyway::builder().clock(clock.clone()).sweep_every(Duration::from_millis(1));
    let sessions = options.open_text(SESSIONS, "memory:").await.unwrap();
    let started = sessions.call("start").by("ann").arg("id", "a").await.unwrap();
    let Answer::Changed(changed) = started.answer else { panic!("a put answers a change") };
    let (store, keys) = (sessions.runtime().store(), [changed.key]);
    assert!(store.get(&keys).await.unwrap()[0].is_some());
    clock.advance(3_600_000);
    // However long the machine takes; a task that does nothing never ends this.
    while store.get(&keys).await.unwrap()[0].is_some() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_closed_keyspace_answers_nothing() {
    let notes = notes().await;
    let same = notes.clone();
    notes.close().await.unwrap();
    notes.close().await.unwrap();
    let error = same.call("my_notes").by("ann").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

#[test]
fn a_store_in_memory_needs_no_run_time() {
    use std::task::{Context, Poll, Waker};
    let mut work = std::pin::pin!(async {
        let notes = keyway::open(NOTES, "memory:").await?;
        notes.call("write_note").by("ann").arg("title", "x").json().await
    });
    let mut context = Context::from_waker(Waker::noop());
    let written = loop {
        if let Poll::Ready(written) = work.as_mut().poll(&mut context) {
            break written.unwrap();
        }
    };
    assert_eq!(written["row"]["title"], "x");
}
