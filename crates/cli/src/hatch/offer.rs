//! The server's end: it moves its own keyspace, under its own traffic, when it is asked to.
//!
//! A move goes on for as long as whoever has asked for it listens. If they hang up, or the server
//! is told to end, it is given up and everything is as it was; but once writes wait it is carried
//! through, which is done in a moment: nobody would know where the keyspace is otherwise.

use super::way::Way;
use super::{Arrived, Ask, Said, name_of, stage};
use crate::answer::{Form, write_complaint};
use crate::failure::Failure;
use crate::open::Opened;
use data::{Error, ErrorKind};
use keyway::{Stage, StoreUrl};
use server::Service;
use std::fs::{self, Permissions};
use std::future::pending;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

/// Bytes of what is asked, at most.
const ASK_BYTES_MAX: u64 = 64 * 1_024;
/// How long it may take to ask, and to hear how it ended.
const ASKS_WITHIN: Duration = Duration::from_secs(10);
/// How often it is told how far a move is, at most.
const TELLS_EVERY: Duration = Duration::from_millis(100);

/// A hatch that is open until the server ends.
#[derive(Debug, Default)]
pub(crate) struct Offered(Option<(watch::Sender<bool>, JoinHandle<()>)>);

impl Offered {
    /// Opens one beside an engine; other stores are shared, or cannot be moved away from.
    pub(crate) fn beside(opened: &Opened, service: &Arc<Service>, form: Form) -> Offered {
        let StoreUrl::Engine { directory, .. } = &opened.url else { return Offered::default() };
        let hatch = match Hatch::open(directory) {
            Ok(hatch) => hatch,
            Err(error) => {
                if !form.json {
                    let note = "note: `keyway copy --live` cannot reach this server, which has no \
                                socket in the folder of the engine";
                    write_complaint(&format!("{note}: {error}\n"));
                }
                return Offered::default();
            }
        };
        let host = Host { service: service.clone(), file: name_of(&opened.text), form };
        let (end, ends) = watch::channel(false);
        Offered(Some((end, tokio::spawn(hatch.serve(Arc::new(host), ends)))))
    }

    /// Closes it. A move that is past its point of no return is waited for.
    pub(crate) async fn close(self) {
        if let Some((end, task)) = self.0 {
            end.send_replace(true);
            // It takes no one with it if it has panicked.
            let _ = task.await;
        }
    }
}

/// The socket; it is taken away when this is dropped.
struct Hatch {
    listener: tokio::net::UnixListener,
    way: Way,
    /// The user whose it is.
    owner: u32,
}

impl Hatch {
    /// Puts a socket into the folder of an engine that this process has open: one that is there is
    /// left from a process that was killed.
    fn open(folder: &Path) -> io::Result<Hatch> {
        let way = Way::into(folder)?;
        if fs::symlink_metadata(&way.file).is_ok_and(|found| found.file_type().is_socket()) {
            fs::remove_file(&way.file)?;
        }
        let listener = tokio::net::UnixListener::bind(&way.path)?;
        let hatch = Hatch { listener, owner: fs::symlink_metadata(&way.file)?.uid(), way };
        fs::set_permissions(&hatch.way.file, Permissions::from_mode(0o600))?;
        Ok(hatch)
    }

    async fn serve(self, host: Arc<Host>, mut ends: watch::Receiver<bool>) {
        let mut guests = JoinSet::new();
        let heard = ends.clone();
        loop {
            tokio::select! {
                () = ended(&mut ends) => break,
                Some(_) = guests.join_next() => {}
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) if self.lets_in(&stream) => {
                        guests.spawn(answer(stream, host.clone(), heard.clone()));
                    }
                    Ok(_) => {}
                    Err(_) => sleep(TELLS_EVERY).await,
                },
            }
        }
        while guests.join_next().await.is_some() {}
    }

    /// The permissions were set a moment after the socket was there.
    fn lets_in(&self, stream: &UnixStream) -> bool {
        stream.peer_cred().is_ok_and(|peer| peer.uid() == self.owner || peer.uid() == 0)
    }
}

impl Drop for Hatch {
    fn drop(&mut self) {
        // One that stays is replaced by the next server.
        let _ = fs::remove_file(&self.way.file);
    }
}

/// Whose keyspace it is.
struct Host {
    service: Arc<Service>,
    /// The file it was started with.
    file: String,
    form: Form,
}

async fn answer(stream: UnixStream, host: Arc<Host>, ends: watch::Receiver<bool>) {
    let (read, write) = stream.into_split();
    let (tell, told) = watch::channel(None);
    let mut telling = tokio::spawn(tell_all(write, told));
    let end = match host.move_as_asked(read, ends, &tell).await {
        Ok(arrived) => Said::Moved(arrived),
        Err(failure) => Said::from(failure),
    };
    tell.send_replace(Some(end));
    drop(tell);
    if timeout(ASKS_WITHIN, &mut telling).await.is_err() {
        telling.abort();
    }
}

