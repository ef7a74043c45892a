//! `cassandra://[user:password@]host[:port],host[:port]/keyspace?replication=3&durability=power`

use super::server::{host_and_port, who_and_where};
use super::{DURABILITY, parameters};
use data::store::Durability;
use data::{Error, ErrorKind, Result};
use stores::cassandra::Options;

/// The parameter for the copies with which a keyspace is created.
const REPLICATION: &str = "replication";
/// The port of a node, unless one is given.
const PORT: u16 = 9042;

/// Takes a URL apart, of which `path` stands behind the colon.
pub(super) fn parse(path: &str, query: &str, is_scylla: bool) -> Result<Options> {
    const WITHOUT: &str = "a cluster has nodes: `cassandra://127.0.0.1:9042,127.0.0.2/keyspace`";
    let refused = |message| Error::new(ErrorKind::Argument, message);
    let address = path.strip_prefix("//").ok_or_else(|| refused(WITHOUT))?;
    let (address, place) = address.split_once('/').unwrap_or((address, ""));
    let ((user, password), nodes) = who_and_where(address)?;
    let node = |address| {
        let (host, port) = host_and_port(address, PORT, WITHOUT)?;
        // An address of version 6 has colons of its own.
        Ok(if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") })
    };
    let nodes = nodes.split(',').map(node).collect::<Result<Vec<String>>>()?;
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if !place.chars().all(is_letter) || place.len() > 48 {
        let message = "a keyspace of Cassandra has a name of at most 48 letters, digits and `_`";
        return Err(refused(message).with("given", place));
    }
    let mut options = Options {
        nodes,
        user: user.map(|user| (user, password.unwrap_or_default())),
        place: Some(place.to_string()).filter(|place| !place.is_empty()),
        replication: None,
        durability: None,
        is_scylla,
    };
    for (name, value) in parameters(query, &[REPLICATION, DURABILITY])? {
        let refused = |message| Error::new(ErrorKind::Argument, message).with("given", &value);
        if name == DURABILITY {
            let durability = Durability::from_name(&value);
            let message = "`durability` is `power`, `process` or `none`";
            options.durability = Some(durability.ok_or_else(|| refused(message))?);
            continue;
        }
        let copies = value.parse().ok().filter(|copies| (1..=9).contains(copies));
        let message = "`replication` is a number of copies from 1 to 9";
        options.replication = Some(copies.ok_or_else(|| refused(message))?);
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use crate::url::StoreUrl;
    use data::store::Durability;

    #[test]
    fn a_cassandra_url_says_where_and_as_whom() {
        let url = "cassandra://ann:s%40cret@a,b:9043,[::1]/chat?replication=3&durability=power";
        let StoreUrl::Cassandra(options) = url.parse().unwrap() else { panic!("another store") };
        assert_eq!(options.nodes, ["a:9042", "b:9043", "[::1]:9042"]);
        assert_eq!(options.user, Some(("ann".to_string(), "s@cret".to_string())));
        assert_eq!(options.place.as_deref(), Some("chat"));
        assert_eq!((options.replication, options.durability), (Some(3), Some(Durability::Power)));
        assert!(!options.is_scylla);
        let StoreUrl::Cassandra(options) = "scylla://a".parse().unwrap() else {
            panic!("another store")
        };
        assert!(options.is_scylla && options.place.is_none() && options.replication.is_none());
    }

    #[test]
    fn what_is_wrong_is_named_and_the_password_is_not() {
        for (url, named) in [
            ("cassandra:x", "a cluster has nodes"),
            ("cassandra:///chat", "a cluster has nodes"),
            ("cassandra://ann:secret@a/chat;drop", "at most 48 letters"),
            ("cassandra://ann:secret@a:port/chat", "a port is a number"),
            ("cassandra://a/chat?replication=0", "from 1 to 9"),
            ("cassandra://a/chat?durability=x", "`power`, `process`"),
            ("cassandra://a/chat?copies=3", "known: replication, durability"),
        ] {
            let error = url.parse::<StoreUrl>().unwrap_err().to_string();
            assert!(error.contains(named) && !error.contains("secret"), "{url}: {error}");
        }
    }
}
