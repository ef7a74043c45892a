//! A call made again: answered, with its rows shown where they lie, and written from there. All
//! must say the same.

use super::bench::{Checked, Failure, same};
use crate::error::Result;
use crate::request::{Answer, Call, Cursor, Record, Reply, Runtime, Shown};
use crate::session::Usage;
use crate::store::{Version, Versions};
use crate::value::Value;
use keyspace::model::Verb;

/// What a call has shown.
type Rows = Vec<(Vec<Value>, Option<Version>)>;
/// What comes back of a call that shows its rows.
type Shows = Option<Result<(Option<Cursor>, Usage)>>;

/// Holds what a call shows, at once and later, against what it was answered; passes where it shows
/// nothing.
pub async fn alike(runtime: &Runtime, call: &Call<'_>, answered: &Result<Reply>) -> Checked {
    let again = answer_again(runtime, call, answered).await?;
    let answered = again.as_ref().unwrap_or(answered);
    let members = call.pattern.shape.as_ref().map_or(0, |shape| shape.members.len());
    let take = |row: Shown<'_>, rows: &mut Rows| {
        let mut reader = row.reader()?;
        let values = (0..members).map(|_| reader.next_value()).collect::<Result<_>>()?;
        rows.push((values, row.version()));
        Ok(())
    };
    let mut rows: Rows = Vec::new();
    let later = runtime.show_later(call, Versions::Wanted, &mut |row| take(row, &mut rows)).await;
    compare(std::mem::take(&mut rows), later, answered)?;
    let shown = runtime.show(call, Versions::Wanted, &mut |row| take(row, &mut rows));
    let is_written = matches!(shown, Some(Ok(_)));
    compare(rows, shown, answered)?;
    match answered {
        Ok(reply) if is_written => written(runtime, call, reply),
        _ => Ok(()),
    }
}

/// The answer to the same list of slices once more: who has asked before knows which slice comes
/// first, and waits less often.
async fn answer_again(
    runtime: &Runtime,
    call: &Call<'_>,
    answered: &Result<Reply>,
) -> Checked<Option<Result<Reply>>> {
    let is_sliced = call.pattern.key().is_ok_and(|key| key.slices.is_some());
    let (Ok(before), true, Verb::List) = (answered, is_sliced, call.pattern.pattern.verb) else {
        return Ok(None);
    };
    let again = runtime.call(call.clone()).await;
    if let Ok(again) = &again {
        let (rows, is_more) = answered_rows(again)?;
        same("rows answered again", (rows, is_more), answered_rows(before)?)?;
        let saved = before.usage.round_trips.checked_sub(again.usage.round_trips);
        same("waits that are saved", saved.is_some_and(|saved| saved <= 1), true)?;
    }
    Ok(Some(again))
}

/// The rows of an answer, and whether more follow.
fn answered_rows(reply: &Reply) -> Result<(Rows, bool), Failure> {
    let (records, more): (Vec<&Record>, bool) = match &reply.answer {
        Answer::Row(row) => (row.iter().collect(), false),
        Answer::Page { rows, next } => (rows.iter().collect(), next.is_some()),
        _ => return Err(Failure::broken("a call shows rows and answers something else")),
    };
    let rows = records.iter().map(|record| Ok((record.values()?, record.version)));
    Ok((rows.collect::<Result<_>>()?, more))
}

/// Holds what was shown against what was answered.
fn compare(rows: Rows, shown: Shows, answered: &Result<Reply>) -> Checked {
    match (answered, shown) {
        (_, None) => Ok(()),
        (Ok(reply), Some(Ok((next, usage)))) => {
            let (answered, more) = answered_rows(reply)?;
            same("rows that are shown", rows, answered)?;
            same("whether more follow", next.is_some(), more)?;
            same("what it cost", usage, reply.usage)
        }
        (Err(answered), Some(Err(shown))) => same("errors", shown.kind(), answered.kind()),
        (Ok(_), Some(Err(error))) => Err(Failure::broken(format!("only showing fails: {error}"))),
        (Err(error), Some(Ok(_))) => Err(Failure::broken(format!("only answering fails: {error}"))),
    }
}

/// Holds what is written of the rows where they lie against what is written of the answer.
fn written(runtime: &Runtime, call: &Call<'_>, reply: &Reply) -> Checked {
    let mut text = b"before".to_vec();
    let Some(written) = runtime.write_json(call, &mut text) else {
        return Err(Failure::broken("a call shows rows that are not written"));
    };
    let written = written?;
    let (is_there, version, more) = match &reply.answer {
        Answer::Row(row) => (row.is_some(), row.as_ref().and_then(|row| row.version), false),
        Answer::Page { next, .. } => (true, None, next.is_some()),
        _ => return Err(Failure::broken("a call writes rows and answers something else")),
    };
    same("whether it is there", written.is_there, is_there)?;
    same("the version that is written", written.version, version)?;
    same("what writing cost", written.usage, reply.usage)?;
    let mut expected = b"before".to_vec();
    reply.answer.write_json(runtime.schema(), &mut expected)?;
    match more {
        // Each cursor is sealed anew.
        true => {
            let rows = |text: &[u8]| {
                let end = text.windows(9).rposition(|part| part == b"],\"next\":");
                end.map(|end| text.iter().take(end).copied().collect::<Vec<u8>>())
            };
            same("the rows as text", rows(&text), rows(&expected))
        }
        false => same("the answer as text", text, expected),
    }
}
