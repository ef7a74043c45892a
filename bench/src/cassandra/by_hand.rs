//! The driver by hand: statements for three questions, with the slices and the directory that a
//! channel needs to grow.

use crate::{Contender, Page, Work};
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::statement::Consistency;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::prepared::PreparedStatement;
use scylla::value::{CqlTimestamp, CqlTimeuuid};
use servers::cassandra::Cassandra;
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use uuid::Uuid;

/// The length of a slice of messages.
const SLICE: i64 = 5 * 86_400_000;
/// From 1582, from which a time UUID counts, to 1970.
const GREGORIAN: u64 = 12_219_292_800_000;

/// The Cassandra keyspace of the tables.
pub const PLACE: &str = "chat_by_hand";

pub struct ByHand {
    session: Session,
    announce: PreparedStatement,
    insert: PreparedStatement,
    slices: PreparedStatement,
    newest: PreparedStatement,
    join: [PreparedStatement; 2],
    user: Uuid,
    known: Mutex<HashSet<(Uuid, i64)>>,
    ticks: AtomicU64,
    /// Which client it is: no two of them make the same id.
    number: u8,
}

impl ByHand {
    /// Makes the tables, and as many clients of them.
    pub async fn open(server: &Cassandra, clients: u8) -> Vec<ByHand> {
        let session = connect(server).await;
        let made = format!(
            "CREATE KEYSPACE {PLACE} WITH replication = \
             {{'class': 'NetworkTopologyStrategy', 'replication_factor': 1}}"
        );
        session.query_unpaged(made, ()).await.unwrap();
        session.use_keyspace(PLACE, true).await.unwrap();
        let keyspace = keyspace::read(include_str!("../../../apps/chat/keyspace.toml"));
        let layout = keyspace::layout::cql::layout(&keyspace.keyspace.unwrap());
        for table in &layout.tables {
            session.query_unpaged(table.statement(), ()).await.unwrap();
        }
        let mut all = Vec::new();
        for number in 0..clients {
            all.push(ByHand::client(server, number).await);
        }
        all
    }

    async fn client(server: &Cassandra, number: u8) -> ByHand {
        let session = connect(server).await;
        session.use_keyspace(PLACE, true).await.unwrap();
        let prepare = async |text: &str| {
            let mut statement = session.prepare(text).await.unwrap();
            statement.set_is_idempotent(true);
            statement.set_use_cached_result_metadata(true);
            statement
        };
        ByHand {
            announce: prepare(
                "INSERT INTO messages_by_channel_buckets (channel_id, bucket) VALUES (?, ?)",
            )
            .await,
            insert: prepare(
                "INSERT INTO messages_by_channel (channel_id, bucket, message_id, author_id, \
                 content) VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ?",
            )
            .await,
            slices: prepare(
                "SELECT bucket FROM messages_by_channel_buckets WHERE channel_id = ? LIMIT 10",
            )
            .await,
            newest: prepare(
                "SELECT message_id, author_id, content FROM messages_by_channel \
                 WHERE channel_id = ? AND bucket = ? LIMIT ?",
            )
            .await,
            join: [
                prepare(
                    "INSERT INTO guild_members (guild_id, user_id, joined_at) VALUES (?, ?, ?) \
                     USING TIMESTAMP ?",
                )
                .await,
                prepare(
                    "INSERT INTO user_guilds (user_id, guild_id) VALUES (?, ?) USING TIMESTAMP ?",
                )
                .await,
            ],
            session,
            user: Uuid::parse_str("6f9619ff-8b86-4d01-b42d-00cf4fc964ff").unwrap(),
            known: Mutex::default(),
            ticks: AtomicU64::new(0),
            number,
        }
    }

