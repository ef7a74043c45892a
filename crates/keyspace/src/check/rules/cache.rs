//! KW306: a cache has no index, whose entries would outlive evicted rows.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::StoreKind;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for collection in facts.keyspace.collections.iter().filter(|collection| collection.cache) {
        for index in &collection.indexes {
            let message = format!("`{}` is a cache, and has an index", collection.name.value);
            problems.push(
                Diagnostic::new(&codes::CACHE_INDEXED, index.name.span, message)
                    .on(
                        &[StoreKind::Redis, StoreKind::RedisCluster],
                        "an evicted row would leave entries behind, and claims that nobody holds",
                    )
                    .fix("leave the index out, and look the row up by its key")
                    .fix("or leave `cache` out, and give the rows a `ttl`"),
            );
        }
    }
}
