//! Where everything of a keyspace lies: the printed layout, made ready for keys and rows.
//!
//! ```text
//! containers of keyspace::layout::redis ─▶ a place for each space of the schema
//!     own name │ list of the group │ versions, ends beside it │ fields
//! ```
//!
//! Nothing here decides a name or a type: the layout has done that. One place serves one space.

use super::fields::Fields;
use super::member::{List, ListKind, Parts, SliceRule};
use super::name::{Naming, Template};
use data::clock::Milliseconds;
use data::schema::{CollectionSchema, ContentShape, IndexSchema, KeyShape, Schema};
use data::{Error, ErrorKind, Result};
use keyspace::key::KeyType;
use keyspace::layout::body_name;
use keyspace::layout::redis::{
    ATTEMPT, Container, EXPIRY, Expires, GRACE_MILLISECONDS, MemberForm, ROW, RedisType, Role,
    containers, entry_key, extra_fields, has_trails, member_parts,
};
use keyspace::model::{Bucket, Key, Keyspace, StoreKind, Type};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Every place of a keyspace.
#[derive(Debug)]
pub(super) struct Layout {
    /// How names are written.
    pub(super) naming: Naming,
    /// By the number of the space.
    pub(super) places: HashMap<u16, Arc<Place>>,
}

/// Where the rows, entries or claims of one space lie.
#[derive(Debug)]
pub(super) struct Place {
    /// The shape of their keys.
    pub(super) shape: KeyShape,
    /// What a row is.
    pub(super) what: What,
    /// The name of a row's own key, or of the container it is in.
    pub(super) own: Template,
    /// The type of what lies there.
    pub(super) own_type: RedisType,
    /// The list of a group; the container itself for bare keys and entries.
    pub(super) list: Option<List>,
    /// The Hash with the versions of a group, for rows that have no field for theirs.
    pub(super) versions: Option<Template>,
    /// The text of a row's whole key.
    pub(super) text: Template,
    /// The sorted set with the ends of a group's rows.
    pub(super) expiries: Option<Template>,
    /// Where the end of a row is read.
    pub(super) ends: Ends,
    /// Where its trail is.
    pub(super) trails: Trails,
    /// Whether some pattern is answered by entries alone, so that a scan must know when they end.
    pub(super) answers_alone: bool,
    /// Bytes of a row, as seen so far; 0 if none was.
    weight: AtomicUsize,
}

/// What a row, entry or claim is.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// A Hash of fields.
    Record {
        /// Its fields.
        fields: Fields,
        /// Whether a field keeps it where all others are null.
        has_mark: bool,
    },
    /// A String: a value, or nothing.
    Value,
    /// A String: a number.
    Counter,
    /// A field of a Hash of numbers.
    Counters,
    /// A member of the list.
    Member,
    /// A member of the list, and a Hash of kept fields unless all are null.
    Entry(Fields),
    /// A String with the text of the owner's key, or a Hash of its segments and of kept fields.
    Claim(Box<Owner>),
}

/// Whose a claim is, and how that is written.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    /// The shape of the owner's key.
    pub(super) shape: KeyShape,
    /// Its text.
    pub(super) text: Template,
    /// The names of its segments, as people see them.
    pub(super) names: Vec<String>,
    /// Kept fields; then the claim is a Hash.
    pub(super) kept: Option<Fields>,
    /// Whether the claim's content names the owner; otherwise its key does, at these positions.
    pub(super) unique: bool,
    /// Where the segments of an entry's key hold those of the owner's.
    pub(super) primary: Vec<usize>,
}

/// Where the end of a row is read.
#[derive(Clone, Debug)]
pub(super) enum Ends {
    /// Rows never end.
    Never,
    /// In its field `~x`; Redis drops the Hash so many milliseconds later.
    Field(Milliseconds),
    /// So many milliseconds before Redis drops the key.
    Native(Milliseconds),
    /// In the sorted set of the owner's group, by the owner's key: of entries that are members.
    Beside(Box<(Template, Template)>),
    /// With its trail, among words beside its group; Redis drops its key so much later.
    Words(Milliseconds),
}

