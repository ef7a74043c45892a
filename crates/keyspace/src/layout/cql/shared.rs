//! One table for the collections of one group, so that a conditional batch can change them
//! together: its statements must name one partition of one table.
//!
//! ```text
//! ledger:{ledger} | account:{id}      ─┐   ledger  kind       id   balance  amount
//! ledger:{ledger} | transfer:{id}     ─┴▶  7       'account'  1    20
//!                                          7       'transfer' 9             5
//! ```
//!
//! Where one of them is written conditionally, all of them are: a batch that names rows of both
//! kinds gives them the time of its ballot, and no plain write with a client's time may follow it.
//!
//! The table's name is the first one declared with `table`; else the last literal of the group,
//! which is what its collections have in common; else the first collection's. Collections with a
//! `bucket`, and histories, keep tables of their own: slices are partitions, and a history's rows
//! are never part of a conditional batch.

use super::super::remarks::{rows_remarks, template};
use super::super::tables::{Column, Holds, Member, Names, Purpose, Table};
use super::rows::Columns;
use super::{CqlTable, CqlType};
use crate::model::{Collection, Key, Keyspace, Part, Segment};
use std::sync::Arc;

/// Collections by table, in the order of the file.
pub(super) fn shares(keyspace: &Keyspace) -> Vec<Vec<&Arc<Collection>>> {
    let mut shares: Vec<Vec<&Arc<Collection>>> = Vec::new();
    for collection in &keyspace.collections {
        let beside = shares
            .iter_mut()
            .find(|share| share.first().is_some_and(|first| shares_table(first, collection)));
        match beside {
            Some(share) => share.push(collection),
            None => shares.push(vec![collection]),
        }
    }
    shares
}

/// Whether rows of two collections are in one table, by the rule at the head of this file.
pub fn shares_table(one: &Collection, other: &Collection) -> bool {
    let stands_alone = |c: &Collection| c.bucket.is_some() || c.history.is_some();
    one.name.value == other.name.value
        || one.key.shares_group_with(&other.key) && !stands_alone(one) && !stands_alone(other)
}

/// The table of several collections.
pub(super) fn table(
    keyspace: &Keyspace,
    collections: &[&Arc<Collection>],
    names: &mut Names,
) -> CqlTable {
    let members: Vec<&Collection> = collections.iter().map(|collection| &***collection).collect();
    let kinds = kinds(&members, keyspace.separator);
    let mut columns = Columns::new(keyspace, &members);
    if let Some(first) = members.first() {
        columns.partition(&first.key, None, keyspace.separator);
    }
    let kind = columns.names.claim_own("kind");
    let quoted: Vec<String> = kinds.iter().map(|kind| format!("'{kind}'")).collect();
    let column = Column::order(kind, CqlType::Text, Holds::Kind, false);
    columns.columns.push(column.remarked(quoted.join(" or ")));
    rest(&mut columns, &members);
    content(&mut columns, &members);
    columns.versions(keyspace, &members);
    let ends: Vec<Option<String>> =
        members.iter().map(|member| ends(&mut columns, member)).collect();
    // Rows end by several columns, or some never: then no one column speaks for the table.
    let expires = ends
        .first()
        .cloned()
        .flatten()
        .filter(|end| ends.iter().all(|other| other.as_ref() == Some(end)));
    let names_of = |member: &&Collection| member.name.value.clone();
    let comments: Vec<String> =
        members.iter().map(|member| template(&member.key, keyspace.separator)).collect();
    let table = Table {
        name: name(&members, names),
        purpose: Purpose::Rows(
            members
                .iter()
                .zip(kinds)
                .map(|(member, kind)| Member { collection: names_of(member), kind: Some(kind) })
                .collect(),
        ),
        columns: columns.columns,
        expires,
        remarks: remarks(keyspace, &members),
        comment: comments.join(", "),
    };
    let is_judged = |member: &&Collection| !keyspace.mode(member).is_unconditional();
    CqlTable { table, is_conditional: members.iter().any(is_judged), compaction: None }
}

/// Why there is one table, then what is said of each collection.
fn remarks(keyspace: &Keyspace, members: &[&Collection]) -> Vec<String> {
    let names: Vec<&str> = members.iter().map(|member| member.name.value.as_str()).collect();
    let mut remarks = vec![format!("one group, one table: {} change together", names.join(", "))];
    let is_plain = |member: &&Collection| keyspace.mode(member).is_unconditional();
    if members.iter().any(is_plain) && !members.iter().all(is_plain) {
        remarks.push("every write to it is conditional, those of plain rows too".to_string());
    }
    remarks.extend(members.iter().flat_map(|member| rows_remarks(keyspace, member)));
    remarks
}

/// The column by which rows of one member end; two of them may need only one `_exp`.
fn ends(columns: &mut Columns, member: &Collection) -> Option<String> {
    let made = columns.columns.iter().find(|column| column.holds == Holds::Expires);
    match (made.map(|column| column.name.clone()), &member.ttl) {
        (Some(made), Some(crate::model::Ttl::After(_))) => Some(made),
        _ => columns.expires(member, None),
    }
}

