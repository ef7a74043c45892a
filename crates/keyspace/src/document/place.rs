//! Where everything of the picture stands.
//!
//! ```text
//! pattern ──▶ index ┄┄ collection     one panel a collection
//! pattern ───────────▶     "
//! atomic ──▶ step ──▶ step            one panel for all
//! ```
//!
//! A collection's box is as tall as its panel and an index's box as tall as its patterns, so every
//! line is level and none crosses another. An `atomic` has its steps beside it: lines from it to
//! the patterns it runs would cross the whole picture.

use super::arrange::{Band, Touch, atomics, bands};
use super::{width, words};
use crate::model::{
    BodyType, Collection, Index, Key, Keyspace, Pattern, Step, StepAction, Target, Ttl,
};

/// The width of the picture.
pub(super) const WIDTH: f64 = 1200.0;
/// What stays free around it.
pub(super) const MARGIN: f64 = 24.0;
/// What stays free inside a panel.
pub(super) const PADDING: f64 = 14.0;
/// The height of a pattern's box.
pub(super) const ROW: f64 = 28.0;
/// The height of a line of a key.
pub(super) const LINE: f64 = 15.0;
/// The size of keys.
pub(super) const KEY_SIZE: f64 = 11.0;
/// The size of names of patterns and indexes.
pub(super) const NAME_SIZE: f64 = 12.0;
/// The size of names of collections.
pub(super) const TITLE_SIZE: f64 = 14.0;
/// The room of a verb at the head of a pattern's box.
pub(super) const VERB_WIDTH: f64 = 60.0;
/// What stays free at the sides of a text in its box.
pub(super) const INSET: f64 = 10.0;

const ROW_GAP: f64 = 8.0;
const PANEL_GAP: f64 = 14.0;
const HEAD: f64 = 112.0;
const COLUMN_GAP: f64 = 48.0;
const STEP_GAP: f64 = 26.0;
const BATCHES_HEAD: f64 = 24.0;
const STEP: f64 = ROW + 14.0;

/// A box.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Area {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Area {
    /// The right edge.
    pub fn right(self) -> f64 {
        self.x + self.width
    }

    /// The lower edge.
    pub fn bottom(self) -> f64 {
        self.y + self.height
    }

    /// The level of its middle.
    pub fn middle(self) -> f64 {
        self.y + self.height / 2.0
    }
}

/// The columns: where each begins and how wide it is; the heights are not used.
pub(super) struct Columns {
    pub patterns: Area,
    pub indexes: Option<Area>,
    pub collections: Area,
}

/// The whole picture.
pub(super) struct Placed<'a> {
    pub columns: Columns,
    pub panels: Vec<Panel<'a>>,
    pub batches: Option<Batches<'a>>,
    pub height: f64,
}

/// The `atomic` patterns and their steps.
pub(super) struct Batches<'a> {
    pub area: Area,
    pub atomics: Vec<(&'a Pattern, Area)>,
    pub steps: Vec<PlacedStep<'a>>,
}

/// A step of an `atomic`.
pub(super) struct PlacedStep<'a> {
    pub step: &'a Step,
    pub area: Area,
    /// Where the line into it begins; none where it opens a new line of steps.
    pub from: Option<f64>,
}

/// A collection and what goes to it.
pub(super) struct Panel<'a> {
    pub area: Area,
    pub collection: &'a Collection,
    pub card: Area,
    pub key: Vec<String>,
    /// What a row holds: names and types, or lines of words and nothing.
    pub members: Vec<(String, String)>,
    pub rows: Vec<(Touch<'a>, Area)>,
    pub indexes: Vec<PlacedIndex<'a>>,
}

/// An index and what goes to it.
pub(super) struct PlacedIndex<'a> {
    pub index: &'a Index,
    pub area: Area,
    pub key: Vec<String>,
    pub rows: Vec<(Touch<'a>, Area)>,
}

impl<'a> Panel<'a> {
    /// Every pattern's box, from the top to the bottom.
    pub fn all_rows(&self) -> impl Iterator<Item = &(Touch<'a>, Area)> {
        self.rows.iter().chain(self.indexes.iter().flat_map(|index| &index.rows))
    }
}

/// Places a keyspace.
pub(super) fn place(keyspace: &Keyspace) -> Placed<'_> {
    let bands = bands(keyspace);
    let columns = columns(keyspace, &bands);
    let mut panels = Vec::new();
    let mut y = HEAD;
    for band in &bands {
        let panel = panel(keyspace, band, &columns, y);
        y = panel.area.bottom() + PANEL_GAP;
        panels.push(panel);
    }
    let batches = place_batches(keyspace, &columns, y);
    let bottom = batches.as_ref().map_or(y - PANEL_GAP, |batches| batches.area.bottom());
    Placed { columns, panels, batches, height: (bottom + MARGIN).ceil() }
}

