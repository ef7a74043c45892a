//! Work on a whole store, outside any pattern: proving indexes true, taking rows out, bringing them
//! in, moving all of it.
//!
//! Everything here goes through a store page by page, in bounded memory, and may be stopped and
//! begun again at any point. It is for whoever runs the store, never for a caller.

mod copy;
mod export;
mod import;
mod moving;
mod remove;
mod scrub;
mod shown;
mod walk;

pub use copy::{Compared, Comparison, Copy, CopyMark, LASTS_MILLISECONDS, Side, Tally};
pub use export::{Export, ExportedRow};
pub use import::{Existing, Import, ImportedRows};
pub use moving::{Moved, Moving, Stage};
pub use scrub::{Problem, ProblemKind, Scrub, ScrubCounts};
pub use shown::key_shown;
pub use walk::Walk;
