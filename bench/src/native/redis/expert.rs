//! An expert on the driver: the same Hashes and sorted sets, versions, guard, checks and outcomes.
//!
//! One connection that all callers share, one script for an insert, one pipeline for many reads,
//! which is one transaction, so that they are of one instant. A page is the order and then, in one
//! transaction, the order and its records; an index its entries and then their records.

use crate::notes::{Note, Page};
use crate::race::{Contender, Work};
use crate::ulid::{from_ulid, ulid};
use data::clock::SystemRandom;
use data::geo;
use data::store::CommitId;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Script, Value};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Inserts a note with its entries: done before? types, absent?, writes, remembered.
const INSERT: &str = r"#!lua
local before = redis.call('GET', KEYS[1])
if before then return before end
local function holds(n, expected)
  local found = redis.call('TYPE', KEYS[n])['ok']
  if found == expected then return true end
  if found ~= 'none' then error({ err = 'TYPE ' .. KEYS[n] }) end
end
local there = holds(2, 'hash')
holds(3, 'zset') holds(4, 'zset') holds(5, 'hash') holds(6, 'zset')
if there then return 'conflict' end
redis.call('HSET', KEYS[2], 'title', ARGV[2], 'words', ARGV[3], 'tag', ARGV[4],
  'lat', ARGV[5], 'lon', ARGV[6], '~v', ARGV[1])
redis.call('ZADD', KEYS[3], 0, ARGV[7])
redis.call('ZADD', KEYS[4], 0, ARGV[8])
redis.call('HSET', KEYS[5], 'lat', ARGV[5], 'lon', ARGV[6])
redis.call('ZADD', KEYS[6], 0, ARGV[8])
redis.call('SET', KEYS[1], 'done', 'PX', 600000)
return 'done'
";

/// Notes of one instant are listed by their author, from the smallest.
pub fn member(author: u64, id: &str) -> String {
    format!("{id}:{:020}", u64::MAX - author)
}

pub fn from_member(member: &str) -> (u64, &str) {
    let (id, author) = member.split_once(':').unwrap();
    (u64::MAX - author.parse::<u64>().unwrap(), id)
}

pub fn note_of(author: u64, id: &str, fields: Value) -> Option<Note> {
    let Value::Array(parts) = fields else { panic!("no Hash") };
    if parts.is_empty() {
        return None;
    }
    let mut note = Note {
        author,
        note_id: from_ulid(id),
        title: String::new(),
        words: String::new(),
        tag: String::new(),
        lat: 0.0,
        lon: 0.0,
    };
    let mut parts = parts.into_iter();
    while let (Some(Value::BulkString(name)), Some(Value::BulkString(value))) =
        (parts.next(), parts.next())
    {
        let value = String::from_utf8(value).unwrap();
        match name.as_slice() {
            b"title" => note.title = value,
            b"words" => note.words = value,
            b"tag" => note.tag = value,
            b"lat" => note.lat = value.parse().unwrap(),
            b"lon" => note.lon = value.parse().unwrap(),
            _ => {}
        }
    }
    Some(note)
}

pub async fn connect(url: &str) -> MultiplexedConnection {
    let config = AsyncConnectionConfig::new().set_response_timeout(Some(PATIENCE));
    let client = Client::open(format!("{url}?protocol=2")).unwrap();
    client.get_multiplexed_async_connection_with_config(&config).await.unwrap()
}

pub struct Expert {
    connection: MultiplexedConnection,
    insert: Script,
    random: SystemRandom,
}

impl Expert {
    pub async fn open(url: &str) -> Expert {
        let random = SystemRandom::start().unwrap();
        Expert { connection: connect(url).await, insert: Script::new(INSERT), random }
    }

