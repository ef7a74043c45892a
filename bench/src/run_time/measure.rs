//! One turn of one contender: threads that do the same thing until the time is over.

use super::contender::Contender;
use super::notes::{Note, Numbers, RADIUS, any_key, any_point, note};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

/// What the threads of a line do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Small commits.
    Commit,
    /// One note by its key.
    Get,
    /// Fifty notes of a user, newest first.
    Page,
    /// Twenty notes with a tag.
    Tagged,
    /// Twenty notes around a point.
    Near,
    /// Nine reads and a commit.
    Mixed,
}

/// Notes made before the clock starts, for all threads together.
const PREPARED: usize = 100_000;

/// A turn.
pub struct Turn<'a> {
    pub contender: &'a Arc<dyn Contender>,
    pub work: Work,
    pub threads: usize,
    pub length: Duration,
    /// Notes of the data set.
    pub notes: u64,
    /// The number of the next note that nobody has stored yet.
    pub fresh: &'a AtomicU64,
    pub seed: u64,
}

impl Turn<'_> {
    /// Operations a second.
    pub fn take(&self) -> f64 {
        let barrier = Barrier::new(self.threads + 1);
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads)
                .map(|thread| {
                    let (barrier, over) = (&barrier, &over);
                    scope.spawn(move || self.thread(thread as u64, barrier, over))
                })
                .collect();
            barrier.wait();
            std::thread::sleep(self.length);
            over.store(true, Ordering::Relaxed);
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        })
    }

    /// What one thread does, and how often in a second.
    fn thread(&self, thread: u64, barrier: &Barrier, over: &AtomicBool) -> f64 {
        let mut numbers = Numbers(self.seed ^ (thread << 32));
        let mut prepared = self.prepare();
        let tags: Vec<String> = match self.work {
            Work::Tagged => {
                (0..1024).map(|_| note(numbers.below(self.notes), self.notes).tag).collect()
            }
            _ => Vec::new(),
        };
        // Connections of this thread are opened before the clock starts.
        let (author, note_id) = any_key(&mut numbers, self.notes);
        assert!(self.contender.get(author, note_id).is_some());
        barrier.wait();
        let start = Instant::now();
        let mut done = 0u64;
        while !over.load(Ordering::Relaxed) {
            if !self.once(done, &mut numbers, &mut prepared, &tags) {
                break;
            }
            done += 1;
        }
        done as f64 / start.elapsed().as_secs_f64()
    }

    fn prepare(&self) -> Vec<Note> {
        let share = match self.work {
            Work::Commit => PREPARED / self.threads,
            Work::Mixed => PREPARED / self.threads,
            _ => 0,
        };
        let first = self.fresh.fetch_add(share as u64, Ordering::Relaxed);
        (first..first + share as u64).map(|number| note(number, self.notes)).collect()
    }

    /// One operation; false if there is nothing left to store.
    fn once(
        &self,
        done: u64,
        numbers: &mut Numbers,
        prepared: &mut Vec<Note>,
        tags: &[String],
    ) -> bool {
        let contender = self.contender;
        match self.work {
            Work::Mixed if done % 10 != 9 => self.get(numbers),
            Work::Commit | Work::Mixed => match prepared.pop() {
                Some(note) => contender.insert(note),
                None => return false,
            },
            Work::Get => self.get(numbers),
            Work::Page => {
                let (author, _) = any_key(numbers, self.notes);
                assert_ne!(contender.page_rows(author, 50), 0);
            }
            Work::Tagged => {
                let tag = &tags[numbers.below(tags.len() as u64) as usize];
                assert_ne!(contender.tagged_rows(tag, 20), 0);
            }
            Work::Near => {
                let (lat, lon) = any_point(numbers);
                contender.near_rows(lat, lon, RADIUS);
            }
        }
        true
    }

    fn get(&self, numbers: &mut Numbers) {
        let (author, note_id) = any_key(numbers, self.notes);
        assert!(self.contender.get(author, note_id).is_some());
    }
}
