//! KW121: a file's name tells its rows apart, and does not change under them. KW122: and can be
//! taken apart in one way only.

use super::Facts;
use crate::diagnostic::{Diagnostic, codes, listed};
use crate::layout::files::name::{Case, escape};
use crate::model::{Collection, FileName, FilePart, StoreKind, Type};

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
                let before = problems.len();
                unknown_members(name, &known, problems);
                if problems.len() == before {
                    let mut segments = index.key.segments();
                    let of = |member: &str| {
                        segments.find(|s| s.name == member).map(|s| s.segment_type.clone())
                    };
                    check_apart(name, of, problems);
                }
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

/// The length of a piece as it is written.
fn length(part: &FilePart) -> usize {
    match part {
        FilePart::Literal(text) => text.len(),
        FilePart::Member(member) => member.len() + "{}".len(),
    }
}

fn unknown_members(name: &FileName, known: &[&str], problems: &mut Vec<Diagnostic>) {
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
    check_apart(name, |member| member_type(collection, member), problems);
}

fn member_type(collection: &Collection, member: &str) -> Option<Type> {
    let segment = collection.key.segments().find(|segment| segment.name == member);
    let segment = segment.map(|segment| segment.segment_type.clone());
    segment.or_else(|| collection.field(member).map(|field| field.field_type.clone()))
}

/// Reports two values of a name that can run together: what is behind the one could as well be the
/// beginning of the other. Values are told apart from the left and from the right, as far as that
/// goes; one that is left over is what remains.
fn check_apart(
    name: &FileName,
    mut type_of: impl FnMut(&str) -> Option<Type>,
    problems: &mut Vec<Diagnostic>,
) {
    let parts = &name.parts;
    let kinds: Vec<Option<Type>> = parts
        .iter()
        .map(|part| match part {
            FilePart::Literal(_) => None,
            FilePart::Member(member) => Some(type_of(member).unwrap_or(Type::Text)),
        })
        .collect();
    let literal = |place: Option<usize>| match place.and_then(|place| parts.get(place)) {
        Some(FilePart::Literal(text)) => Some(text.as_str()),
        _ => None,
    };
    let ends_before = |place: usize, of: &Type| match literal(place.checked_add(1)) {
        Some(text) => !text.chars().next().is_some_and(|next| may_hold(of, next)),
        None => place + 1 == parts.len(),
    };
    let begins_after = |place: usize, of: &Type| match literal(place.checked_sub(1)) {
        Some(text) => !text.chars().next_back().is_some_and(|last| may_hold(of, last)),
        None => place == 0,
    };
    let mut left = (0..parts.len()).collect::<std::collections::VecDeque<usize>>();
    let kind = |place: &usize| kinds.get(*place).and_then(Option::as_ref);
    while left
        .front()
        .is_some_and(|place| kind(place).is_none_or(|of| is_fixed(of) || ends_before(*place, of)))
    {
        left.pop_front();
    }
    while left
        .back()
        .is_some_and(|place| kind(place).is_none_or(|of| is_fixed(of) || begins_after(*place, of)))
    {
        left.pop_back();
    }
    let mut members = left.iter().filter_map(|place| match parts.get(*place) {
        Some(FilePart::Member(member)) => Some((*place, member)),
        _ => None,
    });
    // A value that stands there twice is one value.
    if let Some((first, one)) = members.next()
        && let Some((second, other)) = members.find(|(_, other)| *other != one)
    {
        problems.push(run_together(name, (first, one), (second, other)));
    }
}

fn run_together(
    name: &FileName,
    (first, one): (usize, &String),
    (second, other): (usize, &String),
) -> Diagnostic {
    let upto = |place: usize| name.parts.iter().take(place).map(length).sum::<usize>();
    let span = name.span.part(upto(name.parts.len()), upto(first), upto(second + 1));
    let between: String = (name.parts.iter().take(second).skip(first + 1))
        .map(|part| match part {
            FilePart::Literal(text) => text.clone(),
            FilePart::Member(member) => format!("{{{member}}}"),
        })
        .collect();
    let shared = format!("`x{between}y`, `z` and `x`, `y{between}z` would be one file");
    Diagnostic::new(
        &codes::SHARED_FILE_NAME,
        span,
        format!("`{one}` and `{other}` can run together in a file's name"),
    )
    .on(&[StoreKind::Files], format!("{shared}, and the second row is refused"))
    .fix(format!("put a directory between them: `{{{one}}}/{{{other}}}`"))
    .fix(match between.is_empty() {
        true => "or put something there that neither can hold",
        false => "or let one of them be an id, a number, or a word of an enum",
    })
}

/// Whether the name of a value of this type can hold a character that a literal can.
fn may_hold(of: &Type, character: char) -> bool {
    match of {
        Type::Optional(inner) => may_hold(inner, character),
        Type::Bool => character.is_ascii_lowercase(),
        Type::U64 => character.is_ascii_digit(),
        Type::I64 | Type::Date => character.is_ascii_digit() || character == '-',
        Type::Enum(words) => words.iter().any(|word| {
            let cases = [Case::Kept, Case::Folded];
            cases.iter().any(|case| escape(word, *case).contains(character))
        }),
        Type::Ulid => character.is_ascii_alphanumeric(),
        Type::F64 | Type::Timestamp | Type::Uuid | Type::TimeUuid => {
            !matches!(character, '/' | '_')
        }
        Type::Path => true,
        Type::Text | Type::Bytes | Type::Json | Type::List(_) | Type::Duration => character != '/',
    }
}

/// Whether the names of all values of this type have as many characters.
fn is_fixed(of: &Type) -> bool {
    matches!(of, Type::Uuid | Type::TimeUuid | Type::Ulid)
}
