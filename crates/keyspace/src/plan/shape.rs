//! The shape of rows on the stores, as far as costs depend on it: sizes, helper rows, what is read
//! whole, and what grows too large.
//!
//! What the shapes look like is in `layout`; nothing here names a table or a key.

use super::bounds::{Refusal, Size};
use super::step::counted;
use crate::layout::redis::{GRACE_MILLISECONDS, has_order, row_helpers};
use crate::layout::tables::row_key;
use crate::model::{
    Allow, Atomicity, Bucket, Collection, Expect, ExpressionKind, Index, Keyspace, Owner, Pattern,
    StoreKind, Ttl, Verb, duration_text, limits,
};

const DAY: u64 = 86_400_000;

/// The bytes of a record.
pub(super) fn record_size(collection: &Collection) -> Size {
    Size::new(collection.row_bytes_usual(), collection.row_bytes_max())
}

/// The bytes of a record's key alone: a bare key, a removal, a helper row.
pub(super) fn key_size(collection: &Collection) -> Size {
    let usual = collection.key.segments().map(|segment| segment.segment_type.bytes_usual()).sum();
    Size::new(usual, limits::KEY_BYTES_MAX as u64)
}

/// The bytes of an entry; a claim holds the key of its owner too.
pub(super) fn entry_size(collection: &Collection, index: &Index) -> Size {
    let key: u64 = index.key.segments().map(|segment| segment.segment_type.bytes_usual()).sum();
    let kept = index.keep.iter().filter_map(|field| collection.member_type(&field.value));
    let (mut usual, mut max) = (key, Some(0u64));
    for kind in kept {
        usual += kind.bytes_usual();
        max = max.and_then(|sum| Some(sum + kind.bytes_max()? + 4));
    }
    let max = max.unwrap_or(limits::VALUE_BYTES_MAX).min(limits::VALUE_BYTES_MAX);
    let owner = if index.unique { key_size(collection) } else { Size::default() };
    Size::new(usual + owner.usual, limits::KEY_BYTES_MAX as u64 + max + owner.max)
}

/// Whether slices of a group are containers of their own on this store.
pub(super) fn is_sliced(store: StoreKind, bucket: Option<&Bucket>) -> bool {
    bucket.is_some() && (store.is_cql() || store.is_redis())
}

/// Whether the entries of indexes lie where a commit of their record does not reach, or may.
pub(super) fn is_apart(store: StoreKind) -> bool {
    store.atomicity() == Atomicity::Group
}

/// Helper rows written with each record: the directory where one is added, and order, expiry and
/// versions that have no place in it.
pub(super) fn helper_rows(
    keyspace: &Keyspace,
    store: StoreKind,
    collection: &Collection,
    adds: bool,
) -> u64 {
    let sliced = u64::from(adds && is_sliced(store, collection.bucket.as_ref()));
    match store.is_redis() {
        true => sliced + row_helpers(keyspace, store, collection),
        false => sliced,
    }
}

/// Helper rows written with each entry that is added, and with each that is removed.
pub(super) fn helper_entries(
    keyspace: &Keyspace,
    store: StoreKind,
    collection: &Collection,
    index: &Index,
) -> (u64, u64) {
    let sliced = u64::from(is_sliced(store, index.bucket.as_ref()));
    let order = u64::from(store.is_redis() && has_order(keyspace, store, collection, Some(index)));
    (sliced + order, order)
}

/// Whether removed rows stay in their group for a while, marked dead, so that lists meet them.
pub(super) fn leaves_dead(keyspace: &Keyspace, store: StoreKind, collection: &Collection) -> bool {
    let removed = keyspace.patterns_of(collection).any(|pattern| pattern.verb == Verb::Delete);
    store.is_cql()
        && !keyspace.mode(collection).is_unconditional()
        && (removed || !collection.indexes.is_empty())
}

/// Why a store cannot hold a collection or one of its indexes, if it cannot.
pub(super) fn cannot_hold(
    store: StoreKind,
    collection: &Collection,
    index: Option<&Index>,
) -> Option<Refusal> {
    match store {
        StoreKind::Files => too_many_files(collection),
        StoreKind::Postgres => too_many_columns(collection, index),
        _ if store.is_cql() => {
            lives_too_long(collection).or_else(|| partition_too_large(collection, index))
        }
        _ => None,
    }
}

fn too_many_columns(collection: &Collection, index: Option<&Index>) -> Option<Refusal> {
    let (name, columns) = match index {
        Some(index) => (&index.name.value, index.key.segments().count()),
        None => (&collection.name.value, row_key(collection).segments().count()),
    };
    let most = limits::POSTGRES_KEY_COLUMNS_MAX;
    if columns <= most {
        return None;
    }
    let reason = format!("the key of `{name}` has {columns} columns; PostgreSQL takes {most}");
    let fixes = vec![
        "name the row by fewer segments, and keep the others as fields".to_string(),
        "join segments that are always given together in one of `text`".to_string(),
    ];
    Some(Refusal { code: 108, reason, fixes })
}

/// A row with entries stays a while after its end, so that they can be swept.
fn lives_too_long(collection: &Collection) -> Option<Refusal> {
    let Some(Ttl::After(length)) = collection.ttl else { return None };
    let most = limits::CASSANDRA_TTL_MILLISECONDS_MAX - GRACE_MILLISECONDS;
    if length <= most {
        return None;
    }
    let reason = format!(
        "rows of `{}` live for {}; servers take no life over {}, and rows stay an hour longer",
        collection.name.value,
        duration_text(i64::try_from(length).unwrap_or(i64::MAX)),
        duration_text(i64::try_from(limits::CASSANDRA_TTL_MILLISECONDS_MAX).unwrap_or(i64::MAX)),
    );
    let fixes = vec![
        format!("let rows end sooner: `ttl = \"{}d\"`", most / DAY),
        "leave `ttl` out, and delete rows that are no longer wanted".to_string(),
    ];
    Some(Refusal { code: 304, reason, fixes })
}

