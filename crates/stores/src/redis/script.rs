//! Scripts: a text the server keeps under its hash, sent whole at first and then by its hash; to
//! each node of a cluster.
//!
//! The server forgets scripts when it is restarted, and when somebody tells it to; then one more
//! message is needed, and nothing has been done by the first.

use super::cluster::Address;
use super::error::{Fault, fault};
use super::protocol::Request;
use super::servers::Servers;
use bytes::Bytes;
use redis::RedisResult;
use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};
use tokio::time::Instant;

/// A script.
#[derive(Debug)]
pub(super) struct Script {
    text: String,
    hash: String,
    /// Whether the server has run it, if there is one.
    is_known: AtomicBool,
    /// The nodes of a cluster that have run it.
    known: RwLock<HashSet<Address>>,
}

impl Script {
    /// A script of this text.
    pub(super) fn new(text: &str) -> Script {
        let hash = redis::Script::new(text).get_hash().to_string();
        let text = text.to_string();
        Script { text, hash, is_known: AtomicBool::new(false), known: RwLock::default() }
    }

    /// Runs the script with these keys and arguments, once.
    pub(super) async fn run(
        &self,
        servers: &Servers,
        call: &Arguments,
        until: Instant,
    ) -> RedisResult<Bytes> {
        let node = servers.node_of(call.name(1));
        if self.is_known_to(node.as_ref()) {
            let by_hash = call.request("EVALSHA", &self.hash);
            match servers.send(call.name(1), by_hash.sent(), until).await {
                Err(error) if fault(&error) == Fault::NoScript => {}
                answer => return answer,
            }
        }
        let whole = call.request("EVAL", &self.text);
        let answer = servers.send(call.name(1), whole.sent(), until).await;
        if answer.is_ok() {
            self.keep_known(node);
        }
        answer
    }

    fn is_known_to(&self, node: Option<&Address>) -> bool {
        match node {
            None => self.is_known.load(Ordering::Relaxed),
            Some(node) => self.known.read().unwrap_or_else(PoisonError::into_inner).contains(node),
        }
    }

    fn keep_known(&self, node: Option<Address>) {
        match node {
            None => self.is_known.store(true, Ordering::Relaxed),
            Some(node) => {
                self.known.write().unwrap_or_else(PoisonError::into_inner).insert(node);
            }
        }
    }
}

/// Keys so few that comparing them all is cheaper than a table of them.
const FEW_KEYS: usize = 16;

/// Texts one behind the other in one piece of memory: a script is given dozens of small ones.
#[derive(Debug, Default)]
pub(super) struct Texts {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

impl Texts {
    /// Adds a text.
    pub(super) fn push(&mut self, text: impl AsRef<[u8]>) {
        self.bytes.extend_from_slice(text.as_ref());
        self.ends.push(self.bytes.len());
    }

    /// Adds a number.
    pub(super) fn number(&mut self, number: impl std::fmt::Display) {
        // Writing to memory does not fail.
        let _ = write!(self.bytes, "{number}");
        self.ends.push(self.bytes.len());
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Adds all of others.
    pub(super) fn append(&mut self, others: &Texts) {
        let before = self.bytes.len();
        self.bytes.extend_from_slice(&others.bytes);
        self.ends.extend(others.ends.iter().map(|end| before + end));
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| self.bytes.get(start..*end).unwrap_or_default())
    }
}

/// The keys and arguments of a script.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    keys: Vec<(Vec<u8>, u8)>,
    /// Where each key is, once there are many.
    places: HashMap<Vec<u8>, usize>,
    /// What is given beside the keys.
    pub(super) values: Texts,
}

impl Arguments {
    /// The number of a key, from 1; `letter` is the type it must have.
    pub(super) fn key(&mut self, name: Vec<u8>, letter: u8) -> usize {
        let known = match self.keys.len() <= FEW_KEYS {
            true => self.keys.iter().position(|(known, _)| *known == name),
            false => self.places.get(&name).copied(),
        };
        if let Some(known) = known {
            return known + 1;
        }
        if self.keys.len() == FEW_KEYS {
            let known = self.keys.iter().enumerate();
            self.places = known.map(|(place, (name, _))| (name.clone(), place)).collect();
        }
        if self.keys.len() >= FEW_KEYS {
            self.places.insert(name.clone(), self.keys.len());
        }
        self.keys.push((name, letter));
        self.keys.len()
    }

    /// The name of a key.
    pub(super) fn name(&self, number: usize) -> &[u8] {
        self.keys.get(number.wrapping_sub(1)).map_or(&[], |(name, _)| name)
    }

    /// The letters of all keys.
    pub(super) fn letters(&self) -> Vec<u8> {
        self.keys.iter().map(|(_, letter)| *letter).collect()
    }

    fn request(&self, name: &str, script: &str) -> Request {
        let keys: usize = self.keys.iter().map(|(name, _)| name.len()).sum();
        let count = self.keys.len() + self.values.len() + 3;
        let bytes = keys + self.values.bytes.len() + script.len() + count * 8;
        let mut request = Request::with_capacity(bytes);
        request.command(count);
        request.text(name.as_bytes());
        request.text(script.as_bytes());
        request.number(self.keys.len());
        self.keys.iter().for_each(|(name, _)| request.text(name));
        self.values.iter().for_each(|value| request.text(value));
        request
    }
}
