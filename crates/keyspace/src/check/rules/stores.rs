//! What a store named by the file would have to be told: KW105 and KW107.
//!
//! What a store refuses is in `refusals`, which asks the plans.

use super::{Facts, KeyOf};
use crate::diagnostic::{Diagnostic, codes};
use crate::layout::redis::is_read_whole;
use crate::model::{Collection, Content, Expect, Index, StoreKind, Ttl, Type};

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    if facts.meant_for(&[StoreKind::Cassandra, StoreKind::Scylla]) {
        random_uuids(facts, problems);
    }
    if facts.meant_for(&[StoreKind::Redis, StoreKind::RedisCluster]) {
        large_sets(facts, problems);
    }
}

fn random_uuids(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for collection in &facts.keyspace.collections {
        for segment in collection.key.rest_segments().filter(|s| s.segment_type == Type::Uuid) {
            let message = format!("`{}` must hold random uuids only", segment.name);
            problems.push(
                Diagnostic::new(&codes::BY_TIME_OF_UUID, segment.span, message)
                    .on(
                        &[StoreKind::Cassandra, StoreKind::Scylla],
                        "uuids sort by version before all else, so another version is refused",
                    )
                    .fix("nothing, if ids are made by `new`")
                    .fix("`timeuuid` or `ulid`, if they hold a time"),
            );
        }
    }
}

/// Whether Redis would keep a group as a Set if it were said to be small.
fn could_be_set(facts: &Facts<'_>, store: StoreKind, key: KeyOf<'_>) -> bool {
    let expect = Expect { rows_per_group: Some(1), ..*key.expect() };
    match key.index {
        Some(index) => {
            let small = Index { expect, ..index.as_ref().clone() };
            is_read_whole(facts.keyspace, store, key.collection, Some(&small))
        }
        None => {
            let small = Collection { expect, ..key.collection.as_ref().clone() };
            small.content == Content::Keys && is_read_whole(facts.keyspace, store, &small, None)
        }
    }
}

fn large_sets(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for key in facts.keys() {
        let stores: Vec<StoreKind> = [StoreKind::Redis, StoreKind::RedisCluster]
            .into_iter()
            .filter(|store| could_be_set(facts, *store, key))
            .collect();
        if stores.is_empty() || key.expect().rows_per_group.is_some() || key.bucket().is_some() {
            continue;
        }
        // Without an end, a group has been reported as one that may grow.
        if !matches!(key.collection.ttl, Some(Ttl::After(_))) {
            continue;
        }
        let message = format!("nothing says that a group of `{}` stays small", key.text());
        problems.push(
            Diagnostic::new(&codes::BIG_SET, key.key().span, message)
                .on(
                    &stores,
                    "it is kept as a sorted set, about 128 bytes a row; \
                     up to 10,000 rows it could be a Set",
                )
                .paste("if it stays small", "expect = { rows_per_group = 1_000 }"),
        );
    }
}
