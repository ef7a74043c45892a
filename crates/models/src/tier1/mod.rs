//! The protocol of group-atomic stores (`crates/data/src/protocol/tier1`), as a model.
//!
//! ```text
//! writers, each a program of calls ─┐
//! one cleaner                       ├─ requests ─▶ rows, entries, claims
//! requests of the dead, and others ─┘
//! that are late
//! ```
//!
//! An action is one request that arrives, or something that goes wrong. Whoever has no request
//! under way thinks in no time: thinking changes nothing that others see. A request that never
//! arrives is one whose turn never comes; a reply that is lost is a request that arrives late.
//!
//! # Model and code, side by side
//!
//! | model | code, in `tier1/` |
//! |---|---|
//! | [`Writer`], its [`Phase`]s in their order | `Attempt::run` in `attempt.rs` |
//! | `Phase::Read`, a guess, a set found done | `Attempt::read`, `guessed` |
//! | `Phase::Claim`, `Look`, `FenceOwner`; three tries | `claim`, `look` in `claim.rs` |
//! | `Phase::Enter` | `enter_all` |
//! | `Phase::Set`, `WasCommitted` | `set_rows` in `settle.rs` |
//! | `Phase::Settle`, `Ask`, `FenceOwn` | `find_out`, `ask_rows`, `fate` in `settle.rs` |
//! | `Phase::Whose` | `whose` in `settle.rs`, `has_written` in `target.rs` |
//! | `Phase::Remove`: in any order | `take_back`, `remove_lost`; `remove_all` in `send.rs` |
//! | [`Row`], `previous`, dead without [`Held`] | `Trail`; `previous`, `dead` in `target.rs` |
//! | [`Command::Fence`] | `fence` in `fence.rs` |
//! | `derived` | `derived` in `ids.rs`: ids follow from what they are for |
//! | [`Cleaner`] | `clean.rs`, for entries and claims that are old |
//! | [`Rules`], broken one at a time | `Rules` in `mod.rs` |
//! | the promises in `model.rs` | `World::check`, `check_end` in `tests/world.rs` |
//!
//! # What the model leaves out, and who looks at it
//!
//! - Rows, entries and claims that end, claims written anew, several rows in one set, checks,
//!   counters, slices, rows without versions: the simulation in `tier1/tests` has them.
//! - Readers, and reads that are behind what was accepted: the simulation has both.
//! - A store that remembers ids of commits. The model's forgets, which asks more of the protocol.
//! - Waiting for a claim in flight. The model fences at once: a wait is one order of the steps.
//! - A claim is looked at when the conflict is reported. In the code another request lies between,
//!   but a conflict changes nothing, so it may as well have been reported then.

mod attempt;
mod cleaner;
mod model;
mod scenarios;
mod store;
mod writer;

pub use cleaner::{Cleaner, Suspect};
pub use model::{Action, COMMITTED, PROMISES, State};
pub use scenarios::every_scenario;
pub use store::{Claim, Command, Entry, Expect, Held, Id, Row, Store, Version};
pub use writer::{Phase, Then, Told, Writer};

/// The rules of the protocol: one sound set of them, and tests break one at a time.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Attempts that may be in flight are fenced before their entries and claims are touched.
    pub fences: bool,
    /// Removed rows stay, dead.
    pub leaves_dead: bool,
    /// Nothing is taken back before the outcome is known.
    pub settles_first: bool,
    /// A claim is taken over only from the attempt that was looked at.
    pub compares_claims: bool,
    /// Claims come before the row.
    pub claims_first: bool,
    /// Entries come before the row.
    pub enters_first: bool,
    /// Two runs of one set have different attempts.
    pub runs_apart: bool,
}

impl Rules {
    /// The rules as they are.
    pub const SOUND: Rules = Rules {
        fences: true,
        leaves_dead: true,
        settles_first: true,
        compares_claims: true,
        claims_first: true,
        enters_first: true,
        runs_apart: true,
    };
}

/// A change of one row, as a caller asks for it.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Its number. Calls with the same number are one call, made twice.
    pub number: u8,
    /// The row.
    pub row: u8,
    /// Its color and email afterwards; nothing where it is removed.
    pub to: Option<(u8, u8)>,
    /// Whether it is taken to be new, without looking.
    pub guesses: bool,
    /// Whether it may be made twice.
    pub given: bool,
}

/// Who does what, and what may go wrong.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it is about.
    pub name: &'static str,
    /// The rows at the beginning: color and email.
    pub rows: [Option<(u8, u8)>; 2],
    /// The calls of each writer, one after the other.
    pub calls: Vec<Vec<Call>>,
    /// Times a call is tried, each time as another set.
    pub tries: u8,
    /// Entries and claims that the cleaner looks at.
    pub cleanings: u8,
    /// Writers that may die.
    pub crashes: u8,
    /// Requests that may arrive late, or be refused.
    pub losses: u8,
    /// Earlier versions that a row remembers.
    pub remembered: usize,
    /// The rules.
    pub rules: Rules,
}
