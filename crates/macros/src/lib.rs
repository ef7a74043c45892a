//! `include_keyspace!`: a keyspace file becomes structs and functions when a crate is compiled.
//!
//! This crate reads one file and writes Rust; `keyway` documents what comes out and holds what the
//! generated code stands on. Use it through `keyway`.

mod answers;
mod arguments;
mod code;
mod expand;
mod include;
mod names;
mod naming;
mod patterns;
mod rows;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Structs and functions of a keyspace file: see `keyway::include_keyspace`.
#[proc_macro]
pub fn include_keyspace(input: TokenStream) -> TokenStream {
    include::include(input)
}
