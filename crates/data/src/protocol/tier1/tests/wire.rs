//! A store behind a wire that someone else moves: every request waits until it is told what
//! happens to it.
//!
//! ```text
//! request ─▶ waiting ─┬─ arrives, reply comes
//!                     ├─ arrives, reply comes later      others overtake it
//!                     ├─ arrives, reply is lost          commit: not known
//!                     ├─ arrives, and once more later
//!                     ├─ reply is lost, arrives later    or never
//!                     └─ does not arrive                 unavailable
//! sender gone ─▶ a commit may still arrive; a read is nobody's business any more
//! ```
//!
//! It is the wire of one of two kinds of store. Where a blind batch reaches the whole store, all of
//! it arrives, and the write with the later timestamp wins, however late it comes. The process that
//! sends it makes that by its own clock, as on Cassandra, so that what was sent first may win over
//! what was sent later by a clock that is behind. Where a batch reaches one place, as on Redis
//! Cluster, whatever arrives last wins.
//!
//! On such a store a read is by a quorum, and a judged batch whose sender was not answered may be
//! accepted and yet not there for it: the read answers what was before. That ends for good when
//! somebody has read the new row, since what is read is repaired, when its sender is answered, and
//! when the next judged batch reaches the place, since that finishes what was accepted.
//!
//! Every fault is counted by its kind, so that a test can tell that each has happened.

use crate::clock::{Milliseconds, SeededRandom};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::PartitionedMemory;
use crate::schema::{Place, Schema, Space};
use crate::store::judge::count_of;
use crate::store::{
    Batch, CommitId, Description, Expect, Key, Outcome, Page, Reach, Row, Scan, Store, Total,
    Version, Write,
};
use async_trait::async_trait;
use futures_util::FutureExt;
use keyspace::model::Keyspace;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Poll;

/// An id that is so much older than its batch belongs to a call that is made again.
const OLD: Milliseconds = 1_000;

/// When a plain batch was written, in microseconds of its sender's clock. Where two have the same,
/// Cassandra decides cell by cell; here the id does, so that rows stay those that somebody wrote.
pub(super) type Stamp = (i64, CommitId);

#[derive(Clone, Debug)]
enum Request {
    Get(Vec<Key>),
    Scan(Scan),
    Commit(Sent),
}

/// A batch on its way.
#[derive(Clone, Debug)]
struct Sent {
    batch: Batch,
    /// Of plain rows, on a store with timestamps.
    stamp: Option<Stamp>,
    /// Its number among all requests.
    number: u64,
}

/// Something that went wrong, by its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// A read was not answered.
    ReadRefused,
    /// A commit did not arrive, and its sender knows.
    CommitRefused,
    /// A commit arrived, and its reply did not.
    ReplyLost,
    /// A commit arrived when nobody waited for it any more.
    ArrivedLate,
    /// It never did.
    NeverArrived,
    /// It arrived twice.
    Duplicated,
    /// It arrived before one that was sent earlier.
    Reordered,
    /// Its reply came after that of one which was sent later.
    ReplyReordered,
    /// A caller died while it waited for this.
    Died(Step),
    /// A caller's clock was wrong.
    Skewed,
    /// What a plain batch wrote was written over by one sent before it, under a clock ahead.
    Overruled,
    /// A window was full.
    Full,
    /// A reader met an entry or a claim whose row does not hold it, or has ended.
    Misled,
    /// A read was answered with the row before one that nobody has seen yet.
    Behind,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    Read,
    Claim,
    Enter,
    /// A row is set or fenced.
    Row,
    Leave,
    Release,
}

impl Fault {
    /// Every kind there is.
    pub const ALL: [Fault; 19] = [
        Fault::ReadRefused,
        Fault::CommitRefused,
        Fault::ReplyLost,
        Fault::ArrivedLate,
        Fault::NeverArrived,
        Fault::Duplicated,
        Fault::Reordered,
        Fault::ReplyReordered,
        Fault::Died(Step::Read),
        Fault::Died(Step::Claim),
        Fault::Died(Step::Enter),
        Fault::Died(Step::Row),
        Fault::Died(Step::Leave),
        Fault::Died(Step::Release),
        Fault::Skewed,
        Fault::Overruled,
        Fault::Full,
        Fault::Misled,
        Fault::Behind,
    ];
}

