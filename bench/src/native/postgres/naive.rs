//! Naive code on the same tables: statements as text, one after the other, a read for each row.
//!
//! It keeps no locks and remembers no call, and still waits more often.

use super::expert::{Unsigned, note_of};
use crate::notes::{Note, Page};
use crate::race::{Contender, Work};
use crate::ulid::ulid;
use data::geo;
use std::sync::Mutex;
use tokio_postgres::{Client, NoTls};

pub struct Naive {
    idle: Mutex<Vec<Client>>,
    url: String,
}

const COLUMNS: &str = "author, note_id, title, words, tag, lat, lon";

impl Naive {
    pub async fn open(url: &str) -> Naive {
        Naive { idle: Mutex::default(), url: url.to_string() }
    }

    async fn lease(&self) -> Client {
        let idle = self.idle.lock().unwrap().pop();
        if let Some(client) = idle {
            return client;
        }
        let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute("SET search_path TO notes").await.unwrap();
        client
    }

    fn give_back(&self, client: Client) {
        self.idle.lock().unwrap().push(client);
    }

    async fn add(&self, note: Note) {
        let mut client = self.lease().await;
        let (author, id) = (Unsigned(note.author), ulid(note.note_id));
        let transaction = client.transaction().await.unwrap();
        let there = "SELECT 1 FROM notes WHERE author = $1 AND note_id = $2";
        assert!(transaction.query(there, &[&author, &id]).await.unwrap().is_empty());
        let Note { title, words, tag, lat, lon, .. } = &note;
        let put = "INSERT INTO notes VALUES ($1, $2, $3, $4, $5, $6, $7, gen_random_uuid())";
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 7] =
            [&author, &id, title, words, tag, lat, lon];
        transaction.execute(put, &values).await.unwrap();
        let tagged = "INSERT INTO notes_by_tag (tag, note_id, author) VALUES ($1, $2, $3)";
        transaction.execute(tagged, &[tag, &id, &author]).await.unwrap();
        let cell = Unsigned(geo::cell(note.lat, note.lon, 10).unwrap());
        let placed = "INSERT INTO notes_by_place VALUES ($1, $2, $3, $4, $5)";
        transaction.execute(placed, &[&cell, &id, &author, lat, lon]).await.unwrap();
        transaction.commit().await.unwrap();
        self.give_back(client);
    }

    async fn one(client: &Client, author: Unsigned, id: &str) -> Option<Note> {
        let get = format!("SELECT {COLUMNS} FROM notes WHERE author = $1 AND note_id = $2");
        client.query_opt(&get, &[&author, &id]).await.unwrap().as_ref().map(note_of)
    }

    /// Ids first, then a read for each.
    async fn many(&self, ids: &str, by: &(dyn tokio_postgres::types::ToSql + Sync)) -> Vec<Note> {
        let client = self.lease().await;
        let mut notes = Vec::new();
        for row in client.query(ids, &[by]).await.unwrap() {
            notes.extend(Naive::one(&client, row.get(0), row.get(1)).await);
        }
        self.give_back(client);
        notes
    }
}

impl Contender for Naive {
    fn insert(&self, note: Note) -> Work<'_, ()> {
        Box::pin(self.add(note))
    }

    fn get(&self, author: u64, note_id: u128) -> Work<'_, Option<Note>> {
        Box::pin(async move {
            let client = self.lease().await;
            let note = Naive::one(&client, Unsigned(author), &ulid(note_id)).await;
            self.give_back(client);
            note
        })
    }

    fn page(&self, author: u64, rows: usize) -> Work<'_, Page> {
        Box::pin(async move {
            let ids = format!(
                "SELECT author, note_id FROM notes WHERE author = $1 \
                 ORDER BY note_id DESC LIMIT {rows}"
            );
            Page::guessed(self.many(&ids, &Unsigned(author)).await, rows)
        })
    }

    fn tagged<'w>(&'w self, tag: &'w str, rows: usize) -> Work<'w, Page> {
        Box::pin(async move {
            let ids = format!(
                "SELECT author, note_id FROM notes_by_tag WHERE tag = $1 \
                 ORDER BY note_id DESC, author LIMIT {rows}"
            );
            Page::guessed(self.many(&ids, &tag).await, rows)
        })
    }
}
