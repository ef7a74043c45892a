//! Apache Cassandra: one node, or a cluster of them on loopback addresses.
//!
//! ```text
//! node 1  127.0.0.1 ┐
//! node 2  127.0.0.2 ├ one port for clients, one for the nodes among themselves
//! node 3  127.0.0.3 ┘
//! ```
//!
//! The server is a library on Maven Central; `scripts/cassandra` brings it. Starting takes some six
//! seconds and joining ten, and a node takes a gigabyte: tests that do not kill it share one. What
//! is acknowledged is on disk (`commitlog_sync: batch`), as it must be where data matters. Nodes
//! join one after another, never at once. Never touches a server it did not start.

#![allow(clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

mod java;

use crate::cql::{Connection, Rows};
use crate::kept::Kept;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// Times a statement is asked again that a node could not finish in time.
const LATE_MAX: usize = 5;
/// What a node says that found nobody to join.
const NO_SEEDS: &str = "Unable to contact any seeds";
/// How long a node may take to start or join, on a machine that is busy with other tests.
const READY_WITHIN: Duration = Duration::from_secs(180);
/// Between two questions whether it has.
const READY_ASKED_EVERY: Duration = Duration::from_millis(50);
/// Times to try other ports if somebody took those that were free.
const STARTS_MAX: usize = 3;

/// The data centre that a node says it is in: a setting like others, but of another file.
const DATA_CENTRE: &str = "data_centre";
/// Settings that hold unless a test says otherwise: acknowledged is on disk, little memory.
const SETTINGS: &str = "\
cluster_name: keyway
num_tokens: 16
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
commitlog_sync: batch
disk_failure_policy: die
commit_failure_policy: die
paxos_variant: v2
auto_snapshot: false
memtable_heap_space: 64MiB
memtable_offheap_space: 64MiB
file_cache_size: 32MiB
networking_cache_size: 16MiB
key_cache_size: 8MiB
commitlog_segment_size: 8MiB
commitlog_total_space: 256MiB
concurrent_reads: 8
concurrent_writes: 8
concurrent_compactors: 1
";

const LOGGING: &str = "<configuration><appender name=\"OUT\" \
class=\"ch.qos.logback.core.ConsoleAppender\"><encoder><pattern>%d{HH:mm:ss.SSS} %-5level \
%logger{0} %msg%n</pattern></encoder></appender><root level=\"INFO\"><appender-ref ref=\"OUT\"/>\
</root></configuration>";

/// What a node is set to, by names.
type Settings = BTreeMap<String, String>;

/// Running nodes. They are numbered from 1.
#[derive(Debug)]
pub struct Cassandra {
    nodes: Vec<Kept>,
    /// Of each node.
    settings: Vec<Settings>,
    client_port: u16,
    node_port: u16,
    /// Whether tables that were made are on the disk at once. A node that is killed needs it; one
    /// that is not makes tables several times as fast without.
    keeps_tables: bool,
}

impl Cassandra {
    /// One node.
    pub fn start() -> Cassandra {
        Cassandra::cluster(1)
    }

    /// So many nodes, which have found each other.
    pub fn cluster(nodes: usize) -> Cassandra {
        Cassandra::with(nodes, &[])
    }

    /// So many nodes with these settings too, such as `("paxos_variant", "v1")`.
    pub fn with(nodes: usize, settings: &[(&str, &str)]) -> Cassandra {
        Cassandra::unlike(&vec![settings; nodes])
    }

    /// A node for each of these settings, which it has too. With a snitch that reads files,
    /// `("data_centre", "west")` is where it is.
    pub fn unlike(settings: &[&[(&str, &str)]]) -> Cassandra {
        let with = |own: &&[(&str, &str)]| {
            let mut settings = usual();
            settings.extend(own.iter().map(|(name, value)| (name.to_string(), value.to_string())));
            settings
        };
        Cassandra::made(settings.iter().map(with).collect(), true)
    }

    fn made(settings: Vec<Settings>, keeps_tables: bool) -> Cassandra {
        for _ in 0..STARTS_MAX {
            if let Some(cluster) = Cassandra::on_free_ports(&settings, keeps_tables) {
                return cluster;
            }
        }
        panic!("Cassandra: no port stays free");
    }

