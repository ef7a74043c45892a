//! What the user of a server may do: every command that is sent, or the store is not opened.
//!
//! ```text
//! commands ─▶ rights.lua, as this user ─▶ those it may not run ─▶ refused with the fix
//! ```
//!
//! A script that is refused a command in its middle leaves what it wrote before: a torn batch. So
//! nothing may begin before every command is known to be allowed. The server is asked from inside
//! a script, where each user may ask about itself; nothing is written.

use super::Options;
use super::connection::Connection;
use super::error::{Fault, failed, fault, unexpected};
use super::name::escaped_glob;
use data::{Error, ErrorKind, Result};
use redis::{Cmd, RedisError, RedisResult, Value};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Every command, as it is sent or run by a script; `@` stands for a key.
const COMMANDS: [&str; 32] = [
    // The scripts.
    "DEL @",
    "EXISTS @",
    "GET @",
    "HDEL @ f",
    "HEXISTS @ f",
    "HGET @ f",
    "HSET @ f v",
    "PEXPIREAT @ 1",
    "PEXPIRETIME @",
    "SADD @ m",
    "SCARD @",
    "SET @ v",
    "SISMEMBER @ m",
    "SREM @ m",
    "TYPE @",
    "ZADD @ 0 m",
    "ZREM @ m",
    "ZSCORE @ m",
    // Reads, and the marker.
    "HGETALL @",
    "HKEYS @",
    "HMGET @ f",
    "HSETNX @ f v",
    "SMEMBERS @",
    "ZRANGE @ 0 0",
    "SCAN 0",
    // Around them.
    "DBSIZE",
    "EVAL x 1 @",
    "EVALSHA x 1 @",
    "EXEC",
    "INFO",
    "MULTI",
    "TIME",
];

/// What a node of a cluster is asked besides.
const COMMANDS_OF_CLUSTER: [&str; 3] = ["ASKING", "CLUSTER NODES", "CLUSTER SLOTS"];

/// How long a server that is starting is waited for between two questions.
const WAIT: Duration = Duration::from_millis(50);

/// Refuses a user who may not run every command on every key of the store. Where the server does
/// not tell, that is remarked upon.
pub(super) async fn check(
    connection: &Connection,
    (options, is_cluster): (&Options, bool),
    within: Duration,
    remarks: &mut Vec<String>,
) -> Result<()> {
    judged(ask(connection, (options, is_cluster), within).await, options, remarks)
}

fn judged(answer: RedisResult<Value>, options: &Options, remarks: &mut Vec<String>) -> Result<()> {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) if error.code() == Some("NOPERM") || is_unknown(&error) => {
            return Err(refused(options, &["EVAL".to_string()]));
        }
        Err(error) if error.code() == Some("ERR") => {
            remarks.push(
                "the server does not tell what its user may do: whether it takes every command \
                 is not known"
                    .to_string(),
            );
            return Ok(());
        }
        Err(error) => return Err(failed(error)),
    };
    let Value::Array(denied) = answer else { return Err(unexpected()) };
    let name = |value| match value {
        Value::BulkString(name) => String::from_utf8(name).map_err(|_| unexpected()),
        _ => Err(unexpected()),
    };
    let denied = denied.into_iter().map(name).collect::<Result<Vec<String>>>()?;
    if denied.is_empty() { Ok(()) } else { Err(refused(options, &denied)) }
}

/// Whether the server has no scripts at all.
fn is_unknown(error: &RedisError) -> bool {
    error.detail().is_some_and(|detail| detail.contains("unknown command"))
}

/// Asks, also a server that is still starting.
async fn ask(
    connection: &Connection,
    (options, is_cluster): (&Options, bool),
    within: Duration,
) -> RedisResult<Value> {
    let mut command = Cmd::new();
    command.arg("EVAL").arg(include_str!("rights.lua")).arg(0);
    command.arg(format!("{}any", options.prefix));
    COMMANDS.iter().for_each(|one| _ = command.arg(*one));
    if is_cluster {
        COMMANDS_OF_CLUSTER.iter().for_each(|one| _ = command.arg(*one));
    }
    let until = Instant::now() + within;
    loop {
        match connection.ask(&command, within).await {
            Err(error) if fault(&error) == Fault::Later && Instant::now() + WAIT < until => {
                sleep(WAIT).await;
            }
            answer => return answer,
        }
    }
}

