//! JSON Lines as they are read: one after the other, each with its number, none larger than it may
//! be.

use crate::failure::Failure;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

/// The longest line: a batch of the largest size has room in it, escaped.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// Lines of a file or of standard input.
pub(crate) struct Lines {
    source: Box<dyn BufRead>,
    name: String,
    /// The number of the line that was read last.
    pub(crate) number: u64,
    /// The bytes read so far.
    pub(crate) bytes: u64,
    /// The bytes there are, if that is known.
    pub(crate) total: Option<u64>,
}

impl Lines {
    /// Opens a file; `-` is standard input, unless the keyspace file was read from it.
    pub(crate) fn open(path: &str, keyspace_file: &str) -> Result<Lines, Failure> {
        if path == "-" {
            if keyspace_file == "-" {
                let problem = "standard input cannot be the keyspace file and the data";
                return Err(Failure::usage(problem, "give one of them as a file"));
            }
            let source = Box::new(BufReader::new(io::stdin()));
            let name = "<standard input>".to_string();
            return Ok(Lines { source, name, number: 0, bytes: 0, total: None });
        }
        let file = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
        let (metadata, file) = file.map_err(|error| unreadable(path, &error))?;
        let total = metadata.is_file().then_some(metadata.len());
        let source = Box::new(BufReader::with_capacity(1 << 16, file));
        Ok(Lines { source, name: path.to_string(), number: 0, bytes: 0, total })
    }

    /// The object of the next line that is not blank; nothing at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Map<String, Value>>, Failure> {
        while let Some(line) = self.raw()? {
            let line = match (self.number, line.strip_prefix(b"\xef\xbb\xbf")) {
                (1, Some(rest)) => rest,
                _ => &line,
            };
            if line.iter().any(|byte| !byte.is_ascii_whitespace()) {
                return object(line).map(Some).map_err(|failure| failure.at_line(self.number));
            }
        }
        Ok(None)
    }

    /// Leaves out what comes before a line, whatever it is.
    pub(crate) fn skip_to(&mut self, line: u64) -> Result<(), Failure> {
        while self.number + 1 < line && self.raw()?.is_some() {}
        Ok(())
    }

    fn raw(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let mut line = Vec::new();
        let mut limited = self.source.by_ref().take(LINE_BYTES_MAX);
        let read = limited.read_until(b'\n', &mut line);
        let read = read.map_err(|error| unreadable(&self.name, &error))? as u64;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.bytes += read;
        if read == LINE_BYTES_MAX && line.last() != Some(&b'\n') {
            let problem = format!("the line is longer than {} MiB", LINE_BYTES_MAX >> 20);
            let fix = "write one object a line, without line ends inside it";
            // The rest of it cannot be told from a line: this ends the reading.
            return Err(Failure::usage(problem, fix).at_line(self.number));
        }
        Ok(Some(line))
    }
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    Failure::usage(format!("cannot read {name}: {error}"), "give a file of JSON Lines, or `-`")
}

fn object(line: &[u8]) -> Result<Map<String, Value>, Failure> {
    let object: Result<Object, _> = serde_json::from_slice(line);
    object.map(|object| object.0).map_err(|error| {
        // The place inside the line; the line itself is told beside it.
        let problem = error.to_string().replace("at line 1 column", "at column");
        Failure::problem(
            format!("the line is not a JSON object: {problem}"),
            "write one object a line",
        )
    })
}

/// An object in which no name is given twice.
struct Object(Map<String, Value>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object, D::Error> {
        deserializer.deserialize_map(ObjectVisitor).map(Object)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Map<String, Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, value)) = members.next_entry::<String, Value>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(format!("`{name}` is given twice")));
            }
            object.insert(name, value);
        }
        Ok(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &'static [u8]) -> Lines {
        let source = Box::new(text);
        Lines { source, name: "test".to_string(), number: 0, bytes: 0, total: None }
    }

    #[test]
    fn blank_lines_are_counted_and_left_out() {
        let mut lines = lines(b"\xef\xbb\xbf{\"a\": 1}\r\n\n  \n{\"a\": 2}");
        assert_eq!(lines.next().unwrap().unwrap().get("a"), Some(&Value::from(1)));
        assert_eq!(lines.number, 1);
        assert_eq!(lines.next().unwrap().unwrap().get("a"), Some(&Value::from(2)));
        assert_eq!(lines.number, 4);
        assert!(lines.next().unwrap().is_none());
    }

    #[test]
    fn what_is_no_object_is_refused_at_its_line() {
        for (text, words) in [
            (&b"{}\n[1]\n"[..], "expected an object"),
            (b"{}\n{\"a\": 1, \"a\": 2}\n", "`a` is given twice"),
            (b"{}\n{\"a\": \xff}\n", "at column"),
            (b"{}\n{\"a\":", "at column 5"),
        ] {
            let mut lines = lines(text);
            lines.next().unwrap();
            let failure = lines.next().unwrap_err().text();
            assert!(failure.starts_with("error: line 2: "), "{failure}");
            assert!(failure.contains(words), "{failure}");
        }
    }
}
