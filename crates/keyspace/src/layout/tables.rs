//! What the table stores share: tables, their columns, and names that no store refuses.
//!
//! ```text
//! keyspace ─layout─▶ tables (data: a driver creates and fills them) ─print─▶ DDL with comments
//! ```
//!
//! A name of the notation begins with a letter. Whatever a store adds begins with `_`, or takes
//! the plain word and moves behind a `_` where the keyspace has that word already. Nothing here
//! knows a store's types.

use crate::model::{
    Collection, Expression, ExpressionKind, Index, Key, Keyspace, Part, Segment, Ttl, Type, Verb,
};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// A table; `N` is the store's own column type.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<N> {
    /// Its name, unquoted.
    pub name: String,
    /// What it is for.
    pub purpose: Purpose,
    /// Its columns, those of the key first and in key order.
    pub columns: Vec<Column<N>>,
    /// The column with the instant at which a row ends.
    pub expires: Option<String>,
    /// What a reader should know, line by line.
    pub remarks: Vec<String>,
    /// The sentence kept in the store's own catalogue.
    pub comment: String,
}

/// What a table is for.
#[derive(Clone, Debug, PartialEq)]
pub enum Purpose {
    /// The rows of a collection, or of several that have one group.
    Rows(Vec<Member>),
    /// The entries of an index.
    Entries {
        /// The collection whose records it finds.
        collection: String,
        /// The index.
        index: String,
        /// Whether an entry is a claim: one live owner a value.
        unique: bool,
    },
    /// The time slices that the groups of another table have.
    Slices {
        /// That table.
        table: String,
    },
    /// Which keyspace the store holds, and in which format.
    Catalogue,
    /// Calls that were done before.
    Calls,
}

/// A collection with its rows in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The collection.
    pub collection: String,
    /// Where several share the table: what the kind column holds in its rows.
    pub kind: Option<String>,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column<N> {
    /// Its name, unquoted.
    pub name: String,
    /// Its type in the store.
    pub native: N,
    /// Its part in the table's key.
    pub role: Role,
    /// What it holds.
    pub holds: Holds,
    /// Whether it may be null.
    pub optional: bool,
    /// The collections whose rows have it, where not all rows of the table do.
    pub only: Vec<String>,
    /// A word printed behind it.
    pub remark: Option<String>,
}

/// A column's part in the table's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Finds the group: the partition key on Cassandra.
    Group,
    /// Orders rows inside the group: a clustering column on Cassandra.
    Order {
        /// Largest first.
        descending: bool,
    },
    /// None.
    Value,
}

/// What a column holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Holds {
    /// This segment of the key the table goes by.
    Segment(String),
    /// The segment with this number after the bar, whatever each collection calls it.
    Position(usize),
    /// A field of the record.
    Field(String),
    /// In an entry: this segment of the record's own key, which the index itself does not name.
    Owner(String),
    /// The value of a row that has one instead of fields.
    Content,
    /// The body, or the content of a history's row.
    Body,
    /// What was counted.
    Total,
    /// When a window ends.
    WindowEnd,
    /// The bytes by which a segment sorts, where its own column cannot.
    SortKey(String),
    /// The encoded segments after the bar.
    Rest,
    /// The literals after the bar: which collection a row belongs to.
    Kind,
    /// The literals of a group that has nothing else.
    Literals(String),
    /// The start of the time slice.
    Slice,
    /// The commit that wrote the row.
    Version,
    /// The commits before it: of a row the last eight, of an entry the one its writer saw.
    Previous,
    /// What each of these commits has brought a counter to, and its end: two numbers a commit.
    Sums,
    /// Whether the row was deleted.
    Dead,
    /// The index entries that belong to the row.
    Entries,
    /// The unique values that belong to the row.
    Claims,
    /// The commit that wrote the entry or claim.
    Attempt,
    /// When the row ends.
    Expires,
    /// When a row of a history, or a helper, was written.
    WrittenAt,
    /// The versions a snapshot stands for.
    Covers,
    /// Something of Keyway's own, in a helper.
    Internal,
}

