//! `keyway check`: every problem of a file, or how each store answers it; of stores that were asked
//! for, what every pattern costs there.
//!
//! The report is what was asked for, so it goes to standard output, good or bad.

use crate::answer::{Answer, Form};
use crate::arguments::Check;
use crate::failure::Status;
use crate::json;
use crate::report::{self, Report, counted};
use keyspace::diagnostic::render::Style;
use keyspace::diagnostic::{Diagnostic, Severity};
use keyspace::model::{Keyspace, StoreKind};
use keyspace::plan::{self, Plan, explain, plans};
use serde::Serialize;

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Checked {
    #[serde(flatten)]
    problems: json::Problems,
    keyspace: Option<Size>,
    stores: Vec<Tally>,
}

#[derive(Debug, Serialize)]
struct Size {
    name: String,
    patterns: usize,
    collections: usize,
    indexes: usize,
}

/// How one store answers all patterns.
#[derive(Debug, Serialize)]
struct Tally {
    store: &'static str,
    native: usize,
    assisted: usize,
    refused: usize,
    /// What every pattern costs, where the store was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    patterns: Vec<Price>,
}

/// What a pattern costs on a store.
#[derive(Debug, Serialize)]
struct Price {
    name: String,
    answer: &'static str,
    /// At most, in one attempt; nothing where it is refused.
    round_trips: Option<u64>,
    /// What Keyway finishes, in words.
    price: Option<String>,
}

/// Checks a file.
pub(crate) fn run(options: &Check, form: Form) -> Answer {
    let mut report = match report::read(&options.file, &options.store) {
        Ok(report) => report,
        Err(answer) => return answer,
    };
    report.diagnostics.retain(|one| concerns(one, &options.store));
    if !options.store.is_empty() {
        let wanted = with_those_named(&report.input.text, &options.store);
        report.diagnostics.iter_mut().for_each(|one| leave_out_others(one, &wanted));
    }
    // What one pattern is refused for does not hide what the others cost.
    let others = match report.is_sound() || options.store.is_empty() {
        true => None,
        false => keyspace::read_for(&report.input.text, &[]).keyspace,
    };
    let plans = report.keyspace.as_ref().or(others.as_ref()).map(plans).unwrap_or_default();
    let tallies = tallies(&plans, &options.store);
    let output = if form.json {
        json::text(&Checked {
            problems: json::Problems::of(&report),
            keyspace: report.keyspace.as_ref().map(size),
            stores: tallies,
        })
    } else {
        let asked = StoreKind::ALL.into_iter().filter(|store| options.store.contains(store));
        let prices = asked.map(|store| explain::prices(&plans, store));
        let prices = if plans.is_empty() { Vec::new() } else { prices.collect() };
        described(&report, &tallies, &prices, &options.file, form.style)
    };
    let status = if report.is_sound() { Status::Done } else { Status::Problems };
    Answer { status, ..Answer::done(output) }
}

/// Who asks for some stores does not want to hear what the others refuse.
fn concerns(diagnostic: &Diagnostic, asked: &[StoreKind]) -> bool {
    let stores: Vec<StoreKind> =
        diagnostic.effects.iter().flat_map(|effect| effect.stores.clone()).collect();
    diagnostic.severity != Severity::Note
        || asked.is_empty()
        || stores.is_empty()
        || stores.iter().any(|store| asked.contains(store))
}

/// What the file's own stores refuse is an error of it, whoever asks.
fn with_those_named(text: &str, asked: &[StoreKind]) -> Vec<StoreKind> {
    let (tree, _) = keyspace::parse::parse(text);
    let named = tree.keyspace.stores.iter().map(|store| store.value);
    asked.iter().copied().chain(named).collect()
}

/// Keeps what a diagnostic says of the stores that were asked for, unless that is nothing.
fn leave_out_others(diagnostic: &mut Diagnostic, asked: &[StoreKind]) {
    let concerned =
        |stores: &[StoreKind]| stores.is_empty() || stores.iter().any(|one| asked.contains(one));
    if !diagnostic.effects.iter().any(|effect| concerned(&effect.stores)) {
        return;
    }
    let named = named_stores(diagnostic);
    diagnostic.effects.retain(|effect| concerned(&effect.stores));
    for effect in &mut diagnostic.effects {
        effect.stores.retain(|store| asked.contains(store));
    }
    let left = named_stores(diagnostic);
    if let Some(before) = diagnostic.message.strip_suffix(&named)
        && !left.is_empty()
    {
        diagnostic.message = format!("{before}{left}");
    }
}

