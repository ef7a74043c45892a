//! What a driver sends, read from the wire: at which consistency, and what of it is judged.
//! Settings say what is meant; only here is seen what the server is asked.

use crate::app::App;
use crate::{empty, new_place, options, runtime};
use data::store::Store;
use data::suite;
use data::suite::patterns::{play, read};
use serde_json::json;
use servers::cassandra::Cassandra;
use servers::cql::tap::{Sent, Statement, Tap};
use std::sync::Arc;
use stores::cassandra::{CassandraStore, Options};

/// The numbers of the protocol.
const LOCAL_QUORUM: u16 = 6;
const LOCAL_SERIAL: u16 = 9;

/// A store that reaches the shared server through a tap.
pub fn behind(tap: &Tap, place: &str) -> Arc<CassandraStore> {
    let nodes = vec![tap.address()];
    let options = Options { nodes, ..options(Cassandra::shared(), place) };
    Arc::new(CassandraStore::open(options).unwrap())
}

/// All that the chat sends to be opened and to answer its questions.
fn said_by_the_chat() -> Vec<Statement> {
    let (server, place) = (Cassandra::shared(), new_place());
    let tap = Tap::start(&server.address(1));
    let keyspace = keyspace::read(include_str!("../../../../apps/chat/keyspace.toml")).keyspace;
    let keyspace = Arc::new(keyspace.unwrap());
    let scripts = read(include_str!("../../../../apps/chat/calls.cases")).unwrap();
    runtime().block_on(async {
        let store: Arc<dyn Store> = behind(&tap, &place);
        let make = || {
            empty(server, &place);
            let store = store.clone();
            Box::pin(async { store }) as _
        };
        let options = suite::Options::default();
        let report = play(&scripts, &keyspace, &make, &options).await.unwrap();
        assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{report}");
    });
    tap.take()
}

#[test]
fn every_statement_asks_a_quorum_and_judges_within_its_data_centre() {
    let said = said_by_the_chat();
    for statement in &said {
        assert_eq!(statement.consistency, LOCAL_QUORUM, "{statement:?}");
        // Sent with all, and looked at where something is judged.
        assert_eq!(statement.serial, Some(LOCAL_SERIAL), "{statement:?}");
        let makes = ["CREATE ", "ALTER "].iter().any(|word| statement.texts[0].starts_with(word));
        assert_eq!(statement.sent == Sent::Query, makes, "sent unprepared: {statement:?}");
        // The server's log keeps what is not judged until all of it is done.
        let is_kept = statement.sent == Sent::LoggedBatch;
        assert!(!is_kept || !statement.is_judged(), "{statement:?}");
        assert!(statement.sent != Sent::UnloggedBatch || statement.is_judged(), "{statement:?}");
    }
    // What was looked at is there, of every kind.
    let count = |is: &dyn Fn(&Statement) -> bool| said.iter().filter(|one| is(one)).count();
    let alone = |one: &Statement| one.sent == Sent::Execute;
    let reads = count(&|one| alone(one) && one.texts[0].starts_with("SELECT"));
    let plain = count(&|one| alone(one) && one.holds("USING TIMESTAMP") && !one.is_judged());
    let judged = count(&|one| alone(one) && one.is_judged());
    let logged = count(&|one| one.sent == Sent::LoggedBatch);
    let together = count(&|one| one.sent == Sent::UnloggedBatch);
    let counts = [reads, plain, judged, logged, together];
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
}

/// What is shelved and what is lent is written plainly, ordered by ids of papers and of people.
const PAPERS: &str = r#"
[keyspace]
name = "papers"

[collection.papers]
key = "paper:{paper_id: uuid}"
fields = { title = "text" }

[collection.people]
key = "person:{person_id: uuid}"
fields = { name = "text" }

[collection.shelved]
key = "room:{room: text} | {paper_id: uuid}"
fields = { note = "text" }

[collection.lent]
key = "room:{room: text}:lent | {person_id: uuid}"
fields = { note = "text" }

[pattern.paper]
get = "papers"
[pattern.person]
get = "people"
[pattern.shelve]
put = "shelved"
allow = "user"
[pattern.unshelve]
delete = "shelved"
allow = "user"
[pattern.lend]
put = "lent"
allow = "user"
"#;

/// The one exception to what plain rows promise: which version the UUIDs of a name have is judged,
/// once, and not in their own table.
#[test]
fn the_first_uuid_of_a_name_costs_plain_rows_one_transaction_of_the_catalogue() {
    runtime().block_on(async {
        let place = new_place();
        let tap = Tap::start(&Cassandra::shared().address(1));
        let open = async || App::of(PAPERS, behind(&tap, &place), |_| {}).await.unwrap();
        let app = open().await;
        // The tables that were written to, each with whether that was judged.
        let written = async |app: &App, pattern: &str, row: serde_json::Value| {
            tap.take();
            app.call(pattern, row).await.unwrap();
            let said = tap.take();
            let table = |one: &Statement| {
                let tables = ["keyway", "shelved", "lent"].into_iter();
                let mut of = tables.filter(|table| one.holds(&format!(" {table} ")));
                (of.next().unwrap(), one.is_judged())
            };
            said.iter().filter(|one| !one.holds("SELECT")).map(table).collect::<Vec<_>>()
        };
        let id = |number: u8| format!("6f9619ff-8b86-4d01-b42d-00cf4fc964{number:02x}");
        let paper = |number| json!({"room": "r", "paper_id": id(number), "note": "here"});
        let lent = || json!({"room": "r", "person_id": id(9), "note": "to ann"});
        let plainly = |table| (table, false);
        let first = written(&app, "shelve", paper(1)).await;
        assert_eq!(first, [("keyway", true), plainly("shelved")]);
        for number in [1, 2, 3] {
            let next = written(&app, "shelve", paper(number)).await;
            assert_eq!(next, [plainly("shelved")], "{number}");
        }
        let gone = json!({"room": "r", "paper_id": id(1)});
        assert_eq!(written(&app, "unshelve", gone).await, [plainly("shelved")]);
        // Another name has a first one too.
        assert_eq!(written(&app, "lend", lent()).await, [("keyway", true), plainly("lent")]);
        assert_eq!(written(&app, "lend", lent()).await, [plainly("lent")]);
        // Whoever opens it later has read which version they have.
        let app = open().await;
        assert_eq!(written(&app, "shelve", paper(4)).await, [plainly("shelved")]);
        assert_eq!(written(&app, "lend", lent()).await, [plainly("lent")]);
    });
}
