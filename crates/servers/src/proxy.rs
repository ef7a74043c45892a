//! A proxy between a driver and its server that cuts connections where a test says, and counts.
//!
//! ```text
//! driver ──request──▶ proxy ──request──▶ server
//!        ◀──reply────       ◀──reply────
//!              ▲ Cut::Before: the request never arrives
//!              ▲ Cut::After: it arrives, is done, and its reply never comes back
//! ```
//!
//! It knows no protocol: a request is recognised by bytes in it, and whatever a driver sends
//! between two replies is one turn. What it sends to several nodes of a cluster before any of them
//! has answered is one turn too, if the proxies before them count together.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long the replies of a cluster are held: whatever was sent together with their requests has
/// come to its own proxy by then.
const HELD: Duration = Duration::from_millis(5);

/// On which side of a request a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The server never sees the request.
    Before,
    /// The server has answered, and the driver never sees the answer.
    After,
}

/// What a turn is to whoever counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// One more.
    Counted,
    /// None: a statement that a driver prepares once, or a question whether the server is there.
    LeftOut,
    /// None, and nor is any that follows on the connection: the driver keeps it for itself.
    AllLeftOut,
}

/// Judges a turn by the bytes it begins with.
pub type CountBy = fn(&[u8]) -> Turn;

/// A proxy on loopback.
#[derive(Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
    port: u16,
    listening: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    /// Where new connections go.
    server: Mutex<String>,
    rule: Mutex<Option<Rule>>,
    /// The reply that never arrives.
    reply: Mutex<Option<Vec<u8>>>,
    /// Both ends of every connection, to be shut when the proxy is closed.
    open: Mutex<Vec<TcpStream>>,
    is_closed: AtomicBool,
    /// Whether connections are refused, as by a server that is gone.
    is_refusing: AtomicBool,
    /// Whether nothing is carried, as by a network that swallows everything.
    is_stalled: AtomicBool,
    count: Arc<Count>,
    /// Which turns are counted; all of them without it.
    count_by: Mutex<Option<CountBy>>,
    cuts: AtomicU64,
}

/// The turns of one proxy, or of all before the nodes of a cluster.
#[derive(Debug, Default)]
struct Count {
    turns: AtomicU64,
    /// Whether the driver speaks next, whichever connection it takes; without it each connection
    /// has turns of its own.
    together: Option<Arc<AtomicBool>>,
}

/// Which request is cut.
#[derive(Clone, Debug)]
struct Rule {
    bytes: Vec<u8>,
    /// Requests that pass before it.
    passes: u64,
    cut: Cut,
}

impl Proxy {
    /// A proxy before the server at this address, `127.0.0.1:6379`.
    pub fn start(server: &str) -> Proxy {
        Proxy::counting(server, Arc::default())
    }

    /// A proxy before each of so many nodes of one cluster, which say later where they are. Each
    /// counts the turns of all.
    pub fn of_cluster(nodes: usize) -> Vec<Proxy> {
        let together = Some(Arc::new(AtomicBool::new(true)));
        let count = Arc::new(Count { together, ..Count::default() });
        (0..nodes).map(|_| Proxy::counting("", count.clone())).collect()
    }

