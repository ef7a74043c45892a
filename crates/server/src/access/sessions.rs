//! Tokens that end with the server: what the console works with.
//!
//! A console is opened with a code that is printed where the server was started. The code works
//! once, so that no token has to stand in an address.

use super::Principal;
use super::secret::{Kind, Token, letters};
use data::Caller;
use data::clock::{Clock, Milliseconds, Random};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// How long a code can be used, in milliseconds.
const CODE_LIFE: Milliseconds = 15 * 60 * 1_000;

/// How long a session lasts, in milliseconds.
const SESSION_LIFE: Milliseconds = 12 * 60 * 60 * 1_000;

/// Sessions at once, at most: the oldest go first.
const SESSIONS_MAX: usize = 1_000;

/// Codes and sessions, in memory only.
pub struct Sessions {
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    pepper: [u8; 32],
    all: Mutex<All>,
}

#[derive(Default)]
struct All {
    codes: HashMap<String, Milliseconds>,
    sessions: HashMap<String, Session>,
}

struct Session {
    hash: blake3::Hash,
    principal: Arc<Principal>,
    ends_at: Milliseconds,
}

impl Sessions {
    /// None yet.
    pub fn new(clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Sessions {
        let mut pepper = [0; 32];
        random.fill(&mut pepper);
        Sessions { clock, random, pepper, all: Mutex::default() }
    }

    /// A code that opens one session of an operator.
    pub fn code(&self) -> String {
        let code = letters(self.random.as_ref(), 32);
        let ends_at = self.clock.now() + CODE_LIFE;
        self.locked().codes.insert(code.clone(), ends_at);
        code
    }

    /// A session of an operator for a code; the code is used up.
    pub fn open(&self, code: &str) -> Option<Token> {
        let now = self.clock.now();
        let ends_at = self.locked().codes.remove(code)?;
        (now < ends_at).then(|| self.begin(Caller::nobody(), true))
    }

    /// A session of a caller.
    pub fn begin(&self, caller: Caller, is_operator: bool) -> Token {
        let token = Token::new(Kind::Session, self.random.as_ref());
        let ends_at = self.clock.now() + SESSION_LIFE;
        let caller = Arc::new(caller);
        let principal =
            Principal { token: Some(Arc::from(token.id.as_str())), caller, is_operator };
        let hash = token.hash(&self.pepper);
        let session = Session { hash, principal: Arc::new(principal), ends_at };
        let mut all = self.locked();
        if all.sessions.len() >= SESSIONS_MAX {
            let oldest = all.sessions.iter().min_by_key(|(_, session)| session.ends_at);
            if let Some(id) = oldest.map(|(id, _)| id.clone()) {
                all.sessions.remove(&id);
            }
        }
        all.sessions.insert(token.id.clone(), session);
        token
    }

    /// Who calls with a session's token; nothing if it is over.
    pub fn principal(&self, token: &Token) -> Option<Arc<Principal>> {
        let now = self.clock.now();
        // Compared before anything else is looked at, and with nothing if there is no such session:
        // the same work for every token that is worth nothing.
        let shown = token.hash(&self.pepper);
        let all = self.locked();
        let session = all.sessions.get(&token.id);
        let kept = session.map_or(blake3::Hash::from_bytes([0; 32]), |session| session.hash);
        let is_same = shown == kept;
        session.filter(|session| is_same && now < session.ends_at).map(|one| one.principal.clone())
    }

    /// Whether a session that was begun is not over.
    pub fn lives(&self, id: &str) -> bool {
        let now = self.clock.now();
        self.locked().sessions.get(id).is_some_and(|session| now < session.ends_at)
    }

    /// Ends a session.
    pub fn end(&self, id: &str) -> bool {
        self.locked().sessions.remove(id).is_some()
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Sessions").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::clock::{ManualClock, SystemRandom};

    fn sessions(clock: &ManualClock) -> Sessions {
        Sessions::new(Arc::new(clock.clone()), Arc::new(SystemRandom::start().unwrap()))
    }

    #[test]
    fn a_code_opens_one_session_while_it_is_fresh() {
        let clock = ManualClock::at(0);
        let sessions = sessions(&clock);
        let code = sessions.code();
        let token = sessions.open(&code).unwrap();
        assert!(sessions.principal(&token).unwrap().is_operator);
        assert_eq!(sessions.open(&code), None);
        let late = sessions.code();
        clock.advance(CODE_LIFE);
        assert_eq!(sessions.open(&late), None);
    }

    #[test]
    fn a_session_ends() {
        let clock = ManualClock::at(0);
        let sessions = sessions(&clock);
        let (first, second) = (
            sessions.begin(Caller::user("ann"), false),
            sessions.begin(Caller::user("bob"), false),
        );
        assert_eq!(sessions.principal(&first).unwrap().caller.id(), Some("ann"));
        assert!(sessions.lives(&first.id) && !sessions.lives("none"));
        assert!(sessions.end(&first.id) && !sessions.end(&first.id));
        assert_eq!(sessions.principal(&first), None);
        assert!(!sessions.lives(&first.id) && sessions.lives(&second.id));
        clock.advance(SESSION_LIFE);
        assert_eq!(sessions.principal(&second), None);
        assert!(!sessions.lives(&second.id));
    }
}
