//! Connections: accepted, encrypted where that is wanted, and ended in order.

use crate::http::{Endpoints, Peer};
use crate::rooms::{Bell, Rooms};
use crate::service::Service;
use crate::settings::Callers;
use axum::body::Body;
use axum::http::Request;
use data::{Error, ErrorKind, Result};
use hyper::body::Incoming;
use hyper::rt::{Sleep, Timer};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// How long a handshake may take.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);

/// Connections at once, at most: each has a little memory.
const CONNECTIONS_MAX: usize = 20_000;

/// How often a connection is looked at on which nothing happens: a part of the time that a head may
/// take to arrive, between these.
const LOOKED_AT_LEAST: Duration = Duration::from_millis(10);
const LOOKED_AT_MOST: Duration = Duration::from_secs(5);

/// The certificate of a server, and its key.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

impl Tls {
    /// From two files in PEM form.
    pub fn from_files(certificates: &Path, key: &Path) -> Result<Tls> {
        let unreadable = |path: &Path, reason: String| {
            Error::new(ErrorKind::Argument, "a file for TLS cannot be used")
                .with("file", path.display())
                .with("reason", reason)
        };
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificates)
            .and_then(Iterator::collect)
            .map_err(|error| unreadable(certificates, error.to_string()))?;
        if chain.is_empty() {
            return Err(unreadable(certificates, "it holds no certificate".to_string()));
        }
        let private = PrivateKeyDer::from_pem_file(key)
            .map_err(|error| unreadable(key, error.to_string()))?;
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, private);
        let mut config = config.map_err(|error| unreadable(certificates, error.to_string()))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Tls(TlsAcceptor::from(Arc::new(config))))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Tls")
    }
}

/// A server that has its address and can begin.
#[derive(Debug)]
pub struct Listening {
    service: Arc<Service>,
    listener: TcpListener,
    rooms: Rooms,
    tls: Option<Tls>,
    /// Where it can be reached.
    pub address: SocketAddr,
}

/// Takes an address. Beyond this machine, whoever calls must have a token.
pub async fn listen(
    service: Arc<Service>,
    address: SocketAddr,
    tls: Option<Tls>,
) -> Result<Listening> {
    if service.settings.callers == Callers::Trusted && !address.ip().is_loopback() {
        let message = "whoever can reach this address would be anybody they like";
        return Err(Error::new(ErrorKind::Argument, message)
            .with("address", address)
            .with("fix", "listen on 127.0.0.1, or let callers show tokens"));
    }
    let listener = TcpListener::bind(address).await;
    let listener = listener.and_then(|listener| Ok((listener.local_addr()?, listener)));
    let (address, listener) = listener.map_err(|error| {
        Error::new(ErrorKind::Unavailable, "the address cannot be listened on")
            .with("address", address)
            .with("reason", &error)
            .with("fix", "choose another: --listen 127.0.0.1:0 takes any free port")
    })?;
    let rooms = Rooms::open().map_err(|error| {
        Error::new(ErrorKind::Unavailable, "the machine gives no threads")
            .with("reason", &error)
            .with("fix", "allow this user more processes and open files")
    })?;
    Ok(Listening { service, listener, rooms, tls, address })
}

