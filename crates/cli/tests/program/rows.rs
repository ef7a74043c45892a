//! Work on all rows of a store: scrub, export and import.

use crate::{Ran, SHOP, Shop, keyway};
use data::maintain::Walk;
use data::store::{Batch, CommitId, Write};
use serde_json::{Value, json};

/// A shop with rows of every kind.
fn filled(test: &str) -> Shop {
    let shop = Shop::new(test);
    let calls = "as ann\n\
        add_product shop=a sku=1 title=Milk price=1 tags=[\"cold\", \"white\"]\n\
        add_product shop=a sku=2 title=Tea price=2 note=\"x:y\" more={\"a\": [1, null]}\n\
        add_product shop=b sku=1 title=Milk price=3 tags=[\"cold\"]\n\
        put_picture sku=1 value=AP-A\n\
        view sku=1 amount=7\n\
        try_once name=ann\n";
    let ran = shop.keyway_with("shell", &[], calls);
    assert_eq!(ran.status, 0, "{}", ran.complaint);
    shop
}

#[test]
fn an_export_comes_back_as_it_was() {
    let shop = filled("rows-trip");
    let path = shop.directory.path("rows.jsonl");
    let ran = shop.keyway("export", &["-o", &path]);
    assert_eq!((ran.status, ran.complaint.as_str()), (0, ""));
    assert!(ran.output.starts_with(&format!("{path}: 6 rows in ")), "{}", ran.output);
    let exported = shop.directory.read("rows.jsonl");
    let lines: Vec<Value> =
        exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        lines[0],
        json!({
            "keyway": 1, "keyspace": "shop",
            "collections": ["products", "pictures", "views", "tries"],
        })
    );
    assert_eq!(lines[1]["collection"], "products");
    assert_eq!(lines[1]["row"]["tags"], json!(["cold", "white"]));
    assert_eq!(lines.last().unwrap(), &json!({ "end": { "rows": 6 } }));
    let other = Shop::new("rows-trip-other");
    let ran = other.keyway("import", &[&path]);
    let note = format!("note: made a store in {}\n", other.directory.path("data"));
    assert_eq!((ran.status, ran.complaint), (0, note));
    assert!(ran.output.starts_with("6 rows written, 0 were there already, in "), "{}", ran.output);
    assert_eq!(other.keyway("export", &[]).output, exported);
    let scrubbed = other.keyway("scrub", &["--json"]);
    assert_eq!(scrubbed.status, 0, "{}", scrubbed.complaint);
    let scrubbed: Value = serde_json::from_str(&scrubbed.output).unwrap();
    assert_eq!(
        scrubbed,
        json!({
            "problems": [], "complete": true, "rows": 6, "entries": 6, "found": 0, "repaired": 0
        })
    );
    assert_eq!(other.done(&["view", "sku=1"]), json!({ "total": 8 }));
    assert_eq!(other.done(&["tagged", "shop=b", "tags=cold"])["rows"][0]["price"], 3);
}

#[test]
fn rows_that_are_there_are_replaced_kept_or_refused() {
    let shop = filled("rows-existing");
    let exported = shop.keyway("export", &["--collection", "products"]).output;
    assert_eq!(exported.lines().count(), 5);
    shop.done(&["change_price", "shop=a", "sku=1", "price=9", "--role", "clerk"]);
    let price = || shop.done(&["get_product", "shop=a", "sku=1"])["row"]["price"].clone();
    let refused = shop.keyway_with("import", &["--existing", "refuse"], &exported);
    assert_eq!(refused.status, 3);
    assert!(
        refused.complaint.starts_with("error: line 2: a row is there already\n"),
        "{}",
        refused.complaint
    );
    let kept = shop.keyway_with("import", &["--existing", "keep", "--json"], &exported);
    let kept: Value = serde_json::from_str(&kept.output).unwrap();
    assert_eq!((&kept["written"], &kept["kept"]), (&json!(0), &json!(3)));
    assert_eq!(price(), 9);
    let replaced = shop.keyway_with("import", &["--json"], &exported);
    let replaced: Value = serde_json::from_str(&replaced.output).unwrap();
    assert_eq!((&replaced["written"], &replaced["kept"]), (&json!(1), &json!(2)));
    assert_eq!(price(), 1);
    assert_eq!(shop.keyway("scrub", &[]).status, 0);
}

