//! Keys.

use crate::support::Bench;
use data::ErrorKind;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

#[test]
fn k1_ids_that_hold_the_separator_are_different_rows() {
    for bench in Bench::scripts() {
        let pieces =
            ["a", "a:b", "a:b:c", "b", "b:c", "c", ":", "%3a", "%", "{a}", "a%3Ab", "words"];
        let mut keys = BTreeSet::new();
        for language in pieces {
            for word in pieces {
                let meaning = format!("{language} and {word}");
                let put = json!({"language": language, "word": word, "meaning": meaning});
                keys.insert(bench.ok("put_word", put)["key"].to_string());
            }
        }
        assert_eq!(keys.len(), pieces.len() * pieces.len(), "a text form for each key");
        for language in pieces {
            let wanted: BTreeSet<String> =
                pieces.iter().map(|word| format!("{language} and {word}")).collect();
            let found = bench.column("words", json!({"language": language}), "meaning");
            assert_eq!(
                found
                    .iter()
                    .map(|json| json.as_str().unwrap().to_string())
                    .collect::<BTreeSet<_>>(),
                wanted
            );
        }
    }
}

#[test]
fn k4_ids_of_one_instant_are_different_and_in_order() {
    for bench in Bench::scripts() {
        let made: Vec<Vec<String>> = std::thread::scope(|scope| {
            let say = || {
                let say = |_| bench.ok("say", json!({"channel": "c", "text": "t"}));
                let ids = (0..40).map(say).map(|said| said["row"]["message_id"].to_string());
                ids.collect::<Vec<String>>()
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(say)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for own in &made {
            assert!(own.is_sorted(), "later ones sort behind");
        }
        let all: BTreeSet<&String> = made.iter().flatten().collect();
        assert_eq!(all.len(), 320, "the clock stood, and no id came twice");
    }
}

#[test]
fn k6_text_is_folded_only_where_the_file_says_so() {
    for bench in Bench::scripts() {
        let twins =
            ["É", "é", "e\u{301}", "E", "ﬀ", "ff", "ı", "i", "ß", "ss", "\u{feff}a", "a ", "a"];
        for twin in twins {
            bench.ok("put_word", json!({"language": "en", "word": twin, "meaning": twin}));
        }
        let found = bench.column("words", json!({"language": "en"}), "meaning");
        assert_eq!(found.len(), twins.len());
        let mut sorted = twins.to_vec();
        sorted.sort_unstable();
        assert_eq!(found, sorted.into_iter().map(Json::from).collect::<Vec<_>>());
        bench.ok("add_user", json!({"user_id": "u", "name": "n", "email": "Ä@x"}));
        let user = bench.ok("user_by_email", json!({"email": "ä@X"}));
        assert_eq!(user["row"]["email"], "Ä@x", "the field itself is as it was given");
    }
}

#[test]
fn k7_a_row_is_where_its_key_says_whatever_it_holds() {
    for bench in Bench::scripts() {
        let mut keys = BTreeSet::new();
        for value in ["", "e30", "AAEC", "PGh0bWw-"] {
            let put = bench.ok("put_blob", json!({"name": "a.json", "value": value}));
            keys.insert(put["key"].to_string());
            assert_eq!(bench.ok("blob", json!({"name": "a.json"}))["row"]["value"], value);
        }
        assert_eq!(keys.len(), 1);
        assert!(bench.ok("blob", json!({"name": "a"}))["row"].is_null());
        let event =
            |kind: &str| json!({"log": "l", "said": "E", "kind": kind, "sn": 1, "body": ""});
        bench.ok("add_event", event("open"));
        assert_eq!(bench.kind("add_event", event("close")), ErrorKind::Conflict);
        assert_eq!(bench.column("events_in_order", json!({"log": "l"}), "kind"), ["open"]);
    }
}

#[test]
fn k10_a_row_is_never_overwritten_by_other_bytes() {
    for bench in Bench::scripts() {
        let event =
            |body: &str| json!({"log": "l", "said": "E", "kind": "open", "sn": 1, "body": body});
        let bodies = ["AA", "AQ", "Ag", "Aw"];
        let won: Vec<(usize, bool)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16)
                .map(|number| {
                    let bench = &bench;
                    scope.spawn(move || {
                        let body = number % bodies.len();
                        match bench.call("ann", "add_event", event(bodies[body])) {
                            Ok(_) => (body, true),
                            Err(error) => {
                                assert_eq!(error.kind(), ErrorKind::Conflict, "{error:?}");
                                (body, false)
                            }
                        }
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let stored = bench.ok("event", json!({"log": "l", "said": "E"}))["row"]["body"].clone();
        for (body, won) in won {
            assert_eq!(won, stored == bodies[body], "the same bytes are accepted, others never");
        }
        // The same in another order of its members is the same.
        let other = json!({"body": stored, "sn": 1, "kind": "open", "said": "E", "log": "l"});
        assert_eq!(bench.ok("add_event", other)["existed"], true);
    }
}