    /// A new time UUID, and its time in milliseconds.
    fn message_id(&self) -> (CqlTimeuuid, i64) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
        let ticks =
            (now + GREGORIAN) * 10_000 + self.ticks.fetch_add(1, Ordering::Relaxed) % 10_000;
        let (low, middle, high) =
            (ticks as u32, (ticks >> 32) as u16, (ticks >> 48) as u16 | 0x1000);
        let id = Uuid::from_fields(low, middle, high, &[0x80, self.number, 2, 3, 4, 5, 6, 7]);
        (CqlTimeuuid::from(id), now as i64)
    }
}

async fn connect(server: &Cassandra) -> Session {
    let profile = ExecutionProfile::builder().consistency(Consistency::LocalQuorum).build();
    let session = SessionBuilder::new()
        .known_nodes(server.addresses())
        .default_execution_profile_handle(profile.into_handle());
    session.build().await.unwrap()
}

/// A message, as an application has it.
#[allow(dead_code, reason = "what an application does with them is not measured")]
struct Message {
    channel_id: Uuid,
    message_id: Uuid,
    author_id: Uuid,
    content: String,
}

impl ByHand {
    /// The newest 50 messages of a channel, and whether more follow.
    async fn messages(&self, channel_id: [u8; 16]) -> (Vec<Message>, bool) {
        let channel_id = Uuid::from_bytes(channel_id);
        let channel = CqlTimeuuid::from(channel_id);
        let found = self.session.execute_unpaged(&self.slices, (channel,)).await.unwrap();
        let found = found.into_rows_result().unwrap();
        let slices: Vec<CqlTimestamp> =
            found.rows::<(CqlTimestamp,)>().unwrap().map(|row| row.unwrap().0).collect();
        let mut messages = Vec::with_capacity(51);
        for slice in slices {
            let wanted = 51 - messages.len() as i32;
            let values = (channel, slice, wanted);
            let found = self.session.execute_unpaged(&self.newest, values).await.unwrap();
            let found = found.into_rows_result().unwrap();
            for row in found.rows::<(CqlTimeuuid, Uuid, String)>().unwrap() {
                let (message_id, author_id, content) = row.unwrap();
                let message_id = *message_id.as_ref();
                messages.push(Message { channel_id, message_id, author_id, content });
            }
            if messages.len() > 50 {
                break;
            }
        }
        let more = messages.len() > 50;
        messages.truncate(50);
        (messages, more)
    }
}

fn slice(time: i64) -> CqlTimestamp {
    CqlTimestamp(time / SLICE * SLICE)
}

impl Contender for ByHand {
    fn send(&self, channel: [u8; 16], content: String) -> Work<'_, ()> {
        Box::pin(async move {
            let channel = Uuid::from_bytes(channel);
            let (message, time) = self.message_id();
            let slice = slice(time);
            let is_new = !self.known.lock().unwrap().contains(&(channel, slice.0));
            if is_new {
                let values = (CqlTimeuuid::from(channel), slice);
                self.session.execute_unpaged(&self.announce, values).await.unwrap();
                self.known.lock().unwrap().insert((channel, slice.0));
            }
            let values =
                (CqlTimeuuid::from(channel), slice, message, self.user, content, time * 1_000);
            self.session.execute_unpaged(&self.insert, values).await.unwrap();
        })
    }

    fn page(&self, channel: [u8; 16]) -> Work<'_, Page> {
        Box::pin(async move {
            let (messages, more) = self.messages(channel).await;
            (messages.into_iter().map(|message| message.content).collect(), more)
        })
    }

    fn read(&self, channel: [u8; 16]) -> Work<'_, usize> {
        Box::pin(async move { self.messages(channel).await.0.len() })
    }

    fn join(&self, guild: [u8; 16]) -> Work<'_, ()> {
        Box::pin(async move {
            let guild = Uuid::from_bytes(guild);
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
            let mut batch = Batch::new(BatchType::Logged);
            batch.set_is_idempotent(true);
            for statement in &self.join {
                batch.append_statement(statement.clone());
            }
            let values = (
                (guild, self.user, CqlTimestamp(now), now * 1_000),
                (self.user, guild, now * 1_000),
            );
            self.session.batch(&batch, values).await.unwrap();
        })
    }
}
