//! A whole keyspace from one store to another, and the proof that both then hold the same.
//!
//! ```text
//! walk the source ─▶ values ─▶ import into the target ─▶ mark: to go on after an interruption
//! walk both ─▶ values ─▶ rows and a sum of hashes a collection ─▶ the same, or which differs
//! ```
//!
//! Numbers of collections and fields differ from store to store, so rows cross as values. Indexes
//! are built by the target. A row gets a new version there: versions are the ids of commits.
//!
//! A copy looks at the source stretch by stretch and is not one instant of it; what is written
//! there meanwhile may be missed, and the comparison then tells. A row may be met twice, which
//! changes nothing: it is put as it is. So how many there are is only known from the comparison.

use super::import::{Existing, Import};
use super::walk::{PAGE_ROWS, Walk};
use crate::clock::{Clock, Milliseconds, Random};
use crate::error::{Error, ErrorKind, Result};
use crate::schema::{CollectionSchema, Schema};
use crate::store::{Keyed, Store};
use crate::value::Value;
use std::sync::Arc;

/// A store, opened with the keyspace.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// The store.
    pub store: &'a dyn Store,
    /// The keyspace with its numbers.
    pub schema: &'a Arc<Schema>,
}

/// How far a copy has come: everything up to here is in the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyMark {
    /// The collection it is in.
    pub collection: String,
    /// The store's mark of the walk over it; nothing at its beginning.
    pub after: Option<Vec<u8>>,
}

/// A copy under way.
pub struct Copy<'a> {
    from: Side<'a>,
    to: Side<'a>,
    clock: &'a dyn Clock,
    import: Import<'a>,
    /// Collections that were not begun, the next one last.
    ahead: Vec<Arc<CollectionSchema>>,
    /// The one under way, and where its walk is.
    current: Option<(Arc<CollectionSchema>, Option<Vec<u8>>)>,
    /// Rows written so far, since it was begun or taken up again; one that was met twice, twice.
    pub rows: u64,
    /// The last collection that was begun a second time: its source could not go on where the copy
    /// was, because it was started anew or replaced.
    pub begun_anew: Option<String>,
}

impl<'a> Copy<'a> {
    /// A copy from the beginning, or from where one was interrupted.
    pub fn new(
        from: Side<'a>,
        to: Side<'a>,
        (clock, random): (&'a dyn Clock, &'a dyn Random),
        mark: Option<&CopyMark>,
    ) -> Result<Self> {
        let import = Import::new(to.store, to.schema, clock, random, Existing::Replace);
        let mut ahead: Vec<Arc<CollectionSchema>> = from.schema.collections().to_vec();
        let mut current = None;
        if let Some(mark) = mark {
            let place = ahead.iter().position(|one| one.name() == mark.collection);
            ahead.drain(..place.ok_or_else(|| forgotten(mark))?);
            if mark.after.is_some() {
                current = Some((ahead.remove(0), mark.after.clone()));
            }
        }
        ahead.reverse();
        Ok(Copy { from, to, clock, import, ahead, current, rows: 0, begun_anew: None })
    }

    /// Collections that are still to be copied, the one under way among them.
    pub fn collections_left(&self) -> usize {
        self.ahead.len() + usize::from(self.current.is_some())
    }

    /// Copies some rows, and says how far it then is; nothing at the end.
    pub async fn next(&mut self) -> Result<Option<CopyMark>> {
        let (collection, mark) = match (&self.current, self.ahead.last()) {
            (Some(current), _) => current.clone(),
            (None, Some(next)) => (next.clone(), None),
            (None, None) => return Ok(None),
        };
        if self.current.is_none() {
            self.ahead.pop();
            self.current = Some((collection.clone(), None));
        }
        let name = collection.name().to_string();
        let space = collection.key.space;
        let Some(stretch) = self.from.store.walk_from(space, mark.as_deref(), PAGE_ROWS).await?
        else {
            if mark.is_none() {
                let message = "a store does not begin a walk";
                return Err(Error::new(ErrorKind::Internal, message).with("collection", name));
            }
            self.begun_anew = Some(name.clone());
            self.current = Some((collection, None));
            return Ok(Some(CopyMark { collection: name, after: None }));
        };
        self.write(&collection, &stretch.rows).await?;
        self.current = stretch.mark.clone().map(|mark| (collection, Some(mark)));
        Ok(Some(match (stretch.mark, self.ahead.last()) {
            (after @ Some(_), _) => CopyMark { collection: name, after },
            (None, Some(next)) => CopyMark { collection: next.name().into(), after: None },
            // All is there: whoever comes back looks at the last stretch once more.
            (None, None) => CopyMark { collection: name, after: mark },
        }))
    }

