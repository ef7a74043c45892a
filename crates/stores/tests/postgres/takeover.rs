//! A standby that takes over while nobody knows what became of a commit.
//!
//! ```text
//! COMMIT ─▶ primary ─▶ standby      connection cut, primary killed, standby promoted
//!   └── sent again ──────▶ it meets its own outcome there, or is done now: once
//! ```

use crate::faults::{COMMIT, note_and_count};
use crate::{open, runtime};
use data::store::{Batch, Outcome, Store};
use futures_util::future::join;
use servers::postgres::{Postgres, url};
use servers::proxy::{Cut, Proxy};
use std::time::Duration;
use tokio::task::block_in_place;
use tokio::time::sleep;

/// How many commits are remembered.
const KNOWN: &str = "SELECT count(*) FROM suite.keyway_calls";

#[test]
fn a_commit_whose_reply_is_lost_is_known_to_a_standby_that_takes_over() {
    take_over(|proxy| proxy.cut_reply(COMMIT), "2\n");
}

#[test]
fn a_commit_that_never_arrived_is_done_by_a_standby_that_takes_over() {
    take_over(|proxy| proxy.cut(Cut::Before, COMMIT, 0), "1\n");
}

/// Cuts the second commit off and has the standby take over, which remembers so many before it is
/// sent again.
fn take_over(cut: fn(&Proxy), remembered: &str) {
    let primary = Postgres::start();
    let database = primary.database();
    let standby = primary.follow();
    let proxy = Proxy::start(&primary.address());
    runtime().block_on(async {
        let store = open(&url(proxy.port(), &database));
        let schema = store.ensure(&data::suite::keyspace().unwrap()).await.unwrap();
        let total = async |batch: &Batch| match store.commit(batch).await.unwrap() {
            Outcome::Committed { totals } => totals[0].value,
            other => panic!("{other:?}"),
        };
        assert_eq!(total(&note_and_count(&schema, 1)).await, 1);
        // The connection there is stays; with the next the store would reach the primary again.
        proxy.refuse_more();
        cut(&proxy);
        let taken = async {
            while proxy.cuts() == 0 {
                sleep(Duration::from_millis(1)).await;
            }
            block_in_place(|| {
                primary.kill();
                standby.promote();
                let known = standby.psql(&database, KNOWN);
                proxy.redirect(&standby.address());
                known
            })
        };
        let second_batch = note_and_count(&schema, 2);
        let (second, known) = join(total(&second_batch), taken).await;
        assert_eq!(known, remembered);
        assert_eq!(second, 2, "counted twice, or not at all");
        assert_eq!(total(&second_batch).await, 2, "made again");
        assert_eq!(total(&note_and_count(&schema, 3)).await, 3);
        assert_eq!(standby.psql(&database, "SELECT count(*) FROM suite.notes"), "3\n");
    });
}
