//! The driver: so many connections, each of which asks, waits for the answer, and asks again.
//!
//! ```text
//! questions, rendered before ─▶ connection ─▶ server ─▶ status, length ─▶ histogram
//! ```
//!
//! An answer counts if its status is 200 and it is a JSON object. Connections are open before the
//! clock begins.

use super::histogram::Histogram;
use super::notes::Numbers;
use super::process::processor_time;
use super::served::{NOTES, READER, Server, numbered};
use super::ulid::ulid;
use super::wire::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Requests of a kind that are rendered before.
const RENDERED: u64 = 512;
/// How long a server may leave everybody without an answer.
const SILENT_FOR: Duration = Duration::from_secs(60);
/// Connections over which notes are stored before anything is measured.
const FILLED_BY: usize = 16;

/// When somebody who was told to come again later does so: much sooner than told.
const COMES_AGAIN: Duration = Duration::from_millis(20);

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Create,
    Read,
    List,
}

/// How long it is asked.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    Passed(Duration),
    Asked(u64),
}

/// A request in which the id is written anew each time.
struct Template {
    request: Vec<u8>,
    places: Vec<usize>,
}

impl Template {
    fn new(request: Vec<u8>, id: &str) -> Template {
        let text = std::str::from_utf8(&request).unwrap();
        let places: Vec<usize> = text.match_indices(id).map(|(place, _)| place).collect();
        assert!(!places.is_empty(), "a request without the id of what it makes");
        Template { request, places }
    }

    fn with(&self, id: &str, into: &mut Vec<u8>) {
        into.clone_from(&self.request);
        for place in &self.places {
            into[*place..*place + id.len()].copy_from_slice(id.as_bytes());
        }
    }
}

/// Everything a server is asked.
pub struct Questions {
    creates: Vec<Template>,
    reads: Vec<Vec<u8>>,
    list: Vec<u8>,
    /// The number of the next note that nobody has made.
    fresh: AtomicU64,
}

impl Questions {
    pub fn new(server: &Server) -> Arc<Questions> {
        let creates = (NOTES..NOTES + RENDERED).map(|number| {
            let note = numbered(number);
            Template::new(server.speaks.create(&note), &ulid(note.note_id))
        });
        let mut numbers = Numbers(11);
        let reads = (0..RENDERED).map(|_| {
            let note = numbered(numbers.below(NOTES));
            server.speaks.read(READER, note.note_id)
        });
        Arc::new(Questions {
            creates: creates.collect(),
            reads: reads.collect(),
            list: server.speaks.list(READER),
            // Those before are made by whoever checks the answers.
            fresh: AtomicU64::new(NOTES + 1_000),
        })
    }
}

/// What a turn came to.
#[derive(Debug)]
pub struct Measured {
    pub histogram: Histogram,
    /// Answers that were no answers.
    pub errors: u64,
    /// Requests that were told to come again later.
    pub shed: u64,
    pub took: Duration,
    /// The processor time of the server, and of this driver.
    pub server_time: Duration,
    pub driver_time: Duration,
}

impl Measured {
    /// Answers a second.
    pub fn rate(&self) -> f64 {
        self.histogram.total() as f64 / self.took.as_secs_f64()
    }
}

/// Asks a server: these kinds of work, one after the other, over so many connections.
pub async fn turn(
    server: &Server,
    questions: &Arc<Questions>,
    works: &'static [Work],
    connections: usize,
    until: Until,
) -> Measured {
    let mut open = Vec::new();
    for _ in 0..connections {
        open.push(Connection::open(server.address).await);
    }
    let (ids, own) = (server.ids(), [std::process::id()]);
    let (server_before, driver_before) = (processor_time(&ids), processor_time(&own));
    let asked = Arc::new(AtomicU64::new(0));
    let begun = Instant::now();
    let mut tasks = Vec::new();
    for (number, connection) in open.into_iter().enumerate() {
        let caller = Caller {
            questions: questions.clone(),
            works,
            at: number * RENDERED as usize / connections,
            until,
            begun,
            asked: asked.clone(),
        };
        tasks.push(tokio::spawn(caller.talk(connection, server.address)));
    }
    let mut measured = Measured {
        histogram: Histogram::new(),
        errors: 0,
        shed: 0,
        took: Duration::ZERO,
        server_time: Duration::ZERO,
        driver_time: Duration::ZERO,
    };
    for task in tasks {
        let told = task.await.unwrap();
        measured.histogram.add(&told.histogram);
        measured.errors += told.errors;
        measured.shed += told.shed;
    }
    measured.took = begun.elapsed();
    measured.server_time = processor_time(&ids) - server_before;
    measured.driver_time = processor_time(&own) - driver_before;
    measured
}

struct Caller {
    questions: Arc<Questions>,
    works: &'static [Work],
    at: usize,
    until: Until,
    begun: Instant,
    asked: Arc<AtomicU64>,
}

struct Told {
    histogram: Histogram,
    errors: u64,
    shed: u64,
}

impl Caller {
    async fn talk(mut self, mut connection: Connection, address: std::net::SocketAddr) -> Told {
        let mut told = Told { histogram: Histogram::new(), errors: 0, shed: 0 };
        let mut made = Vec::new();
        let questions = self.questions.clone();
        while self.goes_on() {
            let request = self.question(&questions, &mut made);
            let begun = Instant::now();
            let asking = tokio::time::timeout(SILENT_FOR, connection.ask(request)).await;
            match asking.expect("the server answers within a minute") {
                Ok(seen) if seen.status == 200 && seen.is_object => {
                    told.histogram.note(begun.elapsed());
                }
                Ok(seen) if seen.status == 503 && connection.says("retry-after") => {
                    told.shed += 1;
                    tokio::time::sleep(COMES_AGAIN).await;
                }
                Ok(_) => told.errors += 1,
                Err(_) => {
                    told.errors += 1;
                    connection = Connection::open(address).await;
                }
            }
        }
        told
    }

    fn goes_on(&self) -> bool {
        match self.until {
            Until::Passed(length) => self.begun.elapsed() < length,
            Until::Asked(most) => self.asked.fetch_add(1, Ordering::Relaxed) < most,
        }
    }

    fn question<'q>(&mut self, questions: &'q Questions, made: &'q mut Vec<u8>) -> &'q [u8] {
        self.at += 1;
        match self.works[self.at % self.works.len()] {
            Work::List => &questions.list,
            Work::Read => &questions.reads[self.at % questions.reads.len()],
            Work::Create => {
                let number = questions.fresh.fetch_add(1, Ordering::Relaxed);
                let id = ulid(super::notes::note_id(number));
                questions.creates[self.at % questions.creates.len()].with(&id, made);
                made
            }
        }
    }
}

/// Stores the reader's notes.
pub async fn fill(server: &Server) {
    let next = Arc::new(AtomicU64::new(0));
    let requests: Vec<Vec<u8>> =
        (0..NOTES).map(|number| server.speaks.create(&numbered(number))).collect();
    let requests = Arc::new(requests);
    let tasks: Vec<_> = (0..FILLED_BY)
        .map(|_| {
            let (next, requests, address) = (next.clone(), requests.clone(), server.address);
            tokio::spawn(async move {
                let mut connection = Connection::open(address).await;
                while let Some(request) =
                    requests.get(next.fetch_add(1, Ordering::Relaxed) as usize)
                {
                    let response = connection.ask_whole(request).await.unwrap();
                    assert_eq!(response.status, 200, "{}", response.text());
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}
