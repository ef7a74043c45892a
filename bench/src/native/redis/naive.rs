//! Naive code with the same Hashes and sorted sets: commands one after the other, a read for each
//! row. It checks no versions, remembers no call, and a crash leaves half of an insert behind.

use super::expert::{connect, from_member, member, newest, note_of};
use crate::notes::{Note, Page};
use crate::race::{Contender, Work};
use crate::ulid::ulid;
use data::geo;
use redis::aio::MultiplexedConnection;

pub struct Naive {
    connection: MultiplexedConnection,
}

impl Naive {
    pub async fn open(url: &str) -> Naive {
        Naive { connection: connect(url).await }
    }

    pub async fn add(&self, note: Note) {
        let Note { author, note_id, title, words, tag, lat, lon } = note;
        let mut connection = self.connection.clone();
        let id = ulid(note_id);
        let cell = geo::cell(lat, lon, 10).unwrap();
        let key = format!("user:{author}:notes:{id}");
        let there: bool =
            redis::cmd("EXISTS").arg(&key).query_async(&mut connection).await.unwrap();
        assert!(!there);
        let mut put = redis::cmd("HSET");
        put.arg(key).arg("title").arg(title).arg("words").arg(words).arg("tag").arg(&tag);
        put.arg("lat").arg(lat.to_string()).arg("lon").arg(lon.to_string());
        put.exec_async(&mut connection).await.unwrap();
        let member = member(author, &id);
        for (list, member) in [
            (format!("user:{author}:notes"), &id),
            (format!("tag:{tag}"), &member),
            (format!("place:{cell:016x}"), &member),
        ] {
            let mut listed = redis::cmd("ZADD");
            listed.arg(list).arg(0).arg(member);
            listed.exec_async(&mut connection).await.unwrap();
        }
        let mut kept = redis::cmd("HSET");
        kept.arg(format!("place:{cell:016x}:{id}:{author}"));
        kept.arg("lat").arg(lat.to_string()).arg("lon").arg(lon.to_string());
        kept.exec_async(&mut connection).await.unwrap();
    }

    async fn one(&self, author: u64, id: &str) -> Option<Note> {
        let mut asked = redis::cmd("HGETALL");
        asked.arg(format!("user:{author}:notes:{id}"));
        let fields = asked.query_async(&mut self.connection.clone()).await.unwrap();
        note_of(author, id, fields)
    }

    async fn members(&self, list: String, rows: usize) -> Vec<String> {
        newest(list, rows).query_async(&mut self.connection.clone()).await.unwrap()
    }
}

impl Contender for Naive {
    fn insert(&self, note: Note) -> Work<'_, ()> {
        Box::pin(self.add(note))
    }

    fn get(&self, author: u64, note_id: u128) -> Work<'_, Option<Note>> {
        Box::pin(async move { self.one(author, &ulid(note_id)).await })
    }

    fn page(&self, author: u64, rows: usize) -> Work<'_, Page> {
        Box::pin(async move {
            let mut notes = Vec::new();
            for id in self.members(format!("user:{author}:notes"), rows).await {
                notes.extend(self.one(author, &id).await);
            }
            Page::guessed(notes, rows)
        })
    }

    fn tagged<'w>(&'w self, tag: &'w str, rows: usize) -> Work<'w, Page> {
        Box::pin(async move {
            let mut notes = Vec::new();
            for member in self.members(format!("tag:{tag}"), rows).await {
                let (author, id) = from_member(&member);
                notes.extend(self.one(author, id).await);
            }
            Page::guessed(notes, rows)
        })
    }
}
