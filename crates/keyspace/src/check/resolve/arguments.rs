//! What a call of a pattern can give, before bindings and the caller take their share.

use crate::model::{
    Argument, ArgumentRole, BodyType, Collection, Content, DefaultValue, Field, Key, Segment,
    Target, Type, Verb,
};

/// What decides the arguments of a pattern with one verb.
pub struct Call<'a> {
    /// The verb.
    pub verb: Verb,
    /// What it is used on.
    pub target: &'a Target,
    /// `by`, if written.
    pub by: Option<Vec<String>>,
    /// `set`.
    pub set: Vec<String>,
    /// Whether the caller may give a version.
    pub if_version: bool,
    /// Whether a call has several keys or rows.
    pub many: bool,
    /// What the caller fills.
    pub filled: Vec<String>,
}

impl Call<'_> {
    /// Everything a call can give, what is filled left out.
    pub fn arguments(&self) -> Vec<Argument> {
        let mut arguments = match (self.many, self.verb) {
            (false, _) => {
                let mut all = self.key_arguments(|_| true);
                all.extend(self.content_arguments());
                all
            }
            // Keys of any groups.
            (true, Verb::Get) => vec![rows(self.key_arguments(|_| true))],
            (true, _) => self.rows_of_a_group(),
        };
        arguments.extend(self.page_arguments());
        if self.if_version {
            arguments.push(argument("if_version", Type::Text, false, ArgumentRole::Version));
        }
        arguments
    }

    /// The group's segments once, then the rows.
    fn rows_of_a_group(&self) -> Vec<Argument> {
        let group: Vec<&str> =
            self.target.key().group_segments().map(|segment| segment.name.as_str()).collect();
        let mut outer = self.key_arguments(|segment| group.contains(&segment.name.as_str()));
        let mut inner = self.key_arguments(|segment| !group.contains(&segment.name.as_str()));
        inner.extend(self.content_arguments());
        outer.push(rows(inner));
        outer
    }

    /// The key's segments that a call gives.
    fn key_arguments(&self, wanted: impl Fn(&Segment) -> bool) -> Vec<Argument> {
        let key = self.target.key();
        let written = self.by.as_ref();
        key.segments()
            .filter(|segment| !segment.appended && wanted(segment))
            .filter(|segment| match written {
                Some(names) => names.contains(&segment.name),
                None => self.is_usually_given(key, segment),
            })
            .filter(|segment| !self.is_filled(segment))
            .map(|segment| {
                let constant = segment.default.as_ref().is_some_and(DefaultValue::is_constant);
                let role = ArgumentRole::Key;
                argument(&segment.name, segment.segment_type.clone(), !constant, role)
            })
            .collect()
    }

    fn is_usually_given(&self, key: &Key, segment: &Segment) -> bool {
        let in_group = key.group_segments().any(|own| own.name == segment.name);
        match self.verb {
            Verb::List | Verb::Take => in_group,
            Verb::Near => in_group && !segment.is_geographic(),
            Verb::Insert => segment.default.as_ref().is_none_or(DefaultValue::is_constant),
            verb if verb.is_history() => in_group,
            _ => true,
        }
    }

    /// Whether the caller fills the segment: it is the owner's, or holds the owner's field.
    fn is_filled(&self, segment: &Segment) -> bool {
        let source = segment.source.as_ref().map(|source| source.members());
        match source {
            Some(members) => members.first().is_some_and(|m| self.filled.iter().any(|f| f == m)),
            None => self.filled.contains(&segment.name),
        }
    }

    /// Fields, value, body, amount, place: whatever is not the key.
    fn content_arguments(&self) -> Vec<Argument> {
        let collection = &self.target.collection;
        match self.verb {
            Verb::Insert | Verb::Put => self.whole_row(collection),
            Verb::Update => {
                let fields = collection.fields().iter();
                let mut set: Vec<Argument> = fields
                    .filter(|field| self.set.contains(&field.name))
                    .map(optional_field)
                    .collect();
                set.extend(
                    body(collection, false).filter(|_| self.set.iter().any(|s| s == "body")),
                );
                set
            }
            Verb::Add => {
                let mut added = vec![argument("amount", Type::I64, false, ArgumentRole::Amount)];
                if let Content::Window { limit, per } = &collection.content {
                    let rule =
                        |name, rule_type| argument(name, rule_type, true, ArgumentRole::WindowRule);
                    added.extend(limit.is_none().then(|| rule("limit", Type::U64)));
                    added.extend(per.is_none().then(|| rule("per", Type::Duration)));
                }
                added
            }
            Verb::Near => ["lat", "lon", "radius"]
                .map(|name| argument(name, Type::F64, true, ArgumentRole::Place))
                .to_vec(),
            verb if verb.is_history() => history_arguments(verb),
            _ => Vec::new(),
        }
    }

    fn whole_row(&self, collection: &Collection) -> Vec<Argument> {
        let mut arguments: Vec<Argument> = collection
            .fields()
            .iter()
            .filter(|field| field.is_argument() && !self.filled.contains(&field.name))
            .map(|field| {
                argument(
                    &field.name,
                    field.field_type.clone(),
                    field.is_required(),
                    ArgumentRole::Field,
                )
            })
            .collect();
        let value = match collection.content {
            Content::Json => Some(Type::Json),
            Content::Text => Some(Type::Text),
            Content::Bytes => Some(Type::Bytes),
            _ => None,
        };
        arguments.extend(value.map(|value| argument("value", value, true, ArgumentRole::Value)));
        arguments.extend(body(collection, true));
        arguments
    }

    /// What steers a page.
    fn page_arguments(&self) -> Vec<Argument> {
        let page =
            |name: &str, page_type: Type| argument(name, page_type, false, ArgumentRole::Page);
        match self.verb {
            Verb::List => {
                let mut controls = Vec::new();
                if let Some(next) = self.first_open_segment() {
                    let open = next.segment_type.clone();
                    if open == Type::Path {
                        controls.push(page("under", Type::List(Box::new(Type::Text))));
                    } else {
                        controls.push(page("from", open.clone()));
                        controls.push(page("before", open.clone()));
                    }
                    controls.extend((open == Type::Text).then(|| page("starts", Type::Text)));
                }
                controls.push(page("limit", Type::U64));
                controls.push(page("reverse", Type::Bool));
                controls.push(page("cursor", Type::Text));
                controls
            }
            Verb::Near => vec![page("limit", Type::U64)],
            Verb::Load => vec![page("limit", Type::U64), page("cursor", Type::Text)],
            _ => Vec::new(),
        }
    }

    /// The first segment that a list leaves open.
    pub fn first_open_segment(&self) -> Option<&Segment> {
        let key = self.target.key();
        key.segments().find(|segment| {
            let given = match &self.by {
                Some(names) => names.contains(&segment.name),
                None => self.is_usually_given(key, segment),
            };
            !given && !self.is_filled(segment)
        })
    }
}

