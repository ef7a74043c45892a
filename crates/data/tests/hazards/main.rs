//! Mistakes that were made in real systems of this kind, each with the test that would fail if it
//! were made here; and inputs that are meant to do harm.
//!
//! | row | mistake | its test |
//! |---|---|---|
//! | K1 | ids that hold the separator collide | `keys.rs`; keyspace `key_hazards.rs` |
//! | K2 | a prefix of characters | `reads/hazards.rs`; keyspace `key_hazards.rs` |
//! | K3 | numbers that sort as text | `reads/hazards.rs`; keyspace `key_hazards.rs` |
//! | K4 | ids that collide, or are out of order | `keys.rs`; keyspace `key_hazards.rs` |
//! | K5 | two descending segments | keyspace `key_hazards.rs`, `key_properties.rs` |
//! | K6 | text that is folded or normalised | `keys.rs`; keyspace `key_hazards.rs` |
//! | K7 | a hint that changes where a row is found | `keys.rs` |
//! | K8 | a name that leads out of its folder | stores `files_names.rs` |
//! | K9 | `%` and `_` in a prefix of SQL | stores `sqlite_open.rs`, `postgres` |
//! | K10 | a row overwritten by other bytes | `keys.rs` |
//! | X1 | an index updated in its own step | `indexes.rs`; stores `kill_patterns` |
//! | X2 | an update that leaves the old entry | `indexes.rs` |
//! | X3 | a unique value with two owners | `src/suite/together.rs` |
//! | X4 | a delete that leaves entries | `indexes.rs` |
//! | X5 | tags and lists of the recent that only grow | `indexes.rs` |
//! | X6 | neighbours across the border of a cell | `reads/near.rs` |
//! | X7 | an email that is not folded | `indexes.rs` |
//! | X8 | an order the key does not have | `reads/hazards.rs` |
//! | X9 | paging while rows change | `indexes.rs`; migrations: `src/catalogue/tests.rs` |
//! | W1 | a counter whose end is set in a second step | `writes.rs` |
//! | W2 | a window that counts wrongly, or fails open | `writes.rs`; `src/suite/together.rs` |
//! | W3 | a write that brings an ended row back | `writes.rs` |
//! | W4 | versions that come back | `writes.rs` |
//! | W5 | a call that is repeated and applied twice | `writes.rs` |
//! | W6 | pages by number | `reads/hazards.rs` |
//! | W7 | an average that is added to | `writes.rs` |
//! | W8 | ends that wait for a sweep | `reads/hazards.rs` |
//! | W9 | counters that begin anew with their record | `writes.rs` |
//! | C1 | a caller who says whose rows are meant | `reads/hazards.rs` |
//! | C3 | who may, judged too late | `reads/admit.rs` |
//! | C4 | a call that remembers the one before | `reads/hazards.rs` |
//! | C5 | a cursor of somebody else | `reads/cursors.rs`; `hostile.rs` |
//! | C8 | another's row that answers differently from a missing one | `reads/admit.rs` |
//!
//! | C2 | tokens that are stored, shown twice or guessed | server `src/access/secret.rs` |
//! | C6 | answers for one caller kept for all | server `tests/http/access.rs` |
//! | C7 | names of tools with signs that clients refuse | server `src/mcp/tools.rs` |
//!
//! Files are this crate's where no other is named. Those of writes, X1 and X3 are told here on
//! memory; every store is held to the same by scripts of the suite (`src/suite/patterns`), and
//! real servers by faults under load (stores `kill_patterns`, `redis`, `redis_cluster`, `postgres`,
//! `cassandra`).
//!
//! D1 to D4 are about histories of documents, whose verbs run later; what they need of keys, D1's
//! whole segments, is K2. E1 to E4 are an application's own rules about what it stores: here a row
//! with other bytes under the same key is K10.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "a test fails by panicking"
)]

mod hostile;
mod indexes;
mod keys;
mod support;
mod writes;
