//! Tree to keyspace: resolves what the file says, then asks every rule what is wrong with it.
//!
//! All problems are found in one pass over the file; none stops the search for the others.

mod functions;
pub mod resolve;
pub mod typing;

pub use functions::{CELL_LEVELS, GEOHASH_CHARACTERS, number};

use crate::diagnostic::{Diagnostic, Severity, tidy};
use crate::model::Keyspace;
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

/// Reads and checks a keyspace file.
pub fn read(text: &str) -> Reading {
    let (tree, mut diagnostics) = parse(text);
    let keyspace = resolve::resolve(&tree, &mut diagnostics);
    tidy(&mut diagnostics);
    let failed = diagnostics.iter().any(|problem| problem.severity == Severity::Error);
    Reading { keyspace: (!failed).then_some(keyspace), diagnostics }
}