impl Purpose {
    /// Whether no collection and no index asked for the table.
    pub fn is_helper(&self) -> bool {
        matches!(self, Purpose::Slices { .. } | Purpose::Catalogue | Purpose::Calls)
    }
}

impl<N> Table<N> {
    /// The columns that find the group.
    pub fn group(&self) -> impl Iterator<Item = &Column<N>> {
        self.columns.iter().filter(|column| column.role == Role::Group)
    }

    /// The columns that order rows inside it.
    pub fn order(&self) -> impl Iterator<Item = &Column<N>> {
        self.columns.iter().filter(|column| matches!(column.role, Role::Order { .. }))
    }

    /// The column that holds this.
    pub fn column(&self, holds: &Holds) -> Option<&Column<N>> {
        self.columns.iter().find(|column| column.holds == *holds)
    }
}

impl<N> Column<N> {
    /// A column outside the key that always has a value.
    pub fn value(name: String, native: N, holds: Holds) -> Self {
        let role = Role::Value;
        Column { name, native, role, holds, optional: false, only: Vec::new(), remark: None }
    }

    /// A column of the group.
    pub fn group(name: String, native: N, holds: Holds) -> Self {
        Column { role: Role::Group, ..Column::value(name, native, holds) }
    }

    /// A column that orders rows.
    pub fn order(name: String, native: N, holds: Holds, descending: bool) -> Self {
        Column { role: Role::Order { descending }, ..Column::value(name, native, holds) }
    }

    /// The same, null where there is nothing.
    pub fn or_null(self, optional: bool) -> Self {
        Column { optional, ..self }
    }

    /// The same, with a word behind it.
    pub fn remarked(self, remark: impl Into<String>) -> Self {
        Column { remark: Some(remark.into()), ..self }
    }

    /// Whether larger values stand first.
    pub fn is_descending(&self) -> bool {
        self.role == Role::Order { descending: true }
    }
}

/// Names given out once each.
#[derive(Clone, Debug)]
pub struct Names {
    taken: BTreeSet<String>,
    promised: BTreeSet<String>,
    refused: fn(&str) -> bool,
    length_max: usize,
}

impl Names {
    /// No name taken yet; `refused` names cannot be had even quoted.
    pub fn new(refused: fn(&str) -> bool, length_max: usize) -> Self {
        Names { taken: BTreeSet::new(), promised: BTreeSet::new(), refused, length_max }
    }

    /// Keeps a name of the keyspace from being given to something of the store's own.
    pub fn promise(&mut self, name: &str) {
        self.promised.insert(name.to_string());
    }

    /// Whether a name is neither taken nor promised.
    pub fn is_open(&self, name: &str) -> bool {
        self.is_free(name) && !self.promised.contains(name)
    }

    /// Whether a name is not taken, promised or not.
    pub fn is_free(&self, name: &str) -> bool {
        !self.taken.contains(name) && !(self.refused)(name)
    }

    /// A name of the keyspace, or the nearest one that is free.
    pub fn claim(&mut self, wanted: &str) -> String {
        self.give(wanted, Names::is_free)
    }

    /// A name for something of the store's own, or the nearest one that is open.
    pub fn claim_own(&mut self, wanted: &str) -> String {
        self.give(wanted, Names::is_open)
    }

    /// The same, with an ending that is kept whole.
    pub fn claim_with(&mut self, stem: &str, ending: &str) -> String {
        let room = self.length_max.saturating_sub(ending.len());
        let stem: String = stem.chars().take(room).collect();
        self.claim_own(&format!("{stem}{ending}"))
    }