/// How often each kind of fault happened.
pub(super) type Faults = BTreeMap<Fault, u64>;

impl Request {
    fn step(&self) -> Step {
        let Request::Commit(Sent { batch, .. }) = self else { return Step::Read };
        match batch.writes.first() {
            Some(Write::Put { versioned: false, .. }) => Step::Enter,
            Some(Write::Put { trail: Some(trail), .. }) if trail.held.is_empty() && !trail.dead => {
                Step::Claim
            }
            Some(Write::Delete { .. }) if batch.checks.is_empty() => Step::Leave,
            Some(Write::Delete { .. }) => Step::Release,
            _ => Step::Row,
        }
    }
}

enum Reply {
    Rows(Result<Vec<Option<Row>>>),
    Page(Result<Page>),
    Outcome(Result<Outcome>),
}

/// What a judged batch has written, and nobody has seen.
struct Unseen {
    /// The request that brought it.
    by: u64,
    /// What lay there before.
    before: Vec<(Key, Option<Row>)>,
}

struct State {
    next: u64,
    waiting: BTreeMap<u64, Request>,
    replies: BTreeMap<u64, Reply>,
    /// Replies that are on their way.
    held: BTreeMap<u64, Reply>,
    /// The youngest request that was answered.
    answered: u64,
    /// Whether a caller is dying at this moment.
    dying: bool,
    faults: Faults,
    /// Commits nobody waits for.
    late: Vec<Sent>,
    /// Every version each row has had, in order.
    versions: BTreeMap<Key, Vec<Version>>,
    /// The timestamps of each plain batch, one for each process that has sent it.
    stamps: BTreeMap<CommitId, Vec<(usize, Stamp)>>,
    /// The last timestamp of each process.
    last: BTreeMap<usize, i64>,
    /// The timestamp of what lies under a key, and the request that wrote it.
    written: BTreeMap<Key, (Stamp, u64)>,
    /// Every addition there was, in order, and what the counter came to.
    added: Vec<Added>,
    /// Where something was written that nobody has seen, by its place.
    unseen: BTreeMap<Place, Unseen>,
    /// What rows of others must be when a set is committed: one of these, by its run.
    guards: BTreeMap<CommitId, Vec<(Key, Expect)>>,
    /// A set that was committed though none of its guards held.
    unguarded: Option<CommitId>,
    /// What happened, if anyone wants to know.
    trace: Option<Vec<String>>,
}

/// An addition that was made.
#[derive(Clone, Debug)]
pub(super) struct Added {
    pub id: CommitId,
    pub amount: i64,
    pub total: Total,
}

/// The way of one process to the wire.
#[derive(Debug)]
pub(super) struct Door {
    pub wire: Arc<Wire>,
    pub process: usize,
}

/// A store behind a wire.
pub(super) struct Wire {
    pub store: PartitionedMemory,
    pub reach: Reach,
    /// Whether what was read once is read by everybody from then on.
    repairs: bool,
    schema: OnceLock<Arc<Schema>>,
    state: Mutex<State>,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Wire")
    }
}

impl Wire {
    pub fn new(store: PartitionedMemory, repairs: bool) -> Self {
        let reach = store.describe().blind;
        let trace = std::env::var_os("SIMULATION_TRACE").map(|_| Vec::new());
        let state = State {
            next: 0,
            waiting: BTreeMap::new(),
            replies: BTreeMap::new(),
            held: BTreeMap::new(),
            answered: 0,
            dying: false,
            faults: Faults::new(),
            late: Vec::new(),
            versions: BTreeMap::new(),
            stamps: BTreeMap::new(),
            last: BTreeMap::new(),
            written: BTreeMap::new(),
            added: Vec::new(),
            unseen: BTreeMap::new(),
            guards: BTreeMap::new(),
            unguarded: None,
            trace,
        };
        Wire { store, reach, repairs, schema: OnceLock::new(), state: Mutex::new(state) }
    }