/// Where the trail of a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trails {
    /// It has none.
    None,
    /// In fields of its Hash.
    Fields,
    /// In words beside its group, where its version is.
    Words,
}

impl Place {
    /// A key of this place, taken apart.
    pub(super) fn parts<'k>(&self, key: &'k [u8]) -> Result<Parts<'k>> {
        Parts::of(key, &self.shape.segments, self.shape.group)
    }

    /// The name of a row's own key, or of the container it is in.
    pub(super) fn own_name(&self, layout: &Layout, row: &Parts<'_>) -> Result<Vec<u8>> {
        self.own.name(&layout.naming, &row.values, None)
    }

    /// The segments after the bar.
    pub(super) fn rest(&self) -> &[keyspace::key::Segment] {
        self.shape.segments.get(self.shape.group..).unwrap_or_default()
    }

    /// Rows that may be read at once, so that they fit into a few pages' bytes.
    pub(super) fn rows_at_once(&self) -> usize {
        const BYTES: usize = 16 << 20;
        match self.weight.load(Ordering::Relaxed) {
            0 => 256,
            weight => (BYTES / weight).clamp(8, 4_096),
        }
    }

    /// Takes note of how large rows are.
    pub(super) fn weigh(&self, rows: usize, bytes: usize) {
        if let Some(average) = bytes.checked_div(rows) {
            let known = self.weight.load(Ordering::Relaxed);
            // Large rows are noticed at once, small ones slowly.
            let next = if average >= known { average } else { known - (known - average) / 4 };
            self.weight.store(next.max(1), Ordering::Relaxed);
        }
    }
}

impl Layout {
    /// The places of a schema.
    pub(super) fn new(schema: &Schema, prefix: &str) -> Result<Layout> {
        let (keyspace, store) = (schema.keyspace(), schema.kind());
        let is_cluster = store == StoreKind::RedisCluster;
        let naming = Naming::new(prefix, keyspace.separator, is_cluster);
        let all = containers(keyspace, store);
        let mut places = HashMap::new();
        for collection in schema.collections() {
            let trails = has_trails(keyspace, store, &collection.model);
            let make = Make { keyspace, store, collection, all: &all, trails };
            places.insert(collection.key.space, Arc::new(make.rows()?));
            for index in &collection.indexes {
                places.insert(index.key.space, Arc::new(make.index(index)?));
            }
        }
        Ok(Layout { naming, places })
    }

    /// The place of a space.
    pub(super) fn place(&self, space: u16) -> Result<&Arc<Place>> {
        self.places.get(&space).ok_or_else(|| {
            Error::new(ErrorKind::Argument, "a key has a number that no collection has")
                .with("number", space)
        })
    }
}

/// Makes the places of a collection.
struct Make<'a> {
    keyspace: &'a Keyspace,
    store: StoreKind,
    collection: &'a CollectionSchema,
    all: &'a [Container],
    /// Whether rows leave trails.
    trails: bool,
}

