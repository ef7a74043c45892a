//! A small keyspace with one of everything, for the tests of this folder. Its words are hostile.

use crate::model::{
    Allow, Argument, ArgumentRole, Assignment, Collection, Content, DefaultValue, Deferred, Expect,
    Expression, ExpressionKind, Field, Function, Index, Key, Keyspace, Naming, Part, Pattern,
    Segment, Step, StepAction, Target, Type, Verb,
};
use crate::source::{Span, Spanned};
use std::sync::Arc;

fn at<T>(value: T) -> Spanned<T> {
    Spanned::new(value, Span::default())
}

fn named(name: &str) -> Spanned<String> {
    at(name.to_string())
}

fn expression(kind: ExpressionKind) -> Expression {
    Expression { kind, span: Span::default() }
}

fn member(name: &str) -> Expression {
    expression(ExpressionKind::Member(name.to_string()))
}

fn literal(text: &str) -> Part {
    Part::Literal(text.to_string())
}

fn segment(name: &str, segment_type: Type, source: Option<Expression>) -> Part {
    Part::Segment(Segment {
        name: name.to_string(),
        segment_type,
        descending: name == "message_id",
        default: (name == "message_id").then_some(DefaultValue::New(None)),
        source,
        appended: false,
        span: Span::default(),
    })
}

fn key(parts: Vec<Part>, group_parts: usize) -> Key {
    let has_bar = group_parts < parts.len();
    Key { parts, group_parts, has_bar, span: Span::default() }
}

fn field(name: &str, field_type: Type) -> Field {
    Field { name: name.to_string(), field_type, default: None, span: Span::default() }
}

fn collection(name: &str, key: Key, content: Content, indexes: Vec<Index>) -> Arc<Collection> {
    Arc::new(Collection {
        name: named(name),
        table: name.to_string(),
        was: None,
        key,
        content,
        body: None,
        indexes: indexes.into_iter().map(Arc::new).collect(),
        immutable: false,
        ttl: None,
        cache: false,
        owner: None,
        tenant: None,
        bucket: None,
        expect: Expect { rows_per_group: Some(500), ..Expect::default() },
        file: None,
        fields_file: None,
        notes: Some("Rows | with `code`".to_string()),
        history: None,
    })
}

fn pattern(name: &str, verb: Verb, target: Option<Target>, by: &[&str]) -> Pattern {
    Pattern {
        name: named(name),
        id: None,
        about: Some(format!("Asks \"{name}\" | <now> #1; `end`")),
        notes: None,
        verb,
        verb_span: Span::default(),
        target,
        arguments: by.iter().map(|name| argument(name)).collect(),
        by: by.iter().map(|name| name.to_string()).collect(),
        bind: Vec::new(),
        set: Vec::new(),
        compute: Vec::new(),
        condition: None,
        if_version: false,
        page: (verb == Verb::List).then_some(50),
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

fn argument(name: &str) -> Argument {
    Argument {
        name: name.to_string(),
        argument_type: Type::Enum(vec!["a".to_string(), "b".to_string()]),
        required: true,
        role: ArgumentRole::Key,
    }
}

fn target(collection: &Arc<Collection>, index: Option<&str>) -> Option<Target> {
    let index = index.and_then(|name| collection.index(name).cloned());
    Some(Target { collection: collection.clone(), index, field: None, span: Span::default() })
}

fn users() -> Arc<Collection> {
    let folded = expression(ExpressionKind::Call(Function::Lower, vec![member("email")]));
    let by_email = Index {
        name: named("users_by_email"),
        key: key(vec![literal("email"), segment("email", Type::Text, Some(folded))], 2),
        unique: true,
        keep: Vec::new(),
        when: None,
        bucket: None,
        expect: Expect::default(),
        file: None,
        was: None,
        notes: None,
    };
    let own = key(vec![literal("user"), segment("user_id", Type::Uuid, None)], 2);
    let fields = vec![field("email", Type::Text), field("人の名前", Type::Text)];
    collection("users", own, Content::Fields(fields), vec![by_email])
}

fn messages() -> Arc<Collection> {
    let parts = vec![
        literal("channel"),
        segment("channel_id", Type::TimeUuid, None),
        literal("messages"),
        segment("message_id", Type::TimeUuid, None),
    ];
    collection("messages", key(parts, 3), Content::Json, Vec::new())
}

fn steps(users: &Arc<Collection>, send: &Arc<Pattern>) -> Vec<Step> {
    let check = target(users, None)
        .map(|target| StepAction::Check { target, condition: Some(member("active")) });
    let actions = check.into_iter().chain([StepAction::Run(send.clone())]);
    let steps = actions.enumerate().map(|(number, action)| Step {
        name: if number == 0 { "mine" } else { "send" }.to_string(),
        action,
        bind: vec![Assignment {
            name: named("author"),
            expression: expression(ExpressionKind::Caller),
        }],
        span: Span::default(),
    });
    steps.collect()
}

/// Two collections, an index, and five patterns, one named like a collection.
pub(super) fn keyspace() -> Keyspace {
    let (users, messages) = (users(), messages());
    let send = pattern("send_message", Verb::Insert, target(&messages, None), &["channel_id"]);
    let send = Arc::new(Pattern { id: Some(named("AP-1")), allow: Allow::Step, ..send });
    let post = pattern("post", Verb::Atomic, None, &[]);
    let post = Pattern { steps: steps(&users, &send), ..post };
    let long = "a_name_as_long_as_any_name_may_be_in_this_notation";
    let patterns = vec![
        pattern("users", Verb::Get, target(&users, None), &["user_id"]),
        pattern("find", Verb::Get, target(&users, Some("users_by_email")), &["email"]),
        pattern(long, Verb::List, target(&messages, None), &["channel_id"]),
        post,
    ];
    let mut patterns: Vec<Arc<Pattern>> = patterns.into_iter().map(Arc::new).collect();
    patterns.push(send);
    Keyspace {
        name: named("sample"),
        about: Some("Every \"kind\" of <thing> & more".to_string()),
        separator: ':',
        naming: Naming::CamelCase,
        stores: Vec::new(),
        collections: vec![users, messages],
        patterns,
        reasons: Default::default(),
        deferred: vec![Deferred {
            id: named("AP-D1"),
            about: "Search | rank".to_string(),
            reason: "needs `words`".to_string(),
            span: Span::default(),
        }],
    }
}
