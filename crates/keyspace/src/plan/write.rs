//! What changes cost on every store.
//!
//! ```text
//! whole store   read what must be known ─▶ one commit: records, entries, claims
//! one group     read the version ─▶ claim, one by one ─▶ enter ─▶ compare and set ─▶ clean up
//! plain rows    one logged batch on Cassandra; without entries one commit on Redis Cluster
//! ```
//!
//! An attempt that meets a claim in other hands looks at the claim and at its owner. It then ends,
//! after a wait or a fence, and the next attempt begins; or it takes the claim over and goes on,
//! with the round trips of the attempts that it saves.
//!
//! Cassandra judges by versions alone. Where more must be known (what a counter has, when a row
//! ends that is only looked at, whether a claim in the way has ended), the store reads before it
//! judges, whatever the protocol has read.

use super::bounds::{Answer, Bounds, Count, Refusal, Size};
use super::effect::{Effect, Entries};
use super::shape::{
    cannot_hold, entry_size, helper_entries, helper_rows, is_apart, is_sliced, key_size,
    record_size,
};
use super::step::counted;
use crate::model::{Atomicity, Keyspace, Mode, StoreKind, Verb, limits};
use crate::parse::grouped;

/// Entries a record usually has in an index with `each`.
const EACH_ENTRIES_USUAL: u64 = 4;

/// What one commit of these effects costs, after `read_rounds` waits for what must be known.
pub(super) fn answer(
    keyspace: &Keyspace,
    store: StoreKind,
    effects: &[Effect],
    read_rounds: u64,
) -> Answer {
    if let Some(refusal) = refusal(store, effects) {
        return Answer::Refused(refusal);
    }
    let work = Work { keyspace, store, effects, read_rounds };
    match store.atomicity() {
        Atomicity::WholeStore => work.whole_store(),
        Atomicity::Group if work.is_unconditional() => work.plain(),
        Atomicity::Group => work.compared_and_set(),
    }
}

/// The waits for what a single change must know first.
pub(super) fn read_rounds(effect: &Effect) -> u64 {
    u64::from(effect.through.is_some()) + u64::from(effect.reads_old)
}

/// The waits of one commit that has read nothing yet.
pub(super) fn commit_trips(store: StoreKind) -> u64 {
    // Locks and versions go one way, writes and the commit another.
    if store == StoreKind::Postgres { 2 } else { 1 }
}

/// Why a store cannot take these effects, if it cannot.
fn refusal(store: StoreKind, effects: &[Effect]) -> Option<Refusal> {
    let large = effects.iter().find_map(|effect| {
        let indexes = effect.entries.iter().map(|entries| Some(entries.index.as_ref()));
        let mut places = std::iter::once(None).chain(indexes);
        places.find_map(|index| cannot_hold(store, &effect.collection, index))
    });
    large.or_else(|| too_many_writes(effects)).or_else(|| too_many_bytes(store, effects))
}

fn writes_of(effect: &Effect) -> u64 {
    let entries: u64 = effect.entries.iter().map(|entries| entries.added + entries.removed).sum();
    u64::from(effect.verb.is_some()) + entries
}

/// Records and entries that all effects write or remove.
fn statements(effects: &[Effect]) -> u64 {
    let writes = effects.iter().map(|effect| effect.rows.saturating_mul(writes_of(effect)));
    writes.fold(0, u64::saturating_add)
}

fn too_many_writes(effects: &[Effect]) -> Option<Refusal> {
    let writes = |effect: &Effect| effect.rows.saturating_mul(writes_of(effect));
    let all = statements(effects);
    if all <= limits::BATCH_WRITES_MAX {
        return None;
    }
    let largest = effects.iter().max_by_key(|effect| writes(effect))?;
    let name = &largest.collection.name.value;
    let reason = format!(
        "one call may write {} and index entries, most of them of `{name}`; a batch holds {}",
        counted(all, "record"),
        grouped(limits::BATCH_WRITES_MAX),
    );
    let others = all - writes(largest);
    let fitting = limits::BATCH_WRITES_MAX.saturating_sub(others) / writes_of(largest).max(1);
    let fewer = match (largest.rows, fitting) {
        (2.., 1..) => format!("lower `many` to {fitting}"),
        _ => format!("index `{name}` by fewer lists"),
    };
    let split = "split the change into several patterns".to_string();
    Some(Refusal { code: 111, reason, fixes: vec![fewer, split] })
}

