//! `keyway run`: values in, rows and changes out, what is said about mistakes, and every status.

use crate::{Directory, SHOP, Shop, keyway, keyway_with};
use serde_json::json;

const MILK: [&str; 5] = ["add_product", "shop=a", "sku=1", "title=Milk", "price=3"];

#[test]
fn a_row_is_added_read_changed_and_removed() {
    let shop = Shop::new("run-row");
    let added = shop.done(&[&MILK[..], &["tags=[\"cold\",\"white\"]", "more={\"a\": 1}"]].concat());
    assert_eq!(added["key"], "shop:a:1");
    let row = json!({
        "shop": "a", "sku": "1", "title": "Milk", "price": 3, "state": "new",
        "tags": ["cold", "white"], "note": null, "more": {"a": 1},
    });
    assert_eq!(added["row"], row);
    let got = shop.done(&["get_product", "shop=a", "sku=1"]);
    assert_eq!(got, json!({ "row": row, "version": added["version"] }));
    let listed = shop.done(&["tagged", "shop=a", "tags=white"]);
    assert_eq!(listed, json!({ "rows": [row], "next": null }));
    let version = added["version"].as_str().unwrap();
    let change = ["change_price", "shop=a", "sku=1", "price=4", "--role", "clerk"];
    let changed = shop.done(&[&change[..], &["--if-version", version, "note:=\"null\""]].concat());
    assert_eq!((&changed["row"]["price"], &changed["row"]["note"]), (&json!(4), &json!("null")));
    let again = [&change[..], &["--if-version", version, "--as", "ann"]].concat();
    let again = shop.keyway("run", &again);
    assert_eq!((again.status, again.output.as_str()), (3, ""), "{}", again.complaint);
    let emptied = shop.done(&[&change[..], &["note:=null"]].concat());
    assert_eq!(emptied["row"]["note"], json!(null));
    let removed = shop.done(&["drop_product", "shop=a", "sku=1"]);
    assert_eq!((&removed["key"], &removed["row"]), (&json!("shop:a:1"), &json!(null)));
}

#[test]
fn people_see_tables_lists_and_where_to_go_on() {
    let shop = Shop::new("run-text");
    shop.done(&[&MILK[..], &["tags=[\"cold\"]"]].concat());
    shop.done(&["add_product", "shop=a", "sku=2", "title=A\u{1b}[2J\nB", "price=1"]);
    let listed = shop.keyway("run", &["list_products", "shop=a", "limit=1"]);
    assert_eq!(
        listed.output,
        "shop  sku  title  price  state  tags      note  more\n\
         ────  ───  ─────  ─────  ─────  ────────  ────  ────\n\
         a     1    Milk   3      new    [\"cold\"]\n"
    );
    let cursor = listed.complaint.strip_prefix("note: more rows follow: ").unwrap().trim_end();
    let rest = shop.keyway("run", &["list_products", "shop=a", cursor]);
    assert!(rest.output.contains("a     2    A\\u{1b}[2J\\nB  1"), "{}", rest.output);
    assert_eq!(rest.complaint, "");
    let one = shop.keyway("run", &["get_product", "shop=a", "sku=1"]).output;
    assert!(one.starts_with("shop   a\nsku    1\ntitle  Milk\nprice  3\n"), "{one}");
    assert!(one.contains("\n\nversion  "), "{one}");
    let total = shop.keyway("run", &["view", "sku=1", "amount=5", "--as", "ann"]);
    assert_eq!(total.output, "total  5\n");
    let sold = shop.keyway("run", &["sell", "shop=a", "sku=1", "--as", "ann"]).output;
    assert!(sold.starts_with("mark_sold\n  key      shop:a:1\n  version  "), "{sold}");
    assert!(sold.ends_with("\nview\n  total  6\n"), "{sold}");
}

