//! A page of a group, in the order of its key, and where the next one begins.
//!
//! ```text
//! walk ─▶ as many live rows as the page lacks ─▶ find records ─┬─ page full, or no more ─▶ answer
//!  ▲                                                           │
//!  └──────────────── some fell out, and reads are left ────────┘
//! ```
//!
//! What one call reads is limited, so a page may be short while there is more. Only `next` says
//! whether the end was reached.

use super::range::{Reach, intersection};
use super::rows::Finder;
use super::through::{self, Question};
use super::walk::{Budget, Next, Walk};
use crate::clock::Milliseconds;
use crate::error::{Error, ErrorKind, Result};
use crate::request::cursor::{self, Mark};
use crate::request::inputs::{CallInputs, Inputs};
use crate::request::next::{Cursor, Unsealed};
use crate::request::prepare::Prepared;
use crate::request::{Answer, Call, Record, Runtime, Showing};
use crate::session::Session;
use crate::store::{AtOnce, End, Key, Keyed, Scan, limits};
use crate::value::Value;
use keyspace::model::Type;

/// What a call asks for.
struct Asked<'a> {
    inputs: CallInputs<'a>,
    limit: usize,
    reverse: bool,
    /// What its cursors are bound to.
    bound: Vec<u8>,
    mark: Option<Mark>,
    reach: Reach,
}

impl<'a> Asked<'a> {
    fn of(runtime: &Runtime, now: Milliseconds, call: &'a Call<'_>) -> Result<Self> {
        let prepared = call.pattern;
        let inputs = CallInputs::new(call, now);
        let limit = usize::try_from(limit_of(prepared, &inputs)?).unwrap_or(usize::MAX);
        let reverse = inputs.argument("reverse", Some(&Type::Bool))? == Some(Value::Bool(true));
        let bound = cursor::bound(call, reverse);
        let mark = match inputs.argument("cursor", Some(&Type::Text))? {
            Some(Value::Text(text)) => Some(runtime.options().cursor_key.open(&bound, &text, now)?),
            _ => None,
        };
        let reach = Reach::of(prepared, &inputs)?;
        Ok(Asked { inputs, limit, reverse, bound, mark, reach })
    }

    /// What is asked of an index.
    fn question(&self, prepared: &Prepared) -> Question<'_> {
        Question {
            reach: &self.reach,
            reverse: self.reverse,
            mark: self.mark.as_ref(),
            limit: self.limit,
            budget: Budget { scans: prepared.page_reads.refills, rows: prepared.page_reads.rows },
        }
    }

    /// Where the next page begins, if there is one.
    fn next(self, runtime: &Runtime, now: Milliseconds, mark: Option<Mark>) -> Option<Cursor> {
        let options = runtime.options();
        mark.map(|mark| {
            Cursor::new(Unsealed {
                key: options.cursor_key.clone(),
                random: options.random.clone(),
                bound: self.bound,
                mark,
                now,
            })
        })
    }
}

/// A page of a group.
pub(super) async fn list(
    runtime: &Runtime,
    session: &mut Session<'_>,
    call: &Call<'_>,
) -> Result<Answer> {
    let prepared = call.pattern;
    let mut asked = Asked::of(runtime, session.now, call)?;
    let finder = Finder::new(prepared, &asked.inputs)?;
    let mut rows = Vec::new();
    let page = {
        let mut take = |row: Keyed| {
            let record = finder.of_row(row)?;
            let is_taken = record.is_some();
            rows.extend(record);
            Ok(is_taken)
        };
        through::page(session, prepared, asked.question(prepared), &mut take).await?
    };
    let mark = match page {
        Some(mark) => mark,
        None => {
            let (shape, budget) = (prepared.key()?, budget_of(prepared)?);
            let start = (asked.reverse, asked.mark.take());
            let walk = Walk::new(shape, &asked.reach, start, budget)?;
            let mut pager = Pager { walk, finder, limit: asked.limit as u64, rows };
            let at_end = pager.fill(session, prepared.page_reads.refills).await?;
            rows = pager.rows;
            let mark = pager.walk.mark().filter(|_| !at_end).cloned();
            if mark.is_none() && !at_end {
                return Err(unmarked());
            }
            mark
        }
    };
    Ok(Answer::Page { rows, next: asked.next(runtime, session.now, mark) })
}

