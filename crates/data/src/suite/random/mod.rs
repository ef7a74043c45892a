//! Keyspaces by chance, and calls by chance on each, held against an oracle call by call.
//!
//! ```text
//! seed ─▶ keyspace file ─read─▶ run time on a store ─┐
//!   └───▶ operations ────────────────────────────────┴─▶ answers ─ the same as the oracle's?
//!                                                         └ no ─▶ fewer operations ─▶ the shortest
//! ```
//!
//! The files have 1 to 5 collections of every content, keys of every type, both directions, and all
//! kinds of index. Rows have few values, so that they meet; time passes. What the checker refuses
//! is generated anew and counted. Afterwards every index entry must be true.

mod domain;
mod entries;
mod generate;
mod lists;
mod operation;
mod oracle;
mod play;
mod world;

pub use play::Tally;

use super::Make;
use crate::clock::SeededRandom;
use domain::Chance;
use keyspace::model::Keyspace;
use operation::Operation;
use play::Broken;
use std::fmt::Write as _;
use std::sync::Arc;
use world::World;

/// Files that are tried for one that the checker accepts.
const FILES_MAX: usize = 20;

/// Failures that are enough to begin with.
const FAILURES_MAX: usize = 5;

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The first seed; the others follow it.
    pub seed: u64,
    /// How many keyspaces.
    pub keyspaces: u64,
    /// At most so many operations on each.
    pub operations: usize,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Keyspaces that were played.
    pub keyspaces: usize,
    /// Files that the checker refused.
    pub refused_files: usize,
    /// What the calls came to.
    pub tally: Tally,
    /// Failures: the seed, the file, the operations that lead to it, and what was found.
    pub failed: Vec<String>,
}

/// Plays keyspaces, until a few have failed.
pub async fn run(make: Make<'_>, effort: &Effort) -> Report {
    let mut report = Report::default();
    for seed in (effort.seed..).take(usize::try_from(effort.keyspaces).unwrap_or(usize::MAX)) {
        if report.failed.len() >= FAILURES_MAX {
            return report;
        }
        let chance = Chance(SeededRandom::new(seed));
        let Some((world, keyspace)) = file(&chance, &mut report) else {
            report.failed.push(format!("KEYWAY_SEED={seed}: the checker refuses every file"));
            continue;
        };
        let count = 1 + chance.below(effort.operations);
        let operations = operation::operations(&chance, &world, count);
        let run = Run { seed, world: &world, keyspace: &keyspace, make };
        match run.play(&operations).await {
            Ok(tally) => report.add(&tally),
            Err(broken) => report.failed.push(run.shortest(operations, broken).await),
        }
    }
    report
}

/// A file that the checker accepts.
fn file(chance: &Chance, report: &mut Report) -> Option<(World, Arc<Keyspace>)> {
    for _ in 0..FILES_MAX {
        let world = generate::world(chance);
        if let Some(keyspace) = keyspace::read(&world.toml()).keyspace {
            return Some((world, Arc::new(keyspace)));
        }
        report.refused_files += 1;
    }
    None
}

impl Report {
    fn add(&mut self, tally: &Tally) {
        self.keyspaces += 1;
        for (name, count) in &tally.answers {
            *self.tally.answers.entry(name).or_default() += count;
        }
        self.tally.listed += tally.listed;
        self.tally.refused += tally.refused;
        self.tally.left_behind += tally.left_behind;
    }
}

/// One keyspace on stores of one kind.
struct Run<'r, 'm> {
    seed: u64,
    world: &'r World,
    keyspace: &'r Arc<Keyspace>,
    make: Make<'m>,
}

impl Run<'_, '_> {
    async fn play(&self, operations: &[Operation]) -> Result<Tally, Broken> {
        let store = (self.make)().await;
        play::play(self.seed, self.world, self.keyspace, operations, store).await
    }

    /// A failure with as few operations as lead to one, in words.
    async fn shortest(&self, mut operations: Vec<Operation>, mut broken: Broken) -> String {
        operations.truncate(broken.at + 1);
        let mut size = operations.len() / 2;
        while size > 0 {
            let mut start = 0;
            while start < operations.len() {
                let mut fewer = operations.clone();
                fewer.drain(start..(start + size).min(fewer.len()));
                match self.play(&fewer).await {
                    Err(found) => {
                        fewer.truncate(found.at + 1);
                        (operations, broken) = (fewer, found);
                    }
                    Ok(_) => start += size,
                }
            }
            size /= 2;
        }
        let mut text = format!("KEYWAY_SEED={}\n{}\n", self.seed, self.world.toml());
        for operation in &operations {
            let _ = writeln!(text, "{operation}");
        }
        let _ = write!(text, "  {}", broken.found);
        text
    }
}
