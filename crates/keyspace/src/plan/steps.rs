//! The steps of a pattern, the same on every store.

use super::atomic;
use super::bound::{Binding, bound_to, is_of_rows};
use super::effect::Effect;
use super::history::ROWS_PER_CALL;
use super::near::{Around, Circle, holds_point};
use super::place::order_given;
use super::read::page_of;
use super::shape::{hides_owner, owners_judged};
use super::step::{Change, Step};
use super::uses::is_admitted_late;
use crate::model::Step as PatternStep;
use crate::model::{
    Allow, Collection, Index, Keyspace, Member, Pattern, StepAction, StoreKind, Target, Verb,
    limits,
};

/// What is done, in order.
pub(super) fn steps(keyspace: &Keyspace, pattern: &Pattern) -> Vec<Step> {
    let builder = Builder { keyspace, pattern };
    let mut steps = Vec::new();
    for (allow, step) in asked(pattern).filter(|(_, step)| !is_late(keyspace, *step)) {
        builder.admit(allow, step, &mut steps);
    }
    match (&pattern.target, pattern.verb) {
        (_, Verb::Atomic) => builder.atomic(&mut steps),
        (None, _) => {}
        (Some(target), Verb::Get) => builder.get(target, &mut steps),
        (Some(target), Verb::List | Verb::Load) => builder.list(target, &mut steps),
        (Some(target), Verb::Near) => builder.near(target, &mut steps),
        (Some(target), Verb::Take) => builder.take(target, &mut steps),
        (Some(target), verb) if verb.is_history() => builder.history(target, &mut steps),
        (Some(_), _) => builder.write(&mut steps),
    }
    steps
}

/// Every membership a caller must have: the pattern's own, then that of each step.
fn asked(pattern: &Pattern) -> impl Iterator<Item = (&Member, Option<&PatternStep>)> {
    let of_steps = pattern.steps.iter().filter_map(|step| match &step.action {
        StepAction::Run(run) => Some((&run.allow, Some(step))),
        StepAction::Check { .. } => None,
    });
    let all = std::iter::once((&pattern.allow, None)).chain(of_steps);
    all.filter_map(|(allow, step)| match allow {
        Allow::Member(member) => Some((member, step)),
        _ => None,
    })
}

fn is_late(keyspace: &Keyspace, step: Option<&PatternStep>) -> bool {
    step.is_some_and(|step| is_admitted_late(keyspace, step))
}

/// Every membership a caller must have, once.
pub(super) fn members(pattern: &Pattern) -> Vec<&Member> {
    let mut members = Vec::new();
    for (member, _) in asked(pattern) {
        if !members.contains(&member) {
            members.push(member);
        }
    }
    members
}

/// Waits for memberships: one for those that the call leads to, one for those that rows of earlier
/// steps lead to.
pub(super) fn member_trips(keyspace: &Keyspace, pattern: &Pattern) -> u64 {
    let late = |wanted: bool| asked(pattern).any(|(_, step)| is_late(keyspace, step) == wanted);
    u64::from(late(false)) + u64::from(late(true))
}

/// Rows that one call may need of a membership: one, unless its rows or steps lead to several.
pub(super) fn member_rows(pattern: &Pattern, member: &Member, collection: &Collection) -> u64 {
    let segments = collection.key.segments().map(|segment| segment.name.as_str());
    let names: Vec<&str> = segments.filter(|name| *name != member.caller).collect();
    let of_rows = |call: &Pattern, name: &str| match bound_to(&call.bind, name) {
        Some(bound) => bound.arguments().iter().any(|argument| is_of_rows(call, argument)),
        None => is_of_rows(call, name),
    };
    let many = |call: &Pattern| match names.iter().any(|name| of_rows(call, name)) {
        true => call.many.unwrap_or(1),
        false => 1,
    };
    let of_steps = pattern.steps.iter().filter_map(|step| match &step.action {
        StepAction::Run(run) if matches!(&run.allow, Allow::Member(own) if own == member) => {
            let apart = names.iter().any(|name| bound_to(&step.bind, name).is_some());
            let rows = many(run);
            (apart || rows > 1).then(|| run.many.unwrap_or(1))
        }
        _ => None,
    });
    of_steps.fold(many(pattern), u64::saturating_add)
}

