//! Prints a tree of files: every kind of path with an example and what is in it.

use super::super::example;
use super::super::sheet::Sheet;
use super::super::uses;
use super::name::{Case, NAME_BYTES_KEPT, NAME_BYTES_MAX, escape};
use super::{Holds, OWN_DIRECTORY, TreeFile, files};
use crate::key::Value;
use crate::model::{BodyType, Collection, FilePart, Keyspace, Part, StoreKind};

/// The layout of a keyspace as a tree of files, as text.
pub fn print(keyspace: &Keyspace) -> String {
    let mut sheet = Sheet::new(keyspace, StoreKind::Files);
    sheet.gap();
    legend(&mut sheet);
    let all = files(keyspace);
    for collection in &keyspace.collections {
        sheet.collection(keyspace, collection);
        for file in all.iter().filter(|file| file.serves.collection == collection.name.value) {
            print_file(&mut sheet, keyspace, collection, file);
        }
        for index in collection.indexes.iter().filter(|index| !super::is_on_disk(index)) {
            let unique = if index.unique { ", unique" } else { "" };
            let template = index.key.template(keyspace.separator);
            sheet.line(1, &format!("in memory  {template}"));
            let name = &index.name.value;
            sheet.line(2, &format!("index {name}{unique}: rebuilt when the tree is opened"));
            sheet.patterns(keyspace, &super::Serves::new(collection, Some(index)));
        }
    }
    own(&mut sheet);
    sheet.finish()
}

fn legend(sheet: &mut Sheet) {
    for line in [
        "Names keep A-Z a-z 0-9 _ - and inner dots; other bytes are %xx, and an empty name is %.",
        "Also escaped: a dot at either end, the dot of a final .json or .value, and the first",
        "letter of device names (con, nul, com1 …). Where a disk takes A for a, A is written ^a.",
    ] {
        sheet.line(0, line);
    }
    sheet.line(
        0,
        &format!(
            "Names over {NAME_BYTES_MAX} bytes are cut to {NAME_BYTES_KEPT}, then ~ and a hash; \
             the whole key is kept in {OWN_DIRECTORY}."
        ),
    );
}

fn print_file(sheet: &mut Sheet, keyspace: &Keyspace, collection: &Collection, file: &TreeFile) {
    sheet.line(1, &template(&file.path));
    let about = match &file.holds {
        Holds::Record => "a record, JSON".to_string(),
        Holds::Fields => "its fields, JSON".to_string(),
        Holds::Body(BodyType::Bytes) => "the body, byte for byte".to_string(),
        Holds::Body(BodyType::Text) => "the body, the bare text".to_string(),
        Holds::Json => "a JSON value".to_string(),
        Holds::Text => "the bare text".to_string(),
        Holds::Bytes => "the bytes".to_string(),
        Holds::Count => "a count, decimal digits".to_string(),
        Holds::Nothing => "empty: the key is all there is".to_string(),
        Holds::Entries(line) => {
            let name = file.serves.name();
            format!("index {name}, one entry a line: {}", line_template(keyspace, line))
        }
    };
    sheet.line(2, &about);
    let path = example_path(keyspace, collection, file);
    match content_example(keyspace, collection, &file.holds) {
        Some(content) => sheet.line(2, &format!("> {path}  holds  {content}")),
        None => sheet.line(2, &format!("> {path}")),
    }
    if file.holds != Holds::Fields {
        sheet.patterns(keyspace, &file.serves);
    }
}

fn template(path: &[FilePart]) -> String {
    path.iter().fold(String::new(), |text, part| match part {
        FilePart::Literal(literal) => text + literal,
        FilePart::Member(name) => format!("{text}{{{name}}}"),
    })
}

fn line_template(keyspace: &Keyspace, line: &[Part]) -> String {
    let parts = line.iter().map(|part| match part {
        Part::Literal(literal) => literal.clone(),
        Part::Segment(segment) => format!("{{{}}}", segment.name),
    });
    parts.collect::<Vec<_>>().join(&keyspace.separator.to_string())
}

/// The path of the example row.
fn example_path(keyspace: &Keyspace, collection: &Collection, file: &TreeFile) -> String {
    let key = uses::key(keyspace, &file.serves);
    file.path.iter().fold(String::new(), |text, part| match part {
        FilePart::Literal(literal) => text + literal,
        FilePart::Member(name) => {
            let segment = key.and_then(|key| key.segment(name));
            let value = match (segment, collection.member_type(name)) {
                (Some(segment), _) => example::segment(keyspace, segment),
                (None, Some(found)) => example::value(keyspace, name, found),
                (None, None) => Value::text(""),
            };
            match value {
                Value::Path(elements) => {
                    let names = elements.iter().map(|element| escape(element, Case::Kept));
                    text + &names.collect::<Vec<_>>().join("/")
                }
                other => text + &escape(&example::scalar(&other), Case::Kept),
            }
        }
    })
}

fn content_example(keyspace: &Keyspace, collection: &Collection, holds: &Holds) -> Option<String> {
    match holds {
        Holds::Record | Holds::Fields => {
            let fields = collection.fields().iter().map(|field| {
                let value = example::json(keyspace, field);
                format!("\"{}\": {value}", keyspace.shown(&field.name))
            });
            Some(format!("{{ {} }}", fields.collect::<Vec<_>>().join(", ")))
        }
        Holds::Entries(line) => Some(example::key_text(keyspace, line)),
        Holds::Count => Some("7".to_string()),
        Holds::Text => Some(example::text(keyspace, "value")),
        Holds::Body(BodyType::Text) => Some(example::text(keyspace, "body")),
        Holds::Json => Some("{\"any\": \"thing\"}".to_string()),
        _ => None,
    }
}

fn own(sheet: &mut Sheet) {
    sheet.gap();
    sheet.line(0, "for the whole tree (helpers)");
    for (path, about) in [
        ("format", "the keyspace, the format, and whether the disk takes A for a"),
        ("lock", "held by the one process that has the tree open"),
        ("journal-000017", "batches that are committed and may not be in the files yet"),
        ("new-17", "a file on its way to its place; there while it is written"),
        ("rows", "versions, expiries, whole keys of cut names, and hashes of what was written"),
        ("quarantine/", "files set aside because they could not be read"),
        ("cursor.key", "what cursors are sealed with"),
    ] {
        sheet.line(1, &format!("{OWN_DIRECTORY}/{path:<16} {about}"));
    }
}
