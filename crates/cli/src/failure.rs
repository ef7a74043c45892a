//! Why something was not done: what is said about it, and the exit status it leads to.
//!
//! ```text
//! error of the run time ─▶ sentence, what varies, the cause, the fix ─▶ lines │ one JSON object
//!                       └▶ exit status
//! ```

use crate::table::escaped;
use data::request::Prepared;
use data::{Error, ErrorKind};
use keyspace::diagnostic::nearest;
use keyspace::model::Keyspace;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::error::Error as _;

/// How a command ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Status {
    /// What was asked is done.
    #[default]
    Done,
    /// The file or the data has problems, or a row is not there.
    Problems,
    /// The command cannot be carried out as it was given.
    Usage,
    /// A check failed, or a unique value is taken.
    Conflict,
    /// The store cannot be reached, or another process has it.
    Unreachable,
    /// Whether the change was made is not known.
    Unknown,
}

impl Status {
    /// All of them.
    const ALL: [Status; 6] = [
        Status::Done,
        Status::Problems,
        Status::Usage,
        Status::Conflict,
        Status::Unreachable,
        Status::Unknown,
    ];

    /// The one with this number, if there is one.
    pub(crate) fn of_number(number: u8) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.number() == number)
    }

    /// The exit status.
    pub(crate) fn number(self) -> u8 {
        match self {
            Status::Done => 0,
            Status::Problems => 1,
            Status::Usage => 2,
            Status::Conflict => 3,
            Status::Unreachable => 4,
            Status::Unknown => 5,
        }
    }

    fn of(kind: ErrorKind) -> Status {
        match kind {
            ErrorKind::Argument
            | ErrorKind::Cursor
            | ErrorKind::TooLarge
            | ErrorKind::Unsupported => Status::Usage,
            ErrorKind::Conflict
            | ErrorKind::Taken
            | ErrorKind::Limited
            | ErrorKind::Overflow
            | ErrorKind::Busy => Status::Conflict,
            ErrorKind::Unavailable | ErrorKind::Locked | ErrorKind::Poisoned | ErrorKind::Moved => {
                Status::Unreachable
            }
            ErrorKind::Indeterminate => Status::Unknown,
            ErrorKind::Denied
            | ErrorKind::NotFound
            | ErrorKind::Mismatch
            | ErrorKind::Corrupt
            | ErrorKind::Bound
            | ErrorKind::Internal => Status::Problems,
        }
    }
}

