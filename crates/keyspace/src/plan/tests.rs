//! What patterns cost, in numbers. The columns are those of `StoreKind::ALL`:
//! memory, engine, files, sqlite, postgres, redis, redis-cluster, cassandra, scylla, indexeddb.

use super::testing::*;
use super::{Answer, order_given};
use crate::model::{Allow, Assignment, Expect, ExpressionKind, Mode};
use crate::model::{Bucket, Collection, Content, Member, Pattern, StoreKind, Ttl, Verb, limits};
use crate::source::Span;
use std::sync::Arc;

fn users() -> Arc<Collection> {
    let mut email = index("users_by_email", "email:{title}");
    email.unique = true;
    Arc::new(indexed(collection("users", "user:{user_id}"), email))
}

fn notes() -> Collection {
    collection("notes", "user:{user_id}:notes | {note_id!}")
}

fn alone(collection: &Arc<Collection>, verb: Verb) -> super::Plan {
    first(&keyspace(&[collection], vec![pattern("p", verb, Some(target(collection, None)))]))
}

#[test]
fn a_get_is_one_round_trip_everywhere() {
    let plan = alone(&Arc::new(notes()), Verb::Get);
    assert_eq!(trips(&plan), [1; 10]);
    assert!(plan.answers().all(|(_, answer)| matches!(answer, Answer::Native(_))));
}

#[test]
fn a_get_through_a_unique_index_is_two() {
    let users = users();
    let get = pattern("p", Verb::Get, Some(target(&users, Some("users_by_email"))));
    let plan = first(&keyspace(&[&users], vec![get.clone()]));
    assert_eq!(trips(&plan), [2; 10]);
    // Only what the claim holds is asked for: one, except where claims must be verified.
    let covered = Pattern { fields: Some(vec![named("user_id"), named("title")]), ..get };
    let plan = first(&keyspace(&[&users], vec![covered]));
    assert_eq!(trips(&plan), [1, 1, 1, 1, 1, 1, 2, 2, 2, 1]);
}

#[test]
fn a_fresh_insert_reads_nothing() {
    let plan = alone(&Arc::new(notes()), Verb::Insert);
    assert_eq!(trips(&plan), [1, 1, 1, 1, 2, 1, 1, 1, 1, 1]);
    assert!(plan.answers().all(|(_, answer)| answer.bounds().unwrap().rows_read == 0));
    assert_eq!(bounds(&plan, StoreKind::Cassandra).transactions, 1);
}

#[test]
fn an_append_only_insert_is_no_transaction() {
    let notes = Arc::new(Collection { immutable: true, ..notes() });
    let plan = alone(&notes, Verb::Insert);
    assert_eq!(bounds(&plan, StoreKind::Cassandra).transactions, 0);
    assert!(matches!(plan.answer(StoreKind::Cassandra), Answer::Native(_)));
}

#[test]
fn an_update_that_moves_a_claim_follows_the_protocol() {
    let users = users();
    let mut update = pattern("p", Verb::Update, Some(target(&users, None)));
    update.set = vec![named("title")];
    let plan = first(&keyspace(&[&users], vec![update]));
    // One group: read, claim, compare and set, release.
    assert_eq!(trips(&plan), [2, 2, 2, 2, 2, 2, 4, 4, 4, 2]);
    let cassandra = bounds(&plan, StoreKind::Cassandra);
    assert_eq!(cassandra.transactions, 3);
    assert_eq!(cassandra.attempts, limits::COMMIT_ATTEMPTS_MAX);
    assert_eq!((cassandra.rows_read, cassandra.rows_written), (1, 3));
}

#[test]
fn an_update_beside_the_index_touches_no_entry() {
    let users = users();
    let mut update = pattern("p", Verb::Update, Some(target(&users, None)));
    update.set = vec![named("status")];
    let plan = first(&keyspace(&[&users], vec![update]));
    assert_eq!(bounds(&plan, StoreKind::Cassandra).transactions, 1);
    assert_eq!(bounds(&plan, StoreKind::Memory).rows_written, 1);
}

