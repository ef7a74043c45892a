//! The nodes of a cluster, and how a request finds the one that serves its slot.
//!
//! ```text
//! name ─▶ slot ─▶ map ─▶ master ─┬─ answered
//!                   ▲            ├─ MOVED: the map is read anew, then to the new master
//!                   │            ├─ ASK: once to the other node, behind ASKING
//!                   └────────────┴─ TRYAGAIN, CLUSTERDOWN, lost: for whoever waits and asks again
//! ```
//!
//! It knows names only as far as their slots, and neither scripts nor rows. Every node has one
//! connection. A request that was sent and not answered is never sent again from here.

mod map;
mod slot;

pub(super) use map::Address;
pub(super) use slot::{slot, tag};

use super::Options;
use super::connection::Connection;
use super::error::{Fault, fault};
use bytes::Bytes;
use map::{Map, parse_address};
use redis::{ErrorKind as Kind, RedisError, RedisResult, ServerErrorKind};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::time::Instant;

/// How often one request may be sent on to another master.
const MOVES_MAX: usize = 8;
/// How long one node is asked for its map.
const MAP_WITHIN: Duration = Duration::from_secs(2);

/// How often a cluster sent requests elsewhere, or told them to come later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Redirects {
    /// `MOVED`: a slot has another master.
    pub moved: u64,
    /// `ASK`: a slot is being moved, and the key is at the other node already.
    pub asked: u64,
    /// `TRYAGAIN`: a slot is being moved, and the keys of a group are at two nodes.
    pub tried_again: u64,
    /// `CLUSTERDOWN`: nobody serves the slot for now.
    pub down: u64,
}

/// The nodes of a cluster.
pub(super) struct Cluster {
    /// How each node is opened; its host and port aside.
    options: Options,
    /// Nodes that were given.
    given: Vec<Address>,
    map: RwLock<Arc<Map>>,
    /// Held by whoever reads the map: the others wait for that one.
    reading: tokio::sync::Mutex<()>,
    nodes: Mutex<Nodes>,
    moved: AtomicU64,
    asked: AtomicU64,
    tried_again: AtomicU64,
    down: AtomicU64,
}

#[derive(Default)]
struct Nodes {
    known: HashMap<Address, Arc<Connection>>,
    is_closed: bool,
}

/// What a node says to a request that is not for it, or not now.
enum Elsewhere {
    Moved(Address),
    Ask(Address),
    Later,
}

impl Cluster {
    /// A cluster of which these nodes are known; nothing is asked yet.
    pub(super) fn new(options: Options, given: Vec<Address>) -> Cluster {
        Cluster {
            options,
            given,
            map: RwLock::new(Arc::new(Map::empty())),
            reading: tokio::sync::Mutex::default(),
            nodes: Mutex::default(),
            moved: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            tried_again: AtomicU64::new(0),
            down: AtomicU64::new(0),
        }
    }

    /// What happened to requests so far.
    pub(super) fn redirects(&self) -> Redirects {
        Redirects {
            moved: self.moved.load(Ordering::Relaxed),
            asked: self.asked.load(Ordering::Relaxed),
            tried_again: self.tried_again.load(Ordering::Relaxed),
            down: self.down.load(Ordering::Relaxed),
        }
    }

    /// Sends commands about one slot to its master: see [`Connection::send`].
    pub(super) async fn send(
        &self,
        slot: u16,
        sent: (&[u8], usize),
        until: Instant,
    ) -> RedisResult<Bytes> {
        for _ in 0..MOVES_MAX {
            let map = self.map();
            let Some(address) = map.owner(slot).cloned() else {
                self.read_map(&map, None, until).await;
                if self.map().owner(slot).is_none() {
                    return Err(nobody());
                }
                continue;
            };
            let error = match self.node(&address).send(sent, until).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            match self.elsewhere(&error, &address) {
                Some(Elsewhere::Moved(to)) => self.follow(&map, slot, to, until).await,
                Some(Elsewhere::Ask(to)) => return self.ask(&to, sent, until).await,
                Some(Elsewhere::Later) => return Err(error),
                None => {
                    // The node may be gone, and another master by the time it is asked again.
                    if fault(&error) == Fault::Lost {
                        self.read_map(&map, None, until).await;
                    }
                    return Err(error);
                }
            }
        }
        Err((Kind::Server(ServerErrorKind::TryAgain), "a slot moves on and on").into())
    }

    /// Sends commands to a node that is about to become their master.
    async fn ask(&self, to: &Address, sent: (&[u8], usize), until: Instant) -> RedisResult<Bytes> {
        let answer = self.node(to).send_asking(sent, until).await;
        if let Err(error) = &answer {
            // It counts, and whoever waits begins with the old master again.
            let _ = self.elsewhere(error, to);
        }
        answer.map_err(|error| match error.kind() {
            Kind::Server(ServerErrorKind::Moved | ServerErrorKind::Ask) => {
                (Kind::Server(ServerErrorKind::TryAgain), "a slot has just moved").into()
            }
            _ => error,
        })
    }

