//! Inputs that are meant to do harm, through the door of the library: nothing panics, what is
//! refused is refused with the right kind, and what is accepted comes back as it was given.

use crate::support::Bench;
use data::ErrorKind;
use serde_json::{Map, Value as Json, json};

/// Texts that mean something to somebody else.
const TEXTS: [&str; 61] = [
    ":",
    "::",
    "/",
    "\\",
    "..",
    ".",
    "../../etc/passwd",
    "%2e%2e",
    "%00",
    "{}",
    "}{",
    "{user_id}",
    "\0",
    "a\0",
    "\0a",
    "\u{1}",
    "\u{ff}",
    "\u{feff}",
    "\u{202e}abc",
    "é",
    "e\u{301}",
    "ﬀ",
    "ı",
    "İ",
    "ß",
    "ẞ",
    "😀",
    "\u{10ffff}",
    "\u{fffd}",
    "CON",
    "aux.json",
    "a.",
    "a ",
    " a",
    "A",
    "a",
    "\r\nSet-Cookie: a=b",
    "'; DROP TABLE notes; --",
    "\" OR 1=1",
    "redis.call('flushall')",
    "$id",
    "$0",
    "*",
    "?",
    "[a-z]+",
    "(((((((((((((((((((((a+)+)+)+)+$",
    "null",
    "true",
    "-0",
    "NaN",
    "1e400",
    "~v",
    "~x",
    "_k",
    "|",
    "a|b",
    "$where",
    "__proto__",
    "\u{7f}",
    "\t",
    "\n",
];

/// All of them, and long ones.
fn texts() -> Vec<String> {
    let long = [255, 256].map(|length| "x".repeat(length));
    let zeros = [2, 63, 64, 65].map(|length| "\0".repeat(length));
    TEXTS.map(str::to_string).into_iter().chain(long).chain(zeros).collect()
}

#[test]
fn texts_come_back_as_they_were_given_in_every_place() {
    for bench in Bench::scripts() {
        for text in texts() {
            let word = json!({"language": text, "word": text, "meaning": text});
            let put = bench.ok("put_word", word.clone());
            assert_eq!(put["row"], word);
            assert_eq!(bench.ok("words", json!({"language": text}))["rows"], json!([word]));
            let starts = json!({"language": text, "starts": text});
            assert_eq!(bench.ok("words", starts)["rows"], json!([word]));
            let file = json!({"drive": "d", "path": [text, "", text], "size": 1});
            assert_eq!(bench.ok("put_file", file.clone())["row"], file);
            let under = json!({"drive": "d", "under": [text]});
            assert_eq!(bench.ok("files", under)["rows"], json!([file]));
            let label = json!({"name": text, "value": text});
            bench.ok("put_label", label.clone());
            assert_eq!(bench.ok("labels", json!({"value": text}))["rows"], json!([label]));
            let document = json!({"name": text, "value": {text.clone(): [text]}});
            bench.ok("put_document", document.clone());
            assert_eq!(bench.ok("document", json!({"name": text}))["row"], document);
        }
        assert!(bench.entries() as usize >= texts().len());
    }
}

#[test]
fn texts_of_callers_are_names_and_nothing_else() {
    for bench in Bench::scripts() {
        for text in texts() {
            let note = json!({"title": text, "tags": [text], "pinned": true});
            let made = bench.call(&text, "add_note", note).unwrap();
            assert_eq!(made["row"]["user_id"], json!(text));
            let notes = bench.call(&text, "notes", json!({})).unwrap();
            assert_eq!(notes["rows"].as_array().unwrap().len(), 1, "{text:?}");
            let tagged = bench.call(&text, "tagged", json!({"tags": text})).unwrap();
            assert_eq!(tagged["rows"][0]["title"], json!(text));
        }
        let nameless = bench.call("", "add_note", json!({"title": "t"})).unwrap_err();
        assert!(matches!(nameless.kind(), ErrorKind::Argument | ErrorKind::Denied), "{nameless:?}");
    }
}

#[test]
fn names_of_patterns_and_arguments_are_only_looked_up() {
    let [bench, _] = Bench::scripts();
    for text in texts() {
        assert_eq!(bench.runtime.pattern(&text).unwrap_err().kind(), ErrorKind::Argument);
        let mut arguments = Map::new();
        arguments.insert("client".to_string(), json!("c"));
        arguments.insert(text, json!(1));
        assert_eq!(bench.kind("call", Json::Object(arguments)), ErrorKind::Argument);
    }
    let huge = "n".repeat(1 << 20);
    let mut arguments = Map::new();
    arguments.insert(huge, json!(1));
    let error = bench.call("ann", "call", Json::Object(arguments)).unwrap_err();
    assert!(error.to_string().len() < 2_000, "an error does not repeat what was thrown at it");
}

