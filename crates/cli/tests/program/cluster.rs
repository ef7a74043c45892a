//! Commands on a Redis Cluster, by its URL.

use crate::{Directory, keyway};
use servers::redis_cluster::RedisCluster;

/// A keyspace whose calls change one group each.
const FILE: &str = r#"
[keyspace]
name = "people"

[collection.people]
key    = "person:{person_id: text}"
fields = { email = "text", city = "text" }
index.people_by_email = { key = "email:{lower(email)}", unique = true }
index.people_by_city  = { key = "city:{city} | {person_id}", expect = { rows_per_group = 100 } }

[pattern.add_person]
insert = "people"
allow  = "user"

[pattern.person_by_email]
get = "people.people_by_email"

[pattern.people_of]
list = "people.people_by_city"
page = 10
"#;

#[test]
fn commands_work_on_a_redis_cluster() {
    let directory = Directory::new("cluster");
    let cluster = RedisCluster::start(&[]);
    let file = directory.path("people.toml");
    std::fs::write(&file, FILE).unwrap();
    let (file, url) = (file.as_str(), cluster.url());
    let looked = keyway(&["scrub", file, "--store", &url]);
    assert_eq!(looked.status, 4, "{}", looked.complaint);
    assert!(looked.complaint.contains("--store redis-cluster:"), "{}", looked.complaint);
    let add = |id: &str, email: &str| {
        let words = [format!("person_id={id}"), format!("email={email}")];
        let [id, email] = &words;
        keyway(&["run", file, "add_person", id, email, "city=Oslo", "--as", "x", "--store", &url])
    };
    let first = add("1", "Ann@example.org");
    assert_eq!(first.status, 0, "{}", first.complaint);
    assert!(first.complaint.contains("note: made a store in redis-cluster://"));
    assert_eq!(add("2", "bob@example.org").status, 0);
    let taken = add("3", "ANN@example.org");
    assert_ne!(taken.status, 0, "{}", taken.output);
    let list = ["run", file, "people_of", "city=Oslo", "--json", "--as", "x", "--store", &url];
    let listed = keyway(&list);
    assert!(listed.output.contains("bob@example.org"), "{}{}", listed.output, listed.complaint);
    // What people see is what the layout says.
    let claim = cluster.cli_anywhere(&["HGET", "{email:ann@example.org}", "person_id"]);
    assert_eq!(claim, "1");
    let scrubbed = keyway(&["scrub", file, "--store", &url]);
    assert_eq!(scrubbed.status, 0, "{}{}", scrubbed.output, scrubbed.complaint);
    let other = url.replace("127.0.0.1", "localhost");
    let copied = keyway(&["copy", file, "--from", &url, "--to", &other]);
    assert_eq!(copied.status, 2, "{}{}", copied.output, copied.complaint);
    assert!(copied.complaint.contains("onto itself"), "{}", copied.complaint);
    let one = keyway(&["scrub", file, "--store", &format!("redis://{}", cluster.address(0))]);
    assert!(one.complaint.contains("redis-cluster://HOST:PORT"), "{}", one.complaint);
    let checked = keyway(&["check", file, "--store", "redis-cluster"]);
    assert_eq!(checked.status, 0, "{}", checked.output);
    assert!(checked.output.contains("note[KW123]"), "{}", checked.output);
}
