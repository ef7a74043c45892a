//! What an `atomic` and a `take` cost: several rows read first, then one commit.
//!
//! ```text
//! step       reads            level
//! invite     claim, row       2        a check through a unique index
//! join       row              3        its key is taken from `invite`
//! count      –                0
//!                             3 waits, then the commit
//! ```

use super::apart::{across, across_rows, across_rows_of_step};
use super::bound::{Binding, groups_of_atomic};
use super::bounds::{Answer, Bounds, Count, Refusal};
use super::effect::Effect;
use super::read::whole_price;
use super::shape::{cannot_hold, entry_size, is_sliced, key_size, record_size};
use super::uses::uses;
use super::write;
use crate::layout::redis::is_read_whole;
use crate::model::{Atomicity, Keyspace, Pattern, Step, StepAction, StoreKind, Target, limits};

/// What one step of an `atomic` touches.
pub(super) struct StepEffect<'a> {
    /// What it touches.
    pub effect: Effect,
    /// What gives its keys.
    pub binding: Binding<'a>,
    /// The waits after which all it must know is known.
    level: u64,
}

/// What each step touches, in order.
pub(super) fn effects<'a>(keyspace: &Keyspace, atomic: &'a Pattern) -> Vec<StepEffect<'a>> {
    let mut known: Vec<(&str, u64)> = Vec::new();
    let mut changed = 0;
    let mut effects = Vec::new();
    for (number, step) in atomic.steps.iter().enumerate() {
        let Some(effect) = effect(keyspace, step) else { continue };
        let uses = uses(step);
        let level = last_of(&uses.key, &known) + write::read_rounds(&effect);
        // A row that is looked at is known once it is read. One that changes is known once it is
        // changed: after all that its change uses, and after the changes before it.
        let row_known = match effect.verb {
            None => level,
            Some(_) => {
                changed = level.max(last_of(&uses.all, &known)).max(changed);
                changed
            }
        };
        known.push((&step.name, row_known));
        let binding = Binding::of_step(atomic, number, step);
        effects.push(StepEffect { effect, binding, level });
    }
    effects
}

fn effect(keyspace: &Keyspace, step: &Step) -> Option<Effect> {
    match &step.action {
        StepAction::Check { target, .. } => Some(Effect::of_check(keyspace, target)),
        StepAction::Run(pattern) => Effect::of(keyspace, pattern),
    }
}

/// The waits after which the last of some steps is known.
fn last_of(names: &[&str], known: &[(&str, u64)]) -> u64 {
    let levels = known.iter().filter(|(step, _)| names.contains(step)).map(|(_, level)| *level);
    levels.max().unwrap_or(0)
}

/// Several changes in one commit.
pub(super) fn atomic(keyspace: &Keyspace, store: StoreKind, pattern: &Pattern) -> Answer {
    let of_steps = effects(keyspace, pattern).into_iter().map(|step| (step.effect, step.level));
    let (effects, levels): (Vec<Effect>, Vec<u64>) = of_steps.unzip();
    if store.atomicity() == Atomicity::Group {
        let plain = effects.iter().all(|effect| effect.mode.is_unconditional());
        let reaches = store.is_cql() && plain;
        let refusal = across(keyspace, store, &groups_of_atomic(pattern))
            .or_else(|| {
                pattern.steps.iter().find_map(|s| across_rows_of_step(keyspace, pattern, s))
            })
            .or_else(|| across_slices(store, &effects))
            .filter(|_| !reaches);
        if let Some(refusal) = refusal {
            return Answer::Refused(refusal);
        }
    }
    let rounds = levels.into_iter().max().unwrap_or(0);
    write::answer(keyspace, store, &effects, rounds)
}

/// One change of one row, or of many in one group.
pub(super) fn single(keyspace: &Keyspace, store: StoreKind, pattern: &Pattern) -> Answer {
    let Some(effect) = Effect::of(keyspace, pattern) else {
        return Answer::Native(Bounds::default());
    };
    if store.atomicity() == Atomicity::Group {
        let reaches = store.is_cql() && effect.mode.is_unconditional();
        let refusal = across_rows(keyspace, pattern)
            .or_else(|| across_slices(store, std::slice::from_ref(&effect)))
            .filter(|_| !reaches);
        if let Some(refusal) = refusal {
            return Answer::Refused(refusal);
        }
    }
    let rounds = write::read_rounds(&effect);
    write::answer(keyspace, store, &[effect], rounds)
}

/// Several rows of a group with slices need not be in one partition.
fn across_slices(store: StoreKind, effects: &[Effect]) -> Option<Refusal> {
    let rows: u64 = effects.iter().map(|effect| effect.rows).fold(0, u64::saturating_add);
    let sliced = effects.iter().find(|effect| effect.collection.bucket.is_some())?;
    if !store.is_cql() || rows < 2 {
        return None;
    }
    let name = &sliced.collection.name.value;
    let reason = format!(
        "rows of `{name}` may lie in different slices of their group, which are different \
         partitions"
    );
    let fixes = vec![
        format!("take `bucket` from `{name}`"),
        format!("write rows of `{name}` one by one, or only by plain changes"),
    ];
    Some(Refusal { code: 101, reason, fixes })
}

/// Adds the rows a `take` looks at; waits are counted by who calls.
fn candidates(keyspace: &Keyspace, store: StoreKind, target: &Target, answer: Answer) -> Answer {
    let (collection, index) = (&target.collection, target.index.as_deref());
    let (size, bucket, expect) = match index {
        Some(index) => (entry_size(collection, index), &index.bucket, &index.expect),
        None => (record_size(collection), &collection.bucket, &collection.expect),
    };
    let whole = store.is_redis() && is_read_whole(keyspace, store, collection, index);
    let met = match whole {
        true => Count::new(expect.rows_per_group.unwrap_or(1), limits::REDIS_SET_ROWS_MAX),
        false => Count::new(1, limits::TAKE_CANDIDATES_MAX),
    };
    let few = Count::new(1, limits::TAKE_CANDIDATES_MAX);
    let answer = answer.and(|bounds| {
        let bounds = bounds.read(met, size).read(few, record_size(collection));
        match is_sliced(store, bucket.as_ref()) {
            false => bounds,
            true => bounds
                .trips(1 + limits::PAGE_SLICES_MAX - 1)
                .read(Count::new(1, limits::PAGE_SLICES_MAX + 1), key_size(collection))
                // Of a slice that no longer is the first.
                .read(Count::new(0, limits::TAKE_CANDIDATES_MAX), size),
        }
    });
    if whole { answer.at_price(whole_price(collection, index)) } else { answer }
}

/// The first row that fits, changed and returned.
pub(super) fn take(
    keyspace: &Keyspace,
    store: StoreKind,
    pattern: &Pattern,
    target: &Target,
) -> Answer {
    let Some(mut effect) = Effect::of(keyspace, pattern) else {
        return Answer::Native(Bounds::default());
    };
    if let Some(refusal) = cannot_hold(store, &target.collection, target.index.as_deref()) {
        return Answer::Refused(refusal);
    }
    // The candidates are read with their versions, before the commit and apart from it.
    effect.reads_old = false;
    effect.version_known = true;
    let answer = write::answer(keyspace, store, &[effect], 0);
    let answer = candidates(keyspace, store, target, answer.and(|bounds| bounds.trips(2)));
    let answer = answer.and(|bounds| Bounds { attempts: limits::TAKE_CANDIDATES_MAX, ..bounds });
    answer.at_price(format!(
        "candidates are tried in turn, at most {}, then the answer is `busy`",
        limits::TAKE_CANDIDATES_MAX
    ))
}
