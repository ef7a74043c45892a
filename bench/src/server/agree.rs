//! Whether all servers answer the same, before anything is measured.

use super::served::{LISTED, NOTES, READER, Server, WRITER, numbered};
use super::wire::{Connection, Response, anonymous};
use serde_json::Value as Json;

/// Notes that everybody is asked for.
const ASKED: [u64; 5] = [0, 1, 4_711, NOTES - LISTED as u64, NOTES - 1];

/// Asks one server what all are asked; fails where an answer is not what it must be. What it said,
/// without what chance decides.
pub async fn check(name: &str, server: &Server) -> Vec<Json> {
    let speaks = &server.speaks;
    let mut connection = Connection::open(server.address).await;
    let mut said = Vec::new();
    let made = numbered(NOTES);
    let answer = json(name, &ask(&mut connection, &speaks.create(&made)).await);
    assert_eq!(speaks.note(speaks.row(&answer)), made, "{name} makes another note");
    said.push(answer);
    let again = ask(&mut connection, &speaks.create(&made)).await;
    assert!(!is_answer(&again), "{name} makes a note twice: {}", again.text());
    for number in ASKED {
        let note = numbered(number);
        let answer = json(name, &ask(&mut connection, &speaks.read(READER, note.note_id)).await);
        assert_eq!(speaks.note(speaks.row(&answer)), note, "{name} reads another note");
        said.push(answer);
    }
    let answer = json(name, &ask(&mut connection, &speaks.list(READER)).await);
    let rows = speaks.rows(&answer).as_array().expect("a list has rows");
    let listed: Vec<_> = rows.iter().map(|row| speaks.note(row)).collect();
    let expected: Vec<_> = (0..NOTES).rev().take(LISTED).map(numbered).collect();
    assert_eq!(listed, expected, "{name} lists others");
    said.push(answer);
    let missing = speaks.read(READER, numbered(NOTES + 1).note_id);
    let answer = ask(&mut connection, &missing).await;
    assert!(!is_answer(&answer), "{name} reads what is not there: {}", answer.text());
    let unknown = anonymous(&speaks.read(READER, numbered(0).note_id));
    let answer = ask(&mut connection, &unknown).await;
    assert!(!is_answer(&answer), "{name} answers anybody: {}", answer.text());
    if speaks.has_owners() {
        let others = speaks.read(WRITER, numbered(0).note_id);
        let answer = ask(&mut connection, &others).await;
        assert!(!is_answer(&answer), "{name} shows another's note: {}", answer.text());
    }
    said.iter_mut().for_each(mask);
    said
}

async fn ask(connection: &mut Connection, request: &[u8]) -> Response {
    connection.ask_whole(request).await.unwrap()
}

fn is_answer(response: &Response) -> bool {
    response.status == 200 && response.body.first() == Some(&b'{')
}

fn json(name: &str, response: &Response) -> Json {
    assert!(is_answer(response), "{name}: {} {}", response.status, response.text());
    serde_json::from_slice(&response.body).unwrap()
}

/// Versions and cursors are each server's own; that they are there is not.
fn mask(answer: &mut Json) {
    for name in ["version", "next"] {
        if let Some(text @ Json::String(_)) = answer.get_mut(name) {
            *text = Json::String("masked".to_string());
        }
    }
}
