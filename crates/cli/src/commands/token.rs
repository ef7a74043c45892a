//! `keyway token`: who may call a server.

use crate::access::Place;
use crate::answer::{Answer, Form};
use crate::arguments::{Token, TokenBook, TokenCreate, TokenRevoke};
use crate::failure::Failure;
use crate::json;
use crate::report;
use crate::table::{Table, escaped};
use data::Value;
use data::clock::Clock;
use keyspace::model::Type;
use keyway::SystemClock;
use serde_json::{Value as Json, json};
use server::access::{Book, Kept, NewToken};
use std::future::Future;

/// Who did it, in the audit: whoever has the files needs no token.
const ACTOR: &str = "keyway token";

/// Makes, lists or revokes tokens.
pub(crate) fn run(command: &Token, form: Form) -> Answer {
    let book = match command {
        Token::Create(options) => &options.book,
        Token::List(book) => book,
        Token::Revoke(options) => &options.book,
    };
    let keyspace = match report::read_sound(&book.file, form) {
        Ok(keyspace) => keyspace,
        Err(answer) => return answer,
    };
    let done = wait(async {
        let opened = open(book, &keyspace.name.value).await?;
        let answer = match command {
            Token::Create(options) => create(options, &opened, form).await,
            Token::List(_) => list(&opened, form).await,
            Token::Revoke(options) => revoke(options, &opened, form).await,
        };
        opened.close().await?;
        answer
    });
    done.unwrap_or_else(Answer::failed)
}

fn wait<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        Failure::usage(format!("the machine gives no threads: {error}"), "allow this user more")
    })?;
    runtime.block_on(work)
}

async fn open(book: &TokenBook, name: &str) -> Result<Book, Failure> {
    Place::new(&book.access, &book.file, name, None)?.open().await
}

async fn create(options: &TokenCreate, book: &Book, form: Form) -> Result<Answer, Failure> {
    let caller = &options.caller;
    if caller.user.is_none() && caller.role.is_empty() && !options.operator {
        let problem = "a token must be somebody's";
        return Err(Failure::usage(problem, "say whose: --as USER, --role ROLE or --operator"));
    }
    let length = options.expires.as_deref().map(|text| Value::from_text(text, &Type::Duration));
    let length = length.transpose().map_err(|error| {
        Failure::usage(format!("--expires: {error}"), "write a length such as 12h or 30d")
    })?;
    let now = SystemClock::start().now();
    let expires_at = match length {
        Some(Value::Duration(length)) => Some(now.saturating_add(length)),
        _ => None,
    };
    let wanted = NewToken {
        user: caller.user.clone(),
        tenant: caller.tenant.clone(),
        roles: caller.role.clone(),
        is_operator: options.operator,
        label: options.label.clone(),
        expires_at,
    };
    let (token, kept) = book.create_by(ACTOR, wanted).await?;
    if form.json {
        let mut shown = object(&kept);
        if let Some(object) = shown.as_object_mut() {
            object.insert("token".to_string(), token.reveal().into());
        }
        return Ok(Answer::done(json::text(&shown)));
    }
    let note = "note: this is the only time it is shown\n".to_string();
    Ok(Answer { complaint: note, ..Answer::done(token.reveal() + "\n") })
}

async fn list(book: &Book, form: Form) -> Result<Answer, Failure> {
    let tokens = book.all().await?;
    if form.json {
        let tokens: Vec<Json> = tokens.iter().map(object).collect();
        return Ok(Answer::done(json::text(&json!({ "tokens": tokens }))));
    }
    if tokens.is_empty() {
        let note = "note: there are no tokens; keyway token create makes one\n".to_string();
        return Ok(Answer { complaint: note, ..Answer::done("") });
    }
    let names = ["id", "user", "tenant", "roles", "operator", "label", "used", "ends", "revoked"];
    let columns = names.map(str::to_string).to_vec();
    let shown = Table { columns, rows: tokens.iter().map(cells).collect() };
    Ok(Answer::done(shown.text(crate::terminal::width())))
}

async fn revoke(options: &TokenRevoke, book: &Book, form: Form) -> Result<Answer, Failure> {
    if !book.revoke_by(ACTOR, &options.id).await? {
        let problem = format!("there is no token `{}` that could be revoked", options.id);
        return Err(Failure::problem(problem, "keyway token list FILE shows their ids"));
    }
    Ok(Answer::done(match form.json {
        true => json::text(&json!({ "revoked": options.id })),
        false => format!("revoked {}; servers notice within 10 seconds\n", options.id),
    }))
}

fn cells(token: &Kept) -> Vec<String> {
    let text = |text: &Option<String>| escaped(text.as_deref().unwrap_or_default());
    let operator = if token.is_operator { "yes" } else { "" };
    let time = |at| instant(at).as_str().unwrap_or_default().to_string();
    vec![
        token.id.clone(),
        text(&token.user),
        text(&token.tenant),
        escaped(&token.roles.join(",")),
        operator.to_string(),
        text(&token.label),
        time(token.used_at),
        time(token.expires_at),
        time(token.revoked_at),
    ]
}

fn object(token: &Kept) -> Json {
    json!({
        "id": token.id,
        "user": token.user,
        "tenant": token.tenant,
        "roles": token.roles,
        "operator": token.is_operator,
        "label": token.label,
        "created_at": instant(Some(token.created_at)),
        "expires_at": instant(token.expires_at),
        "used_at": instant(token.used_at),
        "revoked_at": instant(token.revoked_at),
    })
}

fn instant(at: Option<i64>) -> Json {
    at.map_or(Json::Null, |at| Value::Timestamp(at).to_json(&Type::Timestamp))
}
