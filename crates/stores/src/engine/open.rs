//! Opening a store: the folder, the engine, and whether everything acknowledged is there.
//!
//! ```text
//! take the folder ─▶ journal ≥ witness? ─▶ open the engine ─▶ each table ≥ witness? ─▶ made
//! ```

use super::changes::ChangeLog;
use super::commit::Committer;
use super::folder::Folder;
use super::hold;
use super::journal;
use super::layout;
use super::outcome::Outcomes;
use super::sweep::decode_watermark;
use super::tables::{Published, Tables};
use super::witness::Witness;
use super::writer::Writer;
use super::{Inner, Options};
use data::Result;
use data::clock::Milliseconds;
use data::store::Durability;
use fjall::PersistMode;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Opens the store in a folder, or makes it.
pub(super) fn open(path: &Path, options: &Options) -> Result<Inner> {
    let folder = Folder::take(path)?;
    let mut witness = Witness::open(folder.path())?;
    journal::check(&folder.engine(), &witness)?;
    let tables = Tables::open(&folder.engine(), options.cache_bytes)?;
    let stored = tables.own(&layout::SEQUENCE)?;
    let sequence = stored.map_or(Ok(0), |stored| layout::decode_number(&stored))?;
    witness.vouch("rows", sequence, witness.sequence())?;
    let outcomes = Outcomes::open(&tables)?;
    outcomes.vouch(&witness)?;
    let changes = ChangeLog::open(&tables, options.changes, sequence)?;
    let stored = tables.own(&layout::WATERMARK)?;
    let watermark = stored.map_or(Ok(Milliseconds::MAX), |stored| decode_watermark(&stored))?;
    // What the last process only handed over is made durable before anybody reads it.
    tables.database.persist(PersistMode::SyncAll).map_err(super::error::opening)?;
    folder.finish()?;
    witness.set_every_commit_synced(options.durability == Durability::Power)?;
    let published = Arc::new(Published::new(tables.database.snapshot()));
    let committer = Committer {
        tables: tables.clone(),
        published: published.clone(),
        outcomes,
        changes: changes.clone(),
        witness,
        durability: options.durability,
        sequence,
        numbered: None,
        watermark,
        is_poisoned: false,
        hold: hold::stored(&tables)?,
        #[cfg(test)]
        fault: None,
    };
    let writer = Writer::start(committer, folder.engine())?;
    let changes = changes.map_or_else(OnceLock::new, OnceLock::from);
    Ok(Inner { writer, published, changes, tables, folder })
}
