//! Decides which containers a collection and its indexes have in Redis.
//!
//! The rules are few: a row is at its own key; what is walked along has one container a group; what
//! has no room for a version or an end has it beside the group. A Set is for membership: where the
//! order of its members may be asked for, they are a sorted set. Nothing else decides a type.
//!
//! On a cluster an entry lies in another slot than its row. It cannot ask its row when it ends, and
//! that of a row with versions says which attempt wrote it: such entries are Hashes with an order.

use super::super::{Serves, sortable, uses};
use super::{
    ATTEMPT, Container, EXPIRY, Expires, HELD, MemberForm, NULLS, ORDER, PREVIOUS, ROW, RedisType,
    Role, SLICE, SLICES, SliceForm, VERSION,
};
use crate::model::limits::REDIS_SET_ROWS_MAX;
use crate::model::{
    Bucket, Collection, Content, DefaultValue, Field, Index, Key, Keyspace, Mode, Part, Segment,
    StoreKind, Type,
};
use crate::source::Span;

/// Whether rows of a collection have something that outlives them unless somebody sweeps: entries,
/// or a version beside them.
pub fn has_entries(keyspace: &Keyspace, collection: &Collection) -> bool {
    let serves = Serves::new(collection, None);
    let listed = uses::is_listed(keyspace, &serves) && !collection.key.is_whole_group();
    let versioned = keyspace.mode(collection) == Mode::Conditional && !is_record(collection);
    listed || versioned || !collection.indexes.is_empty()
}

/// Whether rows say how they came to be, and what elsewhere belongs to them.
pub fn has_trails(keyspace: &Keyspace, store: StoreKind, collection: &Collection) -> bool {
    store == StoreKind::RedisCluster && keyspace.kept_mode(store, collection) == Mode::Conditional
}

/// The key of an index's entries as they lie there: on a cluster those of rows with versions end
/// with the attempt that wrote them.
pub fn entry_key(
    keyspace: &Keyspace,
    store: StoreKind,
    collection: &Collection,
    index: &Index,
) -> Key {
    let mut key = index.key.clone();
    if has_trails(keyspace, store, collection) && !index.unique {
        key.parts.push(helper_part(ATTEMPT, Type::Uuid));
    }
    key
}

/// Whether the entries of an index, on a cluster, are Hashes whatever they keep: they say which
/// attempt wrote them, or when they end.
fn is_told_apart(
    keyspace: &Keyspace,
    store: StoreKind,
    collection: &Collection,
    index: &Index,
) -> bool {
    let ends = collection.ttl.is_some() && !index.key.is_whole_group();
    let apart = has_trails(keyspace, store, collection) || ends;
    store == StoreKind::RedisCluster && !index.unique && apart
}

/// Whether a row is a Hash of its own.
pub fn is_record(collection: &Collection) -> bool {
    match &collection.content {
        Content::Fields(_) => true,
        Content::Keys => collection.body.is_some(),
        _ => false,
    }
}

/// The extra fields of a record's Hash.
pub fn extra_fields(
    keyspace: &Keyspace,
    store: StoreKind,
    collection: &Collection,
) -> Vec<&'static str> {
    // Redis has no empty Hash, so a record that may be all nulls needs a field of some kind.
    let may_be_empty = match &collection.content {
        Content::Fields(fields) => {
            collection.body.is_none() && fields.iter().all(|f| f.field_type.is_optional())
        }
        _ => false,
    };
    let versioned = keyspace.kept_mode(store, collection) == Mode::Conditional;
    let expiring = collection.ttl.is_some() && has_entries(keyspace, collection);
    let constant = |field: &Field| field.default.as_ref().is_some_and(DefaultValue::is_constant);
    let mut fields = collection.fields().iter();
    let nullable = fields.any(|field| field.field_type.is_optional() && constant(field));
    let row = may_be_empty && !versioned;
    let trails = has_trails(keyspace, store, collection);
    let holds = trails && !collection.indexes.is_empty();
    // The end of a row that leaves a trail is always told by a field.
    let expiring = expiring || (trails && collection.ttl.is_some());
    let wanted = [
        (versioned, VERSION),
        (trails, PREVIOUS),
        (holds, HELD),
        (row, ROW),
        (nullable, NULLS),
        (expiring, EXPIRY),
    ];
    wanted.into_iter().filter_map(|(wanted, name)| wanted.then_some(name)).collect()
}

