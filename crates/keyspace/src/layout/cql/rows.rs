//! The table of one collection, and the columns every CQL table is made of.
//!
//! Knows nothing of other collections: those that share a table are in `shared`.

use super::super::remarks::{comment, rows_remarks};
use super::super::tables::{
    Column, Expiry, Holds, Member, Names, Purpose, Table, expiry, field_holds, plain_member,
    row_key, segment_holds,
};
use super::{CompactionWindow, CqlTable, CqlType, column_names};
use crate::model::{
    BodyType, Bucket, Collection, Content, DefaultValue, Index, Key, Keyspace, Mode, Segment, Type,
    duration_text,
};
use std::collections::BTreeSet;

/// Columns as they are added.
pub(super) struct Columns {
    pub names: Names,
    pub columns: Vec<Column<CqlType>>,
    /// The names under which UUIDs of one version stand.
    alike: BTreeSet<String>,
}

impl Columns {
    /// For a table of these collections, whose own names come before ours.
    pub fn new(keyspace: &Keyspace, collections: &[&Collection]) -> Self {
        let mut names = column_names();
        for name in collections.iter().flat_map(|collection| collection.member_names()) {
            names.promise(name);
        }
        Columns { names, columns: Vec::new(), alike: alike_uuids(keyspace) }
    }

    /// The type of a column that orders rows. Cassandra compares UUIDs by their version first, so
    /// that only those which all have one sort as the key does: ids, which one program makes.
    /// Others are their bytes.
    pub fn ordering(&self, segment: &Segment) -> CqlType {
        let name = plain_member(segment).unwrap_or(&segment.name);
        match CqlType::of(&segment.segment_type) {
            CqlType::Uuid if !self.alike.contains(name) => CqlType::Blob,
            native => native,
        }
    }

    /// A column of the store's own, or one the keyspace names.
    pub fn value(&mut self, name: &str, native: CqlType, holds: Holds) -> String {
        let name = match holds {
            Holds::Field(_) | Holds::Segment(_) | Holds::Owner(_) => self.names.claim(name),
            _ => self.names.claim_own(name),
        };
        // CQL has no NOT NULL: Keyway itself sees to required values.
        self.columns.push(Column::value(name.clone(), native, holds).or_null(true));
        name
    }

    pub fn typed(&mut self, name: &str, value_type: &Type, holds: Holds) {
        self.value(name, CqlType::of(value_type), holds);
    }

    /// The group's segments, then the slice; a constant where a partition would have no column.
    pub fn partition(&mut self, key: &Key, bucket: Option<&Bucket>, separator: char) {
        for segment in key.group_segments() {
            let name = self.names.claim(&segment.name);
            let native = CqlType::of(&segment.segment_type);
            self.columns.push(Column::group(name, native, segment_holds(segment)));
        }
        if let Some(bucket) = bucket {
            let every = duration_text(i64::try_from(bucket.every).unwrap_or(i64::MAX));
            let name = self.names.claim_own("bucket");
            let column = Column::group(name, CqlType::Timestamp, Holds::Slice);
            let remark = format!("start of a slice of {every} by {}", bucket.by);
            self.columns.push(column.remarked(remark));
        }
        if self.columns.is_empty() {
            self.constant(key, separator);
        }
    }

    /// A partition for a group of literals alone.
    pub fn constant(&mut self, key: &Key, separator: char) {
        let literals = Key::template_of(key.group(), separator);
        let name = self.names.claim_own("_group");
        let column = Column::group(name, CqlType::Text, Holds::Literals(literals.clone()));
        self.columns.push(column.remarked(format!("always '{literals}'")));
    }

    pub fn clustering(&mut self, segment: &Segment) {
        let name = self.names.claim(&segment.name);
        let native = self.ordering(segment);
        let column = Column::order(name, native, segment_holds(segment), segment.descending);
        self.columns.push(column);
    }

    /// Everything of a row that is not its key: name, type and meaning of each column.
    pub fn content(collection: &Collection) -> Vec<(String, CqlType, Holds)> {
        let mut content: Vec<(String, CqlType, Holds)> = Vec::new();
        let mut add = |name: &str, native, holds| content.push((name.to_string(), native, holds));
        for field in collection.fields() {
            add(&field.name, CqlType::of(&field.field_type), Holds::Field(field.name.clone()));
        }
        match &collection.content {
            _ if collection.history.is_some() => {
                add("data", CqlType::Blob, Holds::Body);
                add("at", CqlType::Timestamp, Holds::WrittenAt);
                add("covers", CqlType::List(Box::new(CqlType::Blob)), Holds::Covers);
            }
            Content::Json => add("value", CqlType::Json, Holds::Content),
            Content::Text => add("value", CqlType::Text, Holds::Content),
            Content::Bytes => add("value", CqlType::Blob, Holds::Content),
            Content::Counter => add("total", CqlType::BigInt, Holds::Total),
            Content::Window { .. } => {
                add("total", CqlType::BigInt, Holds::Total);
                add("ends_at", CqlType::Timestamp, Holds::WindowEnd);
            }
            Content::Keys | Content::Fields(_) => {}
        }
        match collection.body {
            Some(BodyType::Bytes) => add("data", CqlType::Blob, Holds::Body),
            Some(BodyType::Text) => add("data", CqlType::Text, Holds::Body),
            None => {}
        }
        content
    }

