//! Stores that run in this process: a path, and how it is used.

use super::{DURABILITY, StoreUrl, decoded, durability_of, not_decodable, parameters, refused};
use data::store::Durability;
use data::{Error, ErrorKind, Result};
use std::path::PathBuf;

/// The parameter for how much is kept in memory.
const CACHE: &str = "cache_mib";
/// The parameter that lets a tree of files be on a network.
const NETWORK: &str = "network";

/// `engine:DIRECTORY?durability=power&cache_mib=64`
pub(super) fn engine(path: &str, query: &str) -> Result<StoreUrl> {
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

/// `files:DIRECTORY?durability=power&cache_mib=64&network=allow`
pub(super) fn files(path: &str, query: &str) -> Result<StoreUrl> {
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

/// `sqlite:FILE?durability=power`
pub(super) fn sqlite(path: &str, query: &str) -> Result<StoreUrl> {
    let file = self::path(local(path)?, "the store needs a file: `sqlite:./data.db`")?;
    let mut durability = Durability::Power;
    for (_, value) in parameters(query, &[DURABILITY])? {
        durability = durability_of(&value)?;
    }
    Ok(StoreUrl::Sqlite { file, durability })
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

fn cache_of(value: &str) -> Result<u32> {
    value.parse().map_err(|_| refused("`cache_mib` is a number of MiB", value))
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
