//! A Redis Cluster of a test's own: six nodes on loopback, three masters with a replica each; or
//! three masters alone behind proxies, which count what is asked of them.
//!
//! ```text
//! nodes 0 1 2 ── masters at first, 5,461 slots or so each        kill, pause, fail over
//! nodes 3 4 5 ── their replicas                                  slots moved, whole or half
//! ```
//!
//! Nodes are known by their number, whatever they are at the moment. Every node is killed when the
//! cluster is dropped.

#![allow(clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

use crate::process::{Folder, Process, Recipe};
use crate::proxy::Proxy;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The package that brings the server and its command line.
const PACKAGE: &str = "redis-server";
/// Nodes of a cluster, and masters among them at first.
const NODES: usize = 6;
const MASTERS: usize = 3;
/// How far the port of a node's bus is from its own.
const BUS: u16 = 10_000;
/// The first port that is tried, and how many there are: no system gives these, or those of their
/// buses, to clients.
const PORTS: (u32, u32) = (11_000, 10_900);
/// How long a cluster may take until all nodes agree.
const AGREE_WITHIN: Duration = Duration::from_secs(60);
/// Keys that are moved with one command.
const KEYS_AT_ONCE: &str = "100";

/// Six nodes on loopback. Without settings they keep nothing on disk.
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    process: Process,
    port: u16,
    /// Removed with the node.
    _folder: Folder,
}

