//! Tokens that are made and revoked, and that somebody did.

use crate::support::{Folder, Shelf};
use axum::http::{Method, StatusCode};
use serde_json::json;
use server::access::{Book, NewToken, Peppers};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_made_and_revoked() {
    let shelf = Shelf::open().await;
    let wanted = json!({ "user": "ann", "label": "phone", "expires_in": 60 });
    let (status, made) = shelf.post("/-/api/tokens", wanted).await;
    assert_eq!(status, StatusCode::OK);
    let text = made["token"].as_str().unwrap();
    assert_eq!(shelf.ask(Method::GET, "/my_books", Some(text), None).await.0, StatusCode::OK);
    let id = made["kept"]["id"].as_str().unwrap();
    let listed = shelf.get("/-/api/tokens").await;
    let listed = listed["tokens"].as_array().unwrap();
    assert!(listed.iter().any(|token| token["id"] == id && token["label"] == "phone"));
    assert!(!serde_json::to_string(listed).unwrap().contains(text));
    let path = format!("/-/api/tokens/{id}/revoke");
    assert_eq!(shelf.post(&path, json!({})).await.0, StatusCode::OK);
    assert_eq!(shelf.post(&path, json!({})).await.0, StatusCode::NOT_FOUND);
    let refused = shelf.ask(Method::GET, "/my_books", Some(text), None).await.0;
    assert_eq!(refused, StatusCode::UNAUTHORIZED);
    let (status, _) = shelf.post("/-/api/tokens", json!({ "expires_in": 0 })).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let actions = shelf.get("/-/api/audit").await;
    let actions: Vec<(&str, &str)> = actions["actions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["action"].as_str().unwrap(), one["subject"].as_str().unwrap()))
        .collect();
    assert_eq!(actions, [("token revoked", id), ("token created", id)]);
}

/// The book is a tree of files here, so that a test can spoil the place of its notes alone.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_noted_is_not_done() {
    let folder = Folder::new("unnoted");
    std::fs::create_dir_all(&folder.0).unwrap();
    let random = data::clock::SystemRandom::start().unwrap();
    let url = format!("files:{}", folder.0.join("book").display());
    let open = async || Book::open(&url, Peppers::random(&random)).await.unwrap();
    let book = open().await;
    let wanted = || NewToken { user: Some("ann".to_string()), ..NewToken::default() };
    let (_, kept) = book.create_by("somebody", wanted()).await.unwrap();
    // What was answered is in the journal; its files follow.
    let actions = loop {
        match find(&folder.0, "actions").filter(|actions| holds_files(actions)) {
            Some(actions) => break actions,
            None => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    };
    std::fs::remove_dir_all(&actions).unwrap();
    std::fs::write(&actions, "in the way").unwrap();
    assert!(book.create_by("somebody", wanted()).await.is_err());
    assert!(book.revoke_by("somebody", &kept.id).await.is_err());
    let _ = book.close().await;
    std::fs::remove_file(&actions).unwrap();
    let tokens = open().await.all().await.unwrap();
    assert_eq!(tokens, [kept], "none was made, and none was revoked");
}

/// Whether there is a file somewhere below a folder.
fn holds_files(folder: &Path) -> bool {
    let mut inside = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    inside.any(|path| path.is_file() || holds_files(&path))
}

/// Where a folder of this name is below another.
fn find(below: &Path, name: &str) -> Option<PathBuf> {
    let inside = std::fs::read_dir(below).unwrap().map(|entry| entry.unwrap().path());
    inside.filter(|path| path.is_dir()).find_map(|path| {
        let is_it = path.file_name().is_some_and(|found| found == name);
        if is_it { Some(path) } else { find(&path, name) }
    })
}
