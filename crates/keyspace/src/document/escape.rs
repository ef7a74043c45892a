//! Making any text safe inside Markdown, Mermaid and SVG.
//!
//! Words of the file are shown as they were written: nothing in them may become markup. Anchors
//! follow the rule by which GitHub makes them from headings.

use std::collections::HashMap;

/// A paragraph of one line: words, and code where they have it between backticks.
pub(super) fn paragraph(words: &str) -> String {
    block_safe(prose(&one_line(words), span))
}

/// A cell's words, their lines kept apart; code as in a paragraph.
pub(super) fn cell(words: &str) -> String {
    let lines = words.lines().map(|line| prose(line.trim(), code)).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("<br>")
}

/// Words in which pairs of backticks hold code; without pairs they are backticks.
fn prose(words: &str, code: impl Fn(&str) -> String) -> String {
    let pieces: Vec<&str> = words.split('`').collect();
    let empty_code = pieces.iter().skip(1).step_by(2).any(|piece| piece.trim().is_empty());
    if pieces.len().is_multiple_of(2) || empty_code {
        return text(words);
    }
    let pieces = pieces.iter().enumerate();
    pieces
        .map(|(number, piece)| if number.is_multiple_of(2) { text(piece) } else { code(piece) })
        .collect()
}

fn one_line(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Words as they are, on one line: nothing in them is markup.
pub(super) fn text(words: &str) -> String {
    let visible = |character: char| if character.is_control() { ' ' } else { character };
    let characters: Vec<char> = words.chars().map(visible).collect();
    let mut safe = String::with_capacity(words.len());
    let word_at = |place: Option<usize>| {
        place.and_then(|place| characters.get(place)).is_some_and(|c| c.is_alphanumeric())
    };
    for (number, character) in characters.iter().enumerate() {
        let inside_word = word_at(number.checked_sub(1)) && word_at(Some(number + 1));
        match character {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '_' if inside_word => safe.push('_'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' => {
                safe.push('\\');
                safe.push(*character);
            }
            other => safe.push(*other),
        }
    }
    safe
}

/// Keeps a line from opening a heading, a list or a rule.
fn block_safe(line: String) -> String {
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    match line.chars().nth(digits) {
        Some('.' | ')') if digits > 0 => {
            let (number, rest) = line.split_at_checked(digits).unwrap_or((&line, ""));
            format!("{number}\\{rest}")
        }
        Some('#' | '-' | '+' | '=') if digits == 0 => format!("\\{line}"),
        _ => line,
    }
}

/// Code inside a table's cell: a bar is escaped there, even between backticks.
pub(super) fn code(source: &str) -> String {
    span(source).replace('|', "\\|")
}

/// Code inside a paragraph.
fn span(source: &str) -> String {
    let line = one_line(source);
    let fence = "`".repeat(longest_run(&line, '`') + 1);
    match (line.is_empty(), fence.len()) {
        (true, _) => String::new(),
        (false, 1) => format!("`{line}`"),
        (false, _) => format!("{fence} {line} {fence}"),
    }
}

/// A link to a heading of the page.
pub(super) fn link(words: &str, anchor: &str) -> String {
    format!("[{}](#{anchor})", text(words))
}

fn longest_run(line: &str, wanted: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for character in line.chars() {
        run = if character == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// A text inside an SVG element or attribute.
pub(super) fn xml(words: &str) -> String {
    let mut safe = String::with_capacity(words.len());
    for character in words.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other if other.is_control() => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

/// A text inside a quoted Mermaid label, where `#` begins an entity.
pub(super) fn label(words: &str) -> String {
    let mut safe = String::with_capacity(words.len());
    for character in words.chars() {
        match character {
            // Backticks would begin Markdown, quotes end the label, the rest is HTML.
            '"' | '#' | '<' | '>' | '&' | '`' | ';' | '\\' | '*' => {
                safe.push_str(&format!("#{};", u32::from(character)))
            }
            other if other.is_control() => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

/// Anchors of the headings met so far.
#[derive(Default)]
pub(super) struct Anchors {
    met: HashMap<String, usize>,
}

impl Anchors {
    /// The anchor of the next heading with these words.
    pub fn next(&mut self, heading: &str) -> String {
        let mut anchor = String::with_capacity(heading.len());
        for character in heading.to_lowercase().chars() {
            match character {
                ' ' => anchor.push('-'),
                '-' | '_' => anchor.push(character),
                other if other.is_alphanumeric() => anchor.push(other),
                _ => {}
            }
        }
        let count = self.met.entry(anchor.clone()).or_insert(0);
        *count += 1;
        if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_never_become_markup() {
        assert_eq!(text("a|b *d* <e> & f"), "a\\|b \\*d\\* &lt;e&gt; &amp; f");
        assert_eq!(text("user_id, _it_ and [x]"), "user_id, \\_it\\_ and \\[x\\]");
        assert_eq!(paragraph("# one"), "\\# one");
        assert_eq!(paragraph("1. one"), "1\\. one");
        assert_eq!(paragraph("- one"), "\\- one");
        assert_eq!(paragraph("two\nlines"), "two lines");
        assert_eq!(cell("1. one"), "1. one");
        assert_eq!(cell("two\n\nlines | here"), "two<br>lines \\| here");
    }

    #[test]
    fn pairs_of_backticks_are_code() {
        assert_eq!(paragraph("under `a|b` and `c`"), "under `a|b` and `c`");
        assert_eq!(cell("under `a|b`, *not* code"), "under `a\\|b`, \\*not\\* code");
        assert_eq!(cell("one ` alone"), "one \\` alone");
        assert_eq!(cell("``fence``"), "\\`\\`fence\\`\\`");
    }

    #[test]
    fn code_keeps_bars_and_backticks() {
        assert_eq!(code("a | b"), "`a \\| b`");
        assert_eq!(code("a `b` c"), "`` a `b` c ``");
        assert_eq!(code(""), "");
    }

    #[test]
    fn labels_and_xml_are_closed() {
        assert_eq!(label("say \"end\"; #1"), "say #34;end#34;#59; #35;1");
        assert_eq!(xml("<a b=\"c\">&'\n"), "&lt;a b=&quot;c&quot;&gt;&amp;&#39; ");
    }

    #[test]
    fn anchors_are_those_of_github() {
        let mut anchors = Anchors::default();
        assert_eq!(anchors.next("send_message (AP-1)"), "send_message-ap-1");
        assert_eq!(anchors.next("Tables, and the patterns"), "tables-and-the-patterns");
        assert_eq!(anchors.next("users"), "users");
        assert_eq!(anchors.next("users"), "users-1");
        assert_eq!(anchors.next("users"), "users-2");
        assert_eq!(anchors.next("人の名前"), "人の名前");
    }
}
