//! A pattern made ready: its plan on this store, and everything that goes by name looked up once.

use super::answer::AnswerShape;
use super::write::Direct;
use super::{admit, cursor};
use crate::error::{Error, ErrorKind, Result};
use crate::schema::{CollectionSchema, ContentShape, IndexSchema, KeyShape, Schema};
use keyspace::model::{Atomicity, Pattern, Segment, StepAction, StoreKind, Verb};
use keyspace::plan::{
    Bounds, PageReads, Plan, is_admitted_late, owners_judged, page_reads, reads_stored_row, uses,
};
use std::sync::Arc;

/// A pattern made ready.
#[derive(Debug)]
pub struct Prepared {
    /// The pattern.
    pub pattern: Arc<Pattern>,
    /// Its collection; none for an `atomic`.
    pub collection: Option<Arc<CollectionSchema>>,
    /// The index it goes through, by its position in the collection.
    pub index: Option<usize>,
    /// What an answered row shows; none for an `atomic`.
    pub shape: Option<Arc<AnswerShape>>,
    /// The segments and fields of the collection that the caller fills.
    pub filled: Vec<String>,
    /// Whether a change reads the stored row first.
    pub reads: bool,
    /// Whether it reads one row by its own key and nothing else.
    pub is_point: bool,
    /// Whether it is a get or a list that answers whole rows as they are stored, whosever they are,
    /// and none of them can fall out: then they can be shown where they lie.
    pub is_shown: bool,
    /// Whether it is a list whose rows are answered as they are stored, wherever they are.
    pub is_shown_later: bool,
    /// The steps of an `atomic`, in order.
    pub steps: Vec<PreparedStep>,
    /// The arguments' names as people see them.
    pub(super) shown: Vec<String>,
    /// Names that callers may not give because they say them by calling, as people see them.
    pub(super) never_given: Vec<String>,
    /// What a list may read for one page.
    pub page_reads: PageReads,
    /// For each segment of the key it goes by: which argument is its value, as it is given.
    pub(super) key_arguments: Vec<Option<usize>>,
    /// How a change goes the direct way, if it does.
    pub(super) direct: Option<Direct>,
    /// What binds the cursors of a list to it, whoever calls.
    pub(super) cursor_front: [u8; 32],
    plan: Plan,
    kind: StoreKind,
}

/// A step of an `atomic` made ready.
#[derive(Debug)]
pub struct PreparedStep {
    /// The step's name.
    pub name: String,
    /// The pattern it runs; none for a check.
    pub run: Option<Arc<Pattern>>,
    /// Its collection.
    pub collection: Arc<CollectionSchema>,
    /// The index it goes through.
    pub index: Option<usize>,
    /// What its row shows.
    pub shape: Arc<AnswerShape>,
    /// The segments and fields of the collection that the caller fills.
    pub filled: Vec<String>,
    /// Whether its stored row is read before the commit.
    pub reads: bool,
    /// The earlier steps whose rows give its key, by position.
    pub key_from: Vec<usize>,
    /// All earlier steps whose rows it uses, by position.
    pub all_from: Vec<usize>,
    /// Whether rows of earlier steps say where its caller must be a member.
    pub admitted_late: bool,
}