#[test]
fn a_page_reads_one_more_and_four_times_as_much_where_rows_end() {
    let list = |collection: &Arc<Collection>| {
        let mut list = pattern("p", Verb::List, Some(target(collection, None)));
        list.page = Some(50);
        first(&keyspace(&[collection], vec![list]))
    };
    let plan = list(&Arc::new(notes()));
    assert_eq!(trips(&plan), [1, 1, 1, 1, 1, 2, 2, 1, 1, 1]);
    assert_eq!(bounds(&plan, StoreKind::Engine).rows_read, 51);
    assert_eq!(bounds(&plan, StoreKind::Redis).rows_read, 101);
    let plan = list(&Arc::new(Collection { ttl: Some(Ttl::After(1_000)), ..notes() }));
    assert_eq!(bounds(&plan, StoreKind::Engine).round_trips, 4);
    assert_eq!(bounds(&plan, StoreKind::Engine).rows_read, 200);
}

#[test]
fn slices_are_physical_on_cassandra_and_redis_only() {
    let bucket = Bucket { by: "note_id".into(), every: 86_400_000, span: Span::default() };
    let notes = Arc::new(Collection { bucket: Some(bucket), immutable: true, ..notes() });
    let mut list = pattern("p", Verb::List, Some(target(&notes, None)));
    list.page = Some(10);
    let plan = first(&keyspace(&[&notes], vec![list]));
    assert_eq!(trips(&plan), [1, 1, 1, 1, 1, 10, 10, 9, 9, 1]);
    assert_eq!(plan.answer(StoreKind::Cassandra).word(), "assisted");
}

#[test]
fn a_small_index_on_redis_is_read_whole() {
    let mut tagged = index("tagged", "tag:{status} | {note_id}");
    tagged.expect.rows_per_group = Some(500);
    let notes = Arc::new(indexed(notes(), tagged));
    let mut list = pattern("p", Verb::List, Some(target(&notes, Some("tagged"))));
    list.page = Some(10);
    let plan = first(&keyspace(&[&notes], vec![list]));
    let redis = bounds(&plan, StoreKind::Redis);
    assert_eq!(redis.rows_read, limits::REDIS_SET_ROWS_MAX + 10);
    assert_eq!(plan.answer(StoreKind::Redis).word(), "assisted");
    // Verified against the records, up to four for each row.
    assert_eq!(bounds(&plan, StoreKind::Cassandra).rows_read, 80);
    assert_eq!(bounds(&plan, StoreKind::Cassandra).round_trips, 8);
}

#[test]
fn counters_are_one_commit_and_a_transaction_on_cassandra() {
    let counters = Collection { content: Content::Counter, ..collection("c", "stats:{name}") };
    let counters = Arc::new(counters);
    let plan = alone(&counters, Verb::Add);
    assert_eq!(trips(&plan), [1, 1, 1, 1, 2, 1, 1, 2, 2, 1]);
    assert_eq!(bounds(&plan, StoreKind::Scylla).transactions, 1);
}

#[test]
fn membership_is_one_more_row_in_one_more_round_trip() {
    let notes = Arc::new(notes());
    let mut get = pattern("p", Verb::Get, Some(target(&notes, None)));
    get.allow = Allow::Member(Member {
        collection: "notes".into(),
        caller: "user_id".into(),
        condition: None,
    });
    let plan = first(&keyspace(&[&notes], vec![get]));
    assert_eq!(trips(&plan), [2; 10]);
    assert_eq!(bounds(&plan, StoreKind::Memory).rows_read, 2);
}

#[test]
fn a_batch_has_a_largest_size() {
    let listed = index("by_tag", "tag:{tags@each} | {note_id}");
    let notes = Arc::new(indexed(notes(), listed));
    let mut insert = pattern("p", Verb::Insert, Some(target(&notes, None)));
    insert.many = Some(100);
    let plan = first(&keyspace(&[&notes], vec![insert.clone()]));
    let refusal = plan.answer(StoreKind::Memory).refusal().unwrap();
    assert_eq!(refusal.code, 111);
    assert_eq!(refusal.fixes[0], "lower `many` to 9");
    insert.many = Some(9);
    assert!(first(&keyspace(&[&notes], vec![insert])).answer(StoreKind::Memory).bounds().is_some());
}

