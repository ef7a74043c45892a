//! Where requests go: to one server, or to the nodes of a cluster.
//!
//! Whoever asks gives the name of a key, and all names of one request have one slot. What is asked
//! of a whole database is asked of each of its masters.

use super::cluster::{Address, Cluster, Redirects, slot};
use super::connection::Connection;
use bytes::Bytes;
use redis::RedisResult;
use std::sync::Arc;
use tokio::time::Instant;

/// One server, or a cluster.
pub(super) enum Servers {
    /// One.
    One(Arc<Connection>),
    /// Several.
    Cluster(Box<Cluster>),
}

impl Servers {
    /// Commands about keys of one slot, `name` being one of them: see [`Connection::send`].
    pub(super) async fn send(
        &self,
        name: &[u8],
        sent: (&[u8], usize),
        until: Instant,
    ) -> RedisResult<Bytes> {
        match self {
            Servers::One(connection) => connection.send(sent, until).await,
            Servers::Cluster(cluster) => cluster.send(slot(name), sent, until).await,
        }
    }

    /// Everything that has a part of the database.
    pub(super) fn masters(&self) -> Vec<Arc<Connection>> {
        match self {
            Servers::One(connection) => vec![connection.clone()],
            Servers::Cluster(cluster) => cluster.masters(),
        }
    }

    /// Who has a key of this name.
    pub(super) fn master_of(&self, name: &[u8]) -> RedisResult<Arc<Connection>> {
        match self {
            Servers::One(connection) => Ok(connection.clone()),
            Servers::Cluster(cluster) => cluster.master(slot(name)),
        }
    }

    /// The node of a cluster that has a key of this name, as far as is known.
    pub(super) fn node_of(&self, name: &[u8]) -> Option<Address> {
        match self {
            Servers::One(_) => None,
            Servers::Cluster(cluster) => cluster.map().owner(slot(name)).cloned(),
        }
    }

    /// Whether a commit reaches one slot only.
    pub(super) fn is_cluster(&self) -> bool {
        matches!(self, Servers::Cluster(_))
    }

    /// What happened to requests on a cluster.
    pub(super) fn redirects(&self) -> Redirects {
        match self {
            Servers::One(_) => Redirects::default(),
            Servers::Cluster(cluster) => cluster.redirects(),
        }
    }

    /// What tells apart the names that can be read together: their slot, on a cluster.
    pub(super) fn part_of(&self, name: &[u8]) -> u16 {
        match self {
            Servers::One(_) => 0,
            Servers::Cluster(_) => slot(name),
        }
    }

    /// Ends all connections and makes no more.
    pub(super) fn close(&self) {
        match self {
            Servers::One(connection) => connection.close(),
            Servers::Cluster(cluster) => cluster.close(),
        }
    }
}