    /// Something happens to one request or reply, if there is one.
    pub fn step(&self, chance: &SeededRandom, faults: bool) -> bool {
        let mut state = self.state.lock().unwrap();
        let (waiting, late) = (state.waiting.len() as u64, state.late.len() as u64);
        let all = waiting + late + state.held.len() as u64;
        if all == 0 {
            return false;
        }
        let pick = chance.number() % all;
        if pick >= waiting + late {
            let number = *state.held.keys().nth((pick - waiting - late) as usize).unwrap();
            let reply = state.held.remove(&number).unwrap();
            state.note(|| format!("reply of request {number} comes at last"));
            state.answer(number, reply);
        } else if pick >= waiting {
            self.step_late(&mut state, (pick - waiting) as usize, chance);
        } else {
            let number = *state.waiting.keys().nth(pick as usize).unwrap();
            if pick > 0 {
                state.count(Fault::Reordered);
            }
            let fault = if faults { chance.number() % 24 } else { 23 };
            self.step_waiting(&mut state, number, fault);
        }
        true
    }

    fn step_late(&self, state: &mut State, number: usize, chance: &SeededRandom) {
        let sent = state.late.remove(number);
        match chance.number() % 4 {
            0 => {
                state.note(|| format!("never arrives {sent:?}"));
                state.count(Fault::NeverArrived);
            }
            _ => {
                state.note(|| format!("arrives late {sent:?}"));
                state.count(Fault::ArrivedLate);
                let _ = self.arrive(state, &sent);
            }
        }
    }

    fn step_waiting(&self, state: &mut State, number: u64, fault: u64) {
        let request = state.waiting.remove(&number).unwrap();
        state.note(|| format!("request {number} fault {fault} {request:?}"));
        let unknown = |sent: &Sent| Ok(Outcome::Indeterminate { id: sent.batch.id });
        let reply = match (request, fault) {
            (Request::Get(_), 0) => {
                state.count(Fault::ReadRefused);
                Reply::Rows(Err(unavailable()))
            }
            (Request::Scan(_), 0) => {
                state.count(Fault::ReadRefused);
                Reply::Page(Err(unavailable()))
            }
            (Request::Scan(scan), _) => Reply::Page(self.store.scan(&scan).now_or_never().unwrap()),
            (Request::Get(keys), _) => {
                Reply::Rows(self.read(state, &keys, fault.is_multiple_of(2)))
            }
            (Request::Commit(_), 0) => {
                state.count(Fault::CommitRefused);
                Reply::Outcome(Err(unavailable()))
            }
            (Request::Commit(sent), 1) => {
                state.count(Fault::ReplyLost);
                let _ = self.arrive(state, &sent);
                Reply::Outcome(unknown(&sent))
            }
            (Request::Commit(sent), 2) => {
                let outcome = unknown(&sent);
                state.late.push(sent);
                Reply::Outcome(outcome)
            }
            (Request::Commit(sent), 3) => {
                state.count(Fault::Duplicated);
                let outcome = self.arrive(state, &sent);
                // A store that knows of a copy does not say that nothing will come of it.
                let is_conflict = matches!(outcome, Ok(Outcome::Conflict(_)));
                let outcome = if is_conflict { unknown(&sent) } else { outcome };
                state.late.push(sent);
                Reply::Outcome(outcome)
            }
            (Request::Commit(sent), _) => Reply::Outcome(self.arrive(state, &sent)),
        };
        if let Reply::Outcome(outcome) = &reply {
            state.note(|| format!("  reply {outcome:?}"));
        }
        match fault {
            4 | 5 => drop(state.held.insert(number, reply)),
            _ => state.answer(number, reply),
        }
    }

    /// Rows as a quorum answers them, which may be behind what nobody has seen yet.
    fn read(&self, state: &mut State, keys: &[Key], is_behind: bool) -> Result<Vec<Option<Row>>> {
        let mut rows = self.store.get(keys).now_or_never().unwrap()?;
        let mut seen = Vec::new();
        for (key, row) in keys.iter().zip(&mut rows) {
            let place = self.place(key);
            let Some(unseen) = state.unseen.get(&place) else { continue };
            let Some((_, before)) = unseen.before.iter().find(|(of, _)| of == key) else {
                continue;
            };
            if is_behind {
                *row = before.clone();
                state.count(Fault::Behind);
            } else if self.repairs {
                seen.push(place);
            }
        }
        state.unseen.retain(|place, _| !seen.contains(place));
        Ok(rows)
    }