/// The stores of all effects as a headline names them at its end: `redis-cluster, cassandra`.
fn named_stores(diagnostic: &Diagnostic) -> String {
    let stores = diagnostic.effects.iter().flat_map(|effect| &effect.stores);
    stores.map(|store| store.name()).collect::<Vec<_>>().join(", ")
}

fn tallies(plans: &[Plan], asked: &[StoreKind]) -> Vec<Tally> {
    if plans.is_empty() {
        return Vec::new();
    }
    let shown = StoreKind::ALL.into_iter();
    let shown = shown.filter(|store| asked.is_empty() || asked.contains(store));
    let mut tallies: Vec<Tally> = shown.map(|store| tally(plans, store)).collect();
    if asked.is_empty() {
        tallies.iter_mut().for_each(|tally| tally.patterns.clear());
    }
    tallies
}

fn tally(plans: &[Plan], store: StoreKind) -> Tally {
    let patterns = plans.iter().map(|plan| price(plan, store)).collect();
    let mut tally = Tally { store: store.name(), native: 0, assisted: 0, refused: 0, patterns };
    for plan in plans {
        match plan.answer(store) {
            plan::Answer::Native(_) => tally.native += 1,
            plan::Answer::Assisted { .. } => tally.assisted += 1,
            plan::Answer::Refused(_) => tally.refused += 1,
        }
    }
    tally
}

fn price(plan: &Plan, store: StoreKind) -> Price {
    let answer = plan.answer(store);
    let price = match answer {
        plan::Answer::Assisted { price, .. } => Some(price.clone()),
        _ => None,
    };
    Price {
        name: plan.pattern.name.value.clone(),
        answer: answer.word(),
        round_trips: answer.bounds().map(|bounds| bounds.round_trips),
        price,
    }
}

fn described(
    report: &Report,
    tallies: &[Tally],
    prices: &[String],
    path: &str,
    style: Style,
) -> String {
    let mut text = report.drawn(style, Severity::Warning);
    match &report.keyspace {
        Some(keyspace) if report.is_sound() => {
            text.push_str(&success_line(report, keyspace));
            text.push('\n');
            text.push_str(&table(tallies));
            prices.iter().for_each(|price| text.push_str(&format!("\n{price}")));
            text.push_str(&notes(report));
            text.push_str(&format!(
                "\narguments and costs of a pattern: keyway explain {path} PATTERN\n"
            ));
        }
        _ => {
            prices.iter().for_each(|price| text.push_str(&format!("{price}\n")));
            text.push_str(&report.closing_line());
        }
    }
    text
}

fn success_line(report: &Report, keyspace: &Keyspace) -> String {
    let size = size(keyspace);
    let warnings = match report.count(Severity::Warning) {
        0 => String::new(),
        count => format!(", {}", counted(count, "warning")),
    };
    format!(
        "{}: {}, {}, {}: all answered by bounded work{warnings}\n",
        report.input.name,
        counted(size.patterns, "pattern"),
        counted(size.collections, "collection"),
        counted(size.indexes, "index"),
    )
}

fn size(keyspace: &Keyspace) -> Size {
    Size {
        name: keyspace.name.value.clone(),
        patterns: keyspace.patterns.len(),
        collections: keyspace.collections.len(),
        indexes: keyspace.collections.iter().map(|collection| collection.indexes.len()).sum(),
    }
}

fn table(tallies: &[Tally]) -> String {
    let mut text = format!("{:14}{:>8}{:>10}{:>9}\n", "store", "native", "assisted", "refused");
    for tally in tallies {
        let Tally { store, native, assisted, refused, .. } = tally;
        text.push_str(&format!("{store:14}{native:>8}{assisted:>10}{refused:>9}\n"));
    }
    text
}

/// Notes in a line each: what they say in full is a matter of `explain` and `--json`.
fn notes(report: &Report) -> String {
    let mut text = String::new();
    for note in report.diagnostics.iter().filter(|one| one.severity == Severity::Note) {
        text.push_str(&format!("\nnote[{}]: {}", note.code, note.message));
        for effect in &note.effects {
            text.push_str(&format!("\n  {}", effect.text));
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}
