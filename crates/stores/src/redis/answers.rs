//! Questions that change nothing, and their answers.
//!
//! ```text
//! questions, each about one key ─▶ one request, at one instant ─▶ replies, read where they lie
//! ```
//!
//! An error of one question is told with the key it is about. On a cluster all questions of one
//! request are about one slot. What the answers mean is not known here.
//!
//! A reply comes whole, and whoever shares the connection waits for it. Where the rows of a page
//! may be any size, a script asks about one after the other until there is enough (`rows.lua`).

use super::RedisStore;
use super::error::{failed, foreign, unexpected};
use super::fields::{Field, count};
use super::place::BYTES_AT_ONCE;
use super::protocol::{Part, Reader, Request};
use super::script::Arguments;
use bytes::Bytes;
use data::{Error, ErrorKind, Result};

/// Commands, each about one key.
pub(super) struct Questions {
    request: Request,
}

impl Questions {
    /// Room for about so many questions.
    pub(super) fn about(count: usize) -> Questions {
        Questions { request: Request::with_capacity(count.saturating_mul(80)) }
    }

    /// Asks for something of a key.
    pub(super) fn ask(&mut self, command: &str, name: &[u8], more: &[&[u8]]) {
        self.request.command(more.len() + 2);
        self.request.text(command.as_bytes());
        self.request.text(name);
        more.iter().for_each(|argument| self.request.text(argument));
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.request.commands()
    }

    /// The same for the script that ends where there is enough: of a list and of rows, each so many
    /// questions.
    fn by_row(&self, counts: &[usize]) -> Option<Arguments> {
        let mut reader = self.request.read();
        let mut call = Arguments::default();
        call.values.number(BYTES_AT_ONCE);
        for count in counts {
            call.values.number(count);
            for _ in 0..*count {
                let Part::Many(texts) = reader.part()? else { return None };
                let mut text = || match reader.part()? {
                    Part::Text(text) => Some(text),
                    _ => None,
                };
                call.values.push(text()?);
                let key = text()?.to_vec();
                let number = call.key(key, b'*');
                call.values.number(number);
                call.values.number(texts.checked_sub(2)?);
                for _ in 2..texts {
                    call.values.push(text()?);
                }
            }
        }
        Some(call)
    }
}

impl Default for Questions {
    fn default() -> Self {
        Questions::about(4)
    }
}

/// Answers, in the order of the questions.
pub(super) struct Answered {
    replies: Bytes,
    request: Request,
}

impl Answered {
    /// What a script has answered, one answer behind the other; nothing if it has none.
    pub(super) fn of_script(reply: &Bytes) -> Option<Answered> {
        let mut reader = Reader::new(reply);
        let Some(Part::Many(_)) = reader.part() else { return None };
        let replies = reply.slice_ref(reader.rest());
        Some(Answered { replies, request: Request::with_capacity(0) })
    }

    /// Reads them.
    pub(super) fn read(&self) -> Answers<'_> {
        let reader = Reader::new(&self.replies);
        Answers { reader, request: &self.request, number: 0, fields: Vec::new() }
    }

    /// A piece of the answers, to be kept.
    pub(super) fn kept(&self, piece: &[u8]) -> Bytes {
        self.replies.slice_ref(piece)
    }
}

/// Answers that are being read.
pub(super) struct Answers<'r> {
    reader: Reader<'r>,
    request: &'r Request,
    /// How many were read.
    number: usize,
    fields: Vec<Field<'r>>,
}

