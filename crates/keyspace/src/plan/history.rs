//! What histories cost on every store.
//!
//! Rows of a history are never overwritten, so their writes depend on nothing; what is no longer
//! wanted goes in bounded batches, a page at a time.

use super::bounds::{Answer, Bounds, Count};
use super::read;
use super::shape::{cannot_hold, helper_rows, key_size, record_size};
use super::write::commit_trips;
use crate::model::{Keyspace, Pattern, StoreKind, Target, Verb, limits};
use crate::parse::grouped;

/// Rows read and removed by one call of `compact` or `collect`.
pub(super) const ROWS_PER_CALL: u64 = limits::PAGE_ROWS_MAX;
/// Rows that usually go in one call.
const ROWS_USUAL: u64 = 100;

/// The cost of a pattern on a history.
pub(super) fn answer(
    keyspace: &Keyspace,
    store: StoreKind,
    pattern: &Pattern,
    target: &Target,
) -> Answer {
    let collection = &target.collection;
    if let Some(refusal) = cannot_hold(store, collection, None) {
        return Answer::Refused(refusal);
    }
    let helpers = helper_rows(keyspace, store, collection, true);
    let (record, key) = (record_size(collection), key_size(collection));
    let add = |bounds: Bounds| {
        let bounds = bounds.write(Count::exactly(1), record);
        bounds.write(Count::exactly(helpers), key).trips(commit_trips(store))
    };
    let removed = Count::new(ROWS_USUAL, ROWS_PER_CALL);
    let remove = |bounds: Bounds| {
        let bounds = bounds.write(removed, key).write(removed.times(helpers), key);
        bounds.trips(commit_trips(store))
    };
    // Which rows go is seen from their keys, but a range hands out whole rows.
    let look = Bounds::default().trips(1).read(removed, record);
    let price = |what: &str| {
        format!("{what} in a batch of their own, up to {} a call", grouped(ROWS_PER_CALL))
    };
    // Each of its batches is held to the limit of one.
    let one = |bounds: Bounds| bounds.capped_at(limits::BATCH_BYTES_MAX);
    let two = |bounds: Bounds| bounds.capped_at(2 * limits::BATCH_BYTES_MAX);
    match pattern.verb {
        Verb::Load => read::list(keyspace, store, pattern, target),
        Verb::Compact => Answer::Assisted {
            price: price("covered rows are removed"),
            bounds: two(remove(add(look))),
        },
        Verb::Collect => {
            Answer::Assisted { price: price("rows are removed"), bounds: one(remove(look)) }
        }
        _ => Answer::Native(one(add(Bounds::default()))),
    }
}
