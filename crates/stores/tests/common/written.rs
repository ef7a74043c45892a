//! What the workers of a fault test write beside items, and what must be true of it afterwards:
//! places (plain rows with an entry each), messages in slices of time, and likes with their counts.

use crate::app::App;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// Rows that were put, by group and key, and whether each is still there.
type Rows = Mutex<BTreeMap<(String, String), bool>>;

/// What was acknowledged.
#[derive(Default)]
pub struct Written {
    places: Rows,
    likes: Rows,
    messages: Mutex<BTreeSet<(String, String)>>,
}

/// How many rows there are.
#[derive(Debug)]
pub struct Counts {
    pub places: u64,
    pub messages: u64,
    pub likes: u64,
    /// Posts with a count of their likes.
    pub posts: u64,
}

impl Written {
    /// One of each, for an item of a worker.
    pub async fn write(&self, app: &App, worker: usize, id: &str, number: u64) {
        self.place(app, id, number).await;
        self.send(app, id, number).await;
        self.like(app, &format!("p{worker}"), id, number).await;
    }

    /// Places an item, and takes every third away again: rows and entries of two groups each time.
    async fn place(&self, app: &App, id: &str, number: u64) {
        let place = (format!("s{}", number % 3), id.to_string());
        let row = json!({"shelf": place.0, "item_id": id, "note": format!("note {id}")});
        app.surely("place", row).await;
        self.places.lock().unwrap().insert(place.clone(), true);
        if number % 3 == 1 {
            app.surely("unplace", json!({"shelf": place.0, "item_id": id})).await;
            self.places.lock().unwrap().insert(place, false);
        }
    }

    /// Sends a message to a channel that all share: each slice has a few messages of everybody.
    async fn send(&self, app: &App, id: &str, number: u64) {
        let minutes = number * 10;
        let (day, hour) = (1 + minutes / 1_440 % 28, minutes / 60 % 24);
        let sent_at = format!("2026-01-{day:02}T{hour:02}:{:02}:00Z", minutes % 60);
        let message = (format!("c{}", number % 2), id.to_string());
        let row = json!({
            "channel": message.0, "sent_at": sent_at, "message_id": id, "content": "said",
        });
        app.surely("send", row).await;
        self.messages.lock().unwrap().insert(message);
    }

    /// Likes a post, and takes every third like back: the row and the count change together.
    async fn like(&self, app: &App, post: &str, reader: &str, number: u64) {
        let like = (post.to_string(), reader.to_string());
        app.surely("like", json!({"post": post, "reader": reader, "note": "liked"})).await;
        self.likes.lock().unwrap().insert(like.clone(), true);
        if number % 3 == 2 {
            app.surely("unlike", json!({"post": post, "reader": reader})).await;
            self.likes.lock().unwrap().insert(like, false);
        }
    }

    /// Whether all of it is there, once, and nothing else.
    pub async fn check(&self, app: &App) -> Counts {
        let places = self.check_places(app).await;
        let messages = self.check_messages(app).await;
        let (likes, posts) = self.check_likes(app).await;
        Counts { places, messages, likes, posts }
    }

    /// Plain rows are there, or gone, and their entries with them.
    async fn check_places(&self, app: &App) -> u64 {
        let places = self.places.lock().unwrap().clone();
        let kept = kept_of(&places);
        for ((shelf, id), kept) in &places {
            let found = app.call("placed", json!({"shelf": shelf, "item_id": id})).await.unwrap();
            let note = kept.then(|| format!("note {id}"));
            assert_eq!(found["row"]["note"].as_str(), note.as_deref(), "{id} on {shelf}");
            let shelves = listed(app, "places_of", json!({"item_id": id}), "shelf").await;
            let wanted: Vec<_> = kept.then(|| shelf.clone()).into_iter().collect();
            assert_eq!(shelves, wanted, "the entry of {id}");
        }
        kept
    }

    /// Every message is listed once, over all the slices that the directory names.
    async fn check_messages(&self, app: &App) -> u64 {
        let mut sent: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let messages = self.messages.lock().unwrap().clone();
        for (channel, id) in messages.iter().cloned() {
            sent.entry(channel).or_default().push(id);
        }
        assert_eq!(sent.len(), 2, "both channels have messages");
        for (channel, ids) in sent {
            let mut found =
                listed(app, "messages_of", json!({"channel": channel}), "message_id").await;
            found.sort_unstable();
            assert_eq!(found, ids, "the messages of {channel}");
        }
        messages.len() as u64
    }

    /// Every like is there or taken back, and counted once; how many likes and posts there are.
    async fn check_likes(&self, app: &App) -> (u64, u64) {
        let likes = self.likes.lock().unwrap().clone();
        let mut by_post: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for ((post, reader), kept) in &likes {
            let readers = by_post.entry(post).or_default();
            readers.extend(kept.then_some(reader.as_str()));
        }
        for (post, readers) in &by_post {
            let of = json!({"post": post});
            let found = listed(app, "likes_of", of.clone(), "reader").await;
            assert_eq!(&found, readers, "the likes of {post}");
            let counts = app.call("like_counts_of", of).await.unwrap();
            assert_eq!(counts["rows"][0]["value"], json!(readers.len()), "{post}: {counts}");
        }
        (kept_of(&likes), by_post.len() as u64)
    }
}

/// How many rows are still there; fails if there are too few to prove anything.
fn kept_of(rows: &BTreeMap<(String, String), bool>) -> u64 {
    let kept = rows.values().filter(|kept| **kept).count();
    assert!(kept > 10 && rows.len() > kept, "{kept} of {} rows", rows.len());
    kept as u64
}

/// One field of every row of a list, page by page.
async fn listed(app: &App, pattern: &str, mut arguments: Json, field: &str) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        let page = app.call(pattern, arguments.clone()).await.unwrap();
        let rows = page["rows"].as_array().unwrap().iter();
        found.extend(rows.map(|row| row[field].as_str().unwrap().to_string()));
        if page["next"].is_null() {
            return found;
        }
        arguments["cursor"] = page["next"].clone();
    }
}
