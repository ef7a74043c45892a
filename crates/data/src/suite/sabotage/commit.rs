//! Commits that go wrong.

use super::{Sabotage, SabotagedStore};
use crate::error::{ErrorKind, Result};
use crate::store::judge::count_of;
use crate::store::limits::BATCH_WRITES_MAX;
use crate::store::{
    Batch, Check, CommitId, Conflict, Expect, Found, Key, Outcome, Row, Total, Where, Write,
};
use bytes::Bytes;
use std::time::Duration;

/// An id that nobody else makes.
fn other_id(id: CommitId) -> CommitId {
    let mut bytes = *id.as_bytes();
    bytes.iter_mut().skip(9).for_each(|byte| *byte ^= 0xa5);
    CommitId::from_bytes(bytes)
}

/// The version of a row that was written so often.
pub(super) fn counted(times: u32) -> CommitId {
    let mut bytes = [0; 16];
    bytes.iter_mut().skip(12).zip(times.to_be_bytes()).for_each(|(byte, part)| *byte = part);
    CommitId::from_bytes(bytes)
}

impl SabotagedStore {
    pub(super) async fn broken_commit(&self, batch: &Batch) -> Result<Outcome> {
        match self.sabotage {
            Sabotage::CheckThenWrite => self.check_then_write(batch).await,
            Sabotage::DoneAgain | Sabotage::OutcomesForgotten => self.do_again(batch).await,
            Sabotage::ConflictRemembered | Sabotage::TotalsForgotten => {
                self.answer_from_memory(batch).await
            }
            Sabotage::TooLargeAccepted | Sabotage::RefusedHalf | Sabotage::PlacesHalf => {
                self.refuse_wrongly(batch).await
            }
            Sabotage::ReadsUncommitted | Sabotage::ReadsStale => self.show_wrongly(batch).await,
            Sabotage::VersionCounted => self.count_versions(batch).await,
            Sabotage::LimitLower if batch.writes.len() as u64 >= BATCH_WRITES_MAX => {
                Err(crate::Error::new(ErrorKind::TooLarge, "a batch has too many writes"))
            }
            _ => {
                let mut changed = batch.clone();
                self.change(&mut changed).await?;
                if let Some(outcome) = self.before(batch).await? {
                    return Ok(outcome);
                }
                let outcome = self.store.commit(&changed).await?;
                self.after(batch, outcome).await
            }
        }
    }

    /// What is there under a key, as the sound store says.
    async fn there(&self, key: &Key) -> Result<Option<Row>> {
        Ok(self.store.get(std::slice::from_ref(key)).await?.into_iter().next().flatten())
    }

    /// Changes a batch on its way in.
    async fn change(&self, batch: &mut Batch) -> Result<()> {
        match self.sabotage {
            Sabotage::ChecksIgnored => batch.checks.clear(),
            Sabotage::ConflictLast => batch.checks.reverse(),
            _ => {}
        }
        for check in &mut batch.checks {
            check.expect = match (self.sabotage, check.expect) {
                (Sabotage::VersionOfEnded, Expect::Version(version)) => {
                    Expect::Physical(Some(version))
                }
                (Sabotage::AnyVersion, Expect::Version(_)) => Expect::Present,
                (Sabotage::BareSeesLive, Expect::Physical(None)) => Expect::Absent,
                (_, expect) => expect,
            };
        }
        let now = batch.now;
        let mut writes = Vec::new();
        for write in std::mem::take(&mut batch.writes) {
            writes.extend(self.change_write(write, now).await?);
        }
        batch.writes = writes;
        Ok(())
    }