#[test]
fn keys_and_values_have_their_limits() {
    for bench in Bench::scripts() {
        let put = |word: String| json!({"language": "l", "word": word, "meaning": ""});
        for (length, fits) in [(900, true), (1_024, false), (1_025, false), (1 << 20, false)] {
            match fits {
                true => drop(bench.ok("put_word", put("x".repeat(length)))),
                false => {
                    let kind = bench.kind("put_word", put("x".repeat(length)));
                    assert_eq!(kind, ErrorKind::TooLarge, "{length}");
                    let kind = bench.kind("words", json!({"language": "x".repeat(length)}));
                    assert_eq!(kind, ErrorKind::TooLarge, "{length}");
                }
            }
        }
        let path: Vec<String> = (0..10_000).map(|part| part.to_string()).collect();
        let kind = bench.kind("put_file", json!({"drive": "d", "path": path, "size": 1}));
        assert_eq!(kind, ErrorKind::TooLarge);
        let meaning = "x".repeat((1 << 20) + 1);
        let kind =
            bench.kind("put_word", json!({"language": "l", "word": "w", "meaning": meaning}));
        assert_eq!(kind, ErrorKind::TooLarge);
        assert_eq!(
            bench.kind("put_word", json!({"language": "", "word": "w", "meaning": ""})),
            ErrorKind::Argument
        );
        let tags: Vec<String> = (0..101).map(|tag| tag.to_string()).collect();
        let kind = bench.kind("add_note", json!({"title": "t", "tags": tags}));
        assert!(matches!(kind, ErrorKind::Argument | ErrorKind::TooLarge), "{kind}");
        assert_eq!(bench.column("words", json!({"language": "l"}), "word").len(), 1);
    }
}

#[test]
fn numbers_keep_their_value_or_are_refused() {
    let [bench, _] = Bench::scripts();
    let accepted = [
        ("9223372036854775807", json!("9223372036854775807")),
        ("-9223372036854775808", json!("-9223372036854775808")),
        ("9007199254740991", json!(9_007_199_254_740_991_i64)),
        ("9007199254740992", json!(9_007_199_254_740_992_i64)),
        ("9007199254740993", json!("9007199254740993")),
        ("-9007199254740993", json!("-9007199254740993")),
        ("1E+2", json!(100)),
        ("-0.0", json!(0)),
        ("3.0", json!(3)),
    ];
    for (number, (text, shown)) in accepted.into_iter().enumerate() {
        let level: Json = serde_json::from_str(text).unwrap();
        let made = bench.ok("ensure_setting", json!({"name": number.to_string(), "level": level}));
        assert_eq!(made["row"]["level"], shown, "{text}");
    }
    let refused = [
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551616",
        "1.5",
        "1e19",
        "1e300",
        "9007199254740993.0",
        "true",
        "\"\"",
        "\"0x10\"",
        "\" 1\"",
        "\"+1\"",
        "\"1_000\"",
        "\"1e3\"",
        "\"NaN\"",
        "\"inf\"",
        "[1]",
        "{}",
    ];
    for text in refused {
        let level: Json = serde_json::from_str(text).unwrap();
        let kind = bench.kind("ensure_setting", json!({"name": "refused", "level": level}));
        assert_eq!(kind, ErrorKind::Argument, "{text}");
    }
    let digits = json!("9".repeat(1_000_000));
    let error = bench.call("ann", "ensure_setting", json!({"name": "r", "level": digits}));
    assert!(error.unwrap_err().to_string().len() < 2_000);
}

