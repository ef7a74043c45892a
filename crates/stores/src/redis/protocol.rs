//! Requests and replies as bytes, in the second version of Redis's protocol.
//!
//! ```text
//! request   *2 │ $7 HGETALL │ $9 user:1:42               several: MULTI, the commands, EXEC
//! reply     +OK │ -ERR why │ :12 │ $3 abc │ $-1 nothing │ *2 and so many replies
//! ```
//!
//! A reply is read where it lies: nothing of it is copied here. What is no reply of this version is
//! never guessed at.

use std::io::Write as _;

const MULTI: &[u8] = b"*1\r\n$5\r\nMULTI\r\n";
const EXEC: &[u8] = b"*1\r\n$4\r\nEXEC\r\n";

/// Commands that are sent together: at one instant if they are several.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// Behind a `MULTI`, which one command alone does not need.
    bytes: Vec<u8>,
    commands: usize,
}

impl Request {
    /// No commands yet; memory for so many bytes of them.
    pub(super) fn with_capacity(bytes: usize) -> Request {
        let mut request = Vec::with_capacity(MULTI.len() + bytes + EXEC.len());
        request.extend_from_slice(MULTI);
        Request { bytes: request, commands: 0 }
    }

    /// Begins a command of so many texts, its name among them.
    pub(super) fn command(&mut self, texts: usize) {
        self.commands += 1;
        self.head(b'*', texts);
    }

    /// Adds a text to a command.
    pub(super) fn text(&mut self, text: &[u8]) {
        self.head(b'$', text.len());
        self.bytes.extend_from_slice(text);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// Adds a number to a command.
    pub(super) fn number(&mut self, number: usize) {
        let mut digits = Vec::with_capacity(20);
        push_number(&mut digits, number);
        self.text(&digits);
    }

    fn head(&mut self, kind: u8, count: usize) {
        self.bytes.push(kind);
        push_number(&mut self.bytes, count);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// How many commands there are.
    pub(super) fn commands(&self) -> usize {
        self.commands
    }

    /// Whether all of it happens at one instant because it is said to.
    pub(super) fn is_transaction(&self) -> bool {
        self.commands > 1
    }

    /// Says that no more commands follow.
    pub(super) fn seal(&mut self) {
        if self.is_transaction() {
            self.bytes.extend_from_slice(EXEC);
        }
    }

    /// What is sent, and how many replies that has.
    pub(super) fn sent(&self) -> (&[u8], usize) {
        match self.is_transaction() {
            true => (&self.bytes, self.commands + 2),
            false => (self.bytes.get(MULTI.len()..).unwrap_or_default(), self.commands),
        }
    }

    /// Reads the commands, each so many texts.
    pub(super) fn read(&self) -> Reader<'_> {
        Reader::new(self.bytes.get(MULTI.len()..).unwrap_or_default())
    }

    /// The first text behind the name of the command with this number, from 0: its key.
    pub(super) fn key(&self, number: usize) -> Vec<u8> {
        let mut reader = self.read();
        for _ in 0..number {
            if reader.skip().is_none() {
                return Vec::new();
            }
        }
        match (reader.part(), reader.part(), reader.part()) {
            (Some(Part::Many(_)), Some(Part::Text(_)), Some(Part::Text(key))) => key.to_vec(),
            _ => Vec::new(),
        }
    }
}

/// Adds the digits of a number: most are small.
fn push_number(bytes: &mut Vec<u8>, number: usize) {
    const TENS: usize = 10;
    match u8::try_from(number) {
        Ok(one @ 0..=9) => bytes.push(b'0' + one),
        Ok(two @ 10..=99) => bytes.extend_from_slice(&[b'0' + two / 10, b'0' + two % 10]),
        _ => {
            debug_assert!(number >= TENS * TENS);
            // Writing to memory does not fail.
            let _ = write!(bytes, "{number}");
        }
    }
}

/// A piece of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part<'r> {
    Nothing,
    Number(i64),
    /// Bytes, or a status.
    Text(&'r [u8]),
    /// So many replies follow.
    Many(usize),
    /// What the server refused, and why.
    Error(&'r [u8]),
}

/// Reads replies that have come whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'r> {
    rest: &'r [u8],
}

impl<'r> Reader<'r> {
    /// Reads these bytes.
    pub(super) fn new(rest: &'r [u8]) -> Reader<'r> {
        Reader { rest }
    }

    /// What was not read yet.
    pub(super) fn rest(&self) -> &'r [u8] {
        self.rest
    }

    /// The next piece; nothing where there is none, or no reply.
    pub(super) fn part(&mut self) -> Option<Part<'r>> {
        let (kind, line, rest) = line(self.rest)?;
        self.rest = rest;
        Some(match kind {
            b'$' => match length(line)? {
                None => Part::Nothing,
                Some(length) => {
                    let text = rest.get(..length)?;
                    self.rest = rest.get(length.checked_add(2)?..)?;
                    Part::Text(text)
                }
            },
            b'*' => length(line)?.map_or(Part::Nothing, Part::Many),
            b':' => Part::Number(std::str::from_utf8(line).ok()?.parse().ok()?),
            b'+' => Part::Text(line),
            b'-' => Part::Error(line),
            _ => return None,
        })
    }

    /// Passes over one reply, with all that is in it.
    pub(super) fn skip(&mut self) -> Option<()> {
        let mut left = 1_usize;
        while left > 0 {
            left -= 1;
            if let Part::Many(more) = self.part()? {
                left = left.checked_add(more)?;
            }
        }
        Some(())
    }
}

