//! Versions, and calls that are sent again.

use crate::support::{Answered, Setup, get, post};
use axum::body::Body;
use axum::http::StatusCode;
use serde_json::{Value as Json, json};
use server::access::NewToken;
use server::{Callers, Settings};

async fn change(setup: &Setup, tag: &str, body: Json) -> Answered {
    let request = post(&setup.ann, "/change_note").header("if-match", tag);
    setup.send(request.body(Body::from(body.to_string())).unwrap()).await
}

#[tokio::test]
async fn a_version_is_a_tag() {
    let setup = Setup::new().await;
    let written = setup.post(&setup.ann, "/write_note", json!({"title": "Milk"})).await;
    let tag = written.header("etag").unwrap().to_string();
    assert_eq!(tag, format!("\"{}\"", written.json()["version"].as_str().unwrap()));
    let id = written.json()["row"]["note_id"].as_str().unwrap().to_string();
    let path = format!("/note?note_id={id}");
    let read = setup.get(&setup.ann, &path).await;
    assert_eq!(read.header("etag"), Some(tag.as_str()));
    let again = get(&setup.ann, &path).header("if-none-match", &tag);
    let again = setup.send(again.body(Body::empty()).unwrap()).await;
    assert_eq!((again.status, again.body.len()), (StatusCode::NOT_MODIFIED, 0));
    let changed = change(&setup, &tag, json!({"note_id": id, "title": "Bread"})).await;
    assert_eq!(changed.status, StatusCode::OK, "{changed:?}");
    assert_ne!(changed.header("etag"), Some(tag.as_str()));
    let late = change(&setup, &tag, json!({"note_id": id, "title": "Eggs"})).await;
    assert_eq!(late.status, StatusCode::PRECONDITION_FAILED);
    assert_eq!(late.problem(), "conflict");
    let again = get(&setup.ann, &path).header("if-none-match", &tag);
    let again = setup.send(again.body(Body::empty()).unwrap()).await;
    assert_eq!((again.status, &again.json()["row"]["title"]), (StatusCode::OK, &json!("Bread")));
}

