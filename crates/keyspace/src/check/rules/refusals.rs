//! KW101, KW108, KW111, KW113, KW116, KW304 and KW514: what a store refuses to serve.
//!
//! The plans decide; this rule only says it. A refusal is an error on a store the file is meant
//! for, and where no store serves the pattern; otherwise it is something to know.

use super::Facts;
use crate::diagnostic::{Diagnostic, Severity, codes};
use crate::model::StoreKind;
use crate::plan::{Plan, Refusal, plans};
use crate::source::Span;
use std::collections::HashSet;

pub fn check(facts: &Facts<'_>, problems: &mut Vec<Diagnostic>) {
    let mut said: HashSet<(Span, String)> = HashSet::new();
    for plan in plans(facts.keyspace) {
        let refusals = grouped(&plan);
        let mut codes: Vec<u16> = refusals.iter().map(|(refusal, _)| refusal.code).collect();
        codes.dedup();
        for code in codes {
            let of_code: Vec<_> = refusals.iter().filter(|(r, _)| r.code == code).collect();
            let problem = problem(facts, &plan, code, &of_code);
            // What is true of a collection is said once, not for each of its patterns.
            if said.insert((problem.span(), problem.message.clone())) {
                problems.push(problem);
            }
        }
    }
}

/// Equal refusals of several stores, together.
fn grouped(plan: &Plan) -> Vec<(Refusal, Vec<StoreKind>)> {
    let mut groups: Vec<(Refusal, Vec<StoreKind>)> = Vec::new();
    for (store, answer) in plan.answers() {
        let Some(refusal) = answer.refusal() else { continue };
        match groups.iter_mut().find(|(known, _)| known == refusal) {
            Some((_, stores)) => stores.push(store),
            None => groups.push((refusal.clone(), vec![store])),
        }
    }
    groups.sort_by_key(|(refusal, _)| refusal.code);
    groups
}

fn problem(
    facts: &Facts<'_>,
    plan: &Plan,
    number: u16,
    refusals: &[&(Refusal, Vec<StoreKind>)],
) -> Diagnostic {
    let everywhere = plan.is_refused_everywhere();
    let stores: Vec<StoreKind> =
        refusals.iter().flat_map(|(_, stores)| stores.iter().copied()).collect();
    let severity =
        if everywhere || facts.meant_for(&stores) { Severity::Error } else { Severity::Note };
    let code = codes::CODES.iter().find(|code| code.number == number);
    let code = code.copied().unwrap_or(&codes::VERB_AND_TARGET);
    let name = &plan.pattern.name.value;
    let names: Vec<&str> = stores.iter().map(|store| store.name()).collect();
    let place = if everywhere { "every store".to_string() } else { names.join(", ") };
    // What is true of all rows is said of their collection.
    let large = [codes::PARTITION_TOO_LARGE.number, codes::TOO_MANY_FILES.number];
    let shape = [codes::KEY_TOO_LONG.number, codes::BAD_TTL.number];
    let (message, span): (String, Span) = match &plan.pattern.target {
        Some(target) if large.contains(&number) => (
            format!("`{}` is too large for {place}", target.collection.name.value),
            target.collection.name.span,
        ),
        Some(target) if shape.contains(&number) => (
            format!("`{}` is refused on {place}", target.collection.name.value),
            target.collection.name.span,
        ),
        _ => (format!("`{name}` is refused on {place}"), plan.pattern.verb_span),
    };
    let mut problem = Diagnostic::new(code, span, message).severity(severity);
    for (refusal, stores) in refusals {
        let stores: &[StoreKind] = if everywhere { &[] } else { stores };
        problem = problem.on(stores, refusal.reason.clone());
        for fix in &refusal.fixes {
            if !problem.fixes.iter().any(|known| known.text == *fix) {
                problem = problem.fix(fix.clone());
            }
        }
    }
    problem
}
