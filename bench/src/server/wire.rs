//! HTTP/1.1 as a driver needs it: requests rendered before they are sent, and of a response no more
//! read than its status and where it ends.

use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request as it travels.
pub fn request(method: &str, path: &str, authorization: &str, body: Option<&str>) -> Vec<u8> {
    let mut text = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {authorization}\r\n"
    );
    if let Some(body) = body {
        let length = body.len();
        text += &format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
    }
    text += "\r\n";
    text += body.unwrap_or_default();
    text.into_bytes()
}

/// The same request by somebody who is not known.
pub fn anonymous(request: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(request.to_vec()).unwrap();
    let kept = text.split_inclusive("\r\n").filter(|line| !line.starts_with("Authorization:"));
    kept.collect::<String>().into_bytes()
}

/// A response: its status, and its body without the marks of its pieces.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Response {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A connection that stays open.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

/// Where things are in what was read.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub status: u16,
    /// Where the body begins and where the response ends.
    body: usize,
    end: usize,
    is_chunked: bool,
    /// Whether it is JSON, by its first letter.
    pub is_object: bool,
}

impl Connection {
    pub async fn open(address: SocketAddr) -> Connection {
        let stream = TcpStream::connect(address).await.unwrap_or_else(|error| {
            panic!("{address} takes no connection ({error}); too few open files? ulimit -n 8192")
        });
        stream.set_nodelay(true).unwrap();
        Connection { stream, read: Vec::with_capacity(32 << 10) }
    }

    /// Sends a request and waits until its response has come whole.
    pub async fn ask(&mut self, request: &[u8]) -> std::io::Result<Seen> {
        self.read.clear();
        self.stream.write_all(request).await?;
        loop {
            self.more().await?;
            if let Some(seen) = look(&self.read) {
                return Ok(seen);
            }
        }
    }

    /// Whether the last response has a header.
    pub fn says(&self, name: &str) -> bool {
        let head = find(&self.read, b"\r\n\r\n").map(|end| &self.read[..end]);
        head.is_some_and(|head| header(head, name.as_bytes()).is_some())
    }

    /// The same, with what was read.
    pub async fn ask_whole(&mut self, request: &[u8]) -> std::io::Result<Response> {
        let seen = self.ask(request).await?;
        let bytes = &self.read[seen.body..seen.end];
        let body = if seen.is_chunked { joined(bytes) } else { bytes.to_vec() };
        Ok(Response { status: seen.status, body })
    }

    /// Sends a request for a stream, and waits for its first answer.
    pub async fn follow(&mut self, request: &[u8]) -> std::io::Result<()> {
        self.read.clear();
        self.stream.write_all(request).await?;
        self.next_event(b"event: answer").await
    }

    /// Waits until something has come in an event that is whole, and forgets what came.
    pub async fn next_event(&mut self, with: &[u8]) -> std::io::Result<()> {
        loop {
            if let Some(at) = find(&self.read, with)
                && find(&self.read[at..], b"\n\n").is_some()
            {
                self.read.clear();
                return Ok(());
            }
            self.more().await?;
        }
    }

    /// How many answers of a stream have come meanwhile; forgets them.
    pub fn answers_since(&mut self) -> usize {
        while matches!(self.stream.try_read_buf(&mut self.read), Ok(1..)) {}
        let text = String::from_utf8_lossy(&self.read);
        let count = text.matches("event: answer").count();
        self.read.clear();
        count
    }

    async fn more(&mut self) -> std::io::Result<()> {
        match self.stream.read_buf(&mut self.read).await? {
            0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// What has been read, if it is a whole response.
fn look(read: &[u8]) -> Option<Seen> {
    let body = find(read, b"\r\n\r\n")? + 4;
    let status = std::str::from_utf8(read.get(9..12)?).ok()?.parse().ok()?;
    let head = &read[..body];
    let is_chunked = header(head, b"transfer-encoding").is_some();
    let end = match header(head, b"content-length") {
        Some(length) => body + std::str::from_utf8(length).ok()?.trim().parse::<usize>().ok()?,
        None if is_chunked => body + end_of_chunks(&read[body..])?,
        None => body,
    };
    let first = read.get(if is_chunked { body + chunk(&read[body..])?.0 } else { body });
    let is_object = first == Some(&b'{');
    (read.len() >= end).then_some(Seen { status, body, end, is_chunked, is_object })
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = wanted[0];
    let mut from = 0;
    loop {
        let at = from + bytes[from..].iter().position(|byte| *byte == first)?;
        if bytes[at..].starts_with(wanted) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// The value of a header.
fn header<'h>(head: &'h [u8], name: &[u8]) -> Option<&'h [u8]> {
    head.split(|byte| *byte == b'\n').find_map(|line| {
        let front = line.get(..name.len())?;
        let is_it = front.eq_ignore_ascii_case(name) && line.get(name.len()) == Some(&b':');
        is_it.then(|| line[name.len() + 1..].trim_ascii())
    })
}

/// Where the first piece of some begins, and how long it is.
fn chunk(bytes: &[u8]) -> Option<(usize, usize)> {
    let line = find(bytes, b"\r\n")?;
    let length = std::str::from_utf8(&bytes[..line]).ok()?;
    Some((line + 2, usize::from_str_radix(length.trim(), 16).ok()?))
}

fn end_of_chunks(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let (start, length) = chunk(bytes.get(at..)?)?;
        at += start + length + 2;
        if length == 0 {
            return (bytes.len() >= at).then_some(at);
        }
    }
}

fn joined(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some((start, length @ 1..)) = chunk(bytes) {
        whole.extend_from_slice(&bytes[start..start + length]);
        bytes = &bytes[start + length + 2..];
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_whole_when_its_length_has_come() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        assert!((0..whole.len()).all(|length| look(&whole[..length]).is_none()));
        let seen = look(whole).unwrap();
        assert_eq!((seen.status, seen.end, seen.is_object), (200, whole.len(), true));
    }

    #[test]
    fn a_response_in_pieces_is_whole_when_the_last_has_come() {
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let whole = format!("{head}3\r\n{{\"a\r\n4\r\n\":1}}\r\n0\r\n\r\n").into_bytes();
        assert!((0..whole.len()).all(|length| look(&whole[..length]).is_none()));
        let seen = look(&whole).unwrap();
        assert_eq!(joined(&whole[seen.body..seen.end]), b"{\"a\":1}");
        assert!(seen.is_object);
    }

    #[test]
    fn a_stranger_sends_the_same_without_a_token() {
        let request = request("GET", "/a", "Bearer x", None);
        assert_eq!(anonymous(&request), b"GET /a HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    }
}
