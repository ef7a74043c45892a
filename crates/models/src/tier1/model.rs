//! All that can happen next in a state, and what must hold in every state.

use super::cleaner::{Cleaner, Suspect};
use super::store::{Claim, Command, Entry, Held, Id, Reply, Row, Store, derived};
use super::writer::{Fact, Phase, Told, Turn, Writer};
use super::{Call, Scenario};
use stateright::{Model, Property};
use std::sync::Arc;

/// The store, everyone at work on it, and what was said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The store.
    pub store: Store,
    /// The writers.
    pub writers: Vec<Writer>,
    /// The cleaner.
    pub cleaner: Cleaner,
    /// Requests that nobody waits for, in order.
    pub late: Vec<Command>,
    /// What became of each set that anything became of, in order.
    pub sets: Vec<Known>,
    /// Cleanings, crashes and losses to come.
    pub left: (u8, u8, u8),
}

/// What is known of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Known {
    /// The set.
    pub id: Id,
    /// Whether its call may be made twice.
    pub given: bool,
    /// Times its row was set.
    pub applied: u8,
    /// Whether a caller was told that it is done.
    pub done: bool,
    /// Whether a caller was told that it is not.
    pub not_done: bool,
}

/// Something that happens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The n-th request of a writer arrives, and its reply.
    Step(usize, usize),
    /// Its reply never comes; it arrives late or never. The writer asks again, or gives up.
    Lose(usize, usize, bool),
    /// It is refused, and nothing was done.
    Refuse(usize),
    /// A writer dies.
    Crash(usize),
    /// A request that nobody waits for arrives.
    Late(usize),
    /// The cleaner comes upon an entry or a claim.
    Clean(Suspect),
    /// It makes its next request.
    CleanOn,
}

/// What must hold in every state.
pub const PROMISES: [&str; 5] = [
    "no live row is without its entry",
    "unique values are unique",
    "who holds a value has claimed it",
    "what was acknowledged is done, what was refused is not",
    "a set is done once",
];

/// What must come about somewhere, or the scenario is about nothing.
pub const COMMITTED: &str = "a set is done";

impl Scenario {
    fn turn(&self, writer: usize, call: u8) -> Option<Turn<'_>> {
        let call: Call = *self.calls.get(writer)?.get(usize::from(call))?;
        Some(Turn { scenario: self, call, run: writer as u8 })
    }

    fn note(&self, state: &mut State, facts: Vec<Fact>) {
        for fact in facts {
            let id = match fact {
                Fact::Applied(id) | Fact::Told(id, _) => id,
            };
            let place = match state.sets.binary_search_by_key(&id, |known| known.id) {
                Ok(place) => place,
                Err(place) => {
                    let given = self.is_given(id);
                    let known = Known { id, given, applied: 0, done: false, not_done: false };
                    state.sets.insert(place, known);
                    place
                }
            };
            let Some(known) = state.sets.get_mut(place) else { continue };
            match fact {
                Fact::Applied(_) => known.applied += 1,
                Fact::Told(_, Told::Done) => known.done = true,
                Fact::Told(_, Told::NotDone) => known.not_done = true,
            }
        }
    }

    fn is_given(&self, id: Id) -> bool {
        let given = self.calls.iter().flatten().filter(|call| call.given);
        let mut ids = given.flat_map(|call| {
            (0..self.tries).map(|tries| Writer { tries, ..Writer::new() }.id(*call))
        });
        ids.any(|other| other == id)
    }

    fn act(
        &self,
        state: &mut State,
        writer: usize,
        does: impl FnOnce(&mut Writer, &Turn<'_>, &mut Store) -> Vec<Fact>,
    ) -> Option<()> {
        let acting = state.writers.get_mut(writer)?;
        let turn = self.turn(writer, acting.call)?;
        let facts = does(acting, &turn, &mut state.store);
        self.note(state, facts);
        Some(())
    }

    /// The requests of a writer that are under way.
    fn requests(&self, state: &State, writer: usize) -> Vec<Command> {
        let Some(acting) = state.writers.get(writer) else { return Vec::new() };
        let turn = self.turn(writer, acting.call);
        turn.map_or_else(Vec::new, |turn| acting.requests(&turn))
    }

    fn writer_actions(
        &self,
        state: &State,
        number: usize,
        writer: &Writer,
        actions: &mut Vec<Action>,
    ) {
        if writer.phase == Phase::Over {
            return;
        }
        let (_, crashes, losses) = state.left;
        let requests = self.requests(state, number).len();
        for request in 0..requests.max(1) {
            actions.push(Action::Step(number, request));
        }
        if crashes > 0 {
            actions.push(Action::Crash(number));
        }
        if losses == 0 {
            return;
        }
        for request in 0..requests {
            actions.push(Action::Lose(number, request, true));
        }
        if matches!(writer.phase, Phase::Claim(..) | Phase::Enter | Phase::Settle) {
            actions.push(Action::Lose(number, 0, false));
        }
        if writer.phase == Phase::Set {
            actions.push(Action::Refuse(number));
        }
    }
}

