//! How the entries of an index lead to their rows inside one statement: which of an entry's columns
//! are the primary key of the row.

use super::content::{Of, Place};
use super::table::{Part, TableShape};

/// The columns by which entries and rows are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// A column of the entries, and the column of the rows that holds the same.
    pub columns: Vec<(usize, usize)>,
    /// Something that every row has.
    pub proof: Proof,
}

/// Where a statement answers something that is null only where there is no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// In the content of the row, at this place.
    Content(usize),
    /// Behind the content, in this column of the rows.
    Behind(usize),
}

impl Proof {
    /// The column of a statement that answers `own` columns of an entry and then so many of a row.
    pub fn column(self, own: usize, content: usize) -> usize {
        match self {
            Proof::Content(place) => own + place,
            Proof::Behind(_) => own + content,
        }
    }
}

impl Join {
    /// The join of a table of entries or claims with that of its rows; nothing where a column of an
    /// entry is not in the form of the key, so that no index would be used.
    pub fn new<N: Clone + PartialEq>(
        entries: &TableShape<N>,
        rows: &TableShape<N>,
    ) -> Option<Join> {
        let Of::Entries { collection, index, owner, .. } = &entries.of else { return None };
        let index = collection.indexes.get(*index)?;
        let places: Vec<Place> = match index.model.unique {
            true => owner.clone(),
            false => index.primary.iter().map(|segment| Place::Segment(*segment)).collect(),
        };
        // A row whose key is nothing but literals has another column.
        let is_whole = places.len() == rows.key.len() && rows.segments.len() == rows.key.len();
        let mut columns = Vec::with_capacity(places.len());
        for (place, row) in places.iter().zip(&rows.segments) {
            let entry = match place {
                Place::Segment(segment) => entries.segments.get(*segment),
                Place::Content(place) => entries.content.get(*place),
            };
            let (own, other) = (entries.columns.get(*entry?)?, rows.columns.get(*row)?);
            let is_sort_key = |part: &Part| matches!(part, Part::SortKey(_));
            if own.native != other.native || is_sort_key(&own.part) != is_sort_key(&other.part) {
                return None;
            }
            columns.push((*entry?, *row));
        }
        let is_sure = |place: &usize| rows.columns.get(*place).is_some_and(|c| !c.optional);
        // A short one, where there is one: it is looked at once more than others.
        let version = rows.content.iter().position(|place| Some(*place) == rows.version);
        let proof = match version.or_else(|| rows.content.iter().position(is_sure)) {
            Some(place) => Proof::Content(place),
            None => Proof::Behind(*rows.segments.first()?),
        };
        (is_whole && !columns.is_empty()).then_some(Join { columns, proof })
    }
}
