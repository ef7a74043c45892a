//! The book of tokens.

use super::pepper::Peppers;
use super::secret::{Kind, Token};
use super::{KNOWN_FOR, Principal};
use data::clock::{Clock, Milliseconds, Random};
use data::{Caller, Error, ErrorKind, Result};
use keyway::{CommitId, Keyway, SystemClock, SystemRandom, Timestamp};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use kept::TokenKind;

/// Structs and functions of the book's keyspace.
#[allow(missing_docs)]
mod kept {
    keyway::include_keyspace!("src/access/keyspace.toml");
}

const HOUR: Milliseconds = 3_600_000;

/// Tokens that are known at once, at most; more are looked up each time.
const KNOWN_MAX: usize = 10_000;

/// Tokens, and what operators did.
pub struct Book {
    kept: kept::KeywayAccess,
    peppers: Peppers,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    known: RwLock<HashMap<String, Known>>,
    /// Tokens that were revoked here, counted while `known` is locked.
    revocations: AtomicU64,
}

/// A token that was looked up a moment ago.
#[derive(Clone)]
struct Known {
    hash: blake3::Hash,
    pepper: [u8; 32],
    principal: Arc<Principal>,
    expires_at: Option<Milliseconds>,
    is_revoked: bool,
    until: Milliseconds,
    /// How many had been revoked when it was looked up.
    revocations: u64,
}

/// A token to be made.
#[derive(Clone, Debug, Default)]
pub struct NewToken {
    /// The user who then calls.
    pub user: Option<String>,
    /// The tenant they belong to.
    pub tenant: Option<String>,
    /// Their roles.
    pub roles: Vec<String>,
    /// Whether they look after the server.
    pub is_operator: bool,
    /// What people call it.
    pub label: Option<String>,
    /// When it ends.
    pub expires_at: Option<Milliseconds>,
}

/// A token as the book keeps it: everything but its secret.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// Its public part.
    pub id: String,
    /// The user who calls with it.
    pub user: Option<String>,
    /// The tenant.
    pub tenant: Option<String>,
    /// The roles.
    pub roles: Vec<String>,
    /// Whether it looks after the server.
    pub is_operator: bool,
    /// What people call it.
    pub label: Option<String>,
    /// When it was made.
    pub created_at: Milliseconds,
    /// When it ends.
    pub expires_at: Option<Milliseconds>,
    /// The hour it was last used in.
    pub used_at: Option<Milliseconds>,
    /// When it was revoked.
    pub revoked_at: Option<Milliseconds>,
}

/// Something an operator did.
#[derive(Clone, Debug, PartialEq)]
pub struct Noted {
    /// When.
    pub at: Milliseconds,
    /// The public part of the token.
    pub actor: String,
    /// What was done.
    pub action: String,
    /// To what.
    pub subject: Option<String>,
}

impl Book {
    /// Opens the book at a store's URL.
    pub async fn open(url: &str, peppers: Peppers) -> Result<Book> {
        let kept = kept::KeywayAccess::open_with(Keyway::builder(), url).await?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let random: Arc<dyn Random> = Arc::new(SystemRandom::start()?);
        Ok(Book {
            kept,
            peppers,
            clock,
            random,
            known: RwLock::default(),
            revocations: AtomicU64::new(0),
        })
    }

    /// Makes a token. Its text is in the answer and nowhere else. Whoever makes it is noted first:
    /// what cannot be noted is not done.
    pub async fn create_by(&self, actor: &str, wanted: NewToken) -> Result<(Token, Kept)> {
        let token = self.draw(&wanted);
        self.note(actor, "token created", Some(&token.id)).await?;
        let kept = self.add(&token, wanted).await?;
        Ok((token, kept))
    }

    /// The same without a note, for programs that keep an account of their own.
    pub async fn create(&self, wanted: NewToken) -> Result<(Token, Kept)> {
        let token = self.draw(&wanted);
        let kept = self.add(&token, wanted).await?;
        Ok((token, kept))
    }

    /// A token that is worth nothing before it is added.
    fn draw(&self, wanted: &NewToken) -> Token {
        let kind = if wanted.is_operator { Kind::Operator } else { Kind::User };
        Token::new(kind, self.random.as_ref())
    }

