//! Tree to keyspace: resolves what the file says, then asks every rule what is wrong with it.
//!
//! All problems are found in one pass over the file; none stops the search for the others.

mod fits;
mod functions;
pub mod resolve;
mod rules;
pub mod scope;
pub mod typing;
mod unreadable;

pub use functions::{CELL_LEVELS, GEOHASH_CHARACTERS, number};

use crate::diagnostic::{Diagnostic, Severity, tidy};
use crate::model::{Keyspace, StoreKind};
use crate::parse::parse;

/// What came of a file.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The keyspace, if there is no error.
    pub keyspace: Option<Keyspace>,
    /// Every problem, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
}

impl Reading {
    /// How many problems are this bad.
    pub fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|problem| problem.severity == severity).count()
    }
}

/// Reads and checks a keyspace file, for the stores it names.
pub fn read(text: &str) -> Reading {
    read_for(text, &[])
}

/// Reads and checks a keyspace file, for these stores too: what one of them refuses is an error.
pub fn read_for(text: &str, stores: &[StoreKind]) -> Reading {
    let (tree, mut diagnostics) = parse(text);
    if !tree.is_readable {
        tidy(&mut diagnostics);
        return Reading { keyspace: None, diagnostics };
    }
    let keyspace = resolve::resolve(&tree, &mut diagnostics);
    let mut stores = stores.to_vec();
    stores.extend(keyspace.stores.iter().map(|store| store.value));
    let facts = rules::Facts::new(&keyspace, &tree, &stores);
    rules::check(&facts, &mut diagnostics);
    unreadable::leave_out(text, &mut diagnostics);
    tidy(&mut diagnostics);
    let failed = diagnostics.iter().any(|problem| problem.severity == Severity::Error);
    Reading { keyspace: (!failed).then_some(keyspace), diagnostics }
}
