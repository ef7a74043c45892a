//! An open connection: requests go out one behind the other, and replies come back in that order.
//!
//! ```text
//! callers ─▶ output ─▶ one of them writes for all ─▶ server
//! callers ◀─ answers ◀─ driver: cuts what it reads into replies ◀─ server
//!                       └─ one timer for the deadlines of all
//! ```
//!
//! A caller writes by itself what waits to be written, so that a request needs no other task; the
//! driver reads, and writes only what the socket did not take at once. Whoever stops waiting leaves
//! a reply to nobody behind, and nothing else. It knows no command: bytes go out, replies come
//! back. After a reply that came too late, or that is none, a connection is not to be used again;
//! that is its owner's business.

use super::protocol::Scanner;
use bytes::Bytes;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep_until};

/// What is read at once; longer replies make room for themselves.
const INPUT_BYTES: usize = 64 << 10;
/// Output that is written at once: the server has something to do meanwhile. Less waits until those
/// who could run had the time to add theirs.
const OUTPUT_BYTES_MANY: usize = 1 << 10;
/// Memory for output that is kept.
const OUTPUT_BYTES_KEPT: usize = 256 << 10;

/// A connection, as those who ask have it. It ends with the last of them.
#[derive(Debug)]
pub(super) struct Wire {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    writer: OwnedWriteHalf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What waits to be written.
    output: Vec<u8>,
    /// Memory for the next output.
    spare: Vec<u8>,
    /// Whoever waits for a reply and is not known to the driver yet.
    fresh: Vec<Waiting>,
    /// Requests without a reply.
    in_flight: usize,
    /// Whether somebody writes, or the driver will.
    is_writing: bool,
    /// Whether somebody will write soon.
    is_promised: bool,
    /// Whether the socket took no more, so that the driver must write.
    is_stuck: bool,
    /// Whether no reply comes any more.
    is_over: bool,
    /// When the driver looks for replies that are late.
    alarm: Option<Instant>,
    driver: Option<Waker>,
}

/// Who waits for replies.
#[derive(Debug)]
struct Waiting {
    scanner: Scanner,
    until: Instant,
    /// Nothing once it was told that they are late.
    answer: Option<oneshot::Sender<io::Result<Bytes>>>,
}

/// Who writes what waits to be written.
enum Turn {
    /// Somebody else does.
    Theirs,
    /// The caller, at once: nobody else is about.
    Now,
    /// The caller, once others had the time to add theirs.
    Soon,
}

impl Wire {
    /// A connection on this stream. Needs a run time of tokio's, now and until it ends.
    pub(super) fn new(stream: TcpStream) -> Wire {
        let (reader, writer) = stream.into_split();
        let shared = Arc::new(Shared { writer, state: Mutex::default() });
        let driver = Driver {
            shared: shared.clone(),
            reader,
            input: vec![0; INPUT_BYTES],
            start: 0,
            end: 0,
            waiting: VecDeque::new(),
            alarm: Box::pin(sleep_until(Instant::now())),
            rings_at: None,
        };
        tokio::spawn(driver);
        Wire { shared }
    }

    /// Sends a request and waits for so many replies, which are answered as one piece.
    ///
    /// [`io::ErrorKind::NotConnected`] if nothing was sent; any other error says nothing about what
    /// the server did.
    pub(super) async fn ask(
        &self,
        request: &[u8],
        replies: usize,
        until: Instant,
    ) -> io::Result<Bytes> {
        let (sender, answer) = oneshot::channel();
        let waiting = Waiting { scanner: Scanner::of(replies), until, answer: Some(sender) };
        match self.shared.add(request, waiting)? {
            Turn::Theirs => {}
            Turn::Now => self.shared.write_out(),
            Turn::Soon => {
                let duty = Duty(&self.shared);
                tokio::task::yield_now().await;
                drop(duty);
            }
        }
        answer.await.unwrap_or_else(|_| Err(io::ErrorKind::ConnectionReset.into()))
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_over = true;
        state.wake_driver();
    }
}

