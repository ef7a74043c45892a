//! What an attempt reads: which rows, and what becomes of them.

use super::super::script::{Action, ScriptStep};
use super::super::steps::missing;
use super::{State, Work, misplaced, step_of};
use crate::entries::split_claim;
use crate::error::Result;
use crate::store::{Key, Keyed, Row};

impl Work<'_> {
    /// Whether all that a step must know of its rows is known; asks for the rest.
    pub(super) fn is_read(
        &mut self,
        number: usize,
        step: &ScriptStep<'_>,
        wanted: &mut Vec<Key>,
    ) -> Result<bool> {
        let mut all = true;
        if matches!(&step.action, Action::Run(part) if !part.reads) {
            return Ok(all);
        }
        for place in self.work(number)?.places.clone() {
            let row = self.rows.get_mut(place)?;
            let known = match &step.action {
                Action::Check(_) => row.was_read(),
                Action::Run(_) => row.is_known(),
            };
            all &= known;
            if !known && !row.wanted {
                row.wanted = true;
                wanted.push(row.key.clone());
            }
        }
        Ok(all)
    }

    /// Adds the rows that no step reads, and the protocol would, in a wait of its own: it compares
    /// the versions of rows. Those with a new id are nowhere.
    pub(super) fn read_along(&mut self, wanted: &mut Vec<Key>) -> Result<()> {
        for (step, work) in self.script.steps.iter().zip(&self.steps) {
            let Action::Run(part) = &step.action else { continue };
            if !part.collection.kept.has_version() || part.makes_ids() {
                continue;
            }
            for place in &work.places {
                let row = self.rows.get_mut(*place)?;
                if !row.was_read() && !row.wanted {
                    row.wanted = true;
                    wanted.push(row.key.clone());
                }
            }
        }
        Ok(())
    }

    pub(super) fn take_in(&mut self, key: &Key, row: Option<Row>) -> Result<()> {
        if let Some(state) = self.rows.find_mut(key) {
            return state.take_in(row, self.now);
        }
        for number in 0..self.steps.len() {
            let work = self.work(number)?;
            let asks = work.claim.as_ref().is_some_and(|claim| claim.key == *key);
            if asks && work.state == State::Claimed {
                self.take_in_claim(number, row.clone())?;
            }
        }
        Ok(())
    }

    /// A claim leads to the row that holds the value.
    fn take_in_claim(&mut self, number: usize, row: Option<Row>) -> Result<()> {
        let Action::Check(look) = &step_of(self.script, number)?.action else {
            return Err(misplaced());
        };
        let Some(row) = row.filter(|row| row.is_live(self.now)) else {
            self.fail(number, 0, missing(look));
            return self.end(number, State::Failed).map(|_| ());
        };
        let (owner, _) = split_claim(&row.value)?;
        let segments = look.collection.key.decode(&owner)?;
        let place = self.rows.locate(look.collection, owner, segments);
        let work = self.work_mut(number)?;
        if let Some(claim) = &mut work.claim {
            claim.found = Some(Keyed { key: claim.key.clone(), row });
        }
        work.places = vec![place];
        work.state = State::Located;
        Ok(())
    }
}
