//! The sheet a layout is printed on: headings, names with their kind, notes and examples.
//!
//! Every store's print goes through here, so that they read alike.

use super::Serves;
use super::uses;
use crate::model::{Collection, Keyspace, Mode, StoreKind, Ttl, duration_text};

/// Text under construction.
pub(super) struct Sheet {
    text: String,
}

impl Sheet {
    /// A sheet with the keyspace's name, the store and what the keyspace is for.
    pub fn new(keyspace: &Keyspace, store: StoreKind) -> Sheet {
        let mut sheet = Sheet { text: format!("{} on {store}\n", keyspace.name.value) };
        if let Some(about) = &keyspace.about {
            sheet.line(0, about);
        }
        sheet
    }

    /// A line, so many levels in.
    pub fn line(&mut self, level: usize, text: &str) {
        self.text.push_str(&"    ".repeat(level));
        self.text.push_str(text.trim_end());
        self.text.push('\n');
    }

    /// An empty line.
    pub fn gap(&mut self) {
        self.text.push('\n');
    }

    /// The head of a collection: its name, how rows are written and when they end.
    pub fn collection(&mut self, keyspace: &Keyspace, collection: &Collection) {
        let mut facts = vec![match keyspace.mode(collection) {
            Mode::Conditional => match keyspace.why_conditional(collection) {
                Some(reason) => format!("conditional: {reason}"),
                None => Mode::Conditional.to_string(),
            },
            mode => mode.to_string(),
        }];
        match &collection.ttl {
            Some(Ttl::After(milliseconds)) => {
                let after = i64::try_from(*milliseconds).unwrap_or(i64::MAX);
                facts.push(format!("ends after {}", duration_text(after)));
            }
            Some(Ttl::Field(field)) => facts.push(format!("ends at {}", keyspace.shown(field))),
            None => {}
        }
        facts.extend(collection.immutable.then(|| "immutable".to_string()));
        facts.extend(collection.cache.then(|| "may be evicted".to_string()));
        self.gap();
        self.line(0, &format!("{} ({})", collection.name.value, facts.join("; ")));
    }

    /// The patterns that go by a key.
    pub fn patterns(&mut self, keyspace: &Keyspace, serves: &Serves) {
        let names = uses::patterns(keyspace, serves);
        if !names.is_empty() {
            self.line(2, &format!("asked by {}", names.join(", ")));
        }
    }

    /// What was written.
    pub fn finish(self) -> String {
        self.text
    }
}
