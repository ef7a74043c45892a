//! The diagram as one SVG: patterns, the indexes they go through, the collections they reach.
//!
//! No script, no font, no image from elsewhere; colours follow the reader's light or dark setting.
//! Where things stand is decided in `place`; here they are drawn.

use super::arrange::Touch;
use super::escape::xml;
use super::place::{
    Area, Batches, INSET, KEY_SIZE, LINE, MARGIN, NAME_SIZE, PADDING, Panel, Placed, PlacedIndex,
    TITLE_SIZE, VERB_WIDTH, WIDTH, badges, place, step_words,
};
use super::width::{fit, monospaced, proportional};
use super::words;
use crate::model::{Keyspace, Verb};

/// Looks. Custom properties are avoided: some renderers of pictures do not know them.
const STYLE: &str = "
text { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif }
text { fill: #1f2328 }
.mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
.ground { fill: #ffffff }
.panel { fill: #f6f8fa; stroke: #d8dee4 }
.card { fill: #ffffff; stroke: #c4ccd5 }
.strong { font-weight: 600 }
text.quiet, tspan.quiet { fill: #59636e }
.segment { fill: #0a6b5d }
.line { fill: none; stroke-width: 1.5 }
.read { stroke: #0969da } .read-fill, text.read-fill { fill: #0969da }
.write { stroke: #bc4c00 } .write-fill, text.write-fill { fill: #bc4c00 }
.atomic { stroke: #8250df } .atomic-fill, text.atomic-fill { fill: #8250df }
.entry { stroke: #818b98 } .entry-fill { fill: #818b98 }
.tint { fill-opacity: .1 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.ground { fill: #0d1117 }
.panel { fill: #151b23; stroke: #2a313c }
.card { fill: #0d1117; stroke: #3d444d }
text.quiet, tspan.quiet { fill: #9198a1 }
.segment { fill: #5dd3c1 }
.read { stroke: #4493f8 } .read-fill, text.read-fill { fill: #4493f8 }
.write { stroke: #f0883e } .write-fill, text.write-fill { fill: #f0883e }
.atomic { stroke: #ab7df8 } .atomic-fill, text.atomic-fill { fill: #ab7df8 }
.entry { stroke: #656c76 } .entry-fill { fill: #656c76 }
.tint { fill-opacity: .18 }
}
";

/// The collections, indexes and patterns of a keyspace, as an SVG picture 1200 wide.
pub fn svg(keyspace: &Keyspace) -> String {
    let placed = place(keyspace);
    let mut canvas = Canvas::default();
    canvas.head(keyspace, placed.height);
    canvas.heading(keyspace, &placed);
    for panel in &placed.panels {
        canvas.panel(panel);
    }
    if let Some(batches) = &placed.batches {
        canvas.batches(batches);
    }
    canvas.line("</svg>");
    canvas.text
}

/// The picture so far.
#[derive(Default)]
struct Canvas {
    text: String,
}

impl Canvas {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn head(&mut self, keyspace: &Keyspace, height: f64) {
        let name = xml(&keyspace.name.value);
        self.line(&format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             width=\"{WIDTH}\" height=\"{height}\" role=\"img\" \
             aria-labelledby=\"title description\">"
        ));
        self.line(&format!("<title id=\"title\">The keyspace {name}</title>"));
        self.line(&format!("<desc id=\"description\">{}</desc>", xml(&description(keyspace))));
        self.line(&format!("<style>{STYLE}</style>"));
        self.line(&format!("<rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>"));
    }

    /// The name, the legend, and the heads of the columns.
    fn heading(&mut self, keyspace: &Keyspace, placed: &Placed<'_>) {
        let legend = self.legend(placed.batches.is_some(), placed.columns.indexes.is_some());
        let room = legend - MARGIN - 24.0;
        let name = fit(&keyspace.name.value, room, |text| proportional(text, 24.0));
        self.text(MARGIN, 44.0, 22.0, "strong", &name);
        if let Some(about) = &keyspace.about {
            let about = fit(about, WIDTH - MARGIN * 2.0, |text| proportional(text, 13.0));
            self.text(MARGIN, 66.0, 13.0, "quiet", &about);
        }
        let columns = &placed.columns;
        let heads = [
            (Some(columns.patterns), "Patterns"),
            (columns.indexes, "Indexes"),
            (Some(columns.collections), "Collections"),
        ];
        for (column, words) in heads {
            if let Some(column) = column {
                self.text(column.x, 100.0, NAME_SIZE, "quiet strong", words);
            }
        }
    }

    /// The meaning of the lines, set against the right edge; answers where it begins.
    fn legend(&mut self, atomics: bool, indexes: bool) -> f64 {
        let entries = [
            (indexes, "entry", "index entry to its row", " stroke-dasharray=\"2 4\""),
            (atomics, "atomic", "step of an atomic", ""),
            (true, "write", "write", ""),
            (true, "read", "read", ""),
        ];
        let mut right = WIDTH - MARGIN;
        for (_, class, words, dashes) in entries.into_iter().filter(|entry| entry.0) {
            let path = format!("M{} 40h28", number(right - 28.0));
            self.line(&format!("<path class=\"line {class}\"{dashes} d=\"{path}\"/>"));
            self.end_text(right - 36.0, 44.0, NAME_SIZE, "quiet", words);
            right -= 36.0 + proportional(words, NAME_SIZE) + 16.0;
        }
        right
    }

    fn panel(&mut self, panel: &Panel<'_>) {
        self.area(panel.area, "panel", 10.0);
        for (touch, area) in &panel.rows {
            self.arrow(*touch, *area, panel.card.x);
        }
        for index in &panel.indexes {
            let level = number(index.area.middle());
            let path = format!("M{} {level}H{}", number(index.area.right()), number(panel.card.x));
            self.line(&format!(
                "<path class=\"line entry\" stroke-dasharray=\"2 4\" d=\"{path}\"/>"
            ));
            for (touch, area) in &index.rows {
                self.arrow(*touch, *area, index.area.x);
            }
            self.index(index);
        }
        for (touch, area) in panel.all_rows() {
            self.pattern(*touch, *area);
        }
        self.card(panel);
    }

    /// A level line from a pattern to what it reaches.
    fn arrow(&mut self, touch: Touch<'_>, from: Area, to: f64) {
        self.arrow_between(class_of(touch), (from.right(), from.middle()), to);
    }

    fn arrow_between(&mut self, class: &str, from: (f64, f64), to: f64) {
        let (start, level) = (number(from.0), number(from.1));
        let end = number(to - 6.0);
        self.line(&format!("<path class=\"line {class}\" d=\"M{start} {level}H{end}\"/>"));
        let tip = number(to - 1.0);
        self.line(&format!("<path class=\"{class}-fill\" d=\"M{tip} {level}l-8 -4v8z\"/>"));
    }

    fn pattern(&mut self, touch: Touch<'_>, area: Area) {
        let class = class_of(touch);
        self.line("<g>");
        if let Some(about) = touch.about() {
            self.line(&format!("<title>{}</title>", xml(about)));
        }
        self.area(area, "card", 6.0);
        let base = area.middle() + 4.0;
        let chip = Area {
            x: area.x + 4.0,
            y: area.y + 4.0,
            width: VERB_WIDTH - 4.0,
            height: area.height - 8.0,
        };
        self.area(chip, &format!("{class}-fill tint"), 4.0);
        self.middle_text(
            chip.x + chip.width / 2.0,
            base,
            &format!("mono {class}-fill"),
            touch.verb(),
        );
        let id = touch.mark().unwrap_or_default();
        let id_width = proportional(id, KEY_SIZE);
        let id_room = if id.is_empty() { 0.0 } else { id_width + INSET };
        let start = area.x + VERB_WIDTH + INSET;
        let room = area.right() - INSET - id_room - start;
        let name = fit(touch.name(), room + 0.5, |text| proportional(text, NAME_SIZE));
        self.text(start, base, NAME_SIZE, "", &name);
        if !id.is_empty() {
            self.end_text(area.right() - INSET, base, KEY_SIZE, "quiet", id);
        }
        self.line("</g>");
    }

    fn index(&mut self, index: &PlacedIndex<'_>) {
        let area = index.area;
        self.area(area, "card", 6.0);
        let height = 22.0 + LINE * index.key.len() as f64;
        let top = area.y + (area.height - height) / 2.0;
        let badge = if index.index.unique { 56.0 } else { 0.0 };
        let room = area.width - INSET * 2.0 - badge;
        let name = fit(&index.index.name.value, room, |text| proportional(text, NAME_SIZE));
        self.text(area.x + INSET, top + 14.0, NAME_SIZE, "strong", &name);
        if index.index.unique {
            self.end_text(area.right() - INSET, top + 14.0, KEY_SIZE, "quiet", "unique");
        }
        self.key(&index.key, area.x + INSET, top + 14.0 + 17.0);
    }

    fn card(&mut self, panel: &Panel<'_>) {
        let card = panel.card;
        self.area(card, "card", 6.0);
        let start = card.x + INSET;
        let badges = badges(panel.collection).join(" · ");
        let badges_room = proportional(&badges, KEY_SIZE) + INSET;
        let room = card.width - INSET * 2.0 - badges_room;
        let name = &panel.collection.name.value;
        let name = fit(name, room, |text| proportional(text, TITLE_SIZE));
        self.text(start, card.y + 22.0, TITLE_SIZE, "strong", &name);
        self.end_text(card.right() - INSET, card.y + 22.0, KEY_SIZE, "quiet", &badges);
        self.key(&panel.key, start, card.y + 42.0);
        let mut base = card.y + 42.0 + LINE * panel.key.len() as f64 + 6.0;
        let names = panel.members.iter().filter(|member| !member.1.is_empty());
        let names = names.map(|member| monospaced(&member.0, KEY_SIZE)).fold(0.0, f64::max);
        let types = start + names + 16.0;
        for (name, type_name) in &panel.members {
            let class = if type_name.is_empty() { "mono quiet" } else { "mono" };
            self.text(start, base, KEY_SIZE, class, name);
            let room = card.right() - INSET - types;
            let type_name = fit(type_name, room, |text| monospaced(text, KEY_SIZE));
            self.text(types, base, KEY_SIZE, "mono quiet", &type_name);
            base += LINE;
        }
    }

    /// A key over several lines, its segments in their own colour.
    fn key(&mut self, lines: &[String], x: f64, first: f64) {
        for (place, line) in lines.iter().enumerate() {
            let base = first + LINE * place as f64;
            let indent = line.chars().take_while(|character| *character == ' ').count();
            let start = x + monospaced(&" ".repeat(indent), KEY_SIZE);
            self.line(&format!(
                "<text class=\"mono\" x=\"{}\" y=\"{}\" font-size=\"{KEY_SIZE}\">{}</text>",
                number(start),
                number(base),
                coloured(line.trim_start())
            ));
        }
    }

    /// The `atomic` patterns, each with its steps in their order.
    fn batches(&mut self, batches: &Batches<'_>) {
        let level = batches.area.y - 10.0;
        let first = batches.steps.first().map_or(0.0, |placed| placed.area.x);
        self.text(batches.area.x + PADDING, level, NAME_SIZE, "quiet strong", "Atomics");
        self.text(first, level, NAME_SIZE, "quiet strong", "Steps, all or none");
        self.area(batches.area, "panel", 10.0);
        for (atomic, area) in &batches.atomics {
            self.pattern(Touch::Pattern(atomic), *area);
        }
        for placed in &batches.steps {
            let area = placed.area;
            if let Some(from) = placed.from {
                self.arrow_between("atomic", (from, area.middle()), area.x);
            }
            let class = if words::step_reads(placed.step) { "read" } else { "write" };
            let (verb, name, target) = step_words(placed.step);
            let (start, room) = (area.x + INSET, area.width - INSET * 2.0 + 0.5);
            self.area(area, "card", 6.0);
            let name = fit(&name, room, |text| proportional(text, NAME_SIZE));
            self.text(start, area.y + 18.0, NAME_SIZE, "", &name);
            self.text(start, area.y + 33.0, KEY_SIZE, &format!("mono {class}-fill"), verb);
            let shift = monospaced(&format!("{verb} "), KEY_SIZE);
            let target = fit(&target, room - shift, |text| monospaced(text, KEY_SIZE));
            self.text(start + shift, area.y + 33.0, KEY_SIZE, "mono quiet", &target);
        }
    }

    fn area(&mut self, area: Area, class: &str, radius: f64) {
        let (x, y) = (number(area.x), number(area.y));
        let (width, height) = (number(area.width), number(area.height));
        self.line(&format!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" \
             width=\"{width}\" height=\"{height}\" rx=\"{radius}\"/>"
        ));
    }

    fn text(&mut self, x: f64, y: f64, size: f64, class: &str, words: &str) {
        self.words("start", (x, y), size, class, words);
    }

    fn end_text(&mut self, x: f64, y: f64, size: f64, class: &str, words: &str) {
        self.words("end", (x, y), size, class, words);
    }

    fn middle_text(&mut self, x: f64, y: f64, class: &str, words: &str) {
        self.words("middle", (x, y), KEY_SIZE, class, words);
    }

    fn words(&mut self, anchor: &str, place: (f64, f64), size: f64, class: &str, words: &str) {
        if words.is_empty() {
            return;
        }
        let anchor = match anchor {
            "start" => String::new(),
            other => format!(" text-anchor=\"{other}\""),
        };
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        self.line(&format!(
            "<text{class} x=\"{}\" y=\"{}\" font-size=\"{size}\"{anchor}>{}</text>",
            number(place.0),
            number(place.1),
            xml(words)
        ));
    }
}

/// The colour of a use.
fn class_of(touch: Touch<'_>) -> &'static str {
    match touch {
        Touch::Pattern(pattern) if pattern.verb == Verb::Atomic => "atomic",
        _ if touch.is_read() => "read",
        _ => "write",
    }
}

/// What the picture shows, for those who do not see it.
fn description(keyspace: &Keyspace) -> String {
    let indexes: usize = keyspace.collections.iter().map(|one| one.indexes.len()).sum();
    format!(
        "{} access patterns, {indexes} indexes and {} collections, joined by lines.",
        keyspace.patterns.len(),
        keyspace.collections.len()
    )
}

/// A line of a key with everything between braces in the colour of segments.
fn coloured(line: &str) -> String {
    let mut text = String::new();
    for piece in line.split_inclusive('}') {
        match piece.split_once('{') {
            Some((before, segment)) => text.push_str(&format!(
                "{}<tspan class=\"segment\">{}</tspan>",
                xml(before),
                xml(&format!("{{{segment}"))
            )),
            None => text.push_str(&xml(piece)),
        }
    }
    text
}

/// A coordinate with one digit after the point, and none where it is whole.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some(whole) => whole.to_string(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn tags_are_balanced() {
        let text = svg(&sample::keyspace());
        let mut open: Vec<&str> = Vec::new();
        for tag in text.split('<').skip(1) {
            let (tag, _) = tag.split_once('>').expect("a tag is closed");
            let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
            match (tag.starts_with('/'), tag.ends_with('/')) {
                (true, _) => assert_eq!(open.pop(), Some(name)),
                (false, true) => {}
                (false, false) => open.push(name),
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }

    #[test]
    fn segments_have_their_own_colour() {
        let segment = |words: &str| format!("<tspan class=\"segment\">{words}</tspan>");
        assert_eq!(
            coloured("a:{b} | {c}:d"),
            format!("a:{} | {}:d", segment("{b}"), segment("{c}"))
        );
        assert_eq!(coloured("a:{lo…"), format!("a:{}", segment("{lo…")));
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!(number(12.0), "12");
        assert_eq!(number(12.26), "12.3");
    }
}
