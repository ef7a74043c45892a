//! A writer: one attempt after another, request by request, as the code makes them.

use super::store::{Claim, Command, Entry, Expect, Held, Id, Reply, Row, Store, derived, part};
use super::store::{Version, previous};
use super::{Call, Scenario};
use std::sync::Arc;

/// What a caller is told of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Told {
    /// It is done.
    Done,
    /// It is not done, and never will be.
    NotDone,
}

/// What a writer does next; its request, where there is one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Reads its row.
    Read,
    /// Sends its claim, for the n-th time.
    Claim(Expect, u8),
    /// Reads the owner of a claim in its way, after so many sends.
    Look(Claim, u8),
    /// Fences the owner.
    FenceOwner(u8, Version),
    /// Sends its entry.
    Enter,
    /// Sends its row.
    Set,
    /// Reads whether another run has set the row.
    WasCommitted,
    /// Sends its row again, since no reply came.
    Settle,
    /// Reads what became of its row.
    Ask,
    /// Fences its own row.
    FenceOwn(Version),
    /// Reads which run has set the row.
    Whose,
    /// Has sent removals, which arrive in any order.
    Remove(Vec<Command>, Then),
    /// Has no more to do, or is dead.
    Over,
}

/// What comes after removals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Then {
    /// The caller is told.
    Tell(Told),
    /// The same call, as another set, if it may be tried again.
    Retry,
    /// The row is read, since it was not new.
    Reread,
    /// What a broken rule has taken back too early.
    Settle,
}

/// A writer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Writer {
    /// Which of its calls.
    pub call: u8,
    /// Sets it has made for it.
    pub tries: u8,
    /// What it is at.
    pub phase: Phase,
    /// Its row as it was read.
    pub row: Option<Arc<Row>>,
    /// Whether it still guesses.
    pub guesses: bool,
    /// Whether its claim may be there.
    pub claimed: bool,
    /// Whether its entry may be there.
    pub entered: bool,
    /// Whether its row is set.
    pub is_set: bool,
}

/// What a writer's next request is about, and what it knows of it.
pub(super) struct Turn<'t> {
    pub(super) scenario: &'t Scenario,
    pub(super) call: Call,
    /// What tells this writer's runs from another's.
    pub(super) run: u8,
}

impl Writer {
    /// A writer before its first call.
    pub(super) fn new() -> Writer {
        Writer {
            call: 0,
            tries: 0,
            phase: Phase::Read,
            row: None,
            guesses: true,
            claimed: false,
            entered: false,
            is_set: false,
        }
    }

    /// The id of its set.
    pub(super) fn id(&self, call: Call) -> Id {
        derived("set", &[Id::from(call.number), Id::from(self.tries)])
    }

    pub(super) fn version(&self) -> Version {
        self.row.as_ref().map(|row| row.version)
    }

    pub(super) fn live(&self) -> Option<Held> {
        self.row.as_ref().and_then(|row| row.held)
    }

    pub(super) fn gains_claim(&self, call: Call) -> bool {
        call.to.is_some_and(|(_, email)| self.live().is_none_or(|held| held.email != email))
    }

    pub(super) fn gains_entry(&self, call: Call) -> bool {
        call.to.is_some_and(|(color, _)| self.live().is_none_or(|held| held.color != color))
    }

    pub(super) fn attempt(&self, turn: &Turn<'_>, purpose: &str) -> Id {
        let run = if turn.scenario.rules.runs_apart { turn.run + 1 } else { 0 };
        derived(purpose, &[self.id(turn.call), Id::from(run), part(self.version())])
    }

    /// What its row holds if it is set.
    pub(super) fn held(&self, turn: &Turn<'_>) -> Option<Held> {
        let (color, email) = turn.call.to?;
        let attempt = |purpose| self.attempt(turn, purpose);
        Some(Held {
            color,
            email,
            entered: match self.live() {
                Some(held) if held.color == color => held.entered,
                _ => attempt("entry"),
            },
            claimed: match self.live() {
                Some(held) if held.email == email => held.claimed,
                _ => attempt("claim"),
            },
        })
    }

    pub(super) fn entry(&self, turn: &Turn<'_>) -> Option<Entry> {
        let (color, _) = turn.call.to?;
        let (row, attempt) = (turn.call.row, self.attempt(turn, "entry"));
        Some(Entry { color, row, attempt, expected: self.version() })
    }

