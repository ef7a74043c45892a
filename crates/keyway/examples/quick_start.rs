//! A keyspace file on a store, called by name: `cargo run -p keyway --example quick_start`.
//!
//! Give it a directory, and the notes are still there the next time.

#![allow(clippy::indexing_slicing, reason = "JSON answers null for what is not there")]

#[tokio::main(flavor = "current_thread")]
async fn main() -> keyway::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_string());
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/notes.toml");
    let notes = keyway::open(file, &url).await?;

    let milk = notes.call("write_note").by("ann").arg("title", "Milk").arg("tags", vec!["shop"]);
    let milk = milk.json().await?;
    notes.call("write_note").by("ann").arg("title", "Call Ben").await?;
    notes.call("write_note").by("ben").arg("title", "Ben's own").await?;

    println!("Ann's notes, newest first:");
    let mut rows = notes.call("my_notes").by("ann").pages()?.rows();
    while let Some(note) = rows.next().await? {
        println!("  {}", note.get("title")?.as_text().unwrap_or_default());
    }

    let shop = notes.call("notes_with_tag").by("ann").arg("tags", "shop").json().await?;
    println!("with the tag `shop`: {}", shop["rows"][0]["title"]);

    let note_id = milk["row"]["note_id"].as_str().unwrap_or_default();
    let finished = notes.call("finish_note").by("ann").arg("note_id", note_id).json().await?;
    println!("finished: {}", finished["row"]["state"]);

    // Done is done: the condition of `edit_note` is judged in the commit.
    let edit = notes.call("edit_note").by("ann").arg("note_id", note_id).arg("title", "Oat milk");
    match edit.await {
        Ok(_) => println!("edited"),
        Err(error) => println!("not edited: {}", error.kind()),
    }
    // Nobody can name another's note: to Ben it is not there.
    let read = notes.call("get_note").by("ben").arg("note_id", note_id).json().await?;
    println!("read by Ben: {}", read["row"]);

    notes.close().await
}
