//! Where the file of a row lies: from the values of its key to a path, and back.
//!
//! ```text
//! template   kel / {aid} / {said} . {event_type} .cesr
//! values     EAID, ESAID, icp          ──▶  kel/EAID/ESAID.icp.cesr
//! path       kel/EAID/ESAID.icp.cesr   ──▶  EAID, ESAID, icp
//! ```
//!
//! A name that is too long is cut, and a hash of the whole is put behind; what it stood for cannot
//! be read from it and is kept in `.keyway/rows`. Every other path reads as what it was made of, or
//! as nothing.

use data::schema::CollectionSchema;
use data::{Error, ErrorKind, Result, Value};
use keyspace::key::{KeyType, text};
use keyspace::layout::files::name::{Case, NAME_BYTES_KEPT, NAME_BYTES_MAX, escape, unescape};
use keyspace::model::{FilePart, Type};

/// The longest name most disks take, in bytes.
const COMPONENT_BYTES_MAX: usize = 255;
/// The longest ending that is kept when a whole name is cut.
const ENDING_BYTES_MAX: usize = 16;

/// A template of a path, with the members of its rows by their position.
#[derive(Clone, Debug)]
pub(super) struct PathTemplate {
    parts: Vec<Piece>,
}

#[derive(Clone, Debug)]
enum Piece {
    Literal(String),
    Member(Member),
}

/// Something of a row that its path names.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) place: Place,
    kind: KeyType,
    of: Type,
}

/// Where a member of a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A segment of the key.
    Segment(usize),
    /// A slot of the row.
    Slot(usize),
}

impl PathTemplate {
    /// The template of the rows of a collection.
    pub(super) fn of_rows(parts: &[FilePart], collection: &CollectionSchema) -> Result<Self> {
        PathTemplate::new(parts, |name| {
            let segment = collection.segment(name).and_then(|segment| {
                let kind = collection.key.segments.get(segment)?.kind;
                let of = collection.key.types.get(segment)?.clone();
                Some(Member { place: Place::Segment(segment), kind, of })
            });
            segment.or_else(|| {
                let slot = collection.slot(name)?;
                let of = collection.slots.get(slot)?.slot_type.required().clone();
                Some(Member { place: Place::Slot(slot), kind: KeyType::Text, of })
            })
        })
    }

    /// The template of the entries of an index.
    pub(super) fn of_entries(parts: &[FilePart], key: &data::schema::KeyShape) -> Result<Self> {
        PathTemplate::new(parts, |name| {
            let segment = key.names.iter().position(|known| known == name)?;
            let kind = key.segments.get(segment)?.kind;
            let of = key.types.get(segment)?.clone();
            Some(Member { place: Place::Segment(segment), kind, of })
        })
    }

    fn new(parts: &[FilePart], member: impl Fn(&str) -> Option<Member>) -> Result<Self> {
        let pieces = parts.iter().map(|part| match part {
            FilePart::Literal(literal) => Ok(Piece::Literal(literal.clone())),
            FilePart::Member(name) => member(name).map(Piece::Member).ok_or_else(|| {
                Error::new(ErrorKind::Internal, "a path names something its rows do not have")
                    .with("name", name)
            }),
        });
        Ok(PathTemplate { parts: pieces.collect::<Result<_>>()? })
    }

    /// Whether a path is known from the key alone.
    pub(super) fn is_of_key(&self) -> bool {
        !self
            .parts
            .iter()
            .any(|piece| matches!(piece, Piece::Member(Member { place: Place::Slot(_), .. })))
    }

    /// The path of a row.
    pub(super) fn path(&self, case: Case, segments: &[Value], slots: &[Value]) -> Result<String> {
        let mut path = String::with_capacity(64);
        for piece in &self.parts {
            match piece {
                Piece::Literal(literal) => path.push_str(literal),
                Piece::Member(member) => {
                    let value = match member.place {
                        Place::Segment(segment) => segments.get(segment),
                        Place::Slot(slot) => slots.get(slot),
                    };
                    push_value(&mut path, value.unwrap_or(&Value::Null), case)?;
                }
            }
        }
        Ok(cut_components(path))
    }

