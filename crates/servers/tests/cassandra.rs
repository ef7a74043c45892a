//! A node of Cassandra comes back with what it acknowledged, and three are a cluster.

use servers::cassandra::Cassandra;

const KEYSPACE: &str = "CREATE KEYSPACE k WITH replication = \
    {'class': 'SimpleStrategy', 'replication_factor': ";

fn make_table(cluster: &Cassandra, copies: usize) {
    cluster.cql(&format!("{KEYSPACE}{copies}}}"));
    cluster.cql("CREATE TABLE k.t (a text PRIMARY KEY, b text)");
}

#[test]
fn a_killed_node_comes_back_with_what_it_acknowledged() {
    let mut server = Cassandra::with(1, &[("paxos_variant", "v1")]);
    make_table(&server, 1);
    server.cql("INSERT INTO k.t (a, b) VALUES ('one', 'two')");
    let setting = |name: &str| {
        let asked = format!("SELECT value FROM system_views.settings WHERE name = '{name}'");
        server.cql(&asked).concat().concat()
    };
    assert_eq!(
        (setting("commitlog_sync"), setting("paxos_variant")),
        ("batch".into(), "v1".into())
    );
    server.kill(1);
    assert!(std::net::TcpStream::connect(server.address(1)).is_err());
    server.restart(1);
    assert_eq!(server.cql("SELECT a, b FROM k.t"), [["one", "two"]]);
    assert_eq!(server.url("k"), format!("cassandra://{}/k", server.address(1)));
}

#[test]
fn three_nodes_go_on_without_one_and_take_it_back() {
    let mut cluster = Cassandra::cluster(3);
    make_table(&cluster, 3);
    let write = |cluster: &Cassandra, a: &str| {
        cluster.cql(&format!("INSERT INTO k.t (a, b) VALUES ('{a}', 'b')"));
    };
    write(&cluster, "all");
    cluster.kill(1);
    write(&cluster, "without 1");
    cluster.restart(1);
    cluster.pause(3);
    write(&cluster, "while 3 pauses");
    cluster.resume(3);
    let mut found = cluster.cql("SELECT a FROM k.t").concat();
    found.sort();
    assert_eq!(found, ["all", "while 3 pauses", "without 1"]);
}