impl<'r> Answers<'r> {
    /// The next answer, or how many parts it has; an error is about its key.
    pub(super) fn next(&mut self) -> Result<Part<'r>> {
        self.number += 1;
        match self.reader.part().ok_or_else(unexpected)? {
            Part::Error(line) => Err(self.refused(line)),
            part => Ok(part),
        }
    }

    #[cold]
    fn refused(&self, line: &[u8]) -> Error {
        let name = self.request.key(self.number.saturating_sub(1));
        let line = String::from_utf8_lossy(line);
        match line.split(' ').next().unwrap_or_default() {
            "WRONGTYPE" => foreign(&name, "another type", "the layout's type"),
            code => Error::new(ErrorKind::Unavailable, "the Redis server refused a read")
                .with("code", code)
                .with("key", name.escape_ascii()),
        }
    }

    /// The next answer: bytes, or nothing.
    pub(super) fn bytes(&mut self) -> Result<Option<&'r [u8]>> {
        match self.next()? {
            Part::Nothing => Ok(None),
            Part::Text(bytes) => Ok(Some(bytes)),
            _ => Err(unexpected()),
        }
    }

    /// The next answer: a number.
    pub(super) fn number(&mut self) -> Result<i64> {
        match self.next()? {
            Part::Number(number) => Ok(number),
            _ => Err(unexpected()),
        }
    }

    /// The next answer: the fields of a Hash, or none.
    pub(super) fn fields(&mut self) -> Result<&[Field<'r>]> {
        let Part::Many(parts) = self.next()? else { return Err(unexpected()) };
        self.fields.clear();
        for _ in 0..parts / 2 {
            let (name, value) = (self.text()?, self.text()?);
            self.fields.push((name, value));
        }
        Ok(&self.fields)
    }

    /// The next answer: the fields of a Hash of counters.
    pub(super) fn counts(&mut self) -> Result<Vec<(&'r [u8], Bytes)>> {
        let fields = self.fields()?.iter();
        fields.map(|(name, text)| Ok((*name, count(text)?))).collect()
    }

    /// The next answer: members.
    pub(super) fn members(&mut self) -> Result<Vec<&'r [u8]>> {
        let mut members = Vec::new();
        self.add_members(&mut members)?;
        Ok(members)
    }

    /// Adds the members of the next answer.
    pub(super) fn add_members(&mut self, members: &mut Vec<&'r [u8]>) -> Result<()> {
        let Part::Many(parts) = self.next()? else { return Err(unexpected()) };
        members.reserve(parts.min(self.reader.rest().len()));
        for _ in 0..parts {
            members.push(self.text()?);
        }
        Ok(())
    }

    /// A text within an answer.
    pub(super) fn text(&mut self) -> Result<&'r [u8]> {
        match self.reader.part() {
            Some(Part::Text(text)) => Ok(text),
            _ => Err(unexpected()),
        }
    }

    /// A text within an answer, or nothing.
    pub(super) fn text_or_nothing(&mut self) -> Result<Option<&'r [u8]>> {
        match self.reader.part() {
            Some(Part::Text(text)) => Ok(Some(text)),
            Some(Part::Nothing) => Ok(None),
            _ => Err(unexpected()),
        }
    }

    /// What was not read yet, as it came.
    pub(super) fn rest(&self) -> &'r [u8] {
        self.reader.rest()
    }
}

impl RedisStore {
    /// Asks everything in one message, and at one instant if it is more than one question.
    pub(super) async fn answers(&self, questions: Questions) -> Result<Answered> {
        let Questions { mut request } = questions;
        if request.commands() == 0 {
            return Ok(Answered { replies: Bytes::new(), request });
        }
        request.seal();
        match self.patiently(&request.key(0), request.sent()).await {
            Ok(replies) => Ok(Answered { replies, request }),
            Err(error) if error.code() == Some("WRONGTYPE") => {
                Err(foreign(&request.key(0), "another type", "the layout's type"))
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Asks about a list and its rows, of which each has so many questions, until there is enough;
    /// how many rows that are: one at least, if there is any.
    pub(super) async fn answers_until_enough(
        &self,
        questions: Questions,
        counts: &[usize],
    ) -> Result<(Answered, usize)> {
        let call = questions.by_row(counts).ok_or_else(unexpected)?;
        let reply = self.told(&self.rows_script, &call).await.map_err(failed)?;
        let mut reader = Reader::new(&reply);
        let (Some(Part::Many(_)), Some(Part::Number(rows))) = (reader.part(), reader.part()) else {
            return Err(unexpected());
        };
        let replies = reply.slice_ref(reader.rest());
        let rows = usize::try_from(rows).map_err(|_| unexpected())?;
        Ok((Answered { replies, request: questions.request }, rows))
    }
}
