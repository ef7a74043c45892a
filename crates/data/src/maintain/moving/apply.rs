//! Rows of the source written into the target, as they are now.

use super::{Moving, ROWS_TOGETHER};
use crate::error::{Error, ErrorKind, Result};
use crate::maintain::copy::{Side, values};
use crate::maintain::import::{Existing, Import};
use crate::maintain::remove::remove;
use crate::store::{Key, Keyed};
use futures_util::future::join_all;
use keyspace::model::Atomicity;

/// Rows that are on their way at the same time, each in a commit of its own.
const ROWS_AT_ONCE: usize = 16;
/// Times something is tried again that the target did not answer.
const TRIES_MAX: u64 = 5;
/// The first wait before it, in milliseconds.
const TRY_MILLISECONDS: u64 = 100;

impl Moving<'_> {
    /// Makes these rows of the target what they are in the source; those that cannot come yet wait.
    pub(super) async fn apply(&mut self, keys: &[Key]) -> Result<()> {
        for keys in keys.chunks(ROWS_TOGETHER) {
            let now = self.clock.now();
            let rows = self.from.store.get(keys).await?;
            let mut live = Vec::new();
            for (key, row) in keys.iter().zip(rows) {
                match row.filter(|row| row.is_live(now)) {
                    Some(row) => live.push(Keyed { key: key.clone(), row }),
                    None => self.remove(key).await?,
                }
            }
            if self.to.store.describe().atomicity == Atomicity::WholeStore {
                match self.put(&live).await {
                    Err(error) if error.kind() == ErrorKind::Taken => {}
                    done => {
                        done?;
                        continue;
                    }
                }
            }
            self.put_each(&live).await?;
        }
        Ok(())
    }

    /// Puts rows in on their own, some at the same time; those that cannot come yet wait.
    async fn put_each(&mut self, rows: &[Keyed]) -> Result<()> {
        for rows in rows.chunks(ROWS_AT_ONCE) {
            let puts = rows.iter().map(|row| self.put(std::slice::from_ref(row)));
            let done = join_all(puts).await;
            for (row, done) in rows.iter().zip(done) {
                match done {
                    Err(error) if error.kind() == ErrorKind::Taken => {
                        self.waiting.insert(row.key.clone());
                    }
                    done => done?,
                }
            }
        }
        Ok(())
    }

    async fn put(&self, rows: &[Keyed]) -> Result<()> {
        let mut tries = 0;
        loop {
            let done = self.put_once(rows).await;
            match done {
                Err(error) if error.is_retryable() && tries < TRIES_MAX => {
                    self.clock.wait(TRY_MILLISECONDS << tries).await;
                    tries += 1;
                }
                done => return done,
            }
        }
    }

    async fn put_once(&self, rows: &[Keyed]) -> Result<()> {
        let Side { store, schema } = self.to;
        let mut import = Import::new(store, schema, self.clock, self.random, Existing::Replace);
        for keyed in rows {
            let collection = self.collection(&keyed.key)?;
            let (segments, slots) = values(&collection, keyed)?;
            let target = schema.collection(collection.name())?.clone();
            import.row(target, segments, slots, keyed.row.expires).await?;
        }
        import.finish().await.map(|_| ())
    }

    async fn remove(&self, key: &Key) -> Result<()> {
        let collection = self.to.schema.collection(self.collection(key)?.name())?;
        let key = self.key_in_target(key)?;
        let to = (self.to.store, self.to.schema);
        let mut tries = 0;
        loop {
            match remove(to, (self.clock, self.random), collection, &key).await {
                Err(error) if error.is_retryable() && tries < TRIES_MAX => {
                    self.clock.wait(TRY_MILLISECONDS << tries).await;
                    tries += 1;
                }
                done => return done,
            }
        }
    }

    /// Rows that stand in each other's way are taken out together and put in anew.
    pub(super) async fn exchange(&mut self) -> Result<()> {
        let waiting: Vec<Key> = std::mem::take(&mut self.waiting).into_iter().collect();
        for key in &waiting {
            self.remove(key).await?;
        }
        self.apply(&waiting).await?;
        match self.waiting.is_empty() {
            true => Ok(()),
            false => {
                let message = "a unique value belongs to two rows, so nothing has moved; \
                               `keyway scrub` the source";
                Err(Error::new(ErrorKind::Mismatch, message))
            }
        }
    }
}
