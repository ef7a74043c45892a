//! Keyway, by the structs and functions of the chat's keyspace.

use crate::{Contender, Page, Work};
use servers::cassandra::Cassandra;
use std::time::{SystemTime, UNIX_EPOCH};

mod generated {
    #![allow(missing_docs, dead_code, unused)]
    keyway::include_keyspace!("../apps/chat/keyspace.toml");
}

use generated::{Chat, ChatCaller};

/// The Cassandra keyspace of the tables.
pub const PLACE: &str = "chat_keyway";
/// The length of a slice of messages.
const SLICE: u64 = 5 * 86_400_000;

pub struct Typed {
    caller: ChatCaller,
    _chat: Chat,
}

impl Typed {
    pub async fn open(server: &Cassandra) -> Typed {
        let chat = Chat::open(&format!("{}?replication=1", server.url(PLACE))).await.unwrap();
        let caller = chat.as_user("6f9619ff-8b86-4d01-b42d-00cf4fc964ff");
        Typed { caller, _chat: chat }
    }

    /// Fills a channel, by many callers at a time.
    pub async fn fill(&self, channel: [u8; 16], messages: u64) {
        for first in (0..messages).step_by(64) {
            let sent = (first..(first + 64).min(messages))
                .map(|number| self.send(channel, format!("message {number}")));
            futures_util::future::join_all(sent).await;
        }
    }

    /// Makes the directory of a channel as long as if it had messages in so many older slices.
    pub fn pretend_slices(&self, server: &Cassandra, channel: [u8; 16], slices: u64) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
        let channel = uuid::Uuid::from_bytes(channel);
        for number in 1..=slices {
            let start = (now / SLICE - number) * SLICE;
            server.cql(&format!(
                "INSERT INTO {PLACE}.messages_by_channel_buckets (channel_id, bucket) \
                 VALUES ({channel}, {start})"
            ));
        }
    }
}

impl Contender for Typed {
    fn send(&self, channel: [u8; 16], content: String) -> Work<'_, ()> {
        Box::pin(async move {
            let call = self.caller.send_message(keyway::TimeUuid(channel), content);
            call.into_future().await.unwrap();
        })
    }

    fn page(&self, channel: [u8; 16]) -> Work<'_, Page> {
        Box::pin(async move {
            let call = self.caller.read_messages(keyway::TimeUuid(channel));
            let page = call.into_future().await.unwrap();
            let texts = page.rows.into_iter().map(|row| row.content).collect();
            (texts, page.next.is_some())
        })
    }

    fn read(&self, channel: [u8; 16]) -> Work<'_, usize> {
        Box::pin(async move {
            let call = self.caller.read_messages(keyway::TimeUuid(channel));
            call.into_future().await.unwrap().rows.len()
        })
    }

    fn join(&self, guild: [u8; 16]) -> Work<'_, ()> {
        Box::pin(async move {
            self.caller.join_guild(keyway::Uuid(guild)).into_future().await.unwrap();
        })
    }
}
