//! A keyspace by chance: what the oracle knows of it, and the file that says the same.

use super::domain::Kind;
use serde_json::Value as Json;
use std::fmt::Write as _;

/// A keyspace.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) collections: Vec<Collection>,
    pub(super) patterns: Vec<Asked>,
}

/// A collection.
#[derive(Clone, Debug)]
pub(super) struct Collection {
    pub(super) name: String,
    pub(super) segments: Vec<Segment>,
    /// How many segments stand before the bar.
    pub(super) group: usize,
    pub(super) content: Content,
    pub(super) fields: Vec<Field>,
    pub(super) immutable: bool,
    pub(super) life: Life,
    pub(super) owner: Option<String>,
    pub(super) indexes: Vec<Index>,
}

/// What rows hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// The fields.
    Record,
    /// One field, `value`.
    Value,
    Bare,
    Counter,
    /// Three in an hour.
    Window,
}

/// When rows end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Endless,
    /// Half an hour after they were written.
    HalfAnHour,
    /// When a field says.
    Field(String),
}

/// A segment of a collection's key.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) descending: bool,
    /// Whether an insert makes it.
    pub(super) made: bool,
}

/// A field; `value` and `body` are fields too.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) form: Form,
    pub(super) default: Filled,
}

/// How many values a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    One,
    Optional,
    List,
}

/// What fills a field that a call leaves out.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Filled {
    ByCall,
    Constant(Json),
    Now,
    Touch,
    Caller,
    /// The owner: whoever calls, and never an argument.
    Owner,
}

impl Field {
    /// Whether calls give it.
    pub(super) fn is_argument(&self) -> bool {
        matches!(self.default, Filled::ByCall | Filled::Constant(_))
    }

    /// Whether a row cannot be made without it.
    pub(super) fn is_required(&self) -> bool {
        self.default == Filled::ByCall && self.form != Form::Optional
    }
}

/// An index.
#[derive(Clone, Debug)]
pub(super) struct Index {
    pub(super) name: String,
    pub(super) parts: Vec<Part>,
    /// How many parts stand before the bar.
    pub(super) group: usize,
    pub(super) unique: bool,
    pub(super) when: Option<Condition>,
    pub(super) keep: Vec<String>,
}

/// A part of an index key.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The segment or field.
    pub(super) source: String,
    pub(super) function: Function,
    pub(super) descending: bool,
    /// What calls name it.
    pub(super) argument: String,
    /// The kind of the entry's segment.
    pub(super) kind: Kind,
}

/// What is done to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    None,
    Each,
    Lower,
    /// To the hour.
    Floor,
    Day,
}

/// A condition on a record.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    Equals(String, Json),
    Above(String, i64),
    IsNull(String),
}

/// A pattern.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) name: String,
    pub(super) collection: usize,
    pub(super) verb: Verb,
}

/// What a pattern does; indexes by their place.
#[derive(Clone, Debug)]
pub(super) enum Verb {
    Insert,
    Put,
    Update { set: Vec<String>, condition: Option<Condition>, creates: bool },
    Delete,
    Get,
    GetBy(usize),
    List,
    ListBy { index: usize, fields: Option<Vec<String>> },
    Add,
    AddTo(String),
}

impl Collection {
    pub(super) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Whether the owner is a field.
    pub(super) fn is_owned_by_field(&self) -> bool {
        self.owner.as_ref().is_some_and(|owner| self.field(owner).is_some())
    }

    /// Whether a part of an index is filled from the caller: patterns that may read the rows of
    /// all owners name the owner.
    pub(super) fn is_filled_part(&self, part: &Part) -> bool {
        self.is_filled(&part.source) && !self.is_owned_by_field()
    }

    /// Whether a segment is filled from the caller.
    pub(super) fn is_filled(&self, segment: &str) -> bool {
        self.owner.as_deref() == Some(segment)
    }
}

impl World {
    /// The keyspace file.
    pub(super) fn toml(&self) -> String {
        let mut text = String::from("[keyspace]\nname = \"random\"\n");
        for collection in &self.collections {
            collection.write(&mut text);
        }
        for asked in &self.patterns {
            if let Some(collection) = self.collections.get(asked.collection) {
                asked.write(collection, &mut text);
            }
        }
        text
    }
}

impl Collection {
    fn write(&self, text: &mut String) {
        let name = &self.name;
        let mut key = name.clone();
        for (position, segment) in self.segments.iter().enumerate() {
            let kind = segment.kind.notation();
            let descending = if segment.descending { " desc" } else { "" };
            let made = if segment.made { " = new" } else { "" };
            let before = if position == self.group { " | " } else { ":" };
            let _ = write!(key, "{before}{{{}: {kind}{descending}{made}}}", segment.name);
        }
        if self.group == self.segments.len() {
            key.push_str(" |");
        }
        let _ = write!(text, "\n[collection.{name}]\nkey = \"{key}\"\n");
        match self.content {
            Content::Record => self.write_fields(text),
            Content::Value => {
                let kind = self.fields.first().map_or("json", |field| field.kind.notation());
                let _ = writeln!(text, "value = \"{kind}\"");
            }
            Content::Bare => {}
            Content::Counter => text.push_str("value = \"counter\"\n"),
            Content::Window => text.push_str("value = \"window\"\nlimit = 3\nper = \"1h\"\n"),
        }
        if let Some(owner) = &self.owner {
            let _ = writeln!(text, "owner = \"{owner}\"");
        }
        if self.immutable {
            text.push_str("immutable = true\n");
        }
        match &self.life {
            Life::Endless => {}
            Life::HalfAnHour => text.push_str("ttl = \"30m\"\n"),
            Life::Field(field) => {
                let _ = writeln!(text, "ttl = \"{field}\"");
            }
        }
        text.push_str("expect = { rows_per_group = 100 }\n");
        self.indexes.iter().for_each(|index| index.write(text));
    }

