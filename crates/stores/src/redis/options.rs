//! Where a server or a cluster is, and what is asked of it. No secret is ever shown.

use data::store::Durability;
use std::fmt;

/// Where a server is, and what is asked of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Options {
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The user, if it is not the default one.
    pub user: Option<String>,
    /// The password.
    pub password: Option<String>,
    /// The number of the database.
    pub database: i64,
    /// What every key begins with.
    pub prefix: String,
    /// What an acknowledged commit must survive. Without it, what the server's settings give.
    pub durability: Option<Durability>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            host: "127.0.0.1".to_string(),
            port: 6379,
            user: None,
            password: None,
            database: 0,
            prefix: String::new(),
            durability: None,
        }
    }
}

impl Options {
    /// A URL without secrets.
    pub(super) fn address(&self) -> String {
        let Options { host, port, database, prefix, .. } = self;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        match prefix.is_empty() {
            true => format!("redis://{host}:{port}/{database}"),
            false => format!("redis://{host}:{port}/{database}?prefix={prefix}"),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &mut formatter.debug_struct("Options");
        shown.field("address", &self.address()).field("durability", &self.durability);
        shown.finish_non_exhaustive()
    }
}

/// Where a cluster is, and what is asked of it.
#[derive(Clone, PartialEq, Eq)]
pub struct ClusterOptions {
    /// Nodes by which it is found, each a host and a port: one is enough, the others are asked if
    /// that one is away.
    pub nodes: Vec<(String, u16)>,
    /// The user, if it is not the default one.
    pub user: Option<String>,
    /// The password.
    pub password: Option<String>,
    /// What every key begins with.
    pub prefix: String,
    /// What an acknowledged commit must survive. Without it, what the nodes' settings give.
    pub durability: Option<Durability>,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        let Options { host, port, user, password, prefix, durability, .. } = Options::default();
        ClusterOptions { nodes: vec![(host, port)], user, password, prefix, durability }
    }
}

impl ClusterOptions {
    /// A URL without secrets.
    pub(super) fn address(&self) -> String {
        let node = |(host, port): &(String, u16)| match host.contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        };
        let nodes: Vec<String> = self.nodes.iter().map(node).collect();
        let nodes = nodes.join(",");
        match self.prefix.is_empty() {
            true => format!("redis-cluster://{nodes}"),
            false => format!("redis-cluster://{nodes}?prefix={}", self.prefix),
        }
    }

    /// How a node is opened, its host and port aside.
    pub(super) fn of_node(&self) -> Options {
        let ClusterOptions { user, password, prefix, durability, .. } = self.clone();
        Options { user, password, prefix, durability, ..Options::default() }
    }
}

impl fmt::Debug for ClusterOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &mut formatter.debug_struct("ClusterOptions");
        shown.field("address", &self.address()).field("durability", &self.durability);
        shown.finish_non_exhaustive()
    }
}
