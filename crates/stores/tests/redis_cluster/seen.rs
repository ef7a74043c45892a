//! Recognisable: after the five applications' calls, every key in the nodes, its type and the
//! fields of its Hash are a line of the printed layout.

use crate::seen_common::{APPS, LOOK, Line, Look, Seen, Watched, held};
use crate::support::{ahead, in_runtime, options, store};
use data::store::Store;
use data::suite::patterns::{play, read};
use keyspace::model::StoreKind;
use servers::redis_cluster::RedisCluster;
use std::sync::{Arc, Mutex};

/// What only some rows have: removed ones, those of an attempt that expects a version, and those
/// with entries.
const SOMETIMES: [&str; 4] = ["~d", "~h", "~p", "~x"];

/// Scripts whose calls change rows of several places together: the checker refuses them too.
pub const REFUSED: [&str; 3] = ["a key event log and its head", "direct messages", "registries"];

#[test]
fn the_keys_of_the_applications_are_those_of_the_layout() {
    let cluster = Arc::new(RedisCluster::start(&[]));
    let masters = cluster.masters();
    for (name, file, calls) in APPS {
        let keyspace = Arc::new(keyspace::read(file).keyspace.unwrap());
        let mut seen = Seen::new(name, &keyspace, StoreKind::RedisCluster);
        for fields in seen.lines.iter_mut().filter_map(|line| line.fields.as_mut()) {
            fields.extend(SOMETIMES.map(str::to_string));
        }
        let seen = Arc::new(Mutex::new(seen));
        let look: Look = {
            let (cluster, seen, masters) = (cluster.clone(), seen.clone(), masters.clone());
            let look = move || {
                for master in &masters {
                    let answer = cluster.cli(*master, &["--raw", "EVAL", LOOK, "0"]);
                    let mut held = held(&answer);
                    // What calls are remembered by has a whole place in its name.
                    held.retain(|held| !held.name.starts_with("~call"));
                    seen.lock().unwrap().look(held);
                }
            };
            Arc::new(look)
        };
        let report = in_runtime(async {
            let make = || {
                cluster.flush();
                let (look, cluster) = (look.clone(), cluster.clone());
                Box::pin(async move {
                    let store = ahead(store(&cluster).await as Arc<dyn Store>);
                    Arc::new(Watched { store, look }) as Arc<dyn Store>
                }) as _
            };
            play(&read(calls).unwrap(), &keyspace, &make, &options()).await.unwrap()
        });
        assert!(report.failed.is_empty(), "{name}: {report}");
        for (script, _) in &report.not_offered {
            assert!(REFUSED.contains(script), "{name}: {script} is refused: {report}");
        }
        let seen = seen.lock().unwrap();
        let unseen: Vec<&Line> =
            seen.lines.iter().filter(|line| !seen.seen.contains(line)).collect();
        // Most entries have nothing to say of themselves; calls were left out above.
        let is_expected =
            |line: &&&Line| !line.name.contains("~attempt") && !line.name.starts_with("~call");
        let unseen: Vec<&&Line> = unseen.iter().filter(is_expected).collect();
        let all_ran = report.not_offered.is_empty() && name != "documents";
        assert!(!all_ran || unseen.is_empty(), "{name}: never seen: {unseen:?}");
    }
}