/// The kind of a reply and its line, and what follows it.
fn line(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (kind, rest) = bytes.split_first()?;
    let end = rest.iter().position(|byte| *byte == b'\r')?;
    let (line, rest) = rest.split_at_checked(end)?;
    Some((*kind, line, rest.strip_prefix(b"\r\n")?))
}

/// A length, or nothing for `-1`; no answer for what is no length.
#[allow(clippy::option_option, reason = "what is there is not what can be read")]
fn length(line: &[u8]) -> Option<Option<usize>> {
    if line == b"-1" {
        return Some(None);
    }
    if line.is_empty() {
        return None;
    }
    let mut length = 0_usize;
    for byte in line {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        length = length.checked_mul(10)?.checked_add(usize::from(digit))?;
    }
    Some(Some(length))
}

/// Finds where replies end in bytes that come bit by bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scanner {
    /// What was looked at.
    at: usize,
    /// Replies that are still to come.
    left: usize,
}

/// Something that is no reply of this version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Garbled;

impl Scanner {
    /// Looks for the end of so many replies.
    pub(super) fn of(replies: usize) -> Scanner {
        Scanner { at: 0, left: replies }
    }

    /// Where the replies end, if they have come.
    pub(super) fn end(&mut self, bytes: &[u8]) -> Result<Option<usize>, Garbled> {
        while self.left > 0 {
            let rest = bytes.get(self.at..).unwrap_or_default();
            let Some((kind, line, behind)) = line(rest) else {
                return if is_begun(rest) { Ok(None) } else { Err(Garbled) };
            };
            let next = bytes.len() - behind.len();
            let mut more = 0;
            self.at = match kind {
                b'$' => match length(line).ok_or(Garbled)? {
                    None => next,
                    Some(length) => {
                        let end = next.checked_add(length).and_then(|end| end.checked_add(2));
                        match end.ok_or(Garbled)? {
                            end if end > bytes.len() => return Ok(None),
                            end => end,
                        }
                    }
                },
                b'*' => {
                    more = length(line).ok_or(Garbled)?.unwrap_or(0);
                    next
                }
                b'+' | b'-' | b':' => next,
                _ => return Err(Garbled),
            };
            self.left = (self.left - 1).checked_add(more).ok_or(Garbled)?;
        }
        Ok(Some(self.at))
    }
}

/// Whether these may be the first bytes of a reply whose line has not come to its end.
fn is_begun(bytes: &[u8]) -> bool {
    let end = bytes.iter().position(|byte| *byte == b'\r');
    let is_last = end.is_none_or(|end| end + 1 == bytes.len());
    is_last && bytes.first().is_none_or(|kind| b"$*:+-".contains(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPLIES: &[u8] =
        b"+OK\r\n*3\r\n$4\r\na\r\nb\r\n*1\r\n$-1\r\n:-12\r\n-ERR no\r\n*-1\r\n$0\r\n\r\n*0\r\n";

    #[test]
    fn the_parts_of_replies_are_read_in_order() {
        let mut reader = Reader::new(REPLIES);
        let mut parts = Vec::new();
        while let Some(part) = reader.part() {
            parts.push(part);
        }
        let expected = [
            Part::Text(b"OK"),
            Part::Many(3),
            Part::Text(b"a\r\nb"),
            Part::Many(1),
            Part::Nothing,
            Part::Number(-12),
            Part::Error(b"ERR no"),
            Part::Nothing,
            Part::Text(b""),
            Part::Many(0),
        ];
        assert_eq!(parts, expected);
        assert!(reader.rest().is_empty());
    }

    #[test]
    fn the_end_of_replies_is_found_wherever_they_are_cut() {
        // How many replies end where.
        let ends = [(1, 5), (2, 34), (3, 43), (4, 48), (5, 54), (6, 58)];
        for (replies, end) in ends {
            let mut scanner = Scanner::of(replies);
            for length in 0..end {
                let found = scanner.end(REPLIES.get(..length).unwrap());
                assert_eq!(found, Ok(None), "{replies} in {length}");
            }
            assert_eq!(scanner.end(REPLIES), Ok(Some(end)));
            assert_eq!(Scanner::of(replies).end(REPLIES), Ok(Some(end)));
        }
        assert_eq!(Scanner::of(0).end(b""), Ok(Some(0)));
    }

    #[test]
    fn what_is_no_reply_is_garbled() {
        for bytes in
            [&b"x"[..], b"$x\r\n", b"$\r\n", b"*-2\r\n", b"+a\rb", b"$99999999999999999999\r\n"]
        {
            assert_eq!(Scanner::of(1).end(bytes), Err(Garbled), "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn several_commands_are_a_transaction_and_one_is_not() {
        let mut request = Request::with_capacity(0);
        request.command(2);
        request.text(b"GET");
        request.text(b"one");
        let mut single = request.clone();
        single.seal();
        assert_eq!(single.sent(), (&b"*2\r\n$3\r\nGET\r\n$3\r\none\r\n"[..], 1));
        request.command(3);
        request.text(b"HGET");
        request.text(&[b'k'; 123]);
        request.number(40);
        request.seal();
        let (bytes, replies) = request.sent();
        let text = String::from_utf8_lossy(bytes).into_owned();
        assert!(text.starts_with("*1\r\n$5\r\nMULTI\r\n*2\r\n"), "{text}");
        assert!(text.contains("\r\n$123\r\nkkk"), "{text}");
        assert!(text.ends_with("kk\r\n$2\r\n40\r\n*1\r\n$4\r\nEXEC\r\n"), "{text}");
        assert_eq!(replies, 4);
        assert_eq!((request.key(0), request.key(1)), (b"one".to_vec(), vec![b'k'; 123]));
        assert_eq!(request.key(3), Vec::<u8>::new());
    }
}
