//! The macro's input to a file, and its text to Rust: the only place that reads and that speaks to
//! the compiler.

use crate::expand;
use proc_macro::{TokenStream, TokenTree};
use std::path::{Path, PathBuf};

/// The Rust of the file that the input names.
pub fn include(input: TokenStream) -> TokenStream {
    let text = match literal(input) {
        Some(path) => from_file(&path),
        None => expand::refusal(
            "include_keyspace! takes the path of a keyspace file, from the crate's directory: \
             include_keyspace!(\"keyspace.toml\")",
            None,
        ),
    };
    // What is written here is always Rust; if not, the compiler says where.
    text.parse().unwrap_or_else(|error| {
        let message = format!("a mistake of Keyway: the generated code cannot be read: {error}");
        expand::refusal(&message, None).parse().unwrap_or_default()
    })
}

/// The one string of the input, without its quotes.
fn literal(input: TokenStream) -> Option<String> {
    let mut tokens = input.into_iter();
    let (first, rest) = (tokens.next()?, tokens.next());
    let is_end = match &rest {
        None => true,
        Some(TokenTree::Punct(comma)) => comma.as_char() == ',' && tokens.next().is_none(),
        Some(_) => false,
    };
    let written = match first {
        TokenTree::Literal(literal) if is_end => literal.to_string(),
        // A string handed on by another macro comes in a group without brackets.
        TokenTree::Group(group) if is_end => return literal(group.stream()),
        _ => return None,
    };
    unquoted(&written)
}

/// The path in a string literal; one with escapes other than `\\` and `\"` is refused.
fn unquoted(literal: &str) -> Option<String> {
    let raw = literal.strip_prefix('r').map(|raw| raw.trim_matches('#'));
    if let Some(raw) = raw {
        return Some(raw.strip_prefix('"')?.strip_suffix('"')?.to_string());
    }
    let inside = literal.strip_prefix('"')?.strip_suffix('"')?;
    let mut path = String::with_capacity(inside.len());
    let mut characters = inside.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => path.push(characters.next().filter(|next| matches!(next, '\\' | '"'))?),
            other => path.push(other),
        }
    }
    Some(path)
}

fn from_file(path: &str) -> String {
    let directory = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let file = directory.join(path);
    let shown = shown(&file);
    match std::fs::read(&file) {
        Ok(bytes) => match keyspace::decode(&bytes) {
            Ok(text) => expand::expand(text, path, &shown),
            Err(problem) => {
                let message = format!("{shown}: {}", problem.message);
                expand::refusal(&message, Some(path))
            }
        },
        Err(error) => {
            let message = format!(
                "the keyspace file {shown} cannot be read: {error}; the path is from the \
                 directory of the crate's Cargo.toml"
            );
            expand::refusal(&message, None)
        }
    }
}

/// A path as the compiler shows its own: from where it was started.
fn shown(file: &Path) -> String {
    let here = std::env::current_dir().ok();
    let near = here.as_deref().and_then(|here| file.strip_prefix(here).ok());
    near.unwrap_or(file).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::unquoted;

    #[test]
    fn a_path_is_a_string_of_any_kind() {
        let pairs = [
            (r#""a/b.toml""#, Some("a/b.toml")),
            (r#""a\\b \"c\"""#, Some("a\\b \"c\"")),
            (r##"r#"a\b"#"##, Some("a\\b")),
            (r#""a\n""#, None),
            ("b\"a\"", None),
            ("1", None),
        ];
        for (literal, expected) in pairs {
            assert_eq!(unquoted(literal).as_deref(), expected, "{literal}");
        }
    }
}
