//! Plans as people read them: a table of all patterns, one pattern in words, and the modes.
//!
//! Only words are made here; every figure comes from a plan. No line is wider than 120 columns.

mod table;
mod text;

pub use table::{prices, table};
pub use text::{modes, text};

use crate::model::{Pattern, Verb};

/// Columns of the widest line.
const WIDTH: usize = 120;

/// `300 B`, `1.5 KiB`, `20 MiB`; rounded up, since they are bounds.
fn bytes_text(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    for (size, unit) in UNITS {
        if bytes >= size * 10 {
            return format!("{} {unit}", bytes.div_ceil(size));
        }
        if bytes >= size {
            let tenths = (u128::from(bytes) * 10).div_ceil(u128::from(size));
            return format!("{}.{} {unit}", tenths / 10, tenths % 10);
        }
    }
    format!("{bytes} B")
}

/// What a pattern goes by: an index, the collection's own key, or its steps.
fn goes_by(pattern: &Pattern) -> String {
    match (&pattern.target, pattern.verb) {
        (_, Verb::Atomic) => match pattern.steps.len() {
            1 => "1 step".to_string(),
            steps => format!("{steps} steps"),
        },
        (Some(target), _) => match &target.index {
            Some(index) => index.name.value.clone(),
            None => target.collection.name.value.clone(),
        },
        (None, _) => String::new(),
    }
}

/// Breaks text at spaces; lines after the first begin with `indent` spaces.
fn wrapped(text: &str, indent: usize) -> String {
    let words = text.trim_start();
    let mut column = text.chars().count() - words.chars().count();
    let mut out = " ".repeat(column);
    for (number, word) in words.split(' ').enumerate() {
        let length = word.chars().count();
        if number > 0 && column + 1 + length > WIDTH {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else if number > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{WIDTH, bytes_text, wrapped};

    #[test]
    fn bytes_are_rounded_up() {
        assert_eq!(bytes_text(0), "0 B");
        assert_eq!(bytes_text(1_023), "1023 B");
        assert_eq!(bytes_text(1_025), "1.1 KiB");
        assert_eq!(bytes_text(1 << 20), "1.0 MiB");
        assert_eq!(bytes_text((20 << 20) + 1), "21 MiB");
    }

    #[test]
    fn lines_break_at_words_and_keep_their_indent() {
        let text = format!("    {}", ["word"; 60].join(" "));
        let lines = wrapped(&text, 8);
        assert!(lines.lines().count() > 2);
        assert!(lines.lines().all(|line| line.chars().count() <= WIDTH));
        assert!(lines.lines().skip(1).all(|line| line.starts_with("        word")));
        assert!(lines.starts_with("    word"));
    }
}
