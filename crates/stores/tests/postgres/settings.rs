//! A server that waits for its disk and asks for passwords: what it may promise, and what is said
//! to those it does not know.

use crate::{keyspace, runtime};
use data::ErrorKind;
use data::store::{Batch, CommitId, Durability, Store, Write};
use servers::postgres::Postgres;
use servers::process::Folder;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use stores::postgres::{Options, PostgresStore};

const FILE: &str = "[keyspace]\nname = 'small'\n\
    [collection.notes]\nkey = 'note:{note: text}'\nvalue = 'text'\n\
    [pattern.put_note]\nput = 'notes'\nallow = 'user'\n\
    [pattern.note]\nget = 'notes'\n";

/// Notes what commits of a session wait for, in the transaction that writes a note.
const WATCHED: &str = "CREATE TABLE public.seen (setting text); \
    CREATE FUNCTION public.look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
    INSERT INTO public.seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$; \
    CREATE TRIGGER watched AFTER INSERT OR UPDATE ON small.notes \
    FOR EACH ROW EXECUTE FUNCTION public.look()";

#[test]
fn commits_wait_for_the_disk_whatever_the_server_is_set_to() {
    let hasty = Postgres::with(&["synchronous_commit=off"]);
    for (server, durability, seen) in [
        (&hasty, Durability::Power, "on"),
        (&hasty, Durability::Process, "on"),
        (Postgres::shared(), Durability::None, "off"),
    ] {
        let database = server.database();
        runtime().block_on(async {
            let options = Options { durability, ..Options::default() };
            let store = PostgresStore::open(&server.url(&database), &options).unwrap();
            let schema = store.ensure(&keyspace(FILE)).await.unwrap();
            server.psql(&database, WATCHED);
            let note = [data::Value::Text("n".to_string())];
            let put = |number: u8| Batch {
                id: CommitId::from_bytes([number; 16]),
                now: 1,
                checks: Vec::new(),
                writes: vec![Write::Put {
                    key: schema.collection("notes").unwrap().key.encode(&note).unwrap(),
                    value: "text".into(),
                    expires: None,
                    versioned: false,
                    trail: None,
                }],
                deadline: 20_001,
            };
            // Together they need connections of their own.
            let (one, other) = (put(1), put(2));
            let both = futures_util::future::join(store.commit(&one), store.commit(&other)).await;
            assert!(both.0.is_ok() && both.1.is_ok(), "{both:?}");
        });
        let found = server.psql(&database, "SELECT string_agg(setting, ' ') FROM public.seen");
        assert!(found.contains(&format!("{seen} {seen}")), "{durability}: {found}");
    }
}

#[test]
fn a_server_that_may_lose_more_than_is_promised_says_so() {
    let remarks = |server: &Postgres, durability| {
        let url = server.url(&server.database());
        runtime().block_on(async {
            let options = Options { durability, ..Options::default() };
            let store = PostgresStore::open(&url, &options).unwrap();
            store.ensure(&keyspace(FILE)).await.unwrap();
            store.remarks()
        })
    };
    let good = Postgres::with(&[]);
    assert_eq!(remarks(&good, Durability::Power), [""; 0]);
    let hasty = remarks(Postgres::shared(), Durability::Process);
    assert_eq!(hasty.len(), 1, "{hasty:?}");
    assert!(hasty[0].contains("`fsync` is off"), "{hasty:?}");
    let torn = remarks(&Postgres::with(&["full_page_writes=off"]), Durability::None);
    assert_eq!(torn.len(), 1, "{torn:?}");
    assert!(torn[0].contains("`full_page_writes` is off"), "{torn:?}");
    // Whoever is sent the server's log is a standby to it.
    let folder = Folder::new("follower");
    let port = good.port().to_string();
    let mut follower = Command::new(good.program("pg_receivewal"))
        .args(["-h", "127.0.0.1", "-p", &port, "-U", "keyway", "--no-loop", "-D"])
        .arg(folder.path())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    let sent = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
    while good.psql("postgres", sent).trim() != "1" {
        assert!(Instant::now() < until, "the server is not followed");
        std::thread::sleep(Duration::from_millis(20));
    }
    let followed = remarks(&good, Durability::Power);
    follower.kill().unwrap();
    follower.wait().unwrap();
    assert_eq!(followed.len(), 1, "{followed:?}");
    assert!(followed[0].contains("`synchronous_standby_names`"), "{followed:?}");
}

/// A file that goes when the test ends.
struct Rules(PathBuf);

impl Rules {
    /// Whom the server asks for a password: everybody but the user of the tests.
    fn new() -> Rules {
        let name = format!("keyway-rules-{}.conf", std::process::id());
        let path = std::env::temp_dir().join(name);
        let rules = "host all keyway 127.0.0.1/32 trust\n\
            host all all 127.0.0.1/32 scram-sha-256\n";
        std::fs::write(&path, rules).unwrap();
        Rules(path)
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_server_with_a_disk_and_passwords_is_opened_and_tells_no_password() {
    let rules = Rules::new();
    let server = Postgres::with(&[&format!("hba_file={}", rules.0.display())]);
    let database = server.database();
    server.psql(&database, "CREATE ROLE ann LOGIN PASSWORD 'sec-ret-4711'");
    server.psql(&database, &format!("ALTER DATABASE {database} OWNER TO ann"));
    let url = |who: &str| server.url(&database).replace("keyway@", who);
    let power = Options { durability: Durability::Power, ..Options::default() };
    runtime().block_on(async {
        let store = PostgresStore::open(&url("ann:sec-ret-4711@"), &power).unwrap();
        store.ensure(&keyspace(FILE)).await.unwrap();
        assert_eq!(store.describe().durability, Durability::Power);
        let shown = format!("{store:?} {:?}", store.describe());
        assert!(!shown.contains("sec-ret"), "{shown}");
        for (who, user) in
            [("ann:unmistakable-7391@", "ann"), ("ann@", "ann"), ("bo:unmistakable-7391@", "bo")]
        {
            let store = PostgresStore::open(&url(who), &power).unwrap();
            let error = store.ensure(&keyspace(FILE)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument, "{error:?}");
            assert_eq!(error.value("user"), Some(user), "{error:?}");
            assert!(error.to_string().contains("give others in the URL"), "{error}");
            assert!(error.to_string().contains(&server.address()));
            assert!(!format!("{error} {error:?}").contains("unmistakable"), "{error:?}");
        }
        // Whoever may only read is told so before anything is made.
        server.psql(&database, "ALTER ROLE ann SET default_transaction_read_only = on");
        let store = PostgresStore::open(&url("ann:sec-ret-4711@"), &power).unwrap();
        let error = store.ensure(&keyspace(FILE)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:?}");
        assert!(error.to_string().contains("default_transaction_read_only"), "{error}");
    });
}
