//! Store URLs: which store, where, and how.
//!
//! ```text
//! memory:                              engine:./data?durability=process
//! ./data            a path alone       engine:/opt/my%20app
//! files:./tree                         redis://:secret@host:6379/0?prefix=app:
//!                                      redis-cluster://:secret@host:7000,host:7001?prefix=app:
//! sqlite:./data.db                     sqlite:/opt/x.db?durability=process
//! postgres://user:password@host:5432/database?durability=power&connections=20
//! cassandra://host:9042,host/keyspace?replication=3
//! ```
//!
//! Parsing asks nothing of the machine. An error names the scheme or the parameter and never the
//! rest, which may hold a password.

mod cassandra;
mod embedded;
mod postgres;
mod redis;
mod server;
#[cfg(test)]
mod tests;

pub use postgres::PostgresUrl;

use data::store::Durability;
use data::{Error, ErrorKind, Result};
use keyspace::model::StoreKind;
use std::path::PathBuf;
use std::str::FromStr;
use stores::cassandra::Options as CassandraOptions;
use stores::redis::{ClusterOptions, Options as RedisOptions};

/// What can be opened in this version, for messages.
const OFFERED: &str = "memory:, engine:DIRECTORY, files:DIRECTORY, sqlite:FILE, \
                       postgres://HOST/DATABASE, redis://HOST:PORT/DATABASE, \
                       redis-cluster://HOST:PORT,HOST:PORT, cassandra://HOST,HOST/KEYSPACE, \
                       scylla://HOST/KEYSPACE, or a directory";

/// The parameter for what a commit survives.
const DURABILITY: &str = "durability";

/// Other schemes by which a store is known.
const OTHER_SCHEMES: [(&str, StoreKind); 3] = [
    ("file", StoreKind::Files),
    ("postgresql", StoreKind::Postgres),
    ("scylladb", StoreKind::Scylla),
];

/// A store URL, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreUrl {
    /// `memory:`
    Memory,
    /// `engine:DIRECTORY?durability=power|process|none&cache_mib=64`
    Engine {
        /// Where its files are.
        directory: PathBuf,
        /// What an acknowledged commit survives.
        durability: Durability,
        /// Mebibytes of its files kept in memory; the engine's choice unless given.
        cache_mib: Option<u32>,
    },
    /// `files:DIRECTORY?durability=power|process|none&cache_mib=64&network=allow`
    Files {
        /// Where the tree is.
        directory: PathBuf,
        /// What an acknowledged commit survives.
        durability: Durability,
        /// Mebibytes of rows kept in memory; the store's choice unless given.
        cache_mib: Option<u32>,
        /// Whether the tree may be on a network, where syncs and locks may promise nothing.
        network: bool,
    },
    /// `sqlite:FILE?durability=power|process|none`
    Sqlite {
        /// The database file.
        file: PathBuf,
        /// What an acknowledged commit survives.
        durability: Durability,
    },
    /// `postgres://user:password@host:port/database?durability=power|process|none&connections=20`
    Postgres(PostgresUrl),
    /// `redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]?prefix=TEXT&durability=power|process|none`
    Redis(RedisOptions),
    /// `redis-cluster://[[USER]:PASSWORD@]HOST[:PORT],…?prefix=TEXT&durability=power|process|none`
    RedisCluster(ClusterOptions),
    /// `cassandra://[USER:PASSWORD@]HOST[:PORT],…/KEYSPACE?replication=3&durability=power|process`,
    /// and the same with `scylla`
    Cassandra(CassandraOptions),
}

impl StoreUrl {
    /// The kind of store.
    pub fn kind(&self) -> StoreKind {
        match self {
            StoreUrl::Memory => StoreKind::Memory,
            StoreUrl::Engine { .. } => StoreKind::Engine,
            StoreUrl::Files { .. } => StoreKind::Files,
            StoreUrl::Sqlite { .. } => StoreKind::Sqlite,
            StoreUrl::Postgres(_) => StoreKind::Postgres,
            StoreUrl::Redis(_) => StoreKind::Redis,
            StoreUrl::RedisCluster(_) => StoreKind::RedisCluster,
            StoreUrl::Cassandra(options) if options.is_scylla => StoreKind::Scylla,
            StoreUrl::Cassandra(_) => StoreKind::Cassandra,
        }
    }
}

impl FromStr for StoreUrl {
    type Err = Error;

