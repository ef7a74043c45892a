//! Store URLs: which store, where, and how.
//!
//! ```text
//! memory:                              engine:./data?durability=process
//! ./data            a path alone       engine:/opt/my%20app
//! files:./tree                         redis://:secret@host:6379/0?prefix=app:
//! sqlite:./data.db                     sqlite:/opt/x.db?durability=process
//! postgres://user:password@host:5432/database?durability=power&connections=16
//! ```
//!
//! Parsing asks nothing of the machine. An error names the scheme or the parameter and never the
//! rest, which may hold a password.

mod postgres;
mod redis;

pub use postgres::PostgresUrl;

use data::store::Durability;
use data::{Error, ErrorKind, Result};
use keyspace::model::StoreKind;
use std::path::PathBuf;
use std::str::FromStr;
use stores::redis::Options as RedisOptions;

/// What can be opened in this version, for messages.
const OFFERED: &str = "memory:, engine:DIRECTORY, files:DIRECTORY, sqlite:FILE, \
                       postgres://HOST/DATABASE, redis://HOST:PORT/DATABASE, or a directory";

/// The parameter for what a commit survives.
const DURABILITY: &str = "durability";
/// The parameter for how much is kept in memory.
const CACHE: &str = "cache_mib";
/// The parameter that lets a tree of files be on a network.
const NETWORK: &str = "network";

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
    /// `postgres://user:password@host:port/database?durability=power|process|none&connections=16`
    Postgres(PostgresUrl),
    /// `redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]?prefix=TEXT&durability=power|process|none`
    Redis(RedisOptions),
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
            Some(StoreKind::Engine) => engine(path, query),
            Some(StoreKind::Files) => files(path, query),
            Some(StoreKind::Sqlite) => sqlite(path, query),
            Some(StoreKind::Postgres) => postgres::parse(path, query).map(StoreUrl::Postgres),
            Some(StoreKind::Redis) => redis::parse(path, query).map(StoreUrl::Redis),
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

fn sqlite(path: &str, query: &str) -> Result<StoreUrl> {
    let file = self::path(local(path)?, "the store needs a file: `sqlite:./data.db`")?;
    let mut durability = Durability::Power;
    for (_, value) in parameters(query, &[DURABILITY])? {
        durability = durability_of(&value)?;
    }
    Ok(StoreUrl::Sqlite { file, durability })
}

fn engine(path: &str, query: &str) -> Result<StoreUrl> {
    let directory = self::path(local(path)?, "the store needs a directory: `engine:./data`")?;
    let mut durability = Durability::Power;
    let mut cache_mib = None;
    for (name, value) in parameters(query, &[DURABILITY, CACHE])? {
        match name {
            CACHE => cache_mib = Some(cache_of(&value)?),
            _ => durability = durability_of(&value)?,
        }
    }
    Ok(StoreUrl::Engine { directory, durability, cache_mib })
}

fn files(path: &str, query: &str) -> Result<StoreUrl> {
    let directory = self::path(local(path)?, "the store needs a directory: `files:./tree`")?;
    let mut durability = Durability::Power;
    let mut cache_mib = None;
    let mut network = false;
    for (name, value) in parameters(query, &[DURABILITY, CACHE, NETWORK])? {
        match name {
            CACHE => cache_mib = Some(cache_of(&value)?),
            NETWORK if value == "allow" => network = true,
            NETWORK => return Err(refused("`network` is `allow`, or is left out", &value)),
            _ => durability = durability_of(&value)?,
        }
    }
    Ok(StoreUrl::Files { directory, durability, cache_mib, network })
}

/// A path on this machine: `//` before it would name a host.
fn local(path: &str) -> Result<&str> {
    match path.strip_prefix("//") {
        Some(absolute) if absolute.starts_with('/') => Ok(absolute),
        Some(_) => Err(Error::new(
            ErrorKind::Argument,
            "this store runs in this process and has no host: `engine:DIRECTORY`, \
             `files:DIRECTORY`, `sqlite:FILE`",
        )),
        None => Ok(path),
    }
}

fn durability_of(value: &str) -> Result<Durability> {
    let message = "`durability` is `power`, `process` or `none`";
    Durability::from_name(value).ok_or_else(|| refused(message, value))
}