impl RedisCluster {
    /// Settings under which an acknowledged commit survives the end of its node.
    pub const KEPT: [&'static str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

    /// Starts six nodes with these settings, joins them, and waits until all agree.
    pub fn start(settings: &[&str]) -> RedisCluster {
        let ports = free_ports(NODES).into_iter();
        RedisCluster::joined(ports.map(|port| Node::start(port, settings)).collect())
    }

    /// Starts three masters without replicas, each of which tells everybody that it listens where
    /// its proxy does. Nobody else than who asks goes through these.
    pub fn start_behind_proxies() -> (RedisCluster, Vec<Proxy>) {
        let proxies = Proxy::of_cluster(MASTERS);
        let of = |(port, proxy): (u16, &Proxy)| {
            proxy.redirect(&format!("127.0.0.1:{port}"));
            let (told, bus) = (proxy.port().to_string(), (port + BUS).to_string());
            Node::start(
                port,
                &["--cluster-announce-port", &told, "--cluster-announce-bus-port", &bus],
            )
        };
        let nodes = free_ports(MASTERS).into_iter().zip(&proxies).map(of).collect();
        (RedisCluster::joined(nodes), proxies)
    }

    /// Joins nodes, three masters and replicas of them, and waits until all agree.
    fn joined(nodes: Vec<Node>) -> RedisCluster {
        let mut cluster = RedisCluster { nodes };
        for number in 0..cluster.nodes.len() {
            cluster.wait_for(number);
        }
        let replicas = (cluster.nodes.len() / MASTERS - 1).to_string();
        let mut words = vec!["--cluster".to_string(), "create".to_string()];
        words.extend((0..cluster.nodes.len()).map(|number| cluster.address(number)));
        words.extend(["--cluster-replicas", &replicas, "--cluster-yes"].map(str::to_string));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let said = run(&words);
        assert!(said.contains("[OK] All 16384 slots covered"), "no cluster was made:\n{said}");
        cluster.wait_until_whole();
        cluster
    }

    /// `127.0.0.1:PORT` of a node.
    pub fn address(&self, node: usize) -> String {
        format!("127.0.0.1:{}", self.port(node))
    }

    /// Where a node listens.
    pub fn port(&self, node: usize) -> u16 {
        self.node(node).port
    }

    /// The hosts and ports of all nodes.
    pub fn addresses(&self) -> Vec<(String, u16)> {
        self.nodes.iter().map(|node| ("127.0.0.1".to_string(), node.port)).collect()
    }

    /// Its store URL, without parameters.
    pub fn url(&self) -> String {
        let addresses: Vec<String> = self.numbers().map(|number| self.address(number)).collect();
        format!("redis-cluster://{}", addresses.join(","))
    }

    /// What `redis-cli` prints for these words at a node, without the last line end.
    pub fn cli(&self, node: usize, words: &[&str]) -> String {
        let port = self.port(node).to_string();
        run(&[&["-p", port.as_str()], words].concat())
    }

    /// What `redis-cli` prints for these words at the node that has their key.
    pub fn cli_anywhere(&self, words: &[&str]) -> String {
        let node =
            self.numbers().find(|number| self.nodes.get(*number).is_some_and(Node::is_running));
        let port = self.port(node.expect("a node runs")).to_string();
        run(&[&["-c", "-p", port.as_str()], words].concat())
    }

    /// The nodes that are masters, as they say themselves.
    pub fn masters(&self) -> Vec<usize> {
        let is_master = |number: &usize| self.cli(*number, &["ROLE"]).starts_with("master");
        self.numbers().filter(is_master).collect()
    }

    /// The master of a slot, as most say.
    pub fn master_of(&self, slot: u16) -> usize {
        let has = |number: &usize| self.slots(*number).iter().any(|slots| slots.contains(&slot));
        let found = self.masters().into_iter().find(has);
        found.unwrap_or_else(|| panic!("nobody has slot {slot}"))
    }

    /// The slots a node says it has.
    fn slots(&self, node: usize) -> Vec<std::ops::RangeInclusive<u16>> {
        let told = self.cli(node, &["CLUSTER", "NODES"]);
        let own = told.lines().find(|line| line.contains("myself")).unwrap_or_default();
        let number = |text: &str| text.parse::<u16>().ok();
        let range = |word: &str| match word.split_once('-') {
            Some((first, last)) => Some(number(first)?..=number(last)?),
            None => number(word).map(|one| one..=one),
        };
        own.split(' ').skip(8).filter_map(range).collect()
    }

    /// A replica of a node.
    pub fn replica_of(&self, master: usize) -> usize {
        let port = self.port(master).to_string();
        let follows = |number: &usize| {
            let role = self.cli(*number, &["ROLE"]);
            role.starts_with("slave") && role.lines().any(|line| line == port)
        };
        let found = self.numbers().find(follows);
        found.unwrap_or_else(|| panic!("node {master} has no replica"))
    }

    /// The id of a node.
    pub fn id(&self, node: usize) -> String {
        self.cli(node, &["CLUSTER", "MYID"])
    }

    /// Kills a node as `kill -9` does.
    pub fn kill(&mut self, node: usize) {
        self.node_mut(node).process.kill();
    }

    /// Kills a node if it runs, starts it with the same settings and files, and waits until it
    /// answers.
    pub fn restart(&mut self, node: usize) {
        self.node_mut(node).process.restart();
        self.wait_for(node);
    }

    /// Stops a node where it is; it answers nothing until it is told to go on.
    pub fn pause(&self, node: usize) {
        self.signal(node, "-STOP");
    }

    /// Lets a stopped node go on.
    pub fn go_on(&self, node: usize) {
        self.signal(node, "-CONT");
    }

    fn signal(&self, node: usize, signal: &str) {
        let id = self.node(node).process.id().expect("the node runs").to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.is_ok_and(|status| status.success()), "node {node} takes no {signal}");
    }

    /// Tells a replica to take over, and waits until it has.
    pub fn fail_over_to(&self, replica: usize) {
        assert_eq!(self.cli(replica, &["CLUSTER", "FAILOVER"]), "OK");
        self.wait_until_master(replica);
    }

    /// Waits until a node is a master.
    pub fn wait_until_master(&self, node: usize) {
        let what = format!("node {node} never became a master");
        wait(&what, || self.cli(node, &["ROLE"]).starts_with("master"));
    }

