//! Who may.

use crate::support::{Setup, get, post};
use axum::body::Body;
use axum::http::StatusCode;
use serde_json::json;
use server::access::NewToken;
use server::{Callers, Settings, listen};
use std::num::NonZeroU32;

#[tokio::test]
async fn c1_nobody_says_whose_row_it_is() {
    let setup = Setup::new().await;
    let body = json!({"title": "x", "user_id": "bob"});
    let refused = setup.post(&setup.ann, "/write_note", body).await;
    assert_eq!((refused.status, refused.problem().as_str()), (StatusCode::BAD_REQUEST, "argument"));
    assert_eq!(refused.json()["argument"], "user_id");
    let refused = setup.get(&setup.ann, "/notes?user_id=bob").await;
    assert_eq!(refused.json()["argument"], "user_id");
    let refused = setup.get(&setup.ann, "/notes?limit=51").await;
    assert_eq!(refused.json()["argument"], "limit");
}

#[tokio::test]
async fn c3_a_token_is_looked_at_first() {
    let setup = Setup::new().await;
    let wrong = "kw_user_000000000000_AAAA";
    // Even where nobody needs one, and whatever else is wrong.
    for path in ["/board", "/notes", "/health", "/notes?limit=x", "/nothing", "/openapi.json"] {
        let refused = setup.get(wrong, path).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{path}");
        assert_eq!(refused.header("www-authenticate"), Some("Bearer realm=\"keyway\""));
    }
    let basic = get("", "/notes").header("authorization", "Basic YW5uOng=");
    let refused = setup.send(basic.body(Body::empty()).unwrap()).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    let unnamed = setup.get("", "/notes").await;
    assert_eq!(unnamed.status, StatusCode::UNAUTHORIZED);
    assert_eq!(setup.get("", "/board").await.status, StatusCode::OK);
}

#[tokio::test]
async fn c4_nothing_of_the_last_caller_is_left() {
    let setup = Setup::new().await;
    setup.write(&setup.ann, "/write_note", json!({"title": "secret"})).await;
    for _ in 0..20 {
        let (ann, bob) =
            tokio::join!(setup.get(&setup.ann, "/notes"), setup.get(&setup.bob, "/notes"));
        assert_eq!(ann.json()["rows"].as_array().unwrap().len(), 1);
        assert_eq!(bob.json()["rows"], json!([]));
    }
}

#[tokio::test]
async fn c5_a_cursor_is_good_for_its_caller_and_pattern_alone() {
    let setup = Setup::new().await;
    for token in [&setup.ann, &setup.bob] {
        for number in 0..3 {
            let note = json!({"title": format!("{number}"), "tags": ["a"]});
            setup.write(token, "/write_note", note).await;
        }
    }
    let page = setup.get(&setup.ann, "/notes?limit=1").await.json();
    let cursor = page["next"].as_str().unwrap();
    for (token, path) in [
        (&setup.bob, format!("/notes?limit=1&cursor={cursor}")),
        (&setup.ann, format!("/tagged?tags=a&cursor={cursor}")),
        (&setup.ann, format!("/notes?cursor={}", &cursor[..cursor.len() - 1])),
    ] {
        let refused = setup.get(token, &path).await;
        assert_eq!(
            (refused.status, refused.problem().as_str()),
            (StatusCode::BAD_REQUEST, "cursor")
        );
    }
    assert_eq!(setup.get(&setup.ann, &format!("/notes?cursor={cursor}")).await.status, 200);
}

#[tokio::test]
async fn c6_what_is_private_is_kept_by_nobody() {
    let setup = Setup::new().await;
    setup.write(&setup.admin, "/pin", json!({"card_id": "a", "text": "hello"})).await;
    let private = setup.get(&setup.ann, "/notes").await;
    assert_eq!(private.header("cache-control"), Some("no-store"));
    let missing = setup.get(&setup.ann, "/note?note_id=x").await;
    assert_eq!(missing.header("cache-control"), Some("no-store"));
    let public = setup.get("", "/board").await;
    assert_eq!(public.header("cache-control"), Some("public, no-cache"));
}

