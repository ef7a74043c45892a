//! A tap between a driver and its server: it carries every frame unchanged, and notes of each
//! statement what it was and at which consistency it was sent.
//!
//! ```text
//! driver ──QUERY, EXECUTE, BATCH──▶ tap ──▶ server
//!                                    └─ noted: texts, consistency, serial consistency
//! ```
//!
//! Every frame is seen, however many a driver sends at once; `proxy` sees turns. A frame that
//! cannot be read ends its connection, so that a test does not pass because nothing was noted.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use super::{BATCH, EXECUTE, PREPARE, QUERY, RESULT, name, number, short, without_warnings};
use std::collections::HashMap;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a driver sends a statement as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Its text.
    Query,
    /// One that was prepared.
    Execute,
    /// Several at once, which the server keeps in its log until all are done.
    LoggedBatch,
    /// Several at once, not kept.
    UnloggedBatch,
}

/// A statement as it was sent, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// As what.
    pub sent: Sent,
    /// The texts, prepared before or not.
    pub texts: Vec<String>,
    /// The consistency, by its number: 6 is `LOCAL_QUORUM`.
    pub consistency: u16,
    /// The serial consistency, by its number: 9 is `LOCAL_SERIAL`.
    pub serial: Option<u16>,
}

impl Statement {
    /// Whether it is a lightweight transaction.
    pub fn is_judged(&self) -> bool {
        self.texts.iter().any(|text| text.contains(" IF "))
    }

    /// Whether a text holds this.
    pub fn holds(&self, part: &str) -> bool {
        self.texts.iter().any(|text| text.contains(part))
    }
}

/// A tap before one server, until the end of the program.
#[derive(Debug)]
pub struct Tap {
    noted: Arc<Noted>,
    port: u16,
}

#[derive(Debug, Default)]
struct Noted {
    statements: Mutex<Vec<Statement>>,
    /// The texts of what was prepared, on whichever connection, by the server's names for them.
    prepared: Mutex<HashMap<Vec<u8>, String>>,
}

impl Tap {
    /// A tap before the server at this address.
    pub fn start(server: &str) -> Tap {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let port = listener.local_addr().expect("a listener has an address").port();
        let noted = Arc::new(Noted::default());
        let (own, server) = (noted.clone(), server.to_string());
        std::thread::spawn(move || {
            for driver in listener.incoming().flatten() {
                if let Ok(server) = TcpStream::connect(&server) {
                    let _ = join(&own, driver, server);
                }
            }
        });
        Tap { noted, port }
    }

    /// `127.0.0.1:PORT`
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// What was sent since this was asked last, in the order of its arrival; nothing of `system`
    /// tables, which the driver asks too, and not in which keyspace it works.
    pub fn take(&self) -> Vec<Statement> {
        let all = std::mem::take(&mut *lock(&self.noted.statements));
        let own = |statement: &Statement| statement.holds(" system") || statement.holds("USE ");
        all.into_iter().filter(|statement| !own(statement)).collect()
    }
}

/// Carries one connection, in two threads.
fn join(noted: &Arc<Noted>, driver: TcpStream, server: TcpStream) -> Result<()> {
    let _ = (driver.set_nodelay(true), server.set_nodelay(true));
    let (from_driver, to_server) = (driver.try_clone()?, server.try_clone()?);
    // Which text each stream of the connection prepares.
    let preparing: Arc<Mutex<HashMap<[u8; 2], String>>> = Arc::default();
    let (own, waiting) = (noted.clone(), preparing.clone());
    std::thread::spawn(move || {
        carry(from_driver, to_server, |frame| {
            if let Some(text) = own.request(frame)? {
                lock(&waiting).insert(frame.stream, text);
            }
            Ok(())
        })
    });
    let own = noted.clone();
    std::thread::spawn(move || {
        carry(server, driver, |frame| match lock(&preparing).remove(&frame.stream) {
            Some(text) => own.prepared(frame, text),
            None => Ok(()),
        })
    });
    Ok(())
}

/// One frame.
struct Frame {
    flags: u8,
    stream: [u8; 2],
    code: u8,
    body: Vec<u8>,
}

