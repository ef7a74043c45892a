//! Scans: a stretch of one group, in the order of its keys.
//!
//! ```text
//! list ─▶ members ─▶ keys ─▶ list again and rows, at one instant ─▶ the same members? ─▶ page
//!                      ▲                                               │ no
//!                      └───────────────────────────────────────────────┘
//! ```
//!
//! The list is read twice so that a page is what the group held at one instant: a row that was
//! moved meanwhile would otherwise be missing under both its keys. Lists that say all about their
//! rows are read once. Entries that keep fields, and claims, are read together with the rows they
//! name (`through`).

use super::RedisStore;
use super::answers::{Answered, Questions};
use super::error::unexpected;
use super::layout::{Layout, Place, What};
use super::listing::{Directory, Listing, SLICES_AT_ONCE};
use super::member::{Group, List, ListKind, SliceRule};

use bytes::Bytes;
use data::store::limits::PAGE_BYTES_MAX;
use data::store::{End, Key, Keyed, Page, Range, Row, Scan};
use data::{Error, ErrorKind, Result};
use std::collections::HashMap;

/// How often a list may change while its rows are read.
const CHANGES_MAX: usize = 64;

/// A page that is being filled.
struct Filling<'s> {
    scan: &'s Scan,
    rows: Vec<Keyed>,
    bytes: usize,
    /// The last key that was met, whether or not its row is there.
    last: Option<Key>,
}

impl Filling<'_> {
    /// Adds a row; says why the page ends, if it does.
    fn push(&mut self, key: Key, row: Row) -> Option<End> {
        if !self.scan.range.contains(key.as_ref()) {
            return None;
        }
        self.bytes += key.bytes().len() + row.weight();
        self.rows.push(Keyed { key, row });
        if self.rows.len() >= self.scan.rows {
            return Some(End::Rows);
        }
        (self.bytes >= PAGE_BYTES_MAX).then_some(End::Bytes)
    }

    fn lacks(&self) -> usize {
        self.scan.rows.saturating_sub(self.rows.len())
    }

    fn ended(self, end: End) -> Page {
        Page { rows: self.rows, end }
    }
}

/// What is scanned.
pub(super) struct Scanned<'a> {
    pub(super) layout: &'a Layout,
    pub(super) place: &'a Place,
    pub(super) list: &'a List,
    pub(super) group: Group<'a>,
    pub(super) reverse: bool,
}

