//! Opening: where the server is, and whether it can keep what is promised.
//!
//! ```text
//! URL ─▶ connection settings ─▶ version, encoding, fsync … ─▶ refused with the fix, or open
//! ```
//!
//! Messages name the parameter or the setting and never the password.

use super::Options;
use data::store::Durability;
use data::{Error, ErrorKind, Result};
use std::str::FromStr;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config};

/// The oldest server that is offered.
const VERSION_MIN: i32 = 130_000;

/// The settings of a URL, `postgres://user:password@host:port/database?…`.
pub(super) fn config(url: &str) -> Result<Config> {
    let mut config = Config::from_str(url).map_err(|error| {
        Error::new(
            ErrorKind::Argument,
            "a PostgreSQL URL is `postgres://user:password@host:port/database`",
        )
        .caused_by(error)
    })?;
    if config.get_hosts().is_empty() {
        return Err(Error::new(
            ErrorKind::Argument,
            "a PostgreSQL URL names a host: `postgres://host/database`",
        ));
    }
    if config.get_ssl_mode() == SslMode::Require {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "this version connects to PostgreSQL without TLS only; leave `sslmode=require` out and \
             use a tunnel, or a socket of the machine",
        ));
    }
    config.ssl_mode(SslMode::Disable);
    if config.get_application_name().is_none() {
        config.application_name("keyway");
    }
    // A server behind a broken network is noticed by the operating system too.
    config.keepalives(true);
    Ok(config)
}

/// Where the server is, without a user or a password.
pub(super) fn address(config: &Config) -> String {
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(number, host)| {
            let ports = config.get_ports();
            let port = ports.get(number).or(ports.first()).copied().unwrap_or(5432);
            match host {
                Host::Tcp(name) => format!("{name}:{port}"),
                #[cfg(unix)]
                Host::Unix(path) => format!("{}:{port}", path.display()),
            }
        })
        .collect();
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("postgres://{}/{database}", hosts.join(","))
}

/// What is asked of a server.
const SETTINGS: &str = "\
    SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), \
    current_setting('fsync'), current_setting('full_page_writes'), \
    current_setting('synchronous_commit'), pg_is_in_recovery()";

/// Ends what is done for a client that is gone.
const NOTICE: &str = "SET client_connection_check_interval = '1s'";

/// Refuses a server that cannot keep what the options promise; answers what sessions are set to.
pub(super) async fn check(client: &Client, options: &Options) -> Result<String> {
    let found = client.query_one(SETTINGS, &[]).await;
    let found = found.map_err(|error| super::error::Fault::from(error).into_error())?;
    let text = |place: usize| found.try_get::<_, String>(place).unwrap_or_default();
    let version: i32 = found.try_get(0).unwrap_or_default();
    let refused = |message: &'static str, is: String| {
        Err(Error::new(ErrorKind::Unsupported, message).with("is", is))
    };
    if version < VERSION_MIN {
        let is = format!("{}", version / 10_000);
        return refused("PostgreSQL 13 or newer is needed", is);
    }
    if text(1) != "UTF8" {
        return refused(
            "the database is not in UTF-8; create one with `ENCODING 'UTF8' TEMPLATE template0`",
            text(1),
        );
    }
    if found.try_get(5).unwrap_or(false) {
        return refused("this server is a standby; connect to the primary", "standby".to_string());
    }
    if options.durability == Durability::Power {
        for (place, name) in [(2, "fsync"), (3, "full_page_writes")] {
            if text(place) != "on" {
                let message = "the server does not survive a power cut; set `fsync` and \
                     `full_page_writes` on, or open the store with `durability=process`";
                return refused(message, format!("{name} is {}", text(place)));
            }
        }
    }
    let mut settings = match (options.durability, text(4).as_str()) {
        (Durability::None, _) => "SET synchronous_commit = off".to_string(),
        (_, "off") => "SET synchronous_commit = on".to_string(),
        (_, stronger) => format!("SET synchronous_commit = {stronger}"),
    };
    // Some versions and systems cannot notice that a client is gone.
    if client.batch_execute(NOTICE).await.is_ok() {
        settings = format!("{settings}; {NOTICE}");
    }
    Ok(settings)
}
