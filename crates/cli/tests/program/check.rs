//! `keyway check`: what it prints, in both forms, and how it ends.

use crate::{apps, command, keyway, keyway_with};

/// Two errors, apart.
const BAD: &str = "[keyspace]\nname = \"shop\"\n\n\
    [collection.users]\nkey = \"user:{user_id: string}\"\nvalue = \"jsn\"\n\n\
    [pattern.get_user]\nget = \"users\"\n\n\
    [pattern.put_user]\nput = \"users\"\nallow = \"role:admin\"\n";

#[test]
fn the_applications_pass_without_a_warning() {
    for app in apps() {
        let ran = keyway(&["check", &app]);
        assert_eq!(ran.status, 0, "{}", ran.output);
        assert_eq!(ran.complaint, "");
        let first = ran.output.lines().next().unwrap();
        assert!(first.starts_with(&format!("{app}: ")), "{first}");
        assert!(first.ends_with(": all answered by bounded work"), "{first}");
        assert!(ran.output.contains("\nstore           native  assisted  refused\n"));
        assert_eq!(ran.output.matches("\nredis-cluster ").count(), 1);
    }
}

#[test]
fn the_starter_passes_without_a_warning() {
    let starter = keyway(&["new", "shop"]).output;
    let ran = keyway_with(&["check", "-"], &starter, &[]);
    assert_eq!(ran.status, 0, "{}", ran.output);
    assert!(!ran.output.contains("warning"), "{}", ran.output);
    assert!(ran.output.contains("all answered by bounded work\n"), "{}", ran.output);
    assert!(!ran.output.contains("note["), "no store refuses any of it:\n{}", ran.output);
}

#[test]
fn every_problem_is_shown_with_its_place_and_then_counted() {
    let ran = keyway_with(&["check", "-"], BAD, &[]);
    assert_eq!(ran.status, 1);
    assert!(ran.output.contains("error[KW023]"), "{}", ran.output);
    assert!(ran.output.contains("error[KW003]"), "{}", ran.output);
    assert!(ran.output.contains("--> <standard input>:5:23"), "{}", ran.output);
    let last = ran.output.lines().last().unwrap();
    assert!(last.starts_with("2 errors in <standard input>"), "{last}");
    assert!(last.ends_with("keyway why KW023"), "{last}");
    assert!(!ran.output.contains('\u{1b}'), "no colours in a pipe");
}

#[test]
fn problems_as_json() {
    let ran = keyway_with(&["check", "-", "--json"], BAD, &[]);
    assert_eq!(ran.status, 1);
    let object: serde_json::Value = serde_json::from_str(&ran.output).unwrap();
    assert_eq!(object["ok"], false);
    assert_eq!(object["errors"], 2);
    assert_eq!(object["keyspace"], serde_json::Value::Null);
    let first = &object["problems"][0];
    assert_eq!(first["code"], "KW023");
    assert_eq!(first["severity"], "error");
    assert_eq!(first["places"][0]["line"], 5);
    assert_eq!(first["places"][0]["column"], 23);
    assert_eq!(first["fixes"][0]["edit"]["replacement"], "text");
    let start = first["fixes"][0]["edit"]["start"].as_u64().unwrap() as usize;
    let end = first["fixes"][0]["edit"]["end"].as_u64().unwrap() as usize;
    assert_eq!(&BAD[start..end], "string");
}

#[test]
fn success_as_json() {
    let ran = keyway(&["check", "apps/chat/keyspace.toml", "--json"]);
    assert_eq!(ran.status, 0);
    let object: serde_json::Value = serde_json::from_str(&ran.output).unwrap();
    assert_eq!(object["ok"], true);
    assert_eq!(object["file"], "apps/chat/keyspace.toml");
    assert_eq!(object["keyspace"]["name"], "chat");
    let stores = object["stores"].as_array().unwrap();
    assert_eq!(stores.len(), 10);
    let patterns = object["keyspace"]["patterns"].as_u64().unwrap();
    for store in stores {
        let count = |name: &str| store[name].as_u64().unwrap();
        assert_eq!(count("native") + count("assisted") + count("refused"), patterns);
    }
}