    async fn add(&self, token: &Token, wanted: NewToken) -> Result<Kept> {
        let (pepper, key) = self.peppers.newest();
        let hash = token.hash(key).as_bytes().to_vec();
        let kept_kind = if wanted.is_operator { TokenKind::Operator } else { TokenKind::User };
        let book = self.kept.as_user("book");
        let mut call = book.add_token(token.id.as_str(), hash, pepper, kept_kind);
        call = call.roles(wanted.roles);
        if let Some(user) = wanted.user {
            call = call.user(user);
        }
        if let Some(tenant) = wanted.tenant {
            call = call.tenant(tenant);
        }
        if let Some(label) = wanted.label {
            call = call.label(label);
        }
        if let Some(expires_at) = wanted.expires_at {
            call = call.expires_at(Timestamp(expires_at));
        }
        Ok(shown(&call.await?.row))
    }

    /// Every token, in the order of their ids.
    pub async fn all(&self) -> Result<Vec<Kept>> {
        let mut tokens = Vec::new();
        let mut cursor = None;
        loop {
            let book = self.kept.as_user("book");
            let mut call = book.all_tokens();
            if let Some(cursor) = cursor.take() {
                call = call.cursor(cursor);
            }
            let page = call.await?;
            tokens.extend(page.rows.iter().map(shown));
            match page.next {
                Some(next) => cursor = Some(next),
                None => return Ok(tokens),
            }
        }
    }

    /// Revokes a token; false if there is none, or it was revoked before. Whoever revokes it is
    /// noted first, if there is something to do.
    pub async fn revoke_by(&self, actor: &str, id: &str) -> Result<bool> {
        let row = self.kept.as_user("book").token(id).await?;
        if row.is_none_or(|row| row.revoked_at.is_some()) {
            return Ok(false);
        }
        self.note(actor, "token revoked", Some(id)).await?;
        self.revoke(id).await
    }

    /// The same without a note.
    pub async fn revoke(&self, id: &str) -> Result<bool> {
        let revoked = self.kept.as_user("book").revoke_token(id).await;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.remove(id);
        self.revocations.fetch_add(1, Ordering::SeqCst);
        drop(known);
        match revoked {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Conflict) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Who calls with a token; nothing if it is worth nothing.
    pub async fn principal(&self, token: &Token) -> Result<Option<Arc<Principal>>> {
        let now = self.clock.now();
        if let Some(known) = self.known(&token.id, now) {
            return Ok(known.judge(token, now));
        }
        let Some((known, used_at)) = self.look_up(&token.id, now).await? else {
            // As much work as for one that is there.
            let _ = token.hash(&[0; 32]) == blake3::Hash::from_bytes([0; 32]);
            return Ok(None);
        };
        let found = known.judge(token, now);
        if found.is_some() {
            self.keep(&token.id, known);
            self.note_use(&token.id, used_at, now).await;
        }
        Ok(found)
    }

    /// Whether a token that was shown before is still worth something.
    pub async fn lives(&self, id: &str) -> Result<bool> {
        let now = self.clock.now();
        if let Some(known) = self.known(id, now) {
            return Ok(known.lives(now));
        }
        let Some((known, _)) = self.look_up(id, now).await? else { return Ok(false) };
        let lives = known.lives(now);
        if lives {
            self.keep(id, known);
        }
        Ok(lives)
    }

    /// A token as it is kept, and when it was last used.
    async fn look_up(
        &self,
        id: &str,
        now: Milliseconds,
    ) -> Result<Option<(Known, Option<Milliseconds>)>> {
        let revocations = self.revocations.load(Ordering::SeqCst);
        let Some(row) = self.kept.as_user("book").token(id).await? else { return Ok(None) };
        let Some(pepper) = self.peppers.key(&row.pepper).copied() else { return Ok(None) };
        let hash: [u8; 32] = row.hash.to_vec().try_into().map_err(|_| damaged(id))?;
        let mut caller = row.user.as_ref().map_or_else(Caller::nobody, Caller::user);
        if let Some(tenant) = &row.tenant {
            caller = caller.of_tenant(tenant);
        }
        caller = row.roles.iter().fold(caller, |caller, role| caller.with_role(role));
        let principal = Principal {
            token: Some(Arc::from(id)),
            caller: Arc::new(caller),
            is_operator: row.kind == TokenKind::Operator,
        };
        let known = Known {
            hash: blake3::Hash::from_bytes(hash),
            pepper,
            principal: Arc::new(principal),
            expires_at: row.expires_at.map(|at| at.0),
            is_revoked: row.revoked_at.is_some(),
            until: now + i64::try_from(KNOWN_FOR.as_millis()).unwrap_or(i64::MAX),
            revocations,
        };
        Ok(Some((known, row.used_at.map(|at| at.0))))
    }

    fn known(&self, id: &str, now: Milliseconds) -> Option<Known> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(id).filter(|known| now < known.until).cloned()
    }