#[test]
fn an_atomic_needs_one_group_where_commits_reach_no_further() {
    let service = Arc::new(collection("service", "service:{service_id}"));
    let published = Arc::new(collection("published", "service:{service_id}:published"));
    let mark = pattern("mark", Verb::Update, Some(target(&service, None)));
    let fill = pattern("fill", Verb::Update, Some(target(&published, None)));
    let mut publish = pattern("publish", Verb::Atomic, None);
    publish.steps = vec![run(mark.clone(), &[]), run(fill.clone(), &[])];
    let space = keyspace(&[&service, &published], vec![publish, mark, fill]);
    let plan = first(&space);
    // One place on Redis Cluster, two groups on Cassandra.
    assert_eq!(trips(&plan), [2, 2, 2, 2, 2, 2, 2, 0, 0, 2]);
    let refusal = plan.answer(StoreKind::Cassandra).refusal().unwrap();
    assert_eq!(refusal.code, 101);
    assert_eq!(
        refusal.reason,
        "`mark` is in `service:{service_id}` and `fill` in `service:{service_id}:published`: two \
         groups, and a commit reaches only one"
    );
    assert!(refusal.fixes[0].contains("`service:{service_id} | published`"), "{refusal:?}");
}

#[test]
fn groups_are_compared_by_what_they_are_bound_to() {
    let account = Arc::new(collection("account", "account:{account}"));
    let update = pattern("shift", Verb::Update, Some(target(&account, None)));
    let mut transfer = pattern("transfer", Verb::Atomic, None);
    transfer.steps = vec![
        run(update.clone(), &[("account", "source")]),
        run(update.clone(), &[("account", "destination")]),
    ];
    let space = keyspace(&[&account], vec![transfer.clone(), update.clone()]);
    let refusal = first(&space).answer(StoreKind::RedisCluster).refusal().cloned().unwrap();
    assert!(refusal.reason.contains("`account:{account = $source}`"), "{refusal:?}");
    transfer.steps = vec![
        run(update.clone(), &[("account", "source")]),
        run(update.clone(), &[("account", "source")]),
    ];
    let space = keyspace(&[&account], vec![transfer, update]);
    assert!(first(&space).answer(StoreKind::Cassandra).bounds().is_some());
}

#[test]
fn rows_that_name_their_groups_stay_on_whole_stores() {
    let users = Arc::new(collection("users", "user:{user_id}"));
    let mut update = pattern("p", Verb::Update, Some(target(&users, None)));
    update.many = Some(10);
    update.arguments = vec![rows_argument(&["user_id"])];
    let plan = first(&keyspace(&[&users], vec![update]));
    assert_eq!(trips(&plan), [2, 2, 2, 2, 2, 2, 0, 0, 0, 2]);
}

#[test]
fn a_partition_too_large_is_refused_with_its_slices() {
    let expect = Expect { rows_per_day: Some(50_000), row_bytes: Some(300), ..Expect::default() };
    let bucket = Bucket { by: "note_id".into(), every: 864_000_000, span: Span::default() };
    let mut notes = Collection { immutable: true, bucket: Some(bucket), expect, ..notes() };
    let plan = alone(&Arc::new(notes.clone()), Verb::Insert);
    let refusal = plan.answer(StoreKind::Cassandra).refusal().unwrap();
    assert_eq!(refusal.code, 113);
    assert!(refusal.fixes[0].contains("every = \"6d\""), "{refusal:?}");
    notes.bucket.as_mut().unwrap().every = 432_000_000;
    assert!(alone(&Arc::new(notes), Verb::Insert).answer(StoreKind::Scylla).bounds().is_some());
}

#[test]
fn more_than_a_million_files_are_refused() {
    let expect = Expect { rows_per_group: Some(1_000_001), ..Expect::default() };
    let plan = alone(&Arc::new(Collection { expect, ..notes() }), Verb::Insert);
    assert_eq!(plan.answer(StoreKind::Files).refusal().unwrap().code, 116);
    assert!(plan.answer(StoreKind::Engine).bounds().is_some());
}

#[test]
fn a_circle_is_covered_or_refused_everywhere() {
    let near = |cells: &str, radius: f64| {
        let mut geo = index("geo", &format!("geo:{{{cells}@geohash}} | {{place_id}}"));
        geo.expect.rows_per_group = Some(2_000);
        let places = Arc::new(indexed(collection("places", "place:{place_id!}"), geo));
        let mut near = pattern("p", Verb::Near, Some(target(&places, Some("geo"))));
        near.radius_max = Some(radius);
        first(&keyspace(&[&places], vec![near]))
    };
    let plan = near("5", 5_000.0);
    let engine = bounds(&plan, StoreKind::Engine);
    assert_eq!((engine.round_trips, engine.rows_read), (3, 400_000));
    assert!(plan.answers().all(|(_, answer)| answer.word() == "assisted"));
    let plan = near("7", 5_000.0);
    let codes: Vec<u16> = plan.answers().map(|(_, a)| a.refusal().unwrap().code).collect();
    assert_eq!(codes, [514; 10]);
}

