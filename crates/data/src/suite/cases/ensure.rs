//! What a store says of itself, and being made ready for a keyspace more than once.

use super::cases;
use crate::error::ErrorKind;
use crate::suite::bench::{
    Bench, Checked, delete, holds, plain, put, refused, same, unversioned, versioned,
};
use crate::suite::{Case, KEYSPACE, keyspace, read};
use crate::value::Value;
use keyspace::model::Keyspace;
use std::sync::Arc;

pub(super) fn cases() -> Vec<Case> {
    cases! {
        "P10" "describe: says the same every time" => same_every_time;
        "P10" "describe: its atomicity is that of its kind" => atomicity;
        "P10" "describe: has an address without a secret" => address;
        "P10" "ensure: twice gives the same numbers" => twice;
        "P10" "ensure: leaves the rows" => leaves_rows;
        "P10" "ensure: a new collection, and the old ones keep their numbers" => new_collection;
        "P10" "ensure: another keyspace is refused" => other_keyspace;
        "P10" "ensure: another type under rows is refused" => other_type;
        "P10" "ensure: every collection has a number of its own" => numbers;
        "P10" "ensure: the schema is of the store's kind" => kind;
    }
}

async fn same_every_time(bench: &Bench) -> Checked {
    bench.write(vec![put(&bench.key("notes", "row")?, "value")]).await?;
    same("the description", bench.store.describe(), bench.description.clone())
}

async fn atomicity(bench: &Bench) -> Checked {
    let description = &bench.description;
    same("the atomicity", description.atomicity, description.kind.atomicity())
}

async fn address(bench: &Bench) -> Checked {
    let address = &bench.description.address;
    holds("there is an address", !address.is_empty())?;
    holds("it has no password", !address.contains('@'))
}

async fn twice(bench: &Bench) -> Checked {
    let again = bench.store.ensure(&keyspace()?).await?;
    same("the catalogue", again.catalogue(), bench.schema.catalogue())
}

async fn leaves_rows(bench: &Bench) -> Checked {
    let key = bench.key("notes", "row")?;
    let id = bench.write(vec![put(&key, "value")]).await?;
    bench.store.ensure(&keyspace()?).await?;
    bench.expect_row("the row", &key, versioned("value", id)).await
}

/// The suite's keyspace, changed.
fn changed(from: &str, to: &str) -> Checked<Arc<Keyspace>> {
    holds("the suite's keyspace has what is changed", KEYSPACE.contains(from))?;
    Ok(read(&KEYSPACE.replace(from, to))?)
}

async fn new_collection(bench: &Bench) -> Checked {
    let more = "[collection.added]\nkey = \"added:{added: text}\"\nvalue = \"text\"\n
        [pattern.put_added]\nput = \"added\"\nallow = \"user\"\n
        [pattern.get_added]\nget = \"added\"\n\n[collection.notes]";
    let key = bench.key("notes", "row")?;
    let id = bench.write(vec![put(&key, "value")]).await?;
    let schema = bench.store.ensure(&changed("[collection.notes]", more)?).await?;
    let number = schema.collection("added")?.key.space;
    for collection in bench.schema.collections() {
        let now = schema.collection(collection.name())?.key.space;
        same(collection.name(), now, collection.key.space)?;
        holds("the new number is new", number != now)?;
    }
    bench.expect_row("the row", &key, versioned("value", id)).await?;
    let added = Value::Text("row".to_string());
    let key = schema.collection("added")?.key.encode(&[added])?;
    bench.write(vec![plain(&key, "value")]).await?;
    bench.expect_row("a row of the new one", &key, unversioned("value")).await?;
    bench.write(vec![delete(&key)]).await.map(|_| ())
}

async fn other_keyspace(bench: &Bench) -> Checked {
    let other = changed("name  = \"suite\"", "name  = \"other\"")?;
    refused(bench.store.ensure(&other).await, ErrorKind::Mismatch)?;
    leaves_rows(bench).await
}

async fn other_type(bench: &Bench) -> Checked {
    let key = bench.key("leases", "row")?;
    let id = bench.write(vec![put(&key, "value")]).await?;
    let other = changed("{lease: text}", "{lease: i64}")?;
    refused(bench.store.ensure(&other).await, ErrorKind::Mismatch)?;
    bench.expect_row("the row", &key, versioned("value", id)).await?;
    twice(bench).await
}

async fn numbers(bench: &Bench) -> Checked {
    let mut numbers: Vec<u16> =
        bench.schema.collections().iter().map(|collection| collection.key.space).collect();
    let count = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    same("numbers", numbers.len(), count)?;
    holds("none is 0", !numbers.contains(&0))
}

async fn kind(bench: &Bench) -> Checked {
    same("the kind", bench.schema.kind(), bench.description.kind)
}
