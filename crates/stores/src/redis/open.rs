//! Opening a store: the server's version and settings, and what they let us promise.
//!
//! | what we look at | why |
//! |---|---|
//! | version 7.0 or later | `#!lua` scripts, `PEXPIRETIME` |
//! | a cluster or not, as was asked | one script reaches every key, or those of one slot |
//! | the user's rights | a script that is refused a command tears its batch (see `rights`) |
//! | `maxmemory-policy noeviction` | an evicted row would leave its entries behind |
//! | the settings of its log | what an acknowledged commit survives (see `durability`) |
//! | replicas | one that takes over may lack the last commits |

use super::cluster::Cluster;
use super::commit::question;
use super::connection::Connection;
use super::durability::Log;
use super::error::{Fault, failed, fault, unexpected};
use super::{Options, Within, rights};
use data::clock::Milliseconds;
use data::store::Durability;
use data::{Error, ErrorKind, Result};
use redis::{Cmd, Value};
use std::time::Duration;

/// The first version that has all we use.
const VERSION_LEAST: (u32, u32) = (7, 0);

/// What a server is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server {
    /// What an acknowledged commit survives, as far as we know.
    pub(super) durability: Durability,
    /// What could not be found out or is weaker than people may think, in sentences.
    pub(super) remarks: Vec<String>,
    /// How it evicts keys when it is full, if it says so.
    policy: Option<String>,
}

/// Looks at every master of a cluster. What one of them does not keep, the cluster does not.
pub(super) async fn inspect_all(cluster: &Cluster, options: &Options) -> Result<Server> {
    let until = tokio::time::Instant::now() + Within::of_reads().0;
    cluster.open(until).await.map_err(failed)?;
    let mut whole: Option<Server> = None;
    for master in cluster.masters() {
        let named = |error: Error| error.with("node", master.place());
        let one = inspect(&master, options, true).await.map_err(named)?;
        whole = Some(match whole {
            None => one,
            Some(whole) => whole.and(one),
        });
    }
    let mut whole = whole.ok_or_else(unexpected)?;
    if cluster.has_replicas() {
        whole.remarks.push(LOSES.to_string());
    }
    Ok(whole)
}

/// What a failover means.
const LOSES: &str = "replicas of the cluster follow their masters a moment later: if one takes \
                     over, the last acknowledged commits of its slots may be lost, and `keyway \
                     scrub --repair` mends the indexes afterwards";

/// What a failover from a server that is no node of a cluster means.
const FOLLOWED: &str = "replicas of this server follow it a moment later: if one takes over, the \
                        last acknowledged commits may be lost, whole batches and no halves";

/// Looks at the server; refuses one that cannot keep our promises, or not those asked for.
pub(super) async fn inspect(
    connection: &Connection,
    options: &Options,
    is_cluster: bool,
) -> Result<Server> {
    let within = Within::of_reads().0;
    let mut remarks = Vec::new();
    // A short question first: to one who has not said who it is, a server answers no long one.
    let info = match text(connection, &["INFO"], within).await {
        Err(error) if error.code() == Some("NOPERM") => {
            rights::check(connection, (options, is_cluster), within, &mut remarks).await?;
            return Err(failed(error));
        }
        info => info.map_err(failed)?,
    };
    let found = |name: &str| told(&info, name);
    check_version(found("redis_version").unwrap_or_default())?;
    match (found("cluster_enabled") == Some("1"), is_cluster) {
        (true, false) => {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "this is a node of a Redis Cluster, where one commit cannot reach every key: open \
                 it as `redis-cluster://HOST:PORT`, or give the address of a server with \
                 `cluster-enabled no`",
            ));
        }
        (false, true) => {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "this Redis server is no node of a cluster: open it as `redis://HOST:PORT`",
            ));
        }
        _ => {}
    }
    if found("role") == Some("slave") {
        return Err(Error::new(
            ErrorKind::Unavailable,
            "the Redis server is a replica and takes no writes: give the address of its master",
        ));
    }
    rights::check(connection, (options, is_cluster), within, &mut remarks).await?;
    let settings = Settings::read(connection, &info).await?;
    if settings.policy.is_none() {
        remarks.push(
            "the server does not show its settings: whether it evicts keys is not known"
                .to_string(),
        );
    }
    // Nodes of a cluster may have none of their own while others have; all are judged together.
    if !is_cluster && is_followed(&info) {
        remarks.push(FOLLOWED.to_string());
    }
    let Settings { policy, log } = settings;
    let durability = log.durability(options.durability, &mut remarks)?;
    Ok(Server { durability, remarks, policy })
}

/// What a server says of itself under this name.
fn told<'i>(info: &'i str, name: &str) -> Option<&'i str> {
    info.lines().find_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':'))
}

/// Whether a server has replicas now.
fn is_followed(info: &str) -> bool {
    let count = told(info, "connected_slaves").and_then(|count| count.trim().parse::<u64>().ok());
    count.is_some_and(|count| count > 0)
}

/// The settings that matter, as far as they are known.
struct Settings {
    policy: Option<String>,
    log: Log,
}

impl Settings {
    /// Servers that hide their settings still say of themselves what they do, all but how often
    /// they write to their disks.
    async fn read(connection: &Connection, info: &str) -> Result<Settings> {
        let policy = setting(connection, "maxmemory-policy").await?;
        let appends = setting(connection, "appendonly").await?;
        let is_appended = |is: &str| if is == "0" { "no" } else { "yes" };
        let (policy_told, appends_told) =
            (told(info, "maxmemory_policy"), told(info, "aof_enabled").map(is_appended));
        let log = Log {
            appends: appends.or_else(|| appends_told.map(str::to_string)),
            syncs: setting(connection, "appendfsync").await?,
            rests: setting(connection, "no-appendfsync-on-rewrite").await?,
        };
        Ok(Settings { policy: policy.or_else(|| policy_told.map(str::to_string)), log })
    }
}

