//! What a store says of itself, and being made ready for a keyspace more than once.

use super::cases;
use crate::suite::bench::{Bench, Checked, holds, put, same, versioned};
use crate::suite::{Case, keyspace};

pub(super) fn cases() -> Vec<Case> {
    cases! {
        "P10" "describe: says the same every time" => same_every_time;
        "P10" "describe: its atomicity is that of its kind" => atomicity;
        "P10" "describe: has an address without a secret" => address;
        "P10" "ensure: twice gives the same numbers" => twice;
        "P10" "ensure: leaves the rows" => leaves_rows;
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
