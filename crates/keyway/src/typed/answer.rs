//! Answers of the run time as Rust types.

use super::value::{FromValue, Members, NotPlain, Plain, Values};
use crate::answer::{Changed, Deleted, Page, Versioned, Window};
use data::request::{Answer, Call, Cursor, Record, Runtime, Shown};
use data::store::{Version, Versions};
use data::{Error, ErrorKind, Result, Value};

/// Rows for which room is made once a page has one: most pages are then moved once or never.
const ROWS_AT_FIRST: usize = 32;
/// The same where a call says how many it wants, or where rows were waited for, next to which the
/// room costs nothing.
const ROWS_AT_FIRST_MAX: usize = 64;

/// A row of an answer as a Rust type.
pub trait Row: Sized + Send + 'static {
    /// Whether it is made of the members of a row alone.
    const IS_OF_MEMBERS: bool = false;

    /// Whether the version of a row is a part of it.
    const VERSIONS: Versions = Versions::Unwanted;

    /// The row of these members.
    fn from_members<M: Members>(
        members: &mut M,
        version: Option<Version>,
    ) -> std::result::Result<Self, M::Error> {
        let _ = version;
        members.any().map(|unmade: Unmade| match unmade {})
    }

    /// The row of a record.
    fn from_record(record: Record) -> Result<Self> {
        Self::from_members(&mut Values::of(&record)?, record.version)
    }
}

/// What members become of a type that is not made of them.
enum Unmade {}

impl FromValue for Unmade {
    fn from_value(_: Value) -> Result<Self> {
        Err(another("a row that is made of its members"))
    }
}

/// Gives the row that lies here to `take`: most are made on the way, without being moved.
#[inline(always)]
fn give<T: Row>(row: &Shown<'_>, take: &mut impl FnMut(T)) -> Result<()> {
    match Plain::short(row).map(|mut members| T::from_members(&mut members, row.version())) {
        Some(Ok(made)) => take(made),
        Some(Err(NotPlain)) => take(from_values(row)?),
        None => give_other(row, take)?,
    }
    Ok(())
}

/// The same of a row that is not short: that of a store with columns is made on the way as well.
#[inline(never)]
fn give_other<T: Row>(row: &Shown<'_>, take: &mut impl FnMut(T)) -> Result<()> {
    match Plain::in_columns(row).map(|mut members| T::from_members(&mut members, row.version())) {
        Some(Ok(made)) => take(made),
        Some(Err(NotPlain)) | None => take(from_values(row)?),
    }
    Ok(())
}

/// The row that lies here, whatever it is.
#[inline(never)]
fn from_values<T: Row>(row: &Shown<'_>) -> Result<T> {
    T::from_members(&mut Values::shown(row)?, row.version())
}

/// The record itself: its members are decoded when asked for.
impl Row for Record {
    fn from_record(record: Record) -> Result<Self> {
        Ok(record)
    }
}

/// An object, with the names people see.
impl Row for serde_json::Value {
    fn from_record(record: Record) -> Result<Self> {
        record.to_json()
    }
}

impl<T: Row> Row for Versioned<T> {
    const IS_OF_MEMBERS: bool = T::IS_OF_MEMBERS;
    const VERSIONS: Versions = Versions::Wanted;

    #[inline(always)]
    fn from_members<M: Members>(
        members: &mut M,
        version: Option<Version>,
    ) -> std::result::Result<Self, M::Error> {
        Ok(Versioned { version, row: T::from_members(members, version)? })
    }

    fn from_record(record: Record) -> Result<Self> {
        let version = record.version;
        Ok(Versioned { version, row: T::from_record(record)? })
    }
}

/// What a call is answered, as a Rust type.
pub trait FromAnswer: Sized {
    /// Whether it is made of rows that may be shown where they lie, however long that takes.
    const IS_SHOWN: bool = false;

    /// The answer as this type.
    fn from_answer(answer: Answer) -> Result<Self>;

    /// The answer of a call whose rows are shown where they lie; nothing is done if this is none.
    fn from_shown(runtime: &Runtime, call: &Call<'_>) -> Option<Result<Self>> {
        let _ = (runtime, call);
        None
    }

    /// The same of a call that has to wait.
    fn from_shown_later(
        runtime: &Runtime,
        call: &Call<'_>,
    ) -> impl Future<Output = Option<Result<Self>>> + Send {
        let _ = (runtime, call);
        async { None }
    }
}

