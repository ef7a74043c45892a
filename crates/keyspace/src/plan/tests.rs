//! What patterns cost, in numbers. The columns are those of `StoreKind::ALL`:
//! memory, engine, files, sqlite, postgres, redis, redis-cluster, cassandra, scylla, indexeddb.

mod apart;

use super::{Answer, Bounds, Plan, explain, order_given, plan, plans};
use crate::diagnostic::Severity;
use crate::model::{Bucket, Expect, Keyspace, Mode, Pattern, StepAction, StoreKind, Verb, limits};
use crate::source::Span;
use std::sync::Arc;

/// Notes in the group of their user; more settings may follow.
const NOTES: &str = r#"
    [collection.notes]
    key = "user:{user_id: uuid}:notes | {note_id: timeuuid = new}"
    fields = { title = "text", status = "text", tags = "[text] = []" }
"#;

const INSERT_NOTE: &str = r#"
    [pattern.add_note]
    insert = "notes"
"#;

const USERS: &str = r#"
    [collection.users]
    key = "user:{user_id: uuid}"
    fields = { email = "text", status = "text" }
    index.users_by_email = { key = "email:{email}", unique = true }
"#;

fn file(parts: &[&str]) -> String {
    format!("[keyspace]\nname = \"test\"\n{}", parts.join("\n"))
}

