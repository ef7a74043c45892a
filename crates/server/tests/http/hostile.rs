//! Inputs of strangers: refused with a reason, or kept exactly as they are; never a failure.

use crate::support::{Answered, KEYSPACE, Setup, get, post};
use axum::body::Body;
use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use data::clock::ManualClock;
use keyway::Keyway;
use serde_json::{Value as Json, json};
use server::Settings;

/// Texts that break programs.
fn texts() -> Vec<String> {
    let fixed = [
        "",
        ":",
        "/",
        "\\",
        "..",
        ".",
        "%2e%2e",
        "{}",
        "}{",
        "a\0b",
        "a\0",
        "\u{feff}x",
        "\u{202e}x",
        "e\u{301}",
        "\u{e9}",
        "\u{fb00}",
        "\u{131}\u{130}\u{df}",
        "\u{1f9ea}",
        "CON",
        "aux.json",
        "dot.",
        "space ",
        "A",
        "a",
        "'; DROP TABLE notes; --",
        "redis.call('FLUSHALL')",
        "(a+)+$",
        "$(reboot)",
        "<script>alert(1)</script>",
        "{{7*7}}",
        "${jndi:ldap://x}",
        "\r\nX-Evil: 1",
        "null",
        "NaN",
        "-0",
        "1E+2",
        "\u{10ffff}",
        "\u{7f}\u{80}\u{9f}",
        "user:bob:notes",
    ];
    let mut texts: Vec<String> = fixed.iter().map(|text| text.to_string()).collect();
    texts.extend([255, 256, 1_024, 1_025].map(|length| "k".repeat(length)));
    texts.push("é".repeat(700));
    texts.push(vec!["x"; 10_000].join(":"));
    texts
}