/// What a caller owes to others: it writes even if it is told to stop waiting.
struct Duty<'s>(&'s Shared);

impl Drop for Duty<'_> {
    fn drop(&mut self) {
        self.0.keep_promise();
    }
}

impl State {
    fn wake_driver(&mut self) {
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request to what waits to be written.
    fn add(&self, request: &[u8], waiting: Waiting) -> io::Result<Turn> {
        let mut state = self.lock();
        if state.is_over {
            return Err(io::ErrorKind::NotConnected.into());
        }
        if state.alarm.is_none_or(|alarm| waiting.until < alarm) {
            state.alarm = Some(waiting.until);
            state.wake_driver();
        }
        state.output.extend_from_slice(request);
        state.fresh.push(waiting);
        state.in_flight += 1;
        if state.is_writing {
            return Ok(Turn::Theirs);
        }
        if state.in_flight == 1 || state.output.len() >= OUTPUT_BYTES_MANY {
            state.is_writing = true;
            return Ok(Turn::Now);
        }
        let is_promised = std::mem::replace(&mut state.is_promised, true);
        Ok(if is_promised { Turn::Theirs } else { Turn::Soon })
    }

    /// Does what was promised, unless somebody else has done it.
    fn keep_promise(&self) {
        let mut state = self.lock();
        state.is_promised = false;
        if state.is_writing || state.output.is_empty() {
            return;
        }
        state.is_writing = true;
        drop(state);
        self.write_out();
    }

    /// Writes what waits, also what others add meanwhile. Only for whoever said that it writes.
    fn write_out(&self) {
        let mut output = Vec::new();
        loop {
            {
                let mut state = self.lock();
                if output.capacity() <= OUTPUT_BYTES_KEPT {
                    output.clear();
                    state.spare = output;
                }
                if state.output.is_empty() || state.is_over {
                    state.is_writing = false;
                    return;
                }
                let spare = std::mem::take(&mut state.spare);
                output = std::mem::replace(&mut state.output, spare);
            }
            let mut rest = output.as_slice();
            while !rest.is_empty() {
                match self.writer.try_write(rest) {
                    Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                    Err(error) => return self.put_back(rest, &error),
                }
            }
        }
    }

    /// Leaves to the driver what the socket did not take.
    fn put_back(&self, rest: &[u8], error: &io::Error) {
        let mut state = self.lock();
        match error.kind() {
            io::ErrorKind::WouldBlock => {
                let behind = std::mem::take(&mut state.output);
                state.output = [rest, behind.as_slice()].concat();
                state.is_stuck = true;
            }
            _ => state.is_over = true,
        }
        state.wake_driver();
    }
}

/// Reads for all callers.
struct Driver {
    shared: Arc<Shared>,
    reader: OwnedReadHalf,
    /// What was read and belongs to replies that have not come whole: from `start` to `end`.
    input: Vec<u8>,
    start: usize,
    end: usize,
    /// Who waits, in the order of the requests.
    waiting: VecDeque<Waiting>,
    alarm: Pin<Box<Sleep>>,
    /// When the alarm rings, if it is set.
    rings_at: Option<Instant>,
}

impl Future for Driver {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let driver = self.get_mut();
        if driver.look_around(context).is_none() {
            return Poll::Ready(());
        }
        while let Poll::Ready(read) = driver.read(context) {
            match read {
                Ok(0) | Err(_) => return Poll::Ready(()),
                Ok(_) => {}
            }
            if driver.answer().is_err() {
                return Poll::Ready(());
            }
        }
        while driver.rings_at.is_some() && driver.alarm.as_mut().poll(context).is_ready() {
            driver.tell_late();
        }
        Poll::Pending
    }
}

