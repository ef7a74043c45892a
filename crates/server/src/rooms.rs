//! Threads that talk with callers: a connection stays in the room it was given.
//!
//! ```text
//! accept ─▶ the emptiest room: one thread, one event loop   read ─▶ answer ─▶ write
//!                       └─ what may take long ─▶ the run time that started the server
//! ```
//!
//! A run time in which any thread may go on with any connection wakes threads all the time, and to
//! wake one costs more than to read a row. In a room there is nobody to wake. In return nothing may
//! happen there that takes long without waiting: a scrub would hold up whoever shares the room.
//!
//! A room with few guests stays awake for a moment after each answer: most callers who have one
//! connection call again at once, and would wait longer for the room to wake up than for the
//! answer.

use std::future::Future;
use std::io;
use std::sync::{Arc, Weak};
use std::thread::{Builder, JoinHandle, available_parallelism};
use std::time::{Duration, Instant};
use tokio::runtime::{self, Handle};
use tokio::sync::{Notify, oneshot};
use tokio::task::{JoinSet, yield_now};
use tracing::Instrument;

/// How long a room stays awake after an answer: about as long as it takes to wake one.
const AWAKE: Duration = Duration::from_micros(60);

/// With more guests a room has hardly time to fall asleep.
const FEW_GUESTS: usize = 2;

/// All rooms of a server.
#[derive(Debug)]
pub(crate) struct Rooms(Vec<Room>);

/// With which a guest says that an answer is on its way.
#[derive(Clone, Debug)]
pub(crate) struct Bell(Arc<Notify>);

impl Bell {
    /// The room stays awake for a moment.
    pub(crate) fn ring(&self) {
        self.0.notify_one();
    }
}

#[derive(Debug)]
struct Room {
    handle: Handle,
    /// One reference for each that is in it, and its own.
    guests: Arc<()>,
    bell: Bell,
    /// Dropped when it is to end.
    stays: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Rooms {
    /// Opens as many as the machine has processors.
    pub(crate) fn open() -> io::Result<Rooms> {
        Rooms::of(available_parallelism().map_or(1, usize::from))
    }

    fn of(count: usize) -> io::Result<Rooms> {
        // On one processor whoever stays awake keeps the callers on this machine from calling.
        let lingers = count > 1;
        let rooms = (0..count).map(|number| Room::open(number, lingers));
        rooms.collect::<io::Result<_>>().map(Rooms)
    }

    /// Lets something happen in the room that has the fewest guests, until it is over or all rooms
    /// are closed.
    pub(crate) fn spawn<F: Future<Output = ()> + Send + 'static>(
        &self,
        work: impl FnOnce(Bell) -> F,
    ) {
        let emptiest = self.0.iter().min_by_key(|room| Arc::strong_count(&room.guests));
        let Some(room) = emptiest else { return };
        let (guest, work) = (room.guests.clone(), work(room.bell.clone()));
        room.handle.spawn(async move {
            work.await;
            drop(guest);
        });
    }
}

impl Room {
    fn open(number: usize, lingers: bool) -> io::Result<Room> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (guests, bell) = (Arc::default(), Bell(Arc::default()));
        if lingers {
            runtime.spawn(stay_awake(bell.clone(), Arc::downgrade(&guests)));
        }
        let (stays, ends) = oneshot::channel::<()>();
        let thread = Builder::new().name(format!("keyway room {number}"));
        let thread = thread.spawn(move || {
            let _ = runtime.block_on(ends);
            // Guests are let go of. A name that is being looked up for one of them is not waited
            // for: servers of names that are away take longer than anybody who wants to end.
            runtime.shutdown_background();
        })?;
        Ok(Room { handle, guests, bell, stays: Some(stays), thread: Some(thread) })
    }
}