    /// What conditional writes need: for the rows of all these collections, no more than one does.
    pub fn versions(&mut self, keyspace: &Keyspace, collections: &[&Collection]) {
        let modes: Vec<Mode> = collections.iter().map(|c| keyspace.mode(c)).collect();
        let is_judged = |mode: &Mode| !mode.is_unconditional();
        if !modes.iter().any(is_judged) {
            return;
        }
        self.value("_v", CqlType::Uuid, Holds::Version);
        self.value("_prev", CqlType::List(Box::new(CqlType::Uuid)), Holds::Previous);
        let counts = |mode: &Mode| matches!(mode, Mode::Counter | Mode::Window);
        if modes.iter().any(counts) {
            self.value("_sums", CqlType::List(Box::new(CqlType::BigInt)), Holds::Sums);
        }
        if !modes.iter().all(counts) {
            self.value("_dead", CqlType::Boolean, Holds::Dead);
        }
        let conditional = collections.iter().filter(|c| keyspace.mode(c) == Mode::Conditional);
        let indexes: Vec<_> = conditional.flat_map(|collection| &collection.indexes).collect();
        if indexes.iter().any(|index| !index.unique) {
            self.value("_ix", CqlType::Blob, Holds::Entries);
        }
        if indexes.iter().any(|index| index.unique) {
            self.value("_ux", CqlType::Blob, Holds::Claims);
        }
    }

    /// The column with the end of a row: the field that says so where it is there already.
    pub fn expires(&mut self, collection: &Collection, index: Option<&Index>) -> Option<String> {
        if let Content::Window { .. } = collection.content {
            let end = self.columns.iter().find(|column| column.holds == Holds::WindowEnd);
            return end.map(|column| column.name.clone());
        }
        if let Expiry::Field(name) = expiry(collection)? {
            let holders = field_holds(name, index);
            let mut instants =
                self.columns.iter().filter(|column| column.native == CqlType::Timestamp);
            if let Some(column) = instants.find(|column| holders.contains(&column.holds)) {
                return Some(column.name.clone());
            }
        }
        Some(self.value("_exp", CqlType::Timestamp, Holds::Expires))
    }
}

/// The names of UUIDs that Keyway makes, or by which the rows of some collection are found: ids of
/// one thing are of one kind.
fn alike_uuids(keyspace: &Keyspace) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for key in keyspace.collections.iter().map(|collection| &collection.key) {
        let is_alone = key.segments().count() == 1;
        let ids = key.segments().filter(|segment| {
            let is_made = matches!(segment.default, Some(DefaultValue::New(_)));
            segment.segment_type == Type::Uuid && (is_alone || is_made)
        });
        names.extend(ids.map(|segment| segment.name.clone()));
    }
    names
}

/// Compaction by time, where rows end after a fixed time and are never judged.
pub(super) fn compaction(keyspace: &Keyspace, collection: &Collection) -> Option<CompactionWindow> {
    match (keyspace.mode(collection), expiry(collection)) {
        (Mode::Plain, Some(Expiry::After(length))) => Some(CompactionWindow::for_ttl(length)),
        _ => None,
    }
}

/// The table of a collection that has its groups to itself.
pub(super) fn table(keyspace: &Keyspace, collection: &Collection, names: &mut Names) -> CqlTable {
    let key = row_key(collection);
    let mut columns = Columns::new(keyspace, &[collection]);
    columns.partition(&key, collection.bucket.as_ref(), keyspace.separator);
    for segment in key.rest_segments() {
        columns.clustering(segment);
    }
    for (name, native, holds) in Columns::content(collection) {
        columns.value(&name, native, holds);
    }
    columns.versions(keyspace, &[collection]);
    let expires = columns.expires(collection, None);
    let member = Member { collection: collection.name.value.clone(), kind: None };
    let table = Table {
        name: names.claim(&collection.table),
        purpose: Purpose::Rows(vec![member]),
        columns: columns.columns,
        expires,
        remarks: rows_remarks(keyspace, collection),
        comment: comment(&key, keyspace.separator, collection.notes.as_deref()),
    };
    CqlTable {
        table,
        is_conditional: !keyspace.mode(collection).is_unconditional(),
        compaction: compaction(keyspace, collection),
    }
}