fn refused(options: &Options, denied: &[String]) -> Error {
    let user = options.user.as_deref().unwrap_or("default");
    let keys = String::from_utf8_lossy(&escaped_glob(&options.prefix)).into_owned();
    let more: String =
        denied.iter().map(|command| format!(" +{}", command.to_ascii_lowercase())).collect();
    Error::new(
        ErrorKind::Denied,
        "the Redis user may not run every command on every key of the store, and batches would be \
         torn: allow it, or give another user in the URL",
    )
    .with("user", user)
    .with("missing", denied.join(", "))
    .with("allow", format!("ACL SETUSER {user} ~{keys}*{more}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn known() -> BTreeSet<&'static str> {
        COMMANDS.iter().filter_map(|line| line.split(' ').next()).collect()
    }

    /// Quoted words in capitals.
    fn words(text: &str, quote: char) -> BTreeSet<&str> {
        let is_word =
            |part: &&str| part.len() > 2 && part.bytes().all(|byte| byte.is_ascii_uppercase());
        text.split(quote).filter(is_word).collect()
    }

    #[test]
    fn every_command_of_the_scripts_is_asked_about() {
        let known = known();
        let claims = include_str!("claims.lua");
        for text in [include_str!("commit.lua"), include_str!("mark.lua"), claims] {
            for begins in ["call('", "each('"] {
                for rest in text.split(begins).skip(1) {
                    let command = rest.split('\'').next().unwrap_or_default();
                    assert!(known.contains(command), "{command} is run and not in COMMANDS");
                }
            }
        }
    }

    #[test]
    fn every_command_that_is_sent_is_asked_about() {
        // Parts of commands, and what errors are known by.
        let others = ["BYLEX", "BYSCORE", "COUNT", "LIMIT", "MATCH", "REV", "WITHSCORES"];
        let mut expected = known();
        expected.extend(others);
        expected.extend(["CONFIG", "NOPERM", "WRONGTYPE"]);
        expected.extend(COMMANDS_OF_CLUSTER.iter().flat_map(|command| command.split(' ')));
        for text in [
            include_str!("answers.rs"),
            include_str!("catalogue.rs"),
            include_str!("cluster/mod.rs"),
            include_str!("listing.rs"),
            include_str!("open.rs"),
            include_str!("read.rs"),
            include_str!("scan.rs"),
            include_str!("script.rs"),
            include_str!("sweep.rs"),
            include_str!("walk.rs"),
        ] {
            let found = words(text, '"');
            let strange: Vec<_> = found.difference(&expected).collect();
            assert!(strange.is_empty(), "{strange:?} is sent and not in COMMANDS");
        }
    }

    #[test]
    fn a_server_that_does_not_tell_is_remarked_upon() {
        let says = |text: &str| {
            let kind = redis::ServerErrorKind::ResponseError.into();
            Err(RedisError::from((kind, "the server", text.to_string())))
        };
        let (options, mut remarks) = (Options::default(), Vec::new());
        judged(says("rights are not told"), &options, &mut remarks).unwrap();
        assert!(remarks.join("").contains("whether it takes every command is not known"));
        let error = judged(says("unknown command 'EVAL'"), &options, &mut remarks).unwrap_err();
        assert_eq!((error.kind(), error.value("missing")), (ErrorKind::Denied, Some("EVAL")));
        judged(Ok(Value::Array(Vec::new())), &options, &mut remarks).unwrap();
        assert_eq!(remarks.len(), 1);
    }

    #[test]
    fn a_refusal_names_what_is_missing_and_how_to_allow_it() {
        let prefix = "app[1]:".to_string();
        let options = Options { user: Some("lim".to_string()), prefix, ..Options::default() };
        let error = refused(&options, &["ZADD".to_string(), "DEL".to_string()]);
        assert_eq!(error.kind(), ErrorKind::Denied);
        assert_eq!(error.value("missing"), Some("ZADD, DEL"));
        assert_eq!(error.value("allow"), Some("ACL SETUSER lim ~app\\[1\\]:* +zadd +del"));
    }
}