/// Why something was not done, and what to do about it.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct Failure {
    told: Box<Told>,
    /// The exit status it leads to.
    #[serde(skip)]
    pub(crate) status: Status,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Told {
    error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Cow<'static, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    context: serde_json::Map<String, serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl Failure {
    /// It cannot be done as it was asked for: what is wrong, and the fix.
    pub(crate) fn usage(problem: impl Into<String>, fix: impl Into<String>) -> Failure {
        let told = Told { error: problem.into(), fix: Some(fix.into()), ..Told::default() };
        Failure { told: Box::new(told), status: Status::Usage }
    }

    /// The data is not as it must be.
    pub(crate) fn problem(problem: impl Into<String>, fix: impl Into<String>) -> Failure {
        Failure { status: Status::Problems, ..Failure::usage(problem, fix) }
    }

    /// The row is not there.
    pub(crate) fn no_row() -> Failure {
        let error = "there is no such row".to_string();
        let kind = Some(ErrorKind::NotFound.name().into());
        let told = Told { error, kind, ..Told::default() };
        Failure { told: Box::new(told), status: Status::Problems }
    }

    /// There is no pattern of a name.
    pub(crate) fn no_pattern(keyspace: &Keyspace, name: &str) -> Failure {
        let names = keyspace.patterns.iter().map(|one| one.name.value.as_str());
        let fix = match nearest(name, names.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the patterns are {}", names.collect::<Vec<_>>().join(", ")),
        };
        Failure::usage(format!("there is no pattern `{name}`"), fix)
    }

    /// The call is not one the pattern takes: how it is called is said too.
    pub(crate) fn of_call(error: &Error, keyspace: &Keyspace, prepared: &Prepared) -> Failure {
        let mut failure = Failure::from(error);
        failure.told.usage = (error.kind() == ErrorKind::Argument)
            .then(|| crate::call::signature(keyspace, &prepared.pattern));
        failure
    }

    /// The same, on a line of what was read.
    pub(crate) fn at_line(mut self, line: u64) -> Failure {
        self.told.line = Some(line);
        self
    }

    /// The same, with another fix.
    pub(crate) fn with_fix(mut self, fix: impl Into<String>) -> Failure {
        self.told.fix = Some(fix.into());
        self
    }

    /// The same, without something that varies: it is told better elsewhere.
    pub(crate) fn without(mut self, name: &str) -> Failure {
        self.told.context.shift_remove(name);
        self
    }

    /// Whether it is an error of this kind.
    pub(crate) fn is(&self, kind: ErrorKind) -> bool {
        self.told.kind.as_deref() == Some(kind.name())
    }

    /// A value of what varies.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.told.context.get(name).and_then(serde_json::Value::as_str)
    }

    /// Lines for people.
    pub(crate) fn text(&self) -> String {
        let told = &self.told;
        let line = told.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        let mut text = format!("error: {line}{}\n", told.error);
        let mut tell = |name: &str, value: &str| text.push_str(&format!("  {name}: {value}\n"));
        for (name, value) in &told.context {
            tell(name, &escaped(value.as_str().unwrap_or_default()));
        }
        let ends = [("because", &told.because), ("usage", &told.usage), ("fix", &told.fix)];
        for (name, value) in ends {
            value.iter().for_each(|value| tell(name, value));
        }
        text
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Failure {
        let mut context = serde_json::Map::new();
        let (arguments, others): (Vec<_>, Vec<_>) =
            error.context().iter().partition(|(name, _)| *name == "argument");
        // Which argument it is comes first; of a row, the list it is in was added last.
        let path = match arguments.as_slice() {
            [] => None,
            [(_, one)] => Some(one.clone()),
            [(_, inner), .., (_, list)] => {
                Some(format!("{list}[{}].{inner}", error.value("row").unwrap_or_default()))
            }
        };
        context.extend(path.map(|path| ("argument".to_string(), path.into())));
        for (name, value) in
            others.into_iter().filter(|(name, _)| arguments.len() < 2 || *name != "row")
        {
            context.insert((*name).to_string(), value.clone().into());
        }
        let told = Told {
            error: error.message().to_string(),
            kind: Some(error.kind().name().into()),
            line: None,
            context,
            because: causes(error),
            usage: None,
            fix: fix(error).map(str::to_string),
        };
        Failure { told: Box::new(told), status: Status::of(error.kind()) }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::from(&error)
    }
}

/// The causes below an error, the nearest first.
fn causes(error: &Error) -> Option<String> {
    let mut causes = Vec::new();
    let mut source = error.source();
    while let Some(cause) = source {
        causes.push(cause.to_string());
        source = cause.source();
    }
    (!causes.is_empty()).then(|| causes.join(": "))
}

fn fix(error: &Error) -> Option<&'static str> {
    Some(match error.kind() {
        ErrorKind::Denied => return who(error.message()),
        ErrorKind::Busy => "try again",
        ErrorKind::Limited => "try again when the window ends",
        ErrorKind::Unavailable => "see that the store is there and may be used, then try again",
        ErrorKind::Locked => "end the process that has the store open, or give another --store",
        ErrorKind::Poisoned => "see what the machine says of its disk, then open the store again",
        ErrorKind::Moved => "give the URL of the store that it has moved to: --store URL",
        ErrorKind::Bound => {
            "this is a mistake of Keyway, unless rows still hold fields that the file no longer \
             has: please report it"
        }
        ErrorKind::Internal => "this is a mistake of Keyway: please report it",
        _ => return None,
    })
}

/// What to say about the caller, where that is what is missing.
fn who(message: &str) -> Option<&'static str> {
    match message {
        "the call must say who calls" => Some("say who calls: --as USER (in the shell: as USER)"),
        "the call must say in which tenant" => {
            Some("say in which tenant: --tenant TENANT (in the shell: tenant TENANT)")
        }
        "the caller has not the role that may" => {
            Some("call with the role: --role ROLE (in the shell: role ROLE)")
        }
        _ => None,
    }
}