    fn place(&self, key: &Key) -> Place {
        self.schema.get().unwrap().place(key).unwrap()
    }

    /// Whether reads may miss what lies under a key now.
    pub fn is_unseen(&self, key: &Key) -> bool {
        let unseen = self.state.lock().unwrap();
        let of_place = unseen.unseen.get(&self.place(key));
        of_place.is_some_and(|unseen| unseen.before.iter().any(|(of, _)| of == key))
    }

    /// Where a batch is judged, on a store whose reads may be behind; what was accepted there is
    /// finished by it.
    fn judged(&self, state: &mut State, sent: &Sent) -> Option<Place> {
        let batch = &sent.batch;
        if self.reach != Reach::Store || sent.stamp.is_some() || is_blind(batch) {
            return None;
        }
        let mut keys = batch.writes.iter().map(Write::key);
        let place = self.place(keys.next().or(batch.checks.first().map(|check| &check.key))?);
        state.unseen.remove(&place);
        Some(place)
    }

    fn arrive(&self, state: &mut State, sent: &Sent) -> Result<Outcome> {
        let place = self.judged(state, sent);
        let keys = || sent.batch.writes.iter().map(|write| write.key().clone());
        let before: Vec<_> = keys().map(|key| (self.lying(&key), key)).collect();
        let outcome = self.written(state, sent);
        let is_new = before.iter().any(|(row, key)| *row != self.lying(key));
        if let Some(place) = place.filter(|_| is_new) {
            let before = before.into_iter().map(|(row, key)| (key, row)).collect();
            state.unseen.insert(place, Unseen { by: sent.number, before });
        }
        outcome
    }

    fn written(&self, state: &mut State, sent: &Sent) -> Result<Outcome> {
        let version = |key: &Key| self.lying(key).map(|row| row.version);
        let mut sent = sent.clone();
        match self.reach {
            Reach::Store => state.keep_latest(&mut sent),
            Reach::Place => self.assert_one_place(&sent.batch),
        }
        let batch = sent.batch;
        let holds = |(key, expect): &(Key, Expect)| {
            expect.meet(self.lying(key).as_ref(), batch.now).is_ok()
        };
        let guarded = state.guards.get(&batch.id).is_none_or(|guards| guards.iter().any(holds));
        let keys: Vec<&Key> = batch.writes.iter().map(Write::key).collect();
        let before: Vec<_> = keys.iter().map(|key| version(key)).collect();
        let counted = self.counters(&batch);
        let outcome = self.commit_now(&batch)?;
        for ((key, amount, total), (_, _, before)) in self.counters(&batch).iter().zip(&counted) {
            if let Some(total) = total.filter(|_| total != before) {
                state.note(|| format!("  {key:?} comes to {total:?}"));
                state.added.push(Added { id: batch.id, amount: *amount, total });
            }
        }
        for (key, before) in keys.into_iter().zip(before) {
            let after = version(key);
            // A row that is removed for good has no version to tell.
            let gone = after.is_none() && before.flatten().is_some();
            if after != before && (after == Some(Some(batch.id)) || gone) {
                state.versions.entry(key.clone()).or_default().push(batch.id);
                if !guarded {
                    state.unguarded = Some(batch.id);
                }
            }
        }
        Ok(outcome)
    }

    /// A blind batch lets others run between two places; here it has none to let.
    fn commit_now(&self, batch: &Batch) -> Result<Outcome> {
        let mut commit = self.store.commit(batch);
        let outcome = std::iter::repeat_with(|| commit.as_mut().now_or_never()).flatten().next();
        outcome.unwrap()
    }