    fn write_fields(&self, text: &mut String) {
        let fields = self.fields.iter().filter(|field| field.name != "body");
        let fields: Vec<String> = fields.map(Field::notation).collect();
        let _ = writeln!(text, "fields = {{ {} }}", fields.join(", "));
        if let Some(body) = self.field("body") {
            let _ = writeln!(text, "body = \"{}\"", body.kind.notation());
        }
    }
}

impl Field {
    fn notation(&self) -> String {
        let kind = self.kind.notation();
        let kind = match self.form {
            Form::One => kind.to_string(),
            Form::Optional => format!("{kind}?"),
            Form::List => format!("[{kind}]"),
        };
        let default = match &self.default {
            Filled::ByCall | Filled::Owner => String::new(),
            Filled::Constant(constant) => format!(" = {}", literal(constant)),
            Filled::Now => " = now".to_string(),
            Filled::Touch => " = touch".to_string(),
            Filled::Caller => " = caller".to_string(),
        };
        format!("{} = \"{kind}{default}\"", self.name)
    }
}

/// A constant as expressions and defaults have it.
fn literal(constant: &Json) -> String {
    match constant {
        Json::String(text) => format!("'{text}'"),
        other => other.to_string(),
    }
}

impl Condition {
    fn notation(&self) -> String {
        match self {
            Condition::Equals(field, constant) => format!("{field} = {}", literal(constant)),
            Condition::Above(field, number) => format!("{field} > {number}"),
            Condition::IsNull(field) => format!("{field} is null"),
        }
    }
}

impl Index {
    fn write(&self, text: &mut String) {
        let mut key = self.name.clone();
        for (position, part) in self.parts.iter().enumerate() {
            let before = if position == self.group { " | " } else { ":" };
            let source = &part.source;
            let made = match part.function {
                Function::None => source.clone(),
                Function::Each => format!("each({source})"),
                Function::Lower => format!("lower({source})"),
                Function::Floor => format!("floor({source}, '1h')"),
                Function::Day => format!("{} = day({source})", part.argument),
            };
            let descending = if part.descending { " desc" } else { "" };
            let _ = write!(key, "{before}{{{made}{descending}}}");
        }
        if self.group == self.parts.len() {
            key.push_str(" |");
        }
        let _ = write!(text, "index.{} = {{ key = \"{key}\"", self.name);
        if self.unique {
            text.push_str(", unique = true");
        }
        if let Some(when) = &self.when {
            let _ = write!(text, ", when = \"{}\"", when.notation());
        }
        if !self.keep.is_empty() {
            let _ = write!(text, ", keep = {:?}", self.keep);
        }
        text.push_str(", expect = { rows_per_group = 100 } }\n");
    }
}

impl Asked {
    fn write(&self, collection: &Collection, text: &mut String) {
        let name = &collection.name;
        let index = |place: &usize| {
            let index = collection.indexes.get(*place).map_or("", |index| index.name.as_str());
            format!("{name}.{index}")
        };
        let _ = write!(text, "\n[pattern.{}]\n", self.name);
        let _ = match &self.verb {
            Verb::Insert => writeln!(text, "insert = \"{name}\""),
            Verb::Put => writeln!(text, "put = \"{name}\""),
            Verb::Delete => writeln!(text, "delete = \"{name}\""),
            Verb::Get => writeln!(text, "get = \"{name}\""),
            Verb::GetBy(place) => writeln!(text, "get = \"{}\"", index(place)),
            Verb::Add => writeln!(text, "add = \"{name}\""),
            Verb::AddTo(field) => writeln!(text, "add = \"{name}.{field}\""),
            Verb::List => writeln!(text, "list = \"{name}\"\npage = 5"),
            Verb::ListBy { index: place, fields } => {
                let _ = writeln!(text, "list = \"{}\"\npage = 5", index(place));
                match fields {
                    Some(fields) => writeln!(text, "fields = {fields:?}"),
                    None => Ok(()),
                }
            }
            Verb::Update { set, condition, creates } => {
                let _ = writeln!(text, "update = \"{name}\"\nset = {set:?}");
                if let Some(condition) = condition {
                    let _ = writeln!(text, "if = \"{}\"", condition.notation());
                }
                match creates {
                    true => writeln!(text, "missing = \"create\""),
                    false => Ok(()),
                }
            }
        };
        let lists = matches!(self.verb, Verb::List | Verb::ListBy { .. });
        // A list filters by no owner; a caller may see all of what it lists.
        if collection.owner.is_none() || (lists && collection.is_owned_by_field()) {
            text.push_str("allow = \"user\"\n");
        }
    }
}
