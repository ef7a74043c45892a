//! What reads cost on every store.
//!
//! ```text
//! get    point ─▶ fetch, where an entry does not hold all that is asked for
//! list   directory of slices ─▶ range, again while rows fall out ─▶ fetch
//! ```

use super::bounds::{Answer, Bounds, Count, Size};
use super::shape::{
    cannot_hold, entry_size, hides_owner, is_apart, is_sliced, key_size, leaves_dead, record_size,
};
use crate::layout::redis::{has_order, is_read_whole, is_record};
use crate::model::{
    Collection, Content, Index, Keyspace, Mode, Pattern, StoreKind, Target, Verb, limits,
};
use crate::parse::grouped;

/// Whether records must be read after the entries of an index.
pub(super) fn fetches(
    keyspace: &Keyspace,
    store: StoreKind,
    pattern: &Pattern,
    collection: &Collection,
) -> bool {
    // Where entries lie apart from versioned records, only the record says which of them are true.
    let verified = is_apart(store) && keyspace.kept_mode(store, collection) == Mode::Conditional;
    verified || !pattern.is_covered()
}

/// What a list may read for one page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageReads {
    /// Times a page that lost rows is filled: 1 where none can be lost.
    pub refills: u64,
    /// Rows or entries of the range.
    pub rows: u64,
}

/// What a list may read for one page on a store; nothing for other patterns.
pub fn page_reads(keyspace: &Keyspace, store: StoreKind, pattern: &Pattern) -> PageReads {
    let Some(target) = pattern.target.as_ref().filter(|_| pattern.verb == Verb::List) else {
        return PageReads::default();
    };
    Listing { keyspace, store, pattern, target, page: page_of(pattern) }.reads()
}

/// Rows of one answer at most.
pub(super) fn page_of(pattern: &Pattern) -> u64 {
    pattern.page.unwrap_or(limits::PAGE_ROWS_MAX)
}

/// One row, or many, by whole keys.
pub(super) fn get(
    keyspace: &Keyspace,
    store: StoreKind,
    pattern: &Pattern,
    target: &Target,
) -> Answer {
    let collection = &target.collection;
    let rows = Count::exactly(pattern.many.unwrap_or(1));
    let Some(index) = &target.index else {
        let large = cannot_hold(store, collection, None);
        let bounds = Bounds::default().trips(1).read(rows, record_size(collection));
        return large.map_or(Answer::Native(bounds), Answer::Refused);
    };
    let large = cannot_hold(store, collection, Some(index));
    if let Some(refusal) = large.or_else(|| cannot_hold(store, collection, None)) {
        return Answer::Refused(refusal);
    }
    let bounds = Bounds::default().trips(1).read(rows, entry_size(collection, index));
    let second =
        fetches(keyspace, store, pattern, collection) || hides_owner(pattern, collection, index);
    Answer::Native(match second {
        true => bounds.trips(1).read(rows, record_size(collection)),
        false => bounds,
    })
}

/// A page of a group, or of an index.
pub(super) fn list(
    keyspace: &Keyspace,
    store: StoreKind,
    pattern: &Pattern,
    target: &Target,
) -> Answer {
    let page = page_of(pattern);
    let listing = Listing { keyspace, store, pattern, target, page };
    listing.answer()
}

struct Listing<'a> {
    keyspace: &'a Keyspace,
    store: StoreKind,
    pattern: &'a Pattern,
    target: &'a Target,
    page: u64,
}

