//! Keys that a table does not have: misspelt, left for later, or called otherwise elsewhere.

use super::known::{LATER, OTHER_WORDS, Shape};
use super::table::{Context, Table};
use crate::diagnostic::{Diagnostic, codes, listed, nearest};
use crate::model::Verb;
use crate::source::Spanned;

impl Table<'_> {
    /// The key that a word which is none was probably meant to be.
    pub(super) fn meant(&self, word: &str) -> Option<&'static str> {
        let names = || self.known.keys.iter().map(|known| known.name);
        if names().any(|name| name == word) {
            return None;
        }
        let other = OTHER_WORDS.iter().find(|(other, _)| *other == word);
        let other = other.and_then(|(_, meant)| names().find(|name| name == meant));
        other.or_else(|| nearest(word, names()))
    }

    /// The problem of a key that the table does not have, and which ones may have been meant.
    fn unknown_key(&self, key: &Spanned<String>, open: &[&str]) -> Diagnostic {
        let name = &key.value;
        let names = self.known.keys.iter().map(|known| known.name);
        // A condition of a write is no filter.
        let is_write = self
            .keys()
            .iter()
            .any(|key| Verb::ALL.iter().any(|verb| verb.name() == key.value && !verb.is_read()));
        let message = format!("{} has no key `{name}`", self.known.name);
        let problem = Diagnostic::new(&codes::UNKNOWN_KEY, key.span, message);
        if is_write && (name == "where" || name == "filter") {
            return problem.replace("the condition of a write is", key.span, "if");
        }
        if let Some((_, instead)) = LATER.iter().find(|(later, _)| later == name) {
            let message = format!("`{name}` is left for later");
            return Diagnostic::new(&codes::LEFT_FOR_LATER, key.span, message).fix(*instead);
        }
        let list = listed(names);
        let problem = match OTHER_WORDS.iter().find(|(other, _)| other == name) {
            Some((_, meant)) if open.contains(meant) => {
                problem.replace(format!("here it is called `{meant}`"), key.span, *meant)
            }
            _ => problem.suggest(key.span, name, open.iter().copied()),
        };
        problem.fix(format!("its keys are {list}"))
    }

    /// Reports every key that the table does not have.
    pub(super) fn refuse_unknown(&self, context: &mut Context<'_>) {
        let written = self.keys();
        // A setting that is there already was not meant a second time.
        let open = self.known.keys.iter().filter(|known| {
            matches!(known.shape, Shape::Tables(_))
                || !written.iter().any(|key| key.value == known.name)
        });
        let open: Vec<&str> = open.map(|known| known.name).collect();
        for key in self.keys() {
            if self.known.keys.iter().any(|known| known.name == key.value) {
                continue;
            }
            context.report(self.unknown_key(&key, &open));
        }
    }
}
