//! An expert on the driver: the same tables, versions, locks, checks and outcomes, by hand.
//!
//! A connection a caller, every statement prepared, requests sent together: an insert is two round
//! trips, a page one. Notes by a tag are one statement with a join, or, so that the work is the
//! same, two reads. Whoever waits has a deadline, and so has the server.

use crate::notes::{Note, Page};
use crate::race::{Contender, Work};
use crate::ulid::{from_ulid, ulid};
use data::clock::SystemRandom;
use data::geo;
use data::store::CommitId;
use futures_util::future::{try_join3, try_join5};
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type};
use tokio_postgres::{Client, NoTls, Row, Statement};

type Failure = Box<dyn std::error::Error + Sync + Send>;

/// A whole number without a sign, as `numeric`.
#[derive(Debug)]
pub struct Unsigned(pub u64);

impl ToSql for Unsigned {
    fn to_sql(&self, _: &Type, out: &mut bytes::BytesMut) -> Result<IsNull, Failure> {
        use bytes::BufMut;
        let mut digits = Vec::with_capacity(5);
        let mut rest = self.0;
        while rest > 0 {
            digits.push((rest % 10_000) as u16);
            rest /= 10_000;
        }
        out.put_u16(digits.len() as u16);
        out.put_u16((digits.len().max(1) - 1) as u16);
        out.put_u32(0);
        digits.iter().rev().for_each(|digit| out.put_u16(*digit));
        Ok(IsNull::No)
    }

    fn accepts(of: &Type) -> bool {
        *of == Type::NUMERIC
    }

    tokio_postgres::types::to_sql_checked!();
}

impl<'r> FromSql<'r> for Unsigned {
    fn from_sql(_: &Type, raw: &'r [u8]) -> Result<Self, Failure> {
        let word = |at: usize| u64::from(u16::from_be_bytes([raw[2 * at], raw[2 * at + 1]]));
        let digit = |at: u64| if at < word(0) { word(4 + at as usize) } else { 0 };
        let places = if word(0) == 0 { 0 } else { word(1) + 1 };
        Ok(Unsigned((0..places).fold(0, |value, at| value * 10_000 + digit(at))))
    }

    fn accepts(of: &Type) -> bool {
        *of == Type::NUMERIC
    }
}

pub fn note_of(row: &Row) -> Note {
    let Unsigned(author) = row.get(0);
    Note {
        author,
        note_id: from_ulid(row.get(1)),
        title: row.get(2),
        words: row.get(3),
        tag: row.get(4),
        lat: row.get(5),
        lon: row.get(6),
    }
}

struct Connection {
    client: Client,
    take: Statement,
    check: Statement,
    put: Statement,
    tag: Statement,
    place: Statement,
    call: Statement,
    get: Statement,
    page: Statement,
    tagged: Statement,
    entries: Statement,
    many: Statement,
}

pub struct Expert {
    idle: Mutex<Vec<Connection>>,
    url: String,
    /// Whether notes by a tag are one statement.
    joins: bool,
    random: SystemRandom,
}