/// The most bytes of one batch.
fn batch_bytes_max(store: StoreKind, effects: &[Effect]) -> u64 {
    let plain = effects.iter().all(|effect| effect.mode.is_unconditional());
    match store.is_cql() && plain && statements(effects) > 1 {
        true => limits::CASSANDRA_BATCH_BYTES_MAX,
        false => limits::BATCH_BYTES_MAX,
    }
}

/// A batch that would be refused as a rule, not only at the limits.
fn too_many_bytes(store: StoreKind, effects: &[Effect]) -> Option<Refusal> {
    let usual = |effect: &Effect| written(Bounds::default(), effect).bytes_written_usual;
    let bytes = effects.iter().map(usual).fold(0, u64::saturating_add);
    let (most, limit) = match batch_bytes_max(store, effects) {
        // What no store takes is said once for all of them.
        _ if bytes > limits::BATCH_BYTES_MAX => (limits::BATCH_BYTES_MAX, "a batch holds at most"),
        most if bytes > most => (most, "servers refuse batches over"),
        _ => return None,
    };
    let reason =
        format!("a usual call writes {} KiB in one batch; {limit} {} KiB", bytes >> 10, most >> 10);
    let largest = effects.iter().max_by_key(|effect| usual(effect))?;
    let others = bytes.saturating_sub(usual(largest));
    let row = usual(largest) / largest.rows.max(1);
    let fitting = most.saturating_sub(others) / row.max(1);
    let fewer = (largest.rows > 1 && fitting > 0).then(|| format!("lower `many` to {fitting}"));
    let apart = "keep large content in a collection of its own, without indexes".to_string();
    let fixes = fewer.into_iter().chain([apart]).collect();
    Some(Refusal { code: 111, reason, fixes })
}

/// Records, entries and claims of one effect.
fn written(bounds: Bounds, effect: &Effect) -> Bounds {
    let Some(verb) = effect.verb else { return bounds };
    let size = match verb {
        Verb::Delete => key_size(&effect.collection),
        _ => record_size(&effect.collection),
    };
    let bounds = bounds.write(Count::exactly(effect.rows), size);
    effect.entries.iter().fold(bounds, |bounds, entries| {
        let size = entry_size(&effect.collection, &entries.index);
        let gone = Size::new(size.usual, limits::KEY_BYTES_MAX as u64);
        let count = |most: u64| Count::new(EACH_ENTRIES_USUAL, most).times(effect.rows);
        bounds.write(count(entries.added), size).write(count(entries.removed), gone)
    })
}

struct Work<'a> {
    keyspace: &'a Keyspace,
    store: StoreKind,
    effects: &'a [Effect],
    read_rounds: u64,
}

