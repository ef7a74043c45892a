//! What changes cost, and what no store holds.

use super::{INSERT_NOTE, NOTES, USERS, bounds, plan_of, plan_of_refused, trips};
use crate::model::{StoreKind, limits};
use crate::plan::{Answer, Plan};

#[test]
fn a_fresh_insert_reads_nothing() {
    let plan = plan_of(&[NOTES, INSERT_NOTE]);
    assert_eq!(trips(&plan), [1, 1, 1, 1, 2, 1, 1, 1, 1, 1]);
    assert!(plan.answers().all(|(_, answer)| answer.bounds().unwrap().rows_read == 0));
    assert_eq!(bounds(&plan, StoreKind::Cassandra).transactions, 1);
}

#[test]
fn an_append_only_insert_is_no_transaction() {
    let append_only = r#"
        immutable = true
        expect = { rows_per_group = 1_000 }
    "#;
    let plan = plan_of(&[NOTES, append_only, INSERT_NOTE]);
    assert_eq!(bounds(&plan, StoreKind::Cassandra).transactions, 0);
    assert!(matches!(plan.answer(StoreKind::Cassandra), Answer::Native(_)));
}

#[test]
fn an_update_that_moves_a_claim_follows_the_protocol() {
    let update = r#"
        [pattern.change_email]
        update = "users"
        set = ["email"]
    "#;
    let plan = plan_of(&[USERS, update]);
    // One group: read, claim, compare and set, release. PostgreSQL: read, lock and check, write.
    // Cassandra: read, claim, and if that is in other hands the store reads it, the protocol reads
    // it, and then its owner.
    assert_eq!(trips(&plan), [2, 2, 2, 2, 3, 2, 4, 5, 5, 2]);
    let cassandra = bounds(&plan, StoreKind::Cassandra);
    assert_eq!(cassandra.transactions, 3);
    assert_eq!(cassandra.attempts, limits::COMMIT_ATTEMPTS_MAX);
    // A claim in other hands is looked at twice, its owner once, and one of the two is written.
    assert_eq!((cassandra.rows_read, cassandra.rows_written), (4, 4));
}

#[test]
fn an_update_beside_the_index_touches_no_entry() {
    let update = r#"
        [pattern.change_status]
        update = "users"
        set = ["status"]
    "#;
    let plan = plan_of(&[USERS, update]);
    assert_eq!(bounds(&plan, StoreKind::Cassandra).transactions, 1);
    assert_eq!(bounds(&plan, StoreKind::Memory).rows_written, 1);
}

#[test]
fn a_group_without_segments_after_the_bar_is_one_row() {
    let totals = r#"
        [collection.totals]
        key = "queue:{queue: text} | total"
        value = "counter"

        [pattern.count]
        add = "totals"
    "#;
    let plan = plan_of(&[totals]);
    assert_eq!(bounds(&plan, StoreKind::Redis).rows_written, 1);
}

#[test]
fn counters_are_one_commit_and_a_transaction_on_cassandra() {
    let counted = r#"
        [collection.counters]
        key = "stats:{name: text}"
        value = "counter"

        [pattern.count]
        add = "counters"
    "#;
    let plan = plan_of(&[counted]);
    assert_eq!(trips(&plan), [1, 1, 1, 1, 2, 1, 1, 2, 2, 1]);
    assert_eq!(bounds(&plan, StoreKind::Scylla).transactions, 1);
}

#[test]
fn a_batch_has_a_largest_size() {
    let by_tag = r#"
        index.by_tag = { key = "tag:{each(tags)} | {note_id}", expect = { rows_per_group = 500 } }

        [pattern.import]
        insert = "notes"
    "#;
    let asked = r#"
        [pattern.list_by_tag]
        list = "notes.by_tag"
        page = 10
    "#;
    let plan = plan_of_refused(&[NOTES, by_tag, "many = 100", asked]);
    let refusal = plan.answer(StoreKind::Memory).refusal().unwrap();
    assert_eq!(refusal.code, 111);
    assert_eq!(refusal.fixes[0], "lower `many` to 9");
    let plan = plan_of(&[NOTES, by_tag, "many = 9", asked]);
    assert!(plan.answer(StoreKind::Memory).bounds().is_some());
}

