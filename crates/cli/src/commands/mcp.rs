//! `keyway mcp`: the patterns as tools, over standard input and output.

use crate::access::Place;
use crate::answer::{Answer, Form};
use crate::arguments::{CallerOptions, Mcp};
use crate::failure::Failure;
use crate::log;
use crate::open::{Opened, Wanted, open};
use data::ErrorKind;

/// Where a token may lie that is not to stand on a command line.
const VARIABLE: &str = "KEYWAY_TOKEN";

/// Serves until standard input ends.
pub(crate) fn run(options: &Mcp, form: Form) -> Answer {
    if let Err(failure) = log::start(options.log, None) {
        return Answer::failed(failure);
    }
    let token = match token(options) {
        Ok(token) => token,
        Err(failure) => return Answer::failed(failure),
    };
    let (file, store) = (options.stored.file.as_str(), options.stored.store.as_deref());
    let wanted = Wanted { file, store, option: "--store", may_make: true, stays: true };
    let opened = match open(wanted, form) {
        Ok(opened) => opened,
        Err(answer) => return answer,
    };
    let served = opened.wait(serve(options, &opened, token));
    let answer = served.map_or_else(Answer::failed, |()| Answer::done(""));
    opened.close(answer)
}

/// The token that says who calls, if one does. Two who call at once would be a mistake, whichever
/// of them was meant.
fn token(options: &Mcp) -> Result<Option<String>, Failure> {
    let in_variable = || std::env::var(VARIABLE).ok().filter(|token| !token.is_empty());
    let Some(token) = options.token.clone().or_else(in_variable) else { return Ok(None) };
    let CallerOptions { user, tenant, role } = &options.caller;
    if user.is_some() || tenant.is_some() || !role.is_empty() {
        let problem = "a token says who calls, and so do --as, --tenant and --role";
        let fix = format!("leave them out, or leave out --token and {VARIABLE}");
        return Err(Failure::usage(problem, fix));
    }
    Ok(Some(token))
}

async fn serve(options: &Mcp, opened: &Opened, token: Option<String>) -> Result<(), Failure> {
    let keyway = opened.keyway.clone();
    let Some(token) = token else {
        return Ok(server::mcp::stdio(keyway, options.caller.caller()).await?);
    };
    let url = options.stored.store.as_deref().map(str::parse).transpose()?;
    let name = keyway.keyspace().name.value.clone();
    let book = Place::new(&options.access, &options.stored.file, &name, url.as_ref())?;
    let served = server::mcp::stdio_with_token(keyway, book.open().await?, &token).await;
    served.map_err(|error| match error.kind() {
        ErrorKind::Denied => {
            let fix = "keyway token list FILE shows which there are, keyway token create makes one";
            Failure::from(error).with_fix(fix)
        }
        _ => error.into(),
    })
}
