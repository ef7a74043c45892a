//! KW123: a cluster whose replicas follow a moment later may lose what was acknowledged.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes};
use crate::model::StoreKind;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    if !facts.meant_for(&[StoreKind::RedisCluster]) {
        return;
    }
    let mut collections = facts.keyspace.collections.iter();
    let Some(first) = collections.find(|collection| !collection.cache) else { return };
    let message = "a failover of a Redis Cluster may lose acknowledged commits";
    problems.push(
        Diagnostic::new(&codes::LOST_BY_FAILOVER, first.name.span, message)
            .on(
                &[StoreKind::RedisCluster],
                "replicas follow a moment later; entries, and rows that they belong to, may be \
                 lost one without the other, and two rows may then get one unique value",
            )
            .fix("run `keyway scrub --repair` after a failover: it finds and mends indexes")
            .fix("or `cache = true`, if all rows may be lost")
            .fix("or a store that fails over without loss: cassandra with three replicas"),
    );
}
