//! Opening: where the cluster is, and whether it can keep what is promised.
//!
//! | what we look at | why |
//! |---|---|
//! | the keyspace and its replication | `LOCAL_SERIAL` judges within one data centre only |
//! | `paxos_variant` | some variants are not linearizable; `v1` is twice as slow |
//! | `commitlog_sync` | what an acknowledged commit survives where few nodes keep it |
//!
//! ScyllaDB shows no such settings: there nothing is known, and it is said.

use super::Options;
use super::client::{Client, Fault, Way, profile};
use super::value;
use data::store::Durability;
use data::{Error, ErrorKind, Result};
use keyspace::layout::words::Dialect;
use scylla::client::session_builder::SessionBuilder;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// How long a node may take to answer at first.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// How often a node is asked whether it is there, and how long it may take to say so: one that
/// hangs is left alone after both, and what waits for it goes to another or is found out there.
const ALIVE_EVERY: Duration = Duration::from_secs(3);
const ALIVE_WITHIN: Duration = Duration::from_secs(5);
/// How often is asked whether all nodes have the same tables.
const AGREE_EVERY: Duration = Duration::from_millis(20);

/// What a cluster is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cluster {
    pub(super) durability: Durability,
    /// What people should know, in sentences.
    pub(super) remarks: Vec<String>,
}

/// Connects to a cluster.
pub(super) async fn connect(options: &Options) -> Result<Client> {
    let mut builder = SessionBuilder::new()
        .known_nodes(&options.nodes)
        .connection_timeout(CONNECT_WITHIN)
        .keepalive_interval(ALIVE_EVERY)
        .keepalive_timeout(ALIVE_WITHIN)
        .schema_agreement_interval(AGREE_EVERY)
        .default_execution_profile_handle(profile().into_handle());
    if let Some((user, password)) = &options.user {
        builder = builder.user(user, password);
    }
    let session = builder.build().await.map_err(|error| {
        Error::new(ErrorKind::Unavailable, "no node of the cluster can be reached")
            .with("nodes", options.nodes.join(", "))
            .with("reason", error)
    })?;
    Ok(Client::new(session))
}

/// The replication of a keyspace in Cassandra; nothing if there is no such keyspace.
pub(super) async fn replication(
    client: &Client,
    place: &str,
    until: Instant,
) -> Result<Option<BTreeMap<String, String>>, Fault> {
    let asked = "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?";
    let statement = client.prepare(asked, Way::Again).await?;
    let each = |columns: &[Option<&[u8]>]| {
        let bytes = columns.first().copied().flatten().unwrap_or_default();
        Ok(map(bytes).unwrap_or_default())
    };
    let found = client.rows(&(statement, vec![value::text(place)]), until, each).await?;
    Ok(found.into_iter().next())
}

/// The pairs of a map of texts: a list, as far as its bytes go, of twice as many.
fn map(bytes: &[u8]) -> Option<BTreeMap<String, String>> {
    let (count, rest) = bytes.split_first_chunk::<4>()?;
    let twice = i32::from_be_bytes(*count).checked_mul(2)?.to_be_bytes();
    let whole = [&twice, rest].concat();
    let parts = value::parts(&whole)?;
    let text = |bytes: &&[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (pairs, _) = parts.as_chunks::<2>();
    Some(pairs.iter().map(|[name, value]| (text(name), text(value))).collect())
}

/// Sees to it that a keyspace is there in Cassandra, and is one we can use.
pub(super) async fn prepare_place(
    client: &Client,
    options: &Options,
    place: &str,
    until: Instant,
) -> Result<()> {
    let found = replication(client, place, until).await.map_err(Fault::into_error)?;
    let name = Dialect::Cql.name(place);
    let replication = match (found, options.replication) {
        (Some(found), _) => found,
        (None, Some(copies)) => {
            let made = format!(
                "CREATE KEYSPACE IF NOT EXISTS {name} WITH replication = \
                 {{'class': 'NetworkTopologyStrategy', 'replication_factor': {copies}}}"
            );
            client.run(&made, until).await.map_err(Fault::into_error)?;
            BTreeMap::new()
        }
        (None, None) => {
            return Err(Error::new(
                ErrorKind::Mismatch,
                "there is no such keyspace in Cassandra: create it with the replication it should \
                 have, or add `?replication=3` to the URL",
            )
            .with("place", place));
        }
    };
    let centres: Vec<&String> = replication
        .keys()
        .filter(|name| *name != "class" && *name != "replication_factor")
        .collect();
    if centres.len() > 1 {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "the keyspace lies in several data centres, and a commit is judged in one: use one \
             whose replication names one data centre",
        )
        .with("place", place)
        .with("data_centres", centres.len()));
    }
    client.session.use_keyspace(place, true).await.map_err(|error| {
        Error::new(ErrorKind::Unavailable, "the keyspace cannot be used").with("reason", error)
    })
}

/// Looks at the settings; refuses a cluster that cannot keep our promises, or not those asked for.
pub(super) async fn inspect(client: &Client, options: &Options, until: Instant) -> Result<Cluster> {
    let mut remarks = Vec::new();
    match setting(client, "paxos_variant", until).await.as_deref() {
        Some(variant) if variant.contains("without_linearizable") => {
            return Err(Error::new(
                ErrorKind::Mismatch,
                "conditional writes of this cluster are not linearizable: set paxos_variant: v2",
            )
            .with("paxos_variant", variant));
        }
        Some("v1") => remarks.push(
            "paxos_variant is v1: conditional writes take twice the round trips of v2".to_string(),
        ),
        _ => {}
    }
    let syncs = setting(client, "commitlog_sync", until).await;
    let given = match syncs.as_deref() {
        Some("batch" | "group") => Durability::Power,
        Some(_) => Durability::Process,
        None => {
            remarks.push(
                "the cluster does not show its settings: what a commit survives where power fails \
                 is not known"
                    .to_string(),
            );
            options.durability.unwrap_or(Durability::Process)
        }
    };
    let durability = match options.durability {
        Some(wanted) if wanted > given => {
            return Err(Error::new(
                ErrorKind::Mismatch,
                "a node of this cluster keeps less than was asked for when it loses power: set \
                 commitlog_sync: batch, or ask for less",
            )
            .with("durability", wanted)
            .with("it_gives", given));
        }
        Some(wanted) => wanted,
        None => given,
    };
    if durability < Durability::Power {
        remarks.push(
            "commitlog_sync is periodic: a commit is lost if all its copies lose power within 10 \
             seconds"
                .to_string(),
        );
    }
    Ok(Cluster { durability, remarks })
}

/// A setting of a node, if it shows it.
async fn setting(client: &Client, name: &str, until: Instant) -> Option<String> {
    let asked = "SELECT value FROM system_views.settings WHERE name = ?";
    let statement = client.prepare(asked, Way::Again).await.ok()?;
    let text = |columns: &[Option<&[u8]>]| {
        let bytes = columns.first().copied().flatten();
        Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
    };
    let rows = client.rows(&(statement, vec![value::text(name)]), until, text).await.ok()?;
    rows.into_iter().flatten().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_read_pair_by_pair() {
        let mut bytes = 2_i32.to_be_bytes().to_vec();
        for part in ["class", "Simple", "dc1", "3"] {
            value::part(&mut bytes, part.as_bytes());
        }
        let found = map(&bytes).unwrap_or_default();
        assert_eq!(found.get("dc1").map(String::as_str), Some("3"));
        assert_eq!(found.len(), 2);
        assert!(map(&bytes[..bytes.len() - 1]).is_none());
    }
}