    /// What is added to in a batch, the amounts, and what the counters have.
    fn counters(&self, batch: &Batch) -> Vec<(Key, i64, Option<Total>)> {
        let counter = |write: &Write| match write {
            Write::Add { key, amount, .. } => {
                let total = count_of(self.lying(key).as_ref(), Milliseconds::MIN).unwrap();
                Some((key.clone(), *amount, total))
            }
            _ => None,
        };
        batch.writes.iter().filter_map(counter).collect()
    }

    fn lying(&self, key: &Key) -> Option<Row> {
        let rows = self.store.get(std::slice::from_ref(key)).now_or_never().unwrap();
        rows.unwrap().pop().flatten()
    }

    fn assert_one_place(&self, batch: &Batch) {
        let schema = self.schema.get().unwrap();
        let keys = batch.writes.iter().map(Write::key);
        let places: Vec<_> = keys.map(|key| schema.place(key).unwrap()).collect();
        assert!(places.iter().all(|place| *place == places[0]), "several places: {batch:?}");
    }

    /// The timestamps of a plain batch, the first and the last of them; nothing if it was not sent.
    pub fn stamps(&self, id: &CommitId) -> Option<(Stamp, Stamp)> {
        let state = self.state.lock().unwrap();
        let mut stamps: Vec<Stamp> =
            state.stamps.get(id)?.iter().map(|(_, stamp)| *stamp).collect();
        stamps.sort_unstable();
        Some((*stamps.first()?, *stamps.last()?))
    }

    /// Every addition there was, in order.
    pub fn added(&self) -> Vec<Added> {
        self.state.lock().unwrap().added.clone()
    }

    /// A set may be committed only while a row is this; another run of it may ask for another.
    pub fn guard(&self, id: CommitId, key: Key, expect: Expect) {
        self.state.lock().unwrap().guards.entry(id).or_default().push((key, expect));
    }

    /// A set that was committed though none of its guards held.
    pub fn unguarded(&self) -> Option<CommitId> {
        self.state.lock().unwrap().unguarded
    }

    /// Every version each row has had.
    pub fn versions(&self) -> BTreeMap<Key, Vec<Version>> {
        self.state.lock().unwrap().versions.clone()
    }

    /// How often each kind of fault happened.
    pub fn faults(&self) -> Faults {
        self.state.lock().unwrap().faults.clone()
    }

    /// Counts a fault that is not the wire's own.
    pub fn count(&self, fault: Fault) {
        self.state.lock().unwrap().count(fault);
    }

    /// Whoever lets go of a request from now on is dying, or is not.
    pub fn set_dying(&self, dying: bool) {
        self.state.lock().unwrap().dying = dying;
    }

    /// What happened, for a failure's report.
    pub fn trace(&self) -> String {
        self.state.lock().unwrap().trace.as_ref().map_or_else(String::new, |trace| trace.join("\n"))
    }

    /// Adds a line to what happened.
    pub fn note(&self, line: impl FnOnce() -> String) {
        self.state.lock().unwrap().note(line);
    }

    /// Whether a batch is of plain rows and their entries, on a store that gives it a timestamp.
    fn is_stamped(&self, batch: &Batch) -> bool {
        let schema = self.schema.get().unwrap();
        let is_plain = |write: &Write| match schema.space(write.key().space()).unwrap() {
            // Entries with an attempt have its time, whoever writes them.
            Space::Entries(of, number) => !of.indexes[*number].key.attempt,
            _ => true,
        };
        self.reach == Reach::Store && is_blind(batch) && batch.writes.iter().all(is_plain)
    }

    async fn ask(&self, process: usize, mut request: Request) -> Reply {
        let step = request.step();
        let number = {
            let mut state = self.state.lock().unwrap();
            state.next += 1;
            let number = state.next;
            if let Request::Commit(sent) = &mut request {
                sent.number = number;
                let stamped = self.is_stamped(&sent.batch);
                sent.stamp = stamped.then(|| state.stamp(process, &sent.batch));
            }
            state.waiting.insert(number, request);
            number
        };
        let sender = Sender { wire: self, number, step };
        let reply = poll_fn(|_| match self.state.lock().unwrap().replies.remove(&number) {
            Some(reply) => Poll::Ready(reply),
            None => Poll::Pending,
        });
        let reply = reply.await;
        drop(sender);
        reply
    }
}

