//! Who may come in, by which way, and as whom.

use crate::support::Shelf;
use axum::body::Body;
use axum::http::{Method, Request, Response, StatusCode};
use data::Caller;
use http_body_util::BodyExt;
use serde_json::{Value as Json, json};
use server::access::NewToken;
use std::collections::BTreeSet;

/// Every endpoint that only operators may use, with a body for those that change something.
fn guarded() -> Vec<(Method, &'static str, Option<Json>)> {
    let get = |path| (Method::GET, path, None);
    let post = |path| (Method::POST, path, Some(json!({})));
    vec![
        get("/-/api/keyspace"),
        get("/-/api/plans/my_books"),
        get("/-/api/layouts/memory"),
        get("/-/api/rows/books"),
        get("/-/api/rows/books/AAEA"),
        get("/-/api/traffic"),
        get("/-/api/scrub"),
        get("/-/api/tokens"),
        get("/-/api/audit"),
        get("/-/export"),
        post("/-/api/sessions"),
        post("/-/api/sessions/x/end"),
        post("/-/api/scrub"),
        post("/-/api/scrub/stop"),
        post("/-/api/tokens"),
        post("/-/api/tokens/x/revoke"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn only_operators_may() {
    let shelf = Shelf::open().await;
    let user = NewToken { user: Some("ann".to_string()), ..NewToken::default() };
    let user = shelf.service.book.create(user).await.unwrap().0.reveal();
    let session = shelf.service.sessions.begin(Caller::user("ann"), false).reveal();
    for (method, path, body) in guarded() {
        let asked = |token| shelf.ask(method.clone(), path, token, body.clone());
        assert_eq!(asked(None).await.0, StatusCode::UNAUTHORIZED, "{path} without a token");
        assert_eq!(asked(Some(&user)).await.0, StatusCode::FORBIDDEN, "{path} by a user");
        assert_eq!(asked(Some(&session)).await.0, StatusCode::FORBIDDEN, "{path} by a session");
        let (status, body) = asked(Some(&shelf.operator)).await;
        let is_let_in = status != StatusCode::UNAUTHORIZED && status != StatusCode::FORBIDDEN;
        assert!(is_let_in && !status.is_server_error(), "{path}: {status} {body}");
    }
    let actions = shelf.actions().await;
    assert!(!actions.iter().any(|action| action == "token revoked"), "{actions:?}");
}

/// Every endpoint with a method that it does not take, and with a path that is no text.
#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_is_a_problem() {
    let shelf = Shelf::open().await;
    let public = ["/", "/health", "/metrics", "/openapi.json", "/-/about", "/-/open"];
    let public = public.map(|path| (path, path != "/-/open"));
    let guarded = guarded();
    let guarded = guarded.iter().map(|(method, path, _)| (*path, *method == Method::GET));
    for (path, reads) in public.into_iter().chain(guarded).chain([("/-/assets/x", true)]) {
        let has_both = matches!(path, "/-/api/scrub" | "/-/api/tokens");
        let wrong = if reads { Method::POST } else { Method::GET };
        for method in [wrong, Method::PUT, Method::DELETE].into_iter().skip(usize::from(has_both)) {
            let response = shelf.respond(method.clone(), path).await;
            assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
            is_problem(response, "method", path).await;
        }
    }
    for (method, path) in [
        (Method::GET, "/-/assets/%ff"),
        (Method::GET, "/-/api/plans/%ff"),
        (Method::GET, "/-/api/layouts/%C0%AF"),
        (Method::GET, "/-/api/rows/%ED%A0%80"),
        (Method::GET, "/-/api/rows/books/%ff"),
        (Method::POST, "/-/api/tokens/%ff/revoke"),
        (Method::POST, "/-/api/sessions/%ff/end"),
    ] {
        let response = shelf.respond(method, path).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{path}");
        is_problem(response, "path", path).await;
    }
}

async fn is_problem(response: Response<Body>, name: &str, path: &str) {
    assert_eq!(response.headers()["content-type"], "application/problem+json", "{path}");
    if name == "method" {
        assert!(!response.headers()["allow"].is_empty(), "{path}");
    }
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let problem: Json = serde_json::from_slice(&body).unwrap();
    assert_eq!(problem["type"], format!("urn:keyway:problem:{name}"), "{path}");
    assert_eq!(problem["status"], status);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_and_its_parts_are_public() {
    let shelf = Shelf::open().await;
    let (status, page) = shelf.ask(Method::GET, "/", None, None).await;
    assert_eq!(status, StatusCode::OK);
    let mut parts: BTreeSet<String> = BTreeSet::new();
    let mut unread: Vec<String> = vec![page];
    while let Some(text) = unread.pop() {
        let quoted = text.split('"').filter(|word| word.len() < 60 && !word.contains(' '));
        let named = quoted
            .filter_map(|word| word.strip_prefix("/-/assets/").or_else(|| word.strip_prefix("./")));
        for name in named {
            if parts.insert(name.to_string()) {
                let path = format!("/-/assets/{name}");
                let (status, text) = shelf.ask(Method::GET, &path, None, None).await;
                assert_eq!(status, StatusCode::OK, "{path}");
                unread.push(text);
            }
        }
    }
    assert!(parts.len() > 15 && parts.contains("tokens.js"), "{parts:?}");
    let (status, _) = shelf.ask(Method::GET, "/-/assets/other.js", None, None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (status, about) = shelf.ask(Method::GET, "/-/about", None, None).await;
    assert!(status == StatusCode::OK && about.contains("shelf"), "{about}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_opens_one_console() {
    let shelf = Shelf::open().await;
    let code = json!({ "code": shelf.service.sessions.code() });
    let open = || shelf.ask(Method::POST, "/-/open", None, Some(code.clone()));
    let (status, body) = open().await;
    assert_eq!(status, StatusCode::OK, "{body}");
    let token = serde_json::from_str::<Json>(&body).unwrap()["token"].as_str().unwrap().to_string();
    let asked = shelf.ask(Method::GET, "/-/api/keyspace", Some(&token), None).await;
    assert_eq!(asked.0, StatusCode::OK);
    assert_eq!(open().await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(shelf.actions().await, ["console opened"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_of_other_sites_do_nothing() {
    let shelf = Shelf::open().await;
    let request = Request::builder().method(Method::POST).uri("/-/api/scrub");
    let request = request.header("authorization", format!("Bearer {}", shelf.operator));
    let request = request.header("content-type", "text/plain");
    let response = shelf.endpoints.answer(None, &mut request.body(Body::from("{}")).unwrap()).await;
    assert_eq!(response.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(shelf.get("/-/api/scrub").await["state"], "none");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_calls_as_somebody_else() {
    let shelf = Shelf::open().await;
    shelf.add("ann", 0..2).await;
    let wanted = json!({ "user": "ann", "roles": ["reader"] });
    let (status, begun) = shelf.post("/-/api/sessions", wanted).await;
    assert_eq!(status, StatusCode::OK);
    let token = begun["token"].as_str().unwrap();
    let (_, books) = shelf.ask(Method::GET, "/my_books", Some(token), None).await;
    let books: Json = serde_json::from_str(&books).unwrap();
    assert_eq!(books["rows"].as_array().unwrap().len(), 2);
    let path = format!("/-/api/sessions/{}/end", begun["id"].as_str().unwrap());
    assert_eq!(shelf.post(&path, json!({})).await.1["ended"], true);
    let (status, _) = shelf.ask(Method::GET, "/my_books", Some(token), None).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert_eq!(shelf.actions().await, ["session ended", "called as"]);
}