const HEADER: &str = "{\"keyway\":1,\"keyspace\":\"shop\"}\n";

fn product(sku: &str, title: &str) -> String {
    let row = json!({ "shop": "a", "sku": sku, "title": title, "price": 1, "state": "new",
        "tags": [], "note": null, "more": null });
    format!("{}\n", json!({ "collection": "products", "row": row }))
}

#[test]
fn a_line_that_does_not_fit_is_named() {
    let one = product("1", "x");
    for (lines, status, words) in [
        (format!("{HEADER}{one}"), 1, "line 2: the export has no end"),
        (format!("{HEADER}{one}{{\"end\":{{\"rows\":2}}}}\n"), 1, "line 3: the end tells"),
        (format!("{HEADER}{one}{{\"end\":{{\"rows\":1}}}}\n{one}"), 1, "line 4: there are lines"),
        (format!("{HEADER}\n{one}{{\"row\": {{}}}}\n"), 2, "line 4: a line names no collection"),
        (format!("{HEADER}{one}{one}{{\n"), 1, "line 4: the line is not a JSON object"),
        (format!("{HEADER}{}", one.replace("\"x\"", "5")), 2, "line 2: a value is not of its type"),
        (format!("{HEADER}{one}{}", product("2", "X")), 3, "line 3: a unique value belongs"),
        (one.clone(), 1, "line 1: the first line is not that of an export"),
        (String::new(), 1, "line 1: the first line is not that of an export"),
        (HEADER.replace('1', "2"), 1, "line 1: the export is of format 2"),
        (HEADER.replace("shop", "chat"), 1, "line 1: the export is of the keyspace `chat`"),
    ] {
        let shop = Shop::new("rows-lines");
        let ran = shop.keyway_with("import", &[], &lines);
        let mut said = ran.complaint.lines().filter(|line| !line.starts_with("note: "));
        let first = said.next().unwrap_or_default();
        assert_eq!(ran.status, status, "{words}: {}", ran.complaint);
        assert!(first.starts_with(&format!("error: {words}")), "{words}: {first}");
        assert!(ran.complaint.contains("fix: ") || status != 1, "{words}: {}", ran.complaint);
    }
}

#[test]
fn what_came_before_a_bad_line_is_brought_in() {
    let shop = Shop::new("rows-before");
    let lines = format!("{HEADER}{}{}no\n", product("1", "x"), product("2", "y"));
    let ran = shop.keyway_with("import", &[], &lines);
    assert_eq!(ran.status, 1);
    assert!(ran.output.starts_with("2 rows written, "), "{}", ran.output);
    assert_eq!(shop.done(&["get_product", "shop=a", "sku=2"])["row"]["title"], "y");
}

#[test]
fn what_only_looks_makes_no_store() {
    let shop = Shop::new("rows-none");
    for command in ["scrub", "export"] {
        let ran = shop.keyway(command, &[]);
        assert_eq!((ran.status, ran.output.as_str()), (4, ""), "{command}");
        assert!(ran.complaint.contains("there is no store in "), "{}", ran.complaint);
    }
    assert!(!std::path::Path::new(&shop.directory.path("data")).exists());
    let ran = keyway(&["export", SHOP, "--store", "memory:"]);
    assert_eq!(ran.status, 4, "{}", ran.complaint);
    let ran = filled("rows-names").keyway("export", &["--collection", "product"]);
    assert_eq!(ran.status, 2);
    assert!(ran.complaint.contains("did you mean `products`?"), "{}", ran.complaint);
}

#[test]
fn an_export_that_fails_leaves_no_file() {
    let shop = filled("rows-file");
    let into = shop.directory.path("none/rows.jsonl");
    let ran = shop.keyway("export", &["-o", &into]);
    assert_eq!(ran.status, 2);
    assert!(ran.complaint.contains("fix: name a file that can be written"), "{}", ran.complaint);
    let path = shop.directory.path("rows.jsonl");
    let ran = shop.keyway("export", &["-o", &path, "--json"]);
    let said: Value = serde_json::from_str(&ran.output).unwrap();
    assert_eq!(said, json!({ "rows": 6, "output": path }));
    assert!(!std::path::Path::new(&format!("{path}.part")).exists());
}

