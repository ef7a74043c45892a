//! What a store is, as data: its kind, how far a commit reaches, what acknowledged means.

use keyspace::model::{Atomicity, StoreKind};
use std::fmt;

/// What a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Whose plans, bounds and layouts hold.
    pub kind: StoreKind,
    /// Where it is, for messages: a URL without secrets.
    pub address: String,
    /// How far one commit reaches.
    pub atomicity: Atomicity,
    /// How far a commit without checks, of unversioned puts and deletes only, reaches.
    pub blind: Reach,
    /// By what a batch that is sent again is known.
    pub remembers: Memory,
    /// What an acknowledged commit survives.
    pub durability: Durability,
}

/// By what a store knows a batch that was committed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// By its id, whatever it wrote.
    Batches,
    /// By the rows that it wrote, each of which names the last commits that wrote it: a batch of
    /// nothing but checks is not known again.
    Rows,
}

/// How far something reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Any rows of the store.
    Store,
    /// Rows of one place.
    Place,
}

/// What an acknowledged commit survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Nothing: it lives in the process, or is written when there is time.
    None,
    /// The end of the process, however it ends.
    Process,
    /// The machine losing power.
    Power,
}

impl Durability {
    /// The name used in URLs.
    pub fn name(self) -> &'static str {
        match self {
            Durability::None => "none",
            Durability::Process => "process",
            Durability::Power => "power",
        }
    }

    /// The one with this name.
    pub fn from_name(name: &str) -> Option<Durability> {
        [Durability::None, Durability::Process, Durability::Power]
            .into_iter()
            .find(|durability| durability.name() == name)
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}