    fn counting(server: &str, count: Arc<Count>) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let port = listener.local_addr().expect("a listener has an address").port();
        let shared = Arc::new(Shared {
            server: Mutex::new(server.to_string()),
            rule: Mutex::default(),
            reply: Mutex::default(),
            open: Mutex::default(),
            is_closed: AtomicBool::new(false),
            is_refusing: AtomicBool::new(false),
            is_stalled: AtomicBool::new(false),
            count,
            count_by: Mutex::default(),
            cuts: AtomicU64::new(0),
        });
        let own = shared.clone();
        let listening = Some(std::thread::spawn(move || own.listen(&listener)));
        Proxy { shared, port, listening }
    }

    /// `127.0.0.1:PORT`
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Cuts the connection, once, at the next request that holds these bytes, after so many of
    /// them have passed.
    pub fn cut(&self, cut: Cut, bytes: &[u8], passes: u64) {
        *lock(&self.shared.rule) = Some(Rule { bytes: bytes.to_vec(), passes, cut });
    }

    /// Cuts the connection, once, at the next reply that holds these bytes: whatever the server did
    /// before it says so is done.
    pub fn cut_reply(&self, bytes: &[u8]) {
        *lock(&self.shared.reply) = Some(bytes.to_vec());
    }

    /// Cuts every connection there is, now.
    pub fn cut_all(&self) {
        self.shared.shut();
    }

    /// Refuses connections from now on and cuts those there are, or lets them through again.
    pub fn refuse(&self, refuse: bool) {
        self.shared.is_refusing.store(refuse, Ordering::SeqCst);
        if refuse {
            self.shared.shut();
        }
    }

    /// Refuses connections from now on; those there are stay, until they are cut.
    pub fn refuse_more(&self) {
        self.shared.is_refusing.store(true, Ordering::SeqCst);
    }

    /// Connections are let through from now on, to another server.
    pub fn redirect(&self, server: &str) {
        *lock(&self.shared.server) = server.to_string();
        self.refuse(false);
    }

    /// Swallows every byte in either direction from now on, or carries them again. Connections are
    /// accepted and stay open: a server that never answers. What was swallowed stays lost.
    pub fn stall(&self, stall: bool) {
        self.shared.is_stalled.store(stall, Ordering::SeqCst);
    }

    /// How often the driver has spoken after the server did: the round trips of a driver that
    /// waits for each.
    pub fn turns(&self) -> u64 {
        self.shared.count.turns.load(Ordering::SeqCst)
    }

    /// Counts only some turns from now on. Of a connection that is there already, what it said
    /// before is not asked about: this comes before the driver.
    pub fn count_by(&self, rule: CountBy) {
        *lock(&self.shared.count_by) = Some(rule);
    }

    /// How many connections a rule has cut.
    pub fn cuts(&self) -> u64 {
        self.shared.cuts.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::SeqCst);
        self.shared.shut();
        // Whoever waits for a connection is woken by one.
        drop(TcpStream::connect(self.address()));
        if let Some(listening) = self.listening.take() {
            let _ = listening.join();
        }
    }
}

impl Shared {
    fn listen(self: Arc<Self>, listener: &TcpListener) {
        for driver in listener.incoming() {
            if self.is_closed.load(Ordering::SeqCst) {
                return;
            }
            let Ok(driver) = driver else { continue };
            if self.is_refusing.load(Ordering::SeqCst) {
                continue;
            }
            let server = lock(&self.server).clone();
            let Ok(server) = TcpStream::connect(server) else { continue };
            // Small pieces go on at once, or the proxy would be slower than any network.
            let _ = (driver.set_nodelay(true), server.set_nodelay(true));
            self.join(driver, server);
        }
    }

    /// Carries what one connection says, in two threads.
    fn join(self: &Arc<Self>, driver: TcpStream, server: TcpStream) {
        let ends = || Some((driver.try_clone().ok()?, server.try_clone().ok()?));
        let (Some((from_driver, to_server)), Some((kept_driver, kept_server))) = (ends(), ends())
        else {
            return;
        };
        lock(&self.open).extend([kept_driver, kept_server]);
        let together = self.count.together.clone();
        let talk = Arc::new(Talk {
            is_driver_next: together.unwrap_or_else(|| Arc::new(true.into())),
            is_swallowing: false.into(),
            is_left_out: false.into(),
        });
        let (own, own_talk) = (self.clone(), talk.clone());
        std::thread::spawn(move || own.requests(from_driver, to_server, &own_talk));
        let own = self.clone();
        std::thread::spawn(move || own.replies(server, driver, &talk));
    }

