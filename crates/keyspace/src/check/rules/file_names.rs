//! KW121: a file's name tells its rows apart, and does not change under them.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes, listed};
use crate::model::{Collection, FileName, FilePart, StoreKind};

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    for collection in &facts.keyspace.collections {
        let names = [(&collection.file, true), (&collection.fields_file, false)];
        for (name, whole) in names {
            if let Some(name) = name {
                check_name(collection, name, whole, problems);
            }
        }
        for index in &collection.indexes {
            if let Some(name) = &index.file {
                let known: Vec<&str> = index.key.segments().map(|s| s.name.as_str()).collect();
                unknown_members(name, &known, problems);
            }
        }
        if let Some(name) = collection.fields_file.as_ref().filter(|_| collection.body.is_none()) {
            problems.push(
                Diagnostic::new(
                    &codes::DOES_NOT_GO_WITH,
                    name.span,
                    "`fields_file` stands beside a `body`, and there is none",
                )
                .fix("leave it out: the record is the file")
                .fix("or declare `body = \"bytes\"`"),
            );
        }
    }
}

fn members(name: &FileName) -> impl Iterator<Item = &str> {
    name.parts.iter().filter_map(|part| match part {
        FilePart::Member(member) => Some(member.as_str()),
        FilePart::Literal(_) => None,
    })
}

fn unknown_members(name: &FileName, known: &[&str], problems: &mut Vec<Diagnostic>) {
    let length = |part: &FilePart| match part {
        FilePart::Literal(text) => text.len(),
        FilePart::Member(member) => member.len() + "{}".len(),
    };
    let total = name.parts.iter().map(length).sum();
    let mut end = 0;
    for part in &name.parts {
        let start = end;
        end += length(part);
        let FilePart::Member(member) = part else { continue };
        if known.contains(&member.as_str()) {
            continue;
        }
        let message = format!("`{member}` is no segment or field of these rows");
        problems.push(
            Diagnostic::new(&codes::BAD_FILE_NAME, name.span.part(total, start, end), message)
                .fix(format!("use one of {}", listed(known.iter().copied()))),
        );
    }
}

fn check_name(
    collection: &Collection,
    name: &FileName,
    whole: bool,
    problems: &mut Vec<Diagnostic>,
) {
    let before = problems.len();
    unknown_members(name, &collection.member_names(), problems);
    if problems.len() > before {
        return;
    }
    let used: Vec<&str> = members(name).collect();
    let mut needed: Vec<&str> = collection.key.rest_segments().map(|s| s.name.as_str()).collect();
    if needed.is_empty() {
        needed.extend(collection.key.group_segments().last().map(|s| s.name.as_str()));
    }
    let missing: Vec<&str> = needed.into_iter().filter(|name| !used.contains(name)).collect();
    if !missing.is_empty() {
        let list = listed(missing.iter().copied());
        let message = format!("the name does not hold {list}, which tells rows apart");
        problems.push(
            Diagnostic::new(&codes::BAD_FILE_NAME, name.span, message)
                .on(&[StoreKind::Files], "one row's file would overwrite another's")
                .fix(format!("put {{{}}} into the name", missing.join("}, {"))),
        );
    }
    let moving = used.iter().find(|name| collection.field(name).is_some() && !collection.immutable);
    if let Some(field) = moving.filter(|_| whole) {
        let message = format!("`{field}` can change, and the file's name with it");
        problems.push(
            Diagnostic::new(&codes::BAD_FILE_NAME, name.span, message)
                .on(&[StoreKind::Files], "an update would have to move the file")
                .fix("use key segments, or make the rows `immutable = true`"),
        );
    }
}