#[test]
fn floats_and_times_are_numbers_and_times_or_refused() {
    let [bench, _] = Bench::scripts();
    for text in ["1e400", "-1e400"] {
        assert!(
            serde_json::from_str::<f64>(text).is_err(),
            "{text} is no number of JSON's readers"
        );
    }
    let read = |value: &str| {
        let value: Json = serde_json::from_str(value).unwrap();
        json!({"sensor": "s", "level": 1, "at": "2027-01-01T00:00:00Z", "value_read": value})
    };
    for (given, shown) in [("-0.0", json!(0.0)), ("5e-324", json!(5e-324)), ("1e308", json!(1e308))]
    {
        assert_eq!(bench.ok("read_sensor", read(given))["row"]["value_read"], shown);
    }
    assert_eq!(bench.kind("read_sensor", read("\"NaN\"")), ErrorKind::Argument);
    for at in [
        "",
        "now",
        "2027-13-01T00:00:00Z",
        "2027-02-30T00:00:00Z",
        "2027-01-01",
        "0000",
        "99999-01-01T00:00:00Z",
        "2027-01-01T25:00:00Z",
    ] {
        let mut reading = read("1");
        reading["at"] = json!(at);
        assert_eq!(bench.kind("read_sensor", reading), ErrorKind::Argument, "{at}");
    }
}

#[test]
fn json_is_deep_and_wide_within_limits() {
    let [bench, _] = Bench::scripts();
    let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| Json::Array(vec![inner]));
    let put = |value: Json| json!({"name": "d", "value": value});
    bench.ok("put_document", put(nested(64)));
    assert_eq!(bench.ok("document", json!({"name": "d"}))["row"]["value"], nested(64));
    for depth in [65, 128, 10_000] {
        for (pattern, name) in
            [("put_document", "value"), ("put_label", "value"), ("call", "client")]
        {
            let mut arguments = Map::new();
            arguments.insert("name".to_string(), json!("d"));
            arguments.insert(name.to_string(), nested(depth));
            if pattern == "call" {
                arguments.remove("name");
            }
            let error = bench.call("ann", pattern, Json::Object(arguments)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Argument, "{pattern} {depth}");
        }
    }
    let wide: Map<String, Json> = (0..200_000).map(|n| (format!("member {n}"), json!(n))).collect();
    assert_eq!(bench.kind("put_document", put(Json::Object(wide))), ErrorKind::TooLarge);
    let strange = json!({"": {"": ""}, "\u{0}": "\u{ffff}", "a": [null, true, -0.5, 1e-300, "😀"]});
    bench.ok("put_document", put(strange.clone()));
    assert_eq!(bench.ok("document", json!({"name": "d"}))["row"]["value"], strange);
    for value in [json!("=="), json!("A"), json!("AA=="), json!("A A"), json!("ab+/"), json!(7)] {
        assert_eq!(
            bench.kind("put_blob", json!({"name": "b", "value": value})),
            ErrorKind::Argument
        );
    }
}

#[test]
fn cursors_are_whole_and_for_their_question_or_nothing() {
    for bench in Bench::scripts() {
        for word in ["a", "b", "c"] {
            bench.ok("put_word", json!({"language": "l", "word": word, "meaning": ""}));
            bench.ok("put_word", json!({"language": "m", "word": word, "meaning": ""}));
        }
        let first = bench.ok("words", json!({"language": "l", "limit": 1}));
        let cursor = first["next"].as_str().unwrap().to_string();
        let with = |cursor: &str| json!({"language": "l", "limit": 1, "cursor": cursor});
        assert_eq!(bench.column("words", with(&cursor), "word"), ["b"]);
        let mut wrong: Vec<String> =
            (0..cursor.len()).map(|end| cursor[..end].to_string()).collect();
        wrong.extend((0..cursor.len() * 7).map(|bit| {
            let mut bytes = cursor.clone().into_bytes();
            bytes[bit / 7] ^= 1 << (bit % 7);
            String::from_utf8(bytes).unwrap()
        }));
        wrong.extend([format!("{cursor}A"), format!("{cursor}="), format!(" {cursor}")]);
        wrong.extend(texts());
        wrong.push("A".repeat(1 << 20));
        for cursor in wrong {
            assert_eq!(bench.kind("words", with(&cursor)), ErrorKind::Cursor, "{cursor:.100}");
        }
        let other = json!({"language": "m", "limit": 1, "cursor": cursor});
        assert_eq!(bench.kind("words", other), ErrorKind::Cursor);
        let stolen = bench.call("bob", "words", with(&cursor)).unwrap_err();
        assert_eq!(stolen.kind(), ErrorKind::Cursor);
        assert_eq!(bench.kind("words", json!({"language": "l", "cursor": 7})), ErrorKind::Argument);
        bench.clock.advance(25 * 3_600_000);
        assert_eq!(bench.kind("words", with(&cursor)), ErrorKind::Cursor);
    }
}
