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

use super::range::Reach;
use super::rows::Finder;
use super::through::{self, Question};
use super::walk::{Budget, Next, Walk};
use crate::error::{Error, ErrorKind, Result};
use crate::request::cursor;
use crate::request::inputs::{CallInputs, Inputs};
use crate::request::next::{Cursor, Unsealed};
use crate::request::prepare::Prepared;
use crate::request::{Answer, Call, Record, Runtime};
use crate::session::Session;
use crate::store::{Keyed, limits};
use crate::value::Value;
use keyspace::model::Type;

/// A page of a group.
pub(super) async fn list(
    runtime: &Runtime,
    session: &mut Session<'_>,
    call: &Call<'_>,
) -> Result<Answer> {
    let prepared = call.pattern;
    let inputs = CallInputs::new(call, session.now);
    let limit = usize::try_from(limit_of(prepared, &inputs)?).unwrap_or(usize::MAX);
    let reverse = inputs.argument("reverse", Some(&Type::Bool))? == Some(Value::Bool(true));
    let shape = prepared.key()?;
    let bound = cursor::bound(call, reverse);
    let options = runtime.options();
    let mark = match inputs.argument("cursor", Some(&Type::Text))? {
        Some(Value::Text(text)) => Some(options.cursor_key.open(&bound, &text, session.now)?),
        _ => None,
    };
    let reach = Reach::of(prepared, &inputs)?;
    let finder = Finder::new(prepared, &inputs)?;
    let mut budget = Budget { scans: prepared.page_reads.refills, rows: prepared.page_reads.rows };
    if shape.slices.is_some() {
        budget.scans += limits::PAGE_SLICES_MAX - 1;
    }
    let question = Question { reach: &reach, reverse, mark: mark.as_ref(), limit, budget };
    let (rows, mark) = match through::page(session, prepared, &finder, question).await? {
        Some(page) => (page.rows, page.mark),
        None => {
            let walk = Walk::begin(session, shape, &reach, (reverse, mark), budget).await?;
            let mut pager = Pager { walk, finder, limit: limit as u64, rows: Vec::new() };
            let at_end = pager.fill(session, prepared.page_reads.refills).await?;
            let mark = pager.walk.mark().filter(|_| !at_end).cloned();
            if mark.is_none() && !at_end {
                let message = "a page has neither an end nor a mark";
                return Err(Error::new(ErrorKind::Internal, message));
            }
            (pager.rows, mark)
        }
    };
    let next = mark.map(|mark| {
        Cursor::new(Unsealed {
            key: options.cursor_key.clone(),
            random: options.random.clone(),
            bound,
            mark,
            now: session.now,
        })
    });
    Ok(Answer::Page { rows, next })
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
    walk: Walk,
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