#[test]
fn a_refusal_is_a_note_until_the_store_is_asked_for() {
    let app = "apps/spreadapi/keyspace.toml";
    let ran = keyway(&["check", app]);
    assert_eq!(ran.status, 0);
    assert!(ran.output.contains("note[KW101]: `publish` is refused on cassandra, scylla"));
    let ran = keyway(&["check", app, "--store", "cassandra"]);
    assert_eq!(ran.status, 1);
    assert!(ran.output.contains("error[KW101]: `publish` is refused on cassandra"));
    assert!(!ran.output.contains("note["), "only what was asked for:\n{}", ran.output);
    let ran = keyway(&["check", app, "--store", "postgres", "--store", "sqlite"]);
    assert_eq!(ran.status, 0);
    assert!(!ran.output.contains("note["), "{}", ran.output);
}

/// Stores that scale out: a pattern that takes one round trip elsewhere may take several.
const FAR: [&str; 3] = ["cassandra", "scylla", "redis-cluster"];

/// The line about a pattern, and those that go on with it.
fn price_of<'o>(output: &'o str, pattern: &str) -> Vec<&'o str> {
    let is_of = |line: &&str| line.split_whitespace().nth(1) == Some(pattern);
    let mut lines = output.lines().skip_while(|line| !is_of(line));
    let first = lines.next().unwrap_or_else(|| panic!("no `{pattern}` in:\n{output}"));
    std::iter::once(first).chain(lines.take_while(|line| line.starts_with("          "))).collect()
}

#[test]
fn a_store_that_is_asked_for_has_its_price_by_the_round_trip() {
    let app = "apps/chat/keyspace.toml";
    for store in FAR {
        let ran = keyway(&["check", app, "--store", store]);
        // Opening a direct channel is refused by one of them.
        assert_eq!(ran.status, i32::from(store == "redis-cluster"), "{}", ran.output);
        let head = format!("\ntrips  on {store}, at most, in one attempt\n");
        assert!(ran.output.contains(&head), "{}", ran.output);
        let listed = keyway(&["check", app, "--store", store, "--json"]);
        let object: serde_json::Value = serde_json::from_str(&listed.output).unwrap();
        let patterns = object["stores"][0]["patterns"].as_array().unwrap();
        let explained = keyway(&["explain", app, "--store", store, "--json"]);
        let explained: serde_json::Value = serde_json::from_str(&explained.output).unwrap();
        let explained = explained["patterns"].as_array().unwrap();
        assert_eq!(patterns.len(), explained.len());
        for (pattern, plan) in patterns.iter().zip(explained) {
            let answer = &plan["stores"][0];
            assert_eq!(pattern["name"], plan["name"]);
            assert_eq!(pattern["answer"], answer["answer"]);
            assert_eq!(pattern["price"], answer["price"]);
            assert_eq!(pattern["round_trips"], answer["most"]["round_trips"]);
            let lines = price_of(&ran.output, pattern["name"].as_str().unwrap());
            let trips = pattern["round_trips"].as_u64();
            let trips = trips.map_or("–".to_string(), |trips| trips.to_string());
            assert_eq!(lines[0].split_whitespace().next(), Some(trips.as_str()), "{lines:?}");
            let words = lines.join(" ");
            let words: Vec<&str> = words.split_whitespace().skip(2).collect();
            match pattern["answer"] == "refused" {
                true => assert_eq!(words[0], "refused", "{store}"),
                false => assert_eq!(words.join(" "), pattern["price"].as_str().unwrap_or("")),
            }
        }
        let mut priced = ran.output.lines().skip_while(|line| !line.starts_with("trips  on"));
        assert!(priced.all(|line| line.chars().count() <= 120), "{}", ran.output);
    }
    assert!(!keyway(&["check", app]).output.contains("trips"), "no store was asked for");
}

