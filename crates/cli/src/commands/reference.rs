//! `keyway reference`: the pages of the notation, or the list of them.
//!
//! The pages are those of `docs/reference`; a page that is added there is found here.

use crate::answer::{Answer, Form};
use crate::arguments::Reference;
use crate::json;
use keyspace::diagnostic::nearest;
use serde_json::json;

include!(concat!(env!("OUT_DIR"), "/reference.rs"));

/// What the pages are about, in the order in which they are read; one not named here comes last.
const ABOUT: [(&str, &str); 7] = [
    ("keyspace", "the grammar, and every key of the file with an example"),
    ("templates", "keys: the bar, types, defaults, keys of indexes"),
    ("patterns", "what each verb takes, does and answers; batches; who may"),
    ("expressions", "conditions, computed values, functions"),
    ("stores", "what each store answers and holds, modes, limits"),
    ("commands", "calls, loads, exports and proofs: commands on stored data"),
    ("key-encoding", "the bytes and the text of a key, for other programs"),
];

/// Prints a page or the list.
pub(crate) fn run(options: &Reference, form: Form) -> Answer {
    let pages = ordered();
    let Some(topic) = &options.topic else {
        return Answer::done(match form.json {
            true => {
                let topics: Vec<_> = pages
                    .iter()
                    .map(|(topic, page)| json!({ "topic": topic, "title": title(page) }))
                    .collect();
                json::text(&json!({ "topics": topics }))
            }
            false => {
                let begin = "The notation in one page is in README.md; all of it begins with";
                format!("{}\n{begin}: keyway reference keyspace\n", list(&pages))
            }
        });
    };
    let wanted = topic.trim_end_matches(".md").to_lowercase();
    match pages.iter().find(|(topic, _)| *topic == wanted) {
        Some((topic, page)) if form.json => {
            Answer::done(json::text(&json!({ "topic": topic, "title": title(page), "page": page })))
        }
        Some((_, page)) => Answer::done(format!("{}\n", page.trim_end())),
        None => unknown(topic, &pages),
    }
}

fn ordered() -> Vec<(&'static str, &'static str)> {
    let mut pages = REFERENCE_PAGES.to_vec();
    let place = |topic: &str| ABOUT.iter().position(|(known, _)| *known == topic);
    pages.sort_by_key(|(topic, _)| place(topic).unwrap_or(usize::MAX));
    pages
}

/// The heading of a page.
fn title(page: &str) -> &str {
    page.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default()
}

fn list(pages: &[(&str, &str)]) -> String {
    let about = |topic: &str, page| {
        let known = ABOUT.iter().find(|(known, _)| *known == topic);
        known.map_or_else(|| title(page), |(_, about)| about)
    };
    pages.iter().map(|(topic, page)| format!("{topic:14}{}\n", about(topic, page))).collect()
}

fn unknown(topic: &str, pages: &[(&str, &str)]) -> Answer {
    let mut fix = match nearest(topic, pages.iter().map(|(topic, _)| *topic)) {
        Some(near) => format!("did you mean `{near}`? The topics are:"),
        None => "the topics are:".to_string(),
    };
    for line in list(pages).lines() {
        fix.push_str(&format!("\n  {line}"));
    }
    Answer::usage(&format!("there is no topic `{topic}`"), &fix)
}
