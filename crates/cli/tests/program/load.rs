//! `keyway load`: many lines, bad lines, and going on.

use crate::{Shop, keyway_with};
use serde_json::{Value, json};

fn lines(count: usize) -> String {
    let line = |number| {
        let (sku, title) = (format!("{number:05}"), format!("T{number}"));
        format!("{}\n", json!({ "shop": "a", "sku": sku, "title": title, "price": 1 }))
    };
    (0..count).map(line).collect()
}

const LOAD: [&str; 4] = ["--pattern", "add_product", "--as", "ann"];

#[test]
fn ten_thousand_lines() {
    let shop = Shop::new("load-many");
    let path = shop.directory.write("products.jsonl", &lines(10_000));
    // The disk of a test need not survive a power cut.
    let url = format!("{}?durability=process", shop.url);
    let ran =
        keyway_with(&[&["load", crate::SHOP, &path, "--store", &url], &LOAD[..]].concat(), "", &[]);
    let note = format!("note: made a store in {}\n", shop.directory.path("data"));
    assert_eq!((ran.status, ran.complaint), (0, note));
    assert!(ran.output.starts_with("10,000 calls in "), "{}", ran.output);
    let last = shop.done(&["get_product", "shop=a", "sku=09999"]);
    assert_eq!(last["row"]["title"], "T9999");
    let scrubbed = shop.keyway("scrub", &[]);
    assert_eq!(
        (scrubbed.status, scrubbed.output.as_str()),
        (0, "10,000 rows, 10,000 entries: every index says what the rows say\n")
    );
}

#[test]
fn the_first_bad_line_ends_it_and_says_where_to_go_on() {
    let shop = Shop::new("load-bad");
    shop.done(&["view", "sku=1"]);
    let text = format!("\n{}{{\"shop\": \"a\"}}\n{}", lines(2), lines(5));
    let ran = shop.keyway_with("load", &[&LOAD[..], &["--parallel", "1"]].concat(), &text);
    assert_eq!(ran.status, 2);
    assert!(ran.output.starts_with("2 calls in ") && ran.output.ends_with(", 1 failed\n"));
    assert!(
        ran.complaint.starts_with(
            "note: every line up to 4 but 4 is done; --from 5 goes on after it\n\
             error: line 4: an argument is missing\n  argument: sku\n  type: text\n  usage: "
        ),
        "{}",
        ran.complaint
    );
    let from = ["--parallel", "1", "--from", "7", "--json"];
    let ran = shop.keyway_with("load", &[&LOAD[..], &from].concat(), &text);
    assert_eq!(ran.status, 0, "{}", ran.complaint);
    let summary: Value = serde_json::from_str(&ran.output).unwrap();
    assert_eq!((&summary["done"], &summary["failed"]), (&json!(3), &json!(0)));
    assert_eq!((&summary["last_line"], &summary["complete"]), (&json!(9), &json!(true)));
}

#[test]
fn lines_that_fail_are_counted_and_told_if_asked() {
    let shop = Shop::new("load-going");
    shop.done(&["view", "sku=1"]);
    let text = format!("{}{}[1]\n{{\"shop\":\"a\",\"shop\":\"b\"}}\n", lines(3), lines(4));
    let ran = shop.keyway_with("load", &[&LOAD[..], &["--keep-going"]].concat(), &text);
    assert_eq!(ran.status, 1);
    assert!(ran.output.starts_with("4 calls in "), "{}", ran.output);
    assert!(ran.output.ends_with(", 5 failed\n"), "{}", ran.output);
    let mut told: Vec<(u64, String)> = ran
        .complaint
        .lines()
        .map(|line| {
            let failure: Value = serde_json::from_str(line).unwrap();
            let kind = failure["kind"].as_str().unwrap_or("line").to_string();
            (failure["line"].as_u64().unwrap(), kind)
        })
        .collect();
    told.sort();
    // Of two lines that are the same row, either may come first.
    assert_eq!(told.len(), 5);
    assert!(told.iter().take(3).all(|(_, kind)| kind == "conflict" || kind == "taken"), "{told:?}");
    assert_eq!(told[3], (8, "line".to_string()));
    assert_eq!(told[4], (9, "line".to_string()));
}

#[test]
fn what_cannot_be_loaded_makes_no_store() {
    let shop = Shop::new("load-none");
    let none = shop.directory.path("none.jsonl");
    let ran = shop.keyway("load", &[&LOAD[..], &[&none]].concat());
    assert_eq!(ran.status, 2);
    assert!(ran.complaint.contains("cannot read"), "{}", ran.complaint);
    assert!(!std::path::Path::new(&shop.directory.path("data")).exists());
    let ran = keyway_with(&[&["load", "-"], &LOAD[..]].concat(), "", &[]);
    assert_eq!(ran.status, 2);
    assert!(ran.complaint.contains("cannot be the keyspace file and the data"));
    let ran = shop.keyway_with("load", &["--pattern", "ad_product"], "");
    assert_eq!(ran.status, 2);
    assert!(ran.complaint.contains("did you mean `add_product`?"), "{}", ran.complaint);
}
