//! Entries of an index together with the rows they name, where a store reads both at once.

use super::cases;
use crate::entries::entries;
use crate::schema::{CollectionSchema, IndexSchema};
use crate::store::{
    Gathered, Joined, Key, Keyed, Named, Scan, Seen, Store, Through, Versions, Write,
};
use crate::suite::Case;
use crate::suite::bench::{Bench, Checked, Failure, delete, holds, leave_out, same};
use crate::suite::clients::{Client, at_once};
use crate::value::Value;
use std::sync::Arc;

pub(super) fn cases() -> Vec<Case> {
    cases! {
        "P5" "through: entries and rows as they are read apart" => |b| asked(b, BY_KIND, false, 50);
        "P5" "through: reversed" => |b| asked(b, BY_KIND, true, 50);
        "P5" "through: no more entries than are asked for" => |b| asked(b, BY_KIND, false, 7);
        "P5" "through: reversed, no more than are asked for" => |b| asked(b, BY_KIND, true, 7);
        "P5" "through: one entry at a time" => |b| asked(b, BY_KIND, false, 1);
        "P5" "through: claims lead to rows as well" => |b| asked(b, BY_SERIAL, false, 50);
        "P5" "through: claims, reversed" => |b| asked(b, BY_SERIAL, true, 7);
        "P5" "through: the rows of the first entries only" => first_only;
        "P5" "through: the next stretch goes on behind the last" => in_stretches;
        "P5" "through: an entry without a row is answered" => without_a_row;
        "P5" "through: nothing where nothing is" => nothing_there;
        "P1" "at once: entries and rows are of one instant" => one_instant;
    }
}

const BY_KIND: usize = 0;
const BY_SERIAL: usize = 1;
const PARTS: usize = 20;

/// The rows of one room, and an index that leads to them.
struct Stock<'b> {
    bench: &'b Bench,
    collection: Arc<CollectionSchema>,
    index: Arc<IndexSchema>,
}

