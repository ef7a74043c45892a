//! The diagram as Mermaid: who goes to what, one box a collection.
//!
//! Nodes are numbered, so that no name can be taken for a word of Mermaid, and every label is
//! quoted. Only outlines are coloured: pages show them on light and on dark ground.

use super::arrange::{Touch, atomics, bands};
use super::escape::label;
use super::words;
use crate::model::{Key, Keyspace, Pattern};

/// How nodes look: colours of the outlines, the same as in the SVG.
const CLASSES: &str = "  classDef read stroke:#0969da,stroke-width:2px
  classDef write stroke:#bc4c00,stroke-width:2px
  classDef atomic stroke:#8250df,stroke-width:2px
";

/// A box that no line leaves would turn against the rest of the picture.
const DIRECTION: &str = "    direction LR";

/// The collections, indexes and patterns of a keyspace, as a Mermaid flowchart.
pub fn mermaid(keyspace: &Keyspace) -> String {
    let mut drawing = Drawing { text: format!("flowchart LR\n{CLASSES}"), patterns: 0 };
    // Mermaid stacks boxes that no line joins from the bottom up: last things come first.
    drawing.atomics(keyspace);
    for (number, band) in bands(keyspace).iter().enumerate().rev() {
        let collection = band.collection;
        drawing.line(&format!("  subgraph s{number}[\"{}\"]", label(&collection.name.value)));
        drawing.line(DIRECTION);
        let key = key_label(&collection.name.value, &collection.key, keyspace.separator);
        drawing.line(&format!("    c{number}[(\"{key}\")]"));
        for touch in &band.direct {
            drawing.touch(*touch, &format!("c{number}"));
        }
        for (place, (index, touches)) in band.indexes.iter().enumerate() {
            let node = format!("i{number}_{place}");
            let key = key_label(&index.name.value, &index.key, keyspace.separator);
            let shape = if index.unique { ("[[", "]]") } else { ("[", "]") };
            drawing.line(&format!("    {node}{}\"{key}\"{}", shape.0, shape.1));
            for touch in touches {
                drawing.touch(*touch, &node);
            }
            drawing.line(&format!("    {node} -.- c{number}"));
        }
        drawing.line("  end");
    }
    drawing.text
}

/// The text so far, and how many patterns have a node.
struct Drawing {
    text: String,
    patterns: usize,
}

impl Drawing {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A node for one use, and its arrow.
    fn touch(&mut self, touch: Touch<'_>, to: &str) {
        let class = if touch.is_read() { "read" } else { "write" };
        let words = match touch {
            Touch::Pattern(pattern) => named(pattern.verb.name(), pattern),
            Touch::Check(atomic) => named("check", atomic),
        };
        self.line(&format!("    p{}([\"{words}\"]):::{class} --> {to}", self.patterns));
        self.patterns += 1;
    }

    /// Every `atomic` with its steps behind it: arrows to the collections would cross everything.
    fn atomics(&mut self, keyspace: &Keyspace) {
        if atomics(keyspace).next().is_none() {
            return;
        }
        self.line("  subgraph batches[\"atomic: all steps or none\"]");
        self.line(DIRECTION);
        for (number, atomic) in atomics(keyspace).enumerate() {
            let words = named("atomic", atomic);
            self.line(&format!("    a{number}{{{{\"{words}\"}}}}:::atomic"));
            let mut from = format!("a{number}");
            for (place, step) in atomic.steps.iter().enumerate() {
                let to = format!("a{number}_{place}");
                let words = label(&words::step(step));
                let class = if words::step_reads(step) { "read" } else { "write" };
                self.line(&format!("    {from} --> {to}([\"{words}\"]):::{class}"));
                from = to;
            }
        }
        self.line("  end");
    }
}

/// A verb and a pattern's name, with its id.
fn named(verb: &str, pattern: &Pattern) -> String {
    let id = pattern.id.as_ref().map(|id| format!(" ({})", id.value)).unwrap_or_default();
    label(&format!("{verb} {}{id}", pattern.name.value))
}

/// A name over its key.
fn key_label(name: &str, key: &Key, separator: char) -> String {
    let (group, rest) = words::key_halves(key, separator);
    let rest = if rest.is_empty() { String::new() } else { format!(" | {rest}") };
    format!("{}<br/>{}", label(name), label(&format!("{group}{rest}")))
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn every_pattern_has_a_node_and_no_word_ends_a_label() {
        let keyspace = sample::keyspace();
        let text = mermaid(&keyspace);
        for pattern in &keyspace.patterns {
            assert!(text.contains(&label(&pattern.name.value)), "{}", pattern.name.value);
        }
        for line in text.lines() {
            let quotes = line.matches('"').count();
            assert!(quotes == 0 || quotes == 2, "{line}");
        }
        let opened = text.matches("subgraph ").count();
        assert_eq!(opened, text.lines().filter(|line| *line == "  end").count());
    }
}
