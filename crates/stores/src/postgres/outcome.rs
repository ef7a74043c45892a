//! Outcomes: that a batch was committed, and what its additions came to, in the same transaction.
//!
//! ```text
//! totals ─▶ 01 │ value, 8 bytes │ 00, or 01 and the end, 8 bytes │ …
//! ```
//!
//! The id is the primary key: a batch that is sent again, even while the first is still under way,
//! meets the row of the first and changes nothing.

use super::connection::{Lease, Request};
use super::error::Fault;
use super::tables::Tables;
use super::value::{Native, Raw};
use data::clock::Milliseconds;
use data::store::{Batch, CommitId, Total};
use data::{Error, ErrorKind, Result};
use std::borrow::Cow;
use std::sync::Arc;
use tokio::time::Instant;

/// The form that is written.
const FORMAT: u8 = 1;

/// The bytes of what a batch came to.
pub(super) fn encode(totals: &[Total]) -> Vec<u8> {
    let mut bytes = vec![FORMAT];
    for total in totals {
        bytes.extend_from_slice(&total.value.to_be_bytes());
        bytes.push(u8::from(total.expires.is_some()));
        bytes.extend(total.expires.iter().flat_map(|end| end.to_be_bytes()));
    }
    bytes
}

/// What a batch came to.
pub(super) fn decode(bytes: &[u8]) -> Result<Vec<Total>> {
    let wrong = || Error::new(ErrorKind::Corrupt, "a remembered outcome cannot be read");
    let Some((&FORMAT, mut rest)) = bytes.split_first() else { return Err(wrong()) };
    let mut totals = Vec::new();
    while let Some((value, after)) = rest.split_first_chunk::<8>() {
        let (flag, after) = after.split_first().ok_or_else(wrong)?;
        rest = after;
        let mut expires = None;
        if *flag == 1 {
            let (end, after) = rest.split_first_chunk::<8>().ok_or_else(wrong)?;
            expires = Some(Milliseconds::from_be_bytes(*end));
            rest = after;
        }
        totals.push(Total { value: i64::from_be_bytes(*value), expires });
    }
    match rest.is_empty() {
        true => Ok(totals),
        false => Err(wrong()),
    }
}

/// The statement that remembers a batch, with its values; none where none has to be.
pub(super) fn remember<'r>(
    tables: &Tables,
    batch: &Batch,
    totals: &[Total],
) -> Option<(Arc<str>, Vec<Native<'r>>)> {
    let calls = tables.calls.as_ref()?;
    let values = vec![
        Native::Uuid(*batch.id.as_bytes()),
        Native::Bytes(Cow::Owned(encode(totals))),
        Native::instant(batch.now),
    ];
    Some((calls.insert.clone(), values))
}

/// What the batch with this id came to, if it was committed; then ends the transaction there is.
pub(super) async fn find(
    lease: &mut Lease,
    tables: &Tables,
    id: CommitId,
    ends: Option<&'static str>,
    until: Instant,
) -> Result<Option<Vec<Total>>, Fault> {
    let mut requests = Vec::new();
    if let Some(calls) = &tables.calls {
        let statement = lease.statement(&calls.find).await?;
        requests.push(Request::Prepared(statement, vec![Native::Uuid(*id.as_bytes())]));
    }
    requests.extend(ends.map(Request::Plain));
    let answers = lease.send(requests, until).await?;
    let Some(found) = answers.first().and_then(|rows| rows.first()) else { return Ok(None) };
    let Raw(raw) = found.try_get(0).map_err(Fault::from)?;
    decode(raw.unwrap_or_default()).map(Some).map_err(Fault::Refused)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn totals_come_back_and_nothing_else_is_read() {
        let totals = vec![
            Total { value: i64::MIN, expires: None },
            Total { value: 7, expires: Some(i64::MAX) },
            Total { value: 0, expires: Some(-1) },
        ];
        for count in 0..=totals.len() {
            let bytes = encode(&totals[..count]);
            assert_eq!(decode(&bytes).unwrap(), totals[..count]);
        }
        let bytes = encode(&totals);
        assert!(decode(&bytes[..bytes.len() - 1]).is_err());
        assert!(decode(&[]).is_err());
        assert!(decode(&[2]).is_err());
    }
}