/// Whoever waits for a reply.
struct Sender<'w> {
    wire: &'w Wire,
    number: u64,
    step: Step,
}

impl Drop for Sender<'_> {
    fn drop(&mut self) {
        let mut state = self.wire.state.lock().unwrap();
        state.replies.remove(&self.number);
        state.held.remove(&self.number);
        if state.dying {
            state.count(Fault::Died(self.step));
        }
        if let Some(Request::Commit(sent)) = state.waiting.remove(&self.number) {
            state.late.push(sent);
        }
    }
}

impl State {
    /// The timestamp of a batch as the store of a process makes it: by its clock, after all that it
    /// made before, and the same if the batch is sent again.
    fn stamp(&mut self, process: usize, batch: &Batch) -> Stamp {
        let given = self.stamps.entry(batch.id).or_default();
        if let Some((_, stamp)) = given.iter().find(|(of, _)| *of == process) {
            return *stamp;
        }
        let made = batch.id.time() * 1_000;
        let stamp = match batch.now - batch.id.time() >= OLD {
            true => (made + 999, batch.id),
            false => {
                let last = self.last.entry(process).or_default();
                *last = (batch.now * 1_000).max(*last + 1);
                (*last, batch.id)
            }
        };
        given.push((process, stamp));
        stamp
    }

    /// Leaves out what a batch with a later timestamp has written over, and notes the rest.
    fn keep_latest(&mut self, sent: &mut Sent) {
        let (Some(stamp), number) = (sent.stamp, sent.number) else { return };
        let mut overruled = false;
        sent.batch.writes.retain(|write| {
            let written = self.written.entry(write.key().clone()).or_insert((stamp, number));
            let (later, by) = *written;
            overruled |= later > stamp && by < number;
            *written = (stamp, number).max(*written);
            later <= stamp
        });
        if overruled {
            self.count(Fault::Overruled);
        }
    }

    fn count(&mut self, fault: Fault) {
        *self.faults.entry(fault).or_default() += 1;
    }

    fn answer(&mut self, number: u64, reply: Reply) {
        if number < self.answered {
            self.count(Fault::ReplyReordered);
        }
        self.answered = self.answered.max(number);
        if matches!(reply, Reply::Outcome(Ok(Outcome::Committed { .. }))) {
            self.unseen.retain(|_, unseen| unseen.by != number);
        }
        self.replies.insert(number, reply);
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(line());
        }
    }
}

#[async_trait]
impl Store for Door {
    fn describe(&self) -> Description {
        self.wire.store.describe()
    }

    async fn ensure(&self, keyspace: &Arc<Keyspace>) -> Result<Arc<Schema>> {
        let schema = self.wire.store.ensure(keyspace).await?;
        Ok(self.wire.schema.get_or_init(|| schema).clone())
    }

    async fn get(&self, keys: &[Key]) -> Result<Vec<Option<Row>>> {
        match self.wire.ask(self.process, Request::Get(keys.to_vec())).await {
            Reply::Rows(rows) => rows,
            _ => unreachable!(),
        }
    }

    async fn scan(&self, scan: &Scan) -> Result<Page> {
        match self.wire.ask(self.process, Request::Scan(scan.clone())).await {
            Reply::Page(page) => page,
            _ => unreachable!(),
        }
    }

    async fn commit(&self, batch: &Batch) -> Result<Outcome> {
        let sent = Sent { batch: batch.clone(), stamp: None, number: 0 };
        match self.wire.ask(self.process, Request::Commit(sent)).await {
            Reply::Outcome(outcome) => outcome,
            _ => unreachable!(),
        }
    }
}

/// Whether a batch asks for nothing, and nothing of it is the protocol's own.
fn is_blind(batch: &Batch) -> bool {
    let plain = |write: &Write| match write {
        Write::Put { versioned, trail, .. } => !versioned && trail.is_none(),
        Write::Delete { .. } => true,
        Write::Add { .. } => false,
    };
    batch.checks.is_empty() && batch.writes.iter().all(plain)
}

fn unavailable() -> Error {
    Error::new(ErrorKind::Unavailable, "the wire is down")
}
