//! A keyspace file as structs and functions: `cargo run -p keyway --example typed`.

use keyway::{Date, ErrorKind};

keyway::include_keyspace!("examples/notes.toml");

#[tokio::main(flavor = "current_thread")]
async fn main() -> keyway::Result<()> {
    let notebook = Notebook::open("memory:").await?;
    let ann = notebook.as_user("ann");

    let due: Date = "2026-11-15".parse()?;
    let milk = ann.write_note("Milk").tags(["shop", "today"]).due(due).await?;
    println!("{}: {:?}, due {:?}", milk.row.title, milk.row.state, milk.row.due);

    // What the version was when it was read decides whether the change is made.
    let edited = ann.edit_note(milk.row.note_id).title("Oat milk").clear_due();
    let edited = edited.if_version(milk.version).await?;
    println!("{}, due {:?}", edited.row.title, edited.row.due);
    let late = ann.edit_note(milk.row.note_id).title("Soy milk").if_version(milk.version).await;
    match late {
        Err(error) if error.kind() == ErrorKind::Conflict => println!("somebody was faster"),
        other => println!("unexpected: {other:?}"),
    }

    for number in 1..=5 {
        ann.write_note(format!("Note {number}")).await?;
    }
    let mut pages = ann.my_notes().limit(4).pages();
    while let Some(page) = pages.next().await? {
        let titles: Vec<&str> = page.rows.iter().map(|note| note.title.as_str()).collect();
        println!("{}", titles.join(", "));
    }

    ann.delete_note(milk.row.note_id).await?;
    println!("deleted: {:?}", ann.get_note(milk.row.note_id).await?);
    notebook.close().await
}
