//! What a writer makes of its replies: which phase comes next, and what is taken back.

use super::store::{Claim, Command, Entry, Expect, Held, Id, Reply, Row, Store, Version};
use super::writer::{Phase, Then, Told, Turn, Writer};
use std::sync::Arc;

/// Times one claim is sent in one attempt.
const CLAIM_TRIES: u8 = 3;

/// What a caller is told of a set, if anything.
pub(super) type Word = Option<(Id, Told)>;

impl Writer {
    /// What it does with what it reads.
    pub(super) fn look(&mut self, turn: &Turn<'_>, store: &Store, phase: Phase) -> Word {
        let call = turn.call;
        let row = store.row(call.row);
        match phase {
            Phase::Read => self.read(turn, row),
            Phase::Look(claim, sends) => self.look_at_owner(turn, store, claim, sends),
            Phase::WasCommitted => match fate(row, self.id(call), self.version(), turn) {
                Fate::Committed => self.committed(turn),
                _ => self.conflict(turn),
            },
            Phase::Ask => match fate(row, self.id(call), self.version(), turn) {
                Fate::Committed => self.committed(turn),
                Fate::Failed => self.conflict(turn),
                Fate::Open => self.go(Phase::FenceOwn(row.map(|row| row.version))),
                Fate::Forgotten => self.next_call(turn),
            },
            Phase::Whose => match row {
                Some(row) if row.version == self.id(call) => match row.held == self.held(turn) {
                    true => self.remove_lost(turn),
                    false => self.stop(turn, Then::Tell(Told::Done)),
                },
                // Either could be wrong; the cleaner will see.
                _ => self.tell(turn, Told::Done),
            },
            _ => None,
        }
    }

    fn read(&mut self, turn: &Turn<'_>, row: Option<&Arc<Row>>) -> Word {
        let call = turn.call;
        let guessed = call.guesses && self.guesses;
        self.row = row.filter(|_| !guessed).cloned();
        let id = self.id(call);
        let done = |row: &Arc<Row>| row.version == id || row.previous.contains(&id);
        if self.row.as_ref().is_some_and(done) {
            return self.tell(turn, Told::Done);
        }
        if call.to.is_none() && self.live().is_none() {
            return self.next_call(turn);
        }
        match self.gains_claim(call) && turn.scenario.rules.claims_first {
            true => self.go(Phase::Claim(Expect::Absent, 1)),
            false => self.after_claiming(turn),
        }
    }

    pub(super) fn claim_answered(&mut self, turn: &Turn<'_>, sends: u8, reply: Reply) -> Word {
        let own = self.attempt(turn, "claim");
        match reply {
            Reply::Claim(Some(claim)) if claim.attempt != own => self.go(Phase::Look(claim, sends)),
            Reply::Claim(None) => self.claim_again(turn, Expect::Absent, sends),
            _ => {
                self.claimed = true;
                self.after_claiming(turn)
            }
        }
    }

    fn look_at_owner(&mut self, turn: &Turn<'_>, store: &Store, claim: Claim, sends: u8) -> Word {
        let (rules, owner) = (turn.scenario.rules, claim.owner);
        let holds = |held: Held| turn.call.to.is_some_and(|(_, email)| held.email == email);
        if store.held(owner).is_some_and(holds) {
            let own = owner == turn.call.row;
            return self.stop(turn, if own { Then::Retry } else { Then::Tell(Told::NotDone) });
        }
        let version = store.version(owner);
        if rules.fences && version == claim.expected {
            return self.go(Phase::FenceOwner(owner, version));
        }
        let expect = match rules.compares_claims {
            true => Expect::Of(claim.attempt),
            false => Expect::Anything,
        };
        self.claim_again(turn, expect, sends)
    }

    fn claim_again(&mut self, turn: &Turn<'_>, expect: Expect, sends: u8) -> Word {
        match sends < CLAIM_TRIES {
            true => self.go(Phase::Claim(expect, sends + 1)),
            false => self.stop(turn, Then::Retry),
        }
    }

    fn after_claiming(&mut self, turn: &Turn<'_>) -> Word {
        let rules = turn.scenario.rules;
        let is_time = rules.enters_first != self.is_set;
        match self.gains_entry(turn.call) && is_time {
            true => self.go(Phase::Enter),
            false => self.after_entering(turn),
        }
    }

    pub(super) fn after_entering(&mut self, turn: &Turn<'_>) -> Word {
        match self.is_set {
            true => self.find_out_whose(turn),
            false => self.go(Phase::Set),
        }
    }

    pub(super) fn set_answered(&mut self, turn: &Turn<'_>, reply: Reply) -> Word {
        let first = self.phase == Phase::Set;
        match reply {
            Reply::Done => self.committed(turn),
            Reply::Version(Some(found)) if first && found == self.id(turn.call) => {
                self.committed(turn)
            }
            _ if !first => self.go(Phase::Ask),
            _ if turn.call.given => self.go(Phase::WasCommitted),
            _ => self.conflict(turn),
        }
    }