#[tokio::test]
async fn c8_anothers_row_is_answered_like_a_missing_one() {
    let setup = Setup::new().await;
    let written = setup.write(&setup.ann, "/write_note", json!({"title": "secret"})).await;
    let id = written["row"]["note_id"].as_str().unwrap().to_string();
    let none = format!("{}0", &id[..id.len() - 1]);
    let version = written["version"].as_str().unwrap();
    let foreign = setup.get(&setup.bob, &format!("/note?note_id={id}")).await;
    let missing = setup.get(&setup.bob, &format!("/note?note_id={none}")).await;
    assert_eq!((foreign.status, &foreign.body), (StatusCode::NOT_FOUND, &missing.body));
    assert_eq!(foreign.headers, missing.headers);
    for path in ["/star", "/change_note"] {
        let body = |id: &str| match path {
            "/star" => json!({"note_id": id}),
            _ => json!({"note_id": id, "title": "mine", "if_version": version}),
        };
        let foreign = setup.post(&setup.bob, path, body(&id)).await;
        let missing = setup.post(&setup.bob, path, body(&none)).await;
        assert_eq!((foreign.status, &foreign.body), (missing.status, &missing.body), "{path}");
    }
    let rows = setup.get(&setup.ann, &format!("/note?note_id={id}")).await.json();
    assert_eq!(rows["row"]["title"], "secret");
}

#[tokio::test]
async fn roles_are_asked_for() {
    let setup = Setup::new().await;
    let card = json!({"card_id": "a", "text": "hello"});
    let refused = setup.post(&setup.ann, "/pin", card.clone()).await;
    assert_eq!((refused.status, refused.problem().as_str()), (StatusCode::FORBIDDEN, "denied"));
    // Whoever looks after the server is no administrator of its data.
    let refused = setup.post(&setup.operator, "/pin", card.clone()).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    setup.write(&setup.admin, "/pin", card).await;
}