    /// What an error says about where to go, counted.
    fn elsewhere(&self, error: &RedisError, asked: &Address) -> Option<Elsewhere> {
        let Kind::Server(kind) = error.kind() else { return None };
        let to = || parse_address(error.redirect_node()?.0, asked);
        let (counter, elsewhere) = match kind {
            ServerErrorKind::Moved => (&self.moved, to().map(Elsewhere::Moved)),
            ServerErrorKind::Ask => (&self.asked, to().map(Elsewhere::Ask)),
            ServerErrorKind::TryAgain => (&self.tried_again, Some(Elsewhere::Later)),
            ServerErrorKind::ClusterDown => (&self.down, Some(Elsewhere::Later)),
            _ => return None,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        elsewhere
    }

    /// Reads the map after a slot has moved. Who told of the move knows best.
    async fn follow(&self, seen: &Arc<Map>, slot: u16, to: Address, until: Instant) {
        self.read_map(seen, Some(&to), until).await;
        let map = self.map();
        if map.owner(slot) != Some(&to)
            && let Ok(patched) = map.with_owner(slot, to)
        {
            self.keep(patched);
        }
    }

    /// Reads the map anew, unless somebody else has since it was seen. Without an answer of any
    /// node the old one stays.
    pub(super) async fn read_map(&self, seen: &Arc<Map>, first: Option<&Address>, until: Instant) {
        let _reading = self.reading.lock().await;
        let map = self.map();
        if !Arc::ptr_eq(&map, seen) {
            return;
        }
        let known = map.masters.iter().chain(&map.replicas).chain(&self.given);
        let mut asked: Vec<&Address> = Vec::new();
        for address in first.into_iter().chain(known) {
            if asked.contains(&address) {
                continue;
            }
            asked.push(address);
            let mut command = redis::cmd("CLUSTER");
            command.arg("SLOTS");
            let within = MAP_WITHIN.min(until.saturating_duration_since(Instant::now()));
            let answer = self.node(address).ask(&command, within).await;
            let read = answer.ok().and_then(|answer| Map::read(answer, address).ok());
            if let Some(read) = read.filter(|read| !read.masters.is_empty()) {
                self.keep(read);
                return;
            }
        }
    }

    /// Reads the first map; the error of the last node where none answers.
    pub(super) async fn open(&self, until: Instant) -> RedisResult<()> {
        let seen = self.map();
        self.read_map(&seen, None, until).await;
        if !self.map().masters.is_empty() {
            return Ok(());
        }
        let mut answer = Err(nobody());
        for address in &self.given {
            let mut command = redis::cmd("CLUSTER");
            command.arg("SLOTS");
            answer = self.node(address).ask(&command, MAP_WITHIN).await.map(|_| ());
            if answer.as_ref().is_err_and(|error| fault(error) == Fault::Refused) {
                return answer;
            }
        }
        answer.and_then(|()| Err(nobody()))
    }

    /// The masters that have slots.
    pub(super) fn masters(&self) -> Vec<Arc<Connection>> {
        self.map().masters.iter().map(|address| self.node(address)).collect()
    }

    /// Whether any master has a replica.
    pub(super) fn has_replicas(&self) -> bool {
        !self.map().replicas.is_empty()
    }

    /// The master of a slot, if there is one.
    pub(super) fn master(&self, slot: u16) -> RedisResult<Arc<Connection>> {
        self.map().owner(slot).map(|address| self.node(address)).ok_or_else(nobody)
    }

    /// Ends all connections.
    pub(super) fn close(&self) {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.is_closed = true;
        nodes.known.values().for_each(|node| node.close());
    }

    pub(super) fn map(&self) -> Arc<Map> {
        self.map.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Goes by another map from now on, and lets go of nodes that are not on it.
    fn keep(&self, map: Map) {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes
            .known
            .retain(|address, _| map.masters.contains(address) || map.replicas.contains(address));
        drop(nodes);
        *self.map.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(map);
    }

    /// The connection to a node.
    fn node(&self, address: &Address) -> Arc<Connection> {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = nodes.known.get(address) {
            return known.clone();
        }
        let (host, port) = address.clone();
        let node = Arc::new(Connection::new(Options { host, port, ..self.options.clone() }));
        if nodes.is_closed {
            node.close();
        }
        nodes.known.insert(address.clone(), node.clone());
        node
    }
}

/// No node serves a slot, as far as is known.
fn nobody() -> RedisError {
    (Kind::Server(ServerErrorKind::ClusterDown), "no node serves the slot").into()
}