    fn committed(&mut self, turn: &Turn<'_>) -> Word {
        self.is_set = true;
        match self.gains_claim(turn.call) && !turn.scenario.rules.claims_first {
            true => self.go(Phase::Claim(Expect::Absent, 1)),
            false => self.after_claiming(turn),
        }
    }

    /// A store answers for an id, whichever run that was; the row tells more.
    fn find_out_whose(&mut self, turn: &Turn<'_>) -> Word {
        match turn.call.given {
            true => self.go(Phase::Whose),
            false => self.remove_lost(turn),
        }
    }

    fn conflict(&mut self, turn: &Turn<'_>) -> Word {
        let guessed = turn.call.guesses && self.guesses;
        self.stop(turn, if guessed { Then::Reread } else { Then::Retry })
    }

    /// Takes back what was claimed and entered.
    pub(super) fn stop(&mut self, turn: &Turn<'_>, then: Then) -> Word {
        if self.is_set && then != Then::Tell(Told::Done) {
            // Only a broken rule comes here: it claims after the row, and does not care.
            return self.after_claiming(turn);
        }
        let mut pending = Vec::new();
        if std::mem::take(&mut self.entered) {
            pending.extend(self.entry(turn).map(Command::Remove));
        }
        if std::mem::take(&mut self.claimed) {
            let attempt = self.attempt(turn, "claim");
            let email = turn.call.to.map(|(_, email)| email);
            pending.extend(email.map(|email| Command::Release { email, attempt }));
        }
        self.remove(turn, pending, then)
    }

    /// Removes what the row has lost.
    pub(super) fn remove_lost(&mut self, turn: &Turn<'_>) -> Word {
        let mut pending = Vec::new();
        if let Some(held) = self.live() {
            let stays = turn.call.to;
            if stays.is_none_or(|(color, _)| color != held.color) {
                let (row, attempt) = (turn.call.row, held.entered);
                // The key alone names it: what else it says is the store's business.
                let expected = None;
                pending.push(Command::Remove(Entry { color: held.color, row, attempt, expected }));
            }
            if stays.is_none_or(|(_, email)| email != held.email) {
                let (email, attempt) = (held.email, held.claimed);
                pending.push(Command::Release { email, attempt });
            }
        }
        self.remove(turn, pending, Then::Tell(Told::Done))
    }

    fn remove(&mut self, turn: &Turn<'_>, pending: Vec<Command>, then: Then) -> Word {
        match pending.is_empty() {
            true => self.then(turn, then),
            false => self.go(Phase::Remove(pending, then)),
        }
    }

    pub(super) fn removed(
        &mut self,
        turn: &Turn<'_>,
        mut pending: Vec<Command>,
        then: Then,
        number: usize,
    ) -> Word {
        pending.remove(number);
        self.remove(turn, pending, then)
    }

    fn then(&mut self, turn: &Turn<'_>, then: Then) -> Word {
        match then {
            Then::Tell(told) => self.tell(turn, told),
            Then::Settle => self.go(Phase::Settle),
            Then::Reread => {
                self.guesses = false;
                self.go(Phase::Read)
            }
            Then::Retry => {
                let id = self.id(turn.call);
                match self.tries + 1 < turn.scenario.tries {
                    true => {
                        let (call, tries) = (self.call, self.tries + 1);
                        *self = Writer { call, tries, ..Writer::new() };
                    }
                    false => drop(self.next_call(turn)),
                }
                Some((id, Told::NotDone))
            }
        }
    }

    fn tell(&mut self, turn: &Turn<'_>, told: Told) -> Word {
        let id = self.id(turn.call);
        self.next_call(turn);
        Some((id, told))
    }

    pub(super) fn next_call(&mut self, turn: &Turn<'_>) -> Word {
        let call = self.call + 1;
        *self = Writer { call, ..Writer::new() };
        let calls = turn.scenario.calls.get(usize::from(turn.run)).map_or(0, Vec::len);
        if usize::from(call) >= calls {
            self.phase = Phase::Over;
        }
        None
    }

    pub(super) fn go(&mut self, phase: Phase) -> Word {
        self.phase = phase;
        None
    }
}

enum Fate {
    Committed,
    Failed,
    Open,
    Forgotten,
}

/// What a row says about the set `id` that expected `expected` to lie there.
fn fate(row: Option<&Arc<Row>>, id: Id, expected: Version, turn: &Turn<'_>) -> Fate {
    let Some(row) = row else {
        return if expected.is_none() { Fate::Open } else { Fate::Forgotten };
    };
    if row.version == id || row.previous.contains(&id) {
        return Fate::Committed;
    }
    match expected {
        Some(expected) if row.version == expected => Fate::Open,
        Some(expected) if row.previous.contains(&expected) => Fate::Failed,
        None if row.previous.len() < turn.scenario.remembered => Fate::Failed,
        _ => Fate::Forgotten,
    }
}
