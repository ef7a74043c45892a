//! Reads: rows by key, pages of groups, rows around a point.
//!
//! ```text
//! get    key ─▶ row, or claim ─▶ row                 range.rs   what a list may read
//! list   range ─▶ walk ─▶ entries ─▶ rows ─▶ page    walk.rs    rows in order, within bounds
//! near   circle ─▶ cells ─▶ entries ─▶ rows ─▶ sort  rows.rs    entries to records
//!                                                    still.rs   whether an entry is still true
//!                                                    through.rs entries and rows read together
//!                                                    circle.rs  what lies around a point
//!                                                    nearest.rs the nearest, and no more kept
//!                                                    slices.rs  which time slices there are
//! ```
//!
//! A read never answers what has ended, what is another's, or what an entry says of a row that has
//! moved on. It changes nothing.

mod circle;
mod get;
mod list;
mod near;
mod nearest;
mod range;
mod rows;
mod slices;
mod still;
mod through;
mod walk;

pub(super) use super::cursor::Mark;
pub(super) use range::{Reach, intersection, model_key, within};
pub(super) use rows::RowMembers;
pub(super) use walk::{Budget, Next, Walk};

use super::{Answer, Call, Cursor, Runtime, Showing};
use crate::error::Result;
use crate::session::Session;
use crate::store::AtOnce;
use keyspace::model::Verb;

/// One row, or many, by whole keys.
pub async fn get(_runtime: &Runtime, session: &mut Session<'_>, call: &Call<'_>) -> Result<Answer> {
    get::get(session, call).await
}

/// One row by its own key, from a store that answers without waiting.
pub fn get_at_once(
    session: &mut Session<'_>,
    store: &dyn AtOnce,
    call: &Call<'_>,
) -> Result<Answer> {
    get::get_at_once(session, store, call)
}

/// The rows of a get or a list, from a store that answers without waiting, shown as they are; and
/// where the next page begins.
pub fn show(
    runtime: &Runtime,
    session: &mut Session<'_>,
    store: &dyn AtOnce,
    call: &Call<'_>,
    mut showing: Showing<'_>,
) -> Result<Option<Cursor>> {
    match call.pattern.pattern.verb {
        Verb::List => list::show(runtime, session, store, call, &mut showing),
        _ => get::show(session, store, call, &mut showing).map(|()| None),
    }
}

/// The rows of a list, from any store, shown as they are; and where the next page begins. Nothing
/// if they cannot be, and then nothing was done.
pub async fn show_later(
    runtime: &Runtime,
    session: &mut Session<'_>,
    call: &Call<'_>,
    showing: &mut Showing<'_>,
) -> Result<Option<Option<Cursor>>> {
    list::show_later(runtime, session, call, showing).await
}

/// A page of a group.
pub async fn list(runtime: &Runtime, session: &mut Session<'_>, call: &Call<'_>) -> Result<Answer> {
    list::list(runtime, session, call).await
}

/// Rows around a point.
pub async fn near(
    _runtime: &Runtime,
    session: &mut Session<'_>,
    call: &Call<'_>,
) -> Result<Answer> {
    near::near(session, call).await
}