#[tokio::test]
async fn a_token_ends_and_is_revoked() {
    let setup = Setup::new().await;
    let clock = setup.service.keyway.runtime().options().clock.clone();
    let short = NewToken {
        user: Some("ann".to_string()),
        expires_at: Some(clock.now() - 1),
        ..NewToken::default()
    };
    let (ended, _) = setup.service.book.create(short).await.unwrap();
    let refused = setup.get(&ended.reveal(), "/notes").await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    assert_eq!(setup.get(&setup.bob, "/notes").await.status, StatusCode::OK);
    let all = setup.service.book.all().await.unwrap();
    let kept = all.iter().find(|kept| kept.user.as_deref() == Some("bob")).unwrap();
    assert!(kept.used_at.is_some_and(|at| at % 3_600_000 == 0), "{kept:?}");
    assert!(setup.service.book.revoke(&kept.id).await.unwrap());
    assert!(!setup.service.book.revoke(&kept.id).await.unwrap());
    assert_eq!(setup.get(&setup.bob, "/notes").await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(setup.get(&setup.ann, "/notes").await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_book_on_disk_is_read_by_the_next_server_and_keeps_no_secret() {
    let random = keyway::SystemRandom::start().unwrap();
    let name = format!("keyway-book-{}-{:p}", std::process::id(), &random);
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir(&folder).unwrap();
    let url = format!("sqlite:{}", folder.join("book.sqlite").display());
    let open = async || {
        let peppers = server::access::Peppers::at(&folder.join("pepper"), &random).unwrap();
        server::access::Book::open(&url, peppers).await.unwrap()
    };
    let first = open().await;
    let wanted = NewToken { user: Some("ann".to_string()), ..NewToken::default() };
    let (token, kept) = first.create(wanted).await.unwrap();
    first.note("somebody", "token created", Some(&kept.id)).await.unwrap();
    // Both programs have it open.
    let second = open().await;
    let principal = second.principal(&token).await.unwrap().unwrap();
    assert_eq!(principal.caller.id(), Some("ann"));
    assert_eq!(second.recent().await.unwrap()[0].action, "token created");
    assert!(first.revoke(&kept.id).await.unwrap());
    first.close().await.unwrap();
    second.close().await.unwrap();
    let text = token.reveal();
    // Before the checksum of six letters.
    let secret = text.as_bytes()[text.len() - 50..text.len() - 7].to_vec();
    for file in std::fs::read_dir(&folder).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret));
    }
    assert_eq!(open().await.principal(&token).await.unwrap(), None);
    // Another pepper knows nobody.
    std::fs::remove_file(folder.join("pepper")).unwrap();
    assert_eq!(open().await.principal(&token).await.unwrap(), None);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn too_many_calls_are_told_to_wait() {
    let settings = Settings { calls_a_second: NonZeroU32::new(3), ..Settings::default() };
    let setup = Setup::with(settings).await;
    let mut refused = 0;
    for _ in 0..50 {
        let answered = setup.get(&setup.ann, "/notes").await;
        if answered.status == StatusCode::TOO_MANY_REQUESTS {
            assert_eq!(answered.problem(), "too_often");
            assert_eq!(answered.header("retry-after"), Some("1"));
            refused += 1;
        }
    }
    assert!(refused > 0);
    assert_eq!(setup.get(&setup.bob, "/notes").await.status, StatusCode::OK);
}

#[tokio::test]
async fn whoever_guesses_tokens_is_told_to_wait() {
    let setup = Setup::new().await;
    let wrong = "kw_user_000000000000_AAAA";
    let mut last = StatusCode::OK;
    for _ in 0..12 {
        last = setup.get(wrong, "/notes").await.status;
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(setup.get(&setup.ann, "/notes").await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_name_that_is_not_the_servers_is_refused() {
    let setup = Setup::new().await;
    let asks = |host: &str| get("", "/board").header("host", host).body(Body::empty()).unwrap();
    for host in ["localhost", "LOCALHOST:7474", "127.0.0.1:7474", "[::1]:7474", "192.0.2.7"] {
        assert_eq!(setup.send(asks(host)).await.status, StatusCode::OK, "{host}");
    }
    for host in ["evil.example", "localhost.evil.example:7474", "127.0.0.1.evil.example", "x:y"] {
        let refused = setup.send(asks(host)).await;
        assert_eq!(refused.status, StatusCode::MISDIRECTED_REQUEST, "{host}");
    }
    let settings = Settings { hosts: vec!["api.example".to_string()], ..Settings::default() };
    let named = Setup::with(settings).await;
    assert_eq!(named.send(asks("api.example:443")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn callers_are_believed_on_this_machine_alone() {
    let settings = Settings { callers: Callers::Trusted, ..Settings::default() };
    let setup = Setup::with(settings).await;
    let request = post("", "/write_note").header("keyway-user", "ann");
    let written = setup.send(request.body(Body::from(r#"{"title":"x"}"#)).unwrap()).await;
    assert_eq!(written.json()["row"]["user_id"], "ann");
    let pinned = post("", "/pin").header("keyway-roles", "clerk, admin");
    let pinned =
        setup.send(pinned.body(Body::from(r#"{"card_id":"a","text":"b"}"#)).unwrap()).await;
    assert_eq!(pinned.status, StatusCode::OK);
    let nobody = setup.post("", "/write_note", json!({"title": "x"})).await;
    assert_eq!(nobody.status, StatusCode::FORBIDDEN);
    let open = "0.0.0.0:0".parse().unwrap();
    let refused = listen(setup.service.clone(), open, None).await.unwrap_err();
    assert!(refused.to_string().contains("listen on 127.0.0.1"), "{refused}");
    assert!(listen(setup.service.clone(), "127.0.0.1:0".parse().unwrap(), None).await.is_ok());
}

#[tokio::test]
async fn every_response_is_protected() {
    let setup = Setup::new().await;
    for (token, path) in [("", "/board"), ("", "/notes"), ("", "/"), (setup.ann.as_str(), "/notes")]
    {
        let answered = setup.get(token, path).await;
        assert_eq!(answered.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answered.header("cross-origin-resource-policy"), Some("same-origin"));
        let policy = answered.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
        assert_eq!(answered.header("x-frame-options"), (path == "/").then_some("DENY"), "{path}");
    }
}
