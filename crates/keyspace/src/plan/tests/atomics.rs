//! What batches cost, and how steps are shown.

use super::{bounds, keyspace, plan_of, trips};
use crate::model::StoreKind;
use crate::plan::{explain, plan};

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
    assert_eq!(trips(&plan), [2, 2, 2, 2, 3, 2, 2, 0, 0, 2]);
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
    assert_eq!(trips(&plan_of(&[payments, record])), [2, 2, 2, 2, 3, 2, 2, 2, 2, 2]);
    let plan = plan_of(&[payments, record, r#"bind = { account = "$payer" }"#]);
    assert_eq!(trips(&plan), [2, 2, 2, 2, 3, 2, 0, 0, 0, 2]);
    let post = r#"
        [pattern.post]
        atomic = [{ run = "record", bind = { account = "$payer" } }]
    "#;
    let plan = plan_of(&[payments, post, record]);
    assert_eq!(trips(&plan), [2, 2, 2, 2, 3, 2, 0, 0, 0, 2]);
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
    assert_eq!(trips(&plan), [4, 4, 4, 4, 5, 4, 4, 0, 0, 4]);
    assert_eq!(bounds(&plan, StoreKind::Postgres).rows_read, 3);
    let reason = &plan.answer(StoreKind::Scylla).refusal().unwrap().reason;
    assert!(reason.contains("guild:{guild_id = invite.guild_id}:members"), "{reason}");
}

#[test]
fn a_key_bound_twice_over_is_read_after_what_it_comes_from() {
    let guilds = r#"
        [collection.invites]
        key = "invite:{code: text}"
        fields = { guild_id = "uuid", uses = "u64 = 0" }

        [collection.members]
        key = "guild:{guild_id: uuid}:members | {user_id: uuid}"
        fields = { role = "text" }

        [pattern.accept]
        atomic = [
            { run = "use_invite", as = "invite" },
            { run = "join", bind = { guild = "invite.guild_id" } },
        ]

        [pattern.use_invite]
        update = "invites"
        compute = { uses = "uses + 1" }

        [pattern.join]
        update = "members"
        bind = { guild_id = "$guild" }
        set = ["role"]
        missing = "create"
    "#;
    let plan = plan_of(&[guilds]);
    // The invite, the member, the commit.
    assert_eq!(bounds(&plan, StoreKind::Memory).round_trips, 3);
}

#[test]
fn what_cassandra_cannot_judge_by_versions_is_read_by_its_store() {
    let likes = r#"
        [collection.likes]
        key = "post:{post: text}:likes | by:{user: text}"
        fields = { at = "timestamp = now" }
        expect = { rows_per_group = 100 }

        [collection.like_counts]
        key = "post:{post: text}:likes | count:{kind: text}"
        value = "counter"
    "#;
    let steps = r#"
        [pattern.put_like]
        insert = "likes"

        [pattern.drop_like]
        delete = "likes"

        [pattern.shift]
        add = "like_counts"
    "#;
    let of = |atomic: &str| {
        let pattern = format!("[pattern.all]\natomic = [{atomic}]");
        let plan = plan_of(&[likes, &pattern, steps]);
        let cassandra = bounds(&plan, StoreKind::Cassandra);
        (cassandra.round_trips, cassandra.rows_read)
    };
    // The row, then the row and the counter by the store, then the transaction.
    assert_eq!(of(r#""put_like", "shift""#), (3, 3));
    // A row that is only looked at: when it ends is not in its version.
    assert_eq!(of(r#"{ check = "likes", as = "mine" }, "drop_like""#).0, 3);
    // Nothing but rows that were read, and nothing but a counter.
    assert_eq!(of(r#""put_like""#).0, 2);
    assert_eq!(of(r#""shift""#), (2, 1));
}
