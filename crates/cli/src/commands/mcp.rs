//! `keyway mcp`: the patterns as tools, over standard input and output.

use crate::answer::{Answer, Form};
use crate::arguments::Mcp;
use crate::log;
use crate::open::{Wanted, open};

/// Serves until standard input ends.
pub(crate) fn run(options: &Mcp, form: Form) -> Answer {
    if let Err(failure) = log::start(options.log, None) {
        return Answer::failed(failure);
    }
    let (file, store) = (options.stored.file.as_str(), options.stored.store.as_deref());
    let wanted = Wanted { file, store, option: "--store", may_make: true, stays: true };
    let opened = match open(wanted, form) {
        Ok(opened) => opened,
        Err(answer) => return answer,
    };
    let served = opened.wait(server::mcp::stdio(opened.keyway.clone(), options.caller.caller()));
    let answer = served.map_or_else(|error| Answer::failed(error.into()), |()| Answer::done(""));
    opened.close(answer)
}
