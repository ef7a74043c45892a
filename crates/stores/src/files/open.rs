//! Opening a tree: the directory, its disk, what a crash left, and the thread that commits.
//!
//! The files are looked at later, when a keyspace says what they are.

use super::checkpoint::{Keeper, Touched};
use super::commit::Committer;
use super::disk::Disk;
use super::folder::{self, Format};
use super::outcome::Outcomes;
use super::placer::Placer;
use super::recover::{Recovered, make, recover};
use super::shared::Shared;
use super::writer::Writer;
use super::{Inner, Options};
use data::Result;
use data::store::Durability;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

/// Opens the tree at a path, or makes it.
pub(super) fn open(path: &Path, options: &Options) -> Result<Inner> {
    let (disk, lock) = folder::take(path, options.allow_network)?;
    let shared = Arc::new(Shared::new(Arc::new(disk), options.cache_bytes));
    let committer = committer(&shared, options.durability)?;
    let writer = Writer::start(committer)?;
    Ok(Inner { writer, shared, _lock: Some(lock) })
}

/// Whoever may commit to the tree on a disk, once what a crash left is put right.
pub(super) fn committer(shared: &Arc<Shared>, durability: Durability) -> Result<Committer> {
    let disk: &dyn Disk = shared.disk.as_ref();
    let case = folder::probe(disk)?;
    let format = match folder::read_format(disk)? {
        Some(format) => {
            folder::check_case(format.case, case)?;
            format
        }
        None => {
            make(disk)?;
            let format = Format { case, places: BTreeMap::new(), catalogue: None };
            folder::write_format(disk, &format)?;
            format
        }
    };
    let Recovered { kept, rows, journal } = recover(shared)?;
    let mut outcomes = Outcomes::default();
    kept.commits.iter().for_each(|committed| outcomes.remember(committed));
    Ok(Committer {
        shared: shared.clone(),
        format,
        durability,
        journal,
        keeper: Keeper::new(shared.clone(), rows),
        outcomes,
        pending: Default::default(),
        placer: Placer::open(),
        touched: Touched::default(),
        changed_rows: HashMap::new(),
        commits: Vec::new(),
        kept: kept.rows,
        is_loaded: false,
        time: kept.time,
    })
}
