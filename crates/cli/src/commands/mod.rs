//! One file a command: options in, an answer out.

pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod copy;
pub(crate) mod doc;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod format;
pub(crate) mod generate;
pub(crate) mod import;
pub(crate) mod layout;
pub(crate) mod live;
pub(crate) mod load;
pub(crate) mod mcp;
pub(crate) mod new;
pub(crate) mod reference;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod scrub;
pub(crate) mod serve;
pub(crate) mod shell;
pub(crate) mod token;
pub(crate) mod why;