    /// The node that all tests of this program share; it goes when the program ends. A test keeps
    /// to a keyspace of its own there, and nobody kills it.
    pub fn shared() -> &'static Cassandra {
        static SHARED: OnceLock<Cassandra> = OnceLock::new();
        SHARED.get_or_init(|| Cassandra::made(vec![usual()], false))
    }

    /// Starts all nodes; nothing if one of the ports was taken meanwhile.
    fn on_free_ports(settings: &[Settings], keeps_tables: bool) -> Option<Cassandra> {
        let count = settings.len();
        let mut cluster = Cassandra {
            nodes: (0..count).map(|_| Kept::new("cassandra")).collect(),
            settings: settings.to_vec(),
            client_port: free_port(count),
            node_port: free_port(count),
            keeps_tables,
        };
        for node in 1..=count {
            cluster.run(node);
            let mut is_ready = cluster.is_ready_in_time(node);
            // A busy first node may be too slow to answer a newcomer, who then gives up.
            for _ in 1..STARTS_MAX {
                if is_ready || !cluster.node(node).log().contains(NO_SEEDS) {
                    break;
                }
                cluster.node_mut(node).kill();
                cluster.run(node);
                is_ready = cluster.is_ready_in_time(node);
            }
            if !is_ready {
                let log = cluster.node(node).log();
                let taken = ["already in use", "in use by another process"];
                if node == 1 && taken.iter().any(|text| log.contains(text)) {
                    return None;
                }
                panic!("Cassandra: node {node} does not answer\n{log}");
            }
        }
        Some(cluster)
    }

    /// Where clients connect: `127.0.0.N:PORT` of every node.
    pub fn addresses(&self) -> Vec<String> {
        (1..=self.nodes.len()).map(|node| self.address(node)).collect()
    }

    /// Where clients connect to one node.
    pub fn address(&self, node: usize) -> String {
        format!("{}:{}", host(node), self.client_port)
    }

    /// The store URL of a `cassandra_keyspace`, without parameters.
    pub fn url(&self, cassandra_keyspace: &str) -> String {
        format!("cassandra://{}/{cassandra_keyspace}", self.addresses().join(","))
    }

    /// Kills a node as `kill -9` does.
    pub fn kill(&mut self, node: usize) {
        self.node_mut(node).kill();
    }

    /// Kills a node if it runs, starts it again with the same files, and waits until it answers
    /// and the other running nodes have noticed.
    pub fn restart(&mut self, node: usize) {
        self.kill(node);
        self.run(node);
        let is_ready = self.is_ready_in_time(node);
        assert!(is_ready, "Cassandra: node {node} does not come back\n{}", self.node(node).log());
    }

    /// Another setting of a node, from when it is started again.
    pub fn set(&mut self, node: usize, name: &str, value: &str) {
        let settings = node.checked_sub(1).and_then(|index| self.settings.get_mut(index));
        let settings = settings.expect("nodes are numbered from 1");
        settings.insert(name.to_string(), value.to_string());
    }

    /// Stops a node where it is: it keeps its connections and answers nothing.
    pub fn pause(&self, node: usize) {
        self.node(node).signal("STOP");
    }

    /// Lets a paused node go on.
    pub fn resume(&self, node: usize) {
        self.node(node).signal("CONT");
    }

    /// The process of a node, if it runs.
    pub fn id(&self, node: usize) -> Option<u32> {
        self.node(node).id()
    }

    /// What a node has logged so far.
    pub fn log(&self, node: usize) -> String {
        self.node(node).log()
    }

    /// The rows of a statement, asked of the first running node; columns must be texts. A
    /// statement that makes a table returns when all running nodes know it.
    pub fn cql(&self, statement: &str) -> Rows {
        let node = *self.running().first().expect("a node runs");
        let rows = self.ask(node, statement);
        if ["CREATE", "ALTER", "DROP"].iter().any(|word| statement.starts_with(word)) {
            self.wait_for_agreement();
        }
        rows
    }

    /// What tests ask may be asked twice: a node that is busy or has just lost another is late.
    fn ask(&self, node: usize, statement: &str) -> Rows {
        let ask = || {
            let mut connection = Connection::open(self.address(node))?;
            connection.run(statement)
        };
        let mut answer = ask();
        for _ in 0..LATE_MAX {
            match &answer {
                Err(error) if error.to_string().contains("timed out") => answer = ask(),
                _ => break,
            }
        }
        answer.unwrap_or_else(|error| panic!("Cassandra: `{statement}`: {error}"))
    }

    fn wait_for_agreement(&self) {
        let asked = "SELECT CAST(schema_version AS text) FROM system.local";
        let begun = Instant::now();
        while begun.elapsed() < READY_WITHIN {
            let answers = self.running().into_iter().map(|node| self.ask(node, asked));
            let versions: BTreeSet<Rows> = answers.collect();
            if versions.len() == 1 {
                return;
            }
            std::thread::sleep(READY_ASKED_EVERY);
        }
        panic!("Cassandra: the nodes never agreed on their tables");
    }

    fn running(&self) -> Vec<usize> {
        (1..=self.nodes.len()).filter(|node| self.node(*node).is_running()).collect()
    }

    fn node(&self, node: usize) -> &Kept {
        let index = node.checked_sub(1).expect("nodes are numbered from 1");
        self.nodes.get(index).expect("the cluster has that node")
    }

    fn node_mut(&mut self, node: usize) -> &mut Kept {
        let index = node.checked_sub(1).expect("nodes are numbered from 1");
        self.nodes.get_mut(index).expect("the cluster has that node")
    }

    fn settings(&self, node: usize) -> &Settings {
        let settings = node.checked_sub(1).and_then(|index| self.settings.get(index));
        settings.expect("nodes are numbered from 1")
    }

    fn run(&mut self, node: usize) {
        let folder = self.node(node).folder();
        let centre = self.settings(node).get(DATA_CENTRE).map_or("one", String::as_str);
        let centre = format!("dc={centre}\nrack=one\n");
        for (file, text) in [
            ("cassandra.yaml", self.yaml(node, &folder)),
            ("cassandra-rackdc.properties", centre),
            ("logback.xml", LOGGING.to_string()),
        ] {
            fs::write(folder.join(file), text).expect("a folder can be written to");
        }
        // What it said before it was killed must not be taken for news.
        let _ = fs::rename(folder.join("log"), folder.join("log.before"));
        let (java, jars) = java::program();
        let mut arguments = java::arguments(&folder, jars);
        if !self.keeps_tables {
            arguments.insert(0, "-Dcassandra.test.flush_local_schema_changes=false".to_string());
        }
        self.node_mut(node).start(java, &arguments);
    }

    fn yaml(&self, node: usize, folder: &Path) -> String {
        let Cassandra { client_port, node_port, .. } = self;
        let settings = self.settings(node).iter().filter(|(name, _)| *name != DATA_CENTRE);
        let settings: String = settings.map(|(name, value)| format!("{name}: {value}\n")).collect();
        let (host, folder) = (host(node), folder.display());
        format!(
            "{settings}\
             listen_address: {host}\n\
             rpc_address: {host}\n\
             storage_port: {node_port}\n\
             native_transport_port: {client_port}\n\
             seed_provider:\n\
             \x20 - class_name: org.apache.cassandra.locator.SimpleSeedProvider\n\
             \x20   parameters: [{{ seeds: \"{first}:{node_port}\" }}]\n\
             data_file_directories: [ \"{folder}/data\" ]\n\
             commitlog_directory: \"{folder}/commitlog\"\n\
             saved_caches_directory: \"{folder}/caches\"\n\
             hints_directory: \"{folder}/hints\"\n\
             cdc_raw_directory: \"{folder}/cdc\"\n",
            first = self::host(1),
        )
    }

    /// Waits until a node answers, and it and the other running ones have seen each other.
    fn is_ready_in_time(&self, node: usize) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < READY_WITHIN {
            if Connection::open(self.address(node)).is_ok() && self.has_company(node) {
                return true;
            }
            if !self.node(node).is_running() {
                return false;
            }
            std::thread::sleep(READY_ASKED_EVERY);
        }
        false
    }

    fn has_company(&self, node: usize) -> bool {
        let log = self.node(node).log();
        let sees = |log: &str, other: usize| {
            log.contains(&format!("{}:{} is now UP", host(other), self.node_port))
        };
        self.running().into_iter().filter(|other| *other != node).all(|other| {
            // It has seen this node after whatever it last heard of it.
            let heard = self.node(other).log();
            let lost = format!("{}:{} is now DOWN", host(node), self.node_port);
            let since = heard.rsplit(&lost).next().unwrap_or_default();
            sees(&log, other) && sees(since, node)
        })
    }
}

