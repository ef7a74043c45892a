//! Entries that lie apart from their list, and the rows they name: one round trip after it.
//!
//! ```text
//! list ─▶ keys of entries ─▶ keys of rows
//!           └─ list again, entries and rows, at one instant ─▶ the same members? ─▶ page
//! ```
//!
//! The key of an entry names its row, so that both can be asked for together. A claim names its row
//! in its content, which a script reads (`claims`). A list that says all is read once, and its rows
//! apart. So is whatever is unusual here.

use super::RedisStore;
use super::answers::{Answered, Answers, Questions};
use super::claims::Claims;
use super::error::unexpected;
use super::layout::{Layout, Place};
use super::listing::Listing;
use super::member::{Group, ListKind};
use super::scan::{Scanned, bare};
use data::Result;
use data::store::limits::PAGE_BYTES_MAX;
use data::store::{End, Joined, Key, Keyed, Page, Row, Through};

/// How often a list may change while its rows are read; then they are read apart.
const CHANGES_MAX: usize = 4;

impl RedisStore {
    /// A stretch of an index with the rows that its entries name; nothing where they are read
    /// apart.
    pub(super) async fn page_through(
        &self,
        layout: &Layout,
        through: &Through<'_>,
    ) -> Result<Option<Joined>> {
        let Through { scan, index, .. } = *through;
        let place = layout.place(index.key.space)?;
        let is_apart = self.servers.is_cluster() || place.is_all_in_list();
        // The script that reads claims ends by itself where there is enough.
        let is_small = index.model.unique || place.rows_listed(scan.rows) == scan.rows;
        if is_apart || scan.range.is_empty() || !is_small {
            return Ok(None);
        }
        let rows = layout.place(through.collection.key.space)?.as_ref();
        let claims = Claims::of(place, rows);
        if index.model.unique && claims.is_none() {
            return Ok(None);
        }
        let group = Group::of(&scan.range, &place.shape.segments, place.shape.group);
        let (Some(group), Some(list)) = (group, &place.list) else { return Ok(None) };
        if list.slices.is_some() || list.kind == ListKind::Hash {
            return Ok(None);
        }
        let names = vec![list.template.name(&layout.naming, &group.values, None)?];
        let listing = Listing { names, most: scan.rows, range: &scan.range, directory: None };
        let of = Scanned { layout, place, list, group, reverse: scan.reverse };
        let mut questions = Questions::default();
        listing.ask(&of, &mut questions)?;
        let answered = self.answers(questions).await?;
        let members = listing.members(&answered)?.ok_or_else(unexpected)?;
        let mut keys = listing.keys(&of, &members.each)?;
        let mut seen = answered.kept(members.whole);
        let both = Both { of: &of, through, rows, claims };
        for _ in 0..CHANGES_MAX {
            if keys.is_empty() {
                let entries = Page { rows: Vec::new(), end: End::Range };
                return Ok(Some(Joined { entries, rows: Vec::new() }));
            }
            let answered = self.both(&both, &listing, &keys).await?;
            let Some((answered, read)) = answered else { return Ok(None) };
            let mut again = listing.members(&answered)?.ok_or_else(unexpected)?;
            if again.whole == seen {
                let is_last = keys.len() < listing.most;
                return both.join((keys, is_last), read, &mut again.behind);
            }
            (keys, seen) = (listing.keys(&of, &again.each)?, answered.kept(again.whole));
        }
        Ok(None)
    }

