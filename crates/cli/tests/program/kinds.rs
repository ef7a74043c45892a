//! The program on other stores than the engine: each run is a process of its own, so that what one
//! leaves the next must find.

use crate::{Directory, Shop, root};
use serde_json::{Value, json};

impl Shop {
    /// A shop on another kind of store.
    fn on(scheme: &str, test: &str) -> Shop {
        let directory = Directory::new(test);
        let url = format!("{scheme}:{}", directory.path("data"));
        Shop { directory, url }
    }
}

/// Calls patterns, lists them page by page, looks for problems, and takes all rows out.
fn a_day_on(scheme: &str) -> Shop {
    let shop = Shop::on(scheme, &format!("stores-{scheme}"));
    for (sku, title) in [("1", "Milk"), ("2", "Tea"), ("3", "Salt")] {
        let (sku, title) = (format!("sku={sku}"), format!("title={title}"));
        shop.done(&["add_product", "shop=a", &sku, &title, "price=5", "tags=[\"x\"]"]);
    }
    shop.done(&["put_picture", "sku=1", "value=AP-A"]);
    assert_eq!(shop.done(&["view", "sku=1", "amount=7"]), json!({ "total": 7 }));
    assert_eq!(shop.done(&["view", "sku=1"]), json!({ "total": 8 }), "{scheme}");
    let skus = |page: &Value| -> Vec<String> {
        let rows = page["rows"].as_array().unwrap().iter();
        rows.map(|row| row["sku"].as_str().unwrap().to_string()).collect()
    };
    for pattern in [&["list_products", "shop=a"][..], &["tagged", "shop=a", "tags=x"]] {
        let first = shop.done(&[pattern, &["limit=2"]].concat());
        assert_eq!(skus(&first), ["1", "2"], "{scheme} {pattern:?}");
        // Another process seals cursors with the same secret.
        let cursor = format!("cursor={}", first["next"].as_str().unwrap());
        let rest = shop.done(&[pattern, &["limit=2", &cursor]].concat());
        assert_eq!(skus(&rest), ["3"], "{scheme} {pattern:?}");
        assert_eq!(rest["next"], Value::Null, "{scheme} {pattern:?}");
    }
    let taken = ["add_product", "shop=a", "sku=4", "title=MILK", "price=1", "--as", "ann"];
    let ran = shop.keyway("run", &taken);
    assert_eq!(ran.status, 3, "{scheme}: {}", ran.output);
    assert!(ran.complaint.contains("belongs to another row"), "{scheme}: {}", ran.complaint);
    let scrubbed = shop.keyway("scrub", &["--json"]);
    assert_eq!((scrubbed.status, scrubbed.complaint.as_str()), (0, ""), "{scheme}");
    let scrubbed: Value = serde_json::from_str(&scrubbed.output).unwrap();
    let clean = json!({
        "problems": [], "complete": true, "rows": 5, "entries": 6, "found": 0, "repaired": 0
    });
    assert_eq!(scrubbed, clean, "{scheme}");
    shop
}

#[test]
fn a_store_of_every_kind_without_a_server_says_the_same() {
    let export = |shop: &Shop| {
        let ran = shop.keyway("export", &[]);
        assert_eq!((ran.status, ran.complaint.as_str()), (0, ""), "{}", shop.url);
        ran.output
    };
    let on_engine = export(&a_day_on("engine"));
    let files = a_day_on("files");
    assert_eq!(export(&files), on_engine);
    let sqlite = a_day_on("sqlite");
    assert_eq!(export(&sqlite), on_engine);
    // What is there is what a person would look for.
    let product = files.directory.read("data/shop/a/1.json");
    assert_eq!(serde_json::from_str::<Value>(&product).unwrap()["title"], "Milk");
    let database = std::fs::read(root().join(sqlite.directory.path("data"))).unwrap();
    assert!(database.starts_with(b"SQLite format 3\0"));
}