    /// Cut to length, then moved behind as many `_` as it takes.
    fn give(&mut self, wanted: &str, fits: fn(&Names, &str) -> bool) -> String {
        let mut name: String = wanted.chars().take(self.length_max).collect();
        while !fits(self, &name) {
            name = format!("_{name}").chars().take(self.length_max).collect();
        }
        self.taken.insert(name.clone());
        name
    }
}

/// The key of a collection's rows; a history's with the segments that Keyway adds.
pub fn row_key(collection: &Collection) -> Cow<'_, Key> {
    if collection.history.is_none() || collection.key.rest_segments().next().is_some() {
        return Cow::Borrowed(&collection.key);
    }
    let kinds = vec!["snapshot".to_string(), "update".to_string()];
    let added = [("kind", Type::Enum(kinds)), ("branch", Type::Text), ("version", Type::Bytes)];
    let mut key = collection.key.clone();
    key.has_bar = true;
    key.parts.extend(added.map(|(name, segment_type)| {
        Part::Segment(Segment {
            name: name.to_string(),
            segment_type,
            descending: false,
            default: None,
            source: None,
            appended: false,
            span: key.span,
        })
    }));
    Cow::Owned(key)
}

/// The member a segment is, unchanged; none if it is computed.
pub fn plain_member(segment: &Segment) -> Option<&str> {
    match &segment.source {
        None => Some(&segment.name),
        Some(Expression { kind: ExpressionKind::Member(name), .. }) => Some(name),
        Some(_) => None,
    }
}

/// What a key column of an entry holds.
pub fn segment_holds(segment: &Segment) -> Holds {
    match segment.appended {
        true => Holds::Owner(segment.name.clone()),
        false => Holds::Segment(segment.name.clone()),
    }
}

/// Where an entry, or without an index a row, holds this field as it is.
pub fn field_holds(name: &str, index: Option<&Index>) -> Vec<Holds> {
    let segments = index.into_iter().flat_map(|index| index.key.segments());
    let plain = segments.filter(|segment| plain_member(segment) == Some(name));
    let in_key = plain.map(|segment| Holds::Segment(segment.name.clone()));
    std::iter::once(Holds::Field(name.to_string())).chain(in_key).collect()
}

/// The primary segments that an index key does not hold as they are: what a claim adds to itself.
pub fn owner_segments<'a>(collection: &'a Collection, index: &Index) -> Vec<&'a Segment> {
    let held: Vec<&str> = index.key.segments().filter_map(plain_member).collect();
    collection.key.segments().filter(|segment| !held.contains(&segment.name.as_str())).collect()
}

/// Whether rows of a collection end by themselves, and if so whether all of them do.
pub fn expiry(collection: &Collection) -> Option<Expiry<'_>> {
    match &collection.ttl {
        Some(Ttl::After(length)) => Some(Expiry::After(*length)),
        Some(Ttl::Field(name)) => Some(Expiry::Field(name)),
        None => None,
    }
}

/// When the rows of a collection end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry<'a> {
    /// So many milliseconds after they were written.
    After(u64),
    /// At the instant in this field.
    Field(&'a str),
}

/// Whether some call must be remembered, so that its repetition changes nothing: a put or delete
/// of a plain row may simply be done again.
pub fn remembers_calls(keyspace: &Keyspace) -> bool {
    keyspace.patterns.iter().any(|pattern| {
        let verb = pattern.verb;
        matches!(verb, Verb::Insert | Verb::Update | Verb::Add | Verb::Take)
            || pattern.condition.is_some()
            || pattern.if_version
    })
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn names_of_the_keyspace_come_first() {
        let mut names = Names::new(|name| name == "ctid", 12);
        names.promise("bucket");
        assert_eq!(names.claim_own("bucket"), "_bucket");
        assert_eq!(names.claim("bucket"), "bucket");
        assert_eq!(names.claim("bucket"), "__bucket");
        assert_eq!(names.claim("ctid"), "_ctid");
        assert_eq!(names.claim_with("messages_by_channel", "_order"), "messag_order");
    }
}
