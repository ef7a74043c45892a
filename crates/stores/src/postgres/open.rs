//! Opening: where the server is, and whether it can keep what is promised.
//!
//! ```text
//! URL ─▶ connection settings ─▶ version, encoding, fsync … ─▶ refused with the fix, or open
//! ```
//!
//! Messages name the parameter or the setting and never the password.

use super::Options;
use super::catalogue::failed;
use super::connection::Pool;
use super::error::late;
use data::clock::Milliseconds;
use data::store::Durability;
use data::{Error, ErrorKind, Result};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, Row, SimpleQueryMessage};

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
    current_setting('synchronous_commit'), pg_is_in_recovery(), \
    current_setting('transaction_read_only')";

/// How long a server may take to say what it is like.
const CHECK_WITHIN: Duration = Duration::from_secs(20);

/// Ends what is done for a client that is gone.
const NOTICE: &str = "SET client_connection_check_interval = '1s'";

/// What keeps a copy of the server and may take over. Who may not know is shown no row.
const STANDBYS: &str = "\
    SELECT sync_state FROM pg_stat_replication AS sent WHERE state <> 'backup' AND NOT EXISTS \
    (SELECT FROM pg_replication_slots WHERE active_pid = sent.pid AND slot_type = 'logical')";

/// A server that can keep what is promised.
pub(super) struct Checked {
    /// What sessions are set to.
    pub(super) settings: String,
    /// What people should know all the same, in sentences.
    pub(super) remarks: Vec<String>,
}

/// Refuses a server that cannot keep what the options promise.
pub(super) async fn check(client: &Client, options: &Options) -> Result<Checked> {
    let checked = async {
        let found = client.query_one(SETTINGS, &[]).await.map_err(failed)?;
        let server = Server::read(&found).map_err(failed)?;
        let mut settings = server.judge(options.durability)?;
        // What is not told is not guessed.
        let standbys = client.query(STANDBYS, &[]).await.unwrap_or_default();
        let standbys: Vec<String> =
            standbys.iter().filter_map(|row| row.try_get(0).ok().flatten()).collect();
        let remarks = server.remarks(options.durability, &standbys);
        // Some versions and systems cannot notice that a client is gone.
        if client.batch_execute(NOTICE).await.is_ok() {
            settings = format!("{settings}; {NOTICE}");
        }
        Ok(Checked { settings, remarks })
    };
    timeout(CHECK_WITHIN, checked).await.unwrap_or_else(|_| Err(late()))
}

/// What the server's clock says now, whatever transaction asks.
const TIME: &str = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::int8";

/// How long a server may take to say what time it is.
const TIME_WITHIN: Duration = Duration::from_secs(10);

/// The server's time: one round trip.
pub(super) async fn time(pool: &Arc<Pool>) -> Result<Milliseconds> {
    let until = Instant::now() + TIME_WITHIN;
    match time_once(pool, until).await {
        // A connection that was kept may be of a server that was started anew since.
        Err(error) if error.is_retryable() => time_once(pool, until).await,
        answer => answer,
    }
}

async fn time_once(pool: &Arc<Pool>, until: Instant) -> Result<Milliseconds> {
    let lease = pool.lease(until).await?;
    let asked = timeout_at(until, lease.client()?.simple_query(TIME)).await;
    let answer = asked.map_err(|_| late())?.map_err(failed)?;
    lease.give_back();
    let number = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
        _ => None,
    };
    let unexpected = || Error::new(ErrorKind::Internal, "PostgreSQL did not tell the time");
    answer.iter().find_map(number).ok_or_else(unexpected)
}

/// What a server may lose that does not wait for its disk: more than its durability says.
const NEVER_SYNCS: &str = "the server does not wait for its disk (`fsync` is off): a power cut may \
                           damage the whole database, and not only take the last commits";

/// The same of a server that syncs, but cannot mend a page that was half written.
const HALF_PAGES: &str = "the server cannot mend pages that a power cut leaves half written \
                          (`full_page_writes` is off): one may damage rows of long ago";