    async fn change_write(&self, mut write: Write, now: i64) -> Result<Option<Write>> {
        let there = match self.sabotage {
            Sabotage::KeysFolded => return Ok(Some(folded(write))),
            Sabotage::DeleteForgotten if matches!(write, Write::Delete { .. }) => return Ok(None),
            _ if write.key().bytes().len() < 2 => None,
            _ => self.store.get(&[write.key().clone()]).await.ok().and_then(|mut r| r.pop()?),
        };
        let ended = there.as_ref().filter(|row| row.is_expired(now));
        match (&mut write, self.sabotage) {
            (Write::Put { key, value, .. }, Sabotage::EmptyIsNothing) if value.is_empty() => {
                return Ok(Some(Write::Delete { key: key.clone() }));
            }
            (Write::Put { value, .. }, Sabotage::SameValueSkipped)
                if there.as_ref().is_some_and(|row| row.value == *value) =>
            {
                return Ok(None);
            }
            (Write::Put { expires, .. }, Sabotage::PutKeepsEnd) if expires.is_none() => {
                *expires = there.and_then(|row| row.expires);
            }
            (Write::Put { expires: Some(end), .. }, Sabotage::EndInSeconds) => {
                *end -= *end % 1_000;
            }
            (Write::Put { value, .. }, Sabotage::ValueTrimmed) => {
                let kept = value.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                value.truncate(kept);
            }
            (Write::Put { trail, .. }, Sabotage::TrailDropped) => *trail = None,
            (Write::Add { amount, .. }, Sabotage::EndedCountsOn) => {
                let old = ended.map(|row| Row { expires: None, ..row.clone() });
                let counted = count_of(old.as_ref(), now)?.map_or(0, |total| total.value);
                *amount = amount.saturating_add(counted);
            }
            (Write::Add { expires, .. }, Sabotage::EndedKeepsEnd) if ended.is_some() => {
                *expires = ended.and_then(|row| row.expires);
            }
            (Write::Add { key, amount, expires, window: None }, Sabotage::AddMovesEnd) => {
                if let Some(total) = count_of(there.as_ref(), now)? {
                    let value = total.value.saturating_add(*amount).to_be_bytes();
                    let (key, value) = (key.clone(), Bytes::copy_from_slice(&value));
                    let (expires, trail) = (*expires, None);
                    return Ok(Some(Write::Put { key, value, expires, versioned: false, trail }));
                }
            }
            (Write::Add { window: Some(rule), .. }, Sabotage::WindowOneMore) => {
                rule.limit = rule.limit.saturating_add(1);
            }
            _ => {}
        }
        Ok(Some(write))
    }

    /// An answer instead of the commit.
    async fn before(&self, batch: &Batch) -> Result<Option<Outcome>> {
        if self.sabotage != Sabotage::AbsentSeesEnded {
            return Ok(None);
        }
        for (number, check) in batch.checks.iter().enumerate() {
            if check.expect == Expect::Absent
                && let Some(row) = self.there(&check.key).await?
            {
                let found = Found::Row(row.version);
                let conflict = Conflict { at: Where::Check(number), found };
                return Ok(Some(Outcome::Conflict(conflict)));
            }
        }
        Ok(None)
    }

    /// Changes an outcome on its way out.
    async fn after(&self, batch: &Batch, outcome: Outcome) -> Result<Outcome> {
        Ok(match (outcome, self.sabotage) {
            (Outcome::Conflict(conflict), Sabotage::TornBatch) => {
                self.write_alone(batch, batch.writes.first().cloned()).await?;
                Outcome::Conflict(conflict)
            }
            (Outcome::Conflict(conflict), Sabotage::WindowCountsRefused) => {
                let write = number_of(conflict.at).and_then(|n| batch.writes.get(n)).cloned();
                if let Some(Write::Add { key, amount, expires, .. }) = write {
                    let add = Write::Add { key, amount, expires, window: None };
                    self.write_alone(batch, Some(add)).await?;
                }
                Outcome::Conflict(conflict)
            }
            (Outcome::Conflict(conflict), Sabotage::OverflowWraps) => {
                self.wrap_around(batch, conflict).await?
            }
            (Outcome::Conflict(conflict), _) => Outcome::Conflict(self.misname(batch, conflict)),
            (Outcome::Committed { mut totals }, Sabotage::TotalsReversed) => {
                totals.reverse();
                Outcome::Committed { totals }
            }
            (Outcome::Committed { mut totals }, Sabotage::TotalBefore) => {
                let amounts = batch.writes.iter().filter_map(|write| match write {
                    Write::Add { amount, .. } => Some(*amount),
                    _ => None,
                });
                for (total, amount) in totals.iter_mut().zip(amounts) {
                    total.value = total.value.wrapping_sub(amount);
                }
                Outcome::Committed { totals }
            }
            (outcome, Sabotage::FeedRepeats) => {
                let mut memory = self.memory();
                if memory.outcomes.insert(batch.id, outcome.clone()).is_some() {
                    memory.repeated.insert(batch.id);
                }
                outcome
            }
            (outcome, _) => outcome,
        })
    }

