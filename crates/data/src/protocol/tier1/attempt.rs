//! One attempt: the phases of the protocol in their order, and what is taken back if it fails.

use super::claim::{Claimed, Wanted, claim, wait};
use super::ids::derived;
use super::send::{by_place, release, remove_all, send_all};
use super::settle::{Fate, Run, Settled, fate};
use super::target::Target;
use super::{Rules, slices};
use crate::change::{RowChange, WriteSet};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{Obstacle, Verdict, whole};
use crate::session::Session;
use crate::store::{Batch, Check, CommitId, Expect, Key, Row, Total, Version, Write};
use keyspace::model::DefaultValue;

/// One attempt to commit a set.
pub(super) struct Attempt<'r, 's> {
    pub(super) session: &'r mut Session<'s>,
    pub(super) set: &'r WriteSet,
    pub(super) rules: Rules,
    /// The rows that change, in the order of the set.
    pub(super) targets: Vec<Target<'r>>,
    /// What tells this run of the set from another.
    run: [u8; 16],
    /// Whether a row with a new id is taken to be new, without looking.
    guesses: bool,
    /// Claims of this attempt, perhaps.
    claimed: Vec<(Key, CommitId)>,
    /// Whether entries of this attempt may be there.
    entered: bool,
}

/// Why an attempt ends before its row is set.
enum Stop {
    /// Something is in the way.
    Obstacle(Obstacle),
    /// A claim is in flight; a wait may help.
    InFlight,
}

impl<'r, 's> Attempt<'r, 's> {
    pub(super) fn new(session: &'r mut Session<'s>, set: &'r WriteSet, rules: Rules) -> Self {
        let mut run = [0; 16];
        if let (Some(shared), true) = (session.shared(), rules.runs_apart) {
            shared.random().fill(&mut run);
        }
        let (targets, claimed) = (Vec::new(), Vec::new());
        Attempt { session, set, rules, run, targets, guesses: true, claimed, entered: false }
    }

    /// Makes the attempt.
    pub(super) async fn run(mut self) -> Result<Verdict> {
        loop {
            if let Some(verdict) = self.read().await? {
                return Ok(verdict);
            }
            match self.prepare().await {
                Ok(None) => {}
                Ok(Some(stop)) => return Ok(Verdict::Obstacle(self.stop(stop).await)),
                Err(error) => {
                    self.take_back().await;
                    return Err(error);
                }
            }
            match self.set_rows().await? {
                Settled::Committed { totals, run } => {
                    self.prepare_late().await?;
                    match self.whose(run).await {
                        Run::This => self.remove_lost().await,
                        Run::Other => self.take_back().await,
                        // Either could be wrong; the cleaner will see.
                        Run::Unclear => {}
                    }
                    return Ok(self.done(totals));
                }
                Settled::Obstacle(obstacle) => {
                    self.take_back().await;
                    return Ok(Verdict::Obstacle(obstacle));
                }
                Settled::Unknown => return Ok(Verdict::Indeterminate { id: self.set.id }),
                Settled::Guessed => {
                    self.take_back().await;
                    self.guesses = false;
                }
            }
        }
    }