/// What a failover means.
const FOLLOWED: &str = "a standby for which no commit waits follows this server: if it takes over, \
                        the last acknowledged commits may be lost. Name it in \
                        `synchronous_standby_names` if they may not";

/// What a server and the sessions of this user are like.
#[derive(Clone, Debug)]
struct Server {
    /// `130004` is 13.4.
    version: i32,
    encoding: String,
    fsync: String,
    full_page_writes: String,
    synchronous_commit: String,
    is_standby: bool,
    read_only: String,
}

impl Server {
    fn read(found: &Row) -> Result<Server, tokio_postgres::Error> {
        Ok(Server {
            version: found.try_get(0)?,
            encoding: found.try_get(1)?,
            fsync: found.try_get(2)?,
            full_page_writes: found.try_get(3)?,
            synchronous_commit: found.try_get(4)?,
            is_standby: found.try_get(5)?,
            read_only: found.try_get(6)?,
        })
    }

    /// What sessions must be set to for what is promised, if the server can keep it.
    fn judge(&self, durability: Durability) -> Result<String> {
        let refused = |message: &'static str, is: &str| {
            Err(Error::new(ErrorKind::Unsupported, message).with("is", is))
        };
        if self.version < VERSION_MIN {
            let is = (self.version / 10_000).to_string();
            return refused("PostgreSQL 13 or newer is needed", &is);
        }
        if self.encoding != "UTF8" {
            return refused(
                "the database is not in UTF-8; create one with `ENCODING 'UTF8' TEMPLATE \
                 template0`",
                &self.encoding,
            );
        }
        if self.is_standby {
            return refused("this server is a standby; connect to the primary", "standby");
        }
        if self.read_only != "off" {
            return refused(
                "sessions of this user only read; set `default_transaction_read_only` off for \
                 them, or give another user in the URL",
                "read only",
            );
        }
        if durability == Durability::Power {
            for (name, is) in [("fsync", &self.fsync), ("full_page_writes", &self.full_page_writes)]
            {
                if is != "on" {
                    let message = "the server does not survive a power cut; set `fsync` and \
                         `full_page_writes` on, or open the store with `durability=process`";
                    return refused(message, &format!("{name} is {is}"));
                }
            }
        }
        Ok(self.waits(durability))
    }

    /// How sessions wait for what they commit.
    fn waits(&self, durability: Durability) -> String {
        match (durability, self.synchronous_commit.as_str()) {
            (Durability::None, _) => "SET synchronous_commit = off".to_string(),
            (_, "off") => "SET synchronous_commit = on".to_string(),
            (_, stronger) => format!("SET synchronous_commit = {stronger}"),
        }
    }

    /// What people should know of a server that is good enough; `standbys` by how they are kept,
    /// as the server says it: `async`, `potential`, `sync` or `quorum`.
    fn remarks(&self, durability: Durability, standbys: &[String]) -> Vec<String> {
        let mut remarks = Vec::new();
        match (self.fsync.as_str(), self.full_page_writes.as_str()) {
            ("on", "on") => {}
            ("on", _) => remarks.push(HALF_PAGES.to_string()),
            _ => remarks.push(NEVER_SYNCS.to_string()),
        }
        let waits = durability != Durability::None && self.synchronous_commit != "local";
        let is_waited_for = |state: &String| waits && matches!(state.as_str(), "sync" | "quorum");
        if !standbys.iter().all(is_waited_for) {
            remarks.push(FOLLOWED.to_string());
        }
        remarks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Server {
        let on = || "on".to_string();
        Server {
            version: 130_000,
            encoding: "UTF8".to_string(),
            fsync: on(),
            full_page_writes: on(),
            synchronous_commit: on(),
            is_standby: false,
            read_only: "off".to_string(),
        }
    }

    /// What is said to a server that differs from a good one.
    fn told(durability: Durability, change: impl FnOnce(&mut Server)) -> String {
        let mut server = good();
        change(&mut server);
        let error = server.judge(durability).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        error.to_string()
    }

    #[test]
    fn a_good_server_is_taken() {
        for durability in [Durability::None, Durability::Process, Durability::Power] {
            good().judge(durability).unwrap();
        }
    }

    #[test]
    fn what_a_server_must_be_is_refused_with_the_fix() {
        use Durability::None as Nothing;
        let old = told(Nothing, |server| server.version = 129_999);
        assert!(old.contains("13 or newer") && old.contains("is: 12"), "{old}");
        let latin = told(Nothing, |server| server.encoding = "LATIN1".to_string());
        assert!(latin.contains("ENCODING 'UTF8'") && latin.contains("is: LATIN1"), "{latin}");
        let standby = told(Nothing, |server| server.is_standby = true);
        assert!(standby.contains("connect to the primary"), "{standby}");
        let reads = told(Nothing, |server| server.read_only = "on".to_string());
        assert!(reads.contains("default_transaction_read_only"), "{reads}");
    }

    #[test]
    fn only_power_needs_the_disk_to_be_waited_for() {
        let no_sync = |server: &mut Server| server.fsync = "off".to_string();
        let halves = |server: &mut Server| server.full_page_writes = "off".to_string();
        let refused = told(Durability::Power, no_sync);
        assert!(refused.contains("is: fsync is off") && refused.contains("durability=process"));
        let refused = told(Durability::Power, halves);
        assert!(refused.contains("is: full_page_writes is off"), "{refused}");
        let mut server = good();
        no_sync(&mut server);
        halves(&mut server);
        server.judge(Durability::Process).unwrap();
    }

    #[test]
    fn a_server_that_may_damage_everything_is_remarked_upon() {
        let of = |fsync: &str, full_page_writes: &str| {
            let (fsync, full_page_writes) = (fsync.to_string(), full_page_writes.to_string());
            Server { fsync, full_page_writes, ..good() }.remarks(Durability::Process, &[])
        };
        assert_eq!(of("on", "on"), [""; 0]);
        assert_eq!(of("on", "off"), [HALF_PAGES]);
        // Without `fsync` the other setting changes nothing.
        assert_eq!(of("off", "on"), [NEVER_SYNCS]);
        assert_eq!(of("off", "off"), [NEVER_SYNCS]);
    }

    #[test]
    fn a_standby_for_which_nobody_waits_is_remarked_upon() {
        let of = |durability, waits: &str, standbys: &[&str]| {
            let standbys: Vec<String> = standbys.iter().map(|state| state.to_string()).collect();
            let server = Server { synchronous_commit: waits.to_string(), ..good() };
            server.remarks(durability, &standbys) == [FOLLOWED]
        };
        use Durability::{None as Nothing, Power, Process};
        assert!(!of(Power, "on", &[]) && !of(Nothing, "off", &[]));
        assert!(of(Power, "on", &["async"]) && of(Process, "remote_apply", &["async"]));
        assert!(of(Power, "on", &["sync", "async"]) && of(Power, "on", &["potential", "sync"]));
        assert!(!of(Power, "on", &["sync"]) && !of(Process, "off", &["quorum", "quorum"]));
        // Sessions that wait for this server alone.
        assert!(of(Power, "local", &["sync"]) && of(Nothing, "on", &["sync"]));
    }

    #[test]
    fn sessions_wait_for_their_commits_as_promised() {
        let set = |is: &str, durability| {
            let server = Server { synchronous_commit: is.to_string(), ..good() };
            server.judge(durability).unwrap()
        };
        assert_eq!(set("off", Durability::Power), "SET synchronous_commit = on");
        assert_eq!(set("off", Durability::Process), "SET synchronous_commit = on");
        assert_eq!(set("remote_apply", Durability::Power), "SET synchronous_commit = remote_apply");
        assert_eq!(set("on", Durability::None), "SET synchronous_commit = off");
    }
}
