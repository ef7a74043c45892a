//! Reads `[pattern.*]` and `[deferred.*]`.

use super::collections::read_types;
use super::known;
use super::table::{Context, Item, Table};
use super::tree::{AllowTree, DeferredTree, PatternTree, StepTree, VerbTree};
use crate::diagnostic::{Diagnostic, codes};
use crate::model::Verb;
use crate::source::{Span, Spanned};
use toml::de::DeValue;

/// Reads one pattern.
pub fn read_pattern(
    context: &mut Context<'_>,
    name: Spanned<String>,
    item: &Item<'_>,
) -> Option<PatternTree> {
    let table = context.table(&known::PATTERN, item)?;
    Some(PatternTree {
        id: table.text(context, "id"),
        about: table.words(context, "about"),
        notes: table.words(context, "notes"),
        verbs: read_verbs(context, &table),
        by: table.strings(context, "by"),
        bind: table.expressions(context, "bind"),
        arguments: match table.item("arguments") {
            Some(item) => read_types(context, item),
            None => Vec::new(),
        },
        set: table.strings(context, "set").map(|names| {
            let span = table.item("set").map(|item| item.span().into()).unwrap_or(name.span);
            Spanned::new(names, span)
        }),
        compute: table.expressions(context, "compute"),
        condition: table.expression(context, "if"),
        if_version: table.boolean(context, "if_version"),
        page: table.integer(context, "page", crate::model::limits::PAGE_ROWS_MAX),
        many: table.integer(context, "many", crate::model::limits::MANY_MAX),
        order: table.text(context, "order"),
        fields: table.strings(context, "fields"),
        existing: table.word(context, "existing", &["return"]),
        missing: table.word(context, "missing", &["create"]),
        max_radius: table.number(context, "max_radius"),
        allow: read_allow(context, &table),
        keys: table.attempted(),
        name,
    })
}

fn read_verbs(context: &mut Context<'_>, table: &Table<'_>) -> Vec<VerbTree> {
    let mut verbs = Vec::new();
    for verb in Verb::ALL {
        let Some(item) = table.item(verb.name()) else { continue };
        let span = table.key_span(verb.name()).unwrap_or(table.span);
        let before = context.problems.len();
        let mut read = VerbTree { verb, span, target: None, steps: Vec::new(), is_readable: true };
        if verb == Verb::Atomic {
            read.steps = read_steps(context, item);
        } else {
            read.target = table.text(context, verb.name());
        }
        read.is_readable = context.problems.len() == before;
        verbs.push(read);
    }
    verbs
}

fn read_steps(context: &mut Context<'_>, item: &Item<'_>) -> Vec<StepTree> {
    let DeValue::Array(items) = item.get_ref() else {
        context.wrong_kind("`atomic`", "a list of steps", item);
        return Vec::new();
    };
    items.iter().filter_map(|step| read_step(context, step)).collect()
}

fn read_step(context: &mut Context<'_>, item: &Item<'_>) -> Option<StepTree> {
    if let DeValue::String(_) = item.get_ref() {
        let source = context.string("a step", item)?;
        let span = source.content();
        let run = Some(Spanned::new(source.text, span));
        return Some(StepTree {
            run,
            check: None,
            name: None,
            bind: Vec::new(),
            condition: None,
            span,
        });
    }
    let table = context.table(&known::STEP, item)?;
    Some(StepTree {
        run: table.text(context, "run"),
        check: table.text(context, "check"),
        name: table.text(context, "as"),
        bind: table.expressions(context, "bind"),
        condition: table.expression(context, "if"),
        span: table.span,
    })
}

fn read_allow(context: &mut Context<'_>, table: &Table<'_>) -> Option<AllowTree> {
    let item = table.item("allow")?;
    if let DeValue::Table(_) = item.get_ref() {
        let member = context.table(&known::MEMBER, item)?;
        return Some(AllowTree::Member {
            member: member.text(context, "member"),
            caller: member.text(context, "caller"),
            condition: member.expression(context, "if").map(|(expression, _)| expression),
            span: member.span,
        });
    }
    table.text(context, "allow").map(AllowTree::Word)
}

/// Reads one deferred pattern.
pub fn read_deferred(
    context: &mut Context<'_>,
    id: Spanned<String>,
    item: &Item<'_>,
) -> Option<DeferredTree> {
    let table = context.table(&known::DEFERRED, item)?;
    for missing in ["about", "reason"] {
        if table.item(missing).is_none() {
            report_missing(context, table.span, &id.value, missing);
        }
    }
    Some(DeferredTree {
        id,
        about: table.words(context, "about"),
        reason: table.words(context, "reason"),
        span: table.span,
    })
}

fn report_missing(context: &mut Context<'_>, span: Span, id: &str, missing: &str) {
    let message = format!("deferred pattern `{id}` has no `{missing}`");
    context.report(
        Diagnostic::new(&codes::MISSING_KEY, span, message)
            .fix("say the question in `about` and why it waits in `reason`"),
    );
}