/// Writes what is told, and the last of it in any case.
async fn tell_all(mut write: OwnedWriteHalf, mut told: watch::Receiver<Option<Said>>) {
    while told.changed().await.is_ok() {
        let line = told.borrow_and_update().as_ref().map(serde_json::to_string);
        let Some(Ok(line)) = line else { continue };
        if write.write_all(format!("{line}\n").as_bytes()).await.is_err() {
            return;
        }
        sleep(TELLS_EVERY).await;
    }
}

impl Host {
    async fn move_as_asked(
        &self,
        read: OwnedReadHalf,
        ends: watch::Receiver<bool>,
        tell: &watch::Sender<Option<Said>>,
    ) -> Result<Arrived, Failure> {
        let mut read = BufReader::new(read.take(ASK_BYTES_MAX));
        let mut line = String::new();
        let asked = timeout(ASKS_WITHIN, read.read_line(&mut line)).await.is_ok();
        let ask = serde_json::from_str::<Ask>(&line).ok().filter(|_| asked).ok_or_else(|| {
            let problem = "the server does not know what it was asked";
            Failure::usage(problem, "use the version of Keyway that the server has")
        })?;
        self.check(&ask)?;
        let kind = ask.move_to.parse::<StoreUrl>()?.kind().name();
        self.service.book.note("keyway copy --live", "keyspace moved", Some(kind)).await?;
        let tell = tell.clone();
        let waits = Arc::new(AtomicBool::new(false));
        let wait = waits.clone();
        let on_stage = move |now: Stage| {
            wait.fetch_or(now == Stage::Paused, Ordering::Relaxed);
            let (name, rows) = stage(now);
            tell.send_replace(Some(Said::Stage { name: name.to_string(), rows }));
        };
        let keyway = &self.service.keyway;
        let moving = keyway.move_to(&ask.move_to).again(ask.again).on_stage(on_stage);
        let moved = tokio::select! {
            moved = moving.into_future() => moved?,
            error = given_up(read, ends, &waits) => return Err(error.into()),
        };
        let arrived = Arrived::new(&moved, keyway.store().address);
        self.tell_moved(&arrived);
        Ok(arrived)
    }

    /// Whether whoever asks means the keyspace that is served.
    fn check(&self, ask: &Ask) -> Result<(), Failure> {
        if ask.file == self.file {
            return Ok(());
        }
        let message = "the server was started with another file than this one";
        let served = &self.service.keyway.keyspace().name.value;
        let error = Error::new(ErrorKind::Mismatch, message).with("keyspace it serves", served);
        let fix = "give the file that it was started with; what is changed in a file is served \
                   when the server is started again";
        Err(Failure::from(error).with_fix(fix))
    }

    fn tell_moved(&self, arrived: &Arrived) {
        let to = arrived.to.as_str();
        tracing::info!(to, paused_milliseconds = arrived.paused_milliseconds, "keyspace moved");
        if !self.form.json {
            write_complaint(&format!(
                "note: the keyspace has moved to {to}; start this server with that store the next \
                 time\n"
            ));
        }
    }
}

/// Waits until the server ends.
async fn ended(ends: &mut watch::Receiver<bool>) {
    // Whoever would tell has ended too if they are gone.
    let _ = ends.wait_for(|ends| *ends).await;
}

/// Waits until nobody listens any more, or the server ends, while the move can still be given up.
async fn given_up(
    mut read: impl AsyncBufReadExt + Unpin,
    mut ends: watch::Receiver<bool>,
    waits: &AtomicBool,
) -> Error {
    let hung_up = async {
        let mut more = String::new();
        while read.read_line(&mut more).await.is_ok_and(|bytes| bytes > 0) {
            more.clear();
        }
    };
    let message = tokio::select! {
        () = hung_up => "whoever asked for the move has gone, so nothing has moved",
        () = ended(&mut ends) => "the server was told to end, so nothing has moved",
    };
    if waits.load(Ordering::Relaxed) {
        pending::<()>().await;
    }
    tracing::warn!("{message}");
    Error::new(ErrorKind::Unavailable, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_move_is_given_up_until_writes_wait_for_it() {
        let (end, ends) = watch::channel(false);
        let within = Duration::from_millis(50);
        for waits in [false, true] {
            let waits_now = AtomicBool::new(waits);
            let gone =
                timeout(within, given_up(tokio::io::empty(), ends.clone(), &waits_now)).await;
            assert_eq!(gone.is_ok(), !waits, "whoever asked has gone");
        }
        end.send_replace(true);
        for waits in [false, true] {
            let (waits_now, (_open, read)) = (AtomicBool::new(waits), tokio::io::duplex(64));
            let read = BufReader::new(read);
            let told = timeout(within, given_up(read, ends.clone(), &waits_now)).await;
            assert_eq!(told.is_ok(), !waits, "the server ends");
        }
    }
}