    /// A list again, its entries and their rows, all at one instant; of how many entries, unless a
    /// script that reads claims says so in its answer.
    async fn both(
        &self,
        both: &Both<'_>,
        listing: &Listing<'_>,
        keys: &[Vec<u8>],
    ) -> Result<Option<(Answered, Option<usize>)>> {
        if let Some(claims) = &both.claims {
            let call = claims.call(both.of, listing, (keys, both.through.named))?;
            return Ok(self.claimed(&call).await?.map(|answered| (answered, None)));
        }
        let mut questions = Questions::about(keys.len() * 2 + 2);
        listing.ask(both.of, &mut questions)?;
        let counts = both.ask(keys, &mut questions)?;
        let named = keys.len().min(both.through.named);
        if both.of.place.may_be_too_much(keys.len()) || both.rows.may_be_too_much(named) {
            let (answered, read) = self.answers_until_enough(questions, &counts).await?;
            return Ok(Some((answered, Some(read))));
        }
        Ok(Some((self.answers(questions).await?, Some(keys.len()))))
    }
}

/// Entries and the rows they name.
struct Both<'b> {
    of: &'b Scanned<'b>,
    through: &'b Through<'b>,
    /// Where the rows lie.
    rows: &'b Place,
    /// How they are found, if the entries are claims.
    claims: Option<Claims<'b>>,
}

impl Both<'_> {
    /// Asks for entries, and with each of the first for the row that it names; how many questions
    /// the list has, and each entry.
    fn ask(&self, keys: &[Vec<u8>], questions: &mut Questions) -> Result<Vec<usize>> {
        let Scanned { layout, place, .. } = self.of;
        let mut counts = vec![questions.count()];
        for (number, key) in keys.iter().enumerate() {
            let before = questions.count();
            place.ask_more(layout, &place.parts(key)?, questions)?;
            if number < self.through.named {
                let entry = Keyed { key: Key::from(key.clone()), row: bare() };
                let owner = self.through.owner(&entry)?;
                self.rows.ask(layout, &self.rows.parts(owner.as_ref())?, questions)?;
            }
            counts.push(questions.count() - before);
        }
        Ok(counts)
    }

    /// The page that the answers are; nothing if some of it is not for this range or not there, so
    /// that more would have to be read.
    fn join(
        &self,
        (mut keys, is_last): (Vec<Vec<u8>>, bool),
        read: Option<usize>,
        answers: &mut Answers<'_>,
    ) -> Result<Option<Joined>> {
        let Scanned { layout, place, .. } = self.of;
        let read = match read {
            Some(read) => read,
            None => usize::try_from(answers.number()?).map_err(|_| unexpected())?,
        };
        let end = match (read < keys.len(), is_last) {
            (true, _) => End::Bytes,
            (false, true) => End::Range,
            (false, false) => End::Rows,
        };
        keys.truncate(read);
        let mut entries = Vec::with_capacity(keys.len());
        let mut rows = Vec::new();
        for (number, key) in keys.into_iter().enumerate() {
            let row = place.answer_more(layout, &place.parts(&key)?, answers)?;
            let Some(row) = row.filter(|_| self.through.scan.range.contains(&key)) else {
                return Ok(None);
            };
            let entry = Keyed { key: Key::from(key), row };
            if self.claims.is_none() && number < self.through.named {
                let owner = self.through.owner(&entry)?;
                rows.push(self.rows.answer(layout, &self.rows.parts(owner.as_ref())?, answers)?);
            }
            entries.push(entry);
        }
        let bytes: usize = entries.iter().map(|entry| entry.row.weight()).sum();
        place.weigh(entries.len(), bytes);
        self.rows.weigh(rows.len(), rows.iter().flatten().map(Row::weight).sum());
        if self.claims.is_none() && bytes >= PAGE_BYTES_MAX {
            return Ok(None);
        }
        let mut is_named = true;
        let mut rows = rows.into_iter();
        // Rows are looked for in the order in which they were asked for.
        let row = |owner: &Key| match &self.claims {
            Some(claims) => {
                let found = claims.answer(layout, owner, answers)?;
                is_named &= found.is_some();
                Ok(found.flatten())
            }
            None => Ok(rows.next().flatten()),
        };
        let joined = self.through.join(Page { rows: entries, end }, row)?;
        Ok(is_named.then_some(joined))
    }
}
