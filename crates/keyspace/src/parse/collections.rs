//! Reads `[collection.*]` and `[history.*]`.

use super::cursor::Cursor;
use super::known;
use super::strings::SourceString;
use super::table::{A_LENGTH_OF_TIME, Context, Item, Table, grouped};
use super::template::{Template, TemplateKind, read_file_name, read_template};
use super::tree::{BucketTree, CollectionTree, ExpectTree, FieldTree, IndexTree, KeepTree};
use super::types::{read_default, read_type};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::limits::{FIELDS_MAX, INDEXES_MAX};
use crate::model::{FileName, StoreKind};
use crate::source::Spanned;
use toml::de::DeValue;

/// Reads one collection.
pub fn read_collection(
    context: &mut Context<'_>,
    name: Spanned<String>,
    item: &Item<'_>,
) -> Option<CollectionTree> {
    let table = context.table(&known::COLLECTION, item)?;
    let mut collection = read_shared(context, &table, name, false);
    if let Some(item) = table.item("fields") {
        let fields = read_types(context, item);
        // A misspelt type is read as the one that was meant; what cannot be is missing.
        let DeValue::Table(written) = item.get_ref() else { return None };
        collection.fields_unread = fields.len() < written.len();
        collection.fields = Some(fields);
    }
    let values: &[&str] = &["json", "text", "bytes", "counter", "window"];
    collection.value = table.word(context, "value", values);
    collection.limit = table.integer(context, "limit", 1_000_000_000);
    collection.per = table.duration(context, "per");
    collection.body = table.word(context, "body", &["bytes", "text"]);
    collection.immutable = table.boolean(context, "immutable");
    collection.ttl = match table.item("ttl") {
        Some(item) if !matches!(item.get_ref(), DeValue::String(_)) => {
            context.wrong_kind("`ttl`", A_LENGTH_OF_TIME, item);
            None
        }
        _ => table.string(context, "ttl"),
    };
    collection.cache = table.boolean(context, "cache");
    collection.bucket = read_bucket(context, &table);
    collection.file = read_file(context, &table, "file");
    collection.fields_file = read_file(context, &table, "fields_file");
    if let Some(indexes) = table.item("index") {
        for (name, item) in context.entries("`index`", indexes) {
            if collection.indexes.len() >= INDEXES_MAX {
                let message = format!("a collection has at most {INDEXES_MAX} indexes");
                context.report(
                    Diagnostic::new(&codes::OUT_OF_RANGE, name.span, message)
                        .effect("every write would change an entry of each")
                        .fix("leave some out"),
                );
                break;
            }
            collection.indexes.extend(read_index(context, name, item));
        }
    }
    Some(collection)
}

/// Reads one history.
pub fn read_history(
    context: &mut Context<'_>,
    name: Spanned<String>,
    item: &Item<'_>,
) -> Option<CollectionTree> {
    let table = context.table(&known::HISTORY, item)?;
    let mut history = read_shared(context, &table, name, true);
    history.keep = match table.item("keep") {
        Some(item) if matches!(item.get_ref(), DeValue::Integer(_)) => table
            .integer(context, "keep", 1_000_000_000)
            .map(|number| Spanned::new(KeepTree::Versions(number.value), number.span)),
        Some(_) => table
            .text(context, "keep")
            .map(|text| Spanned::new(KeepTree::Text(text.value), text.span)),
        None => None,
    };
    history.compact_when = table.text(context, "compact_when");
    Some(history)
}

/// What collections and histories have in common.
fn read_shared(
    context: &mut Context<'_>,
    table: &Table<'_>,
    name: Spanned<String>,
    is_history: bool,
) -> CollectionTree {
    let key = read_key(context, table, &name.value, TemplateKind::Own);
    CollectionTree {
        name,
        is_history,
        key,
        fields: None,
        fields_unread: false,
        value: None,
        limit: None,
        per: None,
        body: None,
        immutable: None,
        ttl: None,
        cache: None,
        owner: table.text(context, "owner"),
        tenant: table.text(context, "tenant"),
        bucket: None,
        expect: read_expect(context, table),
        file: None,
        fields_file: None,
        table: table.text(context, "table"),
        was: table.text(context, "was"),
        notes: table.words(context, "notes"),
        indexes: Vec::new(),
        keep: None,
        compact_when: None,
        keys: table.attempted(),
    }
}

