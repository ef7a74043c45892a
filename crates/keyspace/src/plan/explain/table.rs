//! The table of all patterns: one line each, for every store or for one.

use super::super::Plan;
use super::super::bounds::Answer;
use super::{WIDTH, bytes_text, goes_by, wrapped};
use crate::model::StoreKind;
use crate::parse::grouped;

/// Every pattern in a line: what all stores answer, or one store in detail.
pub fn table(plans: &[Plan], store: Option<StoreKind>) -> String {
    match store {
        None => all_stores(plans),
        Some(store) => one_store(plans, store),
    }
}

fn all_stores(plans: &[Plan]) -> String {
    let columns = columns(plans);
    let tall = columns.iter().map(Vec::len).max().unwrap_or(0);
    let mut rows: Vec<Vec<String>> = Vec::new();
    for line in 0..tall {
        let last = line + 1 == tall;
        let name = |text: &str| if last { text.to_string() } else { String::new() };
        let mut row = vec![name("pattern"), name("verb"), name("goes by")];
        // Names of stores with the same answers stand above each other, on the same ground.
        row.extend(columns.iter().map(|stores| {
            let above = tall - stores.len();
            let store = line.checked_sub(above).and_then(|number| stores.get(number));
            store.map(|store| store.to_string()).unwrap_or_default()
        }));
        rows.push(row);
    }
    for plan in plans {
        let mut row = about(plan);
        let firsts = columns.iter().filter_map(|stores| stores.first());
        row.extend(firsts.map(|store| cell(plan.answer(*store))));
        rows.push(row);
    }
    let mut out = aligned(&rows, tall, &[]);
    out.push_str(
        "\nThe number after an answer is that of its round trips, at most, in one attempt.\n",
    );
    out
}

/// The stores, those together that give every pattern the same cell.
fn columns(plans: &[Plan]) -> Vec<Vec<StoreKind>> {
    let cells = |store: StoreKind| -> Vec<String> {
        plans.iter().map(|plan| cell(plan.answer(store))).collect()
    };
    let mut columns: Vec<(Vec<String>, Vec<StoreKind>)> = Vec::new();
    for store in StoreKind::ALL {
        let own = cells(store);
        match columns.iter_mut().find(|(cells, _)| *cells == own) {
            Some((_, stores)) => stores.push(store),
            None => columns.push((own, vec![store])),
        }
    }
    columns.into_iter().map(|(_, stores)| stores).collect()
}

fn cell(answer: &Answer) -> String {
    match answer.bounds() {
        Some(bounds) => format!("{} {}", answer.word(), bounds.round_trips),
        None => answer.word().to_string(),
    }
}

fn about(plan: &Plan) -> Vec<String> {
    let pattern = &plan.pattern;
    vec![pattern.name.value.clone(), pattern.verb.to_string(), goes_by(pattern)]
}

fn one_store(plans: &[Plan], store: StoreKind) -> String {
    let heads = [
        "pattern",
        "verb",
        "goes by",
        "answer",
        "trips",
        "tries",
        "reads",
        "writes",
        "bytes read",
        "bytes written",
    ];
    let mut rows = vec![heads.map(String::from).to_vec()];
    let mut notes = Vec::new();
    for plan in plans {
        let answer = plan.answer(store);
        let mut row = about(plan);
        row.push(answer.word().to_string());
        if let Some(bounds) = answer.bounds() {
            row.extend([
                bounds.round_trips.to_string(),
                bounds.attempts.to_string(),
                grouped(bounds.rows_read),
                grouped(bounds.rows_written),
                range(bounds.bytes_read_usual, bounds.bytes_read),
                range(bounds.bytes_written_usual, bounds.bytes_written),
            ]);
        }
        rows.push(row);
        let name = &plan.pattern.name.value;
        match answer {
            Answer::Native(_) => {}
            Answer::Assisted { price, .. } => notes.push(format!("{name}: {price}")),
            Answer::Refused(refusal) => {
                notes.push(format!("{name}: refused (KW{:03}), {}", refusal.code, refusal.reason));
            }
        }
    }
    let mut out = aligned(&rows, 1, &[4, 5, 6, 7]);
    out.push_str(
        "\nReads and writes are rows; bytes are usual and at most; all for one attempt.\n",
    );
    if !notes.is_empty() {
        out.push('\n');
    }
    for note in notes {
        out.push_str(&wrapped(&note, 2));
        out.push('\n');
    }
    out
}

/// What every pattern costs on a store: round trips at most, and what is assisted at which price.
pub fn prices(plans: &[Plan], store: StoreKind) -> String {
    let names = plans.iter().map(|plan| plan.pattern.name.value.chars().count());
    let width = names.max().unwrap_or(0);
    let mut out = format!("trips  on {store}, at most, in one attempt\n");
    for plan in plans {
        let answer = plan.answer(store);
        let trips = answer.bounds().map_or("–".to_string(), |bounds| grouped(bounds.round_trips));
        let more = match answer {
            Answer::Native(_) => String::new(),
            Answer::Assisted { price, .. } => price.clone(),
            Answer::Refused(refusal) => format!("refused (KW{:03})", refusal.code),
        };
        let line = format!("{trips:>5}  {:width$}  ", plan.pattern.name.value);
        let indent = line.chars().count();
        out.push_str(wrapped(&format!("{line}{more}"), indent).trim_end());
        out.push('\n');
    }
    out
}

/// `300 B–2 MiB`, or nothing.
fn range(usual: u64, most: u64) -> String {
    match most {
        0 => "–".to_string(),
        _ => format!("{}, {}", bytes_text(usual), bytes_text(most)),
    }
}

/// Columns side by side, as wide as needed; the first and third give way where a line is too wide.
fn aligned(rows: &[Vec<String>], heads: usize, to_the_right: &[usize]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut widths = vec![0usize; columns];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let total = widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1);
    let mut excess = total.saturating_sub(WIDTH);
    for column in [2, 0] {
        if let Some(width) = widths.get_mut(column) {
            let give = excess.min(width.saturating_sub(12));
            *width -= give;
            excess -= give;
        }
    }
    let mut out = String::new();
    for (number, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            if column > 0 {
                line.push_str("  ");
            }
            let cell = cut(cell, *width);
            match to_the_right.contains(&column) {
                true => line.push_str(&format!("{cell:>width$}")),
                false => line.push_str(&format!("{cell:<width$}")),
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
        if number + 1 == heads {
            let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            out.push_str(&rule.join("  "));
            out.push('\n');
        }
    }
    out
}

fn cut(text: &str, width: usize) -> String {
    match text.chars().count() > width {
        true => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_string(),
    }
}
