//! The page: title, contents, diagram, patterns, tables, collections, what waits.
//!
//! Sections are written in the order in which their anchors are made; a link to a later section is
//! known before that section is written.

use super::arrange::{Band, Touch, atomics_with, bands};
use super::escape::{self, Anchors};
use super::{collection, mermaid, pattern};
use crate::model::{Keyspace, Naming, Pattern};
use std::collections::HashMap;

/// The headings of the page between the title and the end.
const DIAGRAM: &str = "Diagram";
const PATTERNS: &str = "Access patterns";
const TABLES: &str = "Tables and the patterns they answer";
const COLLECTIONS: &str = "Collections";
const DEFERRED: &str = "Deferred";

/// The documentation of a keyspace, as GitHub-flavoured Markdown.
pub fn markdown(keyspace: &Keyspace) -> String {
    let page = Page::new(keyspace);
    let mut sections = vec![page.head(), page.contents(), page.diagram(), page.patterns()];
    sections.push(page.tables());
    sections.push(page.collections());
    if !keyspace.deferred.is_empty() {
        sections.push(page.deferred());
    }
    let mut text = sections.join("\n");
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// The keyspace and the anchor of every heading.
pub(super) struct Page<'a> {
    pub keyspace: &'a Keyspace,
    chapters: Vec<(&'static str, String)>,
    patterns: HashMap<&'a str, String>,
    collections: HashMap<&'a str, String>,
}

impl<'a> Page<'a> {
    fn new(keyspace: &'a Keyspace) -> Self {
        let mut anchors = Anchors::default();
        let mut chapters = Vec::new();
        let mut patterns = HashMap::new();
        let mut collections = HashMap::new();
        anchors.next(&keyspace.name.value);
        anchors.next("Contents");
        let last = if keyspace.deferred.is_empty() { None } else { Some(DEFERRED) };
        for chapter in [DIAGRAM, PATTERNS, TABLES, COLLECTIONS].into_iter().chain(last) {
            chapters.push((chapter, anchors.next(chapter)));
            if chapter == PATTERNS {
                for pattern in &keyspace.patterns {
                    let heading = pattern::heading(pattern);
                    patterns.insert(pattern.name.value.as_str(), anchors.next(&heading));
                }
            }
            if chapter == COLLECTIONS {
                for collection in &keyspace.collections {
                    let name = collection.name.value.as_str();
                    collections.insert(name, anchors.next(name));
                }
            }
        }
        Page { keyspace, chapters, patterns, collections }
    }

    /// A link to a pattern's section.
    pub fn pattern_link(&self, name: &str) -> String {
        match self.patterns.get(name) {
            Some(anchor) => escape::link(name, anchor),
            None => escape::code(name),
        }
    }

    /// A link to a collection's section, shown with other words.
    pub fn collection_link(&self, words: &str, name: &str) -> String {
        match self.collections.get(name) {
            Some(anchor) => escape::link(words, anchor),
            None => escape::code(words),
        }
    }

    fn head(&self) -> String {
        let keyspace = self.keyspace;
        let mut text = format!("# {}\n", escape::text(&keyspace.name.value));
        if let Some(about) = &keyspace.about {
            text.push_str(&format!("\n{}\n", escape::paragraph(about)));
        }
        if !keyspace.stores.is_empty() {
            let names = keyspace.stores.iter().map(|store| store.value.name());
            text.push_str(&format!("\nStores: {}.\n", names.collect::<Vec<_>>().join(", ")));
        }
        if keyspace.naming == Naming::CamelCase {
            text.push_str(
                "\nNames stand here as they are declared; JSON, HTTP, MCP, files and Redis show \
                 them in camelCase.\n",
            );
        }
        text
    }

    fn contents(&self) -> String {
        let mut text = String::from("## Contents\n\n");
        for (chapter, anchor) in &self.chapters {
            text.push_str(&format!("- {}\n", escape::link(chapter, anchor)));
        }
        text
    }

    fn diagram(&self) -> String {
        format!("## {DIAGRAM}\n\n```mermaid\n{}```\n", mermaid(self.keyspace))
    }

    fn patterns(&self) -> String {
        let head = ["Id", "Pattern", "Question", "Verb", "By", "Answered from"];
        let rows = self.keyspace.patterns.iter().map(|pattern| self.summary(pattern)).collect();
        let mut text = format!("## {PATTERNS}\n\n{}", table(&head, rows));
        for pattern in &self.keyspace.patterns {
            text.push('\n');
            text.push_str(&pattern::section(self, pattern));
        }
        text
    }

    /// The row of a pattern in the table of all patterns.
    fn summary(&self, pattern: &Pattern) -> Vec<String> {
        let by = pattern.by.iter().map(|name| escape::code(name)).collect::<Vec<_>>();
        vec![
            pattern.id.as_ref().map(|id| escape::cell(&id.value)).unwrap_or_default(),
            self.pattern_link(&pattern.name.value),
            pattern.about.as_deref().map(escape::cell).unwrap_or_default(),
            pattern.verb.name().to_string(),
            by.join(", "),
            pattern::answered_from(self, pattern),
        ]
    }

    fn tables(&self) -> String {
        let mut rows = Vec::new();
        for band in bands(self.keyspace) {
            rows.extend(self.band_rows(&band));
        }
        format!("## {TABLES}\n\n{}", table(&["Table", "Holds", "Patterns"], rows))
    }

    fn band_rows(&self, band: &Band<'_>) -> Vec<Vec<String>> {
        let name = band.collection.name.value.as_str();
        let kind = if band.collection.history.is_some() { "history" } else { "collection" };
        let mut rows = vec![vec![
            escape::code(&band.collection.table),
            format!("{kind} {}", self.collection_link(name, name)),
            self.touches(&band.direct),
        ]];
        for (index, touches) in &band.indexes {
            let unique = if index.unique { "unique index" } else { "index" };
            let patterns = match (touches.is_empty(), index.unique) {
                (true, true) => "none; it keeps its key unique".to_string(),
                _ => self.touches(touches),
            };
            rows.push(vec![
                escape::code(&index.name.value),
                format!("{unique} of {}", self.collection_link(name, name)),
                patterns,
            ]);
        }
        rows
    }

    fn touches(&self, touches: &[Touch<'_>]) -> String {
        let links = touches.iter().map(|touch| match touch {
            Touch::Pattern(pattern) => {
                let link = self.pattern_link(&pattern.name.value);
                match self.atomic_links(pattern) {
                    Some(atomics) => format!("{link} (in {atomics})"),
                    None => link,
                }
            }
            Touch::Check(atomic) => {
                format!("{} (a check)", self.pattern_link(&atomic.name.value))
            }
        });
        let links: Vec<String> = links.collect();
        if links.is_empty() { "none".to_string() } else { links.join(", ") }
    }

    /// Links to the `atomic` patterns that run a pattern; none if there are none.
    pub fn atomic_links(&self, pattern: &Pattern) -> Option<String> {
        let atomics = atomics_with(self.keyspace, pattern);
        let links: Vec<String> =
            atomics.map(|atomic| self.pattern_link(&atomic.name.value)).collect();
        (!links.is_empty()).then(|| links.join(", "))
    }

    fn collections(&self) -> String {
        let mut text = format!("## {COLLECTIONS}\n");
        for one in &self.keyspace.collections {
            text.push('\n');
            text.push_str(&collection::section(self.keyspace, one));
        }
        text
    }

    fn deferred(&self) -> String {
        let rows = self.keyspace.deferred.iter().map(|deferred| {
            let words = [&deferred.id.value, &deferred.about, &deferred.reason];
            words.into_iter().map(|words| escape::cell(words)).collect()
        });
        let head = ["Id", "Question", "Why it waits"];
        format!("## {DEFERRED}\n\n{}", table(&head, rows.collect()))
    }
}

/// A table; its cells are escaped already.
pub(super) fn table(head: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut text = format!("| {} |\n", head.join(" | "));
    text.push_str(&format!("|{}\n", "---|".repeat(head.len())));
    for row in rows {
        text.push('|');
        for cell in row {
            let cell = if cell.is_empty() { String::from(" ") } else { format!(" {cell} ") };
            text.push_str(&cell);
            text.push('|');
        }
        text.push('\n');
    }
    text
}

/// A table of two columns without a head of its own; rows without words are left out.
pub(super) fn facts(rows: Vec<(&str, String)>) -> String {
    let rows = rows.into_iter().filter(|(_, words)| !words.is_empty());
    table(&["", ""], rows.map(|(name, words)| vec![format!("**{name}**"), words]).collect())
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    /// The anchors of a page's headings, made again from the text.
    fn anchors(text: &str) -> Vec<String> {
        let mut anchors = Anchors::default();
        let headings = text.lines().filter(|line| line.starts_with('#'));
        headings.map(|line| anchors.next(line.trim_start_matches('#').trim_start())).collect()
    }

    #[test]
    fn every_link_leads_to_a_heading() {
        let text = markdown(&sample::keyspace());
        let anchors = anchors(&text);
        let links = text.split("](#").skip(1).filter_map(|rest| rest.split(')').next());
        let mut count = 0;
        for link in links {
            assert!(anchors.iter().any(|anchor| anchor == link), "{link} in {anchors:?}");
            count += 1;
        }
        assert!(count > 10);
    }

    #[test]
    fn rows_of_a_table_have_as_many_cells_as_its_head() {
        let text = markdown(&sample::keyspace());
        let mut cells = 0;
        for line in text.lines() {
            let bars = line.replace("\\|", "").matches('|').count();
            match (line.starts_with('|'), cells) {
                (false, _) => cells = 0,
                (true, 0) => cells = bars,
                (true, _) => assert_eq!(bars, cells, "{line}"),
            }
        }
    }

    #[test]
    fn steps_and_deferred_patterns_are_there() {
        let text = markdown(&sample::keyspace());
        assert!(text.contains("| 1 | `mine` | check: a row looked at |"), "{text}");
        assert!(text.contains("| AP-D1 | Search \\| rank | needs `words` |"), "{text}");
        assert!(text.contains("| **Partition key** | `channel_id` |"));
        assert!(text.contains("| **Clustering key** | `message_id desc` |"));
    }
}
