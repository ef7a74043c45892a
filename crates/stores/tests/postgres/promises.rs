//! Every promise of the suite, and keyspaces and calls by chance.
//!
//! `KEYWAY_SEED` plays one keyspace again, `KEYWAY_EFFORT` plays so many times more.

use crate::{new_store, runtime};
use data::store::Store;
use data::suite;
use data::suite::random::{self, Effort};
use std::sync::Arc;

#[test]
fn it_keeps_its_promises() {
    runtime().block_on(async {
        let store: Arc<dyn Store> = new_store();
        let make = || {
            let store = store.clone();
            Box::pin(async { store }) as _
        };
        let report = suite::run(&make, &suite::Options::default()).await;
        assert!(report.failed.is_empty(), "{report}");
        assert_eq!(report.left_out(), include_str!("../not_offered/postgres.txt"));
    });
}

#[test]
fn patterns_run_on_it() {
    runtime().block_on(async {
        let make = || {
            let store: Arc<dyn Store> = new_store();
            Box::pin(async { store }) as _
        };
        let report = suite::patterns::run(&make, &suite::Options::default()).await.unwrap();
        assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{report}");
    });
}

#[test]
fn callers_at_the_same_time_agree_on_it() {
    runtime().block_on(async {
        let make = || {
            let store: Arc<dyn Store> = new_store();
            Box::pin(async { store }) as _
        };
        let report = suite::together::run(&make, &suite::Options::default()).await.unwrap();
        assert!(report.failed.is_empty(), "{report}");
    });
}

#[test]
fn it_answers_as_the_oracle() {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let effort = match number("KEYWAY_SEED") {
        Some(seed) => Effort { seed, keyspaces: 1, operations: 200 },
        None => {
            let keyspaces = 6 * number("KEYWAY_EFFORT").unwrap_or(1);
            Effort { seed: 2_000_000, keyspaces, operations: 120 }
        }
    };
    runtime().block_on(async {
        let make = || {
            let store: Arc<dyn Store> = new_store();
            Box::pin(async { store }) as _
        };
        let report = random::run(&make, &effort).await;
        println!("{} keyspaces, {:?}", report.keyspaces, report.tally);
        assert!(report.failed.is_empty(), "{}", report.failed.join("\n\n"));
        assert_eq!(report.tally.refused, 0, "a whole-store atomic store offers every pattern");
    });
}

#[test]
fn it_is_as_it_was_when_it_is_opened_again() {
    runtime().block_on(async {
        let server = servers::postgres::Postgres::shared();
        let url = server.url(&server.database());
        let make = || {
            let store: Arc<dyn Store> = crate::open(&url);
            Box::pin(async { store }) as _
        };
        let found = suite::lasts::run(&make, &suite::Options::default()).await;
        assert_eq!(found, Ok(()));
    });
}

#[test]
fn k9_signs_of_like_are_letters() {
    runtime().block_on(async { crate::like::check(new_store().as_ref()).await });
}