impl<'b> Stock<'b> {
    /// Nothing yet; not offered where entries and rows are read apart.
    async fn new(bench: &'b Bench, index: usize) -> Checked<Stock<'b>> {
        let collection = bench.schema.collection("parts")?.clone();
        let index = collection.indexes.get(index).cloned();
        let index = index.ok_or_else(|| Failure::broken("the suite has no such index"))?;
        let stock = Stock { bench, collection, index };
        match stock.read(bench.store.as_ref(), &stock.scan("none", false, 1)?, 1).await? {
            Some(_) => Ok(stock),
            None => Err(Failure::NotOffered("entries and rows are read apart")),
        }
    }

    /// So many rows of a kind, with all their entries.
    async fn filled(bench: &'b Bench, index: usize) -> Checked<Stock<'b>> {
        let stock = Stock::new(bench, index).await?;
        let mut writes = Vec::new();
        for number in 0..PARTS {
            writes.extend(stock.writes(number, "wheel", (number % 3) as i64)?);
        }
        writes.extend(stock.writes(PARTS, "axle", 1)?);
        bench.write(writes).await?;
        Ok(stock)
    }

    fn key(&self, number: usize) -> Checked<Key> {
        Ok(self.collection.key.encode(&self.segments(number))?)
    }

    fn segments(&self, number: usize) -> [Value; 2] {
        [self.bench.room(0), Value::Text(format!("part{number:02}"))]
    }

    /// A row and its entries.
    fn writes(&self, number: usize, kind: &str, weight: i64) -> Checked<Vec<Write>> {
        let serial = Value::Text(format!("serial{number:02}"));
        let slots = [Value::Text(kind.to_string()), Value::I64(weight), serial];
        let versions = self.collection.mode.has_version();
        let put = |key: Key, value, versioned| Write::Put {
            key,
            value,
            expires: None,
            versioned,
            trail: None,
        };
        let mut writes = vec![put(self.key(number)?, self.collection.encode(&slots)?, versions)];
        for entry in entries(&self.collection, &self.segments(number), &slots)? {
            let index = self.collection.indexes.get(entry.index);
            let is_claim = index.is_some_and(|index| index.model.unique);
            writes.push(put(entry.key, entry.value, versions && is_claim));
        }
        Ok(writes)
    }

    /// All entries of a kind; of the claims, of the room.
    fn scan(&self, kind: &str, reverse: bool, rows: usize) -> Checked<Scan> {
        let front = match self.index.model.unique {
            true => self.index.key.front(&[self.bench.room(0)])?,
            false => self.index.key.front(&[self.bench.room(0), Value::Text(kind.to_string())])?,
        };
        Ok(Scan { range: self.index.key.children(&front), reverse, rows })
    }

    async fn read(&self, store: &dyn Store, scan: &Scan, named: usize) -> Checked<Option<Joined>> {
        let (collection, index) = (self.collection.as_ref(), self.index.as_ref());
        let through = Through { scan, named, collection, index };
        Ok(store.scan_through(&through).await?)
    }

    /// What a store joins, held against what it answers apart.
    async fn compared(&self, scan: &Scan, named: usize) -> Checked<Joined> {
        let store = self.bench.store.as_ref();
        let joined = self.read(store, scan, named).await?;
        let joined = joined.ok_or_else(|| Failure::broken("first joined, then apart"))?;
        same("the entries", &joined.entries, &store.scan(scan).await?)?;
        let (collection, index) = (self.collection.as_ref(), self.index.as_ref());
        let through = Through { scan, named, collection, index };
        let first = joined.entries.rows.iter().take(named);
        let keys = first.map(|entry| through.owner(entry)).collect::<Result<Vec<_>, _>>()?;
        let rows = store.get(&keys).await?;
        let named = |(key, row): (Key, Option<_>)| row.map(|row| Keyed { key, row });
        let rows: Vec<_> = keys.into_iter().zip(rows).map(named).collect();
        same("the rows", &joined.rows, &rows)?;
        Self::shows(store, &through, &joined).await?;
        Ok(joined)
    }

    /// Holds what a store shows one after the other, where it does, against what it answers
    /// together.
    async fn shows(store: &dyn Store, through: &Through<'_>, joined: &Joined) -> Checked {
        for versions in [Versions::Wanted, Versions::Unwanted] {
            let mut later = Gathered::default();
            let mut keep = |entry: &Seen<'_>, named: Named<'_>| later.keep(entry, named);
            if let Some(end) = store.each_through(through, versions, &mut keep).await? {
                alike(later.finish(end), versions, joined)?;
            }
            if let Some(store) = store.at_once() {
                let mut at_once = Gathered::default();
                let mut keep = |entry: &Seen<'_>, named: Named<'_>| at_once.keep(entry, named);
                let end = store.each_through(through, versions, &mut keep)?;
                alike(at_once.finish(end), versions, joined)?;
            }
        }
        Ok(())
    }
}

async fn asked(bench: &Bench, index: usize, reverse: bool, rows: usize) -> Checked {
    let stock = Stock::filled(bench, index).await?;
    let joined = stock.compared(&stock.scan("wheel", reverse, rows)?, rows).await?;
    let there = PARTS + usize::from(index == BY_SERIAL);
    same("entries", joined.entries.rows.len(), rows.min(there))?;
    holds("every entry has a row", joined.rows.iter().all(Option::is_some))
}

async fn first_only(bench: &Bench) -> Checked {
    let stock = Stock::filled(bench, BY_KIND).await?;
    for named in [0, 1, 6] {
        let joined = stock.compared(&stock.scan("wheel", false, 7)?, named).await?;
        same("entries", joined.entries.rows.len(), 7)?;
        same("rows", joined.rows.len(), named)?;
    }
    Ok(())
}

async fn in_stretches(bench: &Bench) -> Checked {
    let stock = Stock::filled(bench, BY_KIND).await?;
    let mut scan = stock.scan("wheel", false, 6)?;
    let mut met = Vec::new();
    loop {
        let joined = stock.compared(&scan, 6).await?;
        met.extend(joined.rows.into_iter().flatten().map(|row| row.key));
        match joined.entries.rows.last() {
            Some(last) if joined.entries.end != crate::store::End::Range => {
                scan.range = scan.range.after(&last.key, false);
            }
            _ => break,
        }
    }
    met.sort();
    same("rows met", met, (0..PARTS).map(|number| stock.key(number)).collect::<Checked<_>>()?)
}

async fn without_a_row(bench: &Bench) -> Checked {
    let stock = Stock::filled(bench, BY_KIND).await?;
    bench.write(vec![delete(&stock.key(4)?)]).await?;
    let joined = stock.compared(&stock.scan("wheel", false, 50)?, 50).await?;
    same("entries", joined.entries.rows.len(), PARTS)?;
    same("entries without a row", joined.rows.iter().filter(|row| row.is_none()).count(), 1)
}

async fn nothing_there(bench: &Bench) -> Checked {
    let stock = Stock::filled(bench, BY_KIND).await?;
    let joined = stock.compared(&stock.scan("spoke", false, 50)?, 50).await?;
    same("entries", joined.entries.rows.len(), 0)
}

/// Two clients move a row from one kind to another, two look at what the entries lead to.
async fn one_instant(bench: &Bench) -> Checked {
    let stock = Stock::new(bench, BY_KIND).await?;
    let mut turns = Vec::new();
    for (kind, other) in [("wheel", "axle"), ("axle", "wheel")] {
        let mut writes = stock.writes(0, kind, 1)?;
        let before = stock.writes(0, other, 1)?;
        let stays = |key: &Key| writes.iter().any(|write| write.key() == key);
        let gone: Vec<_> =
            before.iter().map(Write::key).filter(|key| !stays(key)).map(delete).collect();
        writes.extend(gone);
        turns.push((kind, writes, stock.scan(kind, false, 5)?));
    }
    let shared = Arc::new((stock.collection.clone(), stock.index.clone(), turns));
    let times = 2_000 * bench.effort as usize;
    let work = |client: Client| {
        let shared = shared.clone();
        Box::pin(async move {
            let (collection, index, turns) = shared.as_ref();
            for (kind, writes, scan) in turns.iter().cycle().take(times) {
                if client.number < 2 {
                    client.commits(Vec::new(), writes.clone()).await?;
                    continue;
                }
                let through = Through { scan, named: 5, collection, index };
                let joined = client.store.scan_through(&through).await?;
                for row in joined.into_iter().flat_map(|joined| joined.rows) {
                    let row = row.ok_or_else(|| Failure::broken("an entry names no row"))?;
                    let found = collection.read(&row.row.value, 0)?;
                    same("the kind", found, Value::Text((*kind).to_string()))?;
                }
            }
            Ok(())
        }) as _
    };
    at_once(bench, 4, work).await.map(drop)
}

/// Holds what a store has shown against what it answered.
fn alike(shown: Joined, versions: Versions, joined: &Joined) -> Checked {
    let bare = |mut joined: Joined| {
        let Joined { entries, rows } = &mut joined;
        leave_out(entries.rows.iter_mut().chain(rows.iter_mut().flatten()), versions);
        joined
    };
    same("entries and rows shown one after the other", bare(shown), bare(joined.clone()))
}