impl Make<'_> {
    fn find(&self, index: Option<&str>, wanted: &dyn Fn(Role) -> bool) -> Option<&Container> {
        self.all.iter().find(|container| {
            container.serves.collection == self.collection.name()
                && container.serves.index.as_deref() == index
                && wanted(container.role)
        })
    }

    fn own(&self, index: Option<&str>) -> Result<&Container> {
        self.find(index, &|role| !role.is_helper()).ok_or_else(|| {
            Error::new(ErrorKind::Internal, "the layout has no place for a collection")
                .with("collection", self.collection.name())
        })
    }

    fn rows(&self) -> Result<Place> {
        let shape = &self.collection.key;
        let own = self.own(None)?;
        let position = positions(shape);
        let template = |role: Role| -> Result<Option<Template>> {
            let found = self.find(None, &|known| known == role);
            found.map(|found| Template::of_container(found, &position)).transpose()
        };
        let extra = extra_fields(self.keyspace, self.store, &self.collection.model);
        let what = match (own.role, &self.collection.content) {
            (Role::Record, ContentShape::Record(record)) => {
                let fields = Fields::new(record.clone(), self.names(), false);
                What::Record { fields, has_mark: extra.contains(&ROW) }
            }
            (Role::Value, _) => What::Value,
            (Role::Counter, _) => What::Counter,
            (Role::Counters, _) => What::Counters,
            (Role::Keys, _) => What::Member,
            _ => return Err(Error::new(ErrorKind::Internal, "the layout has a row of no kind")),
        };
        let trails = match (self.trails, own.role) {
            (false, _) => Trails::None,
            (true, Role::Record) => Trails::Fields,
            (true, _) => Trails::Words,
        };
        let ends = match own.expires {
            // A removed row ends, whatever becomes of the others.
            when if trails == Trails::Fields => Ends::Field(when.map_or(0, grace)),
            when if trails == Trails::Words => Ends::Words(when.map_or(0, grace)),
            None => Ends::Never,
            Some(when) if own.role == Role::Record && extra.contains(&EXPIRY) => {
                Ends::Field(grace(when))
            }
            Some(when) => Ends::Native(grace(when)),
        };
        Ok(Place {
            shape: shape.clone(),
            what,
            own: Template::of_container(own, &position)?,
            own_type: own.redis_type,
            list: self.list(None, &self.collection.model.key, shape)?,
            versions: template(Role::Versions)?,
            text: Template::of_key(&self.collection.model.key, &position)?,
            expiries: template(Role::Expiries)?,
            ends,
            trails,
            answers_alone: true,
            weight: AtomicUsize::new(0),
        })
    }

    fn index(&self, index: &IndexSchema) -> Result<Place> {
        let shape = &with_attempt(&index.key);
        let own = self.own(Some(index.name()))?;
        let position = positions(shape);
        let names = index.model.keep.iter().map(|kept| (self.keyspace.shown(&kept.value), false));
        let kept = Fields::new(index.keep.clone(), names.collect(), true);
        let owned = positions(&self.collection.key);
        let what = match own.role {
            Role::Entries => What::Member,
            Role::Entry => What::Entry(kept),
            _ => What::Claim(Box::new(Owner {
                shape: self.collection.key.clone(),
                text: Template::of_key(&self.collection.model.key, &owned)?,
                names: self.collection.key.names.iter().map(|n| self.keyspace.shown(n)).collect(),
                kept: (own.redis_type == RedisType::Hash).then_some(kept),
                unique: index.model.unique,
                primary: index.primary.clone(),
            })),
        };
        let expiries = self.find(None, &|role| role == Role::Expiries);
        let in_entry = |name: &str| index.primary.get(owned(name)?).copied();
        let is_cluster = self.store == StoreKind::RedisCluster;
        let is_hash = own.redis_type == RedisType::Hash;
        let ends = match (own.role, own.expires, expiries) {
            // The row lies elsewhere and cannot be asked.
            (_, Some(when), _) if is_cluster && is_hash => Ends::Field(grace(when)),
            (_, None, _) if is_cluster => Ends::Never,
            (Role::Entries | Role::Entry, _, Some(expiries)) => Ends::Beside(Box::new((
                Template::of_container(expiries, &in_entry)?,
                Template::of_key(&self.collection.model.key, &in_entry)?,
            ))),
            (_, Some(when), _) => Ends::Native(grace(when)),
            (_, None, _) => Ends::Never,
        };
        Ok(Place {
            shape: shape.clone(),
            what,
            own: Template::of_container(own, &position)?,
            own_type: own.redis_type,
            list: self.list(Some(index), &self.entry_key(index), shape)?,
            versions: None,
            text: Template::of_key(&self.entry_key(index), &position)?,
            expiries: self.own_expiries(index, &position)?,
            ends,
            trails: if self.trails && is_hash { Trails::Fields } else { Trails::None },
            answers_alone: self.answers_alone(index),
            weight: AtomicUsize::new(0),
        })
    }

    /// The key of an index's entries as they lie there.
    fn entry_key(&self, index: &IndexSchema) -> Key {
        entry_key(self.keyspace, self.store, &self.collection.model, &index.model)
    }

    /// Where entries of an index that are swept by themselves say when they end.
    fn own_expiries(
        &self,
        index: &IndexSchema,
        position: &dyn Fn(&str) -> Option<usize>,
    ) -> Result<Option<Template>> {
        let found = self.find(Some(index.name()), &|role| role == Role::Expiries);
        found.map(|found| Template::of_container(found, position)).transpose()
    }

    /// Whether a pattern asks for some fields through an index, which its entries may hold.
    fn answers_alone(&self, index: &IndexSchema) -> bool {
        self.keyspace.patterns.iter().any(|pattern| {
            let target = pattern.target.as_ref().filter(|_| pattern.fields.is_some());
            target.is_some_and(|target| {
                let of = target.index.as_ref().map(|index| index.name.value.as_str());
                target.collection.name.value == self.collection.name() && of == Some(index.name())
            })
        })
    }

    /// The list of a group: an order beside the rows, or the container they are in.
    fn list(
        &self,
        index: Option<&IndexSchema>,
        key: &Key,
        shape: &KeyShape,
    ) -> Result<Option<List>> {
        let name = index.map(IndexSchema::name);
        let in_list = |role: Role| matches!(role, Role::Keys | Role::Entries | Role::Counters);
        let order = self.find(name, &|role| role == Role::Order);
        let Some(container) = order.or_else(|| self.find(name, &in_list)) else { return Ok(None) };
        let position = positions(shape);
        let bucket = match index {
            Some(index) => index.model.bucket.as_ref(),
            None => self.collection.model.bucket.as_ref(),
        };
        let directory = self.find(name, &|role| role == Role::Slices);
        let slices = match (container.slice, directory, bucket) {
            (Some(form), Some(directory), Some(Bucket { every, .. })) => Some(SliceRule {
                form,
                every: i64::try_from(*every).unwrap_or(i64::MAX).max(1),
                directory: Template::of_container(directory, &position)?,
                descending: key.rest_segments().next().is_some_and(|segment| segment.descending),
            }),
            _ => None,
        };
        Ok(Some(List {
            template: Template::of_container(container, &position)?,
            kind: match container.redis_type {
                RedisType::SortedSet => ListKind::SortedSet,
                RedisType::Hash => ListKind::Hash,
                _ => ListKind::Set,
            },
            form: container.member.unwrap_or(MemberForm::Text),
            parts: member_parts(key),
            slices,
        }))
    }

    /// The names of the slots of a record, and which is a body.
    fn names(&self) -> Vec<(String, bool)> {
        let model = &self.collection.model;
        let fields = model.fields().iter().map(|field| (self.keyspace.shown(&field.name), false));
        let body = model.body.map(|_| (body_name(self.keyspace, model).to_string(), true));
        fields.chain(body).collect()
    }
}

/// The shape of an entry's key, with the attempt that ends it as one more segment.
fn with_attempt(key: &KeyShape) -> KeyShape {
    let mut shape = key.clone();
    if std::mem::take(&mut shape.attempt) {
        shape.segments.push(KeyType::Uuid.ascending());
        shape.names.push(ATTEMPT.to_string());
        shape.types.push(Type::Uuid);
    }
    shape
}

fn positions(shape: &KeyShape) -> impl Fn(&str) -> Option<usize> {
    let names = shape.names.clone();
    move |name| names.iter().position(|known| known == name)
}

/// How long Redis keeps a row after its end.
fn grace(when: Expires) -> Milliseconds {
    match when {
        Expires::AtEnd => 0,
        Expires::AfterGrace => Milliseconds::try_from(GRACE_MILLISECONDS).unwrap_or(0),
    }
}