    /// What a path stands for, if a row can have it: the members it names, with their values.
    pub(super) fn parse(&self, case: Case, path: &str) -> Option<Vec<(Place, Value)>> {
        let mut found = Vec::new();
        take(&self.parts, path, case, &mut found).then_some(found)
    }
}

/// Takes the pieces of a path apart, trying every end of a member.
fn take(pieces: &[Piece], rest: &str, case: Case, found: &mut Vec<(Place, Value)>) -> bool {
    let Some((piece, later)) = pieces.split_first() else { return rest.is_empty() };
    match piece {
        Piece::Literal(literal) => match rest.strip_prefix(literal.as_str()) {
            Some(rest) => take(later, rest, case, found),
            None => false,
        },
        Piece::Member(member) => {
            let is_path = member.kind == KeyType::Path;
            let ends = rest.char_indices().map(|(end, _)| end).chain([rest.len()]);
            for end in ends {
                let Some((name, after)) = rest.split_at_checked(end) else { continue };
                if !is_path && name.contains('/') {
                    return false;
                }
                let known = found.len();
                let value = member_value(member, name, case);
                let Some(value) = value.filter(|value| agrees(found, member.place, value)) else {
                    continue;
                };
                found.push((member.place, value));
                if take(later, after, case, found) {
                    return true;
                }
                found.truncate(known);
            }
            false
        }
    }
}

/// Whether a member that a path names twice has one value.
fn agrees(found: &[(Place, Value)], place: Place, value: &Value) -> bool {
    found.iter().all(|(known, before)| *known != place || before == value)
}

/// The value of a member that has this name on disk.
fn member_value(member: &Member, name: &str, case: Case) -> Option<Value> {
    if member.kind == KeyType::Path {
        let elements: Option<Vec<String>> = match name {
            "" => Some(Vec::new()),
            name => name.split('/').map(|element| unescape(element, case)).collect(),
        };
        return elements.map(Value::Path);
    }
    let text = unescape(name, case)?;
    match member.place {
        Place::Segment(_) => text::parse_scalar(member.kind, &text).ok().map(Value::from_segment),
        Place::Slot(_) => Value::from_text(&text, &member.of).ok(),
    }
}

fn push_value(path: &mut String, value: &Value, case: Case) -> Result<()> {
    if let Value::Path(elements) = value {
        for (number, element) in elements.iter().enumerate() {
            if number > 0 {
                path.push('/');
            }
            path.push_str(&cut(escape(element, case)));
        }
        return Ok(());
    }
    let scalar = match value {
        Value::Null => None,
        other => other.as_segment(),
    };
    let text = match &scalar {
        None => String::new(),
        Some(scalar) => text::scalar_text(scalar)?.into_owned(),
    };
    path.push_str(&cut(escape(&text, case)));
    Ok(())
}

/// A name that is not too long: what is cut off is told by a hash.
fn cut(name: String) -> String {
    if name.len() <= NAME_BYTES_MAX {
        return name;
    }
    format!("{}~{}", front(&name), short_hash(&name))
}

/// A path whose names, put together of several values, are not too long either.
fn cut_components(path: String) -> String {
    if path.split('/').all(|name| name.len() <= COMPONENT_BYTES_MAX) {
        return path;
    }
    let cut = path.split('/').map(|name| {
        if name.len() <= COMPONENT_BYTES_MAX {
            return name.to_string();
        }
        let ending = name.rfind('.').and_then(|dot| name.get(dot..)).unwrap_or_default();
        let ending = if ending.len() <= ENDING_BYTES_MAX { ending } else { "" };
        format!("{}~{}{ending}", front(name), short_hash(name))
    });
    cut.collect::<Vec<_>>().join("/")
}

/// Names are ASCII, so every place in one is a place between characters.
fn front(name: &str) -> &str {
    name.get(..NAME_BYTES_KEPT).unwrap_or(name)
}

/// 128 bits of a hash in 26 characters that every disk tells apart.
fn short_hash(name: &str) -> String {
    const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let [hash @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] =
        *blake3::hash(name.as_bytes()).as_bytes();
    let mut bits = u128::from_be_bytes(hash);
    let digits = (0..26).map(|_| {
        let digit = DIGITS.get((bits & 31) as usize).copied().unwrap_or(b'a');
        bits >>= 5;
        char::from(digit)
    });
    digits.collect()
}
