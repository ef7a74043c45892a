//! Rust text, line by line, indented, with its documentation.
//!
//! What is written here is read by the compiler and, through documentation and golden tests, by
//! people. It never looks at a keyspace.

/// Text of Rust in the making.
#[derive(Default)]
pub struct Code {
    text: String,
    depth: usize,
}

impl Code {
    /// The text.
    pub fn into_text(self) -> String {
        self.text
    }

    /// A line.
    pub fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if !line.is_empty() {
            self.text.push_str(&"    ".repeat(self.depth));
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    /// A line that opens a block.
    pub fn open(&mut self, line: impl AsRef<str>) {
        self.line(line);
        self.depth += 1;
    }

    /// The line that closes it.
    pub fn close(&mut self, line: &str) {
        self.depth = self.depth.saturating_sub(1);
        self.line(line);
    }

    /// A line that closes a block and opens the next.
    pub fn turn(&mut self, line: &str) {
        self.close(line);
        self.depth += 1;
    }

    /// Documentation: every line of every paragraph, an empty line between two paragraphs.
    pub fn docs<S: AsRef<str>>(&mut self, paragraphs: impl IntoIterator<Item = S>) {
        for (number, paragraph) in paragraphs.into_iter().enumerate() {
            if number > 0 {
                self.line("///");
            }
            for line in paragraph.as_ref().lines() {
                self.line(format!("/// {line}").trim_end());
            }
        }
    }
}

/// Words of the file as Markdown says them: no links, no tags, nothing that turns text around.
pub fn words(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.trim().chars() {
        match character {
            '\n' => safe.push('\n'),
            '[' | ']' | '<' | '>' | '*' | '\\' => {
                safe.push('\\');
                safe.push(character);
            }
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            control if control.is_control() => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

/// A sentence with its full stop.
pub fn sentence(text: &str) -> String {
    let text = words(text);
    match text.ends_with(['.', '!', '?', ':', ')']) || text.is_empty() {
        true => text,
        false => format!("{text}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_cannot_leave_its_comment() {
        let mut code = Code::default();
        code.docs([sentence("a [link]\r <b>\u{202e}x"), words("two\nlines")]);
        assert_eq!(code.into_text(), "/// a \\[link\\]  \\<b\\>x.\n///\n/// two\n/// lines\n");
    }
}