/// What a file means, which must be without error.
fn keyspace(parts: &[&str]) -> Keyspace {
    let reading = crate::read(&file(parts));
    let errors = reading.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let errors: Vec<&str> = errors.map(|error| error.message.as_str()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    reading.keyspace.unwrap()
}

/// The plan of the first pattern.
fn plan_of(parts: &[&str]) -> Plan {
    let keyspace = keyspace(parts);
    plan(&keyspace, &keyspace.patterns[0])
}

/// The plan of the first pattern, although the checker refuses it.
fn plan_of_refused(parts: &[&str]) -> Plan {
    let text = file(parts);
    assert!(crate::read(&text).keyspace.is_none());
    let (tree, mut problems) = crate::parse::parse(&text);
    let keyspace = crate::check::resolve::resolve(&tree, &mut problems);
    assert!(problems.is_empty(), "{problems:?}");
    plan(&keyspace, &keyspace.patterns[0])
}

fn bounds(plan: &Plan, store: StoreKind) -> Bounds {
    match plan.answer(store) {
        Answer::Refused(refusal) => panic!("{store}: {refusal:?}"),
        answer => *answer.bounds().unwrap(),
    }
}

/// The round trips on every store; 0 where it is refused.
fn trips(plan: &Plan) -> Vec<u64> {
    plan.answers().map(|(_, answer)| answer.bounds().map_or(0, |b| b.round_trips)).collect()
}

#[test]
fn a_get_is_one_round_trip_everywhere() {
    let get = r#"
        [pattern.get_note]
        get = "notes"
    "#;
    let plan = plan_of(&[NOTES, get]);
    assert_eq!(trips(&plan), [1; 10]);
    assert!(plan.answers().all(|(_, answer)| matches!(answer, Answer::Native(_))));
}

#[test]
fn a_get_through_a_unique_index_is_two() {
    let get = r#"
        [pattern.find_user]
        get = "users.users_by_email"
    "#;
    assert_eq!(trips(&plan_of(&[USERS, get])), [2; 10]);
    // Only what the claim holds is asked for: one, except where claims must be verified.
    let plan = plan_of(&[USERS, get, r#"fields = ["user_id", "email"]"#]);
    assert_eq!(trips(&plan), [1, 1, 1, 1, 1, 1, 2, 2, 2, 1]);
}

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
    // One group: read, claim, compare and set, release.
    assert_eq!(trips(&plan), [2, 2, 2, 2, 2, 2, 4, 4, 4, 2]);
    let cassandra = bounds(&plan, StoreKind::Cassandra);
    assert_eq!(cassandra.transactions, 3);
    assert_eq!(cassandra.attempts, limits::COMMIT_ATTEMPTS_MAX);
    assert_eq!((cassandra.rows_read, cassandra.rows_written), (1, 3));
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
fn a_page_reads_one_more_and_four_times_as_much_where_rows_end() {
    let list = r#"
        [pattern.list_notes]
        list = "notes"
        page = 50
    "#;
    let plan = plan_of(&[NOTES, list]);
    assert_eq!(trips(&plan), [1, 1, 1, 1, 1, 2, 2, 1, 1, 1]);
    assert_eq!(bounds(&plan, StoreKind::Engine).rows_read, 51);
    assert_eq!(bounds(&plan, StoreKind::Redis).rows_read, 101);
    let plan = plan_of(&[NOTES, r#"ttl = "30d""#, list]);
    assert_eq!(bounds(&plan, StoreKind::Engine).round_trips, 4);
    assert_eq!(bounds(&plan, StoreKind::Engine).rows_read, 200);
}

#[test]
fn slices_are_physical_on_cassandra_and_redis_only() {
    let sliced = r#"
        immutable = true
        bucket = { by = "note_id", every = "1d" }

        [pattern.list_notes]
        list = "notes"
        page = 10
    "#;
    let plan = plan_of(&[NOTES, sliced]);
    assert_eq!(trips(&plan), [1, 1, 1, 1, 1, 10, 10, 9, 9, 1]);
    assert_eq!(plan.answer(StoreKind::Cassandra).word(), "assisted");
}

/// Services by status: `{service_id}` is what is listed, of this type, in few rows.
fn services(id: &str, rows: u64) -> String {
    format!(
        r#"
        [collection.services]
        key = "service:{{service_id: {id}}}"
        fields = {{ status = "text", name = "text" }}

        [collection.services.index.by_status]
        key = "status:{{status}} | {{service_id}}"
        expect = {{ rows_per_group = {rows} }}

        [pattern.list_by_status]
        list = "services.by_status"
        page = 10
        "#
    )
}

#[test]
fn a_small_membership_on_redis_is_read_whole() {
    let plan = plan_of(&[&services("text", 500)]);
    let redis = bounds(&plan, StoreKind::Redis);
    assert_eq!(redis.rows_read, limits::REDIS_SET_ROWS_MAX + 10);
    assert_eq!(plan.answer(StoreKind::Redis).word(), "assisted");
    // Verified against the records, up to four for each row.
    assert_eq!(bounds(&plan, StoreKind::Cassandra).rows_read, 80);
    assert_eq!(bounds(&plan, StoreKind::Cassandra).round_trips, 8);
}

#[test]
fn what_has_an_order_on_redis_is_read_by_pages() {
    let ordered = [
        (services("text", 20_000), ""),
        (services("ulid = new", 500), ""),
        (services("i64", 500), ""),
        (services("text", 500), r#"order = "service_id""#),
    ];
    for (services, order) in ordered {
        let plan = plan_of(&[&services, order]);
        assert_eq!(plan.answer(StoreKind::Redis).word(), "native", "{services} {order}");
        assert_eq!(bounds(&plan, StoreKind::Redis).rows_read, 21);
    }
}

#[test]
fn a_take_from_a_set_reads_all_of_it() {
    let price = |id: &str, last: &str| {
        let take = format!(
            r#"
            [pattern.take_service]
            take = "services.by_status"
            if = "service_id <= {last} and name != 'taken'"
            compute = {{ name = "'taken'" }}
            "#
        );
        let keyspace = keyspace(&[&services(id, 500), &take]);
        let plan = plan(&keyspace, keyspace.pattern("take_service").unwrap());
        let Answer::Assisted { price, bounds } = plan.answer(StoreKind::Redis) else {
            panic!("{plan:?}")
        };
        (*bounds, price.clone())
    };
    let (set, text) = price("text", "'m'");
    assert!(set.bytes_read_usual > 500 * 32, "{set:?}");
    assert!(text.contains("the whole Set, up to 10,000 members, is read and sorted"), "{text}");
    let (sorted_set, text) = price("i64", "9");
    assert_eq!(sorted_set.rows_read, 2 * limits::TAKE_CANDIDATES_MAX);
    assert!(!text.contains("the whole Set"), "{text}");
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
fn membership_is_one_more_row_in_one_more_round_trip() {
    let channels = r#"
        [collection.channels]
        key = "guild:{guild_id: uuid}:channels | {channel_id: timeuuid = new}"
        fields = { name = "text" }

        [collection.members]
        key = "guild:{guild_id: uuid}:members | {user_id: uuid}"
        fields = { role = "text" }

        [pattern.get_channel]
        get = "channels"
        allow = { member = "members", caller = "user_id" }
    "#;
    let plan = plan_of(&[channels]);
    assert_eq!(trips(&plan), [2; 10]);
    assert_eq!(bounds(&plan, StoreKind::Memory).rows_read, 2);
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
fn an_atomic_needs_one_group_where_commits_reach_no_further() {
    let services = r#"
        [collection.service]
        key = "service:{service_id: text}"
        fields = { status = "text" }

        [collection.published]
        key = "service:{service_id: text}:published"
        fields = { sheet = "text" }

        [pattern.publish]
        atomic = ["mark", "fill"]

        [pattern.mark]
        update = "service"
        set = ["status"]

        [pattern.fill]
        update = "published"
        set = ["sheet"]
    "#;
    let plan = plan_of(&[services]);
    // One place on Redis Cluster, two groups on Cassandra.
    assert_eq!(trips(&plan), [2, 2, 2, 2, 2, 2, 2, 0, 0, 2]);
    let refusal = plan.answer(StoreKind::Cassandra).refusal().unwrap();
    assert_eq!(refusal.code, 101);
    assert_eq!(
        refusal.reason,
        "`mark` is in `service:{service_id}` and `fill` in `service:{service_id}:published`: they \
         lie apart, and a commit reaches only one group"
    );
    assert_eq!(
        refusal.fixes[0],
        "share a group, with the bar where they begin to differ: \
         `service:{service_id: text} | published` as the key of `published`"
    );
}

#[test]
fn words_show_bindings_directions_and_rows_left_out() {
    let tasks = r#"
        [collection.tasks]
        key = "user:{user_id: text}:tasks | {task_id: ulid desc = new}"
        fields = { due = "date?", state = "open|done", tags = "[text]", with = "text?" }
        owner = "user_id"
        expect = { rows_per_group = 1_000 }
        index.due = { key = "user:{user_id}:due | {due}", when = "state = 'open'" }
        index.tagged = { key = "user:{user_id}:tag:{each(tags, with)} | {task_id}" }

        [pattern.list_due]
        list = "tasks.due"
        page = 10
        allow = "owner"

        [pattern.list_tagged]
        list = "tasks.tagged"
        page = 10
        allow = "owner"

        [pattern.add_task]
        insert = "tasks"
        allow = "owner"
    "#;
    let keyspace = keyspace(&[tasks]);
    let words = |name: &str| {
        let plan = plan(&keyspace, keyspace.pattern(name).unwrap());
        explain::text(&keyspace, &plan, Some(StoreKind::Memory))
    };
    let due = words("list_due");
    assert!(due.contains("user:{user_id = caller}:due | {due}:{task_id desc}"), "{due}");
    let rows = "only rows where state = 'open' have one; rows whose `due` is null have no entry";
    assert!(due.contains(rows), "{due}");
    let tagged = words("list_tagged");
    assert!(tagged.contains("rows whose `tags` is empty and whose `with` is null"), "{tagged}");
    let add = words("add_task");
    assert!(add.contains("user:{user_id = caller}:tasks | {task_id desc = new}"), "{add}");
}

#[test]
fn groups_are_compared_by_what_they_are_bound_to() {
    let accounts = r#"
        [collection.accounts]
        key = "account:{account: text} | {currency: text}"
        fields = { balance = "i64" }
        expect = { rows_per_group = 10 }
    "#;
    let shift = r#"
        [pattern.shift]
        add = "accounts.balance"
    "#;
    let transfer = r#"
        [pattern.transfer]
        atomic = [
            { run = "shift", as = "debit", bind = { account = "$source", amount = "-$amount" } },
            { run = "shift", as = "credit", bind = { account = "$destination" } },
        ]
    "#;
    let plan = plan_of(&[accounts, transfer, shift]);
    let refusal = plan.answer(StoreKind::RedisCluster).refusal().unwrap();
    assert!(refusal.reason.contains("`account:{account = $source}`"), "{refusal:?}");
    let exchange = r#"
        [pattern.exchange]
        atomic = [
            { run = "shift", as = "sell", bind = { account = "$holder", amount = "-$price" } },
            { run = "shift", as = "buy", bind = { account = "$holder", currency = "$bought" } },
        ]
    "#;
    let plan = plan_of(&[accounts, exchange, shift]);
    assert!(plan.answer(StoreKind::Cassandra).bounds().is_some());
}

#[test]
fn rows_that_name_their_groups_stay_on_whole_stores() {
    let payments = r#"
        [collection.payments]
        key = "account:{account: text}:payments | {payment: text}"
        fields = { payer = "text", amount = "i64" }
        immutable = true
        expect = { rows_per_group = 1_000 }
    "#;
    let record = r#"
        [pattern.record]
        insert = "payments"
        many = 10
    "#;
    assert_eq!(trips(&plan_of(&[payments, record])), [2; 10]);
    let plan = plan_of(&[payments, record, r#"bind = { account = "$payer" }"#]);
    assert_eq!(trips(&plan), [2, 2, 2, 2, 2, 2, 0, 0, 0, 2]);
    let post = r#"
        [pattern.post]
        atomic = [{ run = "record", bind = { account = "$payer" } }]
    "#;
    let plan = plan_of(&[payments, post, record]);
    assert_eq!(trips(&plan), [2, 2, 2, 2, 2, 2, 0, 0, 0, 2]);
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
fn a_circle_is_covered_or_refused_everywhere() {
    let places = |characters: u8| {
        format!(
            r#"
            [collection.places]
            key = "place:{{place_id: ulid = new}}"
            fields = {{ lat = "f64", lon = "f64" }}

            [collection.places.index.geo]
            key = "geo:{{area = geohash(lat, lon, {characters})}} | {{place_id}}"
            expect = {{ rows_per_group = 2_000 }}

            [pattern.find_nearby]
            near = "places.geo"
            max_radius = 5_000
            page = 50
            "#
        )
    };
    let plan = plan_of(&[&places(5)]);
    let engine = bounds(&plan, StoreKind::Engine);
    // Two pages of every cell, then the records of all of them, a thousand at a time.
    assert_eq!((engine.round_trips, engine.rows_read), (202, 400_000));
    assert!(plan.answers().all(|(_, answer)| answer.word() == "assisted"));
    assert!(plan.steps.iter().any(|step| step.to_string().contains("1,000 at a time")));
    let kept = places(5).replace("expect =", "keep = [\"lat\", \"lon\"]\nexpect =");
    let whole =
        bounds(&plan_of(&[&kept.replace("page", "fields = [\"lat\"]\npage")]), StoreKind::Engine);
    assert_eq!((whole.round_trips, whole.rows_read), (2, 200_000));
    let plan = plan_of_refused(&[&places(7)]);
    let codes: Vec<u16> = plan.answers().map(|(_, a)| a.refusal().unwrap().code).collect();
    assert_eq!(codes, [514; 10]);
    for (wrong, fix) in [
        (places(5).replace("2_000", "10_000_000_000"), "lower `expect.rows_per_group` to 10000, "),
        (
            places(5).replace(
                "2_000 }",
                "2_000, rows_per_day = 9 }\n\
                bucket = { by = \"place_id\", every = \"1d\" }",
            ),
            "take `bucket` from `geo`",
        ),
    ] {
        let plan = plan_of_refused(&[&wrong]);
        for (_, answer) in plan.answers() {
            let refusal = answer.refusal().unwrap();
            assert_eq!(refusal.code, 514);
            assert!(refusal.fixes.iter().any(|text| text.starts_with(fix)), "{refusal:?}");
        }
    }
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

#[test]
fn a_tenant_that_an_entry_lacks_is_read_where_it_is_judged() {
    let get = |whose: &str, allow: &str| {
        plan_of(&[&format!(
            r#"
            [collection.docs]
            key = "doc:{{doc_id: uuid}}"
            {whose} = "org_id"
            fields = {{ org_id = "text", title = "text" }}

            [collection.docs.index.docs_by_title]
            key = "title:{{title}}"
            unique = true

            [pattern.get_title]
            get = "docs.docs_by_title"
            fields = ["title"]
            allow = "{allow}"
            "#
        )])
    };
    for (whose, allow, steps, trips) in
        [("tenant", "user", 3, 2), ("owner", "public", 1, 1), ("tenant", "role:admin", 1, 1)]
    {
        let plan = get(whose, allow);
        assert_eq!(plan.steps.len(), steps, "{allow}: {:?}", plan.steps);
        assert_eq!(bounds(&plan, StoreKind::Engine).round_trips, trips, "{allow}");
    }
}

#[test]
fn a_take_tries_candidates() {
    let jobs = r#"
        [collection.jobs]
        key = "job:{job_id: ulid = new}"
        fields = { queue = "text", visible_at = "timestamp", worker = "text?" }

        [collection.jobs.index.ready]
        key = "queue:{queue} | {visible_at}"
        expect = { rows_per_group = 100_000 }

        [pattern.take_job]
        take = "jobs.ready"
        if = "visible_at <= now and worker is null"
    "#;
    let plan = plan_of(&[jobs, r#"compute = { worker = "caller" }"#]);
    assert_eq!(trips(&plan), [3, 3, 3, 3, 4, 3, 3, 3, 3, 3]);
    assert_eq!(bounds(&plan, StoreKind::Engine).attempts, limits::TAKE_CANDIDATES_MAX);
    // The entry moves too, before the row and after it where commits do not reach it.
    let plan = plan_of(&[jobs, r#"compute = { visible_at = "now + 10m" }"#]);
    assert_eq!(trips(&plan), [3, 3, 3, 3, 4, 3, 5, 5, 5, 3]);
}

#[test]
fn the_order_is_that_of_the_first_free_segment() {
    let diary = r#"
        [collection.diary]
        key = "user:{user_id: uuid}:diary | {day: date desc}:{entry: text}"

        [pattern.list_entries]
        list = "diary"
        page = 10
    "#;
    let keyspace = keyspace(&[diary]);
    let order = |by: &[&str]| {
        let by: Vec<String> = by.iter().map(|name| name.to_string()).collect();
        let segment = order_given(&keyspace.collections[0].key, &by);
        segment.map(|segment| (segment.name.clone(), segment.descending))
    };
    assert_eq!(order(&["user_id"]), Some(("day".to_string(), true)));
    assert_eq!(order(&["user_id", "day"]), Some(("entry".to_string(), false)));
    assert_eq!(order(&["user_id", "day", "entry"]), None);
}

#[test]
fn modes_are_said_with_their_reason() {
    let get = r#"
        [pattern.get_user]
        get = "users"
    "#;
    let keyspace = keyspace(&[USERS, get]);
    assert_eq!(keyspace.mode(&keyspace.collections[0]), Mode::Conditional);
    assert_eq!(explain::modes(&keyspace), "users  conditional: users_by_email is unique\n");
}

#[test]
fn a_key_taken_from_a_check_is_read_after_it() {
    let guilds = r#"
        [collection.invites]
        key = "guild:{guild_id: uuid}:invites | {invite_id: ulid = new}"
        fields = { code = "text" }
        index.by_code = { key = "invite:{code}", unique = true }

        [collection.members]
        key = "guild:{guild_id: uuid}:members | {user_id: uuid}"
        fields = { role = "text" }

        [pattern.accept]
        atomic = [
            { check = "invites.by_code", as = "invite" },
            { run = "join", bind = { guild_id = "invite.guild_id" } },
        ]

        [pattern.join]
        update = "members"
        set = ["role"]
        missing = "create"
    "#;
    let plan = plan_of(&[guilds]);
    // The claim, the invite, the member, the commit; one place, but two groups.
    assert_eq!(trips(&plan), [4, 4, 4, 4, 4, 4, 4, 0, 0, 4]);
    assert_eq!(bounds(&plan, StoreKind::Postgres).rows_read, 3);
    let reason = &plan.answer(StoreKind::Scylla).refusal().unwrap().reason;
    assert!(reason.contains("guild:{guild_id = invite.guild_id}:members"), "{reason}");
}

#[test]
fn no_number_is_too_large() {
    let indexed = r#"
        [collection.notes]
        key = "user:{user_id: uuid}:notes | {note_id: timeuuid = new}"
        fields = { tags = "[text]", lat = "f64", lon = "f64" }
        index.by_tag = { key = "tag:{each(tags)}:{area = geohash(lat, lon, 12)} | {note_id}" }

        [pattern.every]
        list = "notes.by_tag"
        page = 10

        [pattern.add]
        insert = "notes"

        [pattern.erase]
        delete = "notes"

        [pattern.both]
        atomic = ["add", "erase"]
    "#;
    let keyspace = keyspace(&[indexed]);
    let (rows_per_group, rows_per_day) = (Some(u64::MAX), Some(u64::MAX));
    let expect = Expect { rows_per_group, rows_per_day, row_bytes: Some(u64::MAX) };
    let mut notes = keyspace.collections[0].clone();
    let collection = Arc::make_mut(&mut notes);
    collection.expect = expect;
    collection.bucket =
        Some(Bucket { by: "note_id".into(), every: u64::MAX, span: Span::default() });
    Arc::make_mut(&mut collection.indexes[0]).expect = expect;
    for verb in Verb::ALL {
        for index in [None, Some(notes.indexes[0].clone())] {
            for radius in [f64::NAN, f64::INFINITY, f64::MAX, -1.0] {
                let mut keyspace = keyspace.clone();
                keyspace.collections[0] = notes.clone();
                let mut every = Pattern::clone(&keyspace.patterns[0]);
                let target = every.target.as_mut().unwrap();
                (target.collection, target.index) = (notes.clone(), index.clone());
                (every.verb, every.radius_max) = (verb, Some(radius));
                (every.page, every.many) = (Some(u64::MAX), Some(u64::MAX));
                let every = Arc::new(every);
                for step in &mut Arc::make_mut(&mut keyspace.patterns[3]).steps {
                    step.action = StepAction::Run(every.clone());
                }
                keyspace.patterns[0] = every;
                let plans = plans(&keyspace);
                assert!(plans.iter().all(|plan| !explain::text(&keyspace, plan, None).is_empty()));
                assert!(!explain::table(&plans, None).is_empty());
            }
        }
    }
}
