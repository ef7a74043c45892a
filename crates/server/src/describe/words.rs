//! What is said of a pattern, in sentences.

use keyspace::model::{Allow, Pattern, StepAction, StoreKind, Verb};
use keyspace::parse::grouped;
use keyspace::plan::{Bounds, Plan};

/// What a pattern is for: its own sentence, or what its verb does.
pub fn summary(pattern: &Pattern) -> String {
    match &pattern.about {
        Some(about) => about.clone(),
        None => {
            let target = pattern.target.as_ref().map(|target| target.text()).unwrap_or_default();
            format!("{} {target}", pattern.verb).trim_end().to_string()
        }
    }
}

/// Everything to know before a call: the file's notes, what comes back, who may, what it costs.
pub fn description(plan: &Plan, store: StoreKind) -> String {
    let pattern = &plan.pattern;
    let mut parts: Vec<String> = pattern.notes.iter().map(|notes| sentence(notes)).collect();
    parts.extend(answer(pattern));
    parts.push(allow(pattern));
    parts.extend(plan.answer(store).bounds().map(|bounds| cost(bounds, store)));
    parts.join(" ")
}

/// What a model reads of a tool: what it does, the file's notes, and how to read the answer.
pub fn tool(pattern: &Pattern) -> String {
    let mut parts = vec![sentence(&summary(pattern))];
    parts.extend(pattern.notes.iter().map(|notes| sentence(notes)));
    parts.extend(answer(pattern));
    parts.join(" ")
}

/// What is not plain from the schema of the answer.
fn answer(pattern: &Pattern) -> Option<String> {
    let rows = || grouped(pattern.page.unwrap_or(keyspace::model::limits::PAGE_ROWS_MAX));
    Some(match pattern.verb {
        Verb::Get if pattern.many.is_some() => {
            "Rows that are not there are answered as null, in their place.".to_string()
        }
        Verb::List => format!(
            "Answers up to {} rows; while `next` is not null there may be more: call again with it \
             as `cursor`.",
            rows()
        ),
        Verb::Near => format!("Answers up to {} rows, the nearest first.", rows()),
        Verb::Insert if pattern.existing_returned => {
            "A row that is there already is answered instead, with `existed`.".to_string()
        }
        Verb::Insert => "A row that is there already is a conflict.".to_string(),
        Verb::Update if pattern.set.len() > 1 && pattern.compute.is_empty() => {
            "Give at least one of the values to change.".to_string()
        }
        Verb::Delete => "A row that is not there is no error.".to_string(),
        Verb::Take => {
            "Answers the row it took; nothing to take is answered as not found.".to_string()
        }
        Verb::Atomic => "All of it is done, or nothing.".to_string(),
        _ => return None,
    })
}

/// Who may call, those of the steps included.
fn allow(pattern: &Pattern) -> String {
    let mut all = vec![who(&pattern.allow)];
    for step in &pattern.steps {
        if let StepAction::Run(run) = &step.action
            && run.allow != Allow::Step
            && !all.contains(&who(&run.allow))
        {
            all.push(who(&run.allow));
        }
    }
    format!("May be called by {}.", all.join(", and by "))
}

fn who(allow: &Allow) -> String {
    match allow {
        Allow::Owner => "the owner of the row, who is the caller".to_string(),
        Allow::User => "any caller with a token".to_string(),
        Allow::Role(role) => format!("callers with the role `{role}`"),
        Allow::Public => "anybody".to_string(),
        Allow::Step => "nobody directly".to_string(),
        Allow::Member(member) => format!(
            "callers whose `{}` has a row in `{}`{}",
            member.caller,
            member.collection,
            member.condition.as_ref().map(|when| format!(" with `{when}`")).unwrap_or_default(),
        ),
    }
}

fn cost(bounds: &Bounds, store: StoreKind) -> String {
    let counted = |number: u64, one: &str, many: &str| match number {
        1 => format!("1 {one}"),
        number => format!("{} {many}", grouped(number)),
    };
    let trips = counted(bounds.round_trips, "round trip", "round trips");
    let rows = match (bounds.rows_read, bounds.rows_written) {
        (read, 0) => format!("reads {}", counted(read, "row", "rows")),
        (0, written) => format!("writes {}", counted(written, "row", "rows")),
        (read, written) => {
            format!("reads {} and writes {}", counted(read, "row", "rows"), grouped(written))
        }
    };
    let again = match bounds.attempts {
        0 | 1 => String::new(),
        attempts => format!(", up to {attempts} times while others change the same row"),
    };
    format!("On {store}, a call takes at most {trips}, and {rows} at most{again}.")
}

/// The words as a sentence, with its full stop.
fn sentence(words: &str) -> String {
    let words = words.trim();
    match words.ends_with(['.', '!', '?', ':']) {
        true => words.to_string(),
        false => format!("{words}."),
    }
}