impl Prepared {
    /// Makes a pattern ready on a store with this schema.
    pub fn new(schema: &Schema, plan: Plan) -> Result<Self> {
        let pattern = plan.pattern.clone();
        let mut collection = None;
        let mut index = None;
        let mut shape = None;
        let mut filled = Vec::new();
        if let Some(target) = &pattern.target {
            let of = schema.collection(&target.collection.name.value)?.clone();
            index = index_position(&of, target.index.as_deref().map(|i| i.name.value.as_str()))?;
            // A change answers the row as it now is, which no entry knows before.
            let answered = index.filter(|_| pattern.verb.is_read());
            shape = Some(Arc::new(AnswerShape::new(schema, &of, answered, &pattern)?));
            filled = pattern.allow.fills(&target.collection, pattern.verb);
            collection = Some(of);
        }
        let steps = pattern.steps.iter().map(|step| PreparedStep::new(schema, &pattern, step));
        let steps = steps.collect::<Result<Vec<_>>>()?;
        let keyspace = schema.keyspace();
        let shown: Vec<String> =
            pattern.arguments.iter().map(|argument| keyspace.shown(&argument.name)).collect();
        let of_steps = steps.iter().flat_map(|step| &step.filled);
        let never_given = filled.iter().chain(of_steps).map(|name| keyspace.shown(name));
        let never_given = never_given.filter(|name| !shown.contains(name)).collect();
        let kind = schema.kind();
        let reads = reads_stored_row(schema.keyspace(), &pattern);
        let page_reads = page_reads(schema.keyspace(), kind, &pattern);
        let mut prepared = Prepared {
            pattern,
            collection,
            index,
            shape,
            filled,
            reads,
            is_point: false,
            is_shown: false,
            is_shown_later: false,
            shown,
            never_given,
            steps,
            page_reads,
            key_arguments: Vec::new(),
            direct: None,
            cursor_front: [0; 32],
            plan,
            kind,
        };
        if let Some(collection) = &prepared.collection {
            prepared.is_point = prepared.gets_one(collection);
            prepared.is_shown_later = prepared.shows_rows(collection);
            prepared.is_shown = (prepared.is_shown_later && collection.key.slices.is_none())
                || (prepared.is_point && prepared.shows_whole(collection));
            prepared.key_arguments = key_arguments(&prepared.pattern, &prepared.filled);
            let (pattern, filled) = (&prepared.pattern, &prepared.filled);
            prepared.direct = Direct::new(kind, pattern, collection, filled, reads);
            let (name, key) = (&schema.keyspace().name.value, prepared.key()?);
            prepared.cursor_front = cursor::bound_front(name, &prepared.pattern, key);
        }
        Ok(prepared)
    }

    /// Whether it gets one row by its own key, and asks nothing else.
    fn gets_one(&self, collection: &CollectionSchema) -> bool {
        self.pattern.verb == Verb::Get
            && self.pattern.many.is_none()
            && self.index.is_none()
            && !collection.model.is_counted()
            && !admit::asks_member(self)
    }

    /// Whether it lists rows as they are stored, of which none can fall out.
    fn shows_rows(&self, collection: &CollectionSchema) -> bool {
        // Of rows with versions, those stores keep tombstones.
        let leaves = self.kind.atomicity() == Atomicity::Group && collection.kept.has_version();
        self.pattern.verb == Verb::List
            && self.page_reads.refills == 1
            && !leaves
            && !admit::asks_member(self)
            && self.shows_whole(collection)
    }

    /// Whether it answers whole rows, whoever asks.
    fn shows_whole(&self, collection: &CollectionSchema) -> bool {
        matches!(collection.content, ContentShape::Record(_))
            && self.shape.as_ref().is_some_and(|shape| shape.is_whole())
            && self.judged().next().is_none()
    }

    /// The pattern's name.
    pub fn name(&self) -> &str {
        &self.pattern.name.value
    }

    /// Whether its calls go the direct way, but for unusual ones.
    #[doc(hidden)]
    pub fn is_direct(&self) -> bool {
        self.direct.is_some()
    }

    /// What it may cost here; none if it is refused.
    pub fn bounds(&self) -> Option<&Bounds> {
        self.plan.answer(self.kind).bounds()
    }

    /// Its plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The collection, of a pattern that has one.
    pub fn collection(&self) -> Result<&Arc<CollectionSchema>> {
        let missing = || Error::new(ErrorKind::Internal, "a pattern has no collection");
        self.collection.as_ref().ok_or_else(missing)
    }

    /// What an answered row shows, of a pattern that has one.
    pub fn shape(&self) -> Result<&Arc<AnswerShape>> {
        let missing = || Error::new(ErrorKind::Internal, "a pattern answers no row");
        self.shape.as_ref().ok_or_else(missing)
    }

