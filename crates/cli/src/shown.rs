//! The answer of a call as people read it.

use crate::failure::{Failure, Status};
use crate::table::{Table, escaped, list};
use data::request::{self, Answer, Changed, Prepared, Record, key_text};
use data::schema::Schema;
use data::{Result, Value};
use keyspace::model::Type;
use std::sync::Arc;

/// An answer in words.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// The words.
    pub(crate) text: String,
    /// Where the next page begins.
    pub(crate) next: Option<String>,
}

/// An answer in words, at most so wide.
pub(crate) fn shown(
    answer: &Answer,
    prepared: &Prepared,
    schema: &Schema,
    width: Option<usize>,
) -> Result<Shown> {
    let names = prepared.steps.iter().filter(|step| step.run.is_some());
    let drawing = Drawing { schema, width, columns: columns(prepared) };
    let text = match answer {
        Answer::Results(answers) => {
            let mut text = String::new();
            for (step, answer) in names.zip(answers) {
                text.push_str(&format!("{}\n", step.name));
                let of_step = Drawing { columns: shape_columns(&step.shape), ..drawing };
                for line in of_step.one(answer)?.lines() {
                    text.push_str(format!("  {line}").trim_end());
                    text.push('\n');
                }
            }
            text
        }
        one => drawing.one(one)?,
    };
    let next = match answer {
        Answer::Page { next, .. } => next.as_ref().map(ToString::to_string),
        _ => None,
    };
    Ok(Shown { text, next })
}

/// What an answer says about the call: that there is no row, or that a window is full.
pub(crate) fn refusal(answer: &Answer) -> (Status, Option<Failure>) {
    match answer {
        Answer::Row(None) => (Status::Problems, Some(Failure::no_row())),
        Answer::Window { allowed: false, .. } => (Status::Conflict, None),
        _ => (Status::Done, None),
    }
}

struct Drawing<'a> {
    schema: &'a Schema,
    width: Option<usize>,
    columns: Vec<String>,
}

impl Drawing<'_> {
    fn one(&self, answer: &Answer) -> Result<String> {
        Ok(match answer {
            Answer::Row(None) => String::new(),
            Answer::Row(Some(record)) => {
                let mut text = self.record(record)?;
                if let Some(version) = record.version {
                    text.push_str(&format!("\nversion  {version}\n"));
                }
                text
            }
            Answer::Rows(records) => self.table(records.iter().map(Option::as_ref))?,
            Answer::Page { rows, .. } => self.table(rows.iter().map(Some))?,
            Answer::Changed(changed) => self.changed(changed)?,
            Answer::ChangedRows(all) => self.changes(all)?,
            Answer::Total(total) => format!("total  {total}\n"),
            Answer::Window { allowed, remaining, resets_at } => {
                let resets_at = Value::Timestamp(*resets_at).to_text(&Type::Timestamp);
                list(
                    &[
                        ("allowed", allowed.to_string()),
                        ("remaining", remaining.to_string()),
                        ("resets_at", resets_at),
                    ],
                    self.width,
                )
            }
            Answer::Results(answers) => {
                let answers = answers.iter().map(|answer| self.one(answer));
                answers.collect::<Result<Vec<_>>>()?.join("\n")
            }
        })
    }

    fn record(&self, record: &Record) -> Result<String> {
        let names = record.shape.members.iter().map(|member| member.shown.as_str());
        let pairs: Vec<(&str, String)> = names.zip(cells(record)?).collect();
        Ok(list(&pairs, self.width))
    }

    /// The columns come from the pattern, so that no rows have columns too.
    fn table<'r>(&self, records: impl Iterator<Item = Option<&'r Record>>) -> Result<String> {
        let missing = || Ok(vec!["-".to_string(); self.columns.len()]);
        let rows = records.map(|record| record.map_or_else(missing, cells));
        let rows = rows.collect::<Result<Vec<_>>>()?;
        Ok(Table { columns: self.columns.clone(), rows }.text(self.width))
    }

    fn changed(&self, changed: &Changed) -> Result<String> {
        let mut pairs = vec![("key", escaped(&key_text(self.schema, &changed.key)?))];
        pairs.extend(changed.version.map(|version| ("version", version.to_string())));
        if changed.existed {
            pairs.push(("existed", "true".to_string()));
        }
        let mut text = list(&pairs, None);
        if let Some(record) = &changed.row {
            text.push_str(&format!("\n{}", self.record(record)?));
        }
        Ok(text)
    }

    fn changes(&self, all: &[Changed]) -> Result<String> {
        let row = |changed: &Changed| {
            let version = changed.version.map(|version| version.to_string());
            Ok(vec![escaped(&key_text(self.schema, &changed.key)?), version.unwrap_or_default()])
        };
        let columns = vec!["key".to_string(), "version".to_string()];
        let rows = all.iter().map(row).collect::<Result<Vec<_>>>()?;
        Ok(Table { columns, rows }.text(self.width))
    }
}

fn columns(prepared: &Prepared) -> Vec<String> {
    prepared.shape.as_ref().map(shape_columns).unwrap_or_default()
}

fn shape_columns(shape: &Arc<request::AnswerShape>) -> Vec<String> {
    shape.members.iter().map(|member| member.shown.clone()).collect()
}

/// The values of a row as texts; null is empty.
fn cells(record: &Record) -> Result<Vec<String>> {
    let members = record.shape.members.iter();
    let cells = members.zip(record.values()?).map(|(member, value)| match value {
        Value::Null => String::new(),
        value => escaped(&value.to_text(&member.member_type)),
    });
    Ok(cells.collect())
}
