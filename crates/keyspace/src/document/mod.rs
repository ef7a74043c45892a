//! Documents from a keyspace: a page of Markdown with a diagram as Mermaid.
//!
//! ```text
//! keyspace ─arrange─▶ bands ─▶ mermaid ─▶ inside the page
//!     └──────words, escape──────▶ markdown
//! ```
//!
//! A document says what the model holds and nothing else: the same keyspace gives the same bytes,
//! and no sentence here depends on a store, a time or a setting.

mod arrange;
mod collection;
mod escape;
mod markdown;
mod mermaid;
mod pattern;
#[cfg(test)]
mod sample;
mod words;

pub use markdown::markdown;
pub use mermaid::mermaid;
