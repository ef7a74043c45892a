//! What stores with tables share: rows as columns, and the statements that read and write them.
//!
//! ```text
//! layout + schema ─▶ TableShape ─┬─ row ◀─▶ a value for each column
//!                                └─ statements, made once for a schema
//! ```
//!
//! The forms in which values stand in columns are each store's own. Nothing here talks to a store.

pub mod content;
pub mod find;
pub mod join;
pub mod shown;
pub mod statement;
pub mod table;
#[cfg(test)]
mod tests;