fn cache_of(value: &str) -> Result<u32> {
    value.parse().map_err(|_| refused("`cache_mib` is a number of MiB", value))
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

/// A path with `%xx` taken back; `missing` is said where there is none.
fn path(path: &str, missing: &'static str) -> Result<PathBuf> {
    let bytes = decoded(path)?;
    if bytes.is_empty() {
        return Err(Error::new(ErrorKind::Argument, missing));
    }
    if bytes.contains(&0) {
        return Err(not_decodable());
    }
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStringExt;
        Ok(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
    }
    #[cfg(not(unix))]
    {
        String::from_utf8(bytes).map(PathBuf::from).map_err(|_| not_decodable())
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(directory: &str, durability: Durability) -> StoreUrl {
        StoreUrl::Engine { directory: PathBuf::from(directory), durability, cache_mib: None }
    }

    fn sqlite(file: &str, durability: Durability) -> StoreUrl {
        StoreUrl::Sqlite { file: PathBuf::from(file), durability }
    }

    #[test]
    fn a_cache_is_given_in_mebibytes() {
        let url = "engine:d?cache_mib=256&durability=none".parse::<StoreUrl>().unwrap();
        let StoreUrl::Engine { cache_mib, .. } = url else { unreachable!() };
        assert_eq!(cache_mib, Some(256));
    }

    #[test]
    fn a_tree_of_files_may_be_told_to_be_on_a_network() {
        for (url, network) in
            [("files:d", false), ("file:d?network=allow", true), ("files:///d?network=allow", true)]
        {
            match url.parse::<StoreUrl>().unwrap() {
                StoreUrl::Files { network: found, durability, .. } => {
                    assert_eq!((found, durability), (network, Durability::Power), "{url}");
                }
                other => panic!("{url}: {other:?}"),
            }
        }
    }

    #[test]
    fn urls_and_paths_are_taken_apart() {
        let power = Durability::Power;
        let cases = [
            ("memory:", StoreUrl::Memory),
            ("MEMORY:", StoreUrl::Memory),
            ("memory://", StoreUrl::Memory),
            ("engine:./data", engine("./data", power)),
            ("engine:data", engine("data", power)),
            ("engine:/opt/x", engine("/opt/x", power)),
            ("engine:///opt/x", engine("/opt/x", power)),
            ("./data", engine("./data", power)),
            ("data", engine("data", power)),
            ("C:\\data", engine("C:\\data", power)),
            ("./a:b", engine("./a:b", power)),
            ("/opt/a:b", engine("/opt/a:b", power)),
            ("engine:my%20data%3f", engine("my data?", power)),
            ("./data?durability=none", engine("./data", Durability::None)),
            ("engine:d?durability=process", engine("d", Durability::Process)),
            ("engine:d?&durability=%70ower&", engine("d", power)),
            ("sqlite:x.db", sqlite("x.db", power)),
            ("sqlite:///opt/my%20x.db", sqlite("/opt/my x.db", power)),
            ("sqlite:./x.db?durability=none", sqlite("./x.db", Durability::None)),
        ];
        for (url, expected) in cases {
            assert_eq!(url.parse::<StoreUrl>().expect(url), expected, "{url}");
        }
    }

    #[test]
    fn refusals_say_what_would_do() {
        let cases = [
            ("", ErrorKind::Argument, "engine:./data"),
            ("engine:", ErrorKind::Argument, "engine:./data"),
            ("engine://host/x", ErrorKind::Argument, "no host"),
            ("memory:x", ErrorKind::Argument, "no place"),
            ("memory:?durability=none", ErrorKind::Argument, "known: none"),
            ("engine:d?sync=1", ErrorKind::Argument, "known: durability, cache_mib"),
            ("engine:d?cache_mib=much", ErrorKind::Argument, "a number of MiB"),
            ("engine:d?durability=yes", ErrorKind::Argument, "`power`, `process` or `none`"),
            ("engine:d?durability=none&durability=power", ErrorKind::Argument, "twice"),
            ("engine:a%2", ErrorKind::Argument, "hexadecimal"),
            ("engine:a%00", ErrorKind::Argument, "hexadecimal"),
            ("da:ta", ErrorKind::Argument, "begins with ./"),
            ("files:", ErrorKind::Argument, "files:./tree"),
            ("files://host/x", ErrorKind::Argument, "no host"),
            ("files:d?network=yes", ErrorKind::Argument, "`allow`"),
            ("files:d?sync=1", ErrorKind::Argument, "known: durability, cache_mib, network"),
            ("sqlite:", ErrorKind::Argument, "sqlite:./data.db"),
            ("sqlite://host/x.db", ErrorKind::Argument, "no host"),
            ("sqlite:x.db?cache_mib=1", ErrorKind::Argument, "known: durability"),
            ("sqlite:x.db?durability=full", ErrorKind::Argument, "`power`, `process` or `none`"),
            ("postgres:", ErrorKind::Argument, "postgres://user:password@host"),
            ("postgres:x", ErrorKind::Argument, "postgres://user:password@host"),
            ("postgres://h/d?pool=1", ErrorKind::Argument, "known: durability, connections"),
            ("postgres://h/d?connections=0", ErrorKind::Argument, "from 1 to 1000"),
            ("postgresql://h/d?durability=x", ErrorKind::Argument, "`power`, `process`"),
            ("rediss://h", ErrorKind::Unsupported, "through a tunnel"),
            ("redis:h", ErrorKind::Argument, "redis://127.0.0.1"),
            ("redis://", ErrorKind::Argument, "redis://127.0.0.1"),
            ("redis://ann@h", ErrorKind::Argument, "behind a colon"),
            ("redis://h:port", ErrorKind::Argument, "65535"),
            ("redis://h/x", ErrorKind::Argument, "is a number"),
            ("redis://h?prefix=~x", ErrorKind::Argument, "braces"),
            ("redis://h?durability=yes", ErrorKind::Argument, "`power`, `process` or `none`"),
            ("redis://h?sync=1", ErrorKind::Argument, "known: prefix, durability"),
            ("redis-cluster://h", ErrorKind::Unsupported, "store: redis-cluster"),
            ("cassandra://h", ErrorKind::Unsupported, "store: cassandra"),
        ];
        for (url, kind, part) in cases {
            let error = url.parse::<StoreUrl>().expect_err(url);
            assert_eq!(error.kind(), kind, "{url}: {error}");
            assert!(error.to_string().contains(part), "{url}: {error}");
        }
    }

    #[test]
    fn an_error_shows_no_password() {
        for url in ["postgres://ann:secret@host/db?x=1", "mysql://ann:secret@host/db"] {
            let error = url.parse::<StoreUrl>().expect_err(url);
            assert!(!format!("{error} {error:?}").contains("secret"));
        }
    }
}
