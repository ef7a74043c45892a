//! One table as it is and as the layout has it: made, changed where that is free, or refused.
//!
//! | found | done |
//! |---|---|
//! | no table | made |
//! | ours, empty, different | made anew |
//! | ours, under another name | renamed |
//! | a field is new | a column, filled with what older rows answer |
//! | a field is gone | its column stays, and may be null |
//! | words were added to an enum | its constraint is replaced |
//! | anything else, or somebody else's table | refused, with every difference |

use super::catalogue::{Making, failed};
use super::inventory::{Found, FoundColumn};
use super::value::Native;
use data::schema::{ContentShape, Schema, Space};
use data::{Error, ErrorKind, Result, Value};
use keyspace::layout::postgres::{PostgresTable, PostgresType};
use keyspace::layout::tables::{Column, Holds, Role};
use keyspace::layout::words::Dialect;
use std::collections::HashMap;

/// A table of the layout, and what is there.
pub(super) struct Structure<'s> {
    pub(super) making: Making<'s>,
    pub(super) table: &'s PostgresTable,
    pub(super) schema: &'s Schema,
    pub(super) number: Option<u16>,
}

impl Structure<'_> {
    /// Makes the table what the layout says; `was` is the name it had, `found` what is there.
    pub(super) async fn make(
        &self,
        was: Option<&str>,
        found: &mut HashMap<String, Found>,
    ) -> Result<()> {
        let name = &self.table.table.name;
        let is_ours = was.is_some() || self.number.is_none();
        if let Some((was, there)) =
            was.filter(|was| was != name).and_then(|w| found.remove_entry(w))
        {
            if found.contains_key(name) {
                return self.refuse(&[format!("its rows are in `{was}`, and `{name}` is there")]);
            }
            let (was, quoted) = (self.making.name(&was), Dialect::Postgres.name(name));
            self.making.run(&format!("ALTER TABLE {was} RENAME TO {quoted}")).await?;
            found.insert(name.clone(), there);
        }
        let Some(there) = found.get(name) else { return self.create().await };
        let differences = self.differences(there, is_ours);
        if differences.is_empty() {
            return self.change(there).await;
        }
        if is_ours && self.number.is_some() && !self.making.has_rows(name).await? {
            self.making.run(&format!("DROP TABLE {}", self.name())).await?;
            return self.create().await;
        }
        self.refuse(&differences)
    }

    fn name(&self) -> String {
        self.making.name(&self.table.table.name)
    }

    fn refuse(&self, differences: &[String]) -> Result<()> {
        let refused = Error::new(
            ErrorKind::Mismatch,
            "a table is not as the layout has it; rename it, or mend what differs",
        )
        .with("table", self.name());
        Err(differences.iter().fold(refused, |error, difference| error.with("but", difference)))
    }

    async fn create(&self) -> Result<()> {
        for statement in self.making.layout.statements(self.table) {
            self.making.run(&statement).await?;
        }
        Ok(())
    }

    /// What of the columns that are there does not fit, and cannot be changed for nothing.
    fn differences(&self, found: &Found, is_ours: bool) -> Vec<String> {
        let mut differences: Vec<String> = self.key_difference(found).into_iter().collect();
        for column in &self.table.table.columns {
            let Some(there) = found.columns.iter().find(|there| there.name == column.name) else {
                if !is_ours || column.role != Role::Value || column.holds == Holds::Version {
                    differences.push(format!("it has no column `{}`", column.name));
                }
                continue;
            };
            let wanted = native_name(&column.native);
            if there.native != wanted {
                let (name, is) = (&column.name, &there.native);
                differences.push(format!("`{name}` is `{is}` and not `{wanted}`"));
            }
            if sorts_by_bytes(&column.native) && there.collation != "C" {
                let (name, is) = (&column.name, &there.collation);
                differences.push(format!("`{name}` is collated as `{is}` and not as `C`"));
            }
        }
        for there in found.columns.iter().filter(|there| !is_ours && self.is_extra(there)) {
            if there.required && !there.has_default {
                differences
                    .push(format!("it has another column that must be given, `{}`", there.name));
            }
        }
        differences
    }

    fn key_difference(&self, found: &Found) -> Option<String> {
        let keys = self.table.table.columns.iter().filter(|column| column.role != Role::Value);
        let wanted: Vec<&str> = keys.map(|column| column.name.as_str()).collect();
        (found.key != wanted).then(|| {
            let (is, wanted) = (found.key.join(", "), wanted.join(", "));
            format!("its primary key is ({is}) and not ({wanted})")
        })
    }

    fn is_extra(&self, there: &FoundColumn) -> bool {
        self.table.table.columns.iter().all(|column| column.name != there.name)
    }

    /// Adds and relaxes columns, replaces constraints, and makes indexes that are missing.
    async fn change(&self, found: &Found) -> Result<()> {
        let wanted = self.table.indexes.iter();
        let mut changed = wanted.clone().any(|index| !found.indexes.contains(&index.name));
        for there in found.columns.iter().filter(|there| self.is_extra(there)) {
            let (table, column) = (self.name(), Dialect::Postgres.name(&there.name));
            // A column of our own that no row needs any more; fields stay.
            if there.name.starts_with('_') && self.number.is_some() {
                self.making.run(&format!("ALTER TABLE {table} DROP COLUMN {column}")).await?;
            } else if there.required && !there.has_default {
                let relax = format!("ALTER TABLE {table} ALTER COLUMN {column} DROP NOT NULL");
                self.making.run(&relax).await?;
            } else {
                continue;
            }
            changed = true;
        }
        for column in &self.table.table.columns {
            let there = found.columns.iter().find(|there| there.name == column.name);
            changed |= match there {
                None => self.add(column).await?,
                Some(there) => {
                    self.tighten(column, there).await? | self.words(column, found).await?
                }
            };
        }
        if changed {
            let statements = self.making.layout.statements(self.table);
            // The table is there: what is left are its indexes and its comment.
            for statement in statements.iter().skip(1) {
                self.making.run(statement).await?;
            }
        }
        Ok(())
    }

    /// Adds a column, filled with what rows without it answer.
    async fn add(&self, column: &Column<PostgresType>) -> Result<bool> {
        let (table, name) = (self.name(), Dialect::Postgres.name(&column.name));
        let definition = self.making.layout.column(column);
        let mut default = String::new();
        if let Some(literal) = self.missing(column).await? {
            default = format!(" DEFAULT {literal}");
        }
        self.making.run(&format!("ALTER TABLE {table} ADD COLUMN {definition}{default}")).await?;
        if !default.is_empty() {
            let drop = format!("ALTER TABLE {table} ALTER COLUMN {name} DROP DEFAULT");
            self.making.run(&drop).await?;
        }
        Ok(true)
    }

    /// What rows that lack a column answer, as a literal.
    async fn missing(&self, column: &Column<PostgresType>) -> Result<Option<String>> {
        if matches!(column.holds, Holds::Expires | Holds::WindowEnd) {
            return Ok((!column.optional).then(|| "'infinity'".to_string()));
        }
        let Some(Space::Rows(collection)) =
            self.number.map(|number| self.schema.space(number)).transpose()?
        else {
            return Ok(None);
        };
        let (Holds::Field(field), ContentShape::Record(shape)) =
            (&column.holds, &collection.content)
        else {
            return Ok(None);
        };
        let Some(field) = collection.slot(field).and_then(|slot| shape.fields.get(slot)) else {
            return Ok(None);
        };
        if field.missing == Value::Null {
            return Ok(None);
        }
        let native = Native::of_field(&field.missing, &field.field_type)?;
        let of = native_name(&column.native);
        let quoted = format!("SELECT quote_literal($1::{of}::text)");
        let rows = self.making.rows(&quoted, &[&native]).await?;
        let literal: Option<String> = match rows.first() {
            Some(row) => row.try_get(0).map_err(failed)?,
            None => None,
        };
        Ok(literal.map(|literal| format!("{literal}::{of}")))
    }

    /// Lets a column be null, or no longer, as the layout says.
    async fn tighten(&self, column: &Column<PostgresType>, there: &FoundColumn) -> Result<bool> {
        if there.required != column.optional {
            return Ok(false);
        }
        let (table, name) = (self.name(), Dialect::Postgres.name(&column.name));
        if column.optional {
            let relax = format!("ALTER TABLE {table} ALTER COLUMN {name} DROP NOT NULL");
            self.making.run(&relax).await?;
            return Ok(true);
        }
        // The field was gone for a while, and is back.
        if let Some(literal) = self.missing(column).await? {
            let fill = format!("UPDATE {table} SET {name} = {literal} WHERE {name} IS NULL");
            self.making.run(&fill).await?;
        }
        self.making.run(&format!("ALTER TABLE {table} ALTER COLUMN {name} SET NOT NULL")).await?;
        Ok(true)
    }

    /// Replaces the constraint of an enum that has more words now.
    async fn words(&self, column: &Column<PostgresType>, found: &Found) -> Result<bool> {
        let PostgresType::Word(words) = &column.native else { return Ok(false) };
        let mut changed = false;
        for (name, of, definition) in &found.checks {
            if *of != column.name {
                continue;
            }
            let quoted = |word: &String| format!("'{}'", word.replace('\'', "''"));
            if words.iter().all(|word| definition.contains(&quoted(word))) {
                continue;
            }
            let (table, name) = (self.name(), Dialect::Postgres.name(name));
            let list: Vec<String> = words.iter().map(quoted).collect();
            let column = Dialect::Postgres.name(&column.name);
            let statement = format!(
                "ALTER TABLE {table} DROP CONSTRAINT {name}, \
                 ADD CONSTRAINT {name} CHECK ({column} IN ({}))",
                list.join(", ")
            );
            self.making.run(&statement).await?;
            changed = true;
        }
        Ok(changed)
    }
}

/// How the server writes a type.
fn native_name(native: &PostgresType) -> String {
    let text = native.to_string();
    let text = text.strip_suffix(" COLLATE \"C\"").unwrap_or(&text);
    text.replace("timestamptz(3)", "timestamp(3) with time zone")
}

fn sorts_by_bytes(native: &PostgresType) -> bool {
    matches!(native, PostgresType::Text | PostgresType::Word(_) | PostgresType::Path)
}