/// Shares the width out: names and keys get what they need, collections what is left.
fn columns(keyspace: &Keyspace, bands: &[Band<'_>]) -> Columns {
    let touches = bands.iter().flat_map(Band::touches);
    let atomics = atomics(keyspace).map(|atomic| Touch::Pattern(atomic));
    let needed = touches.chain(atomics).map(|t| VERB_WIDTH + name_width(t.name(), t.mark()));
    let indexes = bands.iter().flat_map(|band| &band.indexes);
    let index_width = indexes.map(|(index, _)| index_width(index, keyspace.separator));
    let index_width = index_width.reduce(f64::max).map(|needed| needed.clamp(190.0, 340.0));
    // Without indexes the other two share their room: no line needs to be half a picture long.
    let (pattern_min, collection_max) =
        if index_width.is_some() { (220.0, 440.0) } else { (340.0, 640.0) };
    let pattern_width = needed.fold(pattern_min, f64::max).min(340.0);
    let area = |x: f64, width: f64| Area { x, width, ..Area::default() };
    let patterns = area(MARGIN + PADDING, pattern_width);
    let right = WIDTH - MARGIN - PADDING;
    let free = right - patterns.right() - index_width.unwrap_or(0.0);
    let collection_width = (free - COLUMN_GAP * 2.0).min(collection_max);
    let gap = (free - collection_width) / 2.0;
    Columns {
        patterns,
        indexes: index_width.map(|width| area(patterns.right() + gap, width)),
        collections: area(right - collection_width, collection_width),
    }
}

fn name_width(name: &str, id: Option<&str>) -> f64 {
    let id = id.map_or(0.0, |id| width::proportional(id, KEY_SIZE) + INSET);
    width::proportional(name, NAME_SIZE) + id + INSET * 2.0
}

/// The room an index would like: its name, and each half of its key on one line.
fn index_width(index: &Index, separator: char) -> f64 {
    let (group, rest) = words::key_halves(&index.key, separator);
    let badge = if index.unique { 60.0 } else { 0.0 };
    let name = width::proportional(&index.name.value, NAME_SIZE) + badge;
    let rest = width::monospaced(&format!("| {rest}"), KEY_SIZE);
    name.max(width::monospaced(&group, KEY_SIZE)).max(rest) + INSET * 2.0 + 1.0
}

fn key_lines(key: &Key, separator: char, column: f64) -> Vec<String> {
    let (group, rest) = words::key_halves(key, separator);
    width::wrap_key(&group, &rest, separator, column - INSET * 2.0, KEY_SIZE)
}

fn panel<'a>(keyspace: &Keyspace, band: &Band<'a>, columns: &Columns, top: f64) -> Panel<'a> {
    let key = key_lines(&band.collection.key, keyspace.separator, columns.collections.width);
    let index_column = columns.indexes.unwrap_or_default();
    let sections = band.indexes.iter().map(|(index, touches)| {
        let key = key_lines(&index.key, keyspace.separator, index_column.width);
        let height = (30.0 + LINE * key.len() as f64).max(stack(touches.len()));
        (*index, touches, key, height)
    });
    let sections: Vec<_> = sections.collect();
    let direct = stack(band.direct.len());
    let blocks = usize::from(direct > 0.0) + sections.len();
    let content = direct
        + sections.iter().map(|section| section.3).sum::<f64>()
        + blocks.saturating_sub(1) as f64 * (ROW_GAP + 2.0);
    let room = columns.collections.width - INSET * 2.0;
    let free = content - card_height(key.len(), 0);
    let members = members(band.collection, room, free);
    let height = content.max(card_height(key.len(), members.len()));
    let inner_top = top + PADDING;
    let mut y = inner_top + (height - content) / 2.0;
    let rows = rows(&band.direct, columns.patterns, y, direct);
    if direct > 0.0 {
        y += direct + ROW_GAP + 2.0;
    }
    let mut indexes = Vec::new();
    for (index, touches, key, height) in sections {
        let area = Area { y, height, ..index_column };
        let rows = self::rows(touches, columns.patterns, y, height);
        indexes.push(PlacedIndex { index, area, key, rows });
        y += height + ROW_GAP + 2.0;
    }
    let left = columns.patterns.x - PADDING;
    Panel {
        area: Area {
            x: left,
            y: top,
            width: WIDTH - MARGIN - left,
            height: height + PADDING * 2.0,
        },
        collection: band.collection,
        card: Area { y: inner_top, height, ..columns.collections },
        key,
        members,
        rows,
        indexes,
    }
}

/// The height of so many patterns, one under another.
fn stack(count: usize) -> f64 {
    (count as f64 * (ROW + ROW_GAP) - ROW_GAP).max(0.0)
}

/// Patterns one under another, in the middle of a height.
fn rows<'a>(touches: &[Touch<'a>], column: Area, top: f64, height: f64) -> Vec<(Touch<'a>, Area)> {
    let first = top + (height - stack(touches.len())) / 2.0;
    let placed = touches.iter().enumerate().map(|(number, touch)| {
        let y = first + number as f64 * (ROW + ROW_GAP);
        (*touch, Area { y, height: ROW, ..column })
    });
    placed.collect()
}

/// The height of a collection's box with so many lines of its key and of what a row holds.
fn card_height(key: usize, members: usize) -> f64 {
    42.0 + LINE * (key + members) as f64
}