/// What tells the rows of each collection apart: the literals after the bar, or the whole template
/// where two collections have the same ones.
fn kinds(members: &[&Collection], separator: char) -> Vec<String> {
    let literals = |member: &&Collection| -> String {
        let literals: Vec<&str> = member
            .key
            .rest()
            .iter()
            .filter_map(|part| match part {
                Part::Literal(text) => Some(text.as_str()),
                Part::Segment(_) => None,
            })
            .collect();
        literals.join(separator.encode_utf8(&mut [0; 4]))
    };
    let short: Vec<String> = members.iter().map(literals).collect();
    let is_shared = |kind: &String| short.iter().filter(|other| *other == kind).count() > 1;
    members
        .iter()
        .zip(&short)
        .map(|(member, kind)| match is_shared(kind) {
            true => Key::template_of(member.key.rest(), separator),
            false => kind.clone(),
        })
        .collect()
}

/// The clustering columns after the kind: one a segment where all members agree on their number,
/// types and directions; else the encoded segments, with each segment readable beside them.
fn rest(columns: &mut Columns, members: &[&Collection]) {
    let segments: Vec<Vec<&Segment>> =
        members.iter().map(|member| member.key.rest_segments().collect()).collect();
    let Some(first) = segments.first() else { return };
    let agree = segments.iter().all(|other| {
        other.len() == first.len()
            && other.iter().zip(first).all(|(other, first)| {
                columns.ordering(other) == columns.ordering(first)
                    && other.descending == first.descending
            })
    });
    if !agree {
        let name = columns.names.claim_own("k");
        let column = Column::order(name, CqlType::Blob, Holds::Rest, false);
        columns.columns.push(column.remarked("the segments after the bar, encoded"));
        beside(columns, members);
        return;
    }
    for (number, segment) in first.iter().enumerate() {
        let is_common = segments
            .iter()
            .all(|other| other.get(number).is_some_and(|other| other.name == segment.name));
        let wanted = match (is_common, first.len()) {
            (true, _) => segment.name.clone(),
            (false, 1) => "id".to_string(),
            (false, _) => format!("k{}", number + 1),
        };
        let name = match is_common {
            true => columns.names.claim(&wanted),
            false => columns.names.claim_own(&wanted),
        };
        let native = columns.ordering(segment);
        let holds = Holds::Position(number);
        columns.columns.push(Column::order(name, native, holds, segment.descending));
    }
}

/// Each member's segments as ordinary columns; a name has one type in the whole keyspace.
fn beside(columns: &mut Columns, members: &[&Collection]) {
    let start = columns.columns.len();
    for member in members {
        for segment in member.key.rest_segments() {
            let holds = Holds::Segment(segment.name.clone());
            let native = CqlType::of(&segment.segment_type);
            add(columns, start, member, &segment.name, native, holds);
        }
    }
}

/// The fields, values and bodies of all members: one column where name and type agree.
fn content(columns: &mut Columns, members: &[&Collection]) {
    let start = columns.columns.len();
    for member in members {
        for (name, native, holds) in Columns::content(member) {
            add(columns, start, member, &name, native, holds);
        }
    }
}

/// Adds a member to the column that holds the same, or a column of its own.
fn add(
    columns: &mut Columns,
    start: usize,
    member: &Collection,
    name: &str,
    native: CqlType,
    holds: Holds,
) {
    let of = member.name.value.clone();
    let made = columns.columns.iter_mut().skip(start);
    let mut alike = made.filter(|column| column.holds == holds && column.native == native);
    if let Some(column) = alike.next() {
        column.only.push(of);
        return;
    }
    let wanted = match columns.names.is_free(name) {
        true => name.to_string(),
        false => format!("{of}_{name}"),
    };
    columns.value(&wanted, native, holds);
    if let Some(column) = columns.columns.last_mut() {
        column.only.push(of);
    }
}

/// The table's name, by the rule at the head of this file.
fn name(members: &[&Collection], names: &mut Names) -> String {
    if let Some(declared) = members.iter().find(|member| member.table != member.name.value) {
        return names.claim(&declared.table);
    }
    let Some(first) = members.first() else { return names.claim("_group") };
    let literal = first.key.group().iter().rev().find_map(|part| match part {
        Part::Literal(text) => Some(text.to_ascii_lowercase().replace(['.', '-'], "_")),
        Part::Segment(_) => None,
    });
    let is_own = |name: &str| members.iter().any(|member| member.table == name);
    match literal {
        Some(name)
            if name.starts_with(|first: char| first.is_ascii_lowercase())
                && name.len() <= super::DIALECT.name_length_max()
                && (names.is_open(&name) || is_own(&name)) =>
        {
            names.claim(&name)
        }
        _ => names.claim(&first.table),
    }
}
