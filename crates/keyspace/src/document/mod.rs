//! Documents from a keyspace: a page of Markdown, and a diagram as Mermaid and as SVG.
//!
//! ```text
//! keyspace ─arrange─▶ bands ─┬─▶ mermaid ─▶ inside the page
//!     │                      └─▶ svg
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
mod place;
#[cfg(test)]
mod sample;
mod svg;
mod width;
mod words;

pub use markdown::markdown;
pub use mermaid::mermaid;
pub use svg::svg;