/// Room for one more row.
#[inline]
fn push<T>(rows: &mut Vec<T>, row: T, at_first: usize) {
    if rows.is_empty() {
        rows.reserve(at_first);
    }
    rows.push(row);
}

/// How many rows a call says it wants, as far as room is made for them.
#[inline]
fn limit_of(call: &Call<'_>) -> Option<usize> {
    match call.given("limit").value() {
        Some(Value::U64(limit)) => usize::try_from(*limit).ok(),
        Some(Value::I64(limit)) => usize::try_from(*limit).ok(),
        _ => None,
    }
    .map(|limit| limit.min(ROWS_AT_FIRST_MAX))
}

/// Has a call show its rows, each of which `take` is given.
#[inline]
fn show<T: Row>(
    runtime: &Runtime,
    call: &Call<'_>,
    mut take: impl FnMut(T) + Send,
) -> Option<Result<Option<Cursor>>> {
    if !T::IS_OF_MEMBERS {
        return None;
    }
    let shown = runtime.show(call, T::VERSIONS, &mut |row| give(&row, &mut take));
    shown.map(|shown| shown.map(|(next, _)| next))
}

impl FromAnswer for Answer {
    fn from_answer(answer: Answer) -> Result<Self> {
        Ok(answer)
    }
}

impl<T: Row> FromAnswer for Option<T> {
    fn from_answer(answer: Answer) -> Result<Self> {
        match answer {
            Answer::Row(row) => row.map(T::from_record).transpose(),
            _ => Err(another("a row")),
        }
    }

    fn from_shown(runtime: &Runtime, call: &Call<'_>) -> Option<Result<Self>> {
        let mut found = None;
        let shown = show(runtime, call, |row: T| found = Some(row))?;
        Some(shown.map(|_| found))
    }
}

impl<T: Row> FromAnswer for Vec<Option<T>> {
    fn from_answer(answer: Answer) -> Result<Self> {
        match answer {
            Answer::Rows(rows) => {
                rows.into_iter().map(|row| row.map(T::from_record).transpose()).collect()
            }
            _ => Err(another("rows")),
        }
    }
}

impl<T: Row> FromAnswer for Page<T> {
    const IS_SHOWN: bool = T::IS_OF_MEMBERS;

    fn from_answer(answer: Answer) -> Result<Self> {
        match answer {
            Answer::Page { rows, next } => {
                let rows = rows.into_iter().map(T::from_record).collect::<Result<_>>()?;
                Ok(Page { rows, next })
            }
            _ => Err(another("a page")),
        }
    }

    fn from_shown(runtime: &Runtime, call: &Call<'_>) -> Option<Result<Self>> {
        let at_first = limit_of(call).unwrap_or(ROWS_AT_FIRST);
        let mut rows = Vec::new();
        let shown = show(runtime, call, |row: T| push(&mut rows, row, at_first))?;
        Some(shown.map(|next| Page { rows, next }))
    }

    async fn from_shown_later(runtime: &Runtime, call: &Call<'_>) -> Option<Result<Self>> {
        if !Self::IS_SHOWN {
            return None;
        }
        let page = || call.pattern.pattern.page.and_then(|page| usize::try_from(page).ok());
        let at_first = limit_of(call).or_else(page).unwrap_or(ROWS_AT_FIRST);
        let at_first = at_first.min(ROWS_AT_FIRST_MAX);
        let mut rows = Vec::new();
        let mut take = |row: T| push(&mut rows, row, at_first);
        let mut show = |row: Shown<'_>| give(&row, &mut take);
        let shown = runtime.show_later(call, T::VERSIONS, &mut show).await?;
        Some(shown.map(|(next, _)| Page { rows, next }))
    }
}

/// The rows of a page that has no next one.
impl<T: Row> FromAnswer for Vec<T> {
    const IS_SHOWN: bool = T::IS_OF_MEMBERS;

    fn from_answer(answer: Answer) -> Result<Self> {
        Page::from_answer(answer).map(|page| page.rows)
    }

    fn from_shown(runtime: &Runtime, call: &Call<'_>) -> Option<Result<Self>> {
        Some(Page::from_shown(runtime, call)?.map(|page| page.rows))
    }

    async fn from_shown_later(runtime: &Runtime, call: &Call<'_>) -> Option<Result<Self>> {
        Some(Page::from_shown_later(runtime, call).await?.map(|page| page.rows))
    }
}

