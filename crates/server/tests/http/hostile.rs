//! Inputs of strangers: refused with a reason, or kept exactly as they are; never a failure.

use crate::support::{Answered, Setup, get, post};
use axum::body::Body;
use axum::http::StatusCode;
use serde_json::{Value as Json, json};

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

#[tokio::test]
async fn numbers_at_their_limits() {
    let setup = Setup::new().await;
    let numbers = [
        "0",
        "-1",
        "9007199254740991",
        "9007199254740993",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "1e400",
        "-0.0",
        "1.5",
        "1E+2",
        "NaN",
        "\"9007199254740993\"",
        "\"1e3\"",
        "\"\"",
        "\"0x10\"",
        "[]",
        "{}",
        "null",
        "true",
    ];
    let million = "9".repeat(1_000_000);
    for number in numbers.iter().copied().chain([million.as_str()]) {
        let body = format!("{{\"page\":\"p\",\"amount\":{number}}}");
        let request = post(&setup.ann, "/visit").body(Body::from(body)).unwrap();
        is_no_failure(&setup.send(request).await, number);
        let limit = in_query(number.trim_matches('"'));
        let limit: String = limit.chars().take(3_000).collect();
        is_no_failure(&setup.get(&setup.ann, &format!("/notes?limit={limit}")).await, number);
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