/// The settings of a node that a test says nothing of.
fn usual() -> Settings {
    let line = |line: &str| line.split_once(": ").map(|(name, value)| (name.into(), value.into()));
    SETTINGS.lines().filter_map(line).collect()
}

/// The address of a node.
fn host(node: usize) -> String {
    format!("127.0.0.{node}")
}

/// A port that is free on the addresses of all nodes.
///
/// Not one that the system gives to outgoing connections: a client that keeps trying to reach a
/// killed node could be given the node's own port.
fn free_port(nodes: usize) -> u16 {
    const FIRST: u16 = 20_000;
    const COUNT: u16 = 12_000;
    static TRIED: AtomicU16 = AtomicU16::new(0);
    // Programs that start together begin at different places.
    let begin = (std::process::id() % u32::from(COUNT)) as u16;
    let port = |tried: u16| FIRST + (begin.wrapping_mul(7) + tried.wrapping_mul(31)) % COUNT;
    let is_free = |port: &u16| {
        let bind = |node| TcpListener::bind((Ipv4Addr::new(127, 0, 0, node as u8), *port));
        (1..=nodes).all(|node| bind(node).is_ok())
    };
    let mut ports = (0..COUNT).map(|_| port(TRIED.fetch_add(1, Ordering::Relaxed)));
    ports.find(is_free).expect("loopback has a free port")
}
