//! The same endpoints as an expert writes them by hand: axum over the same engine, with the same
//! rows and index entries, tokens that are kept as keyed hashes, and the same JSON.
//!
//! It is this program, started again with a word that nobody types. It has no numbers for
//! Prometheus, no conditions, no limits, and no headers for browsers.

use super::contender::Sync;
use super::hand_written::{HandWritten, Taken, Version};
use super::keyway_serve::Rows;
use super::notes::Note;
use super::process::word_after;
use super::served::{LISTED, READER, Server, WRITER};
use super::ulid::{from_ulid, ulid};
use axum::extract::{FromRequestParts, Query, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, ETAG};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use axum::{Json, Router};
use data::clock::{Random, SystemRandom};
use serde::{Deserialize, Serialize};
use servers::kept::Kept;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// The word that makes this program a server.
pub const HIDDEN: &str = "--serve-by-hand";

/// Starts it.
pub fn start() -> Result<Server, String> {
    let mut kept = Kept::new("serve-by-hand");
    let store = kept.folder().join("store").display().to_string();
    let program = std::env::current_exe().unwrap().display().to_string();
    kept.start(&program, &[HIDDEN.to_string(), store]);
    let tokens = [READER, WRITER].map(|user| word_after(&kept, &format!("token of {user}:")));
    let address = word_after(&kept, "listening on").parse().unwrap();
    Ok(Server { address, processes: vec![kept], speaks: Box::new(Rows { tokens }) })
}

/// Serves until it is killed.
pub fn serve(folder: &Path) {
    let random = SystemRandom::start().unwrap();
    let secret = || {
        let mut secret = [0; 32];
        random.fill(&mut secret);
        secret
    };
    let pepper = secret();
    let mut tokens = HashMap::new();
    for user in [READER, WRITER] {
        let (id, secret) = (format!("token{user}"), blake3::Hash::from_bytes(secret()).to_hex());
        println!("token of {user}: {id}_{secret}");
        tokens.insert(id, (blake3::keyed_hash(&pepper, secret.as_bytes()), user));
    }
    let engine = HandWritten::open(folder, Sync::Process, true);
    let notebook = Arc::new(Notebook { engine, pepper, tokens });
    let router = Router::new()
        .route("/add_note", post(add_note))
        .route("/note", get(note))
        .route("/newest_notes", get(newest_notes))
        .with_state(notebook);
    // As many threads as the other has.
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("listening on {}", listener.local_addr().unwrap());
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
        axum::serve(listener, router).await.unwrap();
    });
}

struct Notebook {
    engine: HandWritten,
    pepper: [u8; 32],
    tokens: HashMap<String, (blake3::Hash, u64)>,
}

/// Whoever shows a token.
struct User(u64);

impl FromRequestParts<Arc<Notebook>> for User {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        notebook: &Arc<Notebook>,
    ) -> Result<User, Problem> {
        let shown = parts.headers.get(AUTHORIZATION).and_then(|shown| shown.to_str().ok());
        let token = shown.and_then(|shown| shown.strip_prefix("Bearer ")?.split_once('_'));
        let kept = token.and_then(|(id, secret)| {
            let (hash, user) = notebook.tokens.get(id)?;
            // Hashes of this kind are compared in constant time.
            (blake3::keyed_hash(&notebook.pepper, secret.as_bytes()) == *hash).then_some(*user)
        });
        kept.map(User).ok_or(Problem(StatusCode::UNAUTHORIZED, "the token is not known"))
    }
}

#[derive(Serialize)]
struct Row {
    author: u64,
    note_id: String,
    title: String,
    words: String,
    tag: String,
    lat: f64,
    lon: f64,
}

