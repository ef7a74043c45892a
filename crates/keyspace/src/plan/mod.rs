//! Plans: how every pattern is answered on every kind of store, and what that costs at most.
//!
//! ```text
//! pattern ─▶ steps                       the same everywhere
//!         ─▶ answer for each store kind  native | assisted, at a price | refused, with fixes
//!               └─ bounds: round trips, rows, bytes
//! ```
//!
//! A plan is a proof: it is made from the declaration alone, asks no store, and never promises less
//! than an execution may need.

mod apart;
mod atomic;
mod bound;
mod bounds;
mod cover;
mod effect;
pub mod explain;
mod history;
mod near;
mod place;
mod read;
mod shape;
mod step;
mod steps;
#[cfg(test)]
mod tests;
mod uses;
mod write;

pub use bound::{BoundGroup, BoundPart, groups_of_atomic};
pub use bounds::{Answer, Bounds, Refusal};
pub use cover::{EARTH_RADIUS, GEOHASH_LATITUDE_MAX, Grid};
pub use effect::reads_stored_row;
pub use place::{order_given, place};
pub use read::{PageReads, page_reads};
pub use shape::{hides_owner, owners_judged};
pub use step::{Change, EntryChange, Step};
pub use uses::{Uses, is_admitted_late, uses};

use crate::model::{Keyspace, Pattern, StoreKind, Verb};
use bounds::Count;
use std::sync::Arc;

/// How a pattern is answered.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The pattern.
    pub pattern: Arc<Pattern>,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// What each kind of store answers, in the order of `StoreKind::ALL`.
    answers: [Answer; StoreKind::ALL.len()],
}

impl Plan {
    /// What a kind of store answers.
    pub fn answer(&self, store: StoreKind) -> &Answer {
        let [memory, engine, files, sqlite, postgres, redis, cluster, cassandra, scylla, browser] =
            &self.answers;
        match store {
            StoreKind::Memory => memory,
            StoreKind::Engine => engine,
            StoreKind::Files => files,
            StoreKind::Sqlite => sqlite,
            StoreKind::Postgres => postgres,
            StoreKind::Redis => redis,
            StoreKind::RedisCluster => cluster,
            StoreKind::Cassandra => cassandra,
            StoreKind::Scylla => scylla,
            StoreKind::IndexedDb => browser,
        }
    }

    /// Whether no store serves it.
    pub fn is_refused_everywhere(&self) -> bool {
        self.answers.iter().all(|answer| answer.refusal().is_some())
    }

    /// Every kind of store with its answer.
    pub fn answers(&self) -> impl Iterator<Item = (StoreKind, &Answer)> {
        StoreKind::ALL.into_iter().zip(&self.answers)
    }
}

/// The plan of one pattern.
pub fn plan(keyspace: &Keyspace, pattern: &Arc<Pattern>) -> Plan {
    Plan {
        pattern: pattern.clone(),
        steps: steps::steps(keyspace, pattern),
        answers: StoreKind::ALL.map(|store| answer(keyspace, store, pattern)),
    }
}

/// The plan of every pattern, in the order of the file.
pub fn plans(keyspace: &Keyspace) -> Vec<Plan> {
    keyspace.patterns.iter().map(|pattern| plan(keyspace, pattern)).collect()
}

fn answer(keyspace: &Keyspace, store: StoreKind, pattern: &Pattern) -> Answer {
    let answer = match (&pattern.target, pattern.verb) {
        (_, Verb::Atomic) => atomic::atomic(keyspace, store, pattern),
        (None, _) => Answer::Native(Bounds::default()),
        (Some(target), Verb::Get) => read::get(keyspace, store, pattern, target),
        (Some(target), Verb::List) => read::list(keyspace, store, pattern, target),
        (Some(target), Verb::Near) => near::Around { keyspace, store, pattern, target }.answer(),
        (Some(target), Verb::Take) => atomic::take(keyspace, store, pattern, target),
        (Some(target), verb) if verb.is_history() => {
            history::answer(keyspace, store, pattern, target)
        }
        (Some(_), _) => atomic::single(keyspace, store, pattern),
    };
    let members = steps::members(pattern);
    if members.is_empty() {
        return answer;
    }
    answer.and(|bounds| {
        let trips = steps::member_trips(keyspace, pattern);
        members.into_iter().fold(bounds.trips(trips), |bounds, member| {
            let Some(collection) = keyspace.collection(&member.collection) else { return bounds };
            let rows = steps::member_rows(pattern, member, collection);
            bounds.read(Count::exactly(rows), shape::record_size(collection))
        })
    })
}