fn be_late(state: &mut State, command: Command) {
    let place = state.late.binary_search(&command).unwrap_or_else(|place| place);
    state.late.insert(place, command);
}

impl Model for Scenario {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let mut store = Store { rows: [None, None], entries: Vec::new(), claims: [None; 3] };
        for (number, (place, row)) in store.rows.iter_mut().zip(self.rows).enumerate() {
            let Some((color, email)) = row else { continue };
            let id = |purpose| derived(purpose, &[number as Id]);
            let (row, expected) = (number as u8, None);
            let (version, entered, claimed) = (id("first"), id("first entry"), id("first claim"));
            let held = Some(Held { color, email, entered, claimed });
            *place = Some(Arc::new(Row { version, previous: Vec::new(), held }));
            store.entries.push(Entry { color, row, attempt: entered, expected });
            if let Some(claim) = store.claims.get_mut(usize::from(email)) {
                *claim = Some(Claim { owner: row, attempt: claimed, expected });
            }
        }
        store.entries.sort();
        vec![State {
            store,
            writers: self.calls.iter().map(|_| Writer::new()).collect(),
            cleaner: Cleaner::Idle,
            late: Vec::new(),
            sets: Vec::new(),
            left: (self.cleanings, self.crashes, self.losses),
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (number, writer) in state.writers.iter().enumerate() {
            self.writer_actions(state, number, writer, actions);
        }
        actions.extend((0..state.late.len()).map(Action::Late));
        if state.cleaner != Cleaner::Idle {
            actions.push(Action::CleanOn);
        } else if state.left.0 > 0 {
            let entries = state.store.entries.iter().map(|entry| Suspect::Entry(*entry));
            let claims = state.store.claims.iter().enumerate();
            let claims = claims
                .filter_map(|(email, claim)| claim.map(|claim| Suspect::Claim(email as u8, claim)));
            actions.extend(entries.chain(claims).map(Action::Clean));
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Step(writer, number) => {
                self.act(&mut state, writer, |acting, turn, store| {
                    acting.step(turn, store, number)
                })?;
            }
            Action::Lose(writer, number, again) => {
                state.left.2 -= 1;
                let lost = self.requests(&state, writer).into_iter().nth(number)?;
                be_late(&mut state, lost);
                self.act(&mut state, writer, |acting, turn, _| acting.lose(turn, number, again))?;
            }
            Action::Refuse(writer) => {
                state.left.2 -= 1;
                self.act(&mut state, writer, |acting, turn, _| acting.refuse(turn))?;
            }
            Action::Crash(writer) => {
                state.left.1 -= 1;
                let under_way = self.requests(&state, writer);
                under_way.into_iter().for_each(|command| be_late(&mut state, command));
                let dead = state.writers.get_mut(writer)?;
                *dead = Writer { phase: Phase::Over, ..Writer::new() };
            }
            Action::Late(number) => {
                let command = state.late.remove(number);
                let reply = state.store.apply(&command, self.remembered);
                if let (Command::Set { id, .. }, Reply::Done) = (&command, reply) {
                    self.note(&mut state, vec![Fact::Applied(*id)]);
                }
            }
            Action::Clean(suspect) => {
                state.left.0 -= 1;
                state.cleaner = Cleaner::Read(suspect, 0);
            }
            Action::CleanOn => {
                let cleaner = state.cleaner;
                state.cleaner = cleaner.step(&mut state.store, self.rules, self.remembered);
            }
        }
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let [entered, unique, claimed, kept, once] = PROMISES;
        vec![
            Property::always(entered, |_, state: &State| every_live_row_is_entered(&state.store)),
            Property::always(unique, |_, state: &State| values_are_unique(&state.store)),
            Property::always(claimed, |_, state: &State| holders_have_claimed(&state.store)),
            Property::always(kept, |_, state: &State| state.sets.iter().all(is_as_told)),
            Property::always(once, |_, state: &State| {
                state.sets.iter().all(|known| known.applied < 2)
            }),
            Property::sometimes(COMMITTED, |_, state: &State| {
                state.sets.iter().any(|known| known.done)
            }),
        ]
    }
}

fn live(store: &Store) -> impl Iterator<Item = (u8, Held)> {
    (0..2).filter_map(|row| store.held(row).map(|held| (row, held)))
}

fn every_live_row_is_entered(store: &Store) -> bool {
    live(store).all(|(row, held)| {
        let key = (held.color, row, held.entered);
        store.entries.iter().any(|entry| entry.key() == key)
    })
}

fn values_are_unique(store: &Store) -> bool {
    let held: Vec<u8> = live(store).map(|(_, held)| held.email).collect();
    !matches!(held.as_slice(), [one, other] if one == other)
}

fn holders_have_claimed(store: &Store) -> bool {
    live(store).all(|(row, held)| store.claim(held.email).is_some_and(|claim| claim.owner == row))
}

/// Of a call that was made twice, one may be refused and the other done.
fn is_as_told(known: &Known) -> bool {
    let acknowledged = !known.done || known.applied > 0;
    let refused = !known.not_done || known.given || known.applied == 0;
    acknowledged && refused
}
