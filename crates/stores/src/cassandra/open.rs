//! Opening: where the cluster is, and the keyspace in it, which must be there or be made.
//!
//! ```text
//! connect ─▶ keyspace there, or created ─▶ its replication, judged by `centres` ─▶ used
//! ```
//!
//! What the server made is read back before it is judged: it is not always what was asked for.

use super::client::{Client, Fault, Way, profile};
use super::{Options, centres, value};
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
    let replication = match (found, options.replication) {
        (Some(found), _) => found,
        (None, Some(copies)) => create(client, place, copies, until).await?,
        (None, None) => {
            return Err(Error::new(
                ErrorKind::Mismatch,
                "there is no such keyspace in Cassandra: create it with the replication it should \
                 have, or add `?replication=3` to the URL",
            )
            .with("place", place));
        }
    };
    let state = client.session.get_cluster_state();
    let centres = state.get_nodes_info().iter().filter_map(|node| node.datacenter.clone());
    centres::judge(place, &replication, &centres.collect())?;
    client.session.use_keyspace(place, true).await.map_err(|error| {
        Error::new(ErrorKind::Unavailable, "the keyspace cannot be used").with("reason", error)
    })
}

/// Creates a keyspace in Cassandra; the replication that came of it, which is not what was said:
/// a number of copies is that many in each data centre the server knows, and another program may
/// have been first.
async fn create(
    client: &Client,
    place: &str,
    copies: u8,
    until: Instant,
) -> Result<BTreeMap<String, String>> {
    let name = Dialect::Cql.name(place);
    let made = format!(
        "CREATE KEYSPACE IF NOT EXISTS {name} WITH replication = \
         {{'class': 'NetworkTopologyStrategy', 'replication_factor': {copies}}}"
    );
    client.run(made, until).await.map_err(Fault::into_error)?;
    let found = replication(client, place, until).await.map_err(Fault::into_error)?;
    found.ok_or_else(|| {
        Error::new(
            ErrorKind::Unavailable,
            "a node has not heard of the keyspace that was created: open the store again",
        )
        .with("place", place)
    })
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