    async fn write(&mut self, collection: &CollectionSchema, rows: &[Keyed]) -> Result<()> {
        let now = self.clock.now();
        let target = self.to.schema.collection(collection.name())?;
        for keyed in rows.iter().filter(|keyed| keyed.row.is_live(now)) {
            let (segments, slots) = values(collection, keyed)?;
            self.import.row(target.clone(), segments, slots, keyed.row.expires).await?;
            self.rows += 1;
        }
        self.import.finish().await?;
        Ok(())
    }
}

fn forgotten(mark: &CopyMark) -> Error {
    let message = "the copy was interrupted in a collection that the file no longer has: begin \
                   anew";
    Error::new(ErrorKind::Mismatch, message).with("collection", &mark.collection)
}

/// What a collection holds: so many rows, and a sum over all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Its live rows, those that end soon left out.
    pub rows: u64,
    /// The sum of a hash of each, whatever their order.
    pub checksum: u128,
    /// Rows that are live and were not compared: within [`LASTS_MILLISECONDS`] they end, and a
    /// store may let go of them at any moment.
    pub ending: u64,
}

/// A collection on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// The collection.
    pub collection: String,
    /// What the source holds.
    pub from: Tally,
    /// What the target holds.
    pub to: Tally,
}

impl Compared {
    /// Whether both hold the same.
    pub fn is_same(&self) -> bool {
        (self.from.rows, self.from.checksum) == (self.to.rows, self.to.checksum)
    }
}

/// A comparison of two stores, collection by collection.
pub struct Comparison<'a> {
    from: Side<'a>,
    to: Side<'a>,
    /// When it began.
    now: Milliseconds,
    /// Rows that end before this are counted only.
    horizon: Milliseconds,
    ahead: std::vec::IntoIter<Arc<CollectionSchema>>,
}

/// How long a row must still last to be compared: longer than any comparison of it takes.
pub const LASTS_MILLISECONDS: i64 = 600_000;

impl<'a> Comparison<'a> {
    /// A comparison of everything.
    pub fn new(from: Side<'a>, to: Side<'a>, clock: &dyn Clock) -> Self {
        let now = clock.now();
        let horizon = now.saturating_add(LASTS_MILLISECONDS);
        let ahead = from.schema.collections().to_vec().into_iter();
        Comparison { from, to, now, horizon, ahead }
    }

    /// Compares the next collection, telling of pages read; nothing at the end.
    pub async fn next(&mut self, told: &mut (dyn FnMut(u64) + Send)) -> Result<Option<Compared>> {
        let Some(collection) = self.ahead.next() else { return Ok(None) };
        let from = self.tally(self.from, &collection, told).await?;
        let to = self.tally(self.to, &collection, told).await?;
        Ok(Some(Compared { collection: collection.name().to_string(), from, to }))
    }

    async fn tally(
        &self,
        side: Side<'_>,
        as_in: &CollectionSchema,
        told: &mut (dyn FnMut(u64) + Send),
    ) -> Result<Tally> {
        let collection = side.schema.collection(as_in.name())?;
        let mut walk = Walk::over(collection.key.space);
        let mut tally = Tally::default();
        while let Some(page) = walk.next(side.store).await? {
            for keyed in page.iter().filter(|keyed| keyed.row.is_live(self.now)) {
                if !keyed.row.is_live(self.horizon) {
                    tally.ending += 1;
                    continue;
                }
                let (segments, slots) = values(collection, keyed)?;
                tally.rows += 1;
                // Both sides in the bytes of one of them.
                let key = as_in.key.encode(&segments)?;
                let content = as_in.encode(&slots)?;
                let hash = hash(key.as_ref(), &content, keyed.row.expires);
                tally.checksum = tally.checksum.wrapping_add(hash);
            }
            told(page.len() as u64);
        }
        Ok(tally)
    }
}

/// The values of a row, segments and slots.
pub(super) fn values(
    collection: &CollectionSchema,
    keyed: &Keyed,
) -> Result<(Vec<Value>, Vec<Value>)> {
    let read = || {
        let segments = collection.key.decode(&keyed.key)?;
        Ok((segments, collection.decode(&keyed.row.value)?))
    };
    read().map_err(|error: Error| error.with("collection", collection.name()))
}

fn hash(key: &[u8], content: &[u8], expires: Option<Milliseconds>) -> u128 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(key.len() as u64).to_be_bytes());
    hasher.update(key);
    hasher.update(content);
    hasher.update(&expires.map_or([0xff; 8], Milliseconds::to_be_bytes));
    let [front @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] =
        *hasher.finalize().as_bytes();
    u128::from_be_bytes(front)
}