/// Keeps a room with few guests awake whenever its bell was rung: it looks again and again whether
/// anything has arrived, instead of sleeping until it is told.
async fn stay_awake(bell: Bell, guests: Weak<()>) {
    loop {
        bell.0.notified().await;
        if guests.strong_count() > 1 + FEW_GUESTS {
            continue;
        }
        let until = Instant::now() + AWAKE;
        while Instant::now() < until {
            yield_now().await;
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.stays.take();
        if let Some(thread) = self.thread.take() {
            // A panic ended the connection it happened on, and nothing else.
            let _ = thread.join();
        }
    }
}

/// Lets something happen on another run time and waits for it, as a part of the same request; it
/// ends with whoever waits. Nothing if it panicked.
pub(crate) async fn elsewhere<T: Send + 'static>(
    place: &Handle,
    work: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let mut one = JoinSet::new();
    one.spawn_on(work.in_current_span(), place);
    one.join_next().await?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::sync::Mutex;
    use std::sync::mpsc::channel;
    use tokio::sync::watch;
    use tracing::Span;

    fn thread_name() -> String {
        std::thread::current().name().unwrap_or_default().to_string()
    }

    /// How many of so many guests, who stay until told otherwise, each room has.
    fn arrivals(rooms: &Rooms, guests: usize, leave: &watch::Receiver<bool>) -> Vec<String> {
        let (tell, told) = channel();
        for _ in 0..guests {
            let (tell, mut leave) = (tell.clone(), leave.clone());
            rooms.spawn(|_| async move {
                tell.send(thread_name()).unwrap();
                let _ = leave.wait_for(|leave| *leave).await;
            });
        }
        (0..guests).map(|_| told.recv_timeout(Duration::from_secs(10)).unwrap()).collect()
    }

    #[test]
    fn guests_are_spread_over_the_rooms_and_stay_where_they_are() {
        let rooms = Rooms::of(3).unwrap();
        let (_leave, stay) = watch::channel(false);
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        for name in arrivals(&rooms, 9, &stay) {
            *found.entry(name).or_default() += 1;
        }
        let expected = (0..3).map(|number| (format!("keyway room {number}"), 3)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_room_that_was_left_is_given_the_next_guests() {
        let rooms = Rooms::of(2).unwrap();
        let ((_first, stay), (leave, leaves)) = (watch::channel(false), watch::channel(false));
        let stays = arrivals(&rooms, 1, &stay);
        let left = arrivals(&rooms, 1, &leaves);
        assert_ne!(stays, left);
        leave.send(true).unwrap();
        // The guest drops what it holds of the room a moment later.
        while Arc::strong_count(&rooms.0[1].guests) + Arc::strong_count(&rooms.0[0].guests) > 3 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(arrivals(&rooms, 1, &stay), left);
    }

    #[test]
    fn what_takes_long_happens_elsewhere_and_ends_with_whoever_waits() {
        let main = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let main = main.unwrap();
        let place = main.handle().clone();
        let rooms = Rooms::of(1).unwrap();
        let (tell, told) = channel();
        let ends = Arc::new(());
        let held = ends.clone();
        rooms.spawn(|_| async move {
            let name = elsewhere(&place, async { thread_name() }).await;
            tell.send(name).unwrap();
            assert!(elsewhere(&place, async { panic!("on purpose") }).await.is_none_or(|()| false));
            let endless = async move {
                std::future::pending::<()>().await;
                drop(held);
            };
            let _ =
                tokio::time::timeout(Duration::from_millis(10), elsewhere(&place, endless)).await;
            tell.send(None).unwrap();
        });
        let name = told.recv_timeout(Duration::from_secs(10)).unwrap().unwrap();
        assert!(!name.starts_with("keyway room"), "{name}");
        assert_eq!(told.recv_timeout(Duration::from_secs(10)).unwrap(), None);
        while Arc::strong_count(&ends) > 1 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn what_happens_elsewhere_is_part_of_the_request() {
        let _heard = tracing::subscriber::set_default(tracing_subscriber::registry());
        let main = runtime::Builder::new_current_thread().build().unwrap();
        let (place, span) = (main.handle().clone(), tracing::info_span!("request"));
        let asked = async move { elsewhere(&place, async { Span::current().id() }).await };
        let found = main.block_on(asked.instrument(span.clone()));
        assert!(span.id().is_some());
        assert_eq!(found, Some(span.id()));
    }

    #[test]
    fn nobody_waits_for_a_name_to_be_looked_up() {
        let rooms = Rooms::of(1).unwrap();
        let (tell, told) = channel();
        let (_end, ends) = channel::<()>();
        rooms.spawn(|_| async move {
            // As slow as a server of names that is away.
            let slow = tokio::task::spawn_blocking(move || {
                let _ = tell.send(());
                ends.recv_timeout(Duration::from_secs(20))
            });
            let _ = slow.await;
        });
        told.recv_timeout(Duration::from_secs(10)).unwrap();
        let begun = Instant::now();
        drop(rooms);
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    }

    /// How long a room with so many guests is awake after its bell was rung.
    fn awake(guests: usize) -> Duration {
        let sleeps = Arc::new(Mutex::new(Vec::new()));
        let noted = sleeps.clone();
        let sleep = move || noted.lock().unwrap().push(Instant::now());
        let runtime = runtime::Builder::new_current_thread().on_thread_park(sleep).build().unwrap();
        let (room, bell) = (Arc::new(()), Bell(Arc::default()));
        let guests = vec![room.clone(); guests];
        runtime.spawn(stay_awake(bell.clone(), Arc::downgrade(&room)));
        let (wake, woken) = oneshot::channel();
        let rung = runtime.block_on(async {
            yield_now().await;
            let rung = Instant::now();
            bell.ring();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(2));
                wake.send(()).unwrap();
            });
            woken.await.unwrap();
            rung
        });
        drop(guests);
        let sleeps = sleeps.lock().unwrap();
        let asleep = sleeps.iter().find(|at| **at >= rung).expect("it falls asleep");
        *asleep - rung
    }

    #[test]
    fn a_room_with_few_guests_stays_awake_for_a_moment() {
        assert!((0..20).all(|_| awake(FEW_GUESTS) >= AWAKE));
        assert!((0..200).any(|_| awake(FEW_GUESTS + 1) < AWAKE));
    }

    #[test]
    fn rooms_that_are_closed_let_go_of_their_guests() {
        let rooms = Rooms::of(2).unwrap();
        let (leave, stay) = watch::channel(false);
        arrivals(&rooms, 4, &stay);
        drop((rooms, stay));
        assert!(leave.is_closed());
    }
}
