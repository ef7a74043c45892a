//! The text of a token: `kw_KIND_ID_SECRET_CHECKSUM`.
//!
//! ```text
//! kw_user_3kTMd0pQz7Xa_<43 characters: 256 random bits>_<6 characters: a checksum of all before>
//! ```
//!
//! The front and the checksum let a scanner recognise a leaked token without asking anybody. The id
//! is public; the secret is shown once and kept only as a keyed hash.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use data::clock::Random;
use std::fmt;
use zeroize::Zeroizing;

const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ID_LETTERS: usize = 12;
const SECRET_BYTES: usize = 32;
const SECRET_LETTERS: usize = 43;
const CHECKSUM_LETTERS: usize = 6;

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Calls patterns.
    User,
    /// Also looks after the server: rows, tokens, scrubs.
    Operator,
    /// As long as the server runs and somebody looks at its console.
    Session,
}

impl Kind {
    /// Its word in the text of a token.
    pub fn name(self) -> &'static str {
        match self {
            Kind::User => "user",
            Kind::Operator => "operator",
            Kind::Session => "session",
        }
    }

    fn from_name(name: &str) -> Option<Kind> {
        [Kind::User, Kind::Operator, Kind::Session].into_iter().find(|kind| kind.name() == name)
    }
}

/// A token, taken apart. Its secret is never printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// What it is for.
    pub kind: Kind,
    /// Its public part.
    pub id: String,
    /// Wiped when it is dropped.
    secret: Zeroizing<[u8; SECRET_BYTES]>,
}

impl Token {
    /// A new token.
    pub fn new(kind: Kind, random: &dyn Random) -> Token {
        let mut secret = Zeroizing::new([0; SECRET_BYTES]);
        random.fill(secret.as_mut_slice());
        Token { kind, id: letters(random, ID_LETTERS), secret }
    }

    /// A token from its text; nothing if the text is none, or has a typing mistake in it.
    pub fn parse(text: &str) -> Option<Token> {
        let (front, checksum) = text.split_at_checked(text.len().checked_sub(CHECKSUM_LETTERS)?)?;
        let front = front.strip_suffix('_')?;
        let (front, secret) = front.split_at_checked(front.len().checked_sub(SECRET_LETTERS)?)?;
        let (kind, id) = front.strip_prefix("kw_")?.strip_suffix('_')?.split_once('_')?;
        // The decoder may want room for letters that are not there.
        let mut decoded = Zeroizing::new([0; SECRET_BYTES + 1]);
        let count = URL_SAFE_NO_PAD.decode_slice(secret, decoded.as_mut_slice()).ok()?;
        let secret = decoded.first_chunk::<SECRET_BYTES>().filter(|_| count == SECRET_BYTES)?;
        let secret = Zeroizing::new(*secret);
        let token = Token { kind: Kind::from_name(kind)?, id: id.to_string(), secret };
        let is_whole = id.len() == ID_LETTERS && !id.contains('_');
        (is_whole && sum(text.get(..text.len() - CHECKSUM_LETTERS)?) == *checksum.as_bytes())
            .then_some(token)
    }

    /// The whole text: the only time the secret is shown.
    pub fn reveal(&self) -> String {
        let secret = URL_SAFE_NO_PAD.encode(self.secret.as_slice());
        let front = format!("kw_{}_{}_{secret}_", self.kind.name(), self.id);
        let checksum = sum(&front).map(char::from);
        front.chars().chain(checksum).collect()
    }

    /// What is kept of the secret. A fast hash is right for 256 random bits: a slow one would only
    /// let strangers keep the processor busy.
    pub fn hash(&self, pepper: &[u8; 32]) -> blake3::Hash {
        blake3::keyed_hash(pepper, self.secret.as_slice())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "kw_{}_{}_…", self.kind.name(), self.id)
    }
}

/// Random letters, each as likely as the others.
pub(super) fn letters(random: &dyn Random, count: usize) -> String {
    let mut text = String::with_capacity(count);
    while text.len() < count {
        let mut bytes = [0; 32];
        random.fill(&mut bytes);
        // 248 is four times 62: what lies beyond would make the first letters likelier.
        let fair = bytes.iter().filter(|byte| **byte < 248);
        let fair = fair.filter_map(|byte| LETTERS.get(usize::from(byte % 62)));
        text.extend(fair.map(|letter| char::from(*letter)).take(count - text.len()));
    }
    text
}

fn sum(front: &str) -> [u8; CHECKSUM_LETTERS] {
    let mut rest = crc32fast::hash(front.as_bytes()) as usize;
    [(); CHECKSUM_LETTERS].map(|()| {
        let letter = LETTERS.get(rest % 62).copied().unwrap_or_default();
        rest /= 62;
        letter
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use data::clock::SystemRandom;

    #[test]
    fn a_token_is_read_as_it_was_written() {
        let random = SystemRandom::start().unwrap();
        for kind in [Kind::User, Kind::Operator, Kind::Session] {
            let token = Token::new(kind, &random);
            let text = token.reveal();
            assert_eq!(text.len(), "kw__".len() + kind.name().len() + 12 + 1 + 43 + 1 + 6);
            assert_eq!(Token::parse(&text), Some(token));
        }
    }

    #[test]
    fn no_other_text_is_a_token() {
        let random = SystemRandom::start().unwrap();
        let text = Token::new(Kind::User, &random).reveal();
        for (at, letter) in text.char_indices() {
            let mut other = text.clone();
            other.replace_range(at..=at, if letter == 'A' { "B" } else { "A" });
            assert_eq!(Token::parse(&other), None, "{other}");
            assert_eq!(Token::parse(text.get(..at).unwrap()), None);
        }
        for other in ["", "kw", "kw_user_", "é", &"_".repeat(70), &format!("{text} ")] {
            assert_eq!(Token::parse(other), None, "{other}");
        }
    }

    #[test]
    fn c2_a_token_is_never_printed_by_accident() {
        let random = SystemRandom::start().unwrap();
        let token = Token::new(Kind::User, &random);
        let secret = URL_SAFE_NO_PAD.encode(token.secret.as_slice());
        assert!(!format!("{token:?}").contains(&secret));
        assert!(!token.hash(&[1; 32]).to_hex().contains(&secret));
        assert_ne!(token.hash(&[1; 32]), token.hash(&[2; 32]));
    }
}
