//! `postgres://user:password@host:port/database?durability=power&connections=20`
//!
//! What is Keyway's own is taken out; the rest is PostgreSQL's and goes to the driver as it is. The
//! password is in the text and nowhere else, and the text is never shown.

use super::parameters;
use data::store::Durability;
use data::{Error, ErrorKind, Result};
use std::fmt;

/// Keyway's own parameters, and PostgreSQL's that are passed on.
const PARAMETERS: [&str; 10] = [
    "durability",
    "connections",
    "application_name",
    "connect_timeout",
    "keepalives_idle",
    "options",
    "sslmode",
    "target_session_attrs",
    "user",
    "password",
];

/// The parameters that are not passed on.
const OWN: [&str; 2] = ["durability", "connections"];

/// The URL of a PostgreSQL database, taken apart.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    /// What the driver is given.
    driver: String,
    /// What an acknowledged commit survives.
    pub durability: Durability,
    /// The most connections at a time; the store's choice unless given.
    pub connections: Option<usize>,
}

impl PostgresUrl {
    /// The URL for the driver, its password in it.
    pub fn driver_url(&self) -> &str {
        &self.driver
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &mut formatter.debug_struct("PostgresUrl");
        shown.field("durability", &self.durability).field("connections", &self.connections);
        shown.finish_non_exhaustive()
    }
}

/// Takes a URL apart, of which `rest` stands behind the colon.
pub(super) fn parse(rest: &str, query: &str) -> Result<PostgresUrl> {
    let Some(place) = rest.strip_prefix("//").filter(|place| !place.is_empty()) else {
        return Err(Error::new(
            ErrorKind::Argument,
            "PostgreSQL is at a host: `postgres://user:password@host:5432/database`",
        ));
    };
    let (mut durability, mut connections) = (Durability::Power, None);
    for (name, value) in parameters(query, &PARAMETERS)? {
        let refused = |message| Error::new(ErrorKind::Argument, message).with("given", &value);
        match name {
            "durability" => {
                let message = "`durability` is `power`, `process` or `none`";
                durability = Durability::from_name(&value).ok_or_else(|| refused(message))?;
            }
            "connections" => {
                let message = "`connections` is a number from 1 to 1000";
                let number = value.parse().ok().filter(|number| (1..=1_000).contains(number));
                connections = Some(number.ok_or_else(|| refused(message))?);
            }
            _ => {}
        }
    }
    let is_own = |pair: &&str| OWN.contains(&pair.split('=').next().unwrap_or_default());
    let passed: Vec<&str> = query.split('&').filter(|pair| !is_own(pair)).collect();
    let driver = match passed.iter().all(|pair| pair.is_empty()) {
        true => format!("postgres://{place}"),
        false => format!("postgres://{place}?{}", passed.join("&")),
    };
    Ok(PostgresUrl { driver, durability, connections })
}

#[cfg(test)]
mod tests {
    use crate::url::StoreUrl;
    use data::store::Durability;

    #[test]
    fn what_is_ours_is_taken_out_and_the_rest_passed_on() {
        let url = "postgresql://ann:se%40cret@h:1/d?sslmode=disable&durability=none&connections=3";
        let parsed = url.parse::<StoreUrl>().unwrap();
        let StoreUrl::Postgres(url) = &parsed else { unreachable!() };
        assert_eq!(url.driver_url(), "postgres://ann:se%40cret@h:1/d?sslmode=disable");
        assert_eq!((url.durability, url.connections), (Durability::None, Some(3)));
        assert!(!format!("{parsed:?}").contains("cret"));
        let StoreUrl::Postgres(url) = "postgres://h/d".parse().unwrap() else { unreachable!() };
        assert_eq!((url.driver_url(), url.durability), ("postgres://h/d", Durability::Power));
    }
}
