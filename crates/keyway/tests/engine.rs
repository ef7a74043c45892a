//! A keyspace on the engine: one process has its directory, and lets go of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use keyway::{ErrorKind, Keyway};
use std::path::{Path, PathBuf};

keyway::include_keyspace!("examples/notes.toml");

/// A directory of its own, gone at the end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let name = format!("keyway {name} {}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        Directory(path)
    }

    /// Its path has a space, which a URL may write so.
    fn url(&self) -> String {
        format!("engine:{}?durability=process", self.0.display()).replace(' ', "%20")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn open(directory: &Directory) -> Notebook {
    let options = Keyway::builder().check_bounds(true);
    Notebook::open_with(options, &directory.url()).await.unwrap()
}

#[tokio::test]
async fn one_process_has_a_directory() {
    let directory = Directory::new("locked");
    let notebook = open(&directory).await;
    let second = Notebook::open(&directory.url()).await.unwrap_err();
    assert_eq!(second.kind(), ErrorKind::Locked, "{second}");
    notebook.close().await.unwrap();
    open(&directory).await.close().await.unwrap();
}

#[tokio::test]
async fn dropping_the_last_handle_lets_go() {
    let directory = Directory::new("dropped");
    let notebook = open(&directory).await;
    notebook.as_user("ann").write_note("a").await.unwrap();
    let same = notebook.clone();
    drop(notebook);
    drop(same);
    let notebook = open(&directory).await;
    assert_eq!(notebook.as_user("ann").my_notes().await.unwrap().rows.len(), 1);
}

#[tokio::test]
async fn a_file_with_errors_makes_no_directory() {
    let directory = Directory::new("untouched");
    let opened = keyway::open("tests/broken.toml", &directory.url()).await;
    assert_eq!(opened.unwrap_err().kind(), ErrorKind::Argument);
    assert!(!Path::new(&directory.0).exists());
}
