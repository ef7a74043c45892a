//! Rows of both sides compared, while the source is written and when it is not.

use super::{Moving, ROWS_TOGETHER, Stage, others_first};
use crate::error::Result;
use crate::maintain::copy::{LASTS_MILLISECONDS, values};
use crate::maintain::walk::Walk;
use crate::schema::CollectionSchema;
use crate::store::{Key, Keyed, Row};
use std::sync::Arc;

impl Moving<'_> {
    /// Notes the rows that are not the same on both sides, as far as they last.
    pub(super) async fn verify(&mut self, told: &mut (dyn FnMut(Stage) + Send)) -> Result<()> {
        let mut read = 0;
        let collections = self.from.schema.collections().to_vec();
        for collection in &collections {
            let mut walk = Walk::over(collection.key.space);
            while let Some(page) = walk.next(self.from.store).await? {
                let now = self.clock.now();
                let horizon = now.saturating_add(LASTS_MILLISECONDS);
                let ends = |row: &Row| row.is_live(now) && !row.is_live(horizon);
                self.ending += page.iter().filter(|keyed| ends(&keyed.row)).count() as u64;
                let keys: Vec<Key> = page.into_iter().map(|keyed| keyed.key).collect();
                for keys in keys.chunks(ROWS_TOGETHER) {
                    let differ = self.differing(keys).await?;
                    self.suspects.extend(differ);
                }
                read += keys.len() as u64;
                told(Stage::Verifying(read));
                others_first().await;
            }
            self.verify_target(collection, &mut read, told).await?;
        }
        Ok(())
    }

    /// Notes the rows of the target that the source has not.
    async fn verify_target(
        &mut self,
        collection: &Arc<CollectionSchema>,
        read: &mut u64,
        told: &mut (dyn FnMut(Stage) + Send),
    ) -> Result<()> {
        let target = self.to.schema.collection(collection.name())?.clone();
        let mut walk = Walk::over(target.key.space);
        while let Some(page) = walk.next(self.to.store).await? {
            let now = self.clock.now();
            let mut keys = Vec::new();
            for keyed in page.iter().filter(|keyed| keyed.row.is_live(now)) {
                keys.push(collection.key.encode(&target.key.decode(&keyed.key)?)?);
            }
            for keys in keys.chunks(ROWS_TOGETHER) {
                let differ = self.differing(keys).await?;
                self.suspects.extend(differ);
            }
            *read += page.len() as u64;
            told(Stage::Verifying(*read));
            others_first().await;
        }
        Ok(())
    }

    /// Those of these rows, by their keys in the source, that are not the same on both sides.
    pub(super) async fn differing(&self, keys: &[Key]) -> Result<Vec<Key>> {
        let rows = self.from.store.get(keys).await?;
        let there = keys.iter().map(|key| self.key_in_target(key));
        let there = there.collect::<Result<Vec<Key>>>()?;
        let copies = self.to.store.get(&there).await?;
        let horizon = self.clock.now().saturating_add(LASTS_MILLISECONDS);
        let mut differ = Vec::new();
        for (number, key) in keys.iter().enumerate() {
            let collection = self.collection(key)?;
            let target = self.to.schema.collection(collection.name())?;
            let row = rows.get(number).cloned().flatten().filter(|row| row.is_live(horizon));
            let copy = copies.get(number).cloned().flatten().filter(|row| row.is_live(horizon));
            let content = |of: &CollectionSchema, key: &Key, row: Option<Row>| {
                let Some(row) = row else { return Ok(None) };
                let expires = row.expires;
                let (_, slots) = values(of, &Keyed { key: key.clone(), row })?;
                collection.encode(&slots).map(|content| Some((content, expires)))
            };
            let there = there.get(number).unwrap_or(key);
            if content(&collection, key, row)? != content(target, there, copy)? {
                differ.push(key.clone());
            }
        }
        Ok(differ)
    }
}