impl Listing<'_> {
    fn collection(&self) -> &Collection {
        &self.target.collection
    }

    fn index(&self) -> Option<&Index> {
        self.target.index.as_deref()
    }

    fn answer(&self) -> Answer {
        let large = cannot_hold(self.store, self.collection(), self.index());
        if let Some(refusal) = large {
            return Answer::Refused(refusal);
        }
        let mut prices = Vec::new();
        let PageReads { refills, rows: reads } = self.reads();
        let bucket = self.index().map_or(&self.collection().bucket, |index| &index.bucket);
        let mut bounds = Bounds::default();
        let mut trips = refills;
        let mut rows = self.rows(reads);
        if self.is_read_whole() {
            prices.push(whole_price(self.collection(), self.index()));
            trips = 1;
            rows = Count::new(self.expected(), limits::REDIS_SET_ROWS_MAX);
        }
        let is_sliced = is_sliced(self.store, bucket.as_ref());
        if is_sliced {
            prices.push(format!(
                "the directory of slices is read together with the slice that it last named first \
                 (in vain if another is first now), then up to {} slices",
                limits::PAGE_SLICES_MAX
            ));
            let slices = Count::exactly(limits::PAGE_SLICES_MAX + 1);
            bounds = bounds.trips(1).read(slices, key_size(self.collection()));
            let in_vain = Count::new(0, self.page.saturating_add(1));
            bounds = bounds.read(in_vain, self.unit());
            // A read ends a slice, or fills what was asked for.
            trips += limits::PAGE_SLICES_MAX - 1;
        }
        bounds = bounds.trips(trips).read(rows, self.unit());
        let more = if refills > 1 { reads } else { self.page };
        for (number, size) in self.fetched().into_iter().enumerate() {
            let is_round = number == 0 || is_sliced || !self.finds_owners();
            let trips = if is_round { refills } else { 0 };
            bounds = bounds.trips(trips).read(self.rows(more), size);
        }
        if self.is_verified() {
            prices.push(format!(
                "every entry is checked against its record, up to {} for each row of the page",
                limits::PAGE_READS_PER_ROW
            ));
        }
        Answer::priced(prices, bounds)
    }

    fn reads(&self) -> PageReads {
        let refills = if self.loses_rows() { limits::PAGE_READS_PER_ROW } else { 1 };
        // One more than is answered says whether there is a next page.
        let rows = self.page.saturating_mul(refills).max(self.page.saturating_add(1));
        PageReads { refills, rows }
    }

    /// Rows of the group that the file expects; a page and one more where it does not.
    fn expected(&self) -> u64 {
        let expect = self.index().map_or(&self.collection().expect, |index| &index.expect);
        expect.rows_per_group.unwrap_or(self.page.saturating_add(1))
    }

    fn rows(&self, most: u64) -> Count {
        Count::new(self.expected().min(self.page.saturating_add(1)), most)
    }

    fn is_read_whole(&self) -> bool {
        self.store.is_redis()
            && is_read_whole(self.keyspace, self.store, self.collection(), self.index())
    }

    /// Whether what is ranged over is an order kept beside the rows or entries, on Redis.
    fn is_ordered_apart(&self) -> bool {
        self.store.is_redis()
            && has_order(self.keyspace, self.store, self.collection(), self.index())
    }

    /// What one row of the range weighs.
    fn unit(&self) -> Size {
        match self.index() {
            _ if self.is_ordered_apart() => key_size(self.collection()),
            Some(index) => entry_size(self.collection(), index),
            None => record_size(self.collection()),
        }
    }

    /// What is read after the range: claims and entries, then records.
    fn fetched(&self) -> Vec<Size> {
        let record = record_size(self.collection());
        let apart = self.is_ordered_apart();
        let Some(index) = self.index() else {
            return if apart { vec![record] } else { Vec::new() };
        };
        let second = self.fetches(index);
        // A claim alone says whose it is; another entry's key names its record.
        let first = apart && (index.unique || !second);
        let entry = first.then(|| entry_size(self.collection(), index));
        entry.into_iter().chain(second.then_some(record)).collect()
    }

    /// Whether the server itself finds the records of claims, in the round that reads those.
    fn finds_owners(&self) -> bool {
        self.store == StoreKind::Redis && is_record(self.collection())
    }

    fn fetches(&self, index: &Index) -> bool {
        fetches(self.keyspace, self.store, self.pattern, self.collection())
            || hides_owner(self.pattern, self.collection(), index)
    }

    /// Whether entries may name records that have moved on, so that each is looked at.
    fn is_verified(&self) -> bool {
        is_apart(self.store) && self.index().is_some_and(|index| self.fetches(index))
    }

    /// Whether rows of the range may fall out, so that a page needs several reads.
    fn loses_rows(&self) -> bool {
        let dead =
            self.index().is_none() && leaves_dead(self.keyspace, self.store, self.collection());
        dead || self.is_verified() || self.collection().ttl.is_some()
    }
}

/// What it costs that a Set or a Hash has no order.
pub(super) fn whole_price(collection: &Collection, index: Option<&Index>) -> String {
    let counters = index.is_none() && collection.content == Content::Counter;
    let kind = if counters { "Hash" } else { "Set" };
    let most = grouped(limits::REDIS_SET_ROWS_MAX);
    format!("the whole {kind}, up to {most} members, is read and sorted")
}
