//! One file names every key an application stores and every question it asks. This crate opens the
//! file on a store and answers the questions.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> keyway::Result<()> {
//! let notes = keyway::open("examples/notes.toml", "memory:").await?;
//! notes.call("write_note").by("ann").arg("title", "Milk").await?;
//! let page = notes.call("my_notes").by("ann").json().await?;
//! assert_eq!(page["rows"][0]["title"], "Milk");
//! # Ok(())
//! # }
//! ```
//!
//! `memory:` keeps nothing. `engine:./data`, or a directory alone, keeps everything in that
//! directory; `?durability=process` acknowledges a write before it has reached the disk.
//!
//! # Typed calls
//!
//! [`include_keyspace!`] makes structs and functions of the file when the crate is compiled:
//!
//! ```
//! keyway::include_keyspace!("examples/notes.toml");
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> keyway::Result<()> {
//!     let notebook = Notebook::open("memory:").await?;
//!     let ann = notebook.as_user("ann");
//!     let written = ann.write_note("Milk").tags(["shop"]).await?;
//!     assert_eq!(written.row.state, NoteState::Open);
//!     for note in ann.notes_with_tag("shop").limit(20).await?.rows {
//!         println!("{} {}", note.note_id, note.title);
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # Callers
//!
//! Owners, tenants and roles come from the [`Caller`], never from an argument. Whatever stands in
//! front of this crate decides who calls; who may do what is decided here.
//!
//! # Errors
//!
//! There is one [`Error`]: its [`kind`](Error::kind) says what can be done about it, and
//! [`is_retryable`](Error::is_retryable) whether the same call may succeed later.
//!
//! # The run time
//!
//! Calls wait without blocking a thread; the futures are `Send` and need a run time of tokio's with
//! timers for waiting between two attempts and for removing rows that have ended.

mod answer;
mod call;
mod fit;
mod handle;
mod moving;
mod open;
mod pages;
mod scalar;
mod sweep;
mod system;
pub mod typed;
mod url;
mod wiring;

pub use answer::{Changed, Deleted, Page, Versioned, Window};
pub use bytes::Bytes;
pub use call::Calling;
pub use data::clock;
pub use data::clock::SystemRandom;
pub use data::maintain::{Moved, Stage};
pub use data::request::{Answer, Cursor, Record, Reply};
pub use data::session::Usage;
pub use data::store::{CommitId, Description, Durability, Version};
pub use data::{Caller, Error, ErrorKind, Result, Value};
pub use handle::Keyway;
pub use moving::Move;
pub use open::{Builder, open, open_text};
pub use pages::{Pages, Rows};
pub use scalar::{Date, TimeUuid, Timestamp, Ulid, Uuid};
pub use serde_json::Value as Json;
pub use system::SystemClock;
pub use url::StoreUrl;
pub use wiring::{Found, look};

/// Structs and functions of a keyspace file, made when the crate is compiled.
///
/// The path is from the directory of the crate's `Cargo.toml`. The crate is built again when the
/// file changes, and errors of the file are errors of the compiler, at their line of the file.
///
/// | in the file | in Rust |
/// |---|---|
/// | `[keyspace] name = "notebook"` | `Notebook`: `open(url)`, `by(&caller)`, `as_user(id)` |
/// | `[collection.notes]` | `Note`, a struct of its segments and fields |
/// | `state = "open\|done"` | `NoteState::{Open, Done}` |
/// | `[pattern.my_notes]` | `notebook.as_user("ann").my_notes()` |
/// | `fields = […]` of a pattern | `MyNotesRow`, a struct of these |
/// | rows of a call with `many` | `ImportNotesEach` |
///
/// Required arguments are parameters. What may be left out is a method of what the function
/// returns, and `.await` makes the call: `ann.my_notes().limit(20).cursor(page.next).await?`. The
/// documentation of each function says what it reads or writes, and how much at most.
///
/// | verb | is answered |
/// |---|---|
/// | `get` | `Option<Note>`; of a counter its `i64` |
/// | `list` | [`Page<Note>`](Page), and `.pages()` reads them all |
/// | `near` | `Vec<Note>` |
/// | `insert`, `put`, `update`, `take` | [`Changed<Note>`](Changed) |
/// | `delete` | [`Deleted`] |
/// | `add` | `i64`, [`Window`], or [`Changed<Note>`](Changed) for a field of a row |
/// | `atomic` | a struct with a field for each step |
///
/// With `many`, there is a `Vec` of them. Where a pattern of the collection takes a version back
/// (`if_version`), rows that are read are [`Versioned<Note>`](Versioned).
///
/// Patterns of histories have no function, and neither have those that run only inside an `atomic`.
/// The items stand where the macro stands: a module of its own keeps them together.
///
/// ```compile_fail
/// // There is a pattern on a collection that does not exist.
/// keyway::include_keyspace!("tests/broken.toml");
/// ```
pub use macros::include_keyspace;
