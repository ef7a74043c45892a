//! `redis://[[user]:password@]host[:port][/database]?prefix=app:&durability=power`, and
//! `redis-cluster://[[user]:password@]host[:port],host[:port]?prefix=app:&durability=power`

use super::server::{self, who_and_where};
use super::{DURABILITY, parameters};
use data::store::Durability;
use data::{Error, ErrorKind, Result};
use stores::redis::{ClusterOptions, Options};

/// The parameter for what every key of a database begins with.
const PREFIX: &str = "prefix";
/// The port of a Redis server, unless one is given.
const REDIS_PORT: u16 = 6379;

/// Takes a URL apart, of which `path` stands behind the colon.
pub(super) fn parse(path: &str, query: &str) -> Result<Options> {
    let refused = |message| Error::new(ErrorKind::Argument, message);
    let address = path
        .strip_prefix("//")
        .ok_or_else(|| refused("a Redis server has a host: `redis://127.0.0.1:6379/0`"))?;
    let (address, database) = address.split_once('/').unwrap_or((address, ""));
    let ((user, password), host) = who_and_where(address)?;
    let (host, port) = host_and_port(host)?;
    let mut options = Options { host, port, user, password, ..Options::default() };
    if !database.is_empty() {
        let number = database.parse::<u16>();
        let message = "the database of a Redis server is a number: `redis://HOST/0`";
        options.database = i64::from(number.map_err(|_| refused(message))?);
    }
    (options.prefix, options.durability) = prefix_and_durability(query)?;
    Ok(options)
}

/// Takes the URL of a cluster apart, of which `path` stands behind the colon.
pub(super) fn parse_cluster(path: &str, query: &str) -> Result<ClusterOptions> {
    let refused = |message| Error::new(ErrorKind::Argument, message);
    let address = path.strip_prefix("//").ok_or_else(|| {
        refused("a Redis Cluster has nodes: `redis-cluster://127.0.0.1:7000,127.0.0.1:7001`")
    })?;
    let address = address.strip_suffix('/').unwrap_or(address);
    if address.contains('/') {
        return Err(refused("a Redis Cluster has no numbered databases: give a `prefix` instead"));
    }
    let ((user, password), nodes) = who_and_where(address)?;
    let nodes = nodes.split(',').map(host_and_port).collect::<Result<Vec<_>>>()?;
    let (prefix, durability) = prefix_and_durability(query)?;
    Ok(ClusterOptions { nodes, user, password, prefix, durability })
}

fn prefix_and_durability(query: &str) -> Result<(String, Option<Durability>)> {
    let (mut prefix, mut durability) = (String::new(), None);
    for (name, value) in parameters(query, &[PREFIX, DURABILITY])? {
        let refused = |message| Error::new(ErrorKind::Argument, message).with("given", &value);
        if name == DURABILITY {
            let message = "`durability` is `power`, `process` or `none`";
            durability = Some(Durability::from_name(&value).ok_or_else(|| refused(message))?);
            continue;
        }
        if value.starts_with('~') || value.contains(['{', '}']) {
            return Err(refused("a prefix neither begins with `~` nor holds braces"));
        }
        prefix = value;
    }
    Ok((prefix, durability))
}

fn host_and_port(address: &str) -> Result<(String, u16)> {
    let message = "a Redis server has a host: `redis://127.0.0.1:6379/0`";
    server::host_and_port(address, REDIS_PORT, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::StoreUrl;

    #[test]
    fn a_redis_url_says_where_and_as_whom() {
        let url = "redis://:s%40cret@example.org:7000/3?prefix=app:&durability=power";
        let StoreUrl::Redis(options) = url.parse::<StoreUrl>().unwrap() else { unreachable!() };
        let expected = Options {
            host: "example.org".to_string(),
            port: 7000,
            user: None,
            password: Some("s@cret".to_string()),
            database: 3,
            prefix: "app:".to_string(),
            durability: Some(Durability::Power),
        };
        assert_eq!(options, expected);
        assert!(!format!("{options:?}").contains("cret"), "{options:?}");
        let StoreUrl::Redis(options) = "redis://ann:p@[::1]".parse::<StoreUrl>().unwrap() else {
            unreachable!()
        };
        assert_eq!((options.host.as_str(), options.port), ("::1", 6379));
        assert_eq!(options.user.as_deref(), Some("ann"));
    }

    #[test]
    fn the_url_of_a_cluster_names_nodes() {
        let url = "redis-cluster://ann:s%40cret@a:7000,[::1]:7001,b?prefix=app:&durability=process";
        let StoreUrl::RedisCluster(options) = url.parse::<StoreUrl>().unwrap() else {
            unreachable!()
        };
        let node = |host: &str, port| (host.to_string(), port);
        let expected = ClusterOptions {
            nodes: vec![node("a", 7000), node("::1", 7001), node("b", 6379)],
            user: Some("ann".to_string()),
            password: Some("s@cret".to_string()),
            prefix: "app:".to_string(),
            durability: Some(Durability::Process),
        };
        assert_eq!(options, expected);
        assert!(!format!("{options:?}").contains("cret"), "{options:?}");
        for wrong in [
            "redis-cluster:a:7000",
            "redis-cluster://a:7000/1",
            "redis-cluster://a:7000,",
            "redis-cluster://a:x",
            "redis-cluster://a?prefix={b}",
        ] {
            assert_eq!(
                wrong.parse::<StoreUrl>().unwrap_err().kind(),
                ErrorKind::Argument,
                "{wrong}"
            );
        }
    }
}
