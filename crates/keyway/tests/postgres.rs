//! A keyspace on PostgreSQL: several programs at once, and what one leaves another finds.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use keyway::{ErrorKind, Keyway};
use servers::postgres::Postgres;

keyway::include_keyspace!("examples/notes.toml");

/// The server does not wait for the disk.
async fn open(database: &str) -> Notebook {
    let options = Keyway::builder().check_bounds(true);
    let url = format!("{}?durability=process&connections=4", Postgres::shared().url(database));
    Notebook::open_with(options, &url).await.unwrap()
}

#[tokio::test]
async fn a_cursor_of_one_program_is_taken_by_another() {
    let database = Postgres::shared().database();
    let (one, other) = (open(&database).await, open(&database).await);
    for title in ["a", "b", "c"] {
        one.as_user("ann").write_note(title).tags(["x"]).await.unwrap();
    }
    let page = one.as_user("ann").notes_with_tag("x").limit(2).await.unwrap();
    assert_eq!(page.rows.len(), 2);
    one.close().await.unwrap();
    let rest = other.as_user("ann").notes_with_tag("x").limit(2).cursor(page.next).await.unwrap();
    let titles: Vec<&str> = rest.rows.iter().map(|note| note.title.as_str()).collect();
    assert_eq!(titles, ["a"]);
    other.close().await.unwrap();
}

#[tokio::test]
async fn a_store_that_was_closed_says_so() {
    let notebook = open(&Postgres::shared().database()).await;
    notebook.close().await.unwrap();
    let closed = notebook.as_user("ann").my_notes().await.unwrap_err();
    assert_eq!(closed.kind(), ErrorKind::Unavailable, "{closed}");
}

#[tokio::test]
async fn tls_is_refused_in_words_and_no_password_is_shown() {
    let url = "postgres://ann:secret@host/db?sslmode=require";
    let error = Notebook::open(url).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let told = format!("{error} {error:?}");
    assert!(told.contains("sslmode") && !told.contains("secret"), "{told}");
}