/// Appends the containers of a collection's rows.
pub(super) fn of_rows(
    keyspace: &Keyspace,
    store: StoreKind,
    collection: &Collection,
    found: &mut Vec<Container>,
) {
    let serves = Serves::new(collection, None);
    let key = &collection.key;
    let alone = key.is_whole_group();
    let ends = collection.ttl.is_some();
    let whole = is_read_whole(keyspace, store, collection, None);
    let ordered = has_order(keyspace, store, collection, None);
    let bucket = collection.bucket.as_ref();
    let make = Make { keyspace, key, serves: &serves, bucket };
    let (role, redis_type) = match &collection.content {
        _ if is_record(collection) => (Role::Record, RedisType::Hash),
        Content::Counter if !alone && !ends => (Role::Counters, RedisType::Hash),
        Content::Counter | Content::Window { .. } => (Role::Counter, RedisType::String),
        Content::Keys if whole => (Role::Keys, RedisType::Set),
        Content::Keys if !alone && !ends => (Role::Keys, RedisType::SortedSet),
        _ => (Role::Value, RedisType::String),
    };
    match role {
        Role::Counters | Role::Keys => make.group(role, redis_type, found),
        _ => {
            let expires = row_expires(keyspace, collection);
            found.push(Container { expires, ..make.row(role, redis_type) });
            if ordered {
                make.group(Role::Order, RedisType::SortedSet, found);
            }
        }
    }
    if role == Role::Counters && ordered {
        found.push(make.named(ORDER, Role::Order, RedisType::SortedSet));
    }
    if keyspace.kept_mode(store, collection) == Mode::Conditional && role != Role::Record {
        found.push(make.beside(VERSION, Role::Versions, RedisType::Hash));
    }
    let swept = row_expires(keyspace, collection).is_some() && has_entries(keyspace, collection);
    // A removed row leaves its version beside the group, and that must go some day.
    let leaves = has_trails(keyspace, store, collection) && role != Role::Record;
    if swept || leaves {
        found.push(make.beside(EXPIRY, Role::Expiries, RedisType::SortedSet));
    }
}

/// When Redis ends a row. Counts always end exactly: whoever adds next begins anew.
fn row_expires(keyspace: &Keyspace, collection: &Collection) -> Option<Expires> {
    match (&collection.content, &collection.ttl) {
        (Content::Window { .. }, _) | (Content::Counter, Some(_)) => Some(Expires::AtEnd),
        (_, Some(_)) if has_entries(keyspace, collection) => Some(Expires::AfterGrace),
        (_, Some(_)) => Some(Expires::AtEnd),
        (_, None) => None,
    }
}

/// Appends the containers of an index.
pub(super) fn of_index(
    keyspace: &Keyspace,
    store: StoreKind,
    (collection, index): (&Collection, &Index),
    found: &mut Vec<Container>,
) {
    let serves = Serves::new(collection, Some(index));
    let key = &entry_key(keyspace, store, collection, index);
    let make = Make { keyspace, key, serves: &serves, bucket: index.bucket.as_ref() };
    let alone = key.is_whole_group();
    let expires = row_expires(keyspace, collection);
    let kept = !index.keep.is_empty();
    let trails = has_trails(keyspace, store, collection);
    let is_swept = store == StoreKind::RedisCluster && expires.is_some();
    if index.unique || alone {
        let redis_type = if kept || trails { RedisType::Hash } else { RedisType::String };
        found.push(Container { expires, ..make.row(Role::Claim, redis_type) });
        if has_order(keyspace, store, collection, Some(index)) {
            make.group(Role::Order, RedisType::SortedSet, found);
            if is_swept {
                found.push(make.beside(EXPIRY, Role::Expiries, RedisType::SortedSet));
            }
        }
        return;
    }
    if kept || is_told_apart(keyspace, store, collection, index) {
        found.push(Container { expires, ..make.row(Role::Entry, RedisType::Hash) });
        make.group(Role::Order, RedisType::SortedSet, found);
        if is_swept {
            found.push(make.beside(EXPIRY, Role::Expiries, RedisType::SortedSet));
        }
        return;
    }
    let whole = is_read_whole(keyspace, store, collection, Some(index));
    let redis_type = if whole { RedisType::Set } else { RedisType::SortedSet };
    make.group(Role::Entries, redis_type, found);
}

