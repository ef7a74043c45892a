//! `keyway explain`: how each pattern is answered, and what it costs at most.

use crate::answer::{Answer, Form};
use crate::arguments::Explain;
use crate::failure::Failure;
use crate::json;
use crate::report::read_sound;
use keyspace::model::{Keyspace, StoreKind};
use keyspace::plan::{self, Bounds, Plan, explain, plans};
use serde::Serialize;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Explained {
    patterns: Vec<PatternPlan>,
    collections: Vec<CollectionMode>,
}

#[derive(Debug, Serialize)]
struct PatternPlan {
    name: String,
    id: Option<String>,
    about: Option<String>,
    verb: &'static str,
    target: Option<String>,
    allow: String,
    arguments: Vec<Argument>,
    steps: Vec<String>,
    stores: Vec<StoreAnswer>,
}

#[derive(Debug, Serialize)]
struct Argument {
    name: String,
    r#type: String,
    required: bool,
}

#[derive(Debug, Serialize)]
struct StoreAnswer {
    store: &'static str,
    answer: &'static str,
    /// What Keyway finishes, and what that costs.
    price: Option<String>,
    /// Why it is refused.
    reason: Option<String>,
    fixes: Vec<String>,
    most: Option<Most>,
}

/// The most one call costs.
#[derive(Debug, Serialize)]
struct Most {
    round_trips: u64,
    attempts: u64,
    rows_read: u64,
    rows_written: u64,
    bytes_read: u64,
    bytes_read_usual: u64,
    bytes_written: u64,
    bytes_written_usual: u64,
    transactions: u64,
}

#[derive(Debug, Serialize)]
struct CollectionMode {
    name: String,
    mode: String,
}

/// Explains one pattern, or all of them in a table.
pub(crate) fn run(options: &Explain, form: Form) -> Answer {
    let keyspace = match read_sound(&options.file, form) {
        Ok(keyspace) => keyspace,
        Err(answer) => return answer,
    };
    let mut plans = plans(&keyspace);
    if let Some(name) = &options.pattern {
        plans.retain(|plan| plan.pattern.name.value == *name);
        if plans.is_empty() {
            return Answer::failed(Failure::no_pattern(&keyspace, name));
        }
    }
    if form.json {
        return Answer::done(json::text(&explained(&keyspace, &plans, options.store)));
    }
    match plans.as_slice() {
        [one] if options.pattern.is_some() => {
            Answer::done(explain::text(&keyspace, one, options.store))
        }
        _ => {
            let table = explain::table(&plans, options.store);
            Answer::done(format!("{}\n\n{}", table.trim_end(), explain::modes(&keyspace)))
        }
    }
}

fn explained(keyspace: &Keyspace, plans: &[Plan], store: Option<StoreKind>) -> Explained {
    let mode = |collection: &std::sync::Arc<keyspace::model::Collection>| CollectionMode {
        name: collection.name.value.clone(),
        mode: keyspace.mode(collection).to_string(),
    };
    Explained {
        patterns: plans.iter().map(|plan| pattern_plan(plan, store)).collect(),
        collections: keyspace.collections.iter().map(mode).collect(),
    }
}

fn pattern_plan(plan: &Plan, store: Option<StoreKind>) -> PatternPlan {
    let pattern = &plan.pattern;
    let argument = |one: &keyspace::model::Argument| Argument {
        name: one.name.clone(),
        r#type: one.argument_type.to_string(),
        required: one.required,
    };
    PatternPlan {
        name: pattern.name.value.clone(),
        id: pattern.id.as_ref().map(|id| id.value.clone()),
        about: pattern.about.clone(),
        verb: pattern.verb.name(),
        target: pattern.target.as_ref().map(|target| target.text()),
        allow: pattern.allow.to_string(),
        arguments: pattern.arguments.iter().map(argument).collect(),
        steps: plan.steps.iter().map(ToString::to_string).collect(),
        stores: plan
            .answers()
            .filter(|(kind, _)| store.is_none_or(|store| store == *kind))
            .map(|(kind, answer)| store_answer(kind, answer))
            .collect(),
    }
}

fn store_answer(store: StoreKind, answer: &plan::Answer) -> StoreAnswer {
    let price = match answer {
        plan::Answer::Assisted { price, .. } => Some(price.clone()),
        _ => None,
    };
    let refusal = answer.refusal();
    StoreAnswer {
        store: store.name(),
        answer: answer.word(),
        price,
        reason: refusal.map(|refusal| refusal.reason.clone()),
        fixes: refusal.map(|refusal| refusal.fixes.clone()).unwrap_or_default(),
        most: answer.bounds().map(most),
    }
}

fn most(bounds: &Bounds) -> Most {
    Most {
        round_trips: bounds.round_trips,
        attempts: bounds.attempts,
        rows_read: bounds.rows_read,
        rows_written: bounds.rows_written,
        bytes_read: bounds.bytes_read,
        bytes_read_usual: bounds.bytes_read_usual,
        bytes_written: bounds.bytes_written,
        bytes_written_usual: bounds.bytes_written_usual,
        transactions: bounds.transactions,
    }
}
