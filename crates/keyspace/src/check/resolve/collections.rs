//! Collections and histories: contents, owners, lives, buckets and indexes.

use super::buckets::bucket;
use super::histories::{history, history_rows};
use super::indexes::index_key;
use super::keys::{check_default, is_caller_type, own_key};
use super::names::{NameOf, check_name};
use crate::check::scope::Scope;
use crate::check::typing::Typer;
use crate::diagnostic::{Diagnostic, codes, listed};
use crate::model::limits::EACH_ENTRIES_MAX;
use crate::model::{
    BodyType, Collection, Content, DefaultValue, Expect, ExpressionKind, Field, Function, Index,
    Key, Owner, Ttl, Type,
};
use crate::parse::{CollectionTree, ExpectTree, FieldTree, IndexTree, parse_duration};
use crate::source::Spanned;
use std::sync::Arc;

/// A collection; none if its key could not be understood.
pub fn collection(
    tree: &CollectionTree,
    separator: char,
    problems: &mut Vec<Diagnostic>,
) -> Option<Collection> {
    check_name(&tree.name, NameOf::Table, problems);
    for name in [&tree.table, &tree.was].into_iter().flatten() {
        check_name(name, NameOf::Table, problems);
    }
    let fields = fields(tree, problems);
    let mut key = own_key(tree.key.as_ref()?, separator, problems)?;
    if tree.is_history {
        history_rows(&mut key, problems);
    }
    check_field_names(&key, &fields, problems);
    let content = content(tree, fields, problems);
    if tree.fields_unread {
        // Whatever uses a field that could not be read would be a second report.
        return None;
    }
    let mut collection = Collection {
        table: tree.table.as_ref().unwrap_or(&tree.name).value.clone(),
        name: tree.name.clone(),
        was: tree.was.as_ref().map(|was| was.value.clone()),
        content,
        body: tree.body.as_ref().map(|body| match body.value.as_str() {
            "text" => BodyType::Text,
            _ => BodyType::Bytes,
        }),
        indexes: Vec::new(),
        immutable: tree.immutable.as_ref().is_some_and(|immutable| immutable.value),
        ttl: None,
        cache: tree.cache.as_ref().is_some_and(|cache| cache.value),
        owner: None,
        tenant: None,
        bucket: None,
        expect: expect(&tree.expect),
        file: tree.file.clone(),
        fields_file: tree.fields_file.clone(),
        notes: tree.notes.clone(),
        history: tree.is_history.then(|| history(tree, problems)),
        key,
    };
    collection.ttl = ttl(tree, &collection, problems);
    collection.owner = owner(tree.owner.as_ref(), "owner", &collection, problems);
    collection.tenant = owner(tree.tenant.as_ref(), "tenant", &collection, problems);
    collection.bucket = bucket(tree.bucket.as_ref(), &collection.key, problems);
    for written in &tree.indexes {
        let resolved = index(written, &collection, separator, problems);
        collection.indexes.extend(resolved.map(Arc::new));
    }
    Some(collection)
}

fn fields(tree: &CollectionTree, problems: &mut Vec<Diagnostic>) -> Option<Vec<Field>> {
    let written = tree.fields.as_ref()?;
    let mut fields = Vec::new();
    for field in written {
        check_name(&field.name, NameOf::Field, problems);
        fields.push(checked_field(field, problems));
    }
    Some(fields)
}

/// A field, its type and default checked.
fn checked_field(field: &FieldTree, problems: &mut Vec<Diagnostic>) -> Field {
    let declared = &field.field_type;
    let mut inner = declared.value.required();
    while let Type::List(element) = inner {
        inner = element.required();
    }
    if let Type::Duration | Type::Path = inner {
        let message = format!("a field cannot be `{}`", declared.value);
        let problem = Diagnostic::new(&codes::UNKNOWN_TYPE, declared.span, message);
        problems.push(match inner {
            Type::Duration => problem.fix("store seconds, as `u64`: expressions read them as time"),
            _ => problem.fix("a path is a key segment; a field can be `[text]`"),
        });
    }
    if let Some(default) = &field.default {
        if !matches!(default.value, DefaultValue::New(_)) {
            check_default(default, &declared.value, &field.name.value, false, problems);
        } else {
            let message = "`new` makes key segments; a field is given or computed";
            problems.push(
                Diagnostic::new(&codes::BAD_DEFAULT, default.span, message)
                    .fix("make it a segment of the key, or an argument"),
            );
        }
    }
    Field {
        name: field.name.value.clone(),
        field_type: declared.value.clone(),
        default: field.default.as_ref().map(|default| default.value.clone()),
        span: field.name.span,
    }
}