#[tokio::test]
async fn a_condition_that_means_nothing_is_refused() {
    let setup = Setup::new().await;
    let request = post(&setup.ann, "/star").header("if-match", "\"x\"");
    let refused = setup.send(request.body(Body::from(r#"{"note_id":"a"}"#)).unwrap()).await;
    assert_eq!((refused.status, refused.problem().as_str()), (StatusCode::BAD_REQUEST, "if_match"));
    for tag in ["x", "*", "\"a\", \"b\"", "W/\"x\""] {
        let refused = change(&setup, tag, json!({"note_id": "a", "title": "b"})).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{tag}");
    }
    let twice =
        json!({"note_id": "a", "title": "b", "if_version": "01a1e30b-4035-7d05-8985-9eb0118be341"});
    let refused = change(&setup, "\"01a1e30b-4035-7d05-8985-9eb0118be341\"", twice).await;
    assert_eq!(refused.problem(), "if_match");
}

async fn visit(setup: &Setup, token: &str, key: &str, page: &str) -> Answered {
    let request = post(token, "/visit").header("idempotency-key", key);
    setup.send(request.body(Body::from(json!({"page": page}).to_string())).unwrap()).await
}

#[tokio::test]
async fn a_call_that_is_sent_again_is_made_once() {
    let setup = Setup::new().await;
    let now = setup.service.keyway.runtime().options().clock.now();
    let random = keyway::SystemRandom::start().unwrap();
    let id = keyway::CommitId::new(now, &random).to_string();
    for key in ["any text", "3fa85f64-5717-4562-b3fc-2c963f66afa6", id.as_str()] {
        let first = visit(&setup, &setup.ann, key, key_page(key)).await;
        let again = visit(&setup, &setup.ann, key, key_page(key)).await;
        assert_eq!(first.json()["total"], json!(1), "{first:?}");
        assert_eq!(again.body, first.body);
    }
    let other = visit(&setup, &setup.bob, "any text", "any").await;
    assert_eq!(other.json()["total"], json!(2), "another caller's key is another key");
    let reused = visit(&setup, &setup.ann, "any text", "elsewhere").await;
    assert_eq!(reused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(reused.problem(), "idempotency_key");
    for wrong in [String::new(), "x".repeat(256)] {
        let refused = visit(&setup, &setup.ann, &wrong, "a").await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
}

#[tokio::test]
async fn a_key_that_looks_like_an_id_is_bound_as_any_other() {
    let setup = Setup::new().await;
    let written = setup.post(&setup.ann, "/write_note", json!({"title": "Milk"})).await;
    let note = written.json()["row"]["note_id"].clone();
    // A version is the id of the batch that wrote it. As a key it is no more than a text.
    let version = written.json()["version"].as_str().unwrap().to_string();
    for token in [&setup.ann, &setup.bob] {
        let request = post(token, "/write_note").header("idempotency-key", &version);
        let bread = setup.send(request.body(Body::from(r#"{"title":"Bread"}"#)).unwrap()).await;
        assert_eq!(bread.status, StatusCode::OK, "{bread:?}");
        let titles = setup.get(token, "/notes").await.json()["rows"].to_string();
        assert!(titles.contains("Bread"), "{titles}");
    }
    let request = post(&setup.ann, "/star").header("idempotency-key", &version);
    let body = Body::from(json!({"note_id": note}).to_string());
    let starred = setup.send(request.body(body).unwrap()).await;
    assert_eq!(starred.json()["row"]["stars"], json!(1), "another pattern's key is another key");
    let now = setup.service.keyway.runtime().options().clock.now();
    let random = keyway::SystemRandom::start().unwrap();
    let key = keyway::CommitId::new(now, &random).to_string();
    assert_eq!(visit(&setup, &setup.ann, &key, "a").await.json()["total"], json!(1));
    let other = visit(&setup, &setup.bob, &key, "a").await;
    assert_eq!(other.json()["total"], json!(2), "another caller's key is another key");
    let reused = visit(&setup, &setup.ann, &key, "b").await;
    assert_eq!(reused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(reused.problem(), "idempotency_key");
}

#[tokio::test]
async fn a_key_is_its_callers_whatever_token_they_show() {
    let setup = Setup::new().await;
    let second = NewToken { user: Some("ann".to_string()), ..NewToken::default() };
    let second = setup.service.book.create(second).await.unwrap().0.reveal();
    let in_tenant = NewToken {
        user: Some("ann".to_string()),
        tenant: Some("acme".to_string()),
        ..NewToken::default()
    };
    let in_tenant = setup.service.book.create(in_tenant).await.unwrap().0.reveal();
    assert_eq!(visit(&setup, &setup.ann, "key", "a").await.json()["total"], json!(1));
    assert_eq!(visit(&setup, &second, "key", "a").await.json()["total"], json!(1));
    assert_eq!(visit(&setup, &in_tenant, "key", "a").await.json()["total"], json!(2));
}

#[tokio::test]
async fn callers_who_are_believed_have_keys_of_their_own() {
    let settings = Settings { callers: Callers::Trusted, ..Settings::default() };
    let setup = Setup::with(settings).await;
    let visit = async |user: &str, tenant: &str| {
        let request = post("", "/visit").header("idempotency-key", "key");
        let request = request.header("keyway-user", user).header("keyway-tenant", tenant);
        setup.send(request.body(Body::from(r#"{"page":"a"}"#)).unwrap()).await.json()["total"]
            .clone()
    };
    assert_eq!(visit("ann", "acme").await, json!(1));
    assert_eq!(visit("ann", "acme").await, json!(1), "the same call again");
    assert_eq!(visit("bob", "acme").await, json!(2));
    assert_eq!(visit("ann", "other").await, json!(3));
}

fn key_page(key: &str) -> &str {
    key.split([' ', '-']).next().unwrap()
}

#[tokio::test]
async fn rows_with_new_ids_are_made_once() {
    let setup = Setup::new().await;
    let write = async || {
        let request = post(&setup.ann, "/write_note").header("idempotency-key", "once");
        setup.send(request.body(Body::from(r#"{"title":"x"}"#)).unwrap()).await.json()
    };
    let (first, again) = (write().await, write().await);
    assert_eq!(first["row"]["note_id"], again["row"]["note_id"]);
    assert_eq!(setup.get(&setup.ann, "/notes").await.json()["rows"].as_array().unwrap().len(), 1);
}