    fn requests(&self, mut from: TcpStream, mut to: TcpStream, talk: &Talk) {
        let mut buffer = vec![0; 64 << 10];
        let mut tail = Vec::new();
        while let Ok(count) = from.read(&mut buffer)
            && let Some(read) = buffer.get(..count).filter(|read| !read.is_empty())
        {
            if self.is_stalled.load(Ordering::SeqCst) {
                continue;
            }
            let is_turn = talk.is_driver_next.swap(false, Ordering::SeqCst);
            if is_turn && self.is_counted(read, talk) {
                self.count.turns.fetch_add(1, Ordering::SeqCst);
            }
            match self.met(&mut tail, read) {
                Some(Cut::Before) => break,
                Some(Cut::After) => talk.is_swallowing.store(true, Ordering::SeqCst),
                None => {}
            }
            if to.write_all(read).is_err() {
                break;
            }
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    }

    fn is_counted(&self, read: &[u8], talk: &Talk) -> bool {
        let Some(rule) = *lock(&self.count_by) else { return true };
        let turn = rule(read);
        if turn == Turn::AllLeftOut {
            talk.is_left_out.store(true, Ordering::SeqCst);
        }
        turn == Turn::Counted && !talk.is_left_out.load(Ordering::SeqCst)
    }

    fn replies(&self, mut from: TcpStream, mut to: TcpStream, talk: &Talk) {
        let mut buffer = vec![0; 64 << 10];
        let mut tail = Vec::new();
        while let Ok(count) = from.read(&mut buffer)
            && let Some(read) = buffer.get(..count).filter(|read| !read.is_empty())
        {
            if self.is_stalled.load(Ordering::SeqCst) {
                continue;
            }
            if talk.is_swallowing.load(Ordering::SeqCst) || self.is_lost(&mut tail, read) {
                break;
            }
            if self.count.together.is_some() {
                std::thread::sleep(HELD);
            }
            talk.is_driver_next.store(true, Ordering::SeqCst);
            if to.write_all(read).is_err() {
                break;
            }
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    }

    /// Whether what was read holds the request a rule is waiting for. `tail` is the end of what
    /// was read before: a request may come in pieces.
    fn met(&self, tail: &mut Vec<u8>, read: &[u8]) -> Option<Cut> {
        let mut rule = lock(&self.rule);
        let wanted = rule.as_mut()?;
        let length = wanted.bytes.len().max(1);
        tail.extend_from_slice(read);
        let found = tail.windows(length).filter(|part| *part == wanted.bytes.as_slice()).count();
        let keep = tail.len().saturating_sub(length - 1);
        tail.drain(..keep);
        let found = found as u64;
        if found <= wanted.passes {
            wanted.passes -= found;
            return None;
        }
        let cut = wanted.cut;
        *rule = None;
        self.cuts.fetch_add(1, Ordering::SeqCst);
        Some(cut)
    }

    /// Whether what was read holds the reply that must not arrive.
    fn is_lost(&self, tail: &mut Vec<u8>, read: &[u8]) -> bool {
        let mut reply = lock(&self.reply);
        let Some(bytes) = reply.as_ref() else { return false };
        let length = bytes.len().max(1);
        tail.extend_from_slice(read);
        let found = tail.windows(length).any(|part| part == bytes.as_slice());
        let keep = tail.len().saturating_sub(length - 1);
        tail.drain(..keep);
        if found {
            *reply = None;
            self.cuts.fetch_add(1, Ordering::SeqCst);
        }
        found
    }

    fn shut(&self) {
        for stream in lock(&self.open).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// What the two threads of a connection know of each other.
#[derive(Debug)]
struct Talk {
    is_driver_next: Arc<AtomicBool>,
    is_swallowing: AtomicBool,
    /// Whether its turns are not counted.
    is_left_out: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

    use super::*;

    /// A server that answers every line with the number of lines it has seen.
    fn counting() -> (String, Arc<AtomicU64>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(AtomicU64::new(0));
        let lines = seen.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, lines) = (stream.unwrap(), lines.clone());
                std::thread::spawn(move || {
                    let mut byte = [0];
                    while stream.read_exact(&mut byte).is_ok() {
                        if byte[0] == b'\n' {
                            let number = lines.fetch_add(1, Ordering::SeqCst) + 1;
                            let _ = stream.write_all(format!("{number}\n").as_bytes());
                        }
                    }
                });
            }
        });
        (address, seen)
    }

    fn ask(stream: &mut TcpStream, line: &str) -> Option<String> {
        stream.write_all(line.as_bytes()).ok()?;
        let mut answer = Vec::new();
        let mut byte = [0];
        loop {
            stream.read_exact(&mut byte).ok()?;
            match byte[0] {
                b'\n' => return String::from_utf8(answer).ok(),
                other => answer.push(other),
            }
        }
    }

    #[test]
    fn a_request_that_is_cut_before_never_arrives() {
        let (server, seen) = counting();
        let proxy = Proxy::start(&server);
        let mut stream = TcpStream::connect(proxy.address()).unwrap();
        proxy.cut(Cut::Before, b"two", 0);
        assert_eq!(ask(&mut stream, "one\n").as_deref(), Some("1"));
        assert_eq!(ask(&mut stream, "two\n"), None);
        assert_eq!((seen.load(Ordering::SeqCst), proxy.cuts()), (1, 1));
    }

    #[test]
    fn a_request_that_is_cut_after_is_done_and_not_answered() {
        let (server, seen) = counting();
        let proxy = Proxy::start(&server);
        let mut stream = TcpStream::connect(proxy.address()).unwrap();
        proxy.cut(Cut::After, b"line", 1);
        assert_eq!(ask(&mut stream, "line\n").as_deref(), Some("1"));
        assert_eq!(ask(&mut stream, "line\n"), None);
        assert_eq!(seen.load(Ordering::SeqCst), 2);
        let mut again = TcpStream::connect(proxy.address()).unwrap();
        assert_eq!(ask(&mut again, "line\n").as_deref(), Some("3"));
    }