fn check_field_names(key: &Key, fields: &Option<Vec<Field>>, problems: &mut Vec<Diagnostic>) {
    for field in fields.iter().flatten() {
        if let Some(segment) = key.segment(&field.name) {
            let message = format!("`{}` is a key segment already", field.name);
            problems.push(
                Diagnostic::new(&codes::FIELD_TWICE, field.span, message)
                    .also(segment.span, "the segment comes back as a field of the record")
                    .fix("leave the field out"),
            );
        }
    }
}

fn content(
    tree: &CollectionTree,
    fields: Option<Vec<Field>>,
    problems: &mut Vec<Diagnostic>,
) -> Content {
    let value = tree.value.as_ref();
    if let (Some(value), Some(_)) = (value, &tree.fields) {
        let message = "a row has fields or one value, not both";
        problems.push(
            Diagnostic::new(&codes::DOES_NOT_GO_WITH, value.span, message)
                .fix("keep `fields`, and make the value one of them")
                .fix("or keep `value`, and leave `fields` out"),
        );
    }
    if let (Some(value), Some(body), None) = (value, &tree.body, &tree.fields) {
        problems.push(
            Diagnostic::new(&codes::DOES_NOT_GO_WITH, body.span, "a body stands beside fields")
                .also(value.span, "here the value is the content")
                .fix(format!("keep `value = \"{}\"` and leave `body` out", value.value))
                .fix("or keep `body`, and leave `value` out"),
        );
    }
    let kind = value.map(|value| value.value.as_str());
    if kind != Some("window") {
        for rule in [&tree.limit, &tree.per].into_iter().flatten() {
            let message = "`limit` and `per` belong to a window";
            problems.push(
                Diagnostic::new(&codes::BAD_WINDOW, rule.span, message)
                    .fix("declare `value = \"window\"`, or leave them out"),
            );
        }
    }
    match kind.filter(|_| tree.fields.is_none()) {
        Some("json") => Content::Json,
        Some("text") => Content::Text,
        Some("bytes") => Content::Bytes,
        Some("counter") => Content::Counter,
        Some("window") => Content::Window {
            limit: tree.limit.as_ref().map(|limit| limit.value),
            per: tree.per.as_ref().map(|per| per.value),
        },
        _ if tree.is_history => Content::Bytes,
        _ => match fields {
            Some(fields) => Content::Fields(fields),
            None if tree.body.is_some() => Content::Fields(Vec::new()),
            None => Content::Keys,
        },
    }
}

fn ttl(
    tree: &CollectionTree,
    collection: &Collection,
    problems: &mut Vec<Diagnostic>,
) -> Option<Ttl> {
    let written = tree.ttl.as_ref()?;
    if matches!(collection.content, Content::Window { .. }) {
        let message = "a window ends by itself, `per` after its first add";
        problems.push(
            Diagnostic::new(&codes::BAD_TTL, written.content(), message)
                .fix("leave `ttl` out, and say how long it lasts in `per`"),
        );
        return None;
    }
    if let Some(length) = parse_duration(&written.text) {
        return Some(Ttl::After(length));
    }
    let span = written.content();
    match collection.field(&written.text) {
        Some(field) if *field.field_type.required() == Type::Timestamp => {
            Some(Ttl::Field(field.name.clone()))
        }
        Some(field) => {
            let message = format!("`{}` is `{}`, not a time", field.name, field.field_type);
            problems.push(
                Diagnostic::new(&codes::BAD_TTL, span, message)
                    .also(field.span, "declared here")
                    .fix("use a field of type `timestamp` or `timestamp?`"),
            );
            None
        }
        None => {
            let fields = collection.fields().iter();
            let times = fields.filter(|f| *f.field_type.required() == Type::Timestamp);
            let message = format!("`{}` is no length of time and no field", written.text);
            problems.push(
                Diagnostic::new(&codes::BAD_TTL, span, message)
                    .suggest(span, &written.text, times.map(|field| field.name.as_str()))
                    .fix("write a length, `\"30d\"`, or the name of a timestamp field"),
            );
            None
        }
    }
}