/// Carries frames one way, each shown before it goes on.
fn carry(mut from: TcpStream, mut to: TcpStream, mut show: impl FnMut(&Frame) -> Result<()>) {
    let mut one = || -> Result<()> {
        let mut head = [0; 9];
        from.read_exact(&mut head)?;
        let [_, flags, high, low, code, length @ ..] = head;
        let mut body = vec![0; u32::from_be_bytes(length) as usize];
        from.read_exact(&mut body)?;
        let frame = Frame { flags, stream: [high, low], code, body };
        show(&frame)?;
        to.write_all(&[&head[..], &frame.body].concat())
    };
    while one().is_ok() {}
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

impl Noted {
    /// Notes a statement; the text of one that is to be prepared.
    fn request(&self, frame: &Frame) -> Result<Option<String>> {
        let reader = &mut frame.body.as_slice();
        let (sent, texts) = match frame.code {
            PREPARE => return long_text(reader).map(Some),
            QUERY => (Sent::Query, vec![long_text(reader)?]),
            EXECUTE => (Sent::Execute, vec![self.text_of(reader)?]),
            BATCH => self.batch(reader)?,
            _ => return Ok(None),
        };
        let (consistency, serial) = consistencies(reader)?;
        let statement = Statement { sent, texts, consistency, serial };
        lock(&self.statements).push(statement);
        Ok(None)
    }

    fn batch(&self, reader: &mut &[u8]) -> Result<(Sent, Vec<String>)> {
        let sent = if byte(reader)? == 0 { Sent::LoggedBatch } else { Sent::UnloggedBatch };
        let mut texts = Vec::new();
        for _ in 0..short(reader)? {
            let is_prepared = byte(reader)? == 1;
            texts.push(if is_prepared { self.text_of(reader)? } else { long_text(reader)? });
            values(reader, false)?;
        }
        Ok((sent, texts))
    }

    /// The text of a statement that was prepared.
    fn text_of(&self, reader: &mut &[u8]) -> Result<String> {
        let id = short_bytes(reader)?;
        let text = lock(&self.prepared).get(&id).cloned();
        text.ok_or_else(|| Error::new(ErrorKind::InvalidData, "it was never prepared"))
    }

    /// Notes what the server calls a statement that it has prepared.
    fn prepared(&self, frame: &Frame, text: String) -> Result<()> {
        const PREPARED: i32 = 4;
        let body = without_warnings(frame.flags, frame.body.clone())?;
        let reader = &mut body.as_slice();
        if frame.code == RESULT && number(reader)? == PREPARED {
            lock(&self.prepared).insert(short_bytes(reader)?, text);
        }
        Ok(())
    }
}

/// The consistency, and the serial one that stands behind what else a statement has.
fn consistencies(reader: &mut &[u8]) -> Result<(u16, Option<u16>)> {
    const VALUES: u8 = 0x01;
    const PAGE_SIZE: u8 = 0x04;
    const PAGING_STATE: u8 = 0x08;
    const SERIAL: u8 = 0x10;
    const NAMES: u8 = 0x40;
    let (consistency, flags) = (short(reader)?, byte(reader)?);
    let has = |flag: u8| flags & flag != 0;
    if has(VALUES) {
        values(reader, has(NAMES))?;
    }
    if has(PAGE_SIZE) {
        number(reader)?;
    }
    if has(PAGING_STATE) {
        skip(reader)?;
    }
    Ok((consistency, if has(SERIAL) { Some(short(reader)?) } else { None }))
}

/// Steps over values, each with its name or not.
fn values(reader: &mut &[u8], have_names: bool) -> Result<()> {
    for _ in 0..short(reader)? {
        if have_names {
            name(reader)?;
        }
        skip(reader)?;
    }
    Ok(())
}

/// Steps over a value; one that is null or not set has a length below nothing.
fn skip(reader: &mut &[u8]) -> Result<()> {
    let length = usize::try_from(number(reader)?).unwrap_or(0);
    bytes(reader, length).map(drop)
}

fn byte(reader: &mut &[u8]) -> Result<u8> {
    let mut bytes = [0; 1];
    reader.read_exact(&mut bytes)?;
    Ok(bytes[0])
}

fn bytes(reader: &mut &[u8], length: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn short_bytes(reader: &mut &[u8]) -> Result<Vec<u8>> {
    let length = usize::from(short(reader)?);
    bytes(reader, length)
}

fn long_text(reader: &mut &[u8]) -> Result<String> {
    let length = usize::try_from(number(reader)?).unwrap_or(0);
    Ok(String::from_utf8_lossy(&bytes(reader, length)?).into_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