/// The `atomic` patterns under everything else, each with its steps on one or more lines.
fn place_batches<'a>(keyspace: &'a Keyspace, columns: &Columns, top: f64) -> Option<Batches<'a>> {
    let mut batches = Batches { area: Area::default(), atomics: Vec::new(), steps: Vec::new() };
    let first = columns.patterns.right() + STEP_GAP * 1.5;
    let steps = atomics(keyspace).flat_map(|atomic| &atomic.steps);
    let width = steps.map(step_width).fold(0.0, f64::max);
    let top = top + BATCHES_HEAD;
    let mut y = top + PADDING;
    for atomic in atomics(keyspace) {
        let area = Area { y: y + (STEP - ROW) / 2.0, height: ROW, ..columns.patterns };
        batches.atomics.push((atomic, area));
        let mut from = Some(columns.patterns.right());
        let mut x = first;
        for step in &atomic.steps {
            if x > first && x + width > WIDTH - MARGIN - PADDING {
                (x, from) = (first, None);
                y += STEP + ROW_GAP;
            }
            let area = Area { x, y, width, height: STEP };
            batches.steps.push(PlacedStep { step, area, from });
            from = Some(area.right());
            x = area.right() + STEP_GAP;
        }
        y += STEP + ROW_GAP;
    }
    let height = y - ROW_GAP + PADDING - top;
    batches.area = Area { x: MARGIN, y: top, width: WIDTH - MARGIN * 2.0, height };
    (!batches.atomics.is_empty()).then_some(batches)
}

fn step_width(step: &Step) -> f64 {
    let (verb, name, target) = step_words(step);
    let below = width::monospaced(&format!("{verb} {target}"), KEY_SIZE);
    (width::proportional(&name, NAME_SIZE).max(below) + INSET * 2.0).clamp(100.0, 250.0)
}

/// A step's verb, its pattern or name, and where it goes.
pub(super) fn step_words(step: &Step) -> (&'static str, String, String) {
    match &step.action {
        StepAction::Run(run) => {
            let target = run.target.as_ref().map(Target::text).unwrap_or_default();
            (run.verb.name(), run.name.value.clone(), target)
        }
        StepAction::Check { target, .. } => ("check", step.name.clone(), target.text()),
    }
}

/// What a row holds: a field a line where there is room for it, else a few lines of names.
fn members(collection: &Collection, room: f64, free: f64) -> Vec<(String, String)> {
    let mut names: Vec<(String, String)> = Vec::new();
    for field in collection.fields() {
        names.push((field.name.clone(), field.field_type.to_string()));
    }
    match collection.body {
        Some(BodyType::Bytes) => names.push(("body".to_string(), "bytes".to_string())),
        Some(BodyType::Text) => names.push(("body".to_string(), "text".to_string())),
        None => {}
    }
    if !names.is_empty() && LINE * names.len() as f64 <= free {
        return names;
    }
    let words = if !names.is_empty() {
        names.iter().map(|name| name.0.as_str()).collect::<Vec<_>>().join(", ")
    } else {
        words::content(collection)
    };
    let lines = width::wrap_words(&words, room, KEY_SIZE, 3);
    lines.into_iter().map(|line| (line, String::new())).collect()
}

/// The rules of a collection that change how it is used: `immutable`, `ends after 30d`, ….
pub(super) fn badges(collection: &Collection) -> Vec<String> {
    let ends = collection.ttl.as_ref().map(|ttl| match ttl {
        Ttl::After(length) => format!("ends after {}", words::milliseconds(*length)),
        Ttl::Field(field) => format!("ends at {field}"),
    });
    let immutable = collection.immutable.then(|| "immutable".to_string());
    let cache = collection.cache.then(|| "cache".to_string());
    let owned = collection.owner.as_ref().map(|_| "owned".to_string());
    let history = collection.history.as_ref().map(|_| "history".to_string());
    [history, immutable, owned, cache, ends].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    fn apart(left: Area, right: Area) -> bool {
        left.right() <= right.x
            || right.right() <= left.x
            || left.bottom() <= right.y
            || right.bottom() <= left.y
    }

    #[test]
    fn nothing_overlaps_and_nothing_leaves_its_panel() {
        let keyspace = sample::keyspace();
        let placed = place(&keyspace);
        for panel in &placed.panels {
            let mut areas: Vec<Area> = panel.all_rows().map(|(_, area)| *area).collect();
            areas.push(panel.card);
            areas.extend(panel.indexes.iter().map(|index| index.area));
            for (number, area) in areas.iter().enumerate() {
                assert!(area.x >= panel.area.x && area.right() <= panel.area.right());
                assert!(area.y >= panel.area.y && area.bottom() <= panel.area.bottom());
                assert!(areas.iter().skip(number + 1).all(|other| apart(*area, *other)));
            }
        }
        let batches = placed.batches.expect("the sample has an atomic");
        for (number, step) in batches.steps.iter().enumerate() {
            assert!(step.area.right() <= batches.area.right());
            let later = batches.steps.iter().skip(number + 1);
            assert!(later.map(|other| other.area).all(|other| apart(step.area, other)));
        }
        assert!(batches.area.bottom() < placed.height);
    }
}