fn owner(
    written: Option<&Spanned<String>>,
    what: &str,
    collection: &Collection,
    problems: &mut Vec<Diagnostic>,
) -> Option<Owner> {
    let written = written?;
    let is_field = collection.field(&written.value).is_some();
    if !is_field && collection.key.segment(&written.value).is_none() {
        let names = collection.member_names();
        let message = format!("the {what} `{}` is no segment or field", written.value);
        problems.push(
            Diagnostic::new(&codes::BAD_OWNER, written.span, message)
                .suggest(written.span, &written.value, names.iter().copied())
                .fix(format!(
                    "put it first in the key: `{}:{{{}: text}}:{} | …`",
                    if what == "tenant" { "org" } else { "user" },
                    written.value,
                    collection.name.value
                ))
                .fix(format!("or add a field `{} = \"text\"`", written.value)),
        );
        return None;
    }
    let found = collection.member_type(&written.value)?;
    if !is_caller_type(found) {
        let message = format!("the {what} `{}` is `{found}`, which is no id", written.value);
        problems.push(
            Diagnostic::new(&codes::BAD_OWNER, written.span, message)
                .fix("callers are known by text, uuid, timeuuid, ulid, i64 or u64, never null"),
        );
        return None;
    }
    Some(Owner { name: written.value.clone(), is_field, span: written.span })
}

fn expect(written: &ExpectTree) -> Expect {
    let value = |number: &Option<Spanned<u64>>| number.as_ref().map(|number| number.value);
    Expect {
        rows_per_group: value(&written.rows_per_group),
        rows_per_day: value(&written.rows_per_day),
        row_bytes: value(&written.row_bytes),
    }
}

/// The names and types of a collection's records, its value and body included.
pub fn members(collection: &Collection) -> Vec<(String, Type)> {
    let mut members: Vec<(String, Type)> = collection
        .member_names()
        .into_iter()
        .filter_map(|name| Some((name.to_string(), collection.member_type(name)?.clone())))
        .collect();
    let value = match collection.content {
        Content::Json => Some(Type::Json),
        Content::Text => Some(Type::Text),
        Content::Bytes => Some(Type::Bytes),
        Content::Counter => Some(Type::I64),
        _ => None,
    };
    members.extend(value.map(|value| ("value".to_string(), value)));
    let body = collection.body.map(|body| match body {
        BodyType::Bytes => Type::Bytes,
        BodyType::Text => Type::Text,
    });
    members.extend(body.map(|body| ("body".to_string(), body)));
    members
}

fn index(
    tree: &IndexTree,
    collection: &Collection,
    separator: char,
    problems: &mut Vec<Diagnostic>,
) -> Option<Index> {
    check_name(&tree.name, NameOf::Table, problems);
    if let Some(was) = &tree.was {
        check_name(was, NameOf::Table, problems);
    }
    let scope = Scope { members: Some(members(collection)), ..Scope::default() };
    if let Some(when) = &tree.when {
        Typer { scope: &scope, problems }.condition(when);
    }
    for kept in &tree.keep {
        if collection.member_type(&kept.value).is_none() {
            let names = collection.member_names();
            let message = format!("`{}` has no field `{}`", collection.name.value, kept.value);
            problems.push(
                Diagnostic::new(&codes::UNDECLARED_FIELD, kept.span, message)
                    .suggest(kept.span, &kept.value, names.iter().copied())
                    .fix(format!("its fields are {}", listed(names.iter().copied()))),
            );
        }
    }
    let scope = Scope { plural: true, ..scope };
    let key = index_key(tree, &collection.key, &scope, separator, problems)?;
    Some(Index {
        name: tree.name.clone(),
        unique: tree.unique.as_ref().is_some_and(|unique| unique.value),
        keep: tree.keep.clone(),
        when: tree.when.clone(),
        bucket: bucket(tree.bucket.as_ref(), &key, problems),
        expect: expect(&tree.expect),
        file: tree.file.clone(),
        was: tree.was.as_ref().map(|was| was.value.clone()),
        notes: tree.notes.clone(),
        entries_max: entries_max(&key, collection),
        key,
    })
}

/// The most entries one record has: as many as the plain fields of an `each`, or its limit where
/// one of them is a list.
fn entries_max(key: &Key, collection: &Collection) -> u64 {
    let mut most = 1;
    for source in key.segments().filter_map(|segment| segment.source.as_ref()) {
        source.walk(&mut |inner| {
            let ExpressionKind::Call(Function::Each, fields) = &inner.kind else { return };
            let lists = inner.members().into_iter().filter_map(|name| collection.member_type(name));
            let plain = !lists.into_iter().any(|t| matches!(t.required(), Type::List(_)));
            most = if plain { fields.len() as u64 } else { EACH_ENTRIES_MAX };
        });
    }
    most
}
