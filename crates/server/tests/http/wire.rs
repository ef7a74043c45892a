//! Connections as strangers make them: bytes on a socket.

use crate::support::Setup;
use server::{Settings, Tls, listen};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// How long an answer may take that is to come after a part of a second.
const WAITS: Duration = Duration::from_secs(20);

/// A server that listens.
struct Running {
    setup: Setup,
    address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Running {
    async fn start(settings: Settings, tls: Option<Tls>) -> Running {
        let setup = Setup::with(Settings { calls_a_second: None, ..settings }).await;
        let address = "127.0.0.1:0".parse().unwrap();
        let listening = listen(setup.service.clone(), address, tls).await.unwrap();
        let address = listening.address;
        let (end, ended) = oneshot::channel();
        let task = tokio::spawn(listening.serve(async {
            let _ = ended.await;
        }));
        Running { setup, address, end: Some(end), task }
    }

    async fn stop(mut self) {
        self.end.take().unwrap().send(()).unwrap();
        self.task.await.unwrap();
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends bytes on a new connection and reads all that comes back.
    async fn exchange(&self, sent: &str) -> String {
        talk(self.connect().await, sent).await
    }
}

async fn talk(mut stream: impl AsyncRead + AsyncWrite + Unpin, sent: &str) -> String {
    // A server that has read enough may cut the connection before all is sent.
    let _ = stream.write_all(sent.as_bytes()).await;
    let mut answer = Vec::new();
    // A connection that was cut has said what it had to say.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// A request on a connection that is used once.
fn request(running: &Running, path: &str, more: &str) -> String {
    let token = &running.setup.ann;
    format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Authorization: Bearer {token}\r\n{more}\r\n"
    )
}

#[tokio::test]
async fn lies_about_lengths_and_lines_are_refused() {
    let running = Running::start(Settings::default(), None).await;
    let token = running.setup.ann.clone();
    let front = format!(
        "POST /write_note HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nAuthorization: Bearer {token}\r\n"
    );
    let body = r#"{"title":"x"}"#;
    let well = format!("{front}Content-Length: {}\r\n\r\n{body}", body.len());
    assert!(running.exchange(&well).await.starts_with("HTTP/1.1 200"));
    // Two lengths, a length and chunks, a length that is none: what one proxy would read as one
    // request and the next as two.
    for lie in [
        format!("{front}Content-Length: 13\r\nContent-Length: 5\r\n\r\n{body}"),
        format!("{front}Content-Length: -1\r\n\r\n{body}"),
        format!("{front}Content-Length: 13\r\nTransfer-Encoding: gzip\r\n\r\n{body}"),
        format!("{front}X-Evil: a\nX: b\0\r\n\r\n{body}"),
        "GET /notes\r\nX HTTP/1.1\r\nHost: localhost\r\n\r\n".to_string(),
        "\x16\x03\x01\x02\x00".to_string() + "no TLS here\r\n\r\n",
    ] {
        let answer = running.exchange(&lie).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{lie:?}: {answer}");
    }
    // A line end in a value is a letter of the value, and never a header.
    let split = request(&running, "/note?note_id=a%0d%0aX-Evil:%201", "");
    let answer = running.exchange(&split).await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    assert!(!answer.to_ascii_lowercase().contains("x-evil"), "{answer}");
    let long = format!("X-Long: {}\r\n", "x".repeat(100_000));
    let answer = running.exchange(&request(&running, "/notes", &long)).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    let mebibyte = "A".repeat(1 << 20);
    for path in [format!("/notes?cursor={mebibyte}"), format!("/note?note_id={mebibyte}")] {
        let answer = running.exchange(&request(&running, &path, "")).await;
        // Cut off while it is being sent, the answer may be lost with the connection.
        let is_refused = answer.starts_with("HTTP/1.1 431") || answer.starts_with("HTTP/1.1 414");
        assert!(answer.is_empty() || is_refused, "{answer}");
    }
    let well = running.exchange(&request(&running, "/notes", "")).await;
    assert!(well.starts_with("HTTP/1.1 200"), "{well}");
    running.stop().await;
}

#[tokio::test]
async fn what_comes_too_slowly_is_given_up() {
    let settings = Settings { arrives_within: Duration::from_millis(300), ..Settings::default() };
    let running = Running::start(settings, None).await;
    let mut slow_head = running.connect().await;
    slow_head.write_all(b"GET /notes HTTP/1.1\r\nHost: loc").await.unwrap();
    let mut answer = Vec::new();
    slow_head.read_to_end(&mut answer).await.unwrap();
    assert!(!answer.starts_with(b"HTTP/1.1 200"));
    // Nobody needs a token to open the console, and an operator's body takes a place too.
    let operator = &running.setup.operator;
    for (path, token) in [
        ("/write_note", running.setup.ann.as_str()),
        ("/-/api/tokens", operator),
        ("/-/open", ""),
        ("/mcp", running.setup.ann.as_str()),
    ] {
        let shown = match token.is_empty() {
            true => String::new(),
            false => format!("Authorization: Bearer {token}\r\n"),
        };
        let slow_body = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Length: 100\r\nContent-Type: application/json\r\n{shown}\r\n{{"
        );
        let exchanged = tokio::time::timeout(WAITS, running.exchange(&slow_body)).await;
        let answer = exchanged.unwrap_or_else(|_| panic!("{path} waits for ever"));
        assert!(answer.starts_with("HTTP/1.1 408"), "{path}: {answer}");
        assert!(answer.contains("urn:keyway:problem:body"), "{path}: {answer}");
    }
    running.stop().await;
}

#[tokio::test]
async fn a_body_shorter_than_it_says_changes_nothing() {
    let running = Running::start(Settings::default(), None).await;
    let token = &running.setup.ann;
    let mut stream = running.connect().await;
    let cut = format!(
        "POST /write_note HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\
         Content-Type: application/json\r\nAuthorization: Bearer {token}\r\n\r\n{{\"title\":\"x\"}}"
    );
    stream.write_all(cut.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP/1.1 200"));
    let notes = running.exchange(&request(&running, "/notes", "")).await;
    assert!(notes.ends_with(r#"{"rows":[],"next":null}"#), "{notes}");
    running.stop().await;
}

#[tokio::test]
async fn too_many_requests_at_once_are_told_to_come_again() {
    let settings = Settings {
        requests_max: 2,
        arrives_within: Duration::from_secs(20),
        ..Settings::default()
    };
    let running = Running::start(settings, None).await;
    let token = &running.setup.ann;
    let waiting = format!(
        "POST /write_note HTTP/1.1\r\nHost: localhost\r\nContent-Length: 13\r\n\
         Content-Type: application/json\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    let (mut first, mut second) = (running.connect().await, running.connect().await);
    for stream in [&mut first, &mut second] {
        stream.write_all(waiting.as_bytes()).await.unwrap();
    }
    let ask = request(&running, "/notes", "");
    let shed = loop {
        let answer = running.exchange(&ask).await;
        if answer.starts_with("HTTP/1.1 503") {
            break answer;
        }
    };
    assert!(shed.to_ascii_lowercase().contains("\r\nretry-after: 1\r\n"), "{shed}");
    assert!(shed.contains("urn:keyway:problem:overloaded"), "{shed}");
    for stream in [&mut first, &mut second] {
        stream.write_all(br#"{"title":"x"}"#).await.unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200");
    }
    while !running.exchange(&ask).await.starts_with("HTTP/1.1 200") {}
    running.stop().await;
}

#[tokio::test]
async fn requests_under_way_end_before_the_server_does() {
    let running = Running::start(Settings::default(), None).await;
    let token = &running.setup.ann;
    let (head, body) = (
        format!(
            "POST /write_note HTTP/1.1\r\nHost: localhost\r\nContent-Length: 13\r\n\
             Content-Type: application/json\r\nAuthorization: Bearer {token}\r\n\r\n"
        ),
        br#"{"title":"x"}"#,
    );
    let mut stream = running.connect().await;
    stream.write_all(head.as_bytes()).await.unwrap();
    let service = running.setup.service.clone();
    // The request is under way when the server is told to end.
    loop {
        let numbers = running.setup.get(&running.setup.operator, "/metrics").await.body;
        if String::from_utf8(numbers).unwrap().contains("keyway_requests_under_way 2") {
            break;
        }
        tokio::task::yield_now().await;
    }
    let address = running.address;
    let stop = tokio::spawn(running.stop());
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    stream.write_all(body).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    stop.await.unwrap();
    let _ = service;
}

#[tokio::test]
async fn streams_end_when_the_server_does() {
    let settings = Settings { ends_within: Duration::from_secs(600), ..Settings::default() };
    let running = Running::start(settings, None).await;
    let mut stream = running.connect().await;
    stream.write_all(request(&running, "/notes?watch", "").as_bytes()).await.unwrap();
    let mut front = [0; 12];
    stream.read_exact(&mut front).await.unwrap();
    assert_eq!(&front, b"HTTP/1.1 200");
    // It would wait for ten minutes otherwise, and whoever runs this test would give up.
    running.stop().await;
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.unwrap();
    assert!(rest.ends_with(b"0\r\n\r\n"), "the stream ends in order");
}

#[tokio::test]
async fn a_certificate_makes_the_connection_private() {
    let name = format!("keyway-tls-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let (certificate, key) = (folder.join("chain.pem"), folder.join("key.pem"));
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap();
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let wrong = Tls::from_files(&key, &certificate).unwrap_err();
    assert!(wrong.to_string().contains("key.pem"), "{wrong}");
    let missing = Tls::from_files(&folder.join("none.pem"), &key).unwrap_err();
    assert!(missing.to_string().contains("none.pem"), "{missing}");
    let tls = Tls::from_files(&certificate, &key).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let running = Running::start(Settings::default(), Some(tls)).await;
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    let server = ServerName::try_from("localhost").unwrap();
    let stream = connector.connect(server, running.connect().await).await.unwrap();
    let answer = talk(stream, &request(&running, "/notes", "")).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let plain = running.exchange(&request(&running, "/notes", "")).await;
    assert!(!plain.starts_with("HTTP/1.1 200"), "{plain}");
    running.stop().await;
}