impl<T: Row> FromAnswer for Changed<T> {
    fn from_answer(answer: Answer) -> Result<Self> {
        match answer {
            Answer::Changed(changed) => one_changed(changed),
            _ => Err(another("a changed row")),
        }
    }
}

impl<T: Row> FromAnswer for Vec<Changed<T>> {
    fn from_answer(answer: Answer) -> Result<Self> {
        match answer {
            Answer::ChangedRows(rows) => rows.into_iter().map(one_changed).collect(),
            _ => Err(another("changed rows")),
        }
    }
}

fn one_changed<T: Row>(changed: data::request::Changed) -> Result<Changed<T>> {
    // A call with the id of an earlier one is not made again, and answers what is there now.
    let gone = || Error::new(ErrorKind::NotFound, "the row was written before, and is gone since");
    let row = changed.row.ok_or_else(gone)?;
    let (version, existed) = (changed.version, changed.existed);
    Ok(Changed { row: T::from_record(row)?, version, existed })
}

impl FromAnswer for Deleted {
    fn from_answer(answer: Answer) -> Result<Self> {
        match answer {
            Answer::Changed(_) => Ok(Deleted),
            _ => Err(another("a removed row")),
        }
    }
}

impl FromAnswer for Vec<Deleted> {
    fn from_answer(answer: Answer) -> Result<Self> {
        match answer {
            Answer::ChangedRows(rows) => Ok(rows.into_iter().map(|_| Deleted).collect()),
            _ => Err(another("removed rows")),
        }
    }
}

/// The total of a counter, added to or read.
impl FromAnswer for i64 {
    fn from_answer(answer: Answer) -> Result<Self> {
        match answer {
            Answer::Total(total) => Ok(total),
            Answer::Row(None) => Ok(0),
            Answer::Row(Some(record)) => match record.get("value")? {
                Value::I64(total) => Ok(total),
                other => Err(super::unexpected("counter", &other)),
            },
            _ => Err(another("a total")),
        }
    }
}

impl FromAnswer for Window {
    fn from_answer(answer: Answer) -> Result<Self> {
        match answer {
            Answer::Window { allowed, remaining, resets_at } => {
                Ok(Window { allowed, remaining, resets_at: resets_at.into() })
            }
            _ => Err(another("a window")),
        }
    }
}

/// Several counters added to in one call.
impl FromAnswer for Vec<i64> {
    fn from_answer(answer: Answer) -> Result<Self> {
        all(answer)
    }
}

/// Several windows added to in one call.
impl FromAnswer for Vec<Window> {
    fn from_answer(answer: Answer) -> Result<Self> {
        all(answer)
    }
}

fn all<T: FromAnswer>(answer: Answer) -> Result<Vec<T>> {
    match answer {
        Answer::Results(results) => results.into_iter().map(T::from_answer).collect(),
        // No counter at all.
        Answer::ChangedRows(rows) if rows.is_empty() => Ok(Vec::new()),
        _ => Err(another("totals")),
    }
}

/// What the steps of an `atomic` are answered, in order.
#[derive(Debug)]
pub struct Results(std::vec::IntoIter<Answer>);

impl Results {
    /// The results of an answer.
    pub fn of(answer: Answer) -> Result<Self> {
        match answer {
            Answer::Results(results) => Ok(Results(results.into_iter())),
            _ => Err(another("results of steps")),
        }
    }

    /// What the next step is answered.
    pub fn take<T: FromAnswer>(&mut self) -> Result<T> {
        T::from_answer(self.next()?)
    }

    /// What the next step is answered; nothing where the whole was done before, and what the step
    /// did then is not known any more.
    pub fn take_known<T: FromAnswer>(&mut self) -> Result<Option<T>> {
        match self.next()? {
            Answer::Row(None) => Ok(None),
            Answer::Changed(changed) if changed.existed && changed.row.is_none() => Ok(None),
            known => T::from_answer(known).map(Some),
        }
    }

    fn next(&mut self) -> Result<Answer> {
        self.0.next().ok_or_else(|| another("one more result"))
    }
}

/// The run time answers what the verb says; anything else is a mistake of ours.
#[cold]
fn another(expected: &'static str) -> Error {
    Error::new(ErrorKind::Internal, "a call was answered with something else")
        .with("expected", expected)
}
