//! Random sequences of operations, done by a store and by the oracle, which must agree.
//!
//! ```text
//! seed ─▶ steps ─▶ each step: made concrete by what the oracle holds ─▶ store, oracle ─▶ the same?
//!                                          no ─▶ steps are left out while it still fails ─▶ report
//! ```
//!
//! Steps name rows by number and versions by what they are ("the current one"), so that any of them
//! can be left out and the rest still means something.

mod chance;
mod state;

use super::bench::{Bench, Checked, Failure};
use crate::clock::{Milliseconds, SeededRandom};
use chance::Chance;
use keyspace::model::Atomicity;
use state::State;

/// What a sequence is mostly about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// Puts, deletes and checks.
    Rows,
    /// Rows that end, and time that passes.
    Ends,
    /// Counters and windows.
    Counters,
    /// Scans.
    Scans,
    /// Batches sent again.
    Again,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A batch.
    Commit(Vec<(usize, Asked)>, Vec<(usize, Change)>),
    /// The batch so many commits ago, again.
    Again(usize),
    /// A get of these rows.
    Get(Vec<usize>),
    /// A scan of the rows between two rows, or of a whole collection.
    Scan(usize, usize, bool, usize),
    /// Time passes.
    Pass(Milliseconds),
    /// Ended rows may go.
    Sweep(usize),
}

/// What a check asks of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Not there.
    Absent,
    /// There.
    Present,
    /// The version it has.
    Current,
    /// A version it had.
    Old,
}

/// What happens to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A put of a short value, with a life if the row ends.
    Put(u8, Milliseconds),
    /// A delete.
    Delete,
    /// An add, with a life if the counter ends.
    Add(i64, Milliseconds),
}

/// The collections a model has rows of, and how many of each.
const COLLECTIONS: [(&str, usize); 7] = [
    ("notes", 4),
    ("leases", 4),
    ("counts", 2),
    ("hours", 2),
    ("gates", 2),
    ("blobs", 3),
    ("copies", 3),
];

/// Rows of the first five collections have one place; those behind have no versions.
const IN_ONE_PLACE: usize = 14;
/// All rows.
const ROWS: usize = 20;

/// What a window of the model lets through.
const LIMIT: i64 = 5;

/// Some sequences on one bench.
#[derive(Clone, Copy, Debug)]
pub struct Run<'b> {
    /// The bench.
    pub bench: &'b Bench,
    /// What they are about.
    pub flavour: Flavour,
    /// Their length.
    pub steps: usize,
}

impl Run<'_> {
    /// Runs the sequences of these seeds; the first that fails is made small.
    pub async fn seeds(self, seeds: std::ops::Range<u64>) -> Checked {
        let mut room = 1;
        for seed in seeds {
            let mut steps = self.steps_of(seed);
            room += 1;
            let Err((at, failure)) = self.replay(&steps, room).await else { continue };
            steps.truncate(at + 1);
            let (steps, failure) = self.shrink(steps, failure, &mut room).await;
            let steps: Vec<String> = steps.iter().map(|step| format!("\n  {step:?}")).collect();
            return Err(Failure::broken(format!(
                "seed {seed} of {:?} ({:016x}): {failure:?} after{}",
                self.flavour,
                self.bench.seed,
                steps.concat()
            )));
        }
        Ok(())
    }

    /// Leaves out steps, and parts of batches, while it still fails.
    async fn shrink(
        self,
        mut steps: Vec<Step>,
        mut failure: Failure,
        room: &mut usize,
    ) -> (Vec<Step>, Failure) {
        let mut tries = 400;
        'again: while tries > 0 {
            for shorter in shorter(&steps) {
                tries -= 1;
                *room += 1;
                if let Err((at, found)) = self.replay(&shorter, *room).await {
                    steps = shorter;
                    steps.truncate(at + 1);
                    failure = found;
                    continue 'again;
                }
                if tries == 0 {
                    break;
                }
            }
            break;
        }
        (steps, failure)
    }

    /// The steps of a seed.
    fn steps_of(self, seed: u64) -> Vec<Step> {
        let random = SeededRandom::new(seed ^ self.bench.seed);
        let grouped = self.bench.description.atomicity == Atomicity::Group;
        let chance = Chance { random, grouped };
        (0..self.steps).map(|_| chance.step(self.flavour)).collect()
    }

    /// Does the steps; answers the number of the one that went wrong.
    async fn replay(self, steps: &[Step], room: usize) -> Result<(), (usize, Failure)> {
        let mut state = State::new(self.bench, room).map_err(|failure| (0, failure))?;
        for (number, step) in steps.iter().enumerate() {
            state.step(step).await.map_err(|failure| (number, failure))?;
        }
        state.compare().await.map_err(|failure| (steps.len().saturating_sub(1), failure))
    }
}

/// Every way to leave out one step, or one part of a batch.
fn shorter(steps: &[Step]) -> Vec<Vec<Step>> {
    let mut all = Vec::new();
    for number in (0..steps.len()).rev() {
        let mut without = steps.to_vec();
        without.remove(number);
        all.push(without);
    }
    for (number, step) in steps.iter().enumerate() {
        let Step::Commit(checks, writes) = step else { continue };
        for part in 0..checks.len() + writes.len() {
            let (mut checks, mut writes) = (checks.clone(), writes.clone());
            match part.checked_sub(checks.len()) {
                None => drop(checks.remove(part)),
                Some(write) => drop(writes.remove(write)),
            }
            let mut changed = steps.to_vec();
            if let Some(step) = changed.get_mut(number) {
                *step = Step::Commit(checks, writes);
            }
            all.push(changed);
        }
    }
    all
}