fn optional_field(field: &Field) -> Argument {
    argument(&field.name, field.field_type.clone(), false, ArgumentRole::Change)
}

fn body(collection: &Collection, required: bool) -> Option<Argument> {
    collection.body.map(|body| {
        let body_type = match body {
            BodyType::Bytes => Type::Bytes,
            BodyType::Text => Type::Text,
        };
        argument("body", body_type, required, ArgumentRole::Body)
    })
}

fn rows(each: Vec<Argument>) -> Argument {
    argument("rows", Type::List(Box::new(Type::Json)), true, ArgumentRole::Rows(each))
}

fn history_arguments(verb: Verb) -> Vec<Argument> {
    let history = |name: &str, history_type: Type, required: bool| {
        argument(name, history_type, required, ArgumentRole::History)
    };
    let branch = history("branch", Type::Text, false);
    let versions = Type::List(Box::new(Type::Bytes));
    match verb {
        Verb::Append => {
            vec![branch, history("version", Type::Bytes, true), history("data", Type::Bytes, true)]
        }
        Verb::Load => {
            let kinds = ["snapshot", "update"].map(str::to_string).to_vec();
            vec![history("kind", Type::Enum(kinds), false), branch]
        }
        Verb::Compact => vec![
            branch,
            history("version", Type::Bytes, true),
            history("data", Type::Bytes, true),
            history("covers", versions, true),
        ],
        Verb::Fork => vec![history("branch", Type::Text, true), history("from", Type::Text, false)],
        _ => Vec::new(),
    }
}

/// An argument.
pub fn argument(name: &str, argument_type: Type, required: bool, role: ArgumentRole) -> Argument {
    Argument { name: name.to_string(), argument_type, required, role }
}

/// Names and types of arguments, those of rows included, for expressions.
pub fn argument_types(arguments: &[Argument]) -> Vec<(String, Type)> {
    let mut types = Vec::new();
    for argument in arguments {
        let is_optional = argument.role == ArgumentRole::Change;
        let given = argument.argument_type.clone();
        let given = if is_optional && !given.is_optional() {
            Type::Optional(Box::new(given))
        } else {
            given
        };
        types.push((argument.name.clone(), given));
        if let ArgumentRole::Rows(each) = &argument.role {
            types.extend(argument_types(each));
        }
    }
    types
}

/// Takes the bound names out of arguments, those of rows included.
pub fn without(arguments: Vec<Argument>, bound: &[String]) -> Vec<Argument> {
    arguments
        .into_iter()
        .filter(|argument| !bound.contains(&argument.name))
        .map(|mut argument| {
            if let ArgumentRole::Rows(each) = argument.role {
                argument.role = ArgumentRole::Rows(without(each, bound));
            }
            argument
        })
        .collect()
}

/// The argument with this name, in rows too.
pub fn find<'a>(arguments: &'a [Argument], name: &str) -> Option<&'a Argument> {
    arguments.iter().find_map(|argument| {
        if argument.name == name {
            return Some(argument);
        }
        match &argument.role {
            ArgumentRole::Rows(each) => find(each, name),
            _ => None,
        }
    })
}

/// Adds an argument that only a binding names, typed by what it is bound to: to the call, or to
/// each row of `list`.
pub fn imply(arguments: &mut Vec<Argument>, target: &Argument, name: &str, list: Option<&str>) {
    if let Some(known) = arguments.iter_mut().find(|argument| argument.name == name) {
        merge_rows(known, target);
        return;
    }
    if find(arguments, name).is_some() {
        return;
    }
    let role = match &target.role {
        ArgumentRole::Page | ArgumentRole::WindowRule => ArgumentRole::Declared,
        other => other.clone(),
    };
    let implied = Argument { name: name.to_string(), role, ..target.clone() };
    let rows = list.and_then(|list| arguments.iter_mut().find(|own| own.name == list));
    match rows.map(|rows| &mut rows.role) {
        Some(ArgumentRole::Rows(each)) => each.push(implied),
        _ => arguments.push(implied),
    }
}

/// Two steps that share a list take its rows' arguments together.
pub fn merge_rows(known: &mut Argument, other: &Argument) {
    let (ArgumentRole::Rows(own), ArgumentRole::Rows(more)) = (&mut known.role, &other.role) else {
        return;
    };
    for argument in more {
        if !own.iter().any(|there| there.name == argument.name) {
            own.push(argument.clone());
        }
    }
}
