//! The secret that all programs on a keyspace share, in a row of its catalogue.

use super::catalogue::ENSURE_WITHIN;
use super::client::{Client, Fault, Way};
use super::tries::Tries;
use super::value;
use data::{Error, ErrorKind, Result};
use tokio::time::Instant;

/// The row of the catalogue; no keyspace has such a name.
const SECRET: &str = "cursor key";

/// The secret that all programs share; `fresh` if there is none yet.
pub(super) async fn secret(client: &Client, helper: &str, fresh: [u8; 32]) -> Result<[u8; 32]> {
    let until = Instant::now() + ENSURE_WITHIN;
    let mut tries = Tries::new(until);
    loop {
        match secret_once(client, helper, fresh, until).await {
            Ok(secret) => return Ok(secret),
            Err(fault) => tries.failed(fault).await?,
        }
    }
}

async fn secret_once(
    client: &Client,
    helper: &str,
    fresh: [u8; 32],
    until: Instant,
) -> Result<[u8; 32], Fault> {
    let wrong = || Error::new(ErrorKind::Corrupt, "the key of cursors is damaged");
    let text = serde_json::to_string(&fresh).map_err(|_| Fault::Refused(wrong()))?;
    let select = format!("SELECT catalogue FROM {helper} WHERE name = ?");
    let read = |columns: &[Option<&[u8]>]| {
        let found = columns.first().copied().flatten().ok_or_else(wrong)?;
        serde_json::from_slice(found).map_err(|error| wrong().caused_by(error))
    };
    let asked = (client.prepare(&select, Way::Again).await?, vec![value::text(SECRET)]);
    if let Some(known) = client.rows(&asked, until, read).await?.pop() {
        return Ok(known);
    }
    let insert = format!("INSERT INTO {helper} (name, catalogue) VALUES (?, ?) IF NOT EXISTS");
    let insert = client.prepare(&insert, Way::Judged).await?;
    client.send(&(insert, vec![value::text(SECRET), value::text(&text)]), until).await?;
    let known = client.rows(&asked, until, read).await?.pop();
    known.ok_or_else(|| Fault::Refused(wrong()))
}
