//! Enough of Cassandra's wire protocol to ask a server a question: one statement, its rows as text.
//!
//! The stores have a driver; tests look at what it wrote with something else, and `tap` notes how
//! it sent it. Version 4 of the protocol, no compression, values of type text (`CAST (n AS text)`
//! makes any number one).

pub mod tap;

use crate::proxy::Turn;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long a statement may take; making a table takes seconds on a busy machine.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

const STARTUP: u8 = 1;
const READY: u8 = 2;
const OPTIONS: u8 = 5;
const QUERY: u8 = 7;
const RESULT: u8 = 8;
const PREPARE: u8 = 9;
const EXECUTE: u8 = 10;
const REGISTER: u8 = 11;
const BATCH: u8 = 13;

/// Rows of texts; a null is an empty text.
pub type Rows = Vec<Vec<String>>;

/// Which turns of a driver a proxy counts: no statement that is prepared once, no question whether
/// the server is there, and nothing on the connection that waits for news of the cluster.
pub fn turn(request: &[u8]) -> Turn {
    match request.get(4) {
        Some(&(STARTUP | OPTIONS | PREPARE)) => Turn::LeftOut,
        Some(&REGISTER) => Turn::AllLeftOut,
        _ => Turn::Counted,
    }
}

/// A connection to one server.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
}

impl Connection {
    /// Connects, and waits until the server is ready for statements.
    pub fn open(address: impl ToSocketAddrs) -> Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        let mut connection = Connection { stream };
        let mut body = 1_u16.to_be_bytes().to_vec();
        for text in ["CQL_VERSION", "3.0.0"] {
            body.extend((text.len() as u16).to_be_bytes());
            body.extend(text.as_bytes());
        }
        match connection.ask(STARTUP, &body)? {
            (READY, _) => Ok(connection),
            (code, body) => Err(refused(code, &body)),
        }
    }

    /// Runs one statement at `LOCAL_QUORUM`.
    pub fn run(&mut self, statement: &str) -> Result<Rows> {
        const LOCAL_QUORUM: u16 = 6;
        const NO_FLAGS: u8 = 0;
        let mut body = (statement.len() as u32).to_be_bytes().to_vec();
        body.extend(statement.as_bytes());
        body.extend(LOCAL_QUORUM.to_be_bytes());
        body.push(NO_FLAGS);
        match self.ask(QUERY, &body)? {
            (RESULT, body) => rows(&body),
            (code, body) => Err(refused(code, &body)),
        }
    }

    fn ask(&mut self, code: u8, body: &[u8]) -> Result<(u8, Vec<u8>)> {
        const VERSION: u8 = 4;
        let mut frame = vec![VERSION, 0, 0, 0, code];
        frame.extend((body.len() as u32).to_be_bytes());
        frame.extend(body);
        self.stream.write_all(&frame)?;
        let mut head = [0; 9];
        self.stream.read_exact(&mut head)?;
        let [_, flags, _, _, code, length @ ..] = head;
        let mut body = vec![0; u32::from_be_bytes(length) as usize];
        self.stream.read_exact(&mut body)?;
        Ok((code, without_warnings(flags, body)?))
    }
}

/// What a server warns of stands before its answer.
fn without_warnings(flags: u8, body: Vec<u8>) -> Result<Vec<u8>> {
    const WARNING: u8 = 8;
    let mut reader = body.as_slice();
    if flags & WARNING != 0 {
        for _ in 0..short(&mut reader)? {
            name(&mut reader)?;
        }
    }
    Ok(reader.to_vec())
}

fn refused(code: u8, body: &[u8]) -> Error {
    let text = String::from_utf8_lossy(body);
    Error::other(format!("answer {code}: {}", text.trim_matches(|c: char| c.is_control())))
}

/// The rows of a result; none where it is of another kind.
fn rows(body: &[u8]) -> Result<Rows> {
    const ROWS: i32 = 2;
    const GLOBAL_TABLE: i32 = 1;
    const MORE_PAGES: i32 = 2;
    let mut reader = body;
    if number(&mut reader)? != ROWS {
        return Ok(Vec::new());
    }
    let (flags, columns) = (number(&mut reader)?, number(&mut reader)?);
    if flags & MORE_PAGES != 0 {
        return Err(Error::new(ErrorKind::Unsupported, "the result has more than one page"));
    }
    let has_one_table = flags & GLOBAL_TABLE != 0;
    let table = |reader: &mut &[u8]| name(reader).and_then(|()| name(reader));
    if has_one_table {
        table(&mut reader)?;
    }
    for _ in 0..columns {
        if !has_one_table {
            table(&mut reader)?;
        }
        name(&mut reader)?;
        check_is_text(&mut reader)?;
    }
    let count = number(&mut reader)?;
    let row = |reader: &mut &[u8]| (0..columns).map(|_| value(reader)).collect();
    (0..count).map(|_| row(&mut reader)).collect()
}

/// Steps over a name.
fn name(reader: &mut &[u8]) -> Result<()> {
    let mut bytes = vec![0; usize::from(short(reader)?)];
    reader.read_exact(&mut bytes)
}

/// Other types have other bytes, and some a longer description.
fn check_is_text(reader: &mut &[u8]) -> Result<()> {
    const ASCII: u16 = 1;
    const TEXT: u16 = 13;
    match short(reader)? {
        ASCII | TEXT => Ok(()),
        _ => Err(Error::new(ErrorKind::Unsupported, "a column is not text: CAST it")),
    }
}

fn short(reader: &mut &[u8]) -> Result<u16> {
    let mut bytes = [0; 2];
    reader.read_exact(&mut bytes)?;
    Ok(u16::from_be_bytes(bytes))
}

fn number(reader: &mut &[u8]) -> Result<i32> {
    let mut bytes = [0; 4];
    reader.read_exact(&mut bytes)?;
    Ok(i32::from_be_bytes(bytes))
}

fn value(reader: &mut &[u8]) -> Result<String> {
    let mut bytes = vec![0; usize::try_from(number(reader)?).unwrap_or_default()];
    reader.read_exact(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