#[test]
fn a_store_that_is_asked_for_twice_is_told_once() {
    let twice = ["--store", "cassandra", "--store", "cassandra"];
    let ran = keyway(&[&["check", "apps/chat/keyspace.toml"], twice.as_slice()].concat());
    assert_eq!(ran.output.matches("trips  on cassandra").count(), 1, "{}", ran.output);
}

#[test]
fn a_refusal_does_not_hide_what_the_rest_costs() {
    let app = "apps/spreadapi/keyspace.toml";
    let ran = keyway(&["check", app, "--store", "cassandra"]);
    assert_eq!(ran.status, 1);
    assert!(price_of(&ran.output, "publish")[0].ends_with("refused (KW101)"));
    let price = price_of(&ran.output, "create_service").join(" ");
    assert!(price.contains("1 lightweight transaction"), "{price}");
    let last = ran.output.lines().last().unwrap();
    assert!(last.contains("keyway why KW101"), "{last}");
    let broken = keyway_with(&["check", "-", "--store", "cassandra"], BAD, &[]);
    assert!(!broken.output.contains("trips  on"), "{}", broken.output);
}

#[test]
fn only_the_stores_that_were_asked_for_are_spoken_of() {
    let app = "apps/spreadapi/keyspace.toml";
    for store in ["cassandra", "redis-cluster"] {
        let ran = keyway(&["check", app, "--store", store]);
        let others = ["scylla", "redis-cluster", "cassandra"].into_iter().filter(|o| *o != store);
        for line in ran.output.lines().filter(|line| !line.starts_with("fix")) {
            for other in others.clone() {
                assert!(!line.contains(other), "{line}");
            }
        }
    }
}

#[test]
fn stores_that_the_file_names_are_spoken_of_too() {
    let app = std::fs::read_to_string(crate::root().join("apps/spreadapi/keyspace.toml")).unwrap();
    let app = app.replacen("[keyspace]\n", "[keyspace]\nstores = [\"scylla\"]\n", 1);
    let ran = keyway_with(&["check", "-", "--store", "cassandra"], &app, &[]);
    assert_eq!(ran.status, 1);
    let headline = "`publish` is refused on cassandra, scylla";
    assert!(ran.output.contains(headline), "{}", ran.output);
}

#[test]
fn success_says_where_to_read_on() {
    let app = "apps/chat/keyspace.toml";
    let hint = format!("\n\narguments and costs of a pattern: keyway explain {app} PATTERN\n");
    assert!(keyway(&["check", app]).output.ends_with(&hint));
    assert!(!keyway_with(&["check", "-"], BAD, &[]).output.contains("keyway explain"));
}

#[test]
fn colours_when_they_are_asked_for() {
    let colourful = |arguments: &[&str], variables: &[(&str, &str)]| {
        keyway_with(arguments, BAD, variables).output.contains('\u{1b}')
    };
    assert!(colourful(&["--color", "always", "check", "-"], &[]));
    assert!(colourful(&["check", "-", "--color", "always"], &[("NO_COLOR", "1")]));
    assert!(colourful(&["check", "-"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!colourful(&["check", "-"], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!colourful(&["check", "-", "--color", "never"], &[("CLICOLOR_FORCE", "1")]));
}

#[test]
fn no_input_makes_it_panic() {
    let app = std::fs::read_to_string(crate::root().join("apps/chat/keyspace.toml")).unwrap();
    let texts =
        ["", "\u{0}", "[[[[", "a", "[keyspace]", "\u{feff}[keyspace]\nname = 'é'\n", "= = ="];
    let cuts = (0..app.len()).step_by(397).filter_map(|end| app.get(..end));
    for text in texts.into_iter().chain(cuts) {
        let ran = keyway_with(&["check", "-"], text, &[]);
        assert!(matches!(ran.status, 0 | 1), "{text:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_reported() {
    let Ok(full) = std::fs::File::create("/dev/full") else { return };
    let output = command(&["why"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write to standard output"));
}
