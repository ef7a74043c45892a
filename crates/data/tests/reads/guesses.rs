//! A list of slices that was read before: the directory and the slice that it named first are read
//! at once, and what is no longer first is read in vain, whichever answer comes sooner.

use crate::support::{Bench, ann, block_on, object};
use async_trait::async_trait;
use data::Result;
use data::memory::PartitionedMemory;
use data::request::{Call, Shown};
use data::schema::Schema;
use data::session::Usage;
use data::store::{
    Batch, Description, End, Key, Outcome, Page, Row, Scan, Seen, Show, Store, Versions,
};
use keyspace::model::Keyspace;
use serde_json::{Value as Json, json};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

const ROOMS: &str = r#"
    [collection.messages]
    key = "room:{room: text} | {at: timestamp desc}:{id: u64}"
    fields = { words = "text = ''" }
    bucket = { by = "at", every = "1h" }
    expect = { rows_per_day = 100 }

    [pattern.say]
    put = "messages"
    allow = "user"

    [pattern.newest]
    list = "messages"
    page = 3
"#;

/// A partitioned store that shows rows one after the other, after so many looks at a slice. What it
/// answers together, as it does directories, it answers after so many others.
#[derive(Debug)]
struct Uneven {
    store: PartitionedMemory,
    directory: u32,
    slices: u32,
}

/// Is ready only when it was asked so often.
struct Later(u32);

impl Future for Later {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        context.waker().wake_by_ref();
        match self.0 {
            0 => Poll::Ready(()),
            left => {
                self.0 = left - 1;
                Poll::Pending
            }
        }
    }
}

#[async_trait]
impl Store for Uneven {
    fn describe(&self) -> Description {
        self.store.describe()
    }

    async fn ensure(&self, keyspace: &Arc<Keyspace>) -> Result<Arc<Schema>> {
        self.store.ensure(keyspace).await
    }

    async fn get(&self, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        self.store.get(keys).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Page> {
        Later(self.directory).await;
        self.store.scan(scan).await
    }

    async fn each(&self, scan: &Scan, _: Versions, show: &mut Show<'_>) -> Result<Option<End>> {
        Later(self.slices).await;
        let page = self.store.scan(scan).await?;
        for keyed in &page.rows {
            if !show(&Seen::of(&keyed.key, &keyed.row))? {
                return Ok(Some(End::Rows));
            }
        }
        Ok(Some(page.end))
    }

    async fn commit(&self, batch: &Batch) -> Result<Outcome> {
        self.store.commit(batch).await
    }
}

fn message(hour: i64, id: i64) -> Json {
    json!({"room": "r", "at": format!("2026-11-01T{hour:02}:00:00.000Z"), "id": id})
}

/// The ids that a list shows, and what it cost.
fn shown(bench: &Bench, arguments: Json) -> (Vec<i64>, Usage) {
    let (pattern, caller) = (bench.pattern("newest"), ann());
    let given = pattern.given_from_json(bench.runtime.keyspace(), &object(arguments)).unwrap();
    let mut ids = Vec::new();
    let mut show = |row: Shown<'_>| {
        let mut reader = row.reader()?;
        let values = [(); 3].map(|()| reader.next_value().unwrap());
        match &values[2] {
            data::Value::U64(id) => ids.push(*id as i64),
            other => panic!("{other:?} is no id"),
        }
        Ok(())
    };
    let call = Call::new(&pattern, given, &caller);
    let answer = block_on(bench.runtime.show_later(&call, Versions::Unwanted, &mut show));
    let (_, usage) = answer.expect("a list of whole rows").unwrap();
    (ids, usage)
}

