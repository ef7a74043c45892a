//! What a person sees who opens the database with PostgreSQL's own tools after the applications
//! ran: the printed layout, no more and no less.

use crate::seen_common::APPS;
use crate::{keyspace, open, runtime};
use data::store::Store;
use data::suite::Options;
use data::suite::patterns::{play, read};
use keyspace::layout::postgres;
use servers::postgres::Postgres;
use std::sync::{Arc, Mutex};

/// How many rows all tables have but the one for the store itself, and the calls it remembers.
const ROWS: &str = "\
    SELECT coalesce(sum((xpath('/row/n/text()', query_to_xml(format( \
        'SELECT count(*) AS n FROM %I.%I', schemaname, tablename), false, true, ''))) \
        [1]::text::bigint), 0) FROM pg_tables \
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema') \
        AND tablename NOT IN ('keyway', 'keyway_calls')";

#[test]
fn after_the_applications_ran_a_database_is_what_the_layout_prints() {
    let server = Postgres::shared();
    let mut rows = 0;
    for (name, file, calls) in APPS {
        let keyspace = keyspace(file);
        let printed = server.database();
        server.psql(&printed, &postgres::print(&keyspace));
        let printed = server.structure(&printed);
        let databases = Mutex::new(Vec::new());
        let make = || {
            let database = server.database();
            let store = open(&server.url(&database)) as Arc<dyn Store>;
            databases.lock().unwrap().push(database);
            Box::pin(async { store }) as _
        };
        let scripts = read(calls).unwrap();
        let report = runtime().block_on(play(&scripts, &keyspace, &make, &Options::default()));
        let report = report.unwrap();
        assert!(report.failed.is_empty() && report.not_offered.is_empty(), "{name}: {report}");
        for database in databases.into_inner().unwrap() {
            assert_eq!(server.structure(&database), printed, "{name}");
            rows += server.psql(&database, ROWS).trim().parse::<i64>().unwrap();
        }
    }
    assert!(rows > 60, "{rows} rows: the applications hardly stored anything");
}