    /// Waits until a replica has heard everything of its master, which is told nothing meanwhile.
    pub fn wait_until_copied(&self, master: usize, replica: usize) {
        let heard = |node| {
            let info = self.cli(node, &["INFO", "replication"]);
            let line = info.lines().find(|line| line.starts_with("master_repl_offset:"));
            line.map(|line| line.trim_end().to_string())
        };
        let what = format!("node {replica} never heard all of node {master}");
        wait(&what, || heard(master).is_some_and(|told| heard(replica) == Some(told)));
    }

    /// Waits until every replica has heard everything of its master.
    pub fn wait_until_all_copied(&self) {
        for master in self.masters() {
            self.wait_until_copied(master, self.replica_of(master));
        }
    }

    /// Begins to move a slot: from now on its old master sends on whoever asks for what it has not.
    pub fn begin_move(&self, slot: u16, from: usize, to: usize) {
        let (slot, here, there) = (slot.to_string(), self.id(from), self.id(to));
        self.set_slot(to, &slot, &["IMPORTING", &here]);
        self.set_slot(from, &slot, &["MIGRATING", &there]);
    }

    /// Moves some keys of a slot that is being moved; false if none was left.
    pub fn move_keys(&self, slot: u16, from: usize, to: usize, count: &str) -> bool {
        let keys = self.cli(from, &["CLUSTER", "GETKEYSINSLOT", &slot.to_string(), count]);
        let keys: Vec<&str> = keys.lines().filter(|key| !key.is_empty()).collect();
        if keys.is_empty() {
            return false;
        }
        let port = self.port(to).to_string();
        let mut words = vec!["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"];
        words.extend(&keys);
        let said = self.cli(from, &words);
        assert!(said == "OK" || said == "NOKEY", "keys of slot {slot}: {said}");
        true
    }

    /// Ends the move of a slot.
    pub fn end_move(&self, slot: u16, from: usize, to: usize) {
        let (slot, there) = (slot.to_string(), self.id(to));
        // The new master first: a slot of nobody would be taken back by the old one.
        for node in [to, from] {
            self.set_slot(node, &slot, &["NODE", &there]);
        }
    }

    /// Moves a slot with all its keys, as `redis-cli --cluster reshard` does.
    pub fn move_slot(&self, slot: u16, from: usize, to: usize) {
        self.begin_move(slot, from, to);
        while self.move_keys(slot, from, to, KEYS_AT_ONCE) {}
        self.end_move(slot, from, to);
    }

    fn set_slot(&self, node: usize, slot: &str, words: &[&str]) {
        let said = self.cli(node, &[&["CLUSTER", "SETSLOT", slot], words].concat());
        assert_eq!(said, "OK", "slot {slot} at node {node}: {words:?}");
    }

    /// Removes every key.
    pub fn flush(&self) {
        for node in self.nodes.iter().filter(|node| node.is_running()) {
            let said = node.ask("FLUSHALL").expect("the node answers");
            // Replicas follow their masters, and are told nothing by anybody else.
            assert!(said == "+OK" || said.starts_with("-READONLY"), "{said}");
        }
    }

    /// Waits until every node that runs says that all is well, and every replica follows.
    pub fn wait_until_whole(&self) {
        wait("the nodes never agreed", || {
            let known = format!("cluster_known_nodes:{}", self.nodes.len());
            let running = self.numbers().filter(|number| self.node(*number).is_running());
            running.into_iter().all(|number| {
                let info = self.cli(number, &["CLUSTER", "INFO"]);
                let role = self.cli(number, &["ROLE"]);
                let follows = role.starts_with("master") || role.contains("connected");
                info.contains("cluster_state:ok")
                    && info.contains("cluster_slots_ok:16384")
                    && info.contains(&known)
                    && follows
            })
        });
    }

    fn numbers(&self) -> std::ops::Range<usize> {
        0..self.nodes.len()
    }

