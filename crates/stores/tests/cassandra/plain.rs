//! Plain rows with an index, put and removed by several programs at once: whatever comes of a row,
//! its index knows.

use crate::app::App;
use crate::{new_place, open, runtime};
use serde_json::{Value as Json, json};
use servers::cassandra::Cassandra;
use std::sync::Arc;

/// Rows that all of them want.
const ROWS: u64 = 3;
/// Each has a session and timestamps of its own.
const PROGRAMS: u64 = 2;
/// Callers of each program.
const CALLERS: u64 = 4;
/// Calls of each caller.
const CALLS: u64 = 60;

fn place(row: u64) -> Json {
    json!({"shelf": format!("s{row}"), "item_id": "one"})
}

/// Puts and removes rows that others put and remove.
async fn quarrel(app: Arc<App>, caller: u64) {
    for number in 0..CALLS {
        let row = (caller + number / 2) % ROWS;
        let is_put = (caller + number).is_multiple_of(2);
        let mut arguments = place(row);
        if is_put {
            arguments["note"] = json!(format!("{caller} {number}"));
        }
        let pattern = if is_put { "place" } else { "unplace" };
        let answer = app.call(pattern, arguments).await.unwrap();
        assert!(answer["version"].is_null(), "a version is seen: {answer}");
    }
}

/// The rows that are there; each is listed by its index, with what it holds.
async fn rows_there(app: &App) -> Vec<Json> {
    let listed = app.call("places_of", json!({"item_id": "one"})).await.unwrap();
    let mut there = Vec::new();
    for row in 0..ROWS {
        let found = app.call("placed", place(row)).await.unwrap();
        there.extend(Some(found["row"].clone()).filter(|row| !row.is_null()));
    }
    assert_eq!(listed["rows"], json!(there), "the index knows what is there");
    there
}

#[test]
fn rows_put_and_removed_by_two_programs_keep_their_entries() {
    runtime().block_on(async {
        let (server, place_name) = (Cassandra::shared(), new_place());
        let mut apps = Vec::new();
        for _ in 0..PROGRAMS {
            apps.push(Arc::new(App::open(open(server, &place_name)).await.unwrap()));
        }
        let callers = apps.iter().flat_map(|app| (0..CALLERS).map(move |_| app.clone()));
        let task = |(caller, app): (usize, Arc<App>)| tokio::spawn(quarrel(app, caller as u64));
        let tasks: Vec<_> = callers.enumerate().map(task).collect();
        for task in tasks {
            task.await.expect("a caller ends well");
        }
        let there = rows_there(&apps[0]).await;
        assert_eq!(rows_there(&apps[1]).await, there, "both see the same");
        let there = there.len() as u64;
        assert_eq!(apps[0].scrub().await, (there, there));
    });
}

/// What one program does after another has answered is later, whatever it wrote.
#[test]
fn two_programs_that_take_turns_see_what_the_other_did() {
    runtime().block_on(async {
        let (server, place_name) = (Cassandra::shared(), new_place());
        let one = App::open(open(server, &place_name)).await.unwrap();
        let other = App::open(open(server, &place_name)).await.unwrap();
        for number in 0..20_u64 {
            let (writer, reader) = if number % 2 == 0 { (&one, &other) } else { (&other, &one) };
            let mut arguments = place(0);
            let note = (number % 3 != 2).then(|| format!("note {number}"));
            match &note {
                Some(note) => {
                    arguments["note"] = json!(note);
                    writer.call("place", arguments).await.unwrap();
                }
                None => drop(writer.call("unplace", arguments).await.unwrap()),
            }
            let there = rows_there(reader).await;
            let notes: Vec<_> = there.iter().map(|row| row["note"].as_str().unwrap()).collect();
            assert_eq!(notes, note.as_deref().into_iter().collect::<Vec<_>>(), "{number}");
            // Clocks tell milliseconds: whoever writes within one does not know who was first.
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    });
}
