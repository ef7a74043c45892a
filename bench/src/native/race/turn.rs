//! One turn of one contender: callers that do the same thing until the time is over.

use super::{Contender, Kind, Line, Settings};
use crate::notes::{Note, Numbers, any_key, note};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Notes made before the clock starts, for all callers together.
const PREPARED: usize = 40_000;
/// Questions made before the clock starts, for each caller.
const QUESTIONS: usize = 1_024;

/// Answers after which a caller lets others go on, as answers that are waited for do by themselves.
const COURTESY: usize = 16;

/// A turn.
pub struct Turn<'t> {
    pub settings: &'t Settings,
    pub line: Line,
    /// The number of the next note that nobody has stored yet.
    pub fresh: &'t AtomicU64,
    pub seed: u64,
}

impl Turn<'_> {
    /// Operations a second.
    pub async fn take(&self, contender: &Arc<dyn Contender>) -> f64 {
        let over = Arc::new(AtomicBool::new(false));
        let callers: Vec<Caller> =
            (0..self.line.callers as u64).map(|number| self.caller(number)).collect();
        let mut running = Vec::new();
        for caller in callers {
            let (contender, over) = (contender.clone(), over.clone());
            running.push(tokio::spawn(caller.call(contender, over)));
        }
        // A clock of its own: callers that never wait would keep the run time from looking at its.
        let (length, ended) = (self.settings.turn_of(self.line.kind), over.clone());
        let clock = std::thread::spawn(move || {
            std::thread::sleep(length);
            ended.store(true, Ordering::Relaxed);
        });
        let mut sum = 0.0;
        for caller in running {
            sum += caller.await.unwrap();
        }
        clock.join().unwrap();
        sum
    }

    fn caller(&self, number: u64) -> Caller {
        let notes = self.settings.notes;
        let mut numbers = Numbers(self.seed ^ (number << 32));
        let share = match self.line.kind {
            Kind::Commit => PREPARED / self.line.callers,
            Kind::Mixed => PREPARED / self.line.callers / 4,
            _ => 0,
        } as u64;
        // The last one is taken first.
        let first = self.fresh.fetch_add(share + 1_000_000, Ordering::Relaxed);
        let prepared = (first..first + share).rev().map(|number| note(number, notes)).collect();
        let keys = (0..QUESTIONS).map(|_| any_key(&mut numbers, notes)).collect();
        let tags = match self.line.kind {
            Kind::Tagged => (0..QUESTIONS).map(|_| note(numbers.below(notes), notes).tag).collect(),
            _ => Vec::new(),
        };
        Caller { kind: self.line.kind, notes, prepared, next: first + share, keys, tags }
    }
}

/// Whoever asks, with what is asked.
struct Caller {
    kind: Kind,
    notes: u64,
    prepared: Vec<Note>,
    /// The number of the note after those.
    next: u64,
    keys: Vec<(u64, u128)>,
    tags: Vec<String>,
}

impl Caller {
    /// How often in a second it is answered.
    async fn call(mut self, contender: Arc<dyn Contender>, over: Arc<AtomicBool>) -> f64 {
        let start = Instant::now();
        let mut done = 0;
        while !over.load(Ordering::Relaxed) {
            let (author, note_id) = self.keys[done % QUESTIONS];
            match self.kind {
                Kind::Mixed if done % 10 == 9 => contender.insert(self.fresh()).await,
                Kind::Commit => contender.insert(self.fresh()).await,
                Kind::Get | Kind::Mixed => assert!(contender.get(author, note_id).await.is_some()),
                Kind::Page => assert_eq!(contender.page_rows(author, 50).await, 50),
                Kind::Tagged => {
                    let tag = &self.tags[done % QUESTIONS];
                    assert_ne!(contender.tagged_rows(tag, 20).await, 0);
                }
            }
            done += 1;
            if done % COURTESY == 0 {
                tokio::task::yield_now().await;
            }
        }
        done as f64 / start.elapsed().as_secs_f64()
    }

    fn fresh(&mut self) -> Note {
        self.prepared.pop().unwrap_or_else(|| {
            self.next += 1;
            note(self.next - 1, self.notes)
        })
    }
}