fn read_index(
    context: &mut Context<'_>,
    name: Spanned<String>,
    item: &Item<'_>,
) -> Option<IndexTree> {
    let table = context.table(&known::INDEX, item)?;
    let key = read_key(context, &table, &name.value, TemplateKind::Index);
    Some(IndexTree {
        name,
        key,
        unique: table.boolean(context, "unique"),
        keep: table.strings(context, "keep").unwrap_or_default(),
        when: table.expression(context, "when").map(|(expression, _)| expression),
        bucket: read_bucket(context, &table),
        expect: read_expect(context, &table),
        file: read_file(context, &table, "file"),
        was: table.text(context, "was"),
        notes: table.words(context, "notes"),
        keys: table.attempted(),
    })
}

fn read_key(
    context: &mut Context<'_>,
    table: &Table<'_>,
    name: &str,
    kind: TemplateKind,
) -> Option<Template> {
    if table.item("key").is_none() {
        let (what, example) = match kind {
            TemplateKind::Own => ("collection", format!("key = \"{name}:{{id: uuid = new}}\"")),
            TemplateKind::Index => ("index", "key = \"email:{lower(email)}\"".to_string()),
        };
        context.report(
            Diagnostic::new(&codes::MISSING_KEY, table.span, format!("{what} `{name}` has no key"))
                .paste("give it one, for example", example),
        );
        return None;
    }
    let source = table.string(context, "key")?;
    read_template(&source, kind, context.separator, &mut context.problems)
}

fn read_file(context: &mut Context<'_>, table: &Table<'_>, name: &str) -> Option<FileName> {
    let source = table.string(context, name)?;
    read_file_name(&source, &mut context.problems)
}

fn read_bucket(context: &mut Context<'_>, table: &Table<'_>) -> Option<BucketTree> {
    let bucket = context.table(&known::BUCKET, table.item("bucket")?)?;
    let by = bucket.text(context, "by");
    let every = bucket.duration(context, "every");
    for missing in ["by", "every"] {
        if bucket.item(missing).is_none() {
            context.report(
                Diagnostic::new(
                    &codes::MISSING_KEY,
                    bucket.span,
                    format!("this bucket has no `{missing}`"),
                )
                .fix("write it as `{ by = \"created_at\", every = \"10d\" }`"),
            );
        }
    }
    Some(BucketTree { by: by?, every: every?, span: bucket.span })
}

fn read_expect(context: &mut Context<'_>, table: &Table<'_>) -> ExpectTree {
    let Some(expect) = table.item("expect").and_then(|item| context.table(&known::EXPECT, item))
    else {
        return ExpectTree::default();
    };
    ExpectTree {
        rows_per_group: expect.integer(context, "rows_per_group", 1_000_000_000_000),
        rows_per_day: expect.integer(context, "rows_per_day", 1_000_000_000_000),
        row_bytes: expect.integer(context, "row_bytes", 1 << 20),
    }
}

/// Reads names and types: fields, or declared arguments.
pub fn read_types(context: &mut Context<'_>, item: &Item<'_>) -> Vec<FieldTree> {
    let mut fields = Vec::new();
    for (name, value) in context.entries("a table of types", item) {
        if fields.len() >= FIELDS_MAX {
            let message = format!("there are at most {} fields", grouped(FIELDS_MAX as u64));
            context.report(
                Diagnostic::new(&codes::OUT_OF_RANGE, name.span, message)
                    .on(&[StoreKind::Postgres], "a table has at most 1,600 columns")
                    .fix("keep the rest in a field of type `json`, or in another collection"),
            );
            break;
        }
        let Some(source) = context.string(&format!("the type of `{}`", name.value), value) else {
            continue;
        };
        fields.extend(read_field(context, name, &source));
    }
    fields
}

fn read_field(
    context: &mut Context<'_>,
    name: Spanned<String>,
    source: &SourceString,
) -> Option<FieldTree> {
    let mut cursor = Cursor::new(source);
    let field_type = read_type(&mut cursor, &mut context.problems)?;
    cursor.skip_spaces();
    let mut default = None;
    if cursor.take("=") {
        default = Some(read_default(&mut cursor, &mut context.problems)?);
        cursor.skip_spaces();
    }
    if !cursor.is_at_end() {
        let start = cursor.position();
        cursor.move_to(usize::MAX);
        let span = cursor.span_from(start);
        let problem =
            Diagnostic::new(&codes::UNKNOWN_TYPE, span, "this is not part of a field's type");
        let rest = source.text.get(start..).unwrap_or_default().to_ascii_lowercase();
        let problem = match rest.trim_start_matches(['|', ' ']).split(' ').next() {
            Some("null" | "nullable" | "optional") => {
                problem.fix("what may be missing has a `?`: `\"date?\"`")
            }
            Some("default") => problem.fix("a default follows a `=`: `\"bool = false\"`"),
            _ => problem.fix("write a type and, if wanted, a default: `\"timestamp = now\"`"),
        };
        context.report(problem);
    }
    Some(FieldTree { name, field_type, default })
}