/// Takes away, behind Keyway's back, the first entry of an index of products.
fn damage(shop: &Shop, index: usize) {
    let (runtime, keyway) = shop.open();
    runtime.block_on(async {
        let run_time = keyway.runtime();
        let products = run_time.schema().collection("products").unwrap();
        let store = run_time.store();
        let mut walk = Walk::over(products.indexes[index].key.space);
        let page = walk.next(store.as_ref()).await.unwrap().unwrap();
        let options = run_time.options();
        let now = options.clock.now();
        let batch = Batch {
            id: CommitId::new(now, options.random.as_ref()),
            now,
            checks: Vec::new(),
            writes: vec![Write::Delete { key: page[0].key.clone() }],
            deadline: now + 10_000,
        };
        store.commit(&batch).await.unwrap();
        keyway.close().await.unwrap();
    });
}

#[test]
fn an_entry_that_is_gone_is_found_and_put_back() {
    let shop = filled("rows-scrub");
    damage(&shop, 0);
    damage(&shop, 1);
    let found: Ran = shop.keyway("scrub", &[]);
    assert_eq!(
        (found.status, found.output.as_str()),
        (
            1,
            "missing      products.products_by_title  title:a:milk\n\
             missing      products.products_by_tag  shop:a:tag:cold:1\n\
             6 rows, 4 entries: 2 problems; --repair mends them\n"
        )
    );
    let objects: Value = serde_json::from_str(&shop.keyway("scrub", &["--json"]).output).unwrap();
    assert_eq!(
        objects["problems"][1],
        json!({ "kind": "missing", "collection": "products", "index": "products_by_tag",
            "key": "shop:a:tag:cold:1", "repaired": false })
    );
    assert_eq!(shop.done(&["tagged", "shop=a", "tags=cold"])["rows"], json!([]));
    let mended = shop.keyway("scrub", &["--repair"]);
    assert_eq!(mended.status, 0, "{}", mended.complaint);
    assert!(mended.output.ends_with(": 2 problems found and repaired\n"), "{}", mended.output);
    assert_eq!(shop.keyway("scrub", &[]).status, 0);
    assert_eq!(shop.done(&["tagged", "shop=a", "tags=cold"])["rows"][0]["title"], "Milk");
}

/// What a copy says, as JSON.
fn copied(shop: &Shop, more: &[&str], status: i32) -> Value {
    let to = format!("engine:{}", shop.directory.path("copy"));
    let arguments = ["copy", SHOP, "--from", &shop.url, "--to", &to, "--json"];
    let ran = keyway(&[&arguments, more].concat());
    assert_eq!(ran.status, status, "{}", ran.complaint);
    serde_json::from_str(&ran.output).unwrap()
}

#[test]
fn a_copy_is_the_same_and_a_difference_is_told() {
    let shop = filled("rows-copy");
    let first = copied(&shop, &[], 0);
    assert_eq!(first["copied"], 6);
    assert_eq!(first["collections"][0]["collection"], "products");
    assert_eq!(first["collections"][0]["from"], first["collections"][0]["to"]);
    assert_eq!(first["collections"][0]["from"]["rows"], 3);
    // The same again finds everything there.
    assert_eq!(copied(&shop, &[], 0)["collections"], first["collections"]);
    shop.done(&["change_price", "shop=a", "sku=1", "price=9", "--role", "clerk"]);
    let differs = copied(&shop, &["--compare-only"], 1);
    assert_eq!(differs["copied"], 0);
    assert_eq!(differs["collections"][0]["same"], false);
    assert_eq!(differs["collections"][1]["same"], true);
    assert_eq!(copied(&shop, &["--again"], 0)["collections"][0]["same"], true);
}

#[test]
fn a_store_is_not_copied_onto_itself() {
    let ran = keyway(&["copy", SHOP, "--from", "engine:x", "--to", "engine:x"]);
    assert_eq!(ran.status, 2);
    assert!(ran.complaint.contains("onto itself"), "{}", ran.complaint);
}
