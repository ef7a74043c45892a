//! Patterns as endpoints.

use crate::support::{Setup, get, post};
use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use serde_json::json;

#[tokio::test]
async fn what_is_written_is_read() {
    let setup = Setup::new().await;
    let written = setup.write(&setup.ann, "/write_note", json!({"title": "Milk"})).await;
    let id = written["row"]["note_id"].as_str().unwrap();
    assert_eq!(written["row"]["title"], "Milk");
    let read = setup.get(&setup.ann, &format!("/note?note_id={id}")).await;
    assert_eq!(read.status, StatusCode::OK);
    assert_eq!(read.header("content-type"), Some("application/json"));
    assert_eq!(read.json()["row"], written["row"]);
    let changed = setup.write(&setup.ann, "/star", json!({"note_id": id})).await;
    assert_eq!(changed["row"]["stars"], json!(1));
    let dropped = setup.write(&setup.ann, "/drop_note", json!({"note_id": id})).await;
    assert_eq!(dropped["row"], json!(null));
    assert_eq!(setup.get(&setup.ann, &format!("/note?note_id={id}")).await.problem(), "not_found");
}

#[tokio::test]
async fn pages_follow_each_other_by_cursors() {
    let setup = Setup::new().await;
    for number in 0..7 {
        setup.write(&setup.ann, "/write_note", json!({"title": format!("{number}")})).await;
    }
    let mut titles = Vec::new();
    let mut path = "/notes?limit=3".to_string();
    loop {
        let page = setup.get(&setup.ann, &path).await.json();
        let rows = page["rows"].as_array().unwrap();
        assert!(rows.len() <= 3);
        titles.extend(rows.iter().map(|row| row["title"].as_str().unwrap().to_string()));
        match page["next"].as_str() {
            Some(next) => path = format!("/notes?limit=3&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(titles, ["0", "1", "2", "3", "4", "5", "6"]);
    let tagged = json!({"title": "x", "tags": ["shop & more"]});
    setup.write(&setup.ann, "/write_note", tagged).await;
    let found = setup.get(&setup.ann, "/tagged?tags=shop+%26+more").await.json();
    assert_eq!(found["rows"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn many_rows_are_asked_for_as_json() {
    let setup = Setup::new().await;
    let written = setup.write(&setup.ann, "/write_note", json!({"title": "a"})).await;
    let id = written["row"]["note_id"].as_str().unwrap();
    let rows = json!([{"note_id": id}, {"note_id": "none"}]).to_string();
    let rows = rows.replace('"', "%22").replace('{', "%7B").replace('}', "%7D");
    let path = format!("/notes_of?rows={rows}");
    let answered = setup.get(&setup.ann, &path).await;
    assert_eq!(answered.status, StatusCode::OK, "{answered:?}");
    assert_eq!(answered.json()["rows"][0]["title"], "a");
    assert_eq!(answered.json()["rows"][1], json!(null));
}

#[tokio::test]
async fn json_in_a_query_is_read_as_strictly_as_a_body() {
    let setup = Setup::new().await;
    for rows in [
        r#"[{"note_id":"a","note_id":"b"}]"#,
        r#"[{"note_id":"a"}] x"#,
        r#"[{"note_id":"\ud800"}]"#,
        r#"[{"note_id":"a"}"#,
        &("[".repeat(200) + &"]".repeat(200)),
    ] {
        let encoded: String = rows.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let refused = setup.get(&setup.ann, &format!("/notes_of?rows={encoded}")).await;
        assert_eq!(
            (refused.status, refused.problem().as_str()),
            (StatusCode::BAD_REQUEST, "argument")
        );
        assert_eq!(refused.json()["argument"], "rows", "{rows}");
    }
}

#[tokio::test]
async fn a_problem_names_the_argument() {
    let setup = Setup::new().await;
    let wrong = setup.get(&setup.ann, "/notes?limit=many").await;
    assert_eq!((wrong.status, wrong.problem().as_str()), (StatusCode::BAD_REQUEST, "argument"));
    assert_eq!(wrong.json()["argument"], "limit");
    let unknown = setup.post(&setup.ann, "/write_note", json!({"titel": "x"})).await;
    assert_eq!(unknown.json()["argument"], "titel");
    assert_eq!(unknown.json()["did_you_mean"], "title");
    let missing = setup.post(&setup.ann, "/write_note", json!({})).await;
    assert_eq!(missing.json()["argument"], "title");
    assert_eq!(
        (missing.problem().as_str(), &missing.json()["expected"]),
        ("argument", &json!("text"))
    );
    let twice = setup.get(&setup.ann, "/note?note_id=a&note_id=b").await;
    assert_eq!(twice.json()["argument"], "note_id");
    let empty = setup.send(post(&setup.ann, "/write_note").body(Body::empty()).unwrap()).await;
    assert_eq!(empty.json()["argument"], "title");
}

#[tokio::test]
async fn there_is_one_endpoint_a_pattern_and_none_besides() {
    let setup = Setup::new().await;
    for path in ["/nothing", "/notes/x", "/user:ann:notes", "/%2e%2e/notes", "/-/nothing"] {
        let answered = setup.get(&setup.ann, path).await;
        assert_eq!(answered.status, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(answered.problem(), "no_endpoint", "{path}");
    }
    for (method, path, allowed) in [
        (Method::POST, "/notes", "GET"),
        (Method::DELETE, "/notes", "GET"),
        (Method::GET, "/write_note", "POST"),
        (Method::PUT, "/write_note", "POST"),
    ] {
        let request = get(&setup.ann, path).method(method).body(Body::empty()).unwrap();
        let answered = setup.send(request).await;
        assert_eq!(answered.status, StatusCode::METHOD_NOT_ALLOWED, "{path}");
        assert_eq!(answered.header("allow"), Some(allowed));
    }
}

#[tokio::test]
async fn counters_and_names() {
    let setup = Setup::new().await;
    assert_eq!(setup.write(&setup.ann, "/visit", json!({"page": "a"})).await["total"], json!(1));
    let more = json!({"page": "a", "amount": 4});
    assert_eq!(setup.write(&setup.bob, "/visit", more).await["total"], json!(5));
    setup.write(&setup.ann, "/call_me", json!({"name": "Queen"})).await;
    let taken = setup.post(&setup.bob, "/call_me", json!({"name": "queen"})).await;
    assert_eq!((taken.status, taken.problem().as_str()), (StatusCode::CONFLICT, "taken"));
}

#[tokio::test]
async fn answers_are_compressed_for_whoever_can_read_that() {
    let setup = Setup::new().await;
    let long = "long ".repeat(1_000);
    setup.write(&setup.ann, "/write_note", json!({"title": long})).await;
    let request = get(&setup.ann, "/notes").header("accept-encoding", "gzip");
    let answered = setup.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(answered.header("content-encoding"), Some("gzip"));
    assert!(answered.body.len() < 500, "{}", answered.body.len());
    assert_eq!(setup.get(&setup.ann, "/notes").await.header("content-encoding"), None);
}

#[tokio::test]
async fn the_server_says_how_it_is() {
    let setup = Setup::new().await;
    let health = setup.get("", "/health").await;
    assert_eq!((health.status, health.json()), (StatusCode::OK, json!({"status": "up"})));
    setup.get(&setup.ann, "/notes").await;
    setup.get(&setup.ann, "/notes?limit=x").await;
    let numbers = String::from_utf8(setup.get(&setup.operator, "/metrics").await.body).unwrap();
    for line in [
        "keyway_calls_answered_total{pattern=\"notes\"} 1",
        "keyway_calls_failed_total{pattern=\"notes\"} 1",
        "keyway_call_seconds_count{pattern=\"notes\"} 1",
        "keyway_problems_total{problem=\"argument\"} 1",
        "keyway_store_up 1",
    ] {
        assert!(numbers.contains(line), "{line} is not in\n{numbers}");
    }
    assert!(numbers.ends_with("# EOF\n"));
}

#[tokio::test]
async fn pages_of_other_sites_may_ask_where_they_are_named() {
    let asks = || {
        let request = Request::options("/notes").header("origin", "https://app.example");
        let request = request.header("access-control-request-method", "GET");
        request.header("access-control-request-headers", "authorization").body(Body::empty())
    };
    let closed = Setup::new().await.send(asks().unwrap()).await;
    assert_eq!(closed.header("access-control-allow-origin"), None);
    let origins = vec!["https://app.example".to_string()];
    let settings = server::Settings { origins, ..server::Settings::default() };
    let open = Setup::with(settings).await.send(asks().unwrap()).await;
    assert_eq!(open.header("access-control-allow-origin"), Some("https://app.example"));
    assert!(open.header("access-control-allow-headers").unwrap().contains("authorization"));
}

#[tokio::test]
async fn a_named_site_may_read_the_answer_and_no_other() {
    let origins = vec!["https://app.example".to_string(), "https://two.example".to_string()];
    let settings = server::Settings { origins, ..server::Settings::default() };
    let setup = Setup::with(settings).await;
    let asks = async |token: &str, origin: &str| {
        let request = get(token, "/notes").header("origin", origin);
        setup.send(request.body(Body::empty()).unwrap()).await
    };
    for origin in ["https://app.example", "https://two.example"] {
        let answered = asks(&setup.ann, origin).await;
        assert_eq!(answered.status, StatusCode::OK);
        assert_eq!(answered.header("access-control-allow-origin"), Some(origin));
        let exposed = answered.header("access-control-expose-headers").unwrap();
        assert!(exposed.contains("etag") && exposed.contains("retry-after"), "{exposed}");
        // A cache must not show one site what was answered to another.
        let vary = answered.headers.get_all("vary").iter().map(|vary| vary.to_str().unwrap());
        let vary = vary.collect::<Vec<_>>().join(",");
        assert!(vary.contains("origin"), "{vary}");
        // A page must be able to read why it was refused.
        let refused = asks("", origin).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
        assert_eq!(refused.header("access-control-allow-origin"), Some(origin));
    }
    for origin in ["https://evil.example", "http://app.example", "https://app.example:8443", "null"]
    {
        let answered = asks(&setup.ann, origin).await;
        assert_eq!(answered.header("access-control-allow-origin"), None, "{origin}");
        assert_eq!(answered.header("access-control-allow-credentials"), None, "{origin}");
    }
}