/// The ids that a list answers, and what it cost.
fn answered(bench: &Bench, arguments: Json) -> (Vec<i64>, Usage) {
    let (pattern, caller) = (bench.pattern("newest"), ann());
    let given = pattern.given_from_json(bench.runtime.keyspace(), &object(arguments)).unwrap();
    let reply = block_on(bench.runtime.call(Call::new(&pattern, given, &caller))).unwrap();
    let page = reply.answer.to_json(bench.runtime.schema()).unwrap();
    let rows = page["rows"].as_array().unwrap().iter();
    (rows.map(|row| row["id"].as_i64().unwrap()).collect(), reply.usage)
}

type Ask = fn(&Bench, Json) -> (Vec<i64>, Usage);

/// Every way to ask, of stores that answer the directory sooner, together with a slice, and later.
fn each_way(check: impl Fn(&Bench, Ask)) {
    for (directory, slices) in [(0, 3), (2, 2), (3, 0)] {
        for ask in [shown as Ask, answered as Ask] {
            let store = PartitionedMemory::new();
            let store = Uneven { store, directory, slices };
            check(&Bench::open_on(Arc::new(store), ROOMS), ask);
        }
    }
}

#[test]
fn who_has_asked_before_waits_once() {
    each_way(|bench, ask| {
        (1..=2).for_each(|id| bench.put("messages", message(5, id)));
        let (ids, usage) = ask(bench, json!({"room": "r"}));
        assert_eq!((ids, usage.round_trips, usage.rows_read), (vec![1, 2], 2, 3));
        bench.put("messages", message(5, 3));
        let (ids, usage) = ask(bench, json!({"room": "r"}));
        assert_eq!((ids, usage.round_trips, usage.rows_read), (vec![1, 2, 3], 1, 4));
        // Another group, and another direction, are learnt by themselves.
        bench.put("messages", message(9, 4));
        let (ids, usage) = ask(bench, json!({"room": "r", "reverse": true}));
        assert_eq!((ids, usage.round_trips), (vec![3, 2, 1], 3));
        let (ids, usage) = ask(bench, json!({"room": "s"}));
        assert_eq!((ids, usage.round_trips), (vec![], 1));
    });
}

#[test]
fn a_slice_that_is_no_longer_first_is_read_in_vain() {
    each_way(|bench, ask| {
        (1..=2).for_each(|id| bench.put("messages", message(5, id)));
        ask(bench, json!({"room": "r"}));
        // Not by this run time, so that it cannot know.
        bench.put("messages", message(8, 7));
        let (ids, usage) = ask(bench, json!({"room": "r"}));
        // The directory with hour 5, then hour 8, then hour 5 once more: 2 + 2, 1, and 2 rows.
        assert_eq!((ids, usage.round_trips, usage.rows_read), (vec![7, 1, 2], 3, 7));
        let (ids, usage) = ask(bench, json!({"room": "r"}));
        assert_eq!((ids, usage.round_trips, usage.rows_read), (vec![7, 1, 2], 2, 5));
        // A slice stays in the directory when it is empty.
        bench.remove("messages", message(8, 7));
        let (ids, usage) = ask(bench, json!({"room": "r"}));
        assert_eq!((ids, usage.round_trips, usage.rows_read), (vec![1, 2], 2, 4));
    });
}

#[test]
fn a_full_slice_ends_a_page_and_the_next_begins_behind_it() {
    each_way(|bench, ask| {
        (1..=5).for_each(|id| bench.put("messages", message(5, id)));
        bench.put("messages", message(2, 6));
        for _ in 0..2 {
            assert_eq!(ask(bench, json!({"room": "r"})).0, [1, 2, 3]);
        }
        let (all, pages) = bench.pages("newest", json!({"room": "r"}), &ann(), "id");
        assert_eq!((all, pages), ((1..=6).map(|id| json!(id)).collect(), 2));
        // A call that says where to begin asks the directory first.
        let before = json!({"room": "r", "before": "2026-11-01T04:00:00.000Z"});
        let (ids, usage) = ask(bench, before);
        assert_eq!((ids, usage.round_trips), (vec![6], 2));
    });
}
