//! The section of one collection: its key, what its rows hold, its indexes.

use super::markdown::{facts, table};
use super::{escape, words};
use crate::model::{
    BodyType, Bucket, Collection, Content, Field, Index, Key, Keyspace, Mode, Owner, Segment, Ttl,
};

/// A collection's heading and everything under it.
pub(super) fn section(keyspace: &Keyspace, collection: &Collection) -> String {
    let separator = keyspace.separator;
    let mut text = format!("### {}\n", escape::text(&collection.name.value));
    if let Some(notes) = &collection.notes {
        text.push_str(&format!("\n{}\n", escape::paragraph(notes)));
    }
    text.push_str(&format!("\n```text\n{}\n```\n\n", words::key(&collection.key, separator)));
    text.push_str(&key_table(&collection.key));
    text.push('\n');
    text.push_str(&facts(rules(keyspace, collection)));
    if let Content::Fields(fields) = &collection.content {
        text.push('\n');
        text.push_str(&table(
            &["Field", "Type", "Default"],
            fields.iter().map(field_row).collect(),
        ));
    }
    if !collection.indexes.is_empty() {
        let rows = collection.indexes.iter().map(|index| index_row(index, separator));
        let head = ["Index", "Key", "Unique", "Keeps", "When", "More"];
        text.push('\n');
        text.push_str(&table(&head, rows.collect()));
    }
    text
}

/// The typed segments of a key, in order.
fn key_table(key: &Key) -> String {
    let row = |half: &str, segment: &Segment| {
        vec![
            half.to_string(),
            escape::code(&segment.name),
            escape::code(&segment.segment_type.to_string()),
            if segment.descending { "descending" } else { "ascending" }.to_string(),
            segment.default.as_ref().map(|d| escape::code(&d.to_string())).unwrap_or_default(),
        ]
    };
    let group = key.group_segments().map(|segment| row("partition", segment));
    let rest = key.rest_segments().map(|segment| row("clustering", segment));
    table(&["Part", "Segment", "Type", "Order", "Default"], group.chain(rest).collect())
}

fn field_row(field: &Field) -> Vec<String> {
    vec![
        escape::code(&field.name),
        escape::code(&field.field_type.to_string()),
        field.default.as_ref().map(|d| escape::code(&d.to_string())).unwrap_or_default(),
    ]
}

/// What holds for every row of a collection.
fn rules(keyspace: &Keyspace, collection: &Collection) -> Vec<(&'static str, String)> {
    let yes = |holds: bool, words: &str| if holds { words.to_string() } else { String::new() };
    let holds = match &collection.content {
        Content::Fields(_) => "a record of the fields below".to_string(),
        _ => words::content(collection),
    };
    let body = match collection.body {
        Some(BodyType::Bytes) => ", and a body of bytes",
        Some(BodyType::Text) => ", and a body of text",
        None => "",
    };
    let mut rows = vec![
        ("Table", escape::code(&collection.table)),
        ("A row holds", format!("{}{body}", words::capital(&holds))),
        ("Mode", mode(keyspace, collection)),
        ("Immutable", yes(collection.immutable, "Rows are never changed")),
        ("Ends", ends(collection)),
        ("Cache", yes(collection.cache, "Rows may be lost at any time")),
        ("Tenant", owner(collection.tenant.as_ref())),
        ("Owner", owner(collection.owner.as_ref())),
        ("Time slices", bucket(collection.bucket.as_ref())),
        ("Expected", words::capital(&words::expect(collection.expect).unwrap_or_default())),
    ];
    rows.extend(history(collection));
    let file = |name: &Option<_>| name.as_ref().map(|n| escape::code(&words::file_name(n)));
    rows.push(("File", file(&collection.file).unwrap_or_default()));
    rows.push(("File of the fields", file(&collection.fields_file).unwrap_or_default()));
    rows.push(("Name before", collection.was.as_deref().map(escape::code).unwrap_or_default()));
    rows
}

fn mode(keyspace: &Keyspace, collection: &Collection) -> String {
    let mode = keyspace.mode(collection);
    let why = match mode {
        Mode::Conditional => keyspace.why_conditional(collection),
        _ => None,
    };
    let mode = words::capital(&mode.to_string());
    why.map(|why| format!("{mode}: {}", escape::cell(why))).unwrap_or(mode)
}

fn ends(collection: &Collection) -> String {
    match &collection.ttl {
        Some(Ttl::After(length)) => {
            format!("{} after each insert and put", words::milliseconds(*length))
        }
        Some(Ttl::Field(field)) => {
            format!("At the instant in {}; never where it is null", escape::code(field))
        }
        None => String::new(),
    }
}

fn owner(owner: Option<&Owner>) -> String {
    let Some(owner) = owner else { return String::new() };
    let place = if owner.is_field { "a field" } else { "a key segment" };
    format!("{}, {place}", escape::code(&owner.name))
}

fn bucket(bucket: Option<&Bucket>) -> String {
    let Some(bucket) = bucket else { return String::new() };
    format!("{} by {}", words::milliseconds(bucket.every), escape::code(&bucket.by))
}

fn history(collection: &Collection) -> Vec<(&'static str, String)> {
    let Some(history) = &collection.history else { return Vec::new() };
    let folded = "As soon as updates outweigh the snapshot";
    vec![
        ("Kept", words::capital(&words::history_keep(history.keep))),
        ("Compacted", if history.compact_when_larger { folded.to_string() } else { String::new() }),
    ]
}

fn index_row(index: &Index, separator: char) -> Vec<String> {
    let keep = index.keep.iter().map(|field| escape::code(&field.value)).collect::<Vec<_>>();
    vec![
        escape::code(&index.name.value),
        escape::code(&words::key(&index.key, separator)),
        if index.unique { "yes" } else { "no" }.to_string(),
        keep.join(", "),
        index.when.as_ref().map(|when| escape::code(&when.to_string())).unwrap_or_default(),
        index_more(index),
    ]
}

/// What else is declared of an index, one fact a line.
fn index_more(index: &Index) -> String {
    let appended = index.key.segments().filter(|segment| segment.appended);
    let appended = appended.map(|segment| escape::code(&segment.name)).collect::<Vec<_>>();
    let appended = (!appended.is_empty()).then(|| format!("appended: {}", appended.join(", ")));
    let slices = index.bucket.as_ref();
    let slices = slices.map(|slices| format!("time slices: {}", bucket(Some(slices))));
    let file = index.file.as_ref();
    let file = file.map(|name| format!("file: {}", escape::code(&words::file_name(name))));
    let was = index.was.as_deref().map(|was| format!("name before: {}", escape::code(was)));
    let expect = words::expect(index.expect).map(|expect| format!("expected: {expect}"));
    let notes = index.notes.as_deref().map(escape::cell);
    let facts = [appended, slices, expect, file, was, notes];
    facts.into_iter().flatten().collect::<Vec<_>>().join("<br>")
}