impl Driver {
    /// Sees to what callers left to it; nothing if there are none any more.
    fn look_around(&mut self, context: &mut Context<'_>) -> Option<()> {
        let mut state = self.shared.lock();
        if state.is_over {
            return None;
        }
        if !state.driver.as_ref().is_some_and(|known| known.will_wake(context.waker())) {
            state.driver = Some(context.waker().clone());
        }
        if self.rings_at != state.alarm {
            self.rings_at = state.alarm;
            if let Some(at) = self.rings_at {
                self.alarm.as_mut().reset(at);
            }
        }
        let is_stuck = state.is_stuck;
        drop(state);
        if is_stuck && self.shared.writer.as_ref().poll_write_ready(context).is_ready() {
            self.shared.lock().is_stuck = false;
            self.shared.write_out();
            let state = self.shared.lock();
            // It may be stuck again: then it is this task that must be told.
            if state.is_stuck || state.is_over {
                context.waker().wake_by_ref();
            }
        }
        Some(())
    }

    /// Reads what has come.
    fn read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.input.len() > INPUT_BYTES {
                self.input = vec![0; INPUT_BYTES];
            }
        }
        if self.end == self.input.len() {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            if self.end > self.input.len() / 2 {
                self.input.resize(self.input.len() * 2, 0);
            }
        }
        let mut free = ReadBuf::new(self.input.get_mut(self.end..).unwrap_or_default());
        match Pin::new(&mut self.reader).poll_read(context, &mut free) {
            Poll::Ready(read) => {
                let count = free.filled().len();
                self.end += count;
                Poll::Ready(read.map(|()| count))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    /// Gives everybody the replies that have come whole.
    fn answer(&mut self) -> io::Result<()> {
        {
            // Whatever is answered was asked before.
            let mut state = self.shared.lock();
            self.waiting.extend(state.fresh.drain(..));
        }
        let mut answered = 0;
        while let Some(first) = self.waiting.front_mut() {
            let come = self.input.get(self.start..self.end).unwrap_or_default();
            let end = first.scanner.end(come);
            let Some(end) = end.map_err(|_| io::ErrorKind::InvalidData)? else { break };
            let replies = come.get(..end).unwrap_or_default();
            self.start += end;
            answered += 1;
            if let Some(answer) = self.waiting.pop_front().and_then(|first| first.answer) {
                // Whoever asked may have gone.
                let _ = answer.send(Ok(Bytes::copy_from_slice(replies)));
            }
        }
        if answered == 0 && self.waiting.is_empty() && self.start < self.end {
            // Nobody asked for this.
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.shared.lock().in_flight -= answered;
        Ok(())
    }

    /// Tells those whose replies are late, and sets the alarm for the next.
    fn tell_late(&mut self) {
        let mut state = self.shared.lock();
        self.waiting.extend(state.fresh.drain(..));
        let now = Instant::now();
        let mut next: Option<Instant> = None;
        for waiting in self.waiting.iter_mut().filter(|waiting| waiting.answer.is_some()) {
            if waiting.until > now {
                next = Some(next.map_or(waiting.until, |next| next.min(waiting.until)));
            } else if let Some(answer) = waiting.answer.take() {
                let _ = answer.send(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        state.alarm = next;
        self.rings_at = next;
        if let Some(at) = next {
            self.alarm.as_mut().reset(at);
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_over = true;
        // Whoever waits is told by the answer that never comes.
        state.fresh.clear();
        self.waiting.clear();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream as Peer};
    use std::time::Duration;

    fn in_runtime<T>(test: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        runtime.enable_all().worker_threads(2).build().unwrap().block_on(test)
    }

    async fn pair() -> (Arc<Wire>, Peer) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (Arc::new(Wire::new(stream)), listener.accept().unwrap().0)
    }

    fn ask(
        wire: &Arc<Wire>,
        request: &'static [u8],
        within: u64,
    ) -> tokio::task::JoinHandle<io::Result<Bytes>> {
        let (wire, until) = (wire.clone(), Instant::now() + Duration::from_millis(within));
        tokio::spawn(async move { wire.ask(request, 1, until).await })
    }

    fn hear(peer: &mut Peer, bytes: usize) -> Vec<u8> {
        let mut heard = vec![0; bytes];
        peer.read_exact(&mut heard).unwrap();
        heard
    }

    #[test]
    fn replies_come_to_those_who_asked_in_whatever_pieces() {
        in_runtime(async {
            let (wire, mut peer) = pair().await;
            let one = ask(&wire, b"1", 5_000);
            assert_eq!(hear(&mut peer, 1), b"1");
            let two = ask(&wire, b"2", 5_000);
            assert_eq!(hear(&mut peer, 1), b"2");
            peer.write_all(b"$3\r\non").unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
            peer.write_all(b"e\r\n+two\r\n").unwrap();
            assert_eq!(one.await.unwrap().unwrap(), b"$3\r\none\r\n".as_slice());
            assert_eq!(two.await.unwrap().unwrap(), b"+two\r\n".as_slice());
        });
    }

    #[test]
    fn a_late_reply_is_told_in_time_and_is_nobody_elses() {
        in_runtime(async {
            let (wire, mut peer) = pair().await;
            let (patient, hasty) = (ask(&wire, b"p", 5_000), ask(&wire, b"h", 50));
            let mut heard = hear(&mut peer, 2);
            let hasty = hasty.await.unwrap().unwrap_err();
            assert_eq!(hasty.kind(), io::ErrorKind::TimedOut);
            // Both are answered in the order in which they were sent.
            heard.iter_mut().for_each(|byte| _ = peer.write_all(&[b'+', *byte, 13, 10]));
            assert_eq!(patient.await.unwrap().unwrap(), b"+p\r\n".as_slice());
        });
    }

    #[test]
    fn what_is_no_reply_ends_the_connection_for_all() {
        in_runtime(async {
            let (wire, mut peer) = pair().await;
            let (one, two) = (ask(&wire, b"1", 5_000), ask(&wire, b"2", 5_000));
            hear(&mut peer, 2);
            peer.write_all(b"HTTP/1.1").unwrap();
            for asked in [one, two] {
                let error = asked.await.unwrap().unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
            }
            let error = ask(&wire, b"3", 5_000).await.unwrap().unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotConnected);
        });
    }

    #[test]
    fn whoever_stops_waiting_has_written_for_the_others() {
        in_runtime(async {
            let (wire, mut peer) = pair().await;
            let first = ask(&wire, b"1", 5_000);
            assert_eq!(hear(&mut peer, 1), b"1");
            {
                // It has the turn, and is dropped where it lets others add theirs.
                let until = Instant::now() + Duration::from_secs(5);
                let mut gone = Box::pin(wire.ask(b"2", 1, until));
                let mut context = Context::from_waker(Waker::noop());
                assert!(gone.as_mut().poll(&mut context).is_pending());
            }
            assert_eq!(hear(&mut peer, 1), b"2");
            let third = ask(&wire, b"3", 5_000);
            assert_eq!(hear(&mut peer, 1), b"3");
            peer.write_all(b":1\r\n:2\r\n:3\r\n").unwrap();
            assert_eq!(first.await.unwrap().unwrap(), b":1\r\n".as_slice());
            assert_eq!(third.await.unwrap().unwrap(), b":3\r\n".as_slice());
        });
    }

    #[test]
    fn more_than_the_socket_takes_is_written_and_read() {
        static LARGE: [u8; 32 << 20] = [b'x'; 32 << 20];
        in_runtime(async {
            let (wire, mut peer) = pair().await;
            let asked = ask(&wire, &LARGE, 60_000);
            let behind = ask(&wire, b"y", 60_000);
            let peer = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(50));
                let heard = hear(&mut peer, LARGE.len() + 1);
                let head = format!("${}\r\n", LARGE.len());
                peer.write_all(head.as_bytes()).unwrap();
                peer.write_all(&LARGE).unwrap();
                peer.write_all(b"\r\n+y\r\n").unwrap();
                heard
            });
            let (large, small) = (asked.await.unwrap().unwrap(), behind.await.unwrap().unwrap());
            assert!(large.len() + small.len() > LARGE.len() && large.len() != small.len());
            assert_eq!(peer.join().unwrap().iter().filter(|byte| **byte == b'y').count(), 1);
        });
    }
}