#[test]
fn rows_and_many_keys_are_json() {
    let shop = Shop::new("run-many");
    let rows = r#"rows=[{"sku":"1","title":"x","price":1},{"sku":"2","title":"y","price":2}]"#;
    let added = shop.done(&["add_products", "shop=a", rows]);
    assert_eq!(added["results"][1]["key"], "shop:a:2");
    let keys = ["get_products", r#"rows=[{"shop":"a","sku":"2"},{"shop":"a","sku":"9"}]"#];
    let got = shop.done(&keys);
    assert_eq!((&got["rows"][0]["title"], &got["rows"][1]), (&json!("y"), &json!(null)));
    let shown = shop.keyway("run", &keys).output;
    assert!(shown.ends_with("-     -    -      -      -      -     -     -\n"), "{shown}");
    for (rows, words) in [
        (
            r#"rows=[{"sku":"3","title":"z","price":1},{"sku":"4"}]"#,
            "argument: title\n  type: text\n  row: 1",
        ),
        (
            r#"rows=[{"sku":"3"},{"sku":"4","price":"x"}]"#,
            "argument: rows[1].price\n  expected: u64",
        ),
        (r#"rows={"sku":"3"}"#, "error: rows are a list of objects\n  argument: rows\n"),
    ] {
        let ran = shop.keyway("run", &["add_products", "shop=a", rows, "--as", "ann"]);
        assert_eq!(ran.status, 2);
        assert!(ran.complaint.contains(words), "{}", ran.complaint);
    }
}

#[test]
fn values_come_from_files_and_standard_input() {
    let shop = Shop::new("run-files");
    let bytes = shop.directory.path("bytes");
    std::fs::write(&bytes, b"\x00\xff\x80").unwrap();
    let put = ["put_picture", "sku=1", "--as", "ann", "--json"];
    let ran = shop.keyway("run", &[&put[..], &[&format!("value=@{bytes}")]].concat());
    assert_eq!(ran.status, 0, "{}", ran.complaint);
    assert_eq!(shop.done(&["get_picture", "sku=1"])["row"]["value"], "AP-A");
    let ran = shop.keyway_with("run", &[&put[..], &["value=@-"]].concat(), "hi\n");
    assert_eq!(ran.status, 0, "{}", ran.complaint);
    assert_eq!(shop.done(&["get_picture", "sku=1"])["row"]["value"], "aGkK");
    let text = shop.directory.write("title", "Long\ntitle");
    let title = format!("title=@{text}");
    shop.done(&["add_product", "shop=a", "sku=1", "price=1", &title]);
    let got = shop.done(&["find_product", "shop=a", &format!("title=@{text}")]);
    assert_eq!(got["row"]["title"], "Long\ntitle");
    let title = format!("title=@{bytes}");
    let add = ["add_product", "shop=a", "sku=2", "price=1", "--as", "ann", &title];
    let ran = shop.keyway("run", &add);
    assert_eq!(ran.status, 2);
    assert!(ran.complaint.contains("is no text, and the argument takes no bytes"));
    let ran = keyway_with(
        &["run", "-", "get_picture", "sku=@-", "--store", "memory:"],
        &std::fs::read_to_string(crate::root().join(SHOP)).unwrap(),
        &[],
    );
    assert_eq!(ran.status, 2);
    assert!(ran.complaint.contains("standard input is read for something else"));
}

#[test]
fn mistakes_are_told_with_the_place_and_the_way_to_call() {
    let shop = Shop::new("run-mistakes");
    shop.done(&["view", "sku=1"]);
    let usage = "add_product shop=text sku=text title=text price=u64 [state=new|sold] \
                 [tags=[text]] [note=text] [more=json]";
    for (arguments, complaint) in [
        (
            &["add_product", "shop=a", "sku=1", "title=x", "price=-3"][..],
            format!(
                "error: a value is not of its type\n  argument: price\n  \
                 expected: u64, a whole number that is not negative\n  given: -3\n  \
                 because: the text is no value of its type (at byte 0)\n  usage: {usage}\n"
            ),
        ),
        (
            &["add_product", "shop=a", "sku=1", "titel=x", "price=3"],
            format!(
                "error: there is no such argument\n  argument: titel\n  did you mean: title\n  \
                 usage: {usage}\n"
            ),
        ),
        (
            &["add_product", "shop=a", "sku=1", "title=x"],
            format!(
                "error: an argument is missing\n  argument: price\n  type: u64\n  \
                 usage: {usage}\n"
            ),
        ),
        (
            &["ad_product"],
            "error: there is no pattern `ad_product`\n  fix: did you mean `add_product`?\n".into(),
        ),
        (
            &["get_product", "shop"],
            "error: `shop` is no argument\n  \
             fix: write name=value; keyway explain lists the names\n"
                .into(),
        ),
        (
            &["get_product", "shop=a", "shop:=1"],
            "error: the argument `shop` is given twice\n  fix: give it once\n".into(),
        ),
        (
            &["get_product", "shop=a", "sku=1", "--id", "x"],
            "error: an id is a UUID: 32 hexadecimal digits in five groups\n  given: x\n".into(),
        ),
        (
            &["list_products", "shop=a", "cursor=x"],
            "error: the cursor is not one of this list, for this caller, or is too old: begin \
             without one\n"
                .into(),
        ),
    ] {
        let ran = shop.keyway("run", &[arguments, &["--as", "ann"]].concat());
        assert_eq!((ran.status, ran.output.as_str()), (2, ""), "{arguments:?}");
        assert_eq!(ran.complaint, complaint, "{arguments:?}");
    }
}

#[test]
fn every_status_has_its_reason() {
    let shop = Shop::new("run-status");
    shop.done(&MILK);
    let as_ann = ["--as", "ann"];
    for (arguments, status, words) in [
        (&["get_product", "shop=a", "sku=9"][..], 1, "there is no such row"),
        (&["change_price", "shop=a", "sku=1", "price=1"], 1, "--role ROLE"),
        (&["change_price", "shop=a", "sku=9", "price=1", "--role", "clerk"], 1, "error: "),
        (&MILK, 3, "error: "),
        (&["add_product", "shop=a", "sku=2", "title=MILK", "price=3"], 3, "products_by_title"),
    ] {
        let ran = shop.keyway("run", &[arguments, &as_ann].concat());
        assert_eq!((ran.status, ran.output.as_str()), (status, ""), "{arguments:?}");
        assert!(ran.complaint.contains(words), "{arguments:?}: {}", ran.complaint);
    }
    let nobody = shop.keyway("run", &MILK);
    assert_eq!(nobody.status, 1);
    assert!(nobody.complaint.contains("fix: say who calls: --as USER"), "{}", nobody.complaint);
    let (runtime, opened) = shop.open();
    let locked = shop.keyway("run", &["get_product", "shop=a", "sku=1"]);
    assert_eq!(locked.status, 4, "{}", locked.complaint);
    assert!(locked.complaint.contains("fix: end the process that has"), "{}", locked.complaint);
    runtime.block_on(opened.close()).unwrap();
    drop(opened);
    assert_eq!(shop.keyway("run", &["get_product", "shop=a", "sku=1"]).status, 0);
    for (store, words) in [("indexeddb:h", "offered: memory:"), ("nothing:x", "begins with ./")] {
        let ran = keyway(&["run", SHOP, "get_product", "shop=a", "sku=1", "--store", store]);
        assert_eq!(ran.status, 2, "{store}");
        assert!(ran.complaint.contains(words), "{store}: {}", ran.complaint);
    }
}

#[test]
fn a_window_that_is_full_is_a_conflict_and_an_answer() {
    let shop = Shop::new("run-window");
    let first = shop.done(&["try_once", "name=x", "amount=2"]);
    assert_eq!((&first["allowed"], &first["remaining"]), (&json!(true), &json!(0)));
    let full = shop.keyway("run", &["try_once", "name=x", "--as", "ann", "--json"]);
    assert_eq!(full.status, 3, "{}", full.complaint);
    let answer: serde_json::Value = serde_json::from_str(&full.output).unwrap();
    assert_eq!((&answer["allowed"], &answer["remaining"]), (&json!(false), &json!(0)));
}

#[test]
fn the_same_id_is_applied_once() {
    let shop = Shop::new("run-id");
    let id = first_id();
    let view = ["view", "sku=1", "amount=5", "--id", &id];
    assert_eq!(shop.done(&view), json!({ "total": 5 }));
    assert_eq!(shop.done(&view), json!({ "total": 5 }));
    assert_eq!(shop.done(&["count_views", "sku=1"])["row"]["value"], 5);
}

/// An id with the time of now in it, as the program makes them.
fn first_id() -> String {
    let random = data::clock::SeededRandom::new(7);
    let now = data::clock::SystemTimeSampled::start().now();
    data::store::CommitId::new(now, &random).to_string()
}

/// A row that still holds a long text, which the file no longer has, is more than its plan allows.
#[test]
fn bounds_are_held_where_the_environment_says_so() {
    let directory = Directory::new("run-bounds");
    let file = |fields: &str| {
        format!(
            "[keyspace]\nname = \"app\"\n\n[collection.pages]\nkey = \"page:{{page: u64}}\"\n\
             fields = {{ {fields} }}\n\n[pattern.put]\nput = \"pages\"\nallow = \"user\"\n\n\
             [pattern.get]\nget = \"pages\"\n"
        )
    };
    let long = directory.write("long.toml", &file(r#"views = "u64", words = "text""#));
    let short = directory.write("short.toml", &file(r#"views = "u64""#));
    let words = format!("words={}", "x".repeat(20_000));
    let url = directory.path("data");
    let put = ["run", &long, "--store", &url, "put", "page=1", "views=2", &words, "--as", "ann"];
    let written = keyway_with(&put, "", &[("KEYWAY_CHECK_BOUNDS", "1")]);
    assert_eq!(written.status, 0, "{}", written.complaint);
    let get = ["run", &short, "--store", &url, "get", "page=1", "--as", "ann"];
    for value in ["", "0", "1"] {
        let read = keyway_with(&get, "", &[("KEYWAY_CHECK_BOUNDS", value)]);
        let held = (read.status, read.complaint.contains("a call used more than its plan allows"));
        assert_eq!(held, (i32::from(value == "1"), value == "1"), "{value}: {}", read.complaint);
        assert_eq!(read.complaint.contains("what: bytes_read"), value == "1", "{}", read.complaint);
    }
}

#[test]
fn without_a_store_there_is_one_beside_the_file() {
    let directory = Directory::new("run-beside");
    let shop = std::fs::read_to_string(crate::root().join(SHOP)).unwrap();
    let path = directory.write("shop.toml", &shop);
    let add = ["run", &path, "view", "sku=1", "--as", "ann"];
    let made = keyway(&add);
    let place = directory.path(".keyway/shop");
    assert_eq!(
        made.complaint,
        format!("note: made a store in {place}; --store URL names another\n")
    );
    assert_eq!((made.status, made.output.as_str()), (0, "total  1\n"));
    assert_eq!(directory.read(".keyway/.gitignore"), "*\n");
    let again = keyway(&add);
    assert_eq!((again.output.as_str(), again.complaint.as_str()), ("total  2\n", ""));
    let same = keyway(&[&add[..], &["--store", &place]].concat());
    assert_eq!(same.output, "total  3\n");
}

#[test]
fn a_file_with_errors_touches_no_store() {
    let directory = Directory::new("run-errors");
    let path = directory.write("bad.toml", "[keyspace]\nname = \"bad\"\nnmae = 1\n");
    let ran = keyway(&["run", &path, "anything"]);
    assert_eq!((ran.status, ran.output.as_str()), (1, ""));
    assert!(ran.complaint.contains("error[KW"), "{}", ran.complaint);
    assert!(!std::path::Path::new(&directory.path(".keyway")).exists());
    let ran = keyway(&["run", &path, "anything", "name"]);
    assert_eq!(ran.status, 2, "{}", ran.complaint);
}

#[test]
fn problems_are_json_too() {
    let shop = Shop::new("run-json");
    let ran = shop.keyway("run", &["get_product", "shop=a", "sku=1", "--json"]);
    assert_eq!(ran.status, 1);
    let answer: serde_json::Value = serde_json::from_str(&ran.output).unwrap();
    assert_eq!(answer, json!({ "row": null, "version": null }));
    let failure: serde_json::Value = serde_json::from_str(&ran.complaint).unwrap();
    assert_eq!(failure, json!({ "error": "there is no such row", "kind": "not found" }));
    let ran = shop.keyway("run", &["get_product", "shop=a", "--json"]);
    let failure: serde_json::Value = serde_json::from_str(&ran.complaint).unwrap();
    assert_eq!(ran.status, 2);
    assert_eq!(failure["kind"], "argument");
    assert_eq!(failure["context"], json!({ "argument": "sku", "type": "text" }));
    assert_eq!(failure["usage"], "get_product shop=text sku=text");
}

#[test]
fn a_cursor_outlives_the_process_on_sqlite() {
    let mut shop = Shop::new("run-sqlite");
    shop.url = format!("sqlite:{}", shop.directory.path("shop.db"));
    for sku in ["1", "2", "3"] {
        shop.done(&[
            "add_product",
            "shop=a",
            &format!("sku={sku}"),
            &format!("title=Tea {sku}"),
            "price=1",
        ]);
    }
    let first = shop.done(&["list_products", "shop=a", "limit=2"]);
    let cursor = format!("cursor={}", first["next"].as_str().unwrap());
    let second = shop.done(&["list_products", "shop=a", "limit=2", &cursor]);
    assert_eq!(second["rows"][0]["sku"], "3");
    assert!(second["next"].is_null());
}