impl Work<'_> {
    fn is_unconditional(&self) -> bool {
        self.effects.iter().all(|effect| self.kept(effect).is_unconditional())
    }

    /// How the store keeps the rows of an effect.
    fn kept(&self, effect: &Effect) -> Mode {
        self.keyspace.kept_mode(self.store, &effect.collection)
    }

    /// The entries that lie where the commit does not reach, each with its effect.
    fn apart(&self) -> impl Iterator<Item = (&Effect, &Entries)> {
        let pairs = self
            .effects
            .iter()
            .flat_map(|effect| effect.entries.iter().map(move |entries| (effect, entries)));
        pairs.filter(|_| is_apart(self.store))
    }

    /// Claims gained or lost by all rows, one by one.
    fn claims(&self, number: impl Fn(&Entries) -> u64) -> u64 {
        let unique = self.apart().filter(|(_, entries)| entries.index.unique);
        unique.map(|(effect, entries)| effect.rows.saturating_mul(number(entries))).sum()
    }

    /// Whether a directory of slices must know of a slice before anything is in it.
    fn is_sliced(&self) -> bool {
        self.effects.iter().any(|effect| {
            let buckets = effect.entries.iter().filter(|entries| entries.added > 0);
            let buckets = buckets.map(|entries| entries.index.bucket.as_ref());
            let adds = effect.verb.is_some_and(|verb| verb != Verb::Delete);
            let own = effect.collection.bucket.as_ref().filter(|_| adds);
            std::iter::once(own).chain(buckets).any(|bucket| is_sliced(self.store, bucket))
        })
    }

    /// Rows read and written, without any waits; what is written is one batch to the caller.
    fn rows(&self, needs_version: impl Fn(&Effect) -> bool) -> Bounds {
        let mut bounds = self.effects.iter().fold(Bounds::default(), written);
        for effect in self.effects {
            let rows = Count::exactly(effect.rows);
            if let Some(index) = &effect.through {
                bounds = bounds.read(rows, entry_size(&effect.collection, index));
            }
            if effect.reads_old || needs_version(effect) {
                bounds = bounds.read(rows, record_size(&effect.collection));
            }
            if effect.verb.is_none() {
                continue;
            }
            let adds = effect.verb != Some(Verb::Delete);
            let mut helpers = helper_rows(self.keyspace, self.store, &effect.collection, adds);
            for entries in &effect.entries {
                let (added, removed) = self.helper_entries(effect, entries);
                helpers += added * entries.added + removed * entries.removed;
            }
            let helpers = Count::exactly(helpers).times(effect.rows);
            bounds = bounds.write(helpers, key_size(&effect.collection));
        }
        bounds.capped_at(batch_bytes_max(self.store, self.effects))
    }

    fn helper_entries(&self, effect: &Effect, entries: &Entries) -> (u64, u64) {
        helper_entries(self.keyspace, self.store, &effect.collection, &entries.index)
    }

    fn whole_store(&self) -> Answer {
        let bounds = self.rows(|_| false);
        let bounds = bounds.trips(self.read_rounds + commit_trips(self.store));
        let reads = self.effects.iter().any(|effect| effect.reads_old);
        Answer::Native(if reads { bounds.contended() } else { bounds })
    }

    /// Rows without versions: nothing can be lost to another writer.
    fn plain(&self) -> Answer {
        let bounds = self.rows(|_| false).trips(self.read_rounds + 1);
        if self.store.is_cql() {
            let directory = u64::from(self.is_sliced());
            return Answer::Native(bounds.trips(directory));
        }
        Answer::Native(bounds)
    }

    /// Rows with versions: entries and claims elsewhere first, then the row, then what it left.
    fn compared_and_set(&self) -> Answer {
        let cql = self.store.is_cql();
        let apart = self.apart().next().is_some();
        let needs = |effect: &Effect| self.kept(effect).has_version() && !effect.version_known;
        let reads = self.effects.iter().any(needs);
        let read_rounds = self.read_rounds.max(u64::from(reads));
        let store_reads = self.store_reads();
        let gained = self.claims(|entries| entries.added);
        let lost = self.claims(|entries| entries.removed);
        let enters = self.apart().any(|(_, entries)| !entries.index.unique && entries.added > 0);
        let directory = cql && self.is_sliced();
        let ahead = read_rounds + u64::from(directory) + gained + self.ended();
        let set = u64::from(enters) + u64::from(store_reads) + 1 + u64::from(apart);
        let trips = ahead + set.max(self.taken(gained));
        let mut bounds = self.taken_back(self.rows(needs)).trips(trips);
        if store_reads {
            bounds = self.effects.iter().fold(bounds, |bounds, effect| {
                bounds.read(Count::exactly(effect.rows), record_size(&effect.collection))
            });
        }
        // Whatever was read or claimed may change before the row does.
        let knows = store_reads || reads || self.effects.iter().any(|effect| effect.reads_old);
        if gained > 0 || knows {
            bounds = bounds.contended();
        }
        let mut prices = Vec::new();
        if cql {
            // A failed attempt gives its claims back, a successful one those of the old row.
            bounds.transactions = 1 + gained + gained.max(lost);
            prices.push(self.transaction_price(bounds.transactions));
        }
        if apart {
            prices.push(self.apart_price());
        }
        Answer::priced(prices, bounds)
    }

    /// Whether the store reads what is set, or only looked at, before it judges: versions do not
    /// say what a counter has, or when a row ends.
    fn store_reads(&self) -> bool {
        let needs = |effect: &Effect| effect.verb.is_none() || !self.kept(effect).has_version();
        self.store.is_cql() && self.effects.iter().any(needs)
    }

    /// The waits for claims that have ended and still lie there: what is in the way is read, and
    /// the claim made once more.
    fn ended(&self) -> u64 {
        let ends = |effect: &Effect| self.store.is_cql() && effect.collection.ttl.is_some();
        let unique = self.apart().filter(|(effect, of)| of.index.unique && ends(effect));
        unique.map(|(effect, of)| effect.rows.saturating_mul(2 * of.added)).sum()
    }

    /// The waits after the last claim if it is in other hands: the claim and its owner are looked
    /// at, the claim before that by Cassandra's store, and the others are given back.
    fn taken(&self, gained: u64) -> u64 {
        match gained {
            0 => 0,
            _ => u64::from(self.store.is_cql()) + 2 + u64::from(gained > 1),
        }
    }

    /// What an attempt adds that meets others: it removes what it has entered and claimed, looks at
    /// claims in other hands and at the rows that hold them, and fences these or takes those over.
    fn taken_back(&self, bounds: Bounds) -> Bounds {
        self.apart().fold(bounds, |bounds, (effect, entries)| {
            let size = entry_size(&effect.collection, &entries.index);
            let gone = Size::new(size.usual, limits::KEY_BYTES_MAX as u64);
            // One that succeeds removes those of the old row instead.
            let more = entries.added.saturating_sub(entries.removed);
            let bounds = bounds.write(Count::new(0, more).times(effect.rows), gone);
            let looks = if entries.index.unique { entries.added } else { 0 };
            let looks = Count::new(0, looks).times(effect.rows);
            // Cassandra's store has read the claim by then.
            let bounds = if self.store.is_cql() { bounds.read(looks, size) } else { bounds };
            let record = record_size(&effect.collection);
            let larger = if record.max > size.max { record } else { size };
            bounds.read(looks, size).read(looks, record).write(looks, larger)
        })
    }

    fn transaction_price(&self, transactions: u64) -> String {
        let number = match transactions {
            1 => "1 lightweight transaction".to_string(),
            _ => format!("up to {transactions} lightweight transactions"),
        };
        let each = if transactions > 1 { " each" } else { "" };
        match self.store {
            StoreKind::Scylla => format!("{number}, with tablets on releases after 2025.3 only"),
            _ => format!("{number}, 4 message rounds{each} with Paxos v1, 2 with v2"),
        }
    }

    fn apart_price(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        let (mut added, mut removed) = (false, false);
        for (_, entries) in self.apart() {
            added |= entries.added > 0;
            removed |= entries.removed > 0;
            if !names.contains(&entries.index.name.value.as_str()) {
                names.push(&entries.index.name.value);
            }
        }
        let when = match (added, removed) {
            (true, true) => "written before the row and removed after it",
            (true, false) => "written before the row",
            (false, _) => "removed after the row",
        };
        format!("entries of {} are {when}", names.join(", "))
    }
}
