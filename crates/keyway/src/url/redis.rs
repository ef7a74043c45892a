//! `redis://[[user]:password@]host[:port][/database]?prefix=app:&durability=power`

use super::{DURABILITY, decoded, not_decodable, parameters};
use data::store::Durability;
use data::{Error, ErrorKind, Result};
use stores::redis::Options;

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
    let (credentials, host) = match address.rsplit_once('@') {
        Some((credentials, host)) => (Some(credentials), host),
        None => (None, address),
    };
    let (host, port) = host_and_port(host)?;
    let mut options = Options { host, port, ..Options::default() };
    if let Some(credentials) = credentials {
        let (user, password) = credentials
            .split_once(':')
            .ok_or_else(|| refused("a password stands behind a colon: `redis://:PASSWORD@HOST`"))?;
        let text = |text| String::from_utf8(decoded(text)?).map_err(|_| not_decodable());
        options.user = Some(text(user)?).filter(|user| !user.is_empty());
        options.password = Some(text(password)?);
    }
    if !database.is_empty() {
        let number = database.parse::<u16>();
        let message = "the database of a Redis server is a number: `redis://HOST/0`";
        options.database = i64::from(number.map_err(|_| refused(message))?);
    }
    for (name, value) in parameters(query, &[PREFIX, DURABILITY])? {
        if name == PREFIX {
            if value.starts_with('~') || value.contains(['{', '}']) {
                let message = "a prefix neither begins with `~` nor holds braces";
                return Err(refused(message).with("given", &value));
            }
            options.prefix = value;
            continue;
        }
        let message = "`durability` is `power`, `process` or `none`";
        let durability = Durability::from_name(&value);
        options.durability =
            Some(durability.ok_or_else(|| refused(message).with("given", &value))?);
    }
    Ok(options)
}

/// `host:port`, `[::1]:port`, or a host alone.
fn host_and_port(address: &str) -> Result<(String, u16)> {
    let refused =
        || Error::new(ErrorKind::Argument, "a Redis server has a host: `redis://127.0.0.1:6379/0`");
    let (host, port) = match address.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some((host, rest))) => (host, rest.strip_prefix(':').unwrap_or(rest)),
        Some(None) => return Err(refused()),
        None => address.split_once(':').unwrap_or((address, "")),
    };
    if host.is_empty() {
        return Err(refused());
    }
    match port {
        "" => Ok((host.to_string(), REDIS_PORT)),
        port => {
            let message = "a port is a number up to 65535";
            let port = port.parse().map_err(|_| Error::new(ErrorKind::Argument, message))?;
            Ok((host.to_string(), port))
        }
    }
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
}
