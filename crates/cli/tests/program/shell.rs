//! `keyway shell` as a script is given to it: one command a line, and where it fails.

use crate::{Directory, SHOP, Shop, keyway_with};
use serde_json::{Value, json};

fn script(lines: &str, rest: &[&str]) -> crate::Ran {
    keyway_with(&[&["shell", SHOP, "--store", "memory:"], rest].concat(), lines, &[])
}

#[test]
fn a_script_calls_pages_and_changes_its_caller() {
    let ran = script(
        "# three products\n\
         as ann\n\
         add_product shop=a sku=1 title=\"Red tea\" price=1 tags=[\"a b\", \"c\"]\n\
         add_product shop=a sku=2 title='it\"s' price=2\n\
         \n\
         call add_product shop=a sku=3 title=Three price=3 more:={\"k\": null}\n\
         list_products shop=a limit=2\n\
         next\n\
         quit\n\
         this line is never read\n",
        &["--json"],
    );
    assert_eq!((ran.status, ran.complaint.as_str()), (0, ""), "{}", ran.output);
    let answers: Vec<Value> =
        ran.output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 5);
    assert_eq!(answers[0]["row"]["tags"], json!(["a b", "c"]));
    assert_eq!(answers[1]["row"]["title"], "it\"s");
    assert_eq!(answers[2]["row"]["more"], json!({ "k": null }));
    assert_eq!(answers[3]["rows"].as_array().unwrap().len(), 2);
    assert_eq!(answers[4]["rows"][0]["title"], "Three");
    assert_eq!(answers[4]["next"], json!(null));
}

#[test]
fn the_first_failure_ends_a_script_and_names_its_line() {
    let lines = "as ann\nview sku=1\n\nget_product shop=a sku=1\nview sku=1\nad_product\n";
    let ran = script(lines, &[]);
    assert_eq!((ran.status, ran.output.as_str()), (1, "total  1\n"));
    assert_eq!(ran.complaint, "error: line 4: there is no such row\n");
    let ran = script(lines, &["--keep-going"]);
    assert_eq!((ran.status, ran.output.as_str()), (1, "total  1\ntotal  2\n"));
    assert_eq!(
        ran.complaint,
        "error: line 4: there is no such row\n\
         error: line 6: there is no pattern `ad_product`\n  fix: did you mean `add_product`?\n"
    );
    let ran = script("get_product shop=a\n", &["--json"]);
    let failure: Value = serde_json::from_str(&ran.complaint).unwrap();
    assert_eq!((ran.status, &failure["line"]), (2, &json!(1)));
}

#[test]
fn what_is_no_command_is_told_how_it_is_used() {
    for (line, words) in [
        ("next", "there is no next page"),
        ("explain", "fix: explain PATTERN"),
        ("as ann bob", "fix: as [USER]"),
        ("call", "there is no pattern to call"),
        ("store nothing:x", "there is no store of this name"),
        ("view sku=@-", "standard input is read for something else"),
        ("view sku=\"x", "has no end"),
        ("help vew", "did you mean `view`?"),
    ] {
        let ran = script(line, &[]);
        assert_eq!((ran.status, ran.output.as_str()), (2, ""), "{line}");
        assert!(ran.complaint.contains(words), "{line}: {}", ran.complaint);
        assert!(ran.complaint.starts_with("error: line 1: "), "{}", ran.complaint);
    }
}

#[test]
fn the_caller_has_a_user_a_tenant_and_roles() {
    let ran = script(
        "as ann\nadd_product shop=a sku=1 title=x price=1\nrole clerk\n\
         change_price shop=a sku=1 price=2\nrole\nchange_price shop=a sku=1 price=3\n",
        &[],
    );
    assert_eq!(ran.status, 1);
    assert!(ran.complaint.starts_with("error: line 6: "), "{}", ran.complaint);
    assert!(ran.complaint.contains("role: clerk"), "{}", ran.complaint);
    let ran = script("as\nview sku=1\n", &["--as", "ann"]);
    assert!(ran.complaint.contains("as USER"), "{}", ran.complaint);
}

#[test]
fn it_says_what_can_be_called() {
    let ran = script("patterns\nhelp\nhelp view\nexplain view\nstore\n", &[]);
    assert_eq!(ran.status, 0, "{}", ran.complaint);
    for words in [
        "\nview           add views ",
        "\nnext                  the next page of the last list\n",
        "\nview sku=text [amount=i64]\n",
        "\n  memory\n",
        "\nmemory:\n",
    ] {
        assert!(ran.output.contains(words), "{words}: {}", ran.output);
    }
    let ran = script("patterns\nhelp\nhelp view\nexplain view\nstore\n", &["--json"]);
    assert_eq!(ran.output.lines().count(), 5);
    for line in ran.output.lines() {
        assert!(serde_json::from_str::<Value>(line).unwrap().is_object(), "{line}");
    }
}

#[test]
fn another_store_is_another_store() {
    let shop = Shop::new("shell-store");
    let other = format!("engine:{}", shop.directory.path("other"));
    let script = format!(
        "as ann\nview sku=1\nstore {other}\nview sku=1 amount=7\nstore {}\nview sku=1\n",
        shop.url
    );
    let ran = shop.keyway_with("shell", &[], &script);
    let made = |name: &str| format!("note: made a store in {}\n", shop.directory.path(name));
    assert_eq!((ran.status, ran.complaint), (0, made("data") + &made("other")));
    assert_eq!(ran.output, "total  1\ntotal  7\ntotal  2\n");
}

#[test]
fn a_script_leaves_no_history() {
    let directory = Directory::new("shell-history");
    let home = [("HOME", directory.0.to_str().unwrap()), ("XDG_DATA_HOME", "")];
    let ran = keyway_with(&["shell", SHOP, "--store", "memory:"], "patterns\n", &home);
    assert_eq!(ran.status, 0);
    assert_eq!(std::fs::read_dir(&directory.0).unwrap().count(), 0);
    let ran = keyway_with(&["shell", "-"], "", &[]);
    assert_eq!(ran.status, 2);
    assert!(ran.complaint.contains("fix: give the keyspace in a file"), "{}", ran.complaint);
}