/// Whether a group, or the entries of an index that are keys of their own, has an order beside it.
pub fn has_order(
    keyspace: &Keyspace,
    store: StoreKind,
    collection: &Collection,
    index: Option<&Index>,
) -> bool {
    let is_listed = || uses::is_listed(keyspace, &Serves::new(collection, index));
    match index {
        Some(index) if is_told_apart(keyspace, store, collection, index) => true,
        Some(index) if index.key.is_whole_group() => false,
        Some(index) if index.unique => is_listed(),
        Some(index) => !index.keep.is_empty(),
        None if collection.key.is_whole_group() => false,
        // A sorted set of bare keys is its own order; a Hash of counters has none.
        None if is_container(collection) => {
            collection.content == Content::Counter
                && is_listed()
                && !is_read_whole(keyspace, store, collection, None)
        }
        None => is_listed(),
    }
}

/// The helpers that know of every row of a collection: its order, its version, its end.
pub fn row_helpers(keyspace: &Keyspace, store: StoreKind, collection: &Collection) -> u64 {
    let mut found = Vec::new();
    of_rows(keyspace, store, collection, &mut found);
    let of_each_row = |role: Role| role.is_helper() && role != Role::Slices;
    found.iter().filter(|container| of_each_row(container.role)).count() as u64
}

/// Whether a group, or the entries of an index, is one Set or one Hash without an order beside it:
/// it is read whole, and what is asked for is sorted and cut afterwards.
pub fn is_read_whole(
    keyspace: &Keyspace,
    store: StoreKind,
    collection: &Collection,
    index: Option<&Index>,
) -> bool {
    let (key, expect) = match index {
        Some(index) => (&index.key, &index.expect),
        None => (&collection.key, &collection.expect),
    };
    let small = expect.rows_per_group.is_some_and(|rows| rows <= REDIS_SET_ROWS_MAX);
    if !small || key.is_whole_group() {
        return false;
    }
    let serves = Serves::new(collection, index);
    match index {
        Some(index) => {
            !index.unique
                && index.keep.is_empty()
                && !is_told_apart(keyspace, store, collection, index)
                && is_membership(keyspace, key, &serves)
        }
        None => {
            is_container(collection)
                && match collection.content {
                    // A Hash has no order whatever its fields are; small, it needs none beside it.
                    Content::Counter => true,
                    _ => is_membership(keyspace, key, &serves),
                }
        }
    }
}

/// Whether all rows of a group are in one container: bare keys and counters that never end.
pub fn is_container(collection: &Collection) -> bool {
    let bare = match collection.content {
        Content::Keys => collection.body.is_none(),
        Content::Counter => true,
        _ => false,
    };
    bare && collection.ttl.is_none() && !collection.key.is_whole_group()
}

/// Whether the order of a group's members means nothing: a member is one name, rising, and no
/// pattern asserts the order of a list.
fn is_membership(keyspace: &Keyspace, key: &Key, serves: &Serves) -> bool {
    let mut members = key.rest_segments();
    let (Some(only), None) = (members.next(), members.next()) else { return false };
    let name = matches!(
        only.segment_type,
        Type::Text | Type::Bytes | Type::Uuid | Type::Enum(_) | Type::Bool
    );
    name && !only.descending && !uses::is_ordered(keyspace, serves)
}

/// What a key's container leaves to its members: the segments after the bar.
pub fn member_parts(key: &Key) -> Vec<Part> {
    key.rest_segments().map(|segment| Part::Segment(segment.clone())).collect()
}