#[test]
fn a_take_tries_candidates() {
    let mut ready = index("ready", "queue:{status} | {title}:{note_id}");
    ready.expect.rows_per_group = Some(100_000);
    let notes = Arc::new(indexed(notes(), ready));
    let mut take = pattern("p", Verb::Take, Some(target(&notes, Some("ready"))));
    take.condition = Some(member("status"));
    let plan = first(&keyspace(&[&notes], vec![take]));
    assert_eq!(trips(&plan), [3, 3, 3, 3, 4, 3, 3, 3, 3, 3]);
    assert_eq!(bounds(&plan, StoreKind::Engine).attempts, limits::TAKE_CANDIDATES_MAX);
}

#[test]
fn the_order_is_that_of_the_first_free_segment() {
    let key = key("user:{user_id}:notes | {day desc}:{note_id}", false);
    let order = |by: &[&str]| {
        let by: Vec<String> = by.iter().map(|name| name.to_string()).collect();
        order_given(&key, &by).map(|segment| (segment.name.clone(), segment.descending))
    };
    assert_eq!(order(&["user_id"]), Some(("day".to_string(), true)));
    assert_eq!(order(&["user_id", "day"]), Some(("note_id".to_string(), false)));
    assert_eq!(order(&["user_id", "day", "note_id"]), None);
}

#[test]
fn modes_are_said_with_their_reason() {
    let users = users();
    let space = keyspace(&[&users], Vec::new());
    assert_eq!(space.mode(&users), Mode::Conditional);
    let text = super::explain::modes(&space);
    assert_eq!(text, "users  conditional: users_by_email is unique\n");
}

#[test]
fn a_key_taken_from_a_check_is_read_after_it() {
    let mut code = index("by_code", "invite:{title}");
    code.unique = true;
    let invites = indexed(collection("invites", "guild:{guild_id}:invites | {invite_id}"), code);
    let invites = Arc::new(invites);
    let members = Arc::new(collection("members", "guild:{guild_id}:members | {user_id}"));
    let mut join = pattern("join", Verb::Update, Some(target(&members, None)));
    join.missing_created = true;
    let mut accept = pattern("accept", Verb::Atomic, None);
    accept.steps = vec![check("invite", target(&invites, Some("by_code"))), run(join.clone(), &[])];
    let guild = ExpressionKind::StepMember("invite".into(), "guild_id".into());
    accept.steps[1].bind =
        vec![Assignment { name: named("guild_id"), expression: expression(guild) }];
    let plan = first(&keyspace(&[&invites, &members], vec![accept, join]));
    // The claim, the invite, the member, the commit; one place, but two groups.
    assert_eq!(trips(&plan), [4, 4, 4, 4, 4, 4, 4, 0, 0, 4]);
    assert_eq!(bounds(&plan, StoreKind::Postgres).rows_read, 3);
    let reason = &plan.answer(StoreKind::Scylla).refusal().unwrap().reason;
    assert!(reason.contains("guild:{guild_id = invite.guild_id}:members"), "{reason}");
}

#[test]
fn no_number_in_a_file_is_too_large() {
    let expect = Expect {
        rows_per_group: Some(u64::MAX),
        rows_per_day: Some(u64::MAX),
        row_bytes: Some(u64::MAX),
    };
    let mut listed = index("by_tag", "tag:{tags@each}:{12@geohash} | {note_id}");
    listed.expect = expect;
    let bucket = Bucket { by: "note_id".into(), every: u64::MAX, span: Span::default() };
    let notes = Collection { expect, bucket: Some(bucket), ..indexed(notes(), listed) };
    let notes = Arc::new(notes);
    for verb in Verb::ALL {
        for name in [None, Some("by_tag")] {
            for radius in [f64::NAN, f64::INFINITY, f64::MAX, -1.0] {
                let mut every = pattern("p", verb, Some(target(&notes, name)));
                (every.page, every.many) = (Some(u64::MAX), Some(u64::MAX));
                every.radius_max = Some(radius);
                let mut both = pattern("both", Verb::Atomic, None);
                both.steps = vec![run(every.clone(), &[]), run(every.clone(), &[])];
                let space = keyspace(&[&notes], vec![every, both]);
                let plans = super::plans(&space);
                assert!(
                    plans.iter().all(|plan| !super::explain::text(&space, plan, None).is_empty())
                );
                assert!(!super::explain::table(&plans, None).is_empty());
            }
        }
    }
}
