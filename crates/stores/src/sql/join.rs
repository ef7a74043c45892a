//! How the entries of an index lead to their rows inside one statement: which of an entry's columns
//! are the primary key of the row.

use super::content::{Of, Place};
use super::table::{Part, TableShape};
use data::store::Versions;

/// The columns by which entries and rows are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// A column of the entries, and the column of the rows that holds the same.
    pub columns: Vec<(usize, usize)>,
    /// Something that every row has: where versions are read, and where they are not.
    proofs: [Proof; 2],
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
    /// Something that every row has.
    pub fn proof(&self, versions: Versions) -> Proof {
        let [with, without] = self.proofs;
        match versions {
            Versions::Wanted => with,
            Versions::Unwanted => without,
        }
    }

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
        let behind = Proof::Behind(*rows.segments.first()?);
        let proof = |versions: Versions| {
            let content = rows.content_read(versions);
            // A short one, where there is one: it is looked at once more than others.
            let version = content.iter().position(|place| Some(*place) == rows.version);
            let sure = version.or_else(|| content.iter().position(is_sure));
            sure.map_or(behind, Proof::Content)
        };
        let proofs = [Versions::Wanted, Versions::Unwanted].map(proof);
        (is_whole && !columns.is_empty()).then_some(Join { columns, proofs })
    }
}
