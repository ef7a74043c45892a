//! Headers that make a call depend on a version, or safe to be sent again.

use super::problem::Problem;
use crate::access::Principal;
use crate::service::Service;
use axum::http::header::{IF_MATCH, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use bytes::Bytes;
use data::store::{CommitId, Version};
use keyspace::model::{ArgumentRole, Pattern};

/// Two requests with one key are one call.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Letters of such a key, at most.
const KEY_LETTERS_MAX: usize = 255;

/// The tag of a version.
pub fn tag(version: Version) -> Option<HeaderValue> {
    let mut tag = Vec::with_capacity(38);
    tag.push(b'"');
    tag.extend_from_slice(&version.text());
    tag.push(b'"');
    HeaderValue::from_maybe_shared(Bytes::from(tag)).ok()
}

/// The version that `If-Match` names; none if it names none.
pub fn expected(headers: &HeaderMap, pattern: &Pattern) -> Result<Option<String>, Problem> {
    let Some(given) = headers.get(IF_MATCH) else { return Ok(None) };
    let refused =
        |title: &str| Problem::new(StatusCode::BAD_REQUEST, "if_match", title.to_string());
    let takes = |role: &ArgumentRole| matches!(role, ArgumentRole::Version);
    if !pattern.arguments.iter().any(|argument| takes(&argument.role)) {
        return Err(refused("this pattern takes no version: If-Match has no meaning here"));
    }
    let tag = given.to_str().ok().and_then(|tag| tag.strip_prefix('"')?.strip_suffix('"'));
    let tag = tag.filter(|tag| !tag.contains('"'));
    tag.map(|tag| Some(tag.to_string()))
        .ok_or_else(|| refused("If-Match must be one tag, as ETag gave it: \"VERSION\""))
}

/// Whether whoever asks has this version already.
pub fn is_known(headers: &HeaderMap, version: Version) -> bool {
    if !headers.contains_key(IF_NONE_MATCH) {
        return false;
    }
    let tag = format!("\"{version}\"");
    let given = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = given.flat_map(|value| value.split(',')).map(str::trim);
    tags.any(|given| given == "*" || given.strip_prefix("W/").unwrap_or(given) == tag)
}

/// The id under which a call is made, where the request has a key.
///
/// The book remembers for a while which id a key was given, so that a second server, or this one
/// after a fall, finds the same. No key is an id by itself, whatever it looks like: an id is the
/// version of the rows it wrote, which many may see, and another call under it would be taken for
/// the one that wrote them.
pub async fn id(
    service: &Service,
    headers: &HeaderMap,
    principal: &Principal,
    pattern: &str,
    body: &[u8],
) -> Result<Option<CommitId>, Problem> {
    let Some(given) = headers.get(&IDEMPOTENCY_KEY) else { return Ok(None) };
    let refused =
        |title: &str| Problem::new(StatusCode::BAD_REQUEST, "idempotency_key", title.to_string());
    // Structured headers have texts in quotes; most clients send the bare key.
    let key = given
        .to_str()
        .ok()
        .map(|key| key.strip_prefix('"').and_then(|key| key.strip_suffix('"')).unwrap_or(key));
    let is_plain = |key: &str| key.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"');
    let key = key.filter(|key| (1..=KEY_LETTERS_MAX).contains(&key.len()) && is_plain(key));
    let key = key.ok_or_else(|| refused("Idempotency-Key is 1 to 255 plain letters"))?;
    let call = call(principal, pattern, key);
    let body = *blake3::hash(body).as_bytes();
    let options = service.keyway.runtime().options();
    let fresh = CommitId::new(options.clock.now(), options.random.as_ref());
    let (id, first_body) = service.book.first_call(&call, fresh, &body).await?;
    if first_body != body {
        let title = "the key was used with another body: a new call needs a new key";
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key", title));
    }
    Ok(Some(id))
}

/// What a key stands for: a call of one pattern by one caller. Whoever has a name is the same
/// caller with every token; of others the token is all that is known.
fn call(principal: &Principal, pattern: &str, key: &str) -> [u8; 32] {
    let caller = &principal.caller;
    let token = principal.token.as_deref().filter(|_| caller.id().is_none());
    let mut hasher = blake3::Hasher::new();
    for part in [caller.tenant(), caller.id(), token, Some(pattern), Some(key)] {
        hasher.update(&[u8::from(part.is_some())]);
        let part = part.unwrap_or_default();
        hasher.update(&(part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    *hasher.finalize().as_bytes()
}
