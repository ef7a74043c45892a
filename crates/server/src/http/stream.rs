//! Live reads: the answer of a get or a list, and again whenever it changes, as server-sent events.
//!
//! ```text
//! is the caller still known? ─no─▶ the end
//!   └─yes─▶ read ─▶ is all that was looked at watched? ─no─▶ watch it, read again
//!                     └─yes─▶ send, if it is another answer ─▶ wait: a commit, or some time
//! ```
//!
//! Every event is a whole answer, so that whoever lost some of them has lost nothing. `answer` is
//! what the pattern answers, `missing` that there is no row, `problem` why the stream ends. No
//! answer is made for a token that has ended: a stream is no way to keep what it once opened.

use super::pattern::{Asked, body, look};
use super::problem::Problem;
use crate::access::Principal;
use crate::service::Service;
use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use data::watch::Watch;
use futures_util::{StreamExt, stream};
use keyspace::model::StoreKind;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// The parameter that asks for a stream.
pub const PARAMETER: &str = "watch";

/// The type of a stream.
pub const TYPE: &str = "text/event-stream";

/// How long changes are gathered before an answer is made of them.
const GATHERS_FOR: Duration = Duration::from_millis(20);

/// How often a silent stream says that it is there: proxies cut what is silent for long.
const SAYS_EVERY: Duration = Duration::from_secs(15);

/// How much less often a stream looks by itself where nobody else writes: there, rows and tokens
/// only end.
const ENDS_SELDOM: u32 = 2;

/// One stream.
struct Live {
    service: Arc<Service>,
    asked: Asked,
    principal: Arc<Principal>,
    watch: Option<Watch>,
    last: Option<(&'static str, Vec<u8>)>,
    looked_at: Instant,
    ends: tokio::sync::watch::Receiver<bool>,
    is_over: bool,
    _permit: OwnedSemaphorePermit,
}

/// Begins a stream.
pub async fn answer(service: Arc<Service>, asked: Asked, principal: Arc<Principal>) -> Response {
    let Ok(permit) = service.streams.clone().try_acquire_owned() else {
        let title = "the server has as many streams as it can serve";
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", title);
        return problem.with("retryable", true).after(5).into_response();
    };
    let mut live = Live {
        ends: service.ends.subscribe(),
        service,
        asked,
        principal,
        watch: None,
        last: None,
        looked_at: Instant::now(),
        is_over: false,
        _permit: permit,
    };
    // Counted until it is dropped, however far it comes.
    live.service.meters.watchers.inc();
    // What is wrong from the beginning is told as for any other request.
    let first = match live.look().await {
        Ok(event) => event.unwrap_or_default(),
        Err(problem) => return problem.into_response(),
    };
    let rest = stream::unfold(live, |mut live| async move {
        let mut ends = live.ends.clone();
        let event = tokio::select! {
            event = live.next() => event?,
            _ = ends.wait_for(|ends| *ends) => return None,
        };
        Some((Ok::<_, Infallible>(event), live))
    });
    // Some readers ask once more after the end.
    let all = stream::iter([Ok(first)]).chain(rest).fuse();
    let mut response = Response::new(Body::from_stream(all));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(TYPE));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

impl Live {
    /// The next event, or a sign of life.
    async fn next(&mut self) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        let says_at = Instant::now() + SAYS_EVERY;
        loop {
            let looks_at = self.looked_at + self.looks_every();
            let until = looks_at.min(says_at);
            let is_woken = match &self.watch {
                Some(watch) => {
                    let wait = until.saturating_duration_since(Instant::now());
                    let is_woken = timeout(wait, watch.changed()).await.is_ok();
                    // Whatever is due now waits too: a change is told to nobody a second time.
                    if is_woken {
                        sleep(GATHERS_FOR).await;
                    }
                    is_woken
                }
                None => {
                    sleep_until(until).await;
                    true
                }
            };
            if !is_woken && Instant::now() < looks_at {
                return Some(Bytes::from_static(b":\n\n"));
            }
            match self.look().await {
                Ok(Some(event)) => return Some(event),
                Ok(None) if Instant::now() >= says_at => return Some(Bytes::from_static(b":\n\n")),
                Ok(None) => {}
                Err(problem) if problem.status == StatusCode::SERVICE_UNAVAILABLE => {
                    // The store may come back; whoever watches is told by the next answer.
                    self.looked_at = Instant::now();
                }
                Err(problem) => {
                    self.is_over = true;
                    return Some(event("problem", problem.to_json().to_string().as_bytes()));
                }
            }
        }
    }

    /// Reads; an event if the answer is another than the last.
    async fn look(&mut self) -> Result<Option<Bytes>, Problem> {
        if !self.service.still_knows(&self.principal).await? {
            return Err(Problem::worthless());
        }
        loop {
            self.looked_at = Instant::now();
            let (reply, seen) = look(&self.service, &self.asked).await?;
            // Where the keyspace is now: it may have moved since the last look.
            let runtime = self.service.keyway.runtime();
            let watchers = runtime.shared().watchers();
            let is_watched = self
                .watch
                .as_ref()
                .is_some_and(|watch| watch.is_of(watchers) && watch.interest().covers(&seen));
            if !is_watched {
                self.watch = Some(watchers.watch(seen));
                if let Some(prepared) = runtime.patterns().get(self.asked.position) {
                    self.asked.prepared = prepared.clone();
                }
                continue;
            }
            let now = match body(&self.service, &reply.answer) {
                Ok(body) => ("answer", body),
                Err(problem) if problem.status == StatusCode::NOT_FOUND => {
                    ("missing", problem.to_json().to_string().into_bytes())
                }
                Err(problem) => return Err(problem),
            };
            let told = (now.0, without_cursor(&now.1).to_vec());
            if self.last.as_ref() == Some(&told) {
                return Ok(None);
            }
            self.last = Some(told);
            return Ok(Some(event(now.0, &now.1)));
        }
    }

    /// How often others may have written, or ended something, without a word.
    fn looks_every(&self) -> Duration {
        match self.service.keyway.store().kind {
            StoreKind::Engine | StoreKind::Memory => {
                self.service.settings.looks_every * ENDS_SELDOM
            }
            _ => self.service.settings.looks_every,
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.service.meters.watchers.dec();
    }
}

/// An answer as far as it says something: a cursor is sealed anew each time. A page with another
/// behind it has other rows than one without, or another row at its end.
fn without_cursor(body: &[u8]) -> &[u8] {
    const NEXT: &[u8] = b",\"next\":\"";
    let mut starts = body.windows(NEXT.len());
    match starts.rposition(|part| part == NEXT) {
        Some(at) => body.get(..at).unwrap_or(body),
        None => body,
    }
}

/// One event; JSON has no line ends of its own.
fn event(name: &str, data: &[u8]) -> Bytes {
    let mut event = Vec::with_capacity(name.len() + data.len() + 16);
    event.extend_from_slice(b"event: ");
    event.extend_from_slice(name.as_bytes());
    event.extend_from_slice(b"\ndata: ");
    event.extend_from_slice(data);
    event.extend_from_slice(b"\n\n");
    Bytes::from(event)
}