    fn wait_for(&mut self, node: usize) {
        let port = self.port(node).to_string();
        let answers = || run(&["-p", &port, "PING"]) == "PONG";
        self.node_mut(node).process.wait_until(answers);
    }

    fn node(&self, number: usize) -> &Node {
        self.nodes.get(number).unwrap_or_else(|| panic!("there is no node {number}"))
    }

    fn node_mut(&mut self, number: usize) -> &mut Node {
        self.nodes.get_mut(number).unwrap_or_else(|| panic!("there is no node {number}"))
    }
}

impl Node {
    fn start(port: u16, settings: &[&str]) -> Node {
        let folder = Folder::new("redis-cluster");
        let place = folder.path().display().to_string();
        let number = port.to_string();
        let mut arguments: Vec<&str> = vec!["--bind", "127.0.0.1", "--port", &number];
        arguments.extend(["--dir", &place, "--save", "", "--appendonly", "no"]);
        arguments.extend(["--cluster-enabled", "yes", "--cluster-node-timeout", "3000"]);
        arguments.extend(["--repl-diskless-sync-delay", "0"]);
        arguments.extend(settings);
        let process = Process::start(Recipe {
            program: "redis-server".to_string(),
            arguments: arguments.into_iter().map(str::to_string).collect(),
            folder: folder.path().to_path_buf(),
            package: PACKAGE,
        });
        Node { process, port, _folder: folder }
    }

    /// What a node answers to one word, in one line: many of these are asked, and a program for
    /// each would take longer.
    fn ask(&self, word: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(AGREE_WITHIN))?;
        stream.write_all(format!("{word}\r\n").as_bytes())?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        Ok(line.trim_end().to_string())
    }

    fn is_running(&self) -> bool {
        self.process.id().is_some()
    }
}

/// What `redis-cli` prints, without the last line end.
fn run(words: &[&str]) -> String {
    let done = Command::new("redis-cli").args(words).output().unwrap_or_else(|error| {
        panic!("`redis-cli` cannot be started ({error}): install the package `{PACKAGE}`")
    });
    let said = String::from_utf8_lossy(&done.stdout);
    said.trim_end_matches('\n').to_string()
}

fn wait(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < AGREE_WITHIN, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Ports that nobody listens on at the moment, nor on those of their buses.
fn free_ports(wanted: usize) -> Vec<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let (first, count) = PORTS;
    let mut found = Vec::new();
    while found.len() < wanted {
        let tried = NEXT.fetch_add(1, Ordering::Relaxed);
        assert!(tried < count, "loopback has no free ports");
        // Tests that run at the same time begin elsewhere.
        let place = (std::process::id().wrapping_mul(7_919).wrapping_add(tried)) % count;
        let port = u16::try_from(first + place).expect("ports are small");
        let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
        if is_free(port) && is_free(port + BUS) {
            found.push(port);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_move_and_replicas_take_over() {
        let mut cluster = RedisCluster::start(&RedisCluster::KEPT);
        assert_eq!(cluster.masters().len(), 3);
        // The slot of `a`.
        let slot = 15_495;
        assert_eq!(cluster.cli_anywhere(&["SET", "a", "1"]), "OK");
        let from = cluster.master_of(slot);
        let masters = cluster.masters();
        let to = *masters.iter().find(|master| **master != from).expect("there are three");
        cluster.move_slot(slot, from, to);
        assert_eq!((cluster.master_of(slot), cluster.cli(to, &["GET", "a"])), (to, "1".into()));
        let replica = cluster.replica_of(to);
        // A replica is told after its master has answered: what it does not have would be lost.
        cluster.wait_until_copied(to, replica);
        cluster.kill(to);
        cluster.wait_until_master(replica);
        cluster.wait_until_whole();
        assert_eq!(cluster.cli_anywhere(&["GET", "a"]), "1");
        cluster.restart(to);
        cluster.wait_until_whole();
        assert_eq!(cluster.cli(to, &["ROLE"]).lines().next(), Some("slave"));
    }
}
