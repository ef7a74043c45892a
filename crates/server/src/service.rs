//! A server's state: what every request finds.

use crate::access::{Book, Kind, Principal, Rates, Sessions, Token};
use crate::console::Console;
use crate::describe::Description;
use crate::http::Endpoints;
use crate::meters::Meters;
use crate::settings::{Callers, Settings};
use data::Result;
use keyway::Keyway;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use tokio::sync::{Semaphore, watch};

/// Everything that requests share.
#[derive(Debug)]
pub struct Service {
    /// The keyspace.
    pub keyway: Keyway,
    /// Its tokens.
    pub book: Book,
    /// Sessions of the console.
    pub sessions: Sessions,
    /// How it behaves.
    pub settings: Settings,
    /// What it says of its patterns, on the store it was opened on.
    described: Description,
    /// The same on the store that the keyspace has moved to.
    described_there: OnceLock<Description>,
    /// What the console does in the background.
    pub console: Console,
    pub(crate) meters: Meters,
    pub(crate) rates: Rates,
    pub(crate) streams: Arc<Semaphore>,
    /// Whether the server is about to end: streams would go on for ever.
    pub(crate) ends: watch::Sender<bool>,
    /// Where each pattern is, by its name.
    pub(crate) positions: HashMap<String, usize>,
}

impl Service {
    /// A server of a keyspace; whoever asks must be in the book.
    pub fn new(keyway: Keyway, book: Book, settings: Settings) -> Result<Arc<Service>> {
        let runtime = keyway.runtime();
        let positions: HashMap<String, usize> = runtime
            .patterns()
            .iter()
            .enumerate()
            .map(|(position, prepared)| (prepared.name().to_string(), position))
            .collect();
        let options = runtime.options();
        let sessions = Sessions::new(options.clock.clone(), options.random.clone());
        let meters = Meters::new(runtime.patterns().iter().map(|prepared| prepared.name()));
        Ok(Arc::new(Service {
            described: Description::new(keyway.keyspace(), keyway.store().kind),
            described_there: OnceLock::new(),
            console: Console::default(),
            meters,
            rates: Rates::new(settings.calls_a_second),
            streams: Arc::new(Semaphore::new(settings.watchers_max)),
            ends: watch::Sender::new(false),
            positions,
            sessions,
            keyway,
            book,
            settings,
        }))
    }

    /// What it says of its patterns, on the store where the keyspace is.
    pub fn description(&self) -> &Description {
        let kind = self.keyway.store().kind;
        match kind == self.described.store {
            true => &self.described,
            false => {
                let there = || Description::new(self.keyway.keyspace(), kind);
                self.described_there.get_or_init(there)
            }
        }
    }

    /// Its endpoints.
    pub fn endpoints(self: &Arc<Self>) -> Endpoints {
        Endpoints::new(self)
    }

    /// Who shows a token; nothing if it is worth nothing.
    pub async fn principal(&self, text: &str) -> Result<Option<Arc<Principal>>> {
        let Some(token) = Token::parse(text) else { return Ok(None) };
        match token.kind {
            Kind::Session => Ok(self.sessions.principal(&token)),
            _ => self.book.principal(&token).await,
        }
    }

    /// Whether whoever was let in would be let in again: a token ends, or is revoked.
    pub async fn still_knows(&self, principal: &Principal) -> Result<bool> {
        match &principal.token {
            None => Ok(true),
            Some(id) => Ok(self.sessions.lives(id) || self.book.lives(id).await?),
        }
    }

    /// Whether whoever calls is believed without a token.
    pub fn trusts_callers(&self) -> bool {
        self.settings.callers == Callers::Trusted
    }
}
