//! What commands that serve take.

use super::data::{CallerOptions, Stored};
use clap::{Args, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Where the tokens of a keyspace are kept.
#[derive(Args, Clone, Debug)]
pub(crate) struct Access {
    /// The store of the tokens [default: .keyway/NAME.access.sqlite beside FILE]
    #[arg(long, value_name = "URL")]
    pub(crate) access: Option<String>,
    /// The file with the secret that hashes of tokens are keyed with [default: .keyway/NAME.pepper
    /// beside FILE; made the first time]
    #[arg(long, value_name = "FILE")]
    pub(crate) pepper: Option<PathBuf>,
}

/// `keyway serve`.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) stored: Stored,
    #[command(flatten)]
    pub(crate) access: Access,
    /// The address; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7474")]
    pub(crate) listen: SocketAddr,
    /// A name under which the server is reached, besides localhost and addresses; may be given
    /// several times
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
    /// A site whose pages may ask from a browser, such as https://app.example; may be given
    /// several times
    #[arg(long = "origin", value_name = "ORIGIN")]
    pub(crate) origins: Vec<String>,
    /// The certificates for TLS, in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_certificate: Option<PathBuf>,
    /// The private key for TLS, in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Believe callers who they say they are (headers Keyway-User, Keyway-Tenant, Keyway-Roles):
    /// on this machine only
    #[arg(long)]
    pub(crate) trust_callers: bool,
    /// Calls of one token a second; 0 is no limit
    #[arg(long, value_name = "CALLS", default_value_t = 100)]
    pub(crate) rate: u32,
    /// Bytes of a request's body
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20)]
    pub(crate) body_limit: usize,
    /// Requests worked on at once; more are told to come again
    #[arg(long, value_name = "REQUESTS", default_value_t = 512)]
    pub(crate) requests: usize,
    #[command(flatten)]
    pub(crate) log: Log,
    /// Send traces of requests to a collector, by OTLP over HTTP: http://localhost:4318
    #[arg(long, value_name = "URL")]
    pub(crate) traces: Option<String>,
}

/// What is logged, to standard error.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Log {
    /// What is logged
    #[arg(long, value_enum, default_value_t = LogLevel::Problems)]
    pub(crate) log: LogLevel,
    /// How it is written
    #[arg(long, value_enum, default_value_t = LogForm::Text)]
    pub(crate) log_form: LogForm,
}

/// What is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    /// Nothing
    Off,
    /// What went wrong
    Problems,
    /// Every request too, and what operators do
    Requests,
    /// Connections too
    All,
}

/// How a log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogForm {
    /// Lines for people
    Text,
    /// A JSON object a line
    Json,
}

/// `keyway mcp`.
#[derive(Args, Debug)]
pub(crate) struct Mcp {
    #[command(flatten)]
    pub(crate) stored: Stored,
    #[command(flatten)]
    pub(crate) caller: CallerOptions,
    /// A token that says who calls, instead of --as, --tenant and --role [default: what the
    /// environment variable KEYWAY_TOKEN holds, which other users of the machine cannot see]
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    #[command(flatten)]
    pub(crate) access: Access,
    #[command(flatten)]
    pub(crate) log: Log,
}

/// `keyway token`.
#[derive(Debug, Subcommand)]
pub(crate) enum Token {
    /// Make a token and show it, once
    #[command(after_help = "Examples:\n  \
        keyway token create keyspace.toml --as ann\n  \
        keyway token create keyspace.toml --as ann --role admin --expires 30d\n  \
        keyway token create keyspace.toml --operator --label laptop")]
    Create(TokenCreate),
    /// List the tokens: whose they are, and when they were last used
    List(TokenBook),
    /// Make a token worth nothing; servers notice within 10 seconds
    Revoke(TokenRevoke),
}

/// The book of a keyspace.
#[derive(Args, Debug)]
pub(crate) struct TokenBook {
    /// The keyspace file
    pub(crate) file: String,
    #[command(flatten)]
    pub(crate) access: Access,
}

/// `keyway token create`.
#[derive(Args, Debug)]
pub(crate) struct TokenCreate {
    #[command(flatten)]
    pub(crate) book: TokenBook,
    #[command(flatten)]
    pub(crate) caller: CallerOptions,
    /// It may also look after the server: rows, scrubs, tokens
    #[arg(long)]
    pub(crate) operator: bool,
    /// What people call it
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// How long it works, such as 12h or 30d [default: until it is revoked]
    #[arg(long, value_name = "LENGTH")]
    pub(crate) expires: Option<String>,
}

/// `keyway token revoke`.
#[derive(Args, Debug)]
pub(crate) struct TokenRevoke {
    #[command(flatten)]
    pub(crate) book: TokenBook,
    /// Its public part, as the list shows it
    pub(crate) id: String,
}