/// A text as it stands in a query.
fn in_query(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn is_no_failure(answered: &Answered, input: &str) {
    let input: String = input.chars().take(60).collect();
    assert!(answered.status.as_u16() < 500, "{input:?}: {answered:?}");
    if answered.status.is_client_error() {
        answered.problem();
    }
}

#[tokio::test]
async fn texts_are_kept_as_they_are_or_refused() {
    let setup = Setup::new().await;
    for text in texts() {
        let body = json!({"title": text, "tags": [text], "extra": {"text": text}});
        let written = setup.post(&setup.ann, "/write_note", body).await;
        is_no_failure(&written, &text);
        if written.status != StatusCode::OK {
            continue;
        }
        let row = written.json()["row"].clone();
        assert_eq!(row["title"], json!(text));
        let id = row["note_id"].as_str().unwrap();
        let read = setup.get(&setup.ann, &format!("/note?note_id={id}")).await;
        assert_eq!(read.json()["row"]["extra"]["text"], json!(text));
        let found = setup.get(&setup.ann, &format!("/tagged?tags={}", in_query(&text))).await;
        assert_eq!(found.status, StatusCode::OK, "{text:?}: {found:?}");
        assert_eq!(found.json()["rows"], json!([row]), "{text:?}");
        setup.write(&setup.ann, "/drop_note", json!({"note_id": id})).await;
    }
}

#[tokio::test]
async fn texts_as_keys_lead_to_their_row_and_no_other() {
    let setup = Setup::new().await;
    let mut kept = Vec::new();
    for text in texts() {
        let body = json!({"card_id": text, "text": text});
        let pinned = setup.post(&setup.admin, "/pin", body).await;
        is_no_failure(&pinned, &text);
        if pinned.status == StatusCode::OK {
            kept.push(text.clone());
        }
        let card = setup.get("", &format!("/card?card_id={}", in_query(&text))).await;
        is_no_failure(&card, &text);
        assert_eq!(card.status == StatusCode::OK, pinned.status == StatusCode::OK, "{text:?}");
    }
    assert!(kept.len() > 30, "{}", kept.len());
    for text in &kept {
        let card = setup.get("", &format!("/card?card_id={}", in_query(text))).await.json();
        assert_eq!(card["row"]["text"], json!(text));
    }
}

/// A number as JSON spells it, and what is kept of it as a signed and as an unsigned number;
/// nothing where it is refused. Beyond 2^53 a number is answered as a text: readers would lose
/// digits.
fn numbers() -> Vec<(&'static str, Option<Json>, Option<Json>)> {
    let both = |number: Json| (Some(number.clone()), Some(number));
    let same = |text, (signed, whole)| (text, signed, whole);
    vec![
        same("0", both(json!(0))),
        same("-0.0", both(json!(0))),
        same("1.0", both(json!(1))),
        same("1E+2", both(json!(100))),
        same("9007199254740991", both(json!(9_007_199_254_740_991_i64))),
        same("9007199254740992", both(json!(9_007_199_254_740_992_i64))),
        same("9007199254740993", both(json!("9007199254740993"))),
        same("\"9007199254740993\"", both(json!("9007199254740993"))),
        same("9223372036854775807", both(json!("9223372036854775807"))),
        ("9223372036854775808", None, Some(json!("9223372036854775808"))),
        ("-1", Some(json!(-1)), None),
        ("-9007199254740993", Some(json!("-9007199254740993")), None),
        ("-9223372036854775808", Some(json!("-9223372036854775808")), None),
        ("-9223372036854775809", None, None),
        ("18446744073709551615", None, Some(json!("18446744073709551615"))),
        ("18446744073709551616", None, None),
        // At these, a float is not the number that was written.
        ("9007199254740993.0", None, None),
        ("1e19", None, None),
        ("1.5", None, None),
        ("1e400", None, None),
        ("-1e400", None, None),
        ("NaN", None, None),
        ("Infinity", None, None),
        ("-Infinity", None, None),
        ("01", None, None),
        ("+1", None, None),
        ("0x10", None, None),
        ("1_000", None, None),
        ("\"1e3\"", None, None),
        ("\" 1\"", None, None),
        ("\"\"", None, None),
        ("[]", None, None),
        ("{}", None, None),
        ("true", None, None),
    ]
}

/// What is answered to a reading of which one member is given.
async fn measure(setup: &Setup, member: &str, value: &str) -> Answered {
    let body = format!("{{\"name\":\"n\",\"{member}\":{value}}}");
    setup.send(post(&setup.ann, "/measure").body(Body::from(body)).unwrap()).await
}

#[tokio::test]
async fn numbers_at_their_limits_are_kept_exactly_or_refused() {
    let setup = Setup::new().await;
    let million = "9".repeat(1_000_000);
    let all = numbers();
    for (text, signed, whole) in all.iter().map(|(text, signed, whole)| (*text, signed, whole)) {
        for (member, expected) in [("signed", signed), ("whole", whole)] {
            let answered = measure(&setup, member, text).await;
            let Some(expected) = expected else {
                assert_eq!(answered.status.as_u16(), 400, "{member} {text}: {answered:?}");
                answered.problem();
                continue;
            };
            assert_eq!(answered.status.as_u16(), 200, "{member} {text}: {answered:?}");
            assert_eq!(&answered.json()["row"][member], expected, "{member} {text}");
            let read = setup.get(&setup.ann, "/measured?name=n").await;
            assert_eq!(&read.json()["row"][member], expected, "{member} {text}");
        }
        let limit = in_query(text.trim_matches('"'));
        is_no_failure(&setup.get(&setup.ann, &format!("/notes?limit={limit}")).await, text);
    }
    for member in ["signed", "whole", "level"] {
        let answered = measure(&setup, member, &million).await;
        assert_eq!(answered.status.as_u16(), 400, "a million digits as {member}");
    }
}

#[tokio::test]
async fn a_counter_stays_within_its_limits() {
    let setup = Setup::new().await;
    let visit = async |amount: &str| {
        let body = format!("{{\"page\":\"p\",\"amount\":{amount}}}");
        setup.send(post(&setup.ann, "/visit").body(Body::from(body)).unwrap()).await
    };
    let most = visit("9223372036854775807").await;
    assert_eq!(most.json()["total"], json!("9223372036854775807"), "{most:?}");
    let over = visit("1").await;
    assert_eq!((over.status.as_u16(), over.problem().as_str()), (409, "overflow"));
    for refused in ["9223372036854775808", "-9223372036854775809", "0.5", "null", "true"] {
        let answered = visit(refused).await;
        assert_eq!(answered.status.as_u16(), 400, "{refused}: {answered:?}");
        assert_eq!(answered.json()["argument"], json!("amount"), "{refused}");
    }
    let kept = setup.get(&setup.ann, "/visits?page=p").await.json();
    assert_eq!(kept["row"]["value"], json!("9223372036854775807"), "{kept}");
}

#[tokio::test]
async fn floats_are_numbers_or_refused() {
    let setup = Setup::new().await;
    for (text, expected) in [
        ("-0.0", json!(0.0)),
        ("1e308", json!(1e308)),
        ("-1.7976931348623157e308", json!(f64::MIN)),
        ("5e-324", json!(5e-324)),
        ("1e-400", json!(0.0)),
        ("0.1", json!(0.1)),
    ] {
        let answered = measure(&setup, "level", text).await;
        assert_eq!(answered.status.as_u16(), 200, "{text}: {answered:?}");
        assert_eq!(answered.json()["row"]["level"], expected, "{text}");
        let is_negative_zero = String::from_utf8(answered.body).unwrap().contains("-0.0");
        assert!(!is_negative_zero, "{text}");
    }
    for text in ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "\"NaN\"", "\"1e999\"", "\"1\""]
    {
        let answered = measure(&setup, "level", text).await;
        assert_eq!(answered.status.as_u16(), 400, "{text}: {answered:?}");
        answered.problem();
        let answered = measure(&setup, "levels", &format!("[0.5,{text}]")).await;
        assert_eq!(answered.status.as_u16(), 400, "[{text}]: {answered:?}");
    }
}

