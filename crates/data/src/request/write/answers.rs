//! What a call is answered: rows as they were made, or as they are.
//!
//! ```text
//! committed just now                          ─▶ the rows that were written, nothing read
//! committed when the call was made before,
//! or done before                              ─▶ the rows that are there now, read once more
//! ```

use super::gather::{Made, Work, step_of};
use super::owner::is_foreign;
use super::part::{Applied, Part};
use super::row::RowState;
use super::script::{Action, Rows};
use crate::change::CounterAdd;
use crate::clock::Milliseconds;
use crate::error::{Error, ErrorKind, Result};
use crate::request::answer::{Answer, Changed, Record};
use crate::session::Session;
use crate::store::judge::count_of;
use crate::store::{CommitId, Key, Row, Total};
use std::collections::HashMap;

/// The answer to what was committed just now.
pub(super) fn made(
    work: &Work<'_>,
    id: CommitId,
    totals: &[Total],
    now: Milliseconds,
) -> Result<Answer> {
    assembled(work, |part, step, row| {
        let lost = || Error::new(ErrorKind::Internal, "a row of a call has no outcome");
        let of = work.steps.get(step).ok_or_else(lost)?;
        let (place, made) = (of.places.get(row), of.made.get(row));
        let state = work.rows.get(*place.ok_or_else(lost)?)?;
        match made.ok_or_else(lost)? {
            Made::Row(applied) => Ok(Answer::Changed(changed(part, state, *applied, id))),
            Made::Added(add) => {
                let (add, total) = (work.adds.get(*add), totals.get(*add));
                Ok(counted(add.ok_or_else(lost)?, *total.ok_or_else(lost)?, now))
            }
        }
    })
}

fn changed(part: &Part<'_>, state: &RowState, applied: Applied, id: CommitId) -> Changed {
    let version = match state.changed {
        true => Some(id),
        false => state.version_read(),
    };
    let version = state.collection.shown_version(version);
    let existed = applied == Applied::Existed;
    // Of another's row, which a delete leaves alone, nothing is shown.
    let content = state.content().filter(|_| applied != Applied::Nothing);
    let row = content.map(|content| Record {
        shape: part.shape.clone(),
        key: state.key.clone(),
        content: content.bytes.clone(),
        version,
        expires: content.expires,
    });
    let version = version.filter(|_| row.is_some());
    Changed { key: state.key.clone(), version, row, existed }
}

fn counted(add: &CounterAdd, total: Total, now: Milliseconds) -> Answer {
    match add.window {
        None => Answer::Total(total.value),
        Some(rule) => Answer::Window {
            allowed: true,
            remaining: rule.limit.saturating_sub(total.value).max(0),
            resets_at: total.expires.unwrap_or(now),
        },
    }
}

/// The answer of a call that was made before: every row as it is now. `totals` are what the store
/// remembers of the counters.
///
/// The rows are asked for again as after a lost reply, which no plan counts.
pub(super) async fn as_they_are(
    session: &mut Session<'_>,
    work: &Work<'_>,
    totals: Option<&[Total]>,
    existed: bool,
) -> Result<Answer> {
    let mut keys: Vec<Key> = Vec::new();
    for place in work.steps.iter().flat_map(|step| &step.places) {
        keys.push(work.rows.get(*place)?.key.clone());
    }
    let found = match keys.is_empty() {
        true => Vec::new(),
        false => session.store().get(&keys).await?,
    };
    let now = session.now;
    let rows: HashMap<Key, Row> = keys
        .into_iter()
        .zip(found)
        .filter_map(|(key, row)| Some((key, row.filter(|row| row.is_live(now))?)))
        .collect();
    assembled(work, |part, step, row_number| {
        let of = work.steps.get(step);
        let place = of.and_then(|of| of.places.get(row_number)).copied();
        // A step that never got so far as to know its row.
        let Some(place) = place else { return Ok(Answer::Row(None)) };
        let key = &work.rows.get(place)?.key;
        let there = match rows.get(key) {
            Some(row) if is_own(work, part, (step, row_number), row)? => Some(row),
            _ => None,
        };
        if part.collection.model.is_counted() && part.adds() {
            let add = match of.and_then(|of| of.made.get(row_number)) {
                Some(Made::Added(add)) => Some(*add),
                _ => None,
            };
            let remembered = add.and_then(|add| totals?.get(add)).copied();
            let nothing = Total { value: 0, expires: None };
            let total = match remembered {
                Some(total) => total,
                None => count_of(there, now)?.unwrap_or(nothing),
            };
            return Ok(match add.and_then(|add| work.adds.get(add)) {
                Some(add) => counted(add, total, now),
                None => Answer::Total(total.value),
            });
        }
        let version = there.and_then(|row| part.collection.shown_version(row.version));
        let record = there.map(|row| Record {
            shape: part.shape.clone(),
            key: key.clone(),
            content: row.value.clone(),
            version,
            expires: row.expires,
        });
        Ok(Answer::Changed(Changed { key: key.clone(), version, row: record, existed }))
    })
}

/// Whether a row is the caller's to see.
fn is_own(
    work: &Work<'_>,
    part: &Part<'_>,
    (step, row_number): (usize, usize),
    row: &Row,
) -> Result<bool> {
    let inputs = work.script.inputs(step_of(work.script, step)?, row_number, &work.known);
    let slots = part.collection.decode(&row.value)?;
    Ok(!is_foreign(part.collection, part.filled, &slots, &inputs)?)
}

/// One answer for each step that changes something; of a call of one pattern, that one.
fn assembled(
    work: &Work<'_>,
    mut answer: impl FnMut(&Part<'_>, usize, usize) -> Result<Answer>,
) -> Result<Answer> {
    let mut results = Vec::new();
    for (number, step) in work.script.steps.iter().enumerate() {
        let Action::Run(part) = &step.action else { continue };
        results.push(match step.rows {
            Rows::One => answer(part, number, 0)?,
            Rows::Many(_, rows) => {
                // Made as large as it will be, which collecting results does not know.
                let mut each = Vec::with_capacity(rows.len());
                for row in 0..rows.len() {
                    each.push(answer(part, number, row)?);
                }
                together(each)
            }
        });
    }
    let missing = || Error::new(ErrorKind::Internal, "a call changes nothing");
    match work.script.is_atomic {
        true => Ok(Answer::Results(results)),
        false => results.pop().ok_or_else(missing),
    }
}

/// Several rows in one answer; counters have totals instead of rows.
fn together(answers: Vec<Answer>) -> Answer {
    let all_rows = answers.iter().all(|answer| matches!(answer, Answer::Changed(_)));
    if !all_rows {
        return Answer::Results(answers);
    }
    let rows = answers.into_iter().filter_map(|answer| match answer {
        Answer::Changed(changed) => Some(changed),
        _ => None,
    });
    Answer::ChangedRows(rows.collect())
}
