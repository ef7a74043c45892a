//! The connection, with a server that says what a test wants: late, in pieces, garbled, or slowly.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

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
