//! webdis over Redis, both Debian's packages: rows as JSON texts, sorted sets for what is listed.
//!
//! A note is made, and notes are listed, by a script each, so that a question is one request. There
//! are no users: whoever knows the one password sees everything.

use super::notes::Note;
use super::process::{free_address, is_installed, wait_for_port};
use super::served::{LISTED, Server, Speaks, members};
use super::ulid::ulid;
use super::wire::request;
use serde_json::{Value as Json, json};
use servers::kept::Kept;
use std::net::SocketAddr;
use std::process::Command;

/// What was written survives the process, as with the others.
const DURABLE: [&str; 6] = ["--save", "", "--appendonly", "yes", "--appendfsync", "everysec"];

/// `notes:bench` as HTTP writes passwords.
const AUTHORIZATION: &str = "Basic bm90ZXM6YmVuY2g=";

const CREATE: &str = "\
if not redis.call('SET', KEYS[1], ARGV[5], 'NX') then return redis.error_reply('TAKEN') end
local whole = ARGV[1] .. ':' .. ARGV[4]
redis.call('ZADD', KEYS[2], 0, ARGV[1])
redis.call('ZADD', KEYS[3], 0, whole)
redis.call('GEOADD', KEYS[4], ARGV[3], ARGV[2], whole)
return ARGV[5]";

const LIST: &str = "\
local most = tonumber(ARGV[1])
local ids = redis.call('ZRANGE', KEYS[1], '+', '-', 'BYLEX', 'REV', 'LIMIT', 0, most + 1)
local keys = {}
for at = 1, math.min(#ids, most) do keys[at] = ARGV[2] .. ids[at] end
local after = #ids > most and '\"' .. ids[most] .. '\"' or 'null'
local rows = #keys > 0 and redis.call('MGET', unpack(keys)) or {}
return '{\"rows\":[' .. table.concat(rows, ',') .. '],\"next\":' .. after .. '}'";

/// Starts both.
pub fn start() -> Result<Server, String> {
    for program in ["webdis", "redis-server", "redis-cli"] {
        if !is_installed(program) {
            return Err(format!("this machine has no {program}: apt-get install webdis redis"));
        }
    }
    let (inner, address) = (free_address(), free_address());
    let mut redis = Kept::new("redis");
    let port = inner.port().to_string();
    let arguments = ["--bind", "127.0.0.1", "--port", &port].into_iter().chain(DURABLE);
    let arguments: Vec<String> = arguments.map(str::to_string).collect();
    redis.start("redis-server", &arguments);
    wait_for_port(&redis, inner);
    let [create, list] = [CREATE, LIST].map(|script| load(&port, script));
    let mut webdis = Kept::new("webdis");
    let settings = webdis.folder().join("webdis.json");
    std::fs::write(&settings, configuration(inner, address, &webdis).to_string()).unwrap();
    webdis.start("webdis", &[settings.display().to_string()]);
    wait_for_port(&webdis, address);
    let speaks = Box::new(Commands { create, list });
    Ok(Server { address, processes: vec![webdis, redis], speaks })
}

fn configuration(redis: SocketAddr, address: SocketAddr, webdis: &Kept) -> Json {
    json!({
        "redis_host": "127.0.0.1",
        "redis_port": redis.port(),
        "http_host": "127.0.0.1",
        "http_port": address.port(),
        "threads": 2,
        "pool_size": 20,
        "daemonize": false,
        "websockets": false,
        "database": 0,
        "acl": [
            { "disabled": ["*"] },
            { "http_basic_auth": "notes:bench", "enabled": ["GET", "EVALSHA"] },
        ],
        "verbosity": 0,
        "logfile": webdis.folder().join("webdis.log"),
    })
}

/// Gives a script to Redis; its name there.
fn load(port: &str, script: &str) -> String {
    let loaded = Command::new("redis-cli").args(["-p", port, "SCRIPT", "LOAD", script]).output();
    let name = String::from_utf8(loaded.unwrap().stdout).unwrap().trim().to_string();
    assert_eq!(name.len(), 40, "Redis does not take the script: {name}");
    name
}

struct Commands {
    create: String,
    list: String,
}

impl Speaks for Commands {
    fn create(&self, note: &Note) -> Vec<u8> {
        let Note { author, note_id, tag, lat, lon, .. } = note;
        let (id, script) = (ulid(*note_id), &self.create);
        let mut row = members(note, "note_id");
        row["author"] = (*author).into();
        let keys = format!("note:{author}:{id}/notes:{author}/tag:{tag}/places");
        let path = format!("/EVALSHA/{script}/4/{keys}/{id}/{lat}/{lon}/{author}.txt");
        // What is put is the last argument.
        request("PUT", &path, AUTHORIZATION, Some(&row.to_string()))
    }

    fn read(&self, author: u64, note_id: u128) -> Vec<u8> {
        let path = format!("/GET/note:{author}:{}.txt", ulid(note_id));
        request("GET", &path, AUTHORIZATION, None)
    }

    fn list(&self, author: u64) -> Vec<u8> {
        let script = &self.list;
        let path = format!("/EVALSHA/{script}/1/notes:{author}/{LISTED}/note:{author}:.txt");
        request("GET", &path, AUTHORIZATION, None)
    }

    fn row<'j>(&self, answer: &'j Json) -> &'j Json {
        answer
    }

    fn has_owners(&self) -> bool {
        false
    }
}