    /// Writes one write under another id.
    async fn write_alone(&self, batch: &Batch, write: Option<Write>) -> Result<()> {
        let (id, checks) = (other_id(batch.id), Vec::new());
        let alone = Batch { id, checks, writes: write.into_iter().collect(), ..batch.clone() };
        self.store.commit(&alone).await.map(|_| ())
    }

    async fn wrap_around(&self, batch: &Batch, conflict: Conflict) -> Result<Outcome> {
        let write = number_of(conflict.at).and_then(|number| batch.writes.get(number));
        let (Some(Write::Add { key, amount, .. }), Found::Overflow(total)) =
            (write, conflict.found)
        else {
            return Ok(Outcome::Conflict(conflict));
        };
        let value = total.value.wrapping_add(*amount);
        let (bytes, expires) = (Bytes::copy_from_slice(&value.to_be_bytes()), total.expires);
        let (key, trail) = (key.clone(), None);
        let put = Write::Put { key, value: bytes, expires, versioned: false, trail };
        self.write_alone(batch, Some(put)).await?;
        Ok(Outcome::Committed { totals: vec![Total { value, expires }] })
    }

    fn misname(&self, batch: &Batch, conflict: Conflict) -> Conflict {
        match (self.sabotage, conflict.at) {
            (Sabotage::ConflictBehind, Where::Check(number)) => {
                Conflict { at: Where::Check(number + 1), ..conflict }
            }
            (Sabotage::ConflictLast, Where::Check(number)) => {
                let at = Where::Check(batch.checks.len().saturating_sub(number + 1));
                Conflict { at, ..conflict }
            }
            (Sabotage::ConflictBlind, _) => Conflict { found: Found::Absent, ..conflict },
            _ => conflict,
        }
    }

    async fn check_then_write(&self, batch: &Batch) -> Result<Outcome> {
        batch.check_limits()?;
        let look = Batch { id: other_id(batch.id), writes: Vec::new(), ..batch.clone() };
        let outcome = self.store.commit(&look).await?;
        if !matches!(outcome, Outcome::Committed { .. }) {
            return Ok(outcome);
        }
        std::thread::sleep(Duration::from_micros(20));
        self.store.commit(&Batch { checks: Vec::new(), ..batch.clone() }).await
    }

    async fn do_again(&self, batch: &Batch) -> Result<Outcome> {
        let (known, forgotten) = {
            let mut memory = self.memory();
            memory.ids.push(batch.id);
            let last = memory.ids.iter().rev().skip(1).take(8);
            let forgotten = !last.into_iter().any(|id| *id == batch.id);
            (memory.outcomes.contains_key(&batch.id), forgotten)
        };
        let again = known && (self.sabotage == Sabotage::DoneAgain || forgotten);
        let id = if again { other_id(batch.id) } else { batch.id };
        let outcome = self.store.commit(&Batch { id, ..batch.clone() }).await?;
        self.memory().outcomes.insert(batch.id, outcome.clone());
        Ok(outcome)
    }

