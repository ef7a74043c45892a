//! How rows are written, and how many entries they have: decided by the file alone, the same on
//! every store.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use keyspace::model::Mode;

#[track_caller]
fn mode(collection: &str, patterns: &str) -> (Mode, Option<String>) {
    let text = format!("[keyspace]\nname = \"test\"\n\n[collection.c]\n{collection}\n{patterns}\n");
    let reading = keyspace::read(&text);
    let keyspace = reading.keyspace.unwrap_or_else(|| panic!("{:?}", reading.diagnostics));
    let collection = keyspace.collection("c").unwrap();
    (keyspace.mode(collection), keyspace.why_conditional(collection).map(str::to_string))
}

const PUT: &str = "[pattern.p]\nput = \"c\"\nallow = \"user\"";

#[test]
fn rows_that_only_put_writes_are_plain() {
    let key = r#"key = "c:{id: text}"
        fields = { a = "text" }"#;
    assert_eq!(mode(key, PUT), (Mode::Plain, None));
}

#[test]
fn a_tenant_in_a_field_is_checked_even_beside_an_owner_in_the_key() {
    let owned = r#"key = "user:{user_id: text} | {id: text}"
        owner = "user_id"
        tenant = "org"
        fields = { org = "text" }
        expect = { rows_per_group = 10 }"#;
    let reason = "its tenant is a field, checked on every use".to_string();
    assert_eq!(mode(owned, "[pattern.p]\nput = \"c\""), (Mode::Conditional, Some(reason)));
}

#[test]
fn a_put_of_immutable_rows_must_see_what_is_there() {
    let immutable = r#"key = "c:{id: text}"
        fields = { a = "text" }
        immutable = true"#;
    assert_eq!(mode(immutable, PUT).0, Mode::Conditional);
    let made = r#"key = "c:{id: uuid = new}"
        fields = { a = "text" }
        immutable = true"#;
    let insert = "[pattern.p]\ninsert = \"c\"\nallow = \"user\"";
    assert_eq!(mode(made, insert).0, Mode::Plain);
}

#[test]
fn slices_and_histories_do_not_draw_in_their_neighbours() {
    let text = r#"
        [keyspace]
        name = "test"

        [collection.c]
        key       = "log:{log: text} | line:{at: ulid = new}"
        fields    = { words = "text" }
        immutable = true
        bucket    = { by = "at", every = "1d" }

        [collection.head]
        key    = "log:{log: text}"
        fields = { lines = "u64 = 0" }

        [pattern.add_line]
        insert = "c"
        allow  = "user"

        [pattern.list_lines]
        list = "c"
        page = 50

        [pattern.open_log]
        insert = "head"
        allow  = "user"
        "#;
    let keyspace = keyspace::read(text).keyspace.unwrap();
    assert_eq!(keyspace.mode(keyspace.collection("head").unwrap()), Mode::Conditional);
    assert_eq!(keyspace.mode(keyspace.collection("c").unwrap()), Mode::Plain);
}

#[test]
fn an_each_of_plain_fields_has_as_many_entries_as_fields() {
    let entries = |each: &str| {
        let text = format!(
            r#"
            [keyspace]
            name = "test"

            [collection.c]
            key    = "move:{{id: uuid = new}}"
            fields = {{ debit = "text", credit = "text", tags = "[text]" }}
            index.by_each.key = "by:{{x = each({each})}}"
            index.by_each.expect.rows_per_group = 10

            [pattern.add]
            insert = "c"
            allow  = "user"

            [pattern.list]
            list = "c.by_each"
            page = 50
            "#
        );
        keyspace::read(&text).keyspace.unwrap().collections[0].indexes[0].entries_max
    };
    assert_eq!(entries("debit, credit"), 2);
    assert_eq!(entries("tags"), 100);
    assert_eq!(entries("debit, tags"), 100);
}
