//! What calls are answered, as types of Rust.

use crate::code::Code;
use crate::names::{Names, identifier};
use crate::naming::Naming;
use keyspace::model::{Content, Keyspace, Pattern, Step, StepAction, Target, Verb};

/// The Rust type of what a pattern is answered.
pub fn answer(
    keyspace: &Keyspace,
    naming: &Naming,
    pattern: &Pattern,
    target: &Target,
    partial: Option<&str>,
) -> String {
    let collection = &target.collection;
    let row = partial.unwrap_or_else(|| naming.row(collection));
    // A version is worth having where some pattern takes one back.
    let is_versioned = partial.is_none()
        && !pattern.is_covered()
        && keyspace.patterns_of(collection).any(|pattern| pattern.if_version);
    let read = match is_versioned {
        true => format!("::keyway::Versioned<{row}>"),
        false => row.to_string(),
    };
    let one = match (pattern.verb, &collection.content) {
        (Verb::List, _) => return format!("::keyway::Page<{read}>"),
        (Verb::Near, _) => return format!("::std::vec::Vec<{read}>"),
        (Verb::Get, Content::Counter) if pattern.many.is_none() && partial.is_none() => {
            "i64".to_string()
        }
        (Verb::Get, _) => format!("::std::option::Option<{read}>"),
        (Verb::Delete, _) => "::keyway::Deleted".to_string(),
        (Verb::Add, Content::Counter) => "i64".to_string(),
        (Verb::Add, Content::Window { .. }) => "::keyway::Window".to_string(),
        _ => format!("::keyway::Changed<{row}>"),
    };
    match pattern.many {
        Some(_) => format!("::std::vec::Vec<{one}>"),
        None => one,
    }
}

/// The struct of what an `atomic` is answered: a field for each step that runs a pattern.
pub fn results(
    code: &mut Code,
    naming: &Naming,
    keyspace: &Keyspace,
    atomic: &Pattern,
    name: &str,
) {
    let mut taken = Names::default();
    let repeats = may_be_done_before(atomic);
    let steps = runs(atomic);
    let fields: Vec<(String, String, &str)> = steps
        .filter_map(|(step, run)| {
            // A step answers whole rows, whatever its pattern shows by itself.
            let of = answer(keyspace, naming, run, run.target.as_ref()?, None);
            Some((taken.claim(&[identifier(&step.name)]), of, run.name.value.as_str()))
        })
        .collect();
    let mut docs = vec![format!("What `{}` is answered.", atomic.name.value)];
    if repeats {
        docs.push(
            "If all of it was done before, nothing is done again: the step that found its row \
                 says so, and the others may be `None`."
                .to_string(),
        );
    }
    code.docs(docs);
    code.line("#[allow(dead_code)]");
    code.line("#[derive(Clone, Debug, PartialEq)]");
    code.open(format!("pub struct {name} {{"));
    for (field, of, run) in &fields {
        code.docs([format!("What `{run}` is answered.")]);
        match repeats {
            true => code.line(format!("pub {field}: ::std::option::Option<{of}>,")),
            false => code.line(format!("pub {field}: {of},")),
        }
    }
    code.close("}");
    code.line("");
    code.open(format!("impl ::keyway::typed::FromAnswer for {name} {{"));
    code.open("fn from_answer(answer: ::keyway::Answer) -> ::keyway::Result<Self> {");
    code.line("let mut results = ::keyway::typed::Results::of(answer)?;");
    code.open(format!("::std::result::Result::Ok({name} {{"));
    let take = if repeats { "take_known" } else { "take" };
    fields.iter().for_each(|(field, ..)| code.line(format!("{field}: results.{take}()?,")));
    code.close("})");
    code.close("}");
    code.close("}");
    code.line("");
}

/// The steps of an `atomic` that run a pattern.
fn runs(atomic: &Pattern) -> impl Iterator<Item = (&Step, &Pattern)> {
    atomic.steps.iter().filter_map(|step| match &step.action {
        StepAction::Run(run) => Some((step, run.as_ref())),
        StepAction::Check { .. } => None,
    })
}

/// Whether a step may find its own row there, which makes the whole done before.
fn may_be_done_before(atomic: &Pattern) -> bool {
    runs(atomic).any(|(_, run)| {
        let target = run.target.as_ref();
        let immutable = target.is_some_and(|target| target.collection.immutable);
        run.existing_returned || (immutable && matches!(run.verb, Verb::Insert | Verb::Put))
    })
}