    /// The index it goes through.
    pub fn index(&self) -> Option<&Arc<IndexSchema>> {
        self.collection.as_ref()?.indexes.get(self.index?)
    }

    /// The key it goes by: the index's, or the collection's own.
    pub fn key(&self) -> Result<&KeyShape> {
        match self.index() {
            Some(index) => Ok(&index.key),
            None => self.collection().map(|collection| &collection.key),
        }
    }

    /// The fields of a row that must hold the caller's owner or tenant.
    pub fn judged(&self) -> impl Iterator<Item = &str> {
        let pattern = &self.pattern;
        let target = pattern.target.iter();
        target
            .flat_map(|target| owners_judged(&target.collection, pattern.verb, &pattern.allow))
            .map(|owner| owner.name.as_str())
    }

    /// An error, with the reason, if the store does not offer it.
    pub fn offered(&self) -> Result<()> {
        match self.plan.answer(self.kind).refusal() {
            None => Ok(()),
            Some(refusal) => {
                Err(Error::new(ErrorKind::Unsupported, "the pattern is not offered on this store")
                    .with("pattern", self.name())
                    .with("store", self.kind)
                    .with("code", format!("KW{}", refusal.code))
                    .with("reason", &refusal.reason))
            }
        }
    }
}

impl PreparedStep {
    fn new(schema: &Schema, atomic: &Pattern, step: &keyspace::model::Step) -> Result<Self> {
        let (target, run) = match &step.action {
            StepAction::Check { target, .. } => (Some(target), None),
            StepAction::Run(pattern) => (pattern.target.as_ref(), Some(pattern.clone())),
        };
        let missing = || Error::new(ErrorKind::Internal, "a step has no collection");
        let target = target.ok_or_else(missing)?;
        let collection = schema.collection(&target.collection.name.value)?.clone();
        let index =
            index_position(&collection, target.index.as_deref().map(|i| i.name.value.as_str()))?;
        let (allow, verb) = match &run {
            Some(run) if run.allow != keyspace::model::Allow::Step => (&run.allow, run.verb),
            Some(run) => (&atomic.allow, run.verb),
            None => (&atomic.allow, Verb::Get),
        };
        let filled = allow.fills(&target.collection, verb);
        let shape = Arc::new(AnswerShape::whole(schema, &collection));
        let reads = run.as_ref().is_none_or(|run| reads_stored_row(schema.keyspace(), run));
        let uses = uses(step);
        let positions = |names: &[&str]| {
            let steps = atomic.steps.iter().enumerate();
            steps.filter(|(_, of)| names.contains(&of.name.as_str())).map(|(at, _)| at).collect()
        };
        let (key_from, all_from) = (positions(&uses.key), positions(&uses.all));
        Ok(PreparedStep {
            name: step.name.clone(),
            run,
            collection,
            index,
            shape,
            filled,
            reads,
            key_from,
            all_from,
            admitted_late: is_admitted_late(schema.keyspace(), step),
        })
    }
}

/// For each segment of a pattern's key: which argument is its value, as it is given. None of one
/// that the caller fills, that is bound, or that is computed.
fn key_arguments(pattern: &Pattern, filled: &[String]) -> Vec<Option<usize>> {
    let segments = pattern.key().into_iter().flat_map(|key| key.segments());
    let argument = |segment: &Segment| {
        let is_bound = pattern.bind.iter().any(|bound| bound.name.value == segment.name);
        if segment.source.is_some() || is_bound || filled.contains(&segment.name) {
            return None;
        }
        pattern.arguments.iter().position(|argument| argument.name == segment.name)
    };
    segments.map(argument).collect()
}

fn index_position(collection: &CollectionSchema, name: Option<&str>) -> Result<Option<usize>> {
    let Some(name) = name else { return Ok(None) };
    let position = collection.indexes.iter().position(|index| index.name() == name);
    let missing = || Error::new(ErrorKind::Internal, "an index is not in the schema");
    position.map(Some).ok_or_else(missing)
}
