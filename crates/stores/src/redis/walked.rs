//! What walks look through: the names of a space, what has its rows, and their keys.
//!
//! ```text
//! SCAN ─▶ names ─▶ a row's own ─▶ key           containers ─▶ members ─▶ keys
//! ```
//!
//! Nothing is remembered here of where a walk is.

use super::commit::question;
use super::connection::Connection;
use super::error::unexpected;
use super::layout::{Layout, Place, What};
use super::member::ListKind;
use super::name::Template;
use data::store::Key;
use data::{Error, ErrorKind, Result};
use keyspace::key::{Value, encode};
use redis::{Cmd, Value as Answer};

/// Keys that one step of a walk looks at.
pub(super) const KEYS_AT_ONCE: usize = 1_000;

/// The cursor with which a database is begun to be read.
pub(super) const BEGINNING: &[u8] = b"0";

/// How often slots may be moved, or servers started again, during a walk.
pub(super) const MOVES_MAX: usize = 16;

/// One step through the database of a server, past so many keys or a few more: where to go on, and
/// the names that were met, of one type or of all.
pub(super) async fn scan_names(
    server: &Connection,
    (cursor, keys): (&[u8], usize),
    glob: &[u8],
    of: Option<&str>,
) -> Result<(Option<Vec<u8>>, Vec<Vec<u8>>)> {
    let mut command = Cmd::new();
    command.arg("SCAN").arg(cursor).arg("MATCH").arg(glob);
    command.arg("COUNT").arg(keys);
    if let Some(of) = of {
        command.arg("TYPE").arg(of);
    }
    let Answer::Array(parts) = question(server, &command).await? else { return Err(unexpected()) };
    let mut parts = parts.into_iter();
    let (Some(Answer::BulkString(next)), Some(Answer::Array(names))) = (parts.next(), parts.next())
    else {
        return Err(unexpected());
    };
    let name = |name| match name {
        Answer::BulkString(name) => Ok(name),
        _ => Err(unexpected()),
    };
    let names = names.into_iter().map(name).collect::<Result<Vec<_>>>()?;
    Ok(((next != BEGINNING).then_some(next), names))
}

/// What is walked over.
pub(super) struct Walked<'p> {
    /// The names.
    pub(super) template: &'p Template,
    /// What has the rows in it, where a name is not a row's own.
    pub(super) container: Option<ListKind>,
}

/// The names that are walked over for the rows of a place.
pub(super) fn walked(place: &Place) -> Result<Walked<'_>> {
    match (&place.what, &place.list) {
        (What::Member | What::Entry(_), Some(list)) => {
            Ok(Walked { template: &list.template, container: Some(list.kind) })
        }
        (What::Member | What::Entry(_), None) => Err(unexpected()),
        (What::Counters, _) => Ok(Walked { template: &place.own, container: Some(ListKind::Hash) }),
        _ => Ok(Walked { template: &place.own, container: None }),
    }
}

/// The same, through an order that is beside counters: it can be read on behind a member.
pub(super) fn walked_on(place: &Place) -> Result<Walked<'_>> {
    match (&place.what, &place.list) {
        (What::Counters, Some(list)) => {
            Ok(Walked { template: &list.template, container: Some(list.kind) })
        }
        _ => walked(place),
    }
}

/// The command that answers all of a container that is read whole.
pub(super) fn all_of(container: ListKind) -> &'static str {
    if container == ListKind::Hash { "HKEYS" } else { "SMEMBERS" }
}

/// Whether nodes have other slots than they had, or will have.
pub(super) fn is_moving(slots: &str, known: &[u8]) -> bool {
    slots.as_bytes() != known || slots.contains('[')
}

pub(super) fn moved_often() -> Error {
    let message = "slots of the cluster are moved, or its servers started, again and again: walk \
                   it later";
    Error::new(ErrorKind::Busy, message)
}

/// The key of the row whose own name this is; nothing if it is none of the template.
pub(super) fn key_of_name(
    (layout, place): (&Layout, &Place),
    template: &Template,
    name: &[u8],
) -> Result<Option<Key>> {
    let Some(taken) = template.take(&layout.naming, name) else { return Ok(None) };
    let key = encode(place.shape.space, &place.shape.segments, &taken.values)?;
    Ok(Some(Key::from(key)))
}

/// The front of the keys of a group.
pub(super) fn front(place: &Place, values: &[Value<'_>]) -> Result<Vec<u8>> {
    let group = place.shape.group;
    let segments = place.shape.segments.get(..group).unwrap_or_default();
    let values = values.get(..group).unwrap_or_default();
    Ok(encode(place.shape.space, segments, values)?)
}

/// The key of a row by its member of such a container.
pub(super) fn member_key(
    (layout, place): (&Layout, &Place),
    container: ListKind,
    front: &[u8],
    member: &[u8],
) -> Result<Key> {
    let separator = layout.naming.separator();
    let key = match (container, &place.list) {
        (ListKind::Hash, _) => {
            let kinds: Vec<_> = place.rest().iter().map(|segment| segment.kind).collect();
            let text = std::str::from_utf8(member).map_err(|_| unexpected())?;
            let values = super::name::split(separator, &kinds, text, true)?;
            let rest = encode(0, place.rest(), &values)?;
            [front, rest.get(2..).unwrap_or_default()].concat()
        }
        (_, Some(list)) => list.key(separator, (front, place.rest()), member)?,
        (_, None) => return Err(unexpected()),
    };
    Ok(Key::from(key))
}
