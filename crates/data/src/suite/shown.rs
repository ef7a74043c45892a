//! A call made twice: answered, and with its rows shown where they lie. Both must say the same.

use super::bench::{Checked, Failure, same};
use crate::error::Result;
use crate::request::{Answer, Call, Record, Reply, Runtime};
use crate::store::Version;
use crate::value::Value;

/// Holds what a call shows against what it was answered; passes where it shows nothing.
pub fn alike(runtime: &Runtime, call: &Call<'_>, answered: &Result<Reply>) -> Checked {
    let members = call.pattern.shape.as_ref().map_or(0, |shape| shape.members.len());
    let mut rows: Vec<(Vec<Value>, Option<Version>)> = Vec::new();
    let shown = runtime.show(call, &mut |row| {
        let mut reader = row.reader()?;
        let values = (0..members).map(|_| reader.next_value()).collect::<Result<_>>()?;
        rows.push((values, row.version()));
        Ok(())
    });
    match (answered, shown) {
        (_, None) => Ok(()),
        (Ok(reply), Some(Ok(next))) => {
            let (records, more): (Vec<&Record>, bool) = match &reply.answer {
                Answer::Row(row) => (row.iter().collect(), false),
                Answer::Page { rows, next } => (rows.iter().collect(), next.is_some()),
                _ => return Err(Failure::broken("a call shows rows and answers something else")),
            };
            let answered = records.iter().map(|record| Ok((record.values()?, record.version)));
            same("rows that are shown", rows, answered.collect::<Result<_>>()?)?;
            same("whether more follow", next.is_some(), more)
        }
        (Err(answered), Some(Err(shown))) => same("errors", shown.kind(), answered.kind()),
        (Ok(_), Some(Err(error))) => Err(Failure::broken(format!("only showing fails: {error}"))),
        (Err(error), Some(Ok(_))) => Err(Failure::broken(format!("only answering fails: {error}"))),
    }
}