#[test]
fn a_usual_batch_fits_in_bytes() {
    let pages = |many: u64| {
        format!(
            r#"
            [collection.pages]
            key = "site:{{site_id: text}}:pages | {{page_id: ulid = new}}"
            fields = {{ text = "text" }}
            expect = {{ rows_per_group = 1_000, row_bytes = 10_000 }}

            [pattern.import]
            insert = "pages"
            many = {many}
            "#
        )
    };
    let plan = plan_of_refused(&[&pages(500)]);
    for (store, answer) in plan.answers() {
        let refusal = answer.refusal().unwrap_or_else(|| panic!("{store}"));
        assert_eq!(refusal.code, 111);
        assert_eq!(refusal.fixes[0], "lower `many` to 209", "{store}");
    }
    assert!(plan_of(&[&pages(209)]).answers().all(|(_, answer)| answer.bounds().is_some()));
}

#[test]
fn a_partition_too_large_is_refused_with_its_slices() {
    let sliced = |every: &str| {
        let settings = format!(
            r#"
            immutable = true
            bucket = {{ by = "note_id", every = "{every}" }}
            expect = {{ rows_per_day = 50_000, row_bytes = 300 }}
            "#
        );
        plan_of(&[NOTES, &settings, INSERT_NOTE])
    };
    let plan = sliced("10d");
    let refusal = plan.answer(StoreKind::Cassandra).refusal().unwrap();
    assert_eq!(refusal.code, 113);
    assert!(refusal.fixes[0].contains("every = \"6d\""), "{refusal:?}");
    assert!(sliced("5d").answer(StoreKind::Scylla).bounds().is_some());
}

#[test]
fn more_than_a_million_files_are_refused() {
    let plan = plan_of(&[NOTES, "expect = { rows_per_group = 1_000_001 }", INSERT_NOTE]);
    assert_eq!(plan.answer(StoreKind::Files).refusal().unwrap().code, 116);
    assert!(plan.answer(StoreKind::Engine).bounds().is_some());
}

#[test]
fn a_store_says_what_it_cannot_hold() {
    let segments: Vec<String> = (0..40).map(|number| format!("{{s{number}: i64}}")).collect();
    let rows = |ttl: &str| {
        format!(
            r#"
            [collection.rows]
            key = "row:{{id: text}} | {}"
            value = "text"
            ttl = "{ttl}"

            [pattern.put_row]
            put = "rows"
            "#,
            segments.join(":")
        )
    };
    let codes = |ttl: &str| -> Vec<(StoreKind, u16)> {
        let plan = plan_of(&[&rows(ttl)]);
        let refusals = plan.answers().filter_map(|(store, a)| Some((store, a.refusal()?.code)));
        refusals.collect()
    };
    assert_eq!(codes("7299d"), [(StoreKind::Postgres, 108)]);
    let expected =
        [(StoreKind::Postgres, 108), (StoreKind::Cassandra, 304), (StoreKind::Scylla, 304)];
    assert_eq!(codes("7300d"), expected);
}

#[test]
fn helpers_on_redis_are_those_of_the_layout() {
    let files = |list: &str| {
        plan_of(&[
            r#"
            [collection.files]
            key = "file:{file_id: uuid = new}"
            fields = { folder = "text", name = "text" }

            [collection.files.index.files_by_name]
            key = "folder:{folder} | {name}"
            unique = true
            expect = { rows_per_group = 100 }

            [pattern.add_file]
            insert = "files"

            [pattern.find_file]
            get = "files.files_by_name"
            "#,
            list,
        ])
    };
    let written = |plan: &Plan| bounds(plan, StoreKind::Redis).rows_written;
    // The record and its claim; an order only where somebody lists.
    assert_eq!(written(&files("")), 2);
    let list = "[pattern.list_files]\nlist = \"files.files_by_name\"\npage = 10";
    assert_eq!(written(&files(list)), 3);
}
