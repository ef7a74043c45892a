//! `keyway serve` and `keyway token`, as people use them.

use crate::{Directory, command, keyway, scaffold, token};
use serde_json::{Value as Json, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

/// A server that runs, mostly on the scaffold in a directory of its own.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    /// What it said when it began.
    said: Json,
}

/// Asks a server, and answers the status and the body.
pub(crate) fn ask(address: &str, token: &str, method: &str, path: &str, body: &str) -> (u16, Json) {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Authorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    (status, serde_json::from_str(body).unwrap_or(Json::Null))
}

impl Server {
    pub(crate) fn start(file: &str, more: &[&str]) -> Server {
        let begin = ["serve", file, "--listen", "127.0.0.1:0", "--json"];
        let mut child = command(&[&begin, more].concat())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        while !said.trim_end().ends_with('}') {
            if lines.read_line(&mut said).unwrap() == 0 {
                let mut complaint = String::new();
                child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
                panic!("the server did not start: {complaint}");
            }
        }
        let said: Json = serde_json::from_str(&said).unwrap();
        let address = said["address"].as_str().unwrap().replace("http://", "");
        Server { child, address, said }
    }

    /// Only the first start shows one.
    fn token(&self) -> &str {
        self.said["token"].as_str().unwrap()
    }

    /// Asks, and answers the status and the body.
    fn ask(&self, token: &str, method: &str, path: &str, body: &str) -> (u16, Json) {
        ask(&self.address, token, method, path, body)
    }

    fn write_note(&self, token: &str, title: &str) {
        let body = json!({"title": title, "content": ""}).to_string();
        let (status, answer) = self.ask(token, "POST", "/save_note", &body);
        assert_eq!(status, 200, "{answer}");
    }

    fn titles(&self, token: &str) -> Vec<String> {
        let (status, answer) = self.ask(token, "GET", "/list_notes", "");
        assert_eq!(status, 200, "{answer}");
        let rows = answer["rows"].as_array().unwrap().iter();
        rows.map(|row| row["title"].as_str().unwrap().to_string()).collect()
    }

    /// Tells it to end, and answers its exit status.
    pub(crate) fn end(self) -> Option<i32> {
        self.ended().0
    }

    /// The same, with all that it logged.
    pub(crate) fn ended(mut self) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        assert!(
            std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success()
        );
        let mut logged = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut logged).unwrap();
        (self.child.wait().unwrap().code(), logged)
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_token_is_shown_once_and_works_ever_after() {
    let directory = Directory::new("serve-token");
    let file = scaffold(&directory);
    let server = Server::start(&file, &[]);
    let token = server.token().to_string();
    assert!(token.starts_with("kw_operator_"), "{token}");
    server.write_note(&token, "Milk");
    assert_eq!(server.titles(&token), ["Milk"]);
    let open = server.said["console"].as_str().unwrap();
    assert!(open.contains("/#open="), "{open}");
    assert_eq!(server.end(), Some(0));
    // Neither the token nor its secret lies anywhere.
    for entry in fs::read_dir(directory.path(".keyway")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            let secret = &token.as_bytes()[token.len() - 50..token.len() - 7];
            assert!(!bytes.windows(43).any(|part| part == secret), "{}", path.display());
        }
    }
    let again = Server::start(&file, &[]);
    assert_eq!(again.said["token"], Json::Null);
    assert_eq!(again.titles(&token), ["Milk"]);
}

#[test]
fn what_was_acknowledged_is_there_after_a_kill() {
    let directory = Directory::new("serve-kill");
    let file = scaffold(&directory);
    let server = Server::start(&file, &[]);
    let token = server.token().to_string();
    let titles: Vec<String> = (0..20).map(|number| format!("{number}")).collect();
    titles.iter().for_each(|title| server.write_note(&token, title));
    server.kill();
    assert_eq!(Server::start(&file, &[]).titles(&token), titles);
}