fn partition_too_large(collection: &Collection, index: Option<&Index>) -> Option<Refusal> {
    let name = index.map_or(&collection.name.value, |index| &index.name.value);
    let (expect, bucket, bytes) = match index {
        Some(index) => {
            let bytes = index.expect.row_bytes.unwrap_or(entry_size(collection, index).usual);
            (&index.expect, &index.bucket, bytes)
        }
        None => (&collection.expect, &collection.bucket, collection.row_bytes_usual()),
    };
    let rows = rows_together(expect, bucket.as_ref(), collection.ttl.as_ref())?;
    let together = rows.saturating_mul(bytes);
    if together <= limits::CASSANDRA_PARTITION_BYTES_MAX {
        return None;
    }
    let unit = if bucket.is_some() { "slice" } else { "group" };
    let reason = format!(
        "a {unit} of `{name}` is expected to hold {} of {bytes} bytes, {} MB in one partition; \
         reads degrade past {} MB",
        counted(rows, "row"),
        together / 1_000_000,
        limits::CASSANDRA_PARTITION_BYTES_MAX / 1_000_000,
    );
    Some(Refusal { code: 113, reason, fixes: partition_fixes(expect, bucket.as_ref(), bytes) })
}

fn partition_fixes(expect: &Expect, bucket: Option<&Bucket>, bytes: u64) -> Vec<String> {
    let fitting = limits::CASSANDRA_PARTITION_BYTES_MAX / bytes.max(1);
    let slice = expect.rows_per_day.map(|rows| (fitting.saturating_mul(DAY) / rows.max(1)).max(1));
    let unit = |length: u64| match length {
        DAY.. => length / DAY * DAY,
        3_600_000..DAY => length / 3_600_000 * 3_600_000,
        _ => length,
    };
    let by = bucket.map_or("…", |bucket| bucket.by.as_str());
    let sliced = match slice {
        Some(length) => {
            let every = duration_text(i64::try_from(unit(length)).unwrap_or(i64::MAX));
            format!("cut the group in slices: `bucket = {{ by = \"{by}\", every = \"{every}\" }}`")
        }
        None => "cut the group in slices by time with `bucket`, and say `expect.rows_per_day`"
            .to_string(),
    };
    vec![sliced, "put one more segment before the bar, so that groups are smaller".to_string()]
}

/// The rows that lie together in one group or slice, where the file says enough.
fn rows_together(expect: &Expect, bucket: Option<&Bucket>, ttl: Option<&Ttl>) -> Option<u64> {
    let within = |length: u64| {
        let rows = u128::from(expect.rows_per_day?) * u128::from(length) / u128::from(DAY);
        Some(u64::try_from(rows).unwrap_or(u64::MAX))
    };
    let kept = match ttl {
        Some(Ttl::After(length)) => within(*length),
        _ => None,
    };
    let sliced = bucket.and_then(|bucket| within(bucket.every));
    let grouped = if bucket.is_some() && sliced.is_none() { None } else { expect.rows_per_group };
    [kept, sliced, grouped].into_iter().flatten().min()
}

fn too_many_files(collection: &Collection) -> Option<Refusal> {
    let rows = rows_together(&collection.expect, None, collection.ttl.as_ref())?;
    if rows <= limits::FILES_RECORDS_MAX {
        return None;
    }
    let reason = format!(
        "one group of `{}` is expected to hold {}; a tree of files keeps order and indexes in \
         memory and holds {} at most",
        collection.name.value,
        counted(rows, "record"),
        counted(limits::FILES_RECORDS_MAX, "record"),
    );
    let elsewhere = "keep this keyspace on another store: engine, sqlite".to_string();
    let ended = collection.ttl.is_none().then(|| "let rows end with `ttl`".to_string());
    let fixes = std::iter::once(elsewhere).chain(ended).collect();
    Some(Refusal { code: 116, reason, fixes })
}

/// The fields with the owner and the tenant that a call must match. Roles and the public have none
/// to match, a new row has its own, and a read that is not the owner's looks at the tenant only.
pub fn owners_judged<'a>(
    collection: &'a Collection,
    verb: Verb,
    allow: &Allow,
) -> impl Iterator<Item = &'a Owner> {
    let judged = verb != Verb::Insert && !matches!(allow, Allow::Role(_) | Allow::Public);
    let owned = judged && (!verb.is_read() || *allow == Allow::Owner);
    let owner = collection.owner.as_ref().filter(|_| owned);
    let tenant = collection.tenant.as_ref().filter(|_| judged);
    owner.into_iter().chain(tenant).filter(|owner| owner.is_field)
}

/// Whether a record must be read although an entry holds all that is asked for: an owner or tenant
/// that is judged is a field the entry lacks.
pub fn hides_owner(pattern: &Pattern, collection: &Collection, index: &Index) -> bool {
    let is_kept = |name: &str| index.keep.iter().any(|field| field.value == name);
    let in_key = |name: &str| {
        index.key.segments().any(|segment| match &segment.source {
            Some(source) => matches!(&source.kind, ExpressionKind::Member(own) if own == name),
            None => segment.name == name,
        })
    };
    owners_judged(collection, pattern.verb, &pattern.allow)
        .any(|owner| !is_kept(&owner.name) && !in_key(&owner.name))
}
