//! Text to tree. Never fails: whatever can be made out is in the tree, the rest in the problems.
//!
//! ```text
//! bytes ─▶ TOML with places ─▶ tables of known keys ─▶ templates, types, expressions ─▶ Tree
//! ```

mod collections;
mod cursor;
mod expression;
mod expression_names;
pub mod known;
mod patterns;
mod strings;
mod table;
mod template;
mod toml_version;
mod tree;
mod types;
mod unknown_keys;

pub use expression::read_expression;
pub use strings::SourceString;
pub use table::{grouped, parse_duration};
pub use template::{Template, TemplatePart, TemplateSegment};
pub use tree::{
    AllowTree, BucketTree, CollectionTree, DeferredTree, ExpectTree, FieldTree, IndexTree,
    KeepTree, KeyspaceTree, PatternTree, StepTree, Tree, VerbTree,
};
pub use types::SIMPLE_TYPES;

use crate::diagnostic::{Diagnostic, codes};
use crate::model::limits::FILE_BYTES_MAX;
use crate::model::{Naming, StoreKind};
use crate::source::{Span, Spanned};
use table::{Context, Item};
use toml::de::{DeTable, DeValue};

/// The text of a file's bytes. A problem's place is one of `String::from_utf8_lossy(bytes)`, which
/// is what can be drawn of such a file.
pub fn decode(bytes: &[u8]) -> Result<&str, Diagnostic> {
    str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let message =
            format!("this is not TOML: byte {} of the file is not UTF-8", grouped(at as u64));
        let span = Span::new(at, at + char::REPLACEMENT_CHARACTER.len_utf8());
        Diagnostic::new(&codes::NOT_TOML, span, message).fix("save the file as UTF-8")
    })
}

/// Reads a file.
pub fn parse(text: &str) -> (Tree, Vec<Diagnostic>) {
    if text.len() > FILE_BYTES_MAX {
        let message = format!("the file has {} bytes", grouped(text.len() as u64));
        let limit = grouped(FILE_BYTES_MAX as u64);
        let problem = Diagnostic::new(&codes::FILE_TOO_LARGE, Span::new(0, 0), message)
            .fix(format!("a keyspace file has at most {limit} bytes; split the keyspace"));
        return (Tree::default(), vec![problem]);
    }
    let (root, errors) = DeTable::parse_recoverable(text);
    let mut context = Context { file: text, separator: ':', problems: Vec::new() };
    context.problems.extend(errors.iter().map(|error| not_toml(text, error)));
    if errors.is_empty() {
        context.problems.extend(toml_version::refuse_newer(text));
    }
    let span: Span = root.span().into();
    let root: Item<'_> =
        toml::Spanned::new(span.start..span.end, DeValue::Table(root.into_inner()));
    let tree = read_file(&mut context, &root);
    (tree, context.problems)
}

fn not_toml(text: &str, error: &toml::de::Error) -> Diagnostic {
    let span = error.span().map(Span::from).unwrap_or_default();
    let message = error.message().lines().next().unwrap_or_default();
    let problem = Diagnostic::new(&codes::NOT_TOML, span, format!("this is not TOML: {message}"));
    let part = text.get(span.start..span.end).unwrap_or_default();
    if message.starts_with("duplicate key") {
        return problem.fix(format!("keep one `{part}`, or give the second another name"));
    }
    problem.fix("text stands in quotes, tables begin with `[name]`, settings are `key = value`")
}

fn read_file(context: &mut Context<'_>, root: &Item<'_>) -> Tree {
    let mut tree = Tree { is_readable: true, ..Tree::default() };
    let Some(file) = context.table(&known::FILE, root) else { return tree };
    match file.item("keyspace") {
        Some(item) => tree.keyspace = read_keyspace(context, item),
        None => context.report(
            Diagnostic::new(&codes::MISSING_KEY, Span::new(0, 0), "the file has no [keyspace]")
                .paste("begin it with", "[keyspace]\nname = \"app\""),
        ),
    }
    context.separator = tree.keyspace.separator.unwrap_or(':');
    tree.keys = file.attempted();
    let tables = |context: &mut Context<'_>, kind: &str| match file.item(kind) {
        Some(item) => context.entries(&format!("[{kind}]"), item),
        None => Vec::new(),
    };
    for (name, item) in tables(context, "collection") {
        tree.collections.extend(collections::read_collection(context, name, item));
    }
    for (name, item) in tables(context, "history") {
        tree.collections.extend(collections::read_history(context, name, item));
    }
    tree.collections.sort_by_key(|collection| collection.name.span);
    for (name, item) in tables(context, "pattern") {
        tree.patterns.extend(patterns::read_pattern(context, name, item));
    }
    for (id, item) in tables(context, "deferred") {
        tree.deferred.extend(patterns::read_deferred(context, id, item));
    }
    tree
}

fn read_keyspace(context: &mut Context<'_>, item: &Item<'_>) -> KeyspaceTree {
    let Some(table) = context.table(&known::KEYSPACE, item) else {
        return KeyspaceTree::default();
    };
    let name = table.text(context, "name");
    if table.item("name").is_none() {
        context.report(
            Diagnostic::new(&codes::MISSING_KEY, table.span, "the keyspace has no name")
                .paste("name it", "name = \"app\""),
        );
    }
    let separator = table.word(context, "separator", &[":", "/"]);
    let naming = table.word(context, "names", &["camelCase"]);
    let stores = table.strings(context, "stores").unwrap_or_default();
    KeyspaceTree {
        span: table.span,
        name,
        about: table.words(context, "about"),
        separator: separator.and_then(|text| text.value.chars().next()),
        naming: if naming.is_some() { Naming::CamelCase } else { Naming::AsWritten },
        stores: read_stores(context, stores),
    }
}

fn read_stores(context: &mut Context<'_>, names: Vec<Spanned<String>>) -> Vec<Spanned<StoreKind>> {
    let mut stores = Vec::new();
    for name in names {
        match StoreKind::from_name(&name.value) {
            Some(kind) if stores.iter().any(|known: &Spanned<_>| known.value == kind) => {}
            Some(kind) => stores.push(Spanned::new(kind, name.span)),
            None => context.report(
                Diagnostic::new(
                    &codes::UNKNOWN_STORE,
                    name.span,
                    format!("there is no store `{}`", name.value),
                )
                .suggest(name.span, &name.value, known::STORES.iter().copied())
                .fix(format!("the stores are {}", known::STORES.join(", "))),
            ),
        }
    }
    stores
}