#[test]
fn tokens_are_made_and_revoked_while_a_server_runs() {
    let directory = Directory::new("serve-tokens");
    let file = scaffold(&directory);
    let server = Server::start(&file, &[]);
    let made =
        keyway(&["token", "create", &file, "--as", "ann", "--role", "admin", "--label", "laptop"]);
    assert_eq!(made.status, 0, "{}", made.complaint);
    assert!(made.complaint.contains("the only time it is shown"), "{}", made.complaint);
    let ann = made.output.trim().to_string();
    server.write_note(&ann, "Mine");
    assert_eq!(server.titles(&ann), ["Mine"]);
    assert!(server.titles(server.token()).is_empty());
    let template = r#"{"name":"t","value":{"a":1}}"#;
    assert_eq!(server.ask(&ann, "POST", "/put_template", template).0, 200);
    assert_eq!(server.ask(server.token(), "POST", "/put_template", template).0, 403);
    let listed = keyway(&["token", "list", &file]);
    assert!(listed.output.contains("laptop") && listed.output.contains("ann"), "{}", listed.output);
    assert!(!listed.output.contains(&ann[20..60]), "{}", listed.output);
    let id = ann.split('_').nth(2).unwrap();
    let revoked = keyway(&["token", "revoke", &file, id]);
    assert_eq!((revoked.status, revoked.output.contains(id)), (0, true), "{}", revoked.complaint);
    assert_eq!(keyway(&["token", "revoke", &file, id]).status, 1);
    while server.ask(&ann, "GET", "/list_notes", "").0 != 401 {
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_token_must_be_somebodys() {
    let directory = Directory::new("serve-nobody");
    let file = scaffold(&directory);
    let refused = keyway(&["token", "create", &file]);
    assert_eq!(refused.status, 2);
    assert!(refused.complaint.contains("--as USER"), "{}", refused.complaint);
    let refused = keyway(&["token", "create", &file, "--as", "ann", "--expires", "soon"]);
    assert_eq!(refused.status, 2);
    assert!(refused.complaint.contains("30d"), "{}", refused.complaint);
    let made = keyway(&["token", "create", &file, "--as", "ann", "--expires", "30d", "--json"]);
    let made: Json = serde_json::from_str(&made.output).unwrap();
    assert!(made["expires_at"].is_string() && made["token"].is_string(), "{made}");
}

#[test]
fn what_cannot_be_served_is_told_with_its_fix() {
    let directory = Directory::new("serve-refused");
    let file = scaffold(&directory);
    let serve = |more: &[&str]| keyway(&[&["serve", &file, "--store", "memory:"], more].concat());
    let open = serve(&["--trust-callers", "--listen", "0.0.0.0:0"]);
    assert_eq!(open.status, 2, "{}", open.complaint);
    assert!(open.complaint.contains("listen on 127.0.0.1"), "{}", open.complaint);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = serve(&["--listen", &taken.local_addr().unwrap().to_string()]);
    assert_eq!(taken.status, 4, "{}", taken.complaint);
    assert!(taken.complaint.contains("--listen"), "{}", taken.complaint);
    let nothing = directory.path("none.pem");
    let tls = serve(&["--tls-certificate", &nothing, "--tls-key", &nothing]);
    assert_eq!(tls.status, 2, "{}", tls.complaint);
    assert!(tls.complaint.contains("none.pem"), "{}", tls.complaint);
    assert_eq!(serve(&["--tls-key", &nothing]).status, 2);
}

#[test]
fn a_second_server_on_one_engine_is_refused() {
    let directory = Directory::new("serve-twice");
    let file = scaffold(&directory);
    let server = Server::start(&file, &[]);
    let second = keyway(&["serve", &file, "--listen", "127.0.0.1:0"]);
    assert_eq!(second.status, 4, "{}", second.complaint);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn traces_reach_a_collector() {
    let directory = Directory::new("serve-traces");
    let file = scaffold(&directory);
    let collector = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", collector.local_addr().unwrap());
    let received = std::thread::spawn(move || {
        let (mut stream, _) = collector.accept().unwrap();
        let mut received = Vec::new();
        let mut buffer = [0; 4_096];
        let parent = [0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6];
        // The trace that the caller began is in the span.
        while !received.windows(8).any(|part| part == parent) {
            let read = stream.read(&mut buffer).unwrap();
            assert!(read > 0, "the connection ended: {}", String::from_utf8_lossy(&received));
            received.extend_from_slice(&buffer[..read]);
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        received
    });
    let server = Server::start(&file, &["--traces", &address]);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    write!(
        stream,
        "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         traceparent: {trace}\r\n\r\n"
    )
    .unwrap();
    stream.read_to_string(&mut String::new()).unwrap();
    assert_eq!(server.end(), Some(0));
    let received = String::from_utf8_lossy(&received.join().unwrap()).into_owned();
    assert!(received.starts_with("POST /v1/traces HTTP/1.1"), "{received}");
    assert!(received.contains("/health"), "{received}");
    let refused = keyway(&["serve", &file, "--traces", "collector:4318"]);
    assert_eq!(refused.status, 2, "{}", refused.complaint);
}

/// One call that is answered, one that is refused, and an operator who looks at rows.
fn some_requests(file: &str, log: &[&str]) -> (String, String) {
    let server = Server::start(file, log);
    let token = server.token().to_string();
    server.write_note(&token, "Milk");
    assert_eq!(server.ask(&token, "GET", "/list_notes?limit=secret", "").0, 400);
    assert_eq!(server.ask(&token, "GET", "/-/api/rows/notes", "").0, 200);
    let (status, logged) = server.ended();
    assert_eq!(status, Some(0), "{logged}");
    (token, logged)
}

#[test]
fn requests_are_logged_as_json() {
    let directory = Directory::new("serve-log-json");
    let log = ["--log", "requests", "--log-form", "json"];
    let (token, logged) = some_requests(&scaffold(&directory), &log);
    let lines: Vec<Json> = logged
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
        .collect();
    let of = |path: &str| {
        let found = lines.iter().find(|line| line["message"] == "request" && line["path"] == path);
        found.unwrap_or_else(|| panic!("{path} is not in\n{logged}"))
    };
    let saved = of("/save_note");
    assert_eq!((&saved["method"], &saved["status"]), (&json!("POST"), &json!(200)), "{saved}");
    assert_eq!((&saved["level"], &saved["rows"]), (&json!("INFO"), &json!(1)), "{saved}");
    assert!(saved["microseconds"].as_u64().unwrap() > 0, "{saved}");
    assert!(saved["round_trips"].as_u64().unwrap() > 0, "{saved}");
    assert!(saved["timestamp"].is_string() && saved.get("problem").is_none(), "{saved}");
    let refused = of("/list_notes");
    assert_eq!(refused["status"], 400, "{refused}");
    assert_eq!(refused["problem"], "argument", "{refused}");
    let audit =
        lines.iter().find(|line| line["message"] == "audit" && line["action"] == "rows read");
    let audit = audit.unwrap_or_else(|| panic!("no audit in\n{logged}"));
    assert_eq!(audit["subject"], "notes", "{audit}");
    // Neither what was asked for nor who may ask belongs into a log.
    assert!(!logged.contains("secret") && !logged.contains("Milk"), "{logged}");
    assert!(!logged.contains(&token[token.len() - 50..]), "{logged}");
}

#[test]
fn requests_are_logged_as_lines_where_they_are_asked_for() {
    let directory = Directory::new("serve-log-text");
    let (_, logged) = some_requests(&scaffold(&directory), &["--log", "requests"]);
    let line = logged.lines().find(|line| line.contains("/save_note"));
    let line = line.unwrap_or_else(|| panic!("no request in\n{logged}"));
    for part in ["INFO request", "method=POST", "status=200", "rows=1"] {
        assert!(line.contains(part), "{part} is not in {line}");
    }
    // Bytes that colour a terminal are for terminals.
    assert!(!logged.contains('\u{1b}'), "{logged}");
    let directory = Directory::new("serve-log-usual");
    assert_eq!(some_requests(&scaffold(&directory), &[]).1, "");
}

const TENANTS: &str = r#"
[keyspace]
name = "tenants"

[collection.projects]
key    = "tenant:{tenant_id: text}:user:{user_id: text}:projects | {project_id: text}"
tenant = "tenant_id"
owner  = "user_id"
fields = { name = "text" }
expect = { rows_per_group = 100 }

[pattern.start_project]
insert = "projects"

[pattern.projects]
list = "projects"
page = 50
"#;

#[test]
fn a_token_is_of_a_tenant() {
    let directory = Directory::new("serve-tenants");
    let file = directory.write("keyspace.toml", TENANTS);
    let server = Server::start(&file, &[]);
    let [red, blue] =
        ["red", "blue"].map(|tenant| token(&file, &["--as", "ann", "--tenant", tenant]));
    let body = r#"{"project_id": "p", "name": "Rockets"}"#;
    let (status, started) = server.ask(&red, "POST", "/start_project", body);
    assert_eq!((status, &started["row"]["tenant_id"]), (200, &json!("red")), "{started}");
    assert_eq!(server.ask(&red, "GET", "/projects", "").1["rows"], json!([started["row"]]));
    assert_eq!(server.ask(&blue, "GET", "/projects", "").1["rows"], json!([]));
    // Whoever has no tenant has no projects.
    assert_eq!(server.ask(server.token(), "GET", "/projects", "").0, 403);
    let listed = keyway(&["token", "list", &file]);
    for tenant in ["red", "blue"] {
        assert!(listed.output.contains(tenant), "{}", listed.output);
    }
    assert_eq!(server.end(), Some(0));
}
