//! What reads cost: points, pages, slices, Sets, circles and takes.

use super::{NOTES, USERS, bounds, keyspace, plan_of, plan_of_refused, trips};
use crate::model::{StoreKind, limits};
use crate::plan::{Answer, order_given, plan, plans};

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
fn a_redis_server_finds_the_records_of_claims() {
    let listed = |content: &str, more: &str| {
        let plan = plan_of(&[&format!(
            r#"
            [collection.members]
            key = "guild:{{guild: text}}:members | {{member: text}}"
            {content}
            index.handles = {{ key = "member:{{member}}:guilds | {{guild}}", unique = true{more} }}

            [pattern.list_handles]
            list = "members.handles"
            page = 10
            "#
        )]);
        let redis = bounds(&plan, StoreKind::Redis);
        (redis.round_trips, redis.rows_read, bounds(&plan, StoreKind::RedisCluster).round_trips)
    };
    // The list, then claims and records together: eleven, ten and ten.
    let (redis, rows, cluster) = listed(r#"fields = { role = "text" }"#, "");
    assert_eq!((redis, rows), (2, 31));
    assert_eq!(cluster, 12);
    // Claims that hold all that is asked for lead nowhere.
    assert_eq!(listed(r#"fields = { role = "text" }"#, r#", keep = ["role"]"#).0, 2);
    // Rows that are no records are asked for by whoever has read their claims.
    assert_eq!(listed(r#"value = "text""#, "").0, 3);
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
fn a_list_of_own_rows_reads_the_tenant_that_its_entries_lack() {
    let docs = |kept: &str| {
        plan_of(&[&format!(
            r#"
            [collection.docs]
            key = "doc:{{doc_id: uuid}}"
            owner = "user_id"
            tenant = "org_id"
            fields = {{ user_id = "text", org_id = "text", title = "text" }}

            [collection.docs.index.docs_of_user]
            key = "user:{{user_id}} | {{doc_id}}"
            keep = [{kept}]
            expect = {{ rows_per_group = 1_000 }}

            [pattern.own_docs]
            list = "docs.docs_of_user"
            fields = ["doc_id"]
            page = 10
            "#
        )])
    };
    assert_eq!(bounds(&docs(""), StoreKind::Engine).round_trips, 2);
    assert_eq!(bounds(&docs("\"org_id\""), StoreKind::Engine).round_trips, 1);
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
    // Each key may be of another guild.
    let plan = plan_of(&[channels, "many = 10"]);
    assert_eq!(trips(&plan), [2; 10]);
    assert_eq!(bounds(&plan, StoreKind::Memory).rows_read, 20);
}

#[test]
fn a_membership_that_a_step_leads_to_is_one_wait_more() {
    let keyspace = keyspace(&[r#"
        [collection.members]
        key = "team:{team_id: text}:members | {user_id: text}"
        fields = { role = "text" }

        [collection.projects]
        key = "project:{project_id: text} | about"
        fields = { team_id = "text" }

        [collection.tasks]
        key = "project:{project_id: text} | task:{team_id: text}:{task: text}"
        fields = { words = "text" }

        [pattern.add_task]
        insert = "tasks"
        allow = { member = "members", caller = "user_id" }

        [pattern.work]
        atomic = [
            { check = "projects", as = "project" },
            { run = "add_task", bind = { team_id = "project.team_id" } },
        ]

        [pattern.work_here]
        atomic = [{ check = "projects", as = "project" }, "add_task"]

        [pattern.work_twice]
        atomic = [
            { check = "projects", as = "project" },
            { run = "add_task", bind = { team_id = "project.team_id" } },
            { run = "add_task", as = "other", bind = { task = "'other'", words = "''" } },
        ]
    "#]);
    let plans = plans(&keyspace);
    let of = |name: &str| plans.iter().find(|plan| plan.pattern.name.value == name).unwrap();
    let engine = |name: &str| bounds(of(name), StoreKind::Engine).round_trips;
    // The project, the member, the commit; of both kinds, a wait each.
    assert_eq!((engine("work"), engine("work_here"), engine("work_twice")), (3, 3, 4));
    let steps = |name: &str| of(name).steps.iter().map(ToString::to_string).collect::<Vec<_>>();
    let admit = "team:{team_id = project.team_id}:members | {user_id = caller}";
    assert!(steps("work")[1].contains(admit), "{:#?}", steps("work"));
    assert!(steps("work_here")[0].contains("team:{team_id}:members"), "{:#?}", steps("work_here"));
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