const SESSION: &str = "SET search_path TO notes; SET plan_cache_mode = force_generic_plan; \
    SET lock_timeout = '5s'; SET statement_timeout = '15s'; \
    SET idle_in_transaction_session_timeout = '15s'; \
    SET client_connection_check_interval = '1s'";

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// An answer that came in time.
async fn in_time<T>(
    answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, tokio_postgres::Error> {
    tokio::time::timeout(PATIENCE, answer).await.expect("an answer in time")
}

const COLUMNS: &str = "n.author, n.note_id, n.title, n.words, n.tag, n.lat, n.lon";

impl Connection {
    async fn open(url: &str) -> Connection {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(SESSION).await.unwrap();
        let prepare = async |text: &str| client.prepare(text).await.unwrap();
        let page = format!(
            "SELECT {COLUMNS} FROM notes n WHERE author = $1 ORDER BY note_id DESC LIMIT $2"
        );
        let tagged = format!(
            "SELECT {COLUMNS} FROM notes_by_tag e JOIN notes n USING (author, note_id) \
             WHERE e.tag = $1 ORDER BY e.note_id DESC, e.author LIMIT $2"
        );
        let many = format!(
            "SELECT k.n, {COLUMNS} FROM unnest($1::numeric[], $2::text[]) \
             WITH ORDINALITY AS k (author, note_id, n) JOIN notes n \
             ON n.author = k.author AND n.note_id = k.note_id COLLATE \"C\""
        );
        Connection {
            take: prepare(
                "SELECT CASE WHEN x THEN pg_advisory_xact_lock(h) \
                 ELSE pg_advisory_xact_lock_shared(h) END \
                 FROM unnest($1::int8[], $2::bool[]) u (h, x)",
            )
            .await,
            check: prepare("SELECT _v FROM notes WHERE author = $1 AND note_id = $2").await,
            put: prepare(
                "INSERT INTO notes (author, note_id, title, words, tag, lat, lon, _v) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
                 ON CONFLICT (author, note_id) DO UPDATE SET title = $3, words = $4, \
                 tag = $5, lat = $6, lon = $7, _v = $8",
            )
            .await,
            tag: prepare(
                "INSERT INTO notes_by_tag (tag, note_id, author) VALUES ($1, $2, $3) \
                 ON CONFLICT DO NOTHING",
            )
            .await,
            place: prepare(
                "INSERT INTO notes_by_place VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
            )
            .await,
            call: prepare("INSERT INTO keyway_calls VALUES ($1, $2, now())").await,
            get: prepare(&format!(
                "SELECT {COLUMNS} FROM notes n WHERE author = $1 AND note_id = $2"
            ))
            .await,
            page: prepare(&page).await,
            tagged: prepare(&tagged).await,
            entries: prepare(
                "SELECT author, note_id FROM notes_by_tag WHERE tag = $1 \
                 ORDER BY note_id DESC, author LIMIT $2",
            )
            .await,
            many: prepare(&many).await,
            client,
        }
    }
}

impl Expert {
    pub async fn open(url: &str, joins: bool) -> Expert {
        let random = SystemRandom::start().unwrap();
        Expert { idle: Mutex::default(), url: url.to_string(), joins, random }
    }

    async fn lease(&self) -> Connection {
        let idle = self.idle.lock().unwrap().pop();
        match idle {
            Some(connection) => connection,
            None => Connection::open(&self.url).await,
        }
    }

    fn give_back(&self, connection: Connection) {
        self.idle.lock().unwrap().push(connection);
    }

    async fn add(&self, note: Note) {
        let c = self.lease().await;
        let id = ulid(note.note_id);
        let author = Unsigned(note.author);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
        let version = uuid::Uuid::from_bytes(*CommitId::new(now, &self.random).as_bytes());
        let number = (note.author << 40) as i64 ^ (note.note_id >> 16) as i64;
        let (locks, alone) = (vec![1_i64, number], vec![false, true]);
        let key: [&(dyn ToSql + Sync); 2] = [&author, &id];
        let opened = in_time(try_join3(
            c.client.batch_execute("BEGIN"),
            c.client.execute(&c.take, &[&locks, &alone]),
            c.client.query(&c.check, &key),
        ))
        .await;
        let (_, _, found) = opened.unwrap();
        assert!(found.is_empty());
        let cell = Unsigned(geo::cell(note.lat, note.lon, 10).unwrap());
        let Note { title, words, tag, lat, lon, .. } = &note;
        let written = in_time(try_join5(
            c.client.execute(&c.call, &[&version, &[1_u8].as_slice()]),
            c.client.execute(&c.put, &[&author, &id, title, words, tag, lat, lon, &version]),
            c.client.execute(&c.tag, &[tag, &id, &author]),
            c.client.execute(&c.place, &[&cell, &id, &author, lat, lon]),
            c.client.batch_execute("COMMIT"),
        ))
        .await;
        written.unwrap();
        self.give_back(c);
    }

    async fn by_tag(&self, tag: &str, rows: usize) -> Page {
        let c = self.lease().await;
        let limit = rows as i64 + 1;
        let found = match self.joins {
            true => {
                let found = in_time(c.client.query(&c.tagged, &[&tag, &limit])).await.unwrap();
                Page::cut(found.iter().map(note_of).collect(), rows)
            }
            false => {
                let mut entries =
                    in_time(c.client.query(&c.entries, &[&tag, &limit])).await.unwrap();
                let more = entries.len() > rows;
                entries.truncate(rows);
                let authors: Vec<Unsigned> = entries.iter().map(|row| row.get(0)).collect();
                let ids: Vec<&str> = entries.iter().map(|row| row.get(1)).collect();
                let rows = in_time(c.client.query(&c.many, &[&authors, &ids])).await.unwrap();
                let mut notes: Vec<(i64, Note)> =
                    rows.iter().map(|row| (row.get(0), numbered(row))).collect();
                notes.sort_unstable_by_key(|(number, _)| *number);
                Page { notes: notes.into_iter().map(|(_, note)| note).collect(), more }
            }
        };
        self.give_back(c);
        found
    }
}

/// A note behind its number.
fn numbered(row: &Row) -> Note {
    let Unsigned(author) = row.get(1);
    Note {
        author,
        note_id: from_ulid(row.get(2)),
        title: row.get(3),
        words: row.get(4),
        tag: row.get(5),
        lat: row.get(6),
        lon: row.get(7),
    }
}

impl Contender for Expert {
    fn insert(&self, note: Note) -> Work<'_, ()> {
        Box::pin(self.add(note))
    }

    fn get(&self, author: u64, note_id: u128) -> Work<'_, Option<Note>> {
        Box::pin(async move {
            let c = self.lease().await;
            let (author, id) = (Unsigned(author), ulid(note_id));
            let row = in_time(c.client.query_opt(&c.get, &[&author, &id])).await;
            self.give_back(c);
            row.unwrap().as_ref().map(note_of)
        })
    }

    fn page(&self, author: u64, rows: usize) -> Work<'_, Page> {
        Box::pin(async move {
            let c = self.lease().await;
            let (author, limit) = (Unsigned(author), rows as i64 + 1);
            let found = in_time(c.client.query(&c.page, &[&author, &limit])).await.unwrap();
            self.give_back(c);
            Page::cut(found.iter().map(note_of).collect(), rows)
        })
    }

    fn tagged<'w>(&'w self, tag: &'w str, rows: usize) -> Work<'w, Page> {
        Box::pin(self.by_tag(tag, rows))
    }
}