    async fn answer_from_memory(&self, batch: &Batch) -> Result<Outcome> {
        let known = self.memory().outcomes.get(&batch.id).cloned();
        match (known, self.sabotage) {
            (Some(Outcome::Conflict(conflict)), Sabotage::ConflictRemembered) => {
                Ok(Outcome::Conflict(conflict))
            }
            (Some(Outcome::Committed { .. }), Sabotage::TotalsForgotten) => {
                Ok(Outcome::Committed { totals: Vec::new() })
            }
            _ => {
                let outcome = self.store.commit(batch).await?;
                self.memory().outcomes.insert(batch.id, outcome.clone());
                Ok(outcome)
            }
        }
    }

    async fn refuse_wrongly(&self, batch: &Batch) -> Result<Outcome> {
        let answer = self.store.commit(batch).await;
        let Err(error) = &answer else { return answer };
        match (self.sabotage, error.kind()) {
            (Sabotage::TooLargeAccepted, ErrorKind::TooLarge) => {
                Ok(Outcome::Committed { totals: Vec::new() })
            }
            (Sabotage::RefusedHalf, ErrorKind::TooLarge)
            | (Sabotage::PlacesHalf, ErrorKind::Unsupported) => {
                self.write_alone(batch, batch.writes.first().cloned()).await?;
                answer
            }
            _ => answer,
        }
    }

    /// Readers see what was not committed, or not yet what was.
    async fn show_wrongly(&self, batch: &Batch) -> Result<Outcome> {
        let keys: Vec<Key> = batch.writes.iter().map(|write| write.key().clone()).collect();
        let before = match self.store.get(&keys).await {
            Ok(before) => before,
            Err(_) => vec![None; keys.len()],
        };
        let outcome = self.store.commit(batch).await?;
        let committed = matches!(outcome, Outcome::Committed { .. });
        let mut memory = self.memory();
        for (write, before) in batch.writes.iter().zip(before) {
            if committed && self.sabotage == Sabotage::ReadsStale {
                memory.shown.insert(write.key().clone(), before);
            } else if let (Write::Put { key, value, expires, .. }, false) = (write, committed)
                && self.sabotage == Sabotage::ReadsUncommitted
            {
                let (value, version) = (value.clone(), Some(batch.id));
                let row = Row { value, version, expires: *expires, trail: None };
                memory.shown.insert(key.clone(), Some(row));
            }
        }
        Ok(outcome)
    }

    async fn count_versions(&self, batch: &Batch) -> Result<Outcome> {
        let mut changed = batch.clone();
        for check in &mut changed.checks {
            self.uncount(check, batch.id);
        }
        let outcome = self.store.commit(&changed).await?;
        let mut memory = self.memory();
        if matches!(outcome, Outcome::Conflict(_)) || memory.ids.contains(&batch.id) {
            return Ok(outcome);
        }
        memory.ids.push(batch.id);
        for write in &batch.writes {
            match write {
                Write::Put { key, .. } => *memory.written.entry(key.clone()).or_default() += 1,
                Write::Delete { key } => drop(memory.written.remove(key)),
                Write::Add { .. } => {}
            }
        }
        Ok(outcome)
    }

    /// Asks for any version if the counted one is right, and for an impossible one if it is not.
    fn uncount(&self, check: &mut Check, impossible: CommitId) {
        let Expect::Version(version) = check.expect else { return };
        let times = self.memory().written.get(&check.key).copied();
        check.expect = match times.is_some_and(|times| counted(times) == version) {
            true => Expect::Present,
            false => Expect::Version(impossible),
        };
    }
}

fn number_of(at: Where) -> Option<usize> {
    match at {
        Where::Write(number) => Some(number),
        Where::Check(_) => None,
    }
}

/// A write under its key in small letters.
fn folded(write: Write) -> Write {
    let small = |key: Key| Key::from(key.as_ref().to_ascii_lowercase());
    match write {
        Write::Put { key, value, expires, versioned, trail } => {
            Write::Put { key: small(key), value, expires, versioned, trail }
        }
        Write::Delete { key } => Write::Delete { key: small(key) },
        Write::Add { key, amount, expires, window } => {
            Write::Add { key: small(key), amount, expires, window }
        }
    }
}
