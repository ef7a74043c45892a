//! The steps of a plan: what is done in which order, the same on every store.
//!
//! Steps are values that print themselves and can be compared. What a step costs depends on the
//! store and is in `Bounds`.

use crate::model::{Verb, limits};
use crate::parse::grouped;
use std::fmt;

/// One step of a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The caller's row in another collection is read; without it nothing else happens.
    Admit {
        /// The collection.
        collection: String,
        /// Its key.
        key: String,
        /// What must hold for that row.
        condition: Option<String>,
    },
    /// Rows, entries or claims are read by whole keys.
    Point {
        /// The collection or index.
        target: String,
        /// Its key.
        key: String,
        /// How many at most.
        rows: u64,
    },
    /// A stretch of a group is read in its order.
    Range {
        /// The collection or index.
        target: String,
        /// Its key.
        key: String,
        /// The segments that are fixed.
        by: Vec<String>,
        /// What the rows are sorted by, where a segment is left.
        order: Option<String>,
        /// Rows handed on at most.
        rows: u64,
    },
    /// The cells that cover a circle are read, all at once.
    Cover {
        /// The index.
        target: String,
        /// Its key.
        key: String,
        /// Cells at most.
        cells: u64,
        /// Rows of one cell at most; more is an error, for the answer would not be exact.
        cell_rows: u64,
    },
    /// The records that entries name are read: all at once, or a page's worth at a time.
    Fetch {
        /// The collection.
        collection: String,
        /// Its key.
        key: String,
        /// How many at most.
        rows: u64,
    },
    /// What was read is judged; otherwise the call ends in a conflict.
    Judge {
        /// What must hold.
        condition: String,
    },
    /// Rows outside the circle go, the rest is sorted by distance and cut to a page.
    Nearest {
        /// Rows of the answer at most.
        rows: u64,
    },
    /// Everything is written in one atomic batch, with its checks.
    Commit {
        /// What changes, in order.
        changes: Vec<Change>,
    },
    /// Rows that nothing needs any more are removed, in a batch of their own.
    Remove {
        /// The collection.
        collection: String,
        /// How many at most.
        rows: u64,
    },
}

/// What a commit does to one collection.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// How, unless its rows are only looked at.
    pub verb: Option<Verb>,
    /// The collection, or a field of it.
    pub target: String,
    /// Its key.
    pub key: String,
    /// Its records, at most.
    pub rows: u64,
    /// Its index entries and claims.
    pub entries: Vec<EntryChange>,
}

/// What a commit does to one index, for each record.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryChange {
    /// The index.
    pub index: String,
    /// Whether its entries are claims.
    pub unique: bool,
    /// Entries added at most.
    pub added: u64,
    /// Entries removed at most.
    pub removed: u64,
}

/// `1 row`, `5 rows`.
pub(super) fn counted(number: u64, noun: &str) -> String {
    let text = grouped(number);
    match (number, noun.strip_suffix('y')) {
        (1, _) => format!("{text} {noun}"),
        (_, Some(stem)) => format!("{text} {stem}ies"),
        (_, None) => format!("{text} {noun}s"),
    }
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Admit { collection, key, condition } => {
                write!(out, "read the caller's row of {collection} ({key})")?;
                condition.as_ref().map_or(Ok(()), |text| write!(out, ", where {text}"))
            }
            Step::Point { target, key, rows } => {
                write!(out, "read {} of {target} by key ({key})", counted(*rows, "row"))
            }
            Step::Range { target, key, by, order, rows } => {
                write!(out, "read up to {} of {target} ({key})", counted(*rows, "row"))?;
                if !by.is_empty() {
                    write!(out, " by {}", by.join(", "))?;
                }
                order.as_ref().map_or(Ok(()), |order| write!(out, ", in the order of {order}"))
            }
            Step::Cover { target, key, cells, cell_rows } => write!(
                out,
                "read up to {} of {target} ({key}) around the point, up to {} each",
                counted(*cells, "cell"),
                counted(*cell_rows, "row"),
            ),
            Step::Fetch { collection, key, rows } => {
                let records = counted(*rows, "record");
                write!(out, "fetch up to {records} of {collection} ({key}), ")?;
                match *rows > limits::PAGE_ROWS_MAX {
                    true => write!(out, "{} at a time", grouped(limits::PAGE_ROWS_MAX)),
                    false => out.write_str("together"),
                }
            }
            Step::Judge { condition } => write!(out, "go on only if {condition}"),
            Step::Nearest { rows } => {
                let rows = counted(*rows, "row");
                write!(out, "measure exactly, sort by distance, keep the nearest {rows}")
            }
            Step::Commit { changes } => {
                out.write_str("commit: ")?;
                let texts: Vec<String> = changes.iter().map(Change::to_string).collect();
                out.write_str(&texts.join("; "))
            }
            Step::Remove { collection, rows } => {
                let rows = counted(*rows, "row");
                write!(out, "remove up to {rows} of {collection}, in a batch of their own")
            }
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = self.verb.map_or("check", Verb::name);
        let rows = counted(self.rows, "row");
        write!(out, "{verb} {rows} of {} ({})", self.target, self.key)?;
        self.entries.iter().try_for_each(|entry| write!(out, ", {entry}"))
    }
}

impl fmt::Display for EntryChange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (gain, lose) = if self.unique { ("claim", "release") } else { ("enter", "leave") };
        let many = |word: &str, number: u64| match number {
            1 => word.to_string(),
            _ => format!("{word} up to {number} times"),
        };
        match (self.added, self.removed) {
            (0, removed) => write!(out, "{} {}", many(lose, removed), self.index),
            (added, 0) => write!(out, "{} {}", many(gain, added), self.index),
            (added, removed) => {
                write!(out, "{} and {} {}", many(lose, removed), many(gain, added), self.index)
            }
        }
    }
}