/// Makes the containers of one key.
struct Make<'a> {
    keyspace: &'a Keyspace,
    key: &'a Key,
    serves: &'a Serves,
    bucket: Option<&'a Bucket>,
}

impl Make<'_> {
    /// A container at the row's or the entry's own key.
    fn row(&self, role: Role, redis_type: RedisType) -> Container {
        self.container(self.key.parts.clone(), role, redis_type)
    }

    /// A container of the group's rows, cut in slices where they are, with their directory.
    fn group(&self, role: Role, redis_type: RedisType, found: &mut Vec<Container>) {
        let mut parts = self.shared();
        // The row with the empty path has the container's name for its key.
        let first = self.key.rest_segments().next();
        if role == Role::Order && first.is_some_and(|s| s.segment_type == Type::Path) {
            parts = prefixed(ORDER, &parts);
        }
        let slice = self.bucket.map(|bucket| self.slice_form(bucket));
        parts.extend(slice.map(|_| slice_part()));
        let member = Some(self.member_form(redis_type));
        found.push(Container { slice, member, ..self.container(parts, role, redis_type) });
        if slice.is_some() {
            let directory = self.named(SLICES, Role::Slices, RedisType::SortedSet);
            found.push(Container { member: Some(MemberForm::Slice), slice, ..directory });
        }
    }

    /// A helper of the container of the group's rows.
    fn named(&self, prefix: &str, role: Role, redis_type: RedisType) -> Container {
        let member = Some(self.member_form(redis_type));
        Container { member, ..self.container(prefixed(prefix, &self.shared()), role, redis_type) }
    }

    /// A helper of the whole group, whatever collections it has.
    fn beside(&self, prefix: &str, role: Role, redis_type: RedisType) -> Container {
        let parts = prefixed(prefix, self.key.group());
        Container { member: Some(MemberForm::Key), ..self.container(parts, role, redis_type) }
    }

    fn container(&self, parts: Vec<Part>, role: Role, redis_type: RedisType) -> Container {
        let group = self.key.group();
        let place = group.iter().rposition(|part| part.segment().is_some());
        let place = place.map_or(group.len(), |last| last + 1);
        let start =
            usize::from(matches!(parts.first(), Some(Part::Literal(t)) if t.starts_with('~')));
        let (tag, serves) = (start..start + place, self.serves.clone());
        Container { parts, tag, redis_type, role, serves, member: None, expires: None, slice: None }
    }

    fn shared(&self) -> Vec<Part> {
        self.key.container().into_iter().cloned().collect()
    }

    fn member_form(&self, redis_type: RedisType) -> MemberForm {
        let rest = member_parts(self.key);
        match redis_type {
            RedisType::SortedSet if sortable::is_sortable(&rest, self.keyspace.separator) => {
                let reverse = rest.iter().filter_map(Part::segment).any(|s| s.descending);
                MemberForm::Sortable { reverse }
            }
            RedisType::SortedSet => MemberForm::Encoded,
            _ => MemberForm::Text,
        }
    }

    fn slice_form(&self, bucket: &Bucket) -> SliceForm {
        let first = self.key.rest_segments().next();
        let date_first = first.is_some_and(|segment| segment.segment_type == Type::Date);
        match bucket.every {
            every if every.is_multiple_of(86_400_000) && !date_first => SliceForm::Day,
            every if every.is_multiple_of(60_000) => SliceForm::Minute,
            _ => SliceForm::Second,
        }
    }
}

fn prefixed(prefix: &str, parts: &[Part]) -> Vec<Part> {
    std::iter::once(Part::Literal(prefix.to_string())).chain(parts.iter().cloned()).collect()
}

/// The last part of a slice's name. Its type is one that no key has: of what can stand in its
/// place, only free text could be written like it.
fn slice_part() -> Part {
    helper_part(SLICE, Type::Duration)
}

/// A part that no file names.
fn helper_part(name: &str, segment_type: Type) -> Part {
    Part::Segment(Segment {
        name: name.to_string(),
        segment_type,
        descending: false,
        default: None,
        source: None,
        appended: false,
        span: Span::default(),
    })
}