impl Listening {
    /// Serves until `end`, and lets requests that are under way come to theirs.
    pub async fn serve(self, end: impl Future<Output = ()>) {
        // Shared by all requests: to copy its layers costs more than to find a pattern.
        let endpoints = Arc::new(Endpoints::in_rooms(&self.service, Handle::current()));
        let graceful = GracefulShutdown::new();
        let arrives_within = self.service.settings.arrives_within;
        let mut connections = auto::Builder::new(TokioExecutor::new());
        let timer = TokioTimer::new();
        connections.http1().timer(Glances).header_read_timeout(arrives_within);
        let look_every = (arrives_within / 4).clamp(LOOKED_AT_LEAST, LOOKED_AT_MOST);
        connections.http1().max_buf_size(64 * 1024);
        connections.http2().timer(timer).keep_alive_interval(Duration::from_secs(30));
        let connections = Arc::new(connections);
        let places = Arc::new(tokio::sync::Semaphore::new(CONNECTIONS_MAX));
        let mut tidy = tokio::time::interval(Duration::from_secs(60));
        tokio::pin!(end);
        loop {
            let (stream, peer) = tokio::select! {
                () = &mut end => break,
                _ = tidy.tick() => {
                    self.service.rates.tidy();
                    continue;
                }
                accepted = self.listener.accept() => match accepted {
                    Ok(accepted) => accepted,
                    Err(error) => {
                        // Out of files, mostly: those that are open will end.
                        tracing::warn!(%error, "a connection was not accepted");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        continue;
                    }
                },
            };
            let Ok(place) = places.clone().try_acquire_owned() else { continue };
            let _ = stream.set_nodelay(true);
            let (connections, tls) = (connections.clone(), self.tls.clone());
            let (endpoints, watcher) = (endpoints.clone(), graceful.watcher());
            let talking = Talking { peer, endpoints, watcher, look_every };
            // A stream belongs to the event loop of its room.
            let Ok(stream) = stream.into_std() else { continue };
            self.rooms.spawn(|bell| async move {
                let Ok(stream) = TcpStream::from_std(stream) else { return };
                match tls {
                    None => talk(&connections, stream, talking, bell).await,
                    Some(tls) => {
                        let shaken = tokio::time::timeout(HANDSHAKE_WITHIN, tls.0.accept(stream));
                        if let Ok(Ok(stream)) = shaken.await {
                            talk(&connections, stream, talking, bell).await;
                        }
                    }
                }
                drop(place);
            });
        }
        drop(self.listener);
        self.service.ends.send_replace(true);
        let waited = tokio::time::timeout(self.service.settings.ends_within, graceful.shutdown());
        if waited.await.is_err() {
            tracing::warn!("requests under way were cut: they took too long to end");
        }
    }
}

/// What a connection is made of, besides its stream.
struct Talking {
    peer: SocketAddr,
    endpoints: Arc<Endpoints>,
    watcher: Watcher,
    look_every: Duration,
}

async fn talk(
    connections: &auto::Builder<TokioExecutor>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    talking: Talking,
    bell: Bell,
) {
    let Talking { peer, endpoints, watcher, look_every } = talking;
    let answer = service_fn(move |request: Request<Incoming>| {
        let (endpoints, bell) = (endpoints.clone(), bell.clone());
        async move {
            let mut request = request.map(Body::new);
            let answer = endpoints.answer(Some(Peer(peer)), &mut request).await;
            bell.ring();
            Ok::<_, Infallible>(answer)
        }
    });
    let connection = connections.serve_connection_with_upgrades(TokioIo::new(stream), answer);
    let connection = watcher.watch(connection.into_owned());
    let (mut connection, mut look) = (pin!(connection), pin!(tokio::time::sleep(look_every)));
    let mut is_set = false;
    let ended = poll_fn(|context| {
        loop {
            // The connection looks at its deadline, at the latest when the clock has woken it.
            let polled = connection.as_mut().poll(context);
            // A clock that knows whom to wake has nothing to say until it is time.
            if polled.is_ready() || is_set && !look.is_elapsed() {
                return polled;
            }
            if is_set {
                look.as_mut().reset(Instant::now() + look_every);
            }
            is_set = true;
            if look.as_mut().poll(context).is_pending() {
                return polled;
            }
        }
    });
    let ended = ended.await;
    if let Err(error) = ended {
        // Whoever hung up knows it.
        tracing::debug!(%error, %peer, "a connection ended early");
    }
}

/// Deadlines of connections, which nobody is woken for: they pass when the connection is looked at.
/// A timer that is set and cleared for each request costs more than to read what was asked.
#[derive(Clone, Copy, Debug)]
struct Glances;

struct Deadline(std::time::Instant);

impl Timer for Glances {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(std::time::Instant::now() + duration)
    }

    fn sleep_until(&self, deadline: std::time::Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Deadline(deadline))
    }
}

impl Future for Deadline {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match std::time::Instant::now() >= self.0 {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

impl Sleep for Deadline {}