impl RedisStore {
    /// A stretch of one range.
    pub(super) async fn page(&self, layout: &Layout, scan: &Scan) -> Result<Page> {
        let mut page = Filling { scan, rows: Vec::new(), bytes: 0, last: None };
        if scan.range.is_empty() {
            return Ok(page.ended(End::Range));
        }
        let place = layout.place(Key::new(scan.range.start.clone()).space())?;
        let shape = &place.shape;
        let Some(group) = Group::of(&scan.range, &shape.segments, shape.group) else {
            if self.servers.is_cluster() {
                let message = "a scan does not fix the whole group";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            return self.wide(layout, place, page).await;
        };
        let Some(list) = &place.list else {
            // A group of one row needs no list; rows that no pattern lists have none.
            if shape.group < shape.segments.len() {
                return self.wide(layout, place, page).await;
            }
            let key = Key::new(Bytes::copy_from_slice(group.front));
            let found = self.rows(layout, std::slice::from_ref(&key)).await?;
            let end = found.into_iter().flatten().find_map(|row| page.push(key.clone(), row));
            return Ok(page.ended(end.unwrap_or(End::Range)));
        };
        let of = Scanned { layout, place, list, group, reverse: scan.reverse };
        match (list.kind, &list.slices) {
            (ListKind::Set | ListKind::Hash, _) => self.whole(&of, page).await,
            (ListKind::SortedSet, Some(rule)) => self.slices(&of, rule, page).await,
            (ListKind::SortedSet, None) => loop {
                if let Some(end) = self.stretch(&of, &mut page).await? {
                    return Ok(page.ended(end));
                }
            },
        }
    }

    /// Some members of a sorted set and their rows; says why the page ends, if it does.
    async fn stretch(&self, of: &Scanned<'_>, page: &mut Filling<'_>) -> Result<Option<End>> {
        let range = rest_of(page);
        let most = of.place.rows_listed(page.lacks());
        let name = of.list.template.name(&of.layout.naming, &of.group.values, None)?;
        let listing = Listing { names: vec![name], most, range: &range, directory: None };
        let Some(found) = self.found(of, &listing).await? else { return Err(unexpected()) };
        Ok(fill(page, found.rows).or(found.is_last.then_some(End::Range)))
    }

    /// A group that is cut in slices: which there are, what is in them, the rows.
    async fn slices(
        &self,
        of: &Scanned<'_>,
        rule: &SliceRule,
        mut page: Filling<'_>,
    ) -> Result<Page> {
        let directory = rule.directory.name(&of.layout.naming, &of.group.values, None)?;
        let mut passed: Option<Vec<u8>> = None;
        for _ in 0.. {
            let range = rest_of(&page);
            let shape = (&range, of.group.front.len());
            let bounds = of.list.slice_bounds(rule, shape, of.place.rest());
            let reverse = of.reverse != rule.descending;
            let asked = Directory { name: &directory, bounds, reverse, passed: passed.clone() };
            let mut questions = Questions::default();
            asked.ask(&mut questions);
            let answered = self.answers(questions).await?;
            let named = answered.read().members()?;
            let mut names = Vec::with_capacity(named.len());
            for slice in &named {
                let slice = std::str::from_utf8(slice).map_err(|_| unexpected())?;
                let values = &of.group.values;
                names.push(of.list.template.name(&of.layout.naming, values, Some(slice))?);
            }
            if names.is_empty() {
                return Ok(page.ended(End::Range));
            }
            let most = of.place.rows_listed(page.lacks());
            let directory = Some((&asked, named.as_slice()));
            let listing = Listing { names, most, range: &range, directory };
            // Without an answer the slices are others by now.
            let Some(found) = self.found(of, &listing).await? else { continue };
            if let Some(end) = fill(&mut page, found.rows) {
                return Ok(page.ended(end));
            }
            match (found.is_last, named.len() < SLICES_AT_ONCE) {
                (true, true) => return Ok(page.ended(End::Range)),
                (true, false) => passed = named.last().map(|last| last.to_vec()),
                (false, _) => {}
            }
        }
        Err(unexpected())
    }

    /// The rows of a listing, as the group was at one instant. Nothing if its slices are others.
    async fn found(&self, of: &Scanned<'_>, listing: &Listing<'_>) -> Result<Option<Rows>> {
        let mut questions = Questions::default();
        listing.ask(of, &mut questions)?;
        let answered = self.answers(questions).await?;
        let Some(members) = listing.members(&answered)? else { return Ok(None) };
        let mut keys = listing.keys(of, &members.each)?;
        let mut seen = answered.kept(members.whole);
        if of.place.is_all_in_list() {
            let is_last = keys.len() < listing.most;
            let rows = keys.into_iter().map(|key| (key, Some(bare())));
            return Ok(Some(Rows { is_last, rows: rows.collect() }));
        }
        for _ in 0..CHANGES_MAX {
            if keys.is_empty() {
                return Ok(Some(Rows { is_last: true, rows: Vec::new() }));
            }
            let (answered, count) = self.listed(of, listing, &keys).await?;
            let Some(again) = listing.members(&answered)? else { return Ok(None) };
            let mut answers = again.behind;
            let mut rows = Vec::with_capacity(count);
            for key in keys.iter().take(count) {
                rows.push(of.place.answer_more(of.layout, &of.place.parts(key)?, &mut answers)?);
            }
            of.place.weigh(rows.len(), rows.iter().flatten().map(Row::weight).sum());
            let is_last = keys.len() < listing.most && rows.len() == keys.len();
            if again.whole == seen {
                return Ok(Some(Rows { is_last, rows: keys.into_iter().zip(rows).collect() }));
            }
            let mut known: HashMap<Vec<u8>, Option<Row>> = keys.into_iter().zip(rows).collect();
            (keys, seen) = (listing.keys(of, &again.each)?, answered.kept(again.whole));
            if keys.iter().all(|key| known.contains_key(key)) {
                let is_last = keys.len() < listing.most;
                let rows = keys.into_iter().map(|key| {
                    let row = known.remove(&key).flatten();
                    (key, row)
                });
                return Ok(Some(Rows { is_last, rows: rows.collect() }));
            }
        }
        Err(Error::new(ErrorKind::Busy, "a group changes faster than it can be read"))
    }

    /// A list again and the rows of its members, at one instant; of how many, where all might be
    /// too much.
    async fn listed(
        &self,
        of: &Scanned<'_>,
        listing: &Listing<'_>,
        keys: &[Vec<u8>],
    ) -> Result<(Answered, usize)> {
        let mut questions = Questions::about(keys.len() + 2);
        listing.ask(of, &mut questions)?;
        let mut counts = vec![questions.count()];
        for key in keys {
            let before = questions.count();
            of.place.ask_more(of.layout, &of.place.parts(key)?, &mut questions)?;
            counts.push(questions.count() - before);
        }
        match of.place.may_be_too_much(keys.len()) {
            true => self.answers_until_enough(questions, &counts).await,
            false => Ok((self.answers(questions).await?, keys.len())),
        }
    }

    /// A range over several groups, or rows without a list: the whole database is looked through
    /// for each page. No pattern needs it.
    async fn wide(&self, layout: &Layout, place: &Place, mut page: Filling<'_>) -> Result<Page> {
        loop {
            let range = rest_of(&page);
            let most = place.rows_at_once(page.lacks());
            let keys = self.first_keys((layout, place), &range, page.scan.reverse, most).await?;
            let is_last = keys.len() < most;
            let rows = self.rows(layout, &keys).await?;
            let rows = keys.into_iter().map(|key| key.bytes().to_vec()).zip(rows).collect();
            if let Some(end) = fill(&mut page, rows).or(is_last.then_some(End::Range)) {
                return Ok(page.ended(end));
            }
        }
    }

    /// A Set, or a Hash of counters: read whole, sorted and cut.
    async fn whole(&self, of: &Scanned<'_>, mut page: Filling<'_>) -> Result<Page> {
        let name = of.list.template.name(&of.layout.naming, &of.group.values, None)?;
        if matches!(of.place.what, What::Counters) {
            let mut questions = Questions::default();
            questions.ask("HGETALL", &name, &[]);
            let answered = self.answers(questions).await?;
            let mut rows = Vec::new();
            for (field, value) in answered.read().counts()? {
                rows.push((of.key(field)?, Some(Row { value, ..bare() })));
            }
            rows.sort_by(|(one, _), (other, _)| one.cmp(other));
            if of.reverse {
                rows.reverse();
            }
            let end = fill(&mut page, rows);
            return Ok(page.ended(end.unwrap_or(End::Range)));
        }
        loop {
            let range = rest_of(&page);
            let most = of.place.rows_listed(page.lacks());
            let names = vec![name.clone()];
            let listing = Listing { names, most, range: &range, directory: None };
            let Some(found) = self.found(of, &listing).await? else { return Err(unexpected()) };
            let is_last = found.is_last.then_some(End::Range);
            if let Some(end) = fill(&mut page, found.rows).or(is_last) {
                return Ok(page.ended(end));
            }
        }
    }
}

/// What is still to be read.
fn rest_of(page: &Filling<'_>) -> Range {
    match &page.last {
        Some(last) => page.scan.range.after(last, page.scan.reverse),
        None => page.scan.range.clone(),
    }
}

/// Adds rows to a page; says why it ends, if it does.
fn fill(page: &mut Filling<'_>, rows: Vec<(Vec<u8>, Option<Row>)>) -> Option<End> {
    for (key, row) in rows {
        let key = Key::from(key);
        page.last = Some(key.clone());
        if let Some(end) = row.and_then(|row| page.push(key, row)) {
            return Some(end);
        }
    }
    None
}

/// A row that is nothing but its key.
pub(super) fn bare() -> Row {
    Row { value: Bytes::new(), version: None, expires: None, trail: None }
}

/// Keys with their rows; a row may be gone while its member is still there.
struct Rows {
    /// Whether the list has no more members than these.
    is_last: bool,
    rows: Vec<(Vec<u8>, Option<Row>)>,
}

impl Scanned<'_> {
    /// The key of a member.
    pub(super) fn key(&self, member: &[u8]) -> Result<Vec<u8>> {
        let separator = self.layout.naming.separator();
        self.list.key(separator, (self.group.front, self.place.rest()), member)
    }
}