    /// Keeps a token, unless one was revoked since it was looked up: it may be that one.
    fn keep(&self, id: &str, known: Known) {
        let now = self.clock.now();
        let mut all = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.revocations != self.revocations.load(Ordering::SeqCst) {
            return;
        }
        if all.len() >= KNOWN_MAX {
            all.retain(|_, known| now < known.until);
        }
        if all.len() < KNOWN_MAX {
            all.insert(id.to_string(), known);
        }
    }

    /// Keeps the hour in which a token was used. A use that cannot be noted is still one.
    async fn note_use(&self, id: &str, before: Option<Milliseconds>, now: Milliseconds) {
        let hour = now - now.rem_euclid(HOUR);
        if before.is_none_or(|before| before < hour) {
            let noted = self.kept.as_user("book").use_token(id).used_at(Timestamp(hour)).await;
            if let Err(error) = noted {
                tracing::warn!(%error, token = id, "the use of a token was not noted");
            }
        }
    }

    /// Keeps what an operator did.
    pub async fn note(&self, actor: &str, action: &str, subject: Option<&str>) -> Result<()> {
        let book = self.kept.as_user("book");
        let mut call = book.note_action(actor, action);
        if let Some(subject) = subject {
            call = call.subject(subject);
        }
        call.await?;
        tracing::info!(actor, action, subject, "audit");
        Ok(())
    }

    /// What operators did last, newest first.
    pub async fn recent(&self) -> Result<Vec<Noted>> {
        let page = self.kept.as_user("book").recent_actions().await?;
        let rows = page.rows.into_iter();
        Ok(rows
            .map(|row| Noted {
                at: row.at.0,
                actor: row.actor,
                action: row.action,
                subject: row.subject,
            })
            .collect())
    }

    /// Which id a call was given when it first came, and with which body.
    pub async fn first_call(
        &self,
        call: &[u8; 32],
        fresh: CommitId,
        body: &[u8; 32],
    ) -> Result<(CommitId, [u8; 32])> {
        let book = self.kept.as_user("book");
        let commit = fresh.as_bytes().to_vec();
        let row = book.first_call(call.to_vec(), commit, body.to_vec()).await?.row;
        let id: [u8; 16] = row.commit.to_vec().try_into().map_err(|_| damaged("call"))?;
        let body: [u8; 32] = row.content.to_vec().try_into().map_err(|_| damaged("call"))?;
        Ok((CommitId::from_bytes(id), body))
    }

    /// Lets go of its store.
    pub async fn close(&self) -> Result<()> {
        self.kept.close().await
    }
}

impl Known {
    fn judge(&self, token: &Token, now: Milliseconds) -> Option<Arc<Principal>> {
        // Hashes of this kind are compared in constant time, and before anything else is looked at:
        // whoever guesses learns nothing of a token that has ended or was revoked.
        let is_same = token.hash(&self.pepper) == self.hash;
        (is_same && self.lives(now)).then(|| self.principal.clone())
    }

    fn lives(&self, now: Milliseconds) -> bool {
        !self.is_revoked && self.expires_at.is_none_or(|at| now < at)
    }
}

fn shown(row: &kept::Token) -> Kept {
    Kept {
        id: row.token_id.clone(),
        user: row.user.clone(),
        tenant: row.tenant.clone(),
        roles: row.roles.clone(),
        is_operator: row.kind == TokenKind::Operator,
        label: row.label.clone(),
        created_at: row.created_at.0,
        expires_at: row.expires_at.map(|at| at.0),
        used_at: row.used_at.map(|at| at.0),
        revoked_at: row.revoked_at.map(|at| at.0),
    }
}

#[cold]
fn damaged(id: &str) -> Error {
    Error::new(ErrorKind::Corrupt, "a token is kept without a whole hash").with("token", id)
}

impl fmt::Debug for Book {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Book").field("peppers", &self.peppers).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_read_before_a_revocation_is_not_kept_after_it() {
        let random = SystemRandom::start().unwrap();
        let book = Book::open("memory:", Peppers::random(&random)).await.unwrap();
        let wanted = NewToken { user: Some("ann".to_string()), ..NewToken::default() };
        let (token, _) = book.create(wanted).await.unwrap();
        let read = book.look_up(&token.id, book.clock.now()).await.unwrap();
        let (known, _) = read.unwrap();
        assert!(book.revoke(&token.id).await.unwrap());
        // Whoever read it comes to keep it only now.
        book.keep(&token.id, known);
        assert!(!book.lives(&token.id).await.unwrap());
        assert_eq!(book.principal(&token).await.unwrap(), None);
    }
}