    #[test]
    fn a_reply_that_is_cut_is_not_seen_and_its_request_is_done() {
        let (server, seen) = counting();
        let proxy = Proxy::start(&server);
        let mut stream = TcpStream::connect(proxy.address()).unwrap();
        proxy.cut_reply(b"2\n");
        assert_eq!(ask(&mut stream, "line\n").as_deref(), Some("1"));
        assert_eq!(ask(&mut stream, "line\n"), None);
        assert_eq!((seen.load(Ordering::SeqCst), proxy.cuts()), (2, 1));
    }

    #[test]
    fn a_stalled_proxy_swallows_everything_until_it_is_released() {
        let (server, seen) = counting();
        let proxy = Proxy::start(&server);
        let mut stream = TcpStream::connect(proxy.address()).unwrap();
        assert_eq!(ask(&mut stream, "line\n").as_deref(), Some("1"));
        proxy.stall(true);
        let mut new = TcpStream::connect(proxy.address()).unwrap();
        for stream in [&mut stream, &mut new] {
            stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            assert_eq!(ask(stream, "line\n"), None);
        }
        proxy.stall(false);
        assert_eq!(seen.load(Ordering::SeqCst), 1);
        stream.set_read_timeout(None).unwrap();
        assert_eq!(ask(&mut stream, "line\n").as_deref(), Some("2"));
    }

    #[test]
    fn a_request_in_pieces_is_recognised() {
        let (server, seen) = counting();
        let proxy = Proxy::start(&server);
        let mut stream = TcpStream::connect(proxy.address()).unwrap();
        proxy.cut(Cut::Before, b"abcd", 0);
        stream.set_nodelay(true).unwrap();
        for piece in ["ab", "cd\n"] {
            stream.write_all(piece.as_bytes()).unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(stream.read(&mut [0; 8]).unwrap_or(0), 0);
        assert_eq!(seen.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn what_is_sent_to_several_nodes_together_is_one_turn() {
        let proxies = Proxy::of_cluster(2);
        let (mut streams, mut servers) = (Vec::new(), Vec::new());
        for proxy in &proxies {
            let (server, seen) = counting();
            proxy.redirect(&server);
            servers.push(seen);
            streams.push(TcpStream::connect(proxy.address()).unwrap());
        }
        for turn in 1..=3 {
            for stream in &mut streams {
                stream.write_all(b"line\n").unwrap();
            }
            for stream in &mut streams {
                let mut answer = [0; 2];
                stream.read_exact(&mut answer).unwrap();
            }
            assert_eq!((proxies[0].turns(), proxies[1].turns()), (turn, turn));
        }
        // One after the other they are two.
        for stream in &mut streams {
            assert!(ask(stream, "line\n").is_some());
        }
        assert_eq!(proxies[0].turns(), 5);
        assert!(servers.iter().all(|seen| seen.load(Ordering::SeqCst) == 4));
    }

    #[test]
    fn turns_are_counted_and_a_refusing_proxy_answers_nobody() {
        let (server, _) = counting();
        let proxy = Proxy::start(&server);
        let mut stream = TcpStream::connect(proxy.address()).unwrap();
        for _ in 0..3 {
            assert!(ask(&mut stream, "line\n").is_some());
        }
        assert_eq!(proxy.turns(), 3);
        proxy.count_by(|said| match said.first() {
            Some(b'p') => Turn::LeftOut,
            Some(b'o') => Turn::AllLeftOut,
            _ => Turn::Counted,
        });
        assert!(ask(&mut stream, "prepare\n").is_some());
        assert_eq!(proxy.turns(), 3);
        assert!(ask(&mut stream, "line\n").is_some());
        assert_eq!(proxy.turns(), 4);
        let mut own = TcpStream::connect(proxy.address()).unwrap();
        assert!(ask(&mut own, "own\n").is_some() && ask(&mut own, "line\n").is_some());
        assert_eq!(proxy.turns(), 4);
        proxy.refuse(true);
        assert_eq!(ask(&mut stream, "line\n"), None);
        let refused = TcpStream::connect(proxy.address()).ok();
        assert_eq!(refused.and_then(|mut stream| ask(&mut stream, "line\n")), None);
        proxy.refuse(false);
        let mut stream = TcpStream::connect(proxy.address()).unwrap();
        assert!(ask(&mut stream, "line\n").is_some());
    }
}
