//! Lists by the oracle: every row is looked at, then sorted.

use super::domain::{Kind, text};
use super::entries::{applied, asked_for, entries};
use super::oracle::{Called, Oracle, Row};
use super::world::{Collection, Function, Index, Verb};
use serde_json::{Map, Value as Json, json};
use std::cmp::Ordering;

/// What rows are sorted by.
struct Column {
    kind: Kind,
    descending: bool,
    function: Function,
}

/// A row of a list, and what it is sorted by.
struct Line {
    columns: Vec<Json>,
    row: Json,
}

impl Oracle<'_> {
    /// All rows a list answers, in its order.
    pub(super) fn list(&self, collection: &Collection, called: &Called<'_>) -> Vec<Json> {
        let (columns, mut lines) = match &called.asked.verb {
            Verb::ListBy { index, fields } => match collection.indexes.get(*index) {
                Some(index) => self.by_index(collection, index, fields.as_deref(), called),
                None => return Vec::new(),
            },
            _ => self.by_key(collection, called),
        };
        if let Some(first) = columns.first() {
            lines.retain(|line| {
                line.columns.first().is_some_and(|value| in_range(first, value, called.arguments))
            });
        }
        lines.sort_by(|one, other| {
            let pairs = columns.iter().zip(one.columns.iter().zip(&other.columns));
            let compared = pairs.map(|(column, (one, other))| {
                let order = column.kind.compare(one, other);
                if column.descending { order.reverse() } else { order }
            });
            compared.fold(Ordering::Equal, Ordering::then)
        });
        if called.arguments.get("reverse") == Some(&json!(true)) {
            lines.reverse();
        }
        lines.into_iter().map(|line| line.row).collect()
    }

    fn by_key(&self, collection: &Collection, called: &Called<'_>) -> (Vec<Column>, Vec<Line>) {
        let group = collection.segments.iter().take(collection.group);
        let group: Vec<(&String, Json)> = group
            .map(|segment| match collection.is_filled(&segment.name) {
                true => (&segment.name, json!(called.user)),
                false => {
                    let given = called.arguments.get(&segment.name);
                    (&segment.name, given.cloned().unwrap_or_default())
                }
            })
            .collect();
        let rest = || collection.segments.iter().skip(collection.group);
        let columns = rest().map(|segment| Column {
            kind: segment.kind,
            descending: segment.descending,
            function: Function::None,
        });
        let inside =
            |row: &&Row| group.iter().all(|(name, value)| row.members.get(*name) == Some(value));
        let lines = self.live(called.asked.collection).filter(inside).map(|row| Line {
            columns: rest().filter_map(|segment| row.members.get(&segment.name).cloned()).collect(),
            row: Json::Object(row.members.clone()),
        });
        (columns.collect(), lines.collect())
    }

    fn by_index(
        &self,
        collection: &Collection,
        index: &Index,
        fields: Option<&[String]>,
        called: &Called<'_>,
    ) -> (Vec<Column>, Vec<Line>) {
        let parts = index.parts.iter().skip(index.group);
        let mut columns: Vec<Column> = parts
            .map(|part| Column {
                kind: part.kind,
                descending: part.descending,
                function: part.function,
            })
            .collect();
        // Segments the index does not name stand behind its own parts.
        let appended: Vec<_> = collection
            .segments
            .iter()
            .filter(|segment| {
                let mut parts = index.parts.iter();
                !parts.any(|part| part.source == segment.name && part.function == Function::None)
            })
            .collect();
        columns.extend(appended.iter().map(|segment| Column {
            kind: segment.kind,
            descending: segment.descending,
            function: Function::None,
        }));
        let asked: Vec<Json> = index
            .parts
            .iter()
            .take(index.group)
            .map(|part| asked_for(collection, part, called))
            .collect();
        let mut lines = Vec::new();
        for row in self.live(called.asked.collection) {
            for mut entry in entries(index, row) {
                let rest = entry.split_off(index.group.min(entry.len()));
                if entry != asked {
                    continue;
                }
                let behind = appended.iter().filter_map(|segment| row.members.get(&segment.name));
                let columns = rest.into_iter().chain(behind.cloned()).collect();
                lines.push(Line { columns, row: shown(row, fields) });
            }
        }
        (columns, lines)
    }
}

/// A row as a pattern shows it.
fn shown(row: &Row, fields: Option<&[String]>) -> Json {
    let members = row.members.iter();
    let members = members.filter(|(name, _)| fields.is_none_or(|fields| fields.contains(name)));
    Json::Object(members.map(|(name, value)| (name.clone(), value.clone())).collect())
}

fn in_range(column: &Column, value: &Json, arguments: &Map<String, Json>) -> bool {
    // A bound is folded as entries are, and compared by value.
    let bound = |name: &str| {
        let given = arguments.get(name)?;
        Some(match column.function {
            Function::Lower => applied(Function::Lower, given),
            _ => given.clone(),
        })
    };
    let order = |bound: &Json| column.kind.compare(value, bound);
    bound("from").is_none_or(|from| order(&from).is_ge())
        && bound("before").is_none_or(|before| order(&before).is_lt())
        && bound("starts").is_none_or(|starts| text(value).starts_with(&text(&starts)))
        && bound("under").is_none_or(|under| {
            let parts = |json: &Json| json.as_array().cloned().unwrap_or_default();
            parts(value).starts_with(&parts(&under))
        })
}