/// The same page from a store that answers without waiting, its rows shown one after the other: of
/// a pattern that answers them as they are, none falls out.
pub(super) fn show(
    runtime: &Runtime,
    session: &mut Session<'_>,
    store: &dyn AtOnce,
    call: &Call<'_>,
    showing: &mut Showing<'_>,
) -> Result<Option<Cursor>> {
    let (prepared, now) = (call.pattern, session.now);
    let asked = Asked::of(runtime, now, call)?;
    if let Some(index) = prepared.index() {
        let (of, question) = ((prepared, &**index), asked.question(prepared));
        let mark = through::show(session, store, of, question, showing)?;
        return Ok(asked.next(runtime, now, mark));
    }
    let range = match &asked.mark {
        Some(Mark::Key(last)) => {
            intersection(&asked.reach.range, &asked.reach.range.after(last, asked.reverse))
        }
        _ => asked.reach.range.clone(),
    };
    let scan = Scan { range, reverse: asked.reverse, rows: asked.limit.saturating_add(1) };
    let (mut shown, mut last, mut is_more) = (0, Vec::new(), false);
    session.usage.round_trips += u64::from(!scan.range.is_empty());
    let end = session.each(store, &scan, showing.versions, &mut |row| {
        is_more = shown == asked.limit;
        if !is_more {
            shown += 1;
            showing.show(row)?;
            last.clear();
            last.extend_from_slice(row.key);
        }
        Ok(!is_more)
    })?;
    let goes_on = shown > 0 && (is_more || end == End::Bytes);
    Ok(asked.next(runtime, now, goes_on.then(|| Mark::Key(Key::from(last)))))
}

/// The same page from any store; nothing if its rows cannot be shown, and then nothing was done.
pub(super) async fn show_later(
    runtime: &Runtime,
    session: &mut Session<'_>,
    call: &Call<'_>,
    showing: &mut Showing<'_>,
) -> Result<Option<Option<Cursor>>> {
    let (prepared, now) = (call.pattern, session.now);
    let mut asked = Asked::of(runtime, now, call)?;
    if let Some(index) = prepared.index() {
        let (of, question) = ((prepared, &**index), asked.question(prepared));
        let page = through::show_later(session, of, question, showing).await?;
        return Ok(page.map(|mark| asked.next(runtime, now, mark)));
    }
    let start = (asked.reverse, asked.mark.take());
    let budget = budget_of(prepared)?;
    let mut walk = Walk::new(prepared.key()?, &asked.reach, start, budget)?;
    let at_end = walk.show(session, asked.limit, showing).await?;
    let mark = walk.mark().filter(|_| !at_end).cloned();
    if mark.is_none() && !at_end {
        return Err(unmarked());
    }
    Ok(Some(asked.next(runtime, now, mark)))
}

#[cold]
fn unmarked() -> Error {
    Error::new(ErrorKind::Internal, "a page has neither an end nor a mark")
}

/// What may be read for a page.
fn budget_of(prepared: &Prepared) -> Result<Budget> {
    let mut budget = Budget { scans: prepared.page_reads.refills, rows: prepared.page_reads.rows };
    if prepared.key()?.slices.is_some() {
        budget.scans += limits::PAGE_SLICES_MAX - 1;
    }
    Ok(budget)
}

/// Rows that a call asks for.
pub(super) fn limit_of(prepared: &Prepared, inputs: &dyn Inputs) -> Result<u64> {
    let page = prepared.pattern.page.unwrap_or(limits::PAGE_ROWS_MAX);
    let given = match inputs.argument("limit", Some(&Type::U64))? {
        None | Some(Value::Null) => return Ok(page),
        Some(Value::U64(limit)) => Some(limit),
        Some(Value::I64(limit)) => u64::try_from(limit).ok(),
        Some(_) => None,
    };
    given.filter(|limit| (1..=page).contains(limit)).ok_or_else(|| {
        Error::new(ErrorKind::Argument, "a limit is a number of rows, from 1 to the page")
            .with("argument", "limit")
            .with("page", page)
    })
}

struct Pager<'a> {
    walk: Walk<'a>,
    finder: Finder<'a>,
    limit: u64,
    rows: Vec<Record>,
}

impl Pager<'_> {
    /// Fills the page, and says whether the end was reached.
    async fn fill(&mut self, session: &mut Session<'_>, refills: u64) -> Result<bool> {
        for round in 0..refills {
            let (found, next) = self.candidates(session, round > 0).await?;
            let records = self.finder.records(session, found).await?;
            match self.rows.is_empty() {
                // Without moving a row.
                true => self.rows = records,
                false => self.rows.extend(records),
            }
            match next {
                Next::End => return Ok(true),
                Next::Enough => return Ok(false),
                Next::Row(row) => self.walk.put_back(row),
            }
            if self.lacks() == 0 {
                return Ok(false);
            }
        }
        Ok(false)
    }

    fn lacks(&self) -> u64 {
        self.limit.saturating_sub(self.rows.len() as u64)
    }

    /// As many live rows as the page lacks, and what comes after them.
    async fn candidates(
        &mut self,
        session: &mut Session<'_>,
        again: bool,
    ) -> Result<(Vec<Keyed>, Next)> {
        let lacks = self.lacks();
        // One more than is lacking says whether there is more; where many fall out, a page of them
        // is read at a time.
        let limit = self.limit;
        let rows = |open: u64| if again { limit } else { open }.saturating_add(1);
        let mut found = self.walk.next_stretch(session, (lacks, rows(lacks))).await?;
        loop {
            let open = lacks.saturating_sub(found.len() as u64);
            match self.walk.next(session, rows(open)).await? {
                Next::Row(row) if open > 0 => {
                    self.walk.pass(&row);
                    found.push(row);
                }
                next => return Ok((found, next)),
            }
        }
    }
}
