//! In which data centres a keyspace of Cassandra lies. A commit is judged within one, that of the
//! node which is asked (`LOCAL_SERIAL`): two judges of one row would both be right.
//!
//! | its replication | where its rows lie |
//! |---|---|
//! | `NetworkTopologyStrategy` with `dc1: 3` | in the data centres it names |
//! | that with nothing but `replication_factor`, `SimpleStrategy`, any other | wherever nodes are |
//!
//! Pure: what the cluster says comes in.

use data::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, BTreeSet};

/// What of a replication is no data centre.
const NO_CENTRES: [&str; 2] = ["class", "replication_factor"];

/// Refuses a keyspace whose rows lie in several data centres; `of_nodes` are those of the cluster.
pub(super) fn judge(
    place: &str,
    replication: &BTreeMap<String, String>,
    of_nodes: &BTreeSet<String>,
) -> Result<()> {
    let named = named(replication);
    let (centres, message) = match named.is_empty() {
        false => (
            named,
            "the keyspace lies in several data centres, and a commit is judged in one: let its \
             replication name one, ALTER KEYSPACE ... WITH replication = \
             {'class': 'NetworkTopologyStrategy', '<data centre>': 3}",
        ),
        true => (
            of_nodes.iter().map(String::as_str).collect(),
            "the cluster has several data centres, the keyspace names none, and a commit is judged \
             in one: let its replication name it, ALTER KEYSPACE ... WITH replication = \
             {'class': 'NetworkTopologyStrategy', '<data centre>': 3}",
        ),
    };
    if centres.len() <= 1 {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Unsupported, message)
        .with("place", place)
        .with("data_centres", centres.join(", ")))
}

/// The data centres that a replication names and gives copies to.
fn named(replication: &BTreeMap<String, String>) -> Vec<&str> {
    let class = replication.get("class").map_or("", String::as_str);
    if !class.ends_with("NetworkTopologyStrategy") {
        return Vec::new();
    }
    let named = replication
        .iter()
        .filter(|(name, copies)| !NO_CENTRES.contains(&name.as_str()) && copies.as_str() != "0");
    named.map(|(name, _)| name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPOLOGY: &str = "org.apache.cassandra.locator.NetworkTopologyStrategy";
    const SIMPLE: &str = "org.apache.cassandra.locator.SimpleStrategy";

    fn judged(class: &str, copies: &[(&str, &str)], of_nodes: &[&str]) -> Result<()> {
        let pairs = [("class", class)].into_iter().chain(copies.iter().copied());
        let replication = pairs.map(|(name, value)| (name.to_string(), value.to_string()));
        let of_nodes = of_nodes.iter().map(ToString::to_string).collect();
        judge("chat", &replication.collect(), &of_nodes)
    }

    fn is_refused(class: &str, copies: &[(&str, &str)], of_nodes: &[&str]) -> bool {
        let Err(error) = judged(class, copies, of_nodes) else { return false };
        let text = error.to_string();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        for part in ["chat", "east, west", "ALTER KEYSPACE", "NetworkTopologyStrategy"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        true
    }

    #[test]
    fn a_keyspace_lies_in_the_data_centres_it_names() {
        let (one, both) = (&["east"], &["east", "west"]);
        let in_both = &[("east", "3"), ("west", "1")];
        for of_nodes in [&one[..], &both[..], &[]] {
            assert!(!is_refused(TOPOLOGY, &[("east", "3")], of_nodes));
            assert!(!is_refused(TOPOLOGY, &[("east", "3"), ("west", "0")], of_nodes));
            // Nodes of a data centre may all be away, or not be there yet.
            assert!(is_refused(TOPOLOGY, in_both, of_nodes));
            assert!(is_refused("NetworkTopologyStrategy", in_both, of_nodes));
        }
    }

    #[test]
    fn one_that_names_none_lies_wherever_nodes_are() {
        let copies = &[("replication_factor", "3")];
        for class in [TOPOLOGY, SIMPLE, "org.apache.cassandra.locator.EverywhereStrategy"] {
            assert!(!is_refused(class, copies, &["east"]));
            assert!(!is_refused(class, copies, &[]));
            assert!(is_refused(class, copies, &["east", "west"]));
        }
        assert!(is_refused(SIMPLE, &[], &["east", "west"]));
    }
}
