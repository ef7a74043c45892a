//! The versions of UUIDs that order rows.
//!
//! Cassandra compares UUIDs by their version before anything else, so that a column of several
//! versions would not sort as the key does. The first UUID written under a name says which version
//! all of them have; the catalogue keeps it, and others are refused.

use super::Ready;
use super::client::{Fault, Way, is_applied};
use super::value::{self, Cell};
use super::view::View;
use data::{Error, ErrorKind, Result};
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use tokio::time::Instant;

/// How the rows of the catalogue begin that keep a version; no keyspace has such a name.
pub(super) const PREFIX: &str = "uuid version of ";

/// The version each name has.
#[derive(Debug, Default)]
pub(super) struct Uuids(RwLock<HashMap<String, u8>>);

impl Uuids {
    /// Those that the catalogue keeps.
    pub(super) fn new(known: HashMap<String, u8>) -> Uuids {
        Uuids(RwLock::new(known))
    }

    /// The version that UUIDs of this name have, if one was ever written.
    pub(super) fn version_of(&self, name: &str) -> Option<u8> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(name).copied()
    }

    fn learn(&self, name: &str, version: u8) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(name.to_string(), version);
    }
}

/// Refuses a key whose UUIDs have another version than those that are there.
pub(super) async fn check(
    ready: &Ready,
    view: &View,
    cells: &[Cell],
    until: Instant,
) -> Result<(), Fault> {
    for (name, version) in view.alike(cells) {
        let known = match ready.uuids.version_of(name) {
            Some(known) => known,
            None => Box::pin(first(ready, name, version, until)).await?,
        };
        if known != version {
            let error = Error::new(
                ErrorKind::Argument,
                "Cassandra orders UUIDs by their version first: where they order rows, all must \
                 have the version of those that are there",
            );
            let error = error.with("name", name).with("version", version);
            return Err(Fault::Refused(error.with("of_others", known)));
        }
    }
    Ok(())
}

/// The version of the first UUID that anybody has written under this name: perhaps this one.
async fn first(ready: &Ready, name: &str, version: u8, until: Instant) -> Result<u8, Fault> {
    let table = &ready.catalogue;
    let insert = format!("INSERT INTO {table} (name, catalogue) VALUES (?, ?) IF NOT EXISTS");
    let (row, number) =
        (value::text(&format!("{PREFIX}{name}")), value::text(&version.to_string()));
    let insert = ready.client.prepare(&insert, Way::Judged).await?;
    let answer = ready.client.send(&(insert, vec![row.clone(), number]), until).await?;
    if is_applied(answer).map_err(Fault::Refused)? {
        ready.uuids.learn(name, version);
        return Ok(version);
    }
    let select = format!("SELECT catalogue FROM {table} WHERE name = ?");
    let select = ready.client.prepare(&select, Way::Again).await?;
    let each =
        |columns: &[Option<&[u8]>]| Ok(columns.first().copied().flatten().and_then(number_of));
    let found = ready.client.rows(&(select, vec![row]), until, each).await?;
    let known = found.into_iter().flatten().next().unwrap_or(version);
    ready.uuids.learn(name, known);
    Ok(known)
}

/// The number in a text.
pub(super) fn number_of(bytes: &[u8]) -> Option<u8> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}
