//! What the program accepts: commands, options and their help.
//!
//! Only words and types; nothing here acts. Completions are made from the same declarations. What
//! commands on stored data take is in `data.rs`.

mod data;
mod serve;

pub(crate) use data::{CallerOptions, Copy, Existing, Export, Import, Load, Run, Scrub, Shell};

pub(crate) use serve::{
    Access, Log, LogForm, LogLevel, Mcp, Serve, Token, TokenBook, TokenCreate, TokenRevoke,
};

use crate::terminal::Color;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use keyspace::model::StoreKind;

/// Everything on the command line.
#[derive(Debug, Parser)]
#[command(
    name = "keyway",
    version,
    about = "One file names every key and every question; keyway proves, explains and answers them",
    after_help = "\
Exit status: 0 done, 1 the file or the data has problems, or a row is not there, 2 wrong usage
or an unreadable file, 3 a check failed or a unique value is taken, 4 the store cannot be
reached, 5 the outcome is not known (the id is printed; --id asks again).
FILE may be `-`: standard input.

Begin with:
  keyway new shop --output keyspace.toml
  keyway check keyspace.toml
  keyway shell keyspace.toml --as ann

The notation, page by page: keyway reference"
)]
pub(crate) struct Arguments {
    /// Colours: auto means on a terminal, by NO_COLOR and CLICOLOR_FORCE
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
    /// Answer with one JSON object; problems go to standard error as another
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What the program can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Report every problem of a file, or prove that each pattern is bounded work
    #[command(after_help = "Examples:\n  \
        keyway check keyspace.toml\n  \
        keyway check keyspace.toml --store postgres --store cassandra\n  \
        keyway check - --json < keyspace.toml\n\n\
        Without --store, a pattern that some store refuses is only noted, unless the file\n\
        names that store; with --store it is an error.")]
    Check(Check),
    /// Show how each pattern is answered, and what it costs
    #[command(after_help = "Examples:\n  \
        keyway explain keyspace.toml\n  \
        keyway explain keyspace.toml read_messages --store cassandra")]
    Explain(Explain),
    /// Print what a store would hold: tables, keys or files
    #[command(after_help = "Examples:\n  \
        keyway layout keyspace.toml --store postgres\n  \
        keyway layout keyspace.toml          every store, one after the other")]
    Layout(Layout),
    /// Write the documents of a keyspace: Markdown, a drawing, a Mermaid diagram
    #[command(after_help = "Examples:\n  \
        keyway doc keyspace.toml > KEYSPACE.md\n  \
        keyway doc keyspace.toml --svg > keyspace.svg\n  \
        keyway doc keyspace.toml --output docs     writes docs/NAME.md and docs/NAME.svg")]
    Doc(Doc),
    /// Print what other programs read: the OpenAPI document of a keyspace
    #[command(after_help = "Example:\n  \
        keyway generate openapi keyspace.toml > openapi.json")]
    #[command(subcommand)]
    Generate(Generate),
    /// Print the JSON Schema of keyspace files, for editors
    #[command(after_help = "Example:\n  \
        keyway schema > keyway.schema.json\n\n\
        Then let the first line of a keyspace file be\n  \
        #:schema ./keyway.schema.json")]
    Schema,
    /// Tidy files in place; no comment or value is lost
    #[command(after_help = "Examples:\n  \
        keyway format keyspace.toml\n  \
        keyway format --check apps/*/keyspace.toml     changes nothing; status 1 if one would\n  \
        keyway format - < keyspace.toml                answers on standard output")]
    Format(Format),
    /// Call a pattern
    #[command(after_help = "Examples:\n  \
        keyway run keyspace.toml write_note title=Milk 'tags=[\"shop\"]' --as ann\n  \
        keyway run keyspace.toml my_notes limit=10 --as ann --json\n  \
        keyway run keyspace.toml put_picture picture=@cat.png --as ann\n\n\
        Values are texts, by the argument's type: title=Milk, limit=10, due_on=2026-11-15.\n\
        Lists, JSON and rows are JSON: 'tags=[\"a\",\"b\"]'. name=@FILE gives what a file holds,\n\
        name=@- standard input, and name:=JSON anything as JSON: note:=null.\n\n\
        Without --store, the store is an engine in .keyway/NAME beside FILE; it is made the first\n\
        time. What a call takes: keyway explain FILE PATTERN")]
    Run(Run),
    /// Call patterns at a prompt, or from a script
    #[command(after_help = "Examples:\n  \
        keyway shell keyspace.toml --as ann\n  \
        keyway shell keyspace.toml --store memory:        to try something out\n  \
        keyway shell keyspace.toml --as ann < calls.txt   one command a line\n\n\
        A script stops at the first line that fails, and ends with its status. `help` lists the\n\
        commands; a line that begins with a space is kept out of the history.")]
    Shell(Shell),
    /// Serve the patterns over HTTP and MCP, with a console
    #[command(after_help = "Examples:\n  \
        keyway serve keyspace.toml\n  \
        keyway serve keyspace.toml --store postgres://localhost/app --listen 127.0.0.1:8080\n  \
        keyway serve keyspace.toml --listen 0.0.0.0:443 --host api.example \\\n    \
        --tls-certificate chain.pem --tls-key key.pem\n\n\
        Each pattern is one endpoint: GET /PATTERN?name=value for reads, POST /PATTERN with a\n\
        JSON object for writes, with `Authorization: Bearer TOKEN`. The first start makes a token\n\
        and shows it, once; keyway token makes others. /openapi.json says what can be asked,\n\
        /mcp is for agents, / for people.")]
    Serve(Serve),
    /// Offer the patterns as tools to a program that speaks MCP over standard input and output
    #[command(after_help = "Example:\n  \
        keyway mcp keyspace.toml --as ann\n\n\
        Whoever starts it is the caller that --as, --tenant and --role say, or whose token it is.")]
    Mcp(Mcp),
    /// Make, list and revoke the tokens with which callers are known
    #[command(
        subcommand,
        after_help = "Examples:\n  \
        keyway token create keyspace.toml --as ann\n  \
        keyway token list keyspace.toml\n  \
        keyway token revoke keyspace.toml 3kTMd0pQz7Xa"
    )]
    Token(Token),
    /// Prove that every index says what the rows say, and mend what does not
    #[command(after_help = "Examples:\n  \
        keyway scrub keyspace.toml --store engine:data\n  \
        keyway scrub keyspace.toml --store engine:data --repair\n\n\
        Rows are never changed, only entries of indexes. Status 1 if a problem remains.")]
    Scrub(Scrub),
    /// Make a call for each line of a file
    #[command(after_help = "Examples:\n  \
        keyway load keyspace.toml --pattern write_note notes.jsonl --as ann\n  \
        generate | keyway load keyspace.toml --pattern add_product --role clerk\n\n\
        A line is the object of a call's arguments: {\"title\": \"Milk\"}. Calls are in flight\n\
        together, in no order. The first line that fails ends it, and says where to go on\n\
        (--from); with --keep-going, lines that fail go to standard error as JSON.")]
    Load(Load),
    /// Write the rows of a store as JSON Lines
    #[command(after_help = "Examples:\n  \
        keyway export keyspace.toml --store engine:data -o notes.jsonl\n  \
        keyway export keyspace.toml --store engine:data --collection users | gzip > users.gz\n\n\
        Rows are written with ids, owners and times, and without their versions. Each page is one\n\
        look at the store; the whole is one instant only while nobody writes.")]
    Export(Export),
    /// Bring the rows of an export into a store
    #[command(after_help = "Examples:\n  \
        keyway import keyspace.toml --store engine:new notes.jsonl\n  \
        gunzip -c users.gz | keyway import keyspace.toml --existing keep\n\n\
        The same rows twice give the same store: an import that was stopped is begun again.")]
    Import(Import),
    /// Copy a whole keyspace from one store to another, and prove that both hold the same
    #[command(after_help = "Examples:\n  \
        keyway copy keyspace.toml --from engine:data --to postgres://localhost/app\n  \
        keyway copy keyspace.toml --from engine:data --to sqlite:data.db --compare-only\n  \
        keyway copy keyspace.toml --from engine:data --to redis://localhost/0 --live\n\n\
        A copy that was interrupted goes on where it was when it is run again, from Redis as long\n\
        as the server was not started again meanwhile. Indexes are built\n\
        in the target, and rows get new versions there. At the end rows are counted and summed\n\
        on both sides; status 1 if a collection differs. Nobody should write meanwhile.\n\n\
        With --live the keyspace moves: once all is copied and compared, the source notes where\n\
        it has gone and takes no more writes. If `keyway serve` has the engine open on this\n\
        machine, it makes the move while it is used, and goes on in the target; an application\n\
        that has it open makes the same move itself: docs/guide/outgrow.md. --again says that\n\
        what the target holds was left by a move that was interrupted. A command that is\n\
        interrupted before writes wait gives the move up.")]
    Copy(Copy),
    /// Begin a keyspace file: a small example with comments, to change
    #[command(
        after_help = "Whatever the name, it is the same application of notes, in which the\n\
        notation is seen at work: put your own collections and patterns in their place.\n\n\
        Examples:\n  \
        keyway new shop                              prints it\n  \
        keyway new shop --output keyspace.toml       never overwrites a file"
    )]
    New(New),
    /// Explain a code such as KW103, or list all codes
    #[command(after_help = "Examples:\n  \
        keyway why KW103\n  \
        keyway why")]
    Why(Why),
    /// Print a page of the notation, or list the pages
    #[command(after_help = "Examples:\n  \
        keyway reference\n  \
        keyway reference patterns")]
    Reference(Reference),
    /// Print completions for a shell
    #[command(after_help = "Examples:\n  \
        keyway completions bash > ~/.local/share/bash-completion/completions/keyway\n  \
        keyway completions fish > ~/.config/fish/completions/keyway.fish")]
    Completions(Completions),
}

/// `keyway check`.
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The keyspace file
    pub(crate) file: String,
    /// A store it must run on, with the price of every pattern; may be given several times
    #[arg(long, value_name = "KIND", value_parser = store_parser())]
    pub(crate) store: Vec<StoreKind>,
}

/// `keyway explain`.
#[derive(Args, Debug)]
pub(crate) struct Explain {
    /// The keyspace file
    pub(crate) file: String,
    /// Only this pattern
    pub(crate) pattern: Option<String>,
    /// Only on this store
    #[arg(long, value_name = "KIND", value_parser = store_parser())]
    pub(crate) store: Option<StoreKind>,
}

/// `keyway layout`.
#[derive(Args, Debug)]
pub(crate) struct Layout {
    /// The keyspace file
    pub(crate) file: String,
    /// Only this store
    #[arg(long, value_name = "KIND", value_parser = store_parser())]
    pub(crate) store: Option<StoreKind>,
}

/// `keyway doc`.
#[derive(Args, Debug)]
pub(crate) struct Doc {
    /// The keyspace file
    pub(crate) file: String,
    /// Write NAME.md and NAME.svg into this directory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["svg", "mermaid"])]
    pub(crate) output: Option<String>,
    /// Print the drawing
    #[arg(long, conflicts_with = "mermaid")]
    pub(crate) svg: bool,
    /// Print the Mermaid diagram
    #[arg(long)]
    pub(crate) mermaid: bool,
}

/// `keyway generate`.
#[derive(Debug, Subcommand)]
pub(crate) enum Generate {
    /// OpenAPI 3.1: what `keyway serve` answers, one path a pattern
    #[command(name = "openapi")]
    OpenApi(GenerateOpenApi),
}

/// `keyway generate openapi`.
#[derive(Args, Debug)]
pub(crate) struct GenerateOpenApi {
    /// The keyspace file
    pub(crate) file: String,
    /// The store whose patterns and bounds it tells [default: the file's first, or engine]
    #[arg(long, value_name = "KIND", value_parser = store_parser())]
    pub(crate) store: Option<StoreKind>,
}

/// `keyway format`.
#[derive(Args, Debug)]
pub(crate) struct Format {
    /// The keyspace files
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// Change nothing; fail if a file is not formatted
    #[arg(long)]
    pub(crate) check: bool,
}

/// `keyway new`.
#[derive(Args, Debug)]
pub(crate) struct New {
    /// The keyspace's name: small letters, digits and `_`
    pub(crate) name: String,
    /// Write it here instead of printing it
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<String>,
}

/// `keyway why`.
#[derive(Args, Debug)]
pub(crate) struct Why {
    /// The code, as a report shows it
    pub(crate) code: Option<String>,
}

/// `keyway reference`.
#[derive(Args, Debug)]
pub(crate) struct Reference {
    /// The page, as the list names it
    pub(crate) topic: Option<String>,
}

/// `keyway completions`.
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// A kind of store by its name; a wrong one is answered with the list and the nearest.
fn store_parser() -> impl TypedValueParser<Value = StoreKind> {
    PossibleValuesParser::new(StoreKind::ALL.map(StoreKind::name))
        .try_map(|name| StoreKind::from_name(&name).ok_or("no such store"))
}