    fn from_str(url: &str) -> Result<Self> {
        let (scheme, rest) = match scheme(url) {
            Some(scheme) => (scheme, url.get(scheme.len() + 1..).unwrap_or_default()),
            None => ("engine", url),
        };
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, query),
            None => (rest, ""),
        };
        match kind(scheme) {
            Some(StoreKind::Memory) => memory(path, query),
            Some(StoreKind::Engine) => embedded::engine(path, query),
            Some(StoreKind::Files) => embedded::files(path, query),
            Some(StoreKind::Sqlite) => embedded::sqlite(path, query),
            Some(StoreKind::Postgres) => postgres::parse(path, query).map(StoreUrl::Postgres),
            Some(StoreKind::Redis) => redis::parse(path, query).map(StoreUrl::Redis),
            Some(StoreKind::RedisCluster) => {
                redis::parse_cluster(path, query).map(StoreUrl::RedisCluster)
            }
            Some(of @ (StoreKind::Cassandra | StoreKind::Scylla)) => {
                cassandra::parse(path, query, of == StoreKind::Scylla).map(StoreUrl::Cassandra)
            }
            None if scheme.eq_ignore_ascii_case("rediss") => Err(Error::new(
                ErrorKind::Unsupported,
                "TLS to Redis is not offered yet: use `redis://` through a tunnel, such as \
                 `ssh -N -L 6379:127.0.0.1:6379 HOST`",
            )),
            Some(kind) => Err(Error::new(
                ErrorKind::Unsupported,
                "this store can be planned for, but not opened in this version yet",
            )
            .with("store", kind)
            .with("offered", OFFERED)),
            None => Err(Error::new(
                ErrorKind::Argument,
                "there is no store of this name; a path with a colon begins with ./",
            )
            .with("name", scheme)
            .with("offered", OFFERED)),
        }
    }
}

/// What stands before the colon, if it can be a scheme: one letter is a drive of Windows.
fn scheme(url: &str) -> Option<&str> {
    let (scheme, _) = url.split_once(':')?;
    let first = scheme.starts_with(|first: char| first.is_ascii_alphabetic());
    let rest = scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    (scheme.len() > 1 && first && rest).then_some(scheme)
}

fn kind(scheme: &str) -> Option<StoreKind> {
    let scheme = scheme.to_ascii_lowercase();
    let other = OTHER_SCHEMES.iter().find(|(name, _)| *name == scheme).map(|(_, kind)| *kind);
    StoreKind::from_name(&scheme).or(other)
}

fn memory(path: &str, query: &str) -> Result<StoreUrl> {
    if !path.trim_start_matches('/').is_empty() {
        return Err(Error::new(ErrorKind::Argument, "a store in memory has no place: `memory:`"));
    }
    parameters(query, &[])?;
    Ok(StoreUrl::Memory)
}

fn durability_of(value: &str) -> Result<Durability> {
    let message = "`durability` is `power`, `process` or `none`";
    Durability::from_name(value).ok_or_else(|| refused(message, value))
}

fn refused(message: &'static str, value: &str) -> Error {
    Error::new(ErrorKind::Argument, message).with("given", value)
}

/// The parameters of a query, each known and given once.
fn parameters(query: &str, known: &[&'static str]) -> Result<Vec<(&'static str, String)>> {
    let mut found: Vec<(&'static str, String)> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let Some(name) = known.iter().find(|known| **known == name) else {
            let listed = if known.is_empty() { "none".to_string() } else { known.join(", ") };
            return Err(Error::new(ErrorKind::Argument, "the store has no such parameter")
                .with("parameter", name)
                .with("known", listed));
        };
        if found.iter().any(|(given, _)| given == name) {
            return Err(Error::new(ErrorKind::Argument, "a parameter is given twice")
                .with("parameter", name));
        }
        let value = String::from_utf8(decoded(value)?).map_err(|_| not_decodable())?;
        found.push((name, value));
    }
    Ok(found)
}

/// Bytes with `%xx` taken back.
fn decoded(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else {
            return Err(not_decodable());
        };
        bytes.extend(u8::try_from(high * 16 + low));
    }
    Ok(bytes)
}

fn not_decodable() -> Error {
    Error::new(
        ErrorKind::Argument,
        "a store URL has a `%` that is no character: two hexadecimal digits follow, `%25` is `%`",
    )
}