    pub async fn add(&self, note: Note) {
        let Note { author, note_id, title, words, tag, lat, lon } = note;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
        let version = CommitId::new(now, &self.random).to_string();
        let id = ulid(note_id);
        let cell = geo::cell(lat, lon, 10).unwrap();
        let (lat, lon) = (lat.to_string(), lon.to_string());
        let member = member(author, &id);
        let mut call = self.insert.prepare_invoke();
        call.key(format!("~call:{version}"))
            .key(format!("user:{author}:notes:{id}"))
            .key(format!("user:{author}:notes"))
            .key(format!("tag:{tag}"))
            .key(format!("place:{cell:016x}:{id}:{author}"))
            .key(format!("place:{cell:016x}"));
        call.arg(version).arg(title).arg(words).arg(tag).arg(lat).arg(lon).arg(&id).arg(member);
        let answer: String = call.invoke_async(&mut self.connection.clone()).await.unwrap();
        assert_eq!(answer, "done");
    }

    async fn many(&self, keys: Vec<(u64, String)>) -> Vec<Note> {
        let mut pipeline = redis::Pipeline::with_capacity(keys.len());
        pipeline.atomic();
        for (author, id) in &keys {
            pipeline.cmd("HGETALL").arg(format!("user:{author}:notes:{id}"));
        }
        let found: Vec<Value> = pipeline.query_async(&mut self.connection.clone()).await.unwrap();
        let notes = keys.iter().zip(found);
        notes.filter_map(|((author, id), fields)| note_of(*author, id, fields)).collect()
    }

    /// A page of one instant.
    async fn newest(&self, author: u64, rows: usize) -> Page {
        let order = newest(format!("user:{author}:notes"), rows + 1);
        let mut connection = self.connection.clone();
        let mut ids: Vec<String> = order.query_async(&mut connection).await.unwrap();
        loop {
            let mut pipeline = redis::Pipeline::with_capacity(ids.len() + 1);
            pipeline.atomic().add_command(order.clone());
            for id in ids.iter().take(rows) {
                pipeline.cmd("HGETALL").arg(format!("user:{author}:notes:{id}"));
            }
            let (again, found): (Vec<String>, Vec<Value>) = {
                let mut all: Vec<Value> = pipeline.query_async(&mut connection).await.unwrap();
                let found = all.split_off(1);
                (redis::from_redis_value(all.remove(0)).unwrap(), found)
            };
            if again == ids {
                let notes = ids.iter().zip(found);
                let notes = notes.filter_map(|(id, fields)| note_of(author, id, fields));
                return Page { notes: notes.collect(), more: ids.len() > rows };
            }
            ids = again;
        }
    }
}

/// Asks for the last members of a sorted set.
pub fn newest(list: String, rows: usize) -> redis::Cmd {
    let mut asked = redis::cmd("ZRANGE");
    asked.arg(list).arg("+").arg("-").arg("BYLEX").arg("REV").arg("LIMIT").arg(0).arg(rows);
    asked
}

impl Contender for Expert {
    fn insert(&self, note: Note) -> Work<'_, ()> {
        Box::pin(self.add(note))
    }

    fn get(&self, author: u64, note_id: u128) -> Work<'_, Option<Note>> {
        Box::pin(async move {
            let id = ulid(note_id);
            let mut asked = redis::cmd("HGETALL");
            asked.arg(format!("user:{author}:notes:{id}"));
            let fields = asked.query_async(&mut self.connection.clone()).await.unwrap();
            note_of(author, &id, fields)
        })
    }

    fn page(&self, author: u64, rows: usize) -> Work<'_, Page> {
        Box::pin(self.newest(author, rows))
    }

    fn tagged<'w>(&'w self, tag: &'w str, rows: usize) -> Work<'w, Page> {
        Box::pin(async move {
            let entries = newest(format!("tag:{tag}"), rows + 1);
            let members: Vec<String> =
                entries.query_async(&mut self.connection.clone()).await.unwrap();
            let keys = members.iter().take(rows).map(|member| {
                let (author, id) = from_member(member);
                (author, id.to_string())
            });
            Page { notes: self.many(keys.collect()).await, more: members.len() > rows }
        })
    }
}