/// A setting, if the server shows it: managed ones do not.
async fn setting(connection: &Connection, name: &str) -> Result<Option<String>> {
    match ask(connection, &["CONFIG", "GET", name], Within::of_reads().0).await {
        Ok(Value::Array(parts)) => Ok(parts.into_iter().nth(1).and_then(text_of)),
        Ok(_) => Err(unexpected()),
        Err(error) if fault(&error) == Fault::Refused => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

fn check_version(version: &str) -> Result<()> {
    let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if found >= VERSION_LEAST {
        return Ok(());
    }
    let (major, minor) = VERSION_LEAST;
    Err(Error::new(ErrorKind::Unsupported, "the Redis server is too old")
        .with("version", version)
        .with("version_least", format!("{major}.{minor}")))
}

impl Server {
    /// Two of them together.
    fn and(mut self, other: Server) -> Server {
        self.durability = self.durability.min(other.durability);
        for remark in other.remarks {
            if !self.remarks.contains(&remark) {
                self.remarks.push(remark);
            }
        }
        let evicts = |policy: &Option<String>| policy.as_deref().is_some_and(|p| p != "noeviction");
        if evicts(&other.policy) {
            self.policy = other.policy;
        }
        self
    }

    /// Refuses a server that evicts rows which may not be lost.
    pub(super) fn check_eviction(&self, may_all_be_lost: bool) -> Result<()> {
        match self.policy.as_deref() {
            None | Some("noeviction") => Ok(()),
            Some(_) if may_all_be_lost => Ok(()),
            Some(policy) => Err(Error::new(
                ErrorKind::Mismatch,
                "the Redis server evicts keys when it is full, and rows would be lost: set \
                 maxmemory-policy noeviction",
            )
            .with("maxmemory_policy", policy)),
        }
    }
}

/// What tells a running server from every other, if it says so.
pub(super) async fn run_id(connection: &Connection) -> Result<Option<String>> {
    let info = patiently_told(connection, &["INFO", "server"]).await?;
    let id = info.lines().find_map(|line| line.trim_end().strip_prefix("run_id:"));
    Ok(id.filter(|id| !id.is_empty()).map(str::to_string))
}

/// What tells a cluster from every other: the smallest of its nodes' ids.
pub(super) async fn cluster_id(connection: &Connection) -> Result<Option<String>> {
    let nodes = patiently_told(connection, &["CLUSTER", "NODES"]).await?;
    Ok(nodes.lines().filter_map(|line| line.split(' ').next()).min().map(str::to_string))
}

/// What a node of a cluster says of itself: its epoch, its slots and those that are being moved.
pub(super) async fn own_line(connection: &Connection) -> Result<String> {
    let nodes = patiently_told(connection, &["CLUSTER", "NODES"]).await?;
    let own = nodes.lines().find(|line| line.contains("myself"));
    let mut words = own.ok_or_else(unexpected)?.split(' ');
    let id = words.next().unwrap_or_default();
    // Address, flags, master, ping and pong say nothing about slots; the link is its own.
    let epoch = words.nth(5).unwrap_or_default();
    let slots: Vec<&str> = words.skip(1).collect();
    Ok(format!("{id} {epoch} {}", slots.join(" ")))
}

/// The server's time.
pub(super) async fn time(connection: &Connection) -> Result<Milliseconds> {
    let answer = ask(connection, &["TIME"], Within::of_reads().0).await.map_err(failed)?;
    let Value::Array(parts) = answer else { return Err(unexpected()) };
    let mut numbers = parts.into_iter().map(|part| text_of(part)?.parse::<i64>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(seconds), Some(micros)) => Ok(seconds.saturating_mul(1_000) + micros / 1_000),
        _ => Err(unexpected()),
    }
}

async fn ask(
    connection: &Connection,
    words: &[&str],
    within: Duration,
) -> redis::RedisResult<Value> {
    let mut command = Cmd::new();
    words.iter().for_each(|word| _ = command.arg(*word));
    connection.ask(&command, within).await
}

async fn text(
    connection: &Connection,
    words: &[&str],
    within: Duration,
) -> redis::RedisResult<String> {
    Ok(text_of(ask(connection, words, within).await?).unwrap_or_default())
}

/// What a server says, even if its connection must be made anew.
async fn patiently_told(connection: &Connection, words: &[&str]) -> Result<String> {
    let mut command = Cmd::new();
    words.iter().for_each(|word| _ = command.arg(*word));
    Ok(text_of(question(connection, &command).await?).unwrap_or_default())
}

fn text_of(value: Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes).ok(),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_versions_are_refused() {
        for version in ["", "6.2.14", "5.0", "x"] {
            assert_eq!(check_version(version).unwrap_err().kind(), ErrorKind::Unsupported);
        }
        for version in ["7.0.0", "7.0.15", "7.2", "8.0.1", "10.0"] {
            check_version(version).unwrap();
        }
    }

    #[test]
    fn replicas_are_counted() {
        let of = |count: &str| is_followed(&format!("role:master\r\n{count}\r\nmaster_failover"));
        assert!(of("connected_slaves:1") && of("connected_slaves:12"));
        assert!(!of("connected_slaves:0") && !of("connected_slaves:") && !of("other:1"));
    }
}