    /// The requests under way; reads change nothing and are not among them.
    pub(super) fn requests(&self, turn: &Turn<'_>) -> Vec<Command> {
        let call = turn.call;
        let fence = |by: Id, row: u8, expect: Version| {
            let id = derived("fence", &[by, part(expect), Id::from(row)]);
            Command::Fence { id, row, expect }
        };
        match &self.phase {
            Phase::Claim(expect, _) => {
                let attempt = self.attempt(turn, "claim");
                let claim = Claim { owner: call.row, attempt, expected: self.version() };
                let email = call.to.map(|(_, email)| email);
                let claim = email.map(|email| Command::Claim { email, expect: *expect, claim });
                claim.into_iter().collect()
            }
            Phase::Enter => self.entry(turn).map(Command::Enter).into_iter().collect(),
            Phase::Set | Phase::Settle => {
                let (id, expect) = (self.id(call), self.version());
                let previous = previous(self.row.as_deref(), turn.scenario.remembered);
                let held = self.held(turn);
                let stays = held.is_some() || turn.scenario.rules.leaves_dead;
                let to = stays.then(|| Arc::new(Row { version: id, previous, held }));
                vec![Command::Set { id, row: call.row, expect, to }]
            }
            Phase::FenceOwner(owner, version) => {
                vec![fence(self.attempt(turn, "claim"), *owner, *version)]
            }
            Phase::FenceOwn(version) => vec![fence(self.id(call), call.row, *version)],
            Phase::Remove(pending, _) => pending.clone(),
            _ => Vec::new(),
        }
    }

    /// Its next request arrives and is answered; the n-th of those sent together.
    pub(super) fn step(&mut self, turn: &Turn<'_>, store: &mut Store, number: usize) -> Vec<Fact> {
        let request = self.requests(turn).into_iter().nth(number);
        let reply = request.as_ref().map(|request| store.apply(request, turn.scenario.remembered));
        let mut facts = Vec::new();
        if let (Some(Command::Set { id, .. }), Some(Reply::Done)) = (&request, reply) {
            facts.push(Fact::Applied(*id));
        }
        let told = match (self.phase.clone(), reply) {
            (Phase::Remove(pending, then), _) => self.removed(turn, pending, then, number),
            (Phase::Claim(_, sends), Some(reply)) => self.claim_answered(turn, sends, reply),
            (Phase::Set | Phase::Settle, Some(reply)) => self.set_answered(turn, reply),
            (Phase::FenceOwner(..), _) => self.stop(turn, Then::Retry),
            (Phase::FenceOwn(_), _) => self.go(Phase::Settle),
            (Phase::Enter, _) => {
                self.entered = true;
                self.after_entering(turn)
            }
            (phase, _) => self.look(turn, store, phase),
        };
        facts.extend(told.map(|(id, told)| Fact::Told(id, told)));
        facts
    }

    /// A request of its own gets no reply; `again` says whether it goes on asking.
    pub(super) fn lose(&mut self, turn: &Turn<'_>, number: usize, again: bool) -> Vec<Fact> {
        let told = match (self.phase.clone(), again) {
            (Phase::Claim(..), true) | (Phase::Enter | Phase::Settle, true) => None,
            (Phase::Claim(..), false) => {
                self.claimed = true;
                self.stop(turn, Then::Retry)
            }
            (Phase::Enter, false) => {
                self.entered = true;
                self.stop(turn, Then::Retry)
            }
            (Phase::Set, _) if !turn.scenario.rules.settles_first => self.stop(turn, Then::Settle),
            (Phase::Set | Phase::FenceOwn(_), _) => self.go(Phase::Settle),
            (Phase::Settle, false) => self.next_call(turn),
            (Phase::FenceOwner(..), _) => self.stop(turn, Then::Retry),
            (Phase::Remove(pending, then), _) => self.removed(turn, pending, then, number),
            _ => None,
        };
        told.map(|(id, told)| Fact::Told(id, told)).into_iter().collect()
    }

    /// Its row is refused before anything was done.
    pub(super) fn refuse(&mut self, turn: &Turn<'_>) -> Vec<Fact> {
        let told = self.stop(turn, Then::Retry);
        told.map(|(id, told)| Fact::Told(id, told)).into_iter().collect()
    }
}

/// Something that the promises are about.
pub(super) enum Fact {
    /// A set has set its row.
    Applied(Id),
    /// A caller was told about a set.
    Told(Id, Told),
}
