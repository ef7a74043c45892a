//! Typed calls of every verb: what goes in comes back, as the types of Rust say it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use keyway::clock::SeededRandom;
use keyway::{Bytes, Caller, CommitId, Date, ErrorKind, Keyway, Timestamp, Uuid};
use serde_json::json;

mod sample {
    keyway::include_keyspace!("../macros/tests/golden/sample.toml");
}

mod chat {
    keyway::include_keyspace!("../../apps/chat/keyspace.toml");
}

use sample::{Desk, DeskCaller, GetTicketsEach, ImportTicketsEach, TicketState};

async fn desk() -> DeskCaller {
    let options = Keyway::builder().check_bounds(true);
    let desk = Desk::open_with(options, "memory:").await.unwrap();
    desk.by(&Caller::user("ann").with_role("import"))
}

#[tokio::test]
async fn every_type_goes_in_and_comes_back() {
    let desk = desk().await;
    let before = Timestamp::now();
    let opened = desk
        .open_ticket("front", "bug")
        .state(TicketState::InProgress)
        .due(Date(20_000))
        .tags(["a", "b"])
        .extra(json!({"n": [1, null]}))
        .await
        .unwrap();
    let ticket = opened.row;
    assert_eq!((ticket.desk.as_str(), ticket.r#type.as_str()), ("front", "bug"));
    assert_eq!((ticket.state, ticket.due), (TicketState::InProgress, Some(Date(20_000))));
    assert_eq!(ticket.tags, ["a", "b"]);
    assert_eq!(ticket.extra, json!({"n": [1, null]}));
    // The store's clock is sampled once and then counted; the machine's may be set meanwhile.
    assert!(ticket.at.0.abs_diff(before.0) < 3_600_000);
    assert!(opened.version.is_some() && !opened.existed);
}

#[tokio::test]
async fn what_is_left_out_has_its_default() {
    let desk = desk().await;
    let ticket = desk.open_ticket("front", "bug").due(None).await.unwrap().row;
    assert_eq!((ticket.state, ticket.due), (TicketState::Open, None));
    assert_eq!((ticket.tags.len(), ticket.extra), (0, json!({})));
}

#[tokio::test]
async fn a_change_keeps_clears_and_holds_to_its_version() {
    let desk = desk().await;
    let opened = desk.open_ticket("front", "bug").due(Date(1)).tags(["a"]).await.unwrap();
    let id = opened.row.ticket_id;
    let kept = desk.r#move("front", id).state(TicketState::Done).await.unwrap();
    assert_eq!((kept.row.state, kept.row.due), (TicketState::Done, Some(Date(1))));
    let cleared = desk.r#move("front", id).clear_due().if_version(kept.version).await.unwrap();
    assert_eq!((cleared.row.due, cleared.row.tags.len()), (None, 1));
    let late = desk.r#move("front", id).tags(["b"]).if_version(kept.version).await;
    assert_eq!(late.unwrap_err().kind(), ErrorKind::Conflict);
}

#[tokio::test]
async fn reads_answer_rows_in_order_with_their_versions() {
    let desk = desk().await;
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(desk.open_ticket("front", format!("t{number}")).await.unwrap().row.ticket_id);
    }
    let each = |ticket_id| GetTicketsEach { desk: "front".to_string(), ticket_id };
    let got = desk.get_tickets([each(ids[3]), each(ids[0])]).await.unwrap();
    let types: Vec<&str> = got.iter().flatten().map(|ticket| ticket.r#type.as_str()).collect();
    assert_eq!(types, ["t3", "t0"]);
    assert!(got.iter().flatten().all(|ticket| ticket.version.is_some()));
    let other = GetTicketsEach { desk: "back".to_string(), ticket_id: ids[0] };
    assert_eq!(desk.get_tickets([other]).await.unwrap(), [None]);

    // Newest first, page by page; and what the index keeps, oldest first.
    let mut rows = desk.tickets_of("front").limit(2).pages().rows();
    let mut types = Vec::new();
    while let Some(ticket) = rows.next().await.unwrap() {
        types.push(ticket.row.r#type);
    }
    assert_eq!(types, ["t4", "t3", "t2", "t1", "t0"]);
    let page = desk.tickets_in_state("front", TicketState::Open).from(ids[2]).limit(2);
    let page = page.await.unwrap();
    let kept: Vec<_> = page.rows.iter().map(|row| (row.ticket_id, row.r#type.as_str())).collect();
    assert_eq!(kept, [(ids[2], "t2"), (ids[3], "t3")]);
    let next = desk.tickets_in_state("front", TicketState::Open).from(ids[2]).limit(2);
    let next = next.cursor(page.next).await.unwrap();
    assert_eq!((next.rows.len(), next.next), (1, None));
}

#[tokio::test]
async fn short_rows_long_ones_and_those_that_lack_a_field_are_listed_alike() {
    let desk = desk().await;
    let mut written = Vec::new();
    for length in [0, 3, 200, 300, 70_000] {
        for due in [Some(Date(7)), None] {
            let text = "ü".repeat(length);
            let ticket = desk.open_ticket("front", &text).due(due).tags([text.as_str()]);
            // What a change answers is made of a record, a list of rows where they lie.
            written.push(ticket.await.unwrap().row);
        }
    }
    let listed = desk.tickets_of("front").await.unwrap().rows;
    let mut listed: Vec<_> = listed.into_iter().map(|ticket| ticket.row).collect();
    listed.sort_by_key(|ticket| written.iter().position(|own| own.ticket_id == ticket.ticket_id));
    assert_eq!(listed, written);
}

#[tokio::test]
async fn rows_of_one_call_are_all_written() {
    let desk = desk().await;
    let id = desk.open_ticket("front", "one").await.unwrap().row.ticket_id;
    let row = |ticket_id, kind: &str, due| ImportTicketsEach {
        ticket_id,
        r#type: kind.to_string(),
        state: Some(TicketState::Done),
        due,
        tags: None,
        extra: None,
    };
    let other = keyway::Ulid([7; 16]);
    let rows = [row(id, "a", None), row(other, "b", Some(Date(3)))];
    let written = desk.import_tickets("front", rows).await.unwrap();
    let found: Vec<_> = written.iter().map(|w| (w.row.r#type.as_str(), w.row.due)).collect();
    assert_eq!(found, [("a", None), ("b", Some(Date(3)))]);
}

#[tokio::test]
async fn paths_and_bodies_come_back() {
    let desk = desk().await;
    let file = Uuid([9; 16]);
    for path in [vec!["a", "b"], vec!["a", "c"], vec!["ab"]] {
        desk.attach(file, path, "text", "body").await.unwrap();
    }
    let under = desk.attached(file).under(["a"]).await.unwrap().rows;
    let paths: Vec<&[String]> = under.iter().map(|row| row.path.as_slice()).collect();
    assert_eq!(paths, [["a", "b"], ["a", "c"]]);
    assert_eq!(under[0].body, Bytes::from_static(b"body"));
    desk.detach(file, ["a", "b"]).await.unwrap();
    desk.detach(file, ["a", "b"]).await.unwrap();
    assert_eq!(desk.attached(file).await.unwrap().rows.len(), 2);
}

#[tokio::test]
async fn counters_and_windows_are_exact() {
    let desk = desk().await;
    assert_eq!(desk.counted("x").await.unwrap(), 0);
    assert_eq!(desk.count("x").await.unwrap(), 1);
    assert_eq!(desk.count("x").amount(-3).await.unwrap(), -2);
    assert_eq!(desk.counted("x").await.unwrap(), -2);
    let mut allowed = Vec::new();
    for _ in 0..6 {
        let window = desk.try_login("ann").await.unwrap();
        allowed.push((window.allowed, window.remaining));
    }
    let expected = [(true, 4), (true, 3), (true, 2), (true, 1), (true, 0), (false, 0)];
    assert_eq!(allowed, expected);
}

#[tokio::test]
async fn an_atomic_answers_each_step() {
    let desk = desk().await;
    desk.open_and_count("front", "a").await.unwrap();
    let second = desk.open_and_count("front", "b").tags(["x"]).await.unwrap();
    assert_eq!((second.new_ticket.row.r#type.as_str(), second.total), ("b", 2));
    assert_eq!(second.new_ticket.row.tags, ["x"]);
}

#[tokio::test]
async fn an_atomic_that_was_done_before_says_so() {
    let options = Keyway::builder().check_bounds(true);
    let chat = chat::Chat::open_with(options, "memory:").await.unwrap();
    let ann = chat.as_user(Uuid([1; 16]).to_string());
    let message = "2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d".parse().unwrap();
    let first = ann.add_reaction(message, "+1").await.unwrap();
    assert_eq!(first.put_reaction.map(|put| put.existed), Some(false));
    assert_eq!(first.shift_reaction_count, Some(1));
    let again = ann.add_reaction(message, "+1").await.unwrap();
    assert_eq!(again.put_reaction.map(|put| put.existed), Some(true));
    let counts = ann.list_reaction_counts(message).await.unwrap().rows;
    assert_eq!(counts.iter().map(|count| count.value).collect::<Vec<_>>(), [1]);
}

#[tokio::test]
async fn the_same_id_is_applied_once() {
    let desk = desk().await;
    let id = CommitId::new(Timestamp::now().0, &SeededRandom::new(1));
    assert_eq!(desk.count("x").commit_id(id).await.unwrap(), 1);
    assert_eq!(desk.count("x").commit_id(id).await.unwrap(), 1);
    assert_eq!(desk.counted("x").await.unwrap(), 1);
}

#[tokio::test]
async fn a_call_may_be_made_by_another_task() {
    let desk = desk().await;
    let calls = (0..20).map(|_| tokio::spawn(desk.count("x").into_future()));
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap().unwrap();
    }
    assert_eq!(desk.counted("x").await.unwrap(), 20);
}
