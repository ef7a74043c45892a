//! What is proposed where an `atomic` touches groups that lie apart.

use super::plan_of;
use crate::model::StoreKind;

/// Lists of a user and their items, moved together with what `other` declares.
fn lists(other: &str) -> String {
    format!(
        r#"
        [pattern.both]
        atomic = ["add_item", "note_it"]

        [collection.items]
        key = "user:{{user_id: text}}:list:{{list_id: ulid}} | item:{{item_id: ulid = new}}"
        fields = {{ title = "text" }}
        owner = "user_id"
        expect = {{ rows_per_group = 1_000 }}

        [pattern.add_item]
        insert = "items"
        allow = "owner"

        [pattern.list_items]
        list = "items"
        page = 10
        {other}
        "#
    )
}

/// The fixes of the first pattern's refusal, which all stores of one group share.
fn fixes(parts: &[&str]) -> Vec<String> {
    let plan = plan_of(parts);
    let refusal = plan.answer(StoreKind::Cassandra).refusal().unwrap();
    assert_eq!(Some(refusal), plan.answer(StoreKind::RedisCluster).refusal());
    assert_eq!(
        refusal.fixes[1],
        "keep to stores whose commits reach everywhere: `stores = [\"engine\", \"postgres\", \
         \"redis\"]`"
    );
    refusal.fixes.clone()
}

#[test]
fn the_bar_moves_to_where_groups_begin_to_differ() {
    let inbox = lists(
        r#"
        [collection.inbox]
        key = "user:{user_id: text}:inbox:{day: date} | {entry: ulid = new}"
        fields = { words = "text" }
        owner = "user_id"
        expect = { rows_per_group = 1_000 }

        [pattern.note_it]
        insert = "inbox"
        allow = "owner"
        "#,
    );
    let items = "user:{user_id: text} | list:{list_id: ulid}:item:{item_id: ulid = new}";
    let entries = "user:{user_id: text} | inbox:{day: date}:{entry: ulid = new}";
    assert_eq!(
        fixes(&[&inbox])[0],
        format!(
            "share a group, with the bar where they begin to differ: `{items}` as the key of \
             `items`, `{entries}` as the key of `inbox`; lists of `items` then say \
             `by = [\"user_id\", \"list_id\"]`"
        )
    );
    // As it is told, it is so.
    let mended = inbox
        .replace("user:{user_id: text}:list:{list_id: ulid} | item:{item_id: ulid = new}", items)
        .replace("user:{user_id: text}:inbox:{day: date} | {entry: ulid = new}", entries)
        .replace("list = \"items\"", "list = \"items\"\n by = [\"user_id\", \"list_id\"]");
    let plan = plan_of(&[&mended]);
    assert!(plan.answers().all(|(_, answer)| answer.bounds().is_some()), "{plan:?}");
}

#[test]
fn no_key_is_proposed_where_groups_have_nothing_in_common() {
    let log = lists(
        r#"
        [collection.log]
        key = "log:{day: date}:{user: text} | {entry: ulid = new}"
        fields = { words = "text" }
        expect = { rows_per_group = 1_000 }

        [pattern.note_it]
        insert = "log"
        allow = "user"
        "#,
    );
    assert_eq!(
        fixes(&[&log])[0],
        "make them two calls, as a reservation and its confirmation: first `add_item`, then \
         `note_it`"
    );
}

#[test]
fn an_owner_stays_first_in_its_group() {
    let shops = r#"
        [pattern.both]
        atomic = ["add_visit", "count"]

        [collection.visits]
        key = "shop:{tenant_id: text}:of:{user_id: text} | {visit_id: ulid = new}"
        fields = { seen = "text" }
        tenant = "tenant_id"
        owner = "user_id"
        expect = { rows_per_group = 1_000 }

        [collection.days]
        key = "shop:{tenant_id: text}:days:{day: date} | {page: text}"
        value = "counter"
        tenant = "tenant_id"
        expect = { rows_per_group = 1_000 }

        [pattern.add_visit]
        insert = "visits"
        allow = "owner"

        [pattern.count]
        add = "days"
        allow = "user"
    "#;
    assert!(fixes(&[shops])[0].starts_with("make them two calls"), "{:?}", fixes(&[shops]));
}

#[test]
fn a_tenant_declared_in_one_collection_only_is_named() {
    let likes = |tenant: &str| {
        format!(
            r#"
            [pattern.like]
            atomic = ["put_like", "count"]

            [collection.likes]
            key = "org:{{tenant_id: text}}:post:{{post_id: text}} | like:{{user: text}}"
            tenant = "tenant_id"
            expect = {{ rows_per_group = 1_000 }}

            [collection.like_counts]
            key = "org:{{tenant_id: text}}:post:{{post_id: text}} | likes"
            value = "counter"
            {tenant}

            [pattern.put_like]
            put = "likes"
            allow = "user"

            [pattern.count]
            add = "like_counts"
            allow = "user"
            "#
        )
    };
    assert_eq!(
        fixes(&[&likes("")])[0],
        "`tenant_id` is the caller's in `likes` and an argument in `like_counts`: declare \
         `tenant = \"tenant_id\"` there too"
    );
    let plan = plan_of(&[&likes("tenant = \"tenant_id\"")]);
    assert!(plan.answers().all(|(_, answer)| answer.bounds().is_some()), "{plan:?}");
}