#[tokio::test]
async fn json_that_only_strangers_send() {
    let setup = Setup::new().await;
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let members: Vec<String> = (0..50_000).map(|number| format!("\"m{number}\":1")).collect();
    let many = format!("{{{}}}", members.join(","));
    let cases: Vec<(Vec<u8>, u16)> = vec![
        (format!("{{\"title\":\"x\",\"extra\":{deep}}}").into_bytes(), 400),
        (br#"{"title":"a","title":"b"}"#.to_vec(), 400),
        (br#"{"title":"a","extra":{"x":1,"x":2}}"#.to_vec(), 400),
        (br#"{"title":"a"} trailing"#.to_vec(), 400),
        (br#"{"title":"a"}{"title":"b"}"#.to_vec(), 400),
        (br#"["title"]"#.to_vec(), 400),
        (b"\"title\"".to_vec(), 400),
        (b"{\"title\":\"\xff\xfe\"}".to_vec(), 400),
        (b"{\"title\":\"\xc0\xaf\"}".to_vec(), 400),
        (b"{\"title\":\"\xed\xa0\x80\"}".to_vec(), 400),
        (br#"{"title":"\ud800"}"#.to_vec(), 400),
        (br#"{"title":"\ud83e\uddea"}"#.to_vec(), 200),
        (b"\xef\xbb\xbf{\"title\":\"a\"}".to_vec(), 400),
        (b"{\"title\":".to_vec(), 400),
        (vec![0; 100], 400),
        (many.into_bytes(), 400),
        (vec![b' '; (1 << 20) + 1], 413),
    ];
    for (body, status) in cases {
        let shown = String::from_utf8_lossy(&body).chars().take(60).collect::<String>();
        let answered = setup.send(post(&setup.ann, "/write_note").body(Body::from(body)).unwrap());
        let answered = answered.await;
        assert_eq!(answered.status.as_u16(), status, "{shown:?} {answered:?}");
    }
}

/// Where an operator lets bodies be larger than any row, keys, rows and members are still bounded.
#[tokio::test]
async fn large_bodies_hold_nothing_larger_than_it_may_be() {
    let settings =
        Settings { body_bytes_max: 32 << 20, calls_a_second: None, ..Settings::default() };
    let setup = Setup::with(settings).await;
    let send = async |token: &str, path: &str, body: String| {
        let answered = setup.send(post(token, path).body(Body::from(body)).unwrap()).await;
        (answered.status.as_u16(), answered.problem())
    };
    let mebibyte = "k".repeat(1 << 20);
    let key = format!("{{\"card_id\":\"{mebibyte}\",\"text\":\"x\"}}");
    assert_eq!(send(&setup.admin, "/pin", key).await, (413, "too_large".to_string()));
    let tag = format!("{{\"title\":\"x\",\"tags\":[\"{mebibyte}\"]}}");
    assert_eq!(send(&setup.ann, "/write_note", tag).await, (413, "too_large".to_string()));
    let members: Vec<String> = (0..1_000_000).map(|number| format!("\"{number}\":1")).collect();
    let members = members.join(",");
    let many = format!("{{{members}}}");
    assert_eq!(send(&setup.ann, "/write_note", many).await, (400, "json".to_string()));
    let inside = format!("{{\"title\":\"x\",\"extra\":{{{members}}}}}");
    assert_eq!(send(&setup.ann, "/write_note", inside).await, (413, "too_large".to_string()));
    let none = setup.get(&setup.ann, "/notes").await.json();
    assert_eq!(none["rows"], json!([]));
}

#[tokio::test]
async fn bodies_that_are_no_json_are_not_read_as_such() {
    let setup = Setup::new().await;
    let send = async |name: &str, value: &str| {
        let request = axum::http::Request::post("/write_note").header(name, value);
        let request = request.header("authorization", format!("Bearer {}", setup.ann));
        setup.send(request.body(Body::from(r#"{"title":"x"}"#)).unwrap()).await.status.as_u16()
    };
    assert_eq!(send("content-type", "application/x-www-form-urlencoded").await, 415);
    assert_eq!(send("content-type", "text/plain").await, 415);
    assert_eq!(send("content-type", "Application/JSON; charset=utf-8").await, 200);
    assert_eq!(send("x-nothing", "x").await, 415);
    // A small body that would become a large one.
    let request = post(&setup.ann, "/write_note").header("content-encoding", "gzip");
    let answered = setup.send(request.body(Body::from(vec![0x1f, 0x8b, 8, 0])).unwrap()).await;
    assert_eq!((answered.status.as_u16(), answered.problem().as_str()), (415, "encoding"));
}

#[tokio::test]
async fn a_body_that_says_it_is_too_large_is_not_read() {
    let setup = Setup::new().await;
    let endless = futures_util::stream::poll_fn(|_| {
        panic!("the body is read");
        #[allow(unreachable_code)]
        std::task::Poll::Ready(None::<Result<bytes::Bytes, std::io::Error>>)
    });
    let request = post(&setup.ann, "/write_note").header("content-length", "104857600");
    let refused = setup.send(request.body(Body::from_stream(endless)).unwrap()).await;
    assert_eq!((refused.status.as_u16(), refused.problem().as_str()), (413, "too_large"));
    assert_eq!(refused.json()["bytes_max"], json!(1 << 20));
}

#[tokio::test]
async fn cursors_of_strangers() {
    let setup = Setup::new().await;
    for number in 0..3 {
        setup.write(&setup.ann, "/write_note", json!({"title": format!("{number}")})).await;
    }
    let page = setup.get(&setup.ann, "/notes?limit=1").await.json();
    let cursor = page["next"].as_str().unwrap().to_string();
    let mut forged: Vec<String> = (0..cursor.len()).map(|end| cursor[..end].to_string()).collect();
    for at in 0..cursor.len() {
        for other in ["A", "B", "_"] {
            let mut changed = cursor.clone();
            changed.replace_range(at..=at, other);
            forged.push(changed);
        }
    }
    forged.push("A".repeat(50_000));
    forged.push(in_query("\0\u{1f9ea}"));
    // An empty one is none.
    for one in forged.into_iter().filter(|one| *one != cursor && !one.is_empty()) {
        let refused = setup.get(&setup.ann, &format!("/notes?limit=1&cursor={one}")).await;
        assert_eq!(refused.status.as_u16(), 400, "{one}");
        assert_eq!(refused.problem(), "cursor", "{one}");
    }
}

/// A server whose cursors are sealed with this secret, and its clock.
async fn sealed_with(secret: u8) -> (Setup, ManualClock) {
    let clock = ManualClock::at(1_800_000_000_000);
    let builder = Keyway::builder().clock(clock.clone()).cursor_key([secret; 32]).sweep_every(None);
    let keyway = builder.open_text(KEYSPACE, "memory:").await.unwrap();
    let setup = Setup::of(keyway, Settings { calls_a_second: None, ..Settings::default() }).await;
    for number in 0..3 {
        setup.write(&setup.ann, "/write_note", json!({"title": format!("{number}")})).await;
    }
    (setup, clock)
}

async fn goes_on(setup: &Setup, cursor: &str) -> Answered {
    setup.get(&setup.ann, &format!("/notes?limit=1&cursor={cursor}")).await
}

#[tokio::test]
async fn every_bit_of_a_cursor_is_sealed() {
    let (setup, _) = sealed_with(1).await;
    let page = setup.get(&setup.ann, "/notes?limit=1").await.json();
    let cursor = page["next"].as_str().unwrap();
    let bytes = URL_SAFE_NO_PAD.decode(cursor).unwrap();
    let first = goes_on(&setup, &URL_SAFE_NO_PAD.encode(b"no cursor")).await;
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let refused = goes_on(&setup, &URL_SAFE_NO_PAD.encode(&flipped)).await;
        // Whatever is wrong with it, the answer is the same.
        assert_eq!((refused.status.as_u16(), &refused.body), (400, &first.body), "bit {bit}");
    }
    assert_eq!(goes_on(&setup, cursor).await.status, StatusCode::OK);
}

#[tokio::test]
async fn cursors_end_with_their_time_and_their_secret() {
    let (setup, clock) = sealed_with(1).await;
    let page = setup.get(&setup.ann, "/notes?limit=1").await.json();
    let cursor = page["next"].as_str().unwrap();
    let (same, _) = sealed_with(1).await;
    assert_eq!(goes_on(&same, cursor).await.status, StatusCode::OK);
    let (other, _) = sealed_with(2).await;
    let refused = goes_on(&other, cursor).await;
    assert_eq!((refused.status.as_u16(), refused.problem().as_str()), (400, "cursor"));
    clock.advance(24 * 3_600_000 - 1);
    assert_eq!(goes_on(&setup, cursor).await.status, StatusCode::OK);
    clock.advance(1);
    let refused = goes_on(&setup, cursor).await;
    assert_eq!((refused.status.as_u16(), refused.problem().as_str()), (400, "cursor"));
}

#[tokio::test]
async fn queries_that_are_no_text() {
    let setup = Setup::new().await;
    for query in ["note_id=%ff", "note_id=%C0%AF", "note_id=%ED%A0%80", "%00", "=", "&&", "note_id"]
    {
        let answered = setup.get(&setup.ann, &format!("/note?{query}")).await;
        assert!(answered.status.is_client_error(), "{query}");
        is_no_failure(&answered, query);
    }
    let long = format!("/notes?{}", "limit=1&".repeat(5_000));
    assert_eq!(setup.get(&setup.ann, &long).await.status.as_u16(), 400);
}

#[tokio::test]
async fn an_answer_never_tells_more_than_was_asked() {
    let setup = Setup::new().await;
    setup.write(&setup.ann, "/call_me", json!({"name": "Queen of secrets"})).await;
    let taken = setup.post(&setup.bob, "/call_me", json!({"name": "queen OF secrets"})).await;
    let told = String::from_utf8(taken.body.clone()).unwrap();
    assert!(!told.contains("ann"), "{told}");
    let request = get(&setup.bob, "/note?note_id=x").body(Body::empty()).unwrap();
    let missing: Json = setup.send(request).await.json();
    let names: Vec<&String> = missing.as_object().unwrap().keys().collect();
    assert_eq!(names, ["type", "title", "status"]);
}
