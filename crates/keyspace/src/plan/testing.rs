//! Small keyspaces for the tests of this folder, built by hand: what a plan needs, nothing more.

use crate::model::{
    Allow, Argument, ArgumentRole, Assignment, Collection, Content, DefaultValue, Expect,
    Expression, ExpressionKind, Field, Function, Index, Key, Keyspace, Naming, Part, Pattern,
    Segment, Step, StepAction, StoreKind, Target, Type, Verb,
};
use crate::plan::{Answer, Bounds, Plan};
use crate::source::{Span, Spanned};
use std::sync::Arc;

pub fn named(name: &str) -> Spanned<String> {
    Spanned::new(name.to_string(), Span::default())
}

pub fn expression(kind: ExpressionKind) -> Expression {
    Expression { kind, span: Span::default() }
}

pub fn member(name: &str) -> Expression {
    expression(ExpressionKind::Member(name.to_string()))
}

/// `user:{user_id}:notes | {note_id desc}`; `{id!}` is new; `{5@geohash}` a cell; in an index every
/// segment is computed.
pub fn key(template: &str, is_index: bool) -> Key {
    let (group, rest) = match template.split_once('|') {
        Some((group, rest)) => (group.trim(), Some(rest.trim())),
        None => (template.trim(), None),
    };
    let part = |text: &str| match text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
        None => Part::Literal(text.to_string()),
        Some(inside) => Part::Segment(segment(inside, is_index)),
    };
    let cut = |text: &str| -> Vec<Part> {
        text.split(':').filter(|text| !text.is_empty()).map(part).collect()
    };
    let mut parts = cut(group);
    let group_parts = parts.len();
    parts.extend(cut(rest.unwrap_or("")));
    Key { parts, group_parts, has_bar: rest.is_some(), span: Span::default() }
}

fn segment(inside: &str, is_index: bool) -> Segment {
    let descending = inside.ends_with(" desc");
    let inside = inside.trim_end_matches(" desc");
    let is_new = inside.ends_with('!');
    let name = inside.trim_end_matches('!');
    let source = match name.split_once('@') {
        Some((number, "geohash")) => {
            let number = expression(ExpressionKind::Number(number.to_string()));
            let arguments = vec![member("lat"), member("lon"), number];
            expression(ExpressionKind::Call(Function::Geohash, arguments))
        }
        Some((list, "each")) => {
            expression(ExpressionKind::Call(Function::Each, vec![member(list)]))
        }
        _ => member(name),
    };
    Segment {
        name: name.to_string(),
        segment_type: Type::Text,
        descending,
        default: is_new.then_some(DefaultValue::New(None)),
        source: is_index.then_some(source),
        appended: false,
        span: Span::default(),
    }
}

pub fn collection(name: &str, template: &str) -> Collection {
    let fields = ["title", "status", "lat", "lon"].map(|name| Field {
        name: name.to_string(),
        field_type: Type::Text,
        default: None,
        span: Span::default(),
    });
    Collection {
        name: named(name),
        table: name.to_string(),
        was: None,
        key: key(template, false),
        content: Content::Fields(fields.to_vec()),
        body: None,
        indexes: Vec::new(),
        immutable: false,
        ttl: None,
        cache: false,
        owner: None,
        tenant: None,
        bucket: None,
        expect: Expect::default(),
        file: None,
        fields_file: None,
        notes: None,
        history: None,
    }
}

pub fn index(name: &str, template: &str) -> Index {
    Index {
        name: named(name),
        key: key(template, true),
        unique: false,
        keep: Vec::new(),
        when: None,
        bucket: None,
        expect: Expect::default(),
        file: None,
        was: None,
        notes: None,
    }
}

pub fn indexed(mut collection: Collection, index: Index) -> Collection {
    collection.indexes.push(Arc::new(index));
    collection
}

pub fn target(collection: &Arc<Collection>, index: Option<&str>) -> Target {
    let index = index.and_then(|name| collection.index(name).cloned());
    Target { collection: collection.clone(), index, field: None, span: Span::default() }
}

pub fn pattern(name: &str, verb: Verb, target: Option<Target>) -> Pattern {
    Pattern {
        name: named(name),
        id: None,
        about: None,
        notes: None,
        verb,
        verb_span: Span::default(),
        target,
        arguments: Vec::new(),
        by: Vec::new(),
        bind: Vec::new(),
        set: Vec::new(),
        compute: Vec::new(),
        condition: None,
        if_version: false,
        page: None,
        many: None,
        order: None,
        fields: None,
        existing_returned: false,
        missing_created: false,
        radius_max: None,
        allow: Allow::User,
        allow_declared: true,
        steps: Vec::new(),
    }
}

/// A run of a pattern, with `name = $argument` bindings.
pub fn run(pattern: Pattern, bind: &[(&str, &str)]) -> Step {
    let bind = bind.iter().map(|(name, argument)| Assignment {
        name: named(name),
        expression: expression(ExpressionKind::Argument(argument.to_string())),
    });
    let name = pattern.name.value.clone();
    let bind = bind.collect();
    Step { name, action: StepAction::Run(Arc::new(pattern)), bind, span: Span::default() }
}

pub fn check(name: &str, target: Target) -> Step {
    let action = StepAction::Check { target, condition: None };
    Step { name: name.to_string(), action, bind: Vec::new(), span: Span::default() }
}

pub fn rows_argument(names: &[&str]) -> Argument {
    let argument = |name: &str, role| Argument {
        name: name.to_string(),
        argument_type: Type::Text,
        required: true,
        role,
    };
    let rows = names.iter().map(|name| argument(name, ArgumentRole::Key)).collect();
    argument("rows", ArgumentRole::Rows(rows))
}

pub fn keyspace(collections: &[&Arc<Collection>], patterns: Vec<Pattern>) -> Keyspace {
    Keyspace {
        name: named("test"),
        about: None,
        separator: ':',
        naming: Naming::AsWritten,
        stores: Vec::new(),
        collections: collections.iter().map(|collection| (*collection).clone()).collect(),
        patterns: patterns.into_iter().map(Arc::new).collect(),
        reasons: Default::default(),
        deferred: Vec::new(),
    }
}

/// The plan of the first pattern.
pub fn first(keyspace: &Keyspace) -> Plan {
    super::plan(keyspace, &keyspace.patterns[0])
}

pub fn bounds(plan: &Plan, store: StoreKind) -> Bounds {
    match plan.answer(store) {
        Answer::Refused(refusal) => panic!("{store}: {refusal:?}"),
        answer => *answer.bounds().unwrap(),
    }
}

/// The round trips on every store, in the order of `StoreKind::ALL`; 0 where it is refused.
pub fn trips(plan: &Plan) -> Vec<u64> {
    plan.answers().map(|(_, answer)| answer.bounds().map_or(0, |b| b.round_trips)).collect()
}
