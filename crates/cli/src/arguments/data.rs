//! What commands on stored data take.

use clap::{Args, ValueEnum};

/// A keyspace file, and the store its rows are in.
#[derive(Args, Debug)]
pub(crate) struct Stored {
    /// The keyspace file
    pub(crate) file: String,
    /// The store's URL, such as engine:DIRECTORY, sqlite:FILE, files:DIRECTORY,
    /// postgres://HOST/DATABASE, redis://HOST or memory: [default: an engine in .keyway/NAME
    /// beside FILE]
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<String>,
}

/// Who calls.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct CallerOptions {
    /// Who calls: the id of a user
    #[arg(long = "as", value_name = "USER")]
    pub(crate) user: Option<String>,
    /// The tenant the user belongs to
    #[arg(long, value_name = "TENANT")]
    pub(crate) tenant: Option<String>,
    /// A role the user has; may be given several times
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Vec<String>,
}

impl CallerOptions {
    /// The caller they describe.
    pub(crate) fn caller(&self) -> ::data::Caller {
        let mut caller = match &self.user {
            Some(user) => ::data::Caller::user(user),
            None => ::data::Caller::nobody(),
        };
        if let Some(tenant) = &self.tenant {
            caller = caller.of_tenant(tenant);
        }
        self.role.iter().fold(caller, |caller, role| caller.with_role(role))
    }
}

/// `keyway run`.
#[derive(Args, Debug)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) stored: Stored,
    /// The pattern
    pub(crate) pattern: String,
    /// Its arguments: name=value, name=@FILE or name:=JSON
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) arguments: Vec<String>,
    #[command(flatten)]
    pub(crate) caller: CallerOptions,
    /// The id of the change: the same id is never applied twice
    #[arg(long, value_name = "UUID")]
    pub(crate) id: Option<String>,
    /// Only if the row still has this version
    #[arg(long, value_name = "VERSION")]
    pub(crate) if_version: Option<String>,
}

/// `keyway shell`.
#[derive(Args, Debug)]
pub(crate) struct Shell {
    #[command(flatten)]
    pub(crate) stored: Stored,
    #[command(flatten)]
    pub(crate) caller: CallerOptions,
    /// Go on after a line of a script that fails
    #[arg(long)]
    pub(crate) keep_going: bool,
}

/// `keyway scrub`.
#[derive(Args, Debug)]
pub(crate) struct Scrub {
    #[command(flatten)]
    pub(crate) stored: Stored,
    /// Mend what can be mended
    #[arg(long)]
    pub(crate) repair: bool,
}

/// `keyway load`.
#[derive(Args, Debug)]
pub(crate) struct Load {
    #[command(flatten)]
    pub(crate) stored: Stored,
    /// The lines; `-` is standard input
    #[arg(value_name = "LINES", default_value = "-")]
    pub(crate) lines: String,
    /// The pattern that each line calls
    #[arg(long, value_name = "PATTERN")]
    pub(crate) pattern: String,
    #[command(flatten)]
    pub(crate) caller: CallerOptions,
    /// Go on after a line that fails
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Begin with this line
    #[arg(long, value_name = "LINE", default_value_t = 1)]
    pub(crate) from: u64,
    /// How many calls are in flight at most
    #[arg(long, value_name = "CALLS", default_value_t = 32,
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) parallel: u16,
}

/// `keyway export`.
#[derive(Args, Debug)]
pub(crate) struct Export {
    #[command(flatten)]
    pub(crate) stored: Stored,
    /// Only this collection; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) collection: Vec<String>,
    /// Write the lines here instead of printing them
    #[arg(long, short, value_name = "LINES")]
    pub(crate) output: Option<String>,
}

/// `keyway import`.
#[derive(Args, Debug)]
pub(crate) struct Import {
    #[command(flatten)]
    pub(crate) stored: Stored,
    /// The lines of an export; `-` is standard input
    #[arg(value_name = "LINES", default_value = "-")]
    pub(crate) lines: String,
    /// What happens to rows that are there already
    #[arg(long, value_enum, default_value_t = Existing::Replace, value_name = "WHAT")]
    pub(crate) existing: Existing,
}

/// `keyway copy`.
#[derive(Args, Debug)]
pub(crate) struct Copy {
    /// The keyspace file
    pub(crate) file: String,
    /// The store to copy from
    #[arg(long, value_name = "URL")]
    pub(crate) from: String,
    /// The store to copy to
    #[arg(long, value_name = "URL")]
    pub(crate) to: String,
    /// Begin anew, even if an earlier copy was interrupted
    #[arg(long)]
    pub(crate) again: bool,
    /// Copy nothing, only compare
    #[arg(long)]
    pub(crate) compare_only: bool,
    /// Move: follow what is written, then let the source take no more writes
    #[arg(long, conflicts_with = "compare_only")]
    pub(crate) live: bool,
}

/// What happens to rows that are there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Existing {
    /// They are replaced
    Replace,
    /// They stay as they are
    Keep,
    /// The import ends there
    Refuse,
}