    /// Reads the rows that change, where the verb has not, and compares them with what it expects.
    async fn read(&mut self) -> Result<Option<Verdict>> {
        let set = self.set;
        let handed_over = match whole::handed_over(set) {
            Ok(handed_over) => handed_over,
            Err(obstacle) => return Ok(Some(Verdict::Obstacle(obstacle))),
        };
        if !handed_over.is_empty() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "a unique value cannot pass from one row to another in one commit on this store",
            ));
        }
        let needed = |change: &&RowChange| self.must_read(change);
        let keys: Vec<Key> =
            set.changes.iter().filter(needed).map(|change| change.key.clone()).collect();
        let mut read = self.session.get(&keys).await?.into_iter();
        self.targets.clear();
        for (number, change) in set.changes.iter().enumerate() {
            if !change.collection.kept.has_version() {
                self.targets.push(Target::plain(change));
                continue;
            }
            let row = match self.must_read(change) {
                true => read.next().flatten(),
                false => change.before.clone(),
            };
            if fate(row.as_ref(), set.id, None) == Fate::Committed {
                return Ok(Some(self.done(None)));
            }
            if let Err(found) = self.compare(change, row.as_ref()) {
                return Ok(Some(Verdict::Obstacle(Obstacle::Row { change: number, found })));
            }
            let mut target = Target::new(set, &self.run, change, row)?;
            target.notes_nothing = self.session.repeatable;
            self.targets.push(target);
        }
        Ok(None)
    }

    /// The set is committed. Where another run did it, only the store may still know the totals.
    fn done(&self, totals: Option<Vec<Total>>) -> Verdict {
        let id = self.set.id;
        match totals.or_else(|| self.set.adds.is_empty().then(Vec::new)) {
            Some(totals) => Verdict::Committed { id, totals },
            None => Verdict::Indeterminate { id },
        }
    }

    fn must_read(&self, change: &RowChange) -> bool {
        let seen = match &change.before {
            Some(row) => row.trail.is_some(),
            None => change.read,
        };
        change.collection.kept.has_version() && !seen && !self.guessed(change)
    }

    /// Whether a row is taken to be new without looking: its key has just been made.
    pub(super) fn guessed(&self, change: &RowChange) -> bool {
        let made = |default: &Option<DefaultValue>| matches!(default, Some(DefaultValue::New(_)));
        // Immutable rows without conditions are written by inserts alone.
        let unseen = change.is_unseen() && change.collection.model.immutable;
        let inserted = change.expect == Some(Expect::Absent) || (unseen && change.after.is_some());
        self.guesses
            && !change.read
            && inserted
            && change.collection.model.key.segments().any(|segment| made(&segment.default))
    }

    /// Whether a row is what the verb expects, and otherwise its version if it is live.
    fn compare(&self, change: &RowChange, row: Option<&Row>) -> Result<(), Option<Version>> {
        let now = self.set.now;
        let live = row.filter(|row| row.is_live(now)).and_then(|row| row.version);
        let moved = change.before.as_ref().is_some_and(|before| {
            let before = Some(before).filter(|before| before.is_live(now));
            before.and_then(|before| before.version) != live
        });
        match change.expect {
            _ if moved => Err(live),
            Some(expect) => expect.meet(row, now).map_err(|_| live),
            None => Ok(()),
        }
    }

    /// Everything that comes before the rows.
    async fn prepare(&mut self) -> Result<Option<Stop>> {
        slices::announce_set(self.session, self.set).await?;
        if self.rules.claims_first
            && let Some(stop) = self.claim_all().await?
        {
            return Ok(Some(stop));
        }
        if self.rules.enters_first {
            self.enter_all().await?;
        }
        Ok(None)
    }

    /// What a broken rule leaves for after the rows.
    async fn prepare_late(&mut self) -> Result<()> {
        if !self.rules.claims_first {
            self.claim_all().await?;
        }
        if !self.rules.enters_first {
            self.enter_all().await?;
        }
        Ok(())
    }

    /// Takes the claims of all rows, in the order of their keys, so that two attempts never wait
    /// for each other.
    async fn claim_all(&mut self) -> Result<Option<Stop>> {
        for wanted in self.wanted() {
            // A claim that the row holds already stays, whatever becomes of this attempt.
            let gained = wanted.before.is_none();
            if gained {
                self.claimed.push((wanted.write.key().clone(), wanted.attempt));
            }
            let claimed = claim(self.session, &wanted, self.rules).await?;
            if gained && claimed != Claimed::Mine {
                self.claimed.pop();
            }
            let (change, index) = (wanted.change, wanted.index);
            match claimed {
                Claimed::Mine => {}
                Claimed::Taken => {
                    return Ok(Some(Stop::Obstacle(Obstacle::Taken { change, index })));
                }
                Claimed::Contended => return Ok(Some(Stop::Obstacle(Obstacle::Contended))),
                Claimed::InFlight => return Ok(Some(Stop::InFlight)),
            }
        }
        Ok(None)
    }

    fn wanted(&self) -> Vec<Wanted<'r>> {
        let mut wanted = Vec::new();
        for (change, target) in self.targets.iter().enumerate() {
            wanted.extend(target.claim.iter().map(|claiming| Wanted {
                change,
                index: claiming.entry.index,
                owner: &target.change.key,
                attempt: claiming.attempt,
                before: claiming.before,
                write: target.claim(claiming),
            }));
        }
        wanted.sort_by(|one, other| one.write.key().cmp(other.write.key()));
        wanted
    }

    /// Writes the entries of all rows, together.
    async fn enter_all(&mut self) -> Result<()> {
        let entries = self.targets.iter().flat_map(|target| &target.enter).cloned().collect();
        let set = self.set;
        let id = |key: &Key| derived(set.id, "enter", &[key.as_ref()]);
        let batches = by_place(self.session, entries, id)?;
        self.entered = true;
        send_all(self.session, &batches).await
    }

    /// Ends an attempt whose row was not set.
    async fn stop(&mut self, stop: Stop) -> Obstacle {
        self.take_back().await;
        match stop {
            Stop::Obstacle(obstacle) => obstacle,
            Stop::InFlight => {
                wait(self.session, self.set.id).await;
                Obstacle::Contended
            }
        }
    }

    /// Takes back what the attempt has entered and claimed. Entries of rows without versions name
    /// no attempt, and could be another's: readers see by the row that they are not true.
    pub(super) async fn take_back(&mut self) {
        let mut removals = Vec::new();
        if std::mem::take(&mut self.entered) {
            let versioned = self.targets.iter().filter(|target| target.is_versioned());
            let entries = versioned.flat_map(|target| &target.enter);
            removals = entries.map(|write| write.key().clone()).collect();
        }
        let releases = std::mem::take(&mut self.claimed);
        self.remove(removals, &releases, Vec::new()).await;
    }

    /// Removes what the rows have lost, and writes anew the claims that they keep.
    async fn remove_lost(&mut self) {
        let (mut removals, mut releases, mut renewals) = (Vec::new(), Vec::new(), Vec::new());
        for target in &self.targets {
            removals.extend(target.remove.iter().cloned());
            releases.extend(target.release.iter().cloned());
            renewals.extend(target.renew.iter().filter_map(|claiming| {
                let before = claiming.before?;
                Some(self.batch(
                    claiming.attempt,
                    vec![Check {
                        key: claiming.entry.key.clone(),
                        expect: Expect::Physical(Some(before)),
                    }],
                    vec![target.claim(claiming)],
                ))
            }));
        }
        self.remove(removals, &releases, renewals).await;
    }

    async fn remove(
        &mut self,
        entries: Vec<Key>,
        claims: &[(Key, CommitId)],
        renewals: Vec<Batch>,
    ) {
        let set = self.set;
        let id = |key: &Key| derived(set.id, "remove", &[key.as_ref()]);
        let deletes = entries.into_iter().map(|key| Write::Delete { key }).collect();
        // A key that has no place was never written.
        let mut batches = by_place(self.session, deletes, id).unwrap_or_default();
        let times = (set.now, set.deadline);
        batches.extend(claims.iter().map(|(key, attempt)| {
            let id = derived(*attempt, "remove", &[set.id.as_bytes()]);
            release(times, key, *attempt, id)
        }));
        batches.extend(renewals);
        remove_all(self.session, &batches).await;
    }

    pub(super) fn batch(&self, id: CommitId, checks: Vec<Check>, writes: Vec<Write>) -> Batch {
        Batch { id, now: self.set.now, checks, writes, deadline: self.set.deadline }
    }
}