struct Builder<'a> {
    keyspace: &'a Keyspace,
    pattern: &'a Pattern,
}

impl Builder<'_> {
    fn admit(&self, member: &Member, step: Option<&PatternStep>, steps: &mut Vec<Step>) {
        let collection = self.keyspace.collection(&member.collection);
        let separator = self.keyspace.separator;
        let key = collection.map(|found| {
            let fill = |key: String, name: &str, value: &str| {
                key.replacen(&format!("{{{name}}}"), &format!("{{{name} = {value}}}"), 1)
            };
            let key = fill(found.key.template(separator), &member.caller, "caller");
            let bound = step.into_iter().flat_map(|step| &step.bind);
            bound
                .fold(key, |key, bound| fill(key, &bound.name.value, &bound.expression.to_string()))
        });
        let admit = Step::Admit {
            collection: member.collection.clone(),
            key: key.unwrap_or_default(),
            condition: member.condition.as_ref().map(|condition| condition.to_string()),
        };
        if !steps.contains(&admit) {
            steps.push(admit);
        }
    }

    fn key(&self, target: &Target) -> String {
        Binding::Call(self.pattern).key(target.key(), self.keyspace.separator)
    }

    fn fetch(&self, target: &Target, rows: u64) -> Step {
        Step::Fetch {
            collection: target.collection.name.value.clone(),
            key: target.collection.key.template(self.keyspace.separator),
            rows,
        }
    }

    fn get(&self, target: &Target, steps: &mut Vec<Step>) {
        let rows = self.pattern.many.unwrap_or(1);
        steps.push(Step::Point { target: target.text(), key: self.key(target), rows });
        let hides = |index: &Index| hides_owner(self.pattern, &target.collection, index);
        if let Some(index) = &target.index
            && (!self.pattern.is_covered() || hides(index))
        {
            steps.push(self.fetch(target, rows));
        }
        self.owned(self.pattern, steps);
    }

    fn range(&self, target: &Target, rows: u64) -> Step {
        let order = order_given(target.key(), &self.pattern.by).map(|segment| {
            let direction = if segment.descending { " desc" } else { "" };
            format!("{}{direction}", segment.name)
        });
        let by = self.pattern.by.clone();
        Step::Range { target: target.text(), key: self.key(target), by, order, rows }
    }

    fn list(&self, target: &Target, steps: &mut Vec<Step>) {
        let page = page_of(self.pattern);
        // One more than is answered says whether there is a next page.
        steps.push(self.range(target, page.saturating_add(1)));
        if target.index.is_some() && !self.pattern.is_covered() {
            steps.push(self.fetch(target, page));
        }
    }

    fn near(&self, target: &Target, steps: &mut Vec<Step>) {
        let Some(index) = &target.index else { return };
        let circle = Circle::of(self.pattern, index);
        steps.push(Step::Cover {
            target: target.text(),
            key: self.key(target),
            cells: circle.cells,
            cell_rows: circle.cell_rows,
        });
        let fetched = StoreKind::ALL.map(|store| {
            let around = Around { keyspace: self.keyspace, store, pattern: self.pattern, target };
            around.records(index)
        });
        let nearest = Step::Nearest { rows: page_of(self.pattern) };
        let fetches = !self.pattern.is_covered() || !holds_point(index);
        match fetched.into_iter().max().filter(|_| fetches) {
            None => steps.push(nearest),
            // What is measured before it is fetched needs no more records than the answer.
            Some(rows) if rows <= page_of(self.pattern) => {
                steps.extend([nearest, self.fetch(target, rows)]);
            }
            Some(rows) => steps.extend([self.fetch(target, rows), nearest]),
        }
    }

    fn take(&self, target: &Target, steps: &mut Vec<Step>) {
        steps.push(self.range(target, limits::TAKE_CANDIDATES_MAX));
        if target.index.is_some() {
            steps.push(self.fetch(target, limits::TAKE_CANDIDATES_MAX));
        }
        self.judge(self.pattern, steps);
        self.commit_own(Effect::of(self.keyspace, self.pattern).as_ref(), steps);
    }

    fn judge(&self, pattern: &Pattern, steps: &mut Vec<Step>) {
        self.owned(pattern, steps);
        if let Some(condition) = &pattern.condition {
            steps.push(Step::Judge { condition: condition.to_string() });
        }
    }

    /// Owners and tenants that are fields are compared with the caller.
    fn owned(&self, pattern: &Pattern, steps: &mut Vec<Step>) {
        let Some(target) = &pattern.target else { return };
        // A step has its owner from the batch.
        let allow = if pattern.allow == Allow::Step { &self.pattern.allow } else { &pattern.allow };
        for field in owners_judged(&target.collection, pattern.verb, allow) {
            let condition = format!("{} is the caller's", field.name);
            let step = Step::Judge { condition };
            if !steps.contains(&step) {
                steps.push(step);
            }
        }
    }

    /// Reads what an effect must know.
    fn known(&self, effect: &Effect, binding: Binding<'_>, steps: &mut Vec<Step>) {
        let separator = self.keyspace.separator;
        if let Some(index) = &effect.through {
            let target = format!("{}.{}", effect.collection.name.value, index.name.value);
            let key = binding.key(&index.key, separator);
            steps.push(Step::Point { target, key, rows: effect.rows });
        }
        if effect.reads_old {
            let target = effect.collection.name.value.clone();
            let key = binding.key(&effect.collection.key, separator);
            let step = Step::Point { target, key, rows: effect.rows };
            if !steps.contains(&step) {
                steps.push(step);
            }
        }
    }

    /// One commit of what the pattern itself touches.
    fn commit_own(&self, effect: Option<&Effect>, steps: &mut Vec<Step>) {
        let binding = Binding::Call(self.pattern);
        self.commit(effect.into_iter().map(|effect| (effect, binding)), steps);
    }

    fn commit<'e>(
        &self,
        effects: impl Iterator<Item = (&'e Effect, Binding<'e>)>,
        steps: &mut Vec<Step>,
    ) {
        let separator = self.keyspace.separator;
        let changes: Vec<Change> =
            effects.map(|(effect, binding)| effect.change(binding, separator)).collect();
        steps.push(Step::Commit { changes });
    }

    fn write(&self, steps: &mut Vec<Step>) {
        let effect = Effect::of(self.keyspace, self.pattern);
        if let Some(effect) = &effect {
            self.known(effect, Binding::Call(self.pattern), steps);
        }
        self.judge(self.pattern, steps);
        self.commit_own(effect.as_ref(), steps);
    }

    fn atomic(&self, steps: &mut Vec<Step>) {
        let effects = atomic::effects(self.keyspace, self.pattern);
        for touched in &effects {
            self.known(&touched.effect, touched.binding, steps);
        }
        for (member, step) in asked(self.pattern) {
            if is_late(self.keyspace, step) {
                self.admit(member, step, steps);
            }
        }
        for step in &self.pattern.steps {
            match &step.action {
                StepAction::Run(run) => self.judge(run, steps),
                StepAction::Check { condition: Some(condition), .. } => {
                    let condition = format!("{condition} ({})", step.name);
                    steps.push(Step::Judge { condition });
                }
                StepAction::Check { condition: None, .. } => {
                    let condition = format!("{} is there", step.name);
                    steps.push(Step::Judge { condition });
                }
            }
        }
        self.commit(effects.iter().map(|touched| (&touched.effect, touched.binding)), steps);
    }

    fn history(&self, target: &Target, steps: &mut Vec<Step>) {
        let collection = target.collection.name.value.clone();
        let removes = matches!(self.pattern.verb, Verb::Compact | Verb::Collect);
        if removes {
            steps.push(self.range(target, ROWS_PER_CALL));
        }
        if self.pattern.verb != Verb::Collect {
            self.commit_own(Effect::of(self.keyspace, self.pattern).as_ref(), steps);
        }
        if removes {
            steps.push(Step::Remove { collection, rows: ROWS_PER_CALL });
        }
    }
}
