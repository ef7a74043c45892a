//! `keyway serve`: the patterns over HTTP and MCP, and a console.

use crate::access::Place;
use crate::answer::{Answer, Form, write_complaint, write_output};
use crate::arguments::Serve;
use crate::failure::Failure;
use crate::hatch::Offered;
use crate::json;
use crate::log;
use crate::open::{Opened, Wanted, open};
use keyspace::model::{Keyspace, Type};
use keyway::StoreUrl;
use serde_json::json;
use server::access::{Book, NewToken};
use server::{Callers, Listening, Service, Settings, Tls, listen};
use std::num::NonZeroU32;
use std::sync::Arc;

/// Serves until it is told to stop.
pub(crate) fn run(options: &Serve, form: Form) -> Answer {
    let traces = match log::start(options.log, options.traces.as_deref()) {
        Ok(traces) => traces,
        Err(failure) => return Answer::failed(failure),
    };
    let (file, store) = (options.stored.file.as_str(), options.stored.store.as_deref());
    let wanted = Wanted { file, store, option: "--store", may_make: true, stays: true };
    let opened = match open(wanted, form) {
        Ok(opened) => opened,
        Err(answer) => return answer,
    };
    let served = opened.wait(serve(options, &opened, form));
    let answer = served.map_or_else(Answer::failed, |()| Answer::done(""));
    let answer = opened.close(answer);
    if let Some(traces) = traces {
        traces.end();
    }
    answer
}

async fn serve(options: &Serve, opened: &Opened, form: Form) -> Result<(), Failure> {
    let keyspace = opened.keyway.keyspace().clone();
    let url: Option<StoreUrl> = options.stored.store.as_deref().map(str::parse).transpose()?;
    let name = &keyspace.name.value;
    let place = Place::new(&options.access, &options.stored.file, name, url.as_ref())?;
    let book = place.open().await?;
    let first = match options.trust_callers {
        true => None,
        false => first_token(&book, &keyspace).await?,
    };
    let tls = match (&options.tls_certificate, &options.tls_key) {
        (Some(certificate), Some(key)) => Some(Tls::from_files(certificate, key)?),
        _ => None,
    };
    let is_encrypted = tls.is_some();
    let service = Service::new(opened.keyway.clone(), book, settings(options))?;
    let listening = listen(service.clone(), options.listen, tls).await?;
    let scheme = if is_encrypted { "https" } else { "http" };
    let address = shown_address(&listening, scheme);
    if !is_encrypted && !listening.address.ip().is_loopback() && !form.json {
        let note = "note: tokens travel unencrypted: give --tls-certificate and --tls-key, or let \
                    something in front of this server encrypt\n";
        write_complaint(note);
    }
    // Whoever reads where it is may tell it to stop at once.
    let stop = told_to_stop();
    let hatch = Offered::beside(opened, &service, form);
    tell(&service, opened, &address, first.as_ref(), form);
    listening.serve(stop).await;
    hatch.close().await;
    Ok(service.book.close().await?)
}

fn settings(options: &Serve) -> Settings {
    Settings {
        callers: if options.trust_callers { Callers::Trusted } else { Callers::Tokens },
        hosts: options.hosts.clone(),
        origins: options.origins.clone(),
        body_bytes_max: options.body_limit,
        requests_max: options.requests,
        calls_a_second: NonZeroU32::new(options.rate),
        ..Settings::default()
    }
}

/// A token for whoever starts a server for the first time: what it is, and who calls with it.
struct First {
    token: String,
    user: String,
}

async fn first_token(book: &Book, keyspace: &Keyspace) -> Result<Option<First>, Failure> {
    if !book.all().await?.is_empty() {
        return Ok(None);
    }
    let user = local_user(keyspace);
    let wanted = NewToken {
        user: Some(user.clone()),
        is_operator: true,
        label: Some("made when the server was first started".to_string()),
        ..NewToken::default()
    };
    let (token, _) = book.create_by("keyway serve", wanted).await?;
    Ok(Some(First { token: token.reveal(), user }))
}

/// An id that a user of this keyspace can have.
fn local_user(keyspace: &Keyspace) -> String {
    let owners = keyspace.collections.iter().filter_map(|collection| {
        let owner = collection.owner.as_ref()?;
        let segment = collection.key.segments().find(|segment| segment.name == owner.name)?;
        Some(segment.segment_type.clone())
    });
    match owners.into_iter().next() {
        Some(Type::U64 | Type::I64) => "1".to_string(),
        Some(Type::Uuid) => "00000000-0000-4000-8000-000000000001".to_string(),
        _ => "local".to_string(),
    }
}

fn shown_address(listening: &Listening, scheme: &str) -> String {
    let address = listening.address;
    match address.ip().is_unspecified() {
        true => format!("{scheme}://localhost:{}", address.port()),
        false => format!("{scheme}://{address}"),
    }
}

/// Says where the server is, and how to get in.
fn tell(service: &Arc<Service>, opened: &Opened, address: &str, first: Option<&First>, form: Form) {
    let console = match service.trusts_callers() {
        true => format!("{address}/"),
        false => format!("{address}/#open={}", service.sessions.code()),
    };
    let token = first.map(|first| first.token.as_str());
    let text = match form.json {
        true => json::text(&json!({ "address": address, "console": console, "token": token })),
        false => {
            let name = &opened.keyway.keyspace().name.value;
            let mut text = format!(
                "{name} on {}\nlistening on {address}\n\n  console   {console}\n",
                opened.keyway.store().address
            );
            if let Some(First { token, user }) = first {
                text.push_str(&format!(
                    "  token     {token}\n            shown once; with it you are user {user}, and \
                     an operator\n  try       curl -H \"Authorization: Bearer $TOKEN\" \
                     {address}/openapi.json\n"
                ));
            }
            text + "\nCtrl-C ends it\n"
        }
    };
    // Whoever started it and closed the pipe still wants it to serve.
    let _ = write_output(&text);
}

/// Waits for Ctrl-C, or for whoever looks after the machine. Both are heard from now on, whether
/// somebody waits already or not.
#[cfg(unix)]
fn told_to_stop() -> impl Future<Output = ()> {
    use tokio::signal::unix::{Signal, SignalKind, signal};
    async fn told(heard: std::io::Result<Signal>) {
        match heard {
            Ok(mut signal) => drop(signal.recv().await),
            // Nobody listens for it, so it ends the program by itself.
            Err(_) => std::future::pending().await,
        }
    }
    let [interrupt, terminate] = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    async move {
        tokio::select! {
            () = told(interrupt) => {}
            () = told(terminate) => {}
        }
    }
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
async fn told_to_stop() {
    let _ = tokio::signal::ctrl_c().await;
}