impl From<Note> for Row {
    fn from(note: Note) -> Row {
        let Note { author, note_id, title, words, tag, lat, lon } = note;
        Row { author, note_id: ulid(note_id), title, words, tag, lat, lon }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewNote {
    note_id: String,
    title: String,
    words: String,
    tag: String,
    lat: f64,
    lon: f64,
}

#[derive(Serialize)]
struct Added {
    key: String,
    version: String,
    row: Row,
}

async fn add_note(
    State(notebook): State<Arc<Notebook>>,
    User(author): User,
    Json(new): Json<NewNote>,
) -> Result<Response, Problem> {
    let NewNote { note_id, title, words, tag, lat, lon } = new;
    let note = Note { author, note_id: id(&note_id)?, title, words, tag, lat, lon };
    let written = notebook.engine.write(std::slice::from_ref(&note));
    let version = written.map_err(|Taken| Problem(StatusCode::CONFLICT, "the note is there"))?;
    let version = shown(version.unwrap_or_default());
    let tag = quoted(&version);
    let key = format!("user:{author}:notes:{note_id}");
    Ok((tag, Json(Added { key, version, row: note.into() })).into_response())
}

#[derive(Deserialize)]
struct Wanted {
    note_id: String,
}

#[derive(Serialize)]
struct Found {
    row: Row,
    version: String,
}

async fn note(
    State(notebook): State<Arc<Notebook>>,
    User(author): User,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Problem> {
    let found = notebook.engine.get_versioned(author, id(&wanted.note_id)?);
    let (note, version) = found.ok_or(Problem(StatusCode::NOT_FOUND, "there is no such note"))?;
    let version = shown(version);
    Ok((quoted(&version), Json(Found { row: note.into(), version })).into_response())
}

#[derive(Deserialize)]
struct Place {
    cursor: Option<String>,
}

#[derive(Serialize)]
struct Listed {
    rows: Vec<Row>,
    next: Option<String>,
}

async fn newest_notes(
    State(notebook): State<Arc<Notebook>>,
    User(author): User,
    Query(place): Query<Place>,
) -> Result<Response, Problem> {
    let after = place.cursor.map(|cursor| notebook.open(author, &cursor));
    let after = after.map(|after| after.ok_or(Problem(StatusCode::BAD_REQUEST, "no cursor")));
    let page = notebook.engine.page_after(author, LISTED, after.transpose()?);
    let last = page.notes.last().filter(|_| page.more);
    let next = last.map(|note| notebook.seal(author, note.note_id));
    let rows = page.notes.into_iter().map(Row::from).collect();
    Ok(([(CACHE_CONTROL, NO_STORE)], Json(Listed { rows, next })).into_response())
}

impl Notebook {
    /// A cursor that only this server can have made, and only for this user.
    fn seal(&self, author: u64, note_id: u128) -> String {
        let mut content = [0; 24];
        content[..8].copy_from_slice(&author.to_be_bytes());
        content[8..].copy_from_slice(&note_id.to_be_bytes());
        ulid(note_id) + blake3::keyed_hash(&self.pepper, &content).to_hex().as_str()
    }

    fn open(&self, author: u64, cursor: &str) -> Option<u128> {
        let (note_id, seal) = cursor.split_at_checked(26)?;
        let note_id = id(note_id).ok()?;
        let own = self.seal(author, note_id);
        let own = blake3::Hash::from_hex(own.get(26..)?).ok()?;
        (blake3::Hash::from_hex(seal).ok()? == own).then_some(note_id)
    }
}

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

type Headers = [(axum::http::HeaderName, HeaderValue); 2];

fn quoted(version: &str) -> Headers {
    let tag = HeaderValue::try_from(format!("\"{version}\"")).unwrap();
    [(ETAG, tag), (CACHE_CONTROL, NO_STORE)]
}

fn shown(version: Version) -> String {
    uuid::Uuid::from_bytes(version).hyphenated().to_string()
}

fn id(text: &str) -> Result<u128, Problem> {
    let is_one = text.len() == 26 && ulid(from_ulid(text)) == text;
    is_one.then(|| from_ulid(text)).ok_or(Problem(StatusCode::BAD_REQUEST, "that is no id"))
}

struct Problem(StatusCode, &'static str);

#[derive(Serialize)]
struct Told {
    title: &'static str,
    status: u16,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Problem(status, title) = self;
        (status, Json(Told { title, status: status.as_u16() })).into_response()
    }
}
