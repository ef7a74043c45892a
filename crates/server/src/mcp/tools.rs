//! Patterns as tools, and what is said when a call goes wrong.

use crate::describe::{Described, Description};
use crate::http::problem::Problem;
use data::{Caller, Error, ErrorKind};
use keyspace::diagnostic::nearest;
use keyspace::model::{Allow, Pattern, StepAction, Verb};
use rmcp::model::{CallToolResult, ContentBlock, Tool, ToolAnnotations};

/// The tools that a caller might call.
pub fn of(description: &Description, caller: &Caller) -> Vec<Tool> {
    let patterns = description.patterns.iter();
    let offered =
        patterns.filter(|described| is_tool(described) && may(&described.pattern, caller));
    offered.map(tool).collect()
}

/// Whether a pattern is a tool: one without a sentence would be called by guessing.
pub fn is_tool(described: &Described) -> bool {
    described.pattern.about.is_some()
}

/// One tool.
pub fn tool(described: &Described) -> Tool {
    let name = described.pattern.name.value.clone();
    Tool::new(name, described.words.clone(), described.input.clone())
        .with_raw_output_schema(described.output.clone())
        .with_annotations(annotations(&described.pattern))
}

/// Whether a caller might call a pattern, as far as that is known without a row.
pub fn may(pattern: &Pattern, caller: &Caller) -> bool {
    let runs = pattern.steps.iter().filter_map(|step| match &step.action {
        StepAction::Run(run) => Some(&run.allow),
        StepAction::Check { .. } => None,
    });
    let mut all = std::iter::once(&pattern.allow).chain(runs);
    all.all(|allow| match allow {
        Allow::Public | Allow::Step => true,
        Allow::Role(role) => caller.has_role(role),
        Allow::Owner | Allow::User | Allow::Member(_) => caller.id().is_some(),
    })
}

/// What a client may tell a person before the call.
fn annotations(pattern: &Pattern) -> ToolAnnotations {
    let annotations = ToolAnnotations::new().read_only(pattern.verb.is_read()).open_world(false);
    match pattern.verb.is_read() {
        true => annotations.destructive(false).idempotent(true),
        false => annotations.destructive(destroys(pattern)).idempotent(repeats(pattern)),
    }
}

/// Whether something that was there may be gone afterwards.
fn destroys(pattern: &Pattern) -> bool {
    match pattern.verb {
        Verb::Put | Verb::Update | Verb::Delete | Verb::Take => true,
        Verb::Atomic => pattern.steps.iter().any(|step| match &step.action {
            StepAction::Run(run) => destroys(run),
            StepAction::Check { .. } => false,
        }),
        _ => false,
    }
}

/// Whether the same call again changes nothing more.
fn repeats(pattern: &Pattern) -> bool {
    match pattern.verb {
        Verb::Put | Verb::Delete => true,
        Verb::Update => pattern.compute.is_empty() && !pattern.if_version,
        Verb::Insert => pattern.existing_returned,
        _ => false,
    }
}

/// The result of a call of something that is no tool.
pub fn unknown<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> CallToolResult {
    let shown: String = name.chars().take(64).collect();
    let words = match nearest(name, names) {
        Some(near) => format!("There is no tool `{shown}`: did you mean `{near}`?"),
        None => format!("There is no tool `{shown}`: list the tools to see which there are."),
    };
    CallToolResult::error(vec![ContentBlock::text(words)])
}

/// The result of a call that was refused: what is wrong, where, and what to do about it.
pub fn refused(error: &Error) -> CallToolResult {
    let advice = match error.kind() {
        ErrorKind::Argument => "Mend the arguments and call again.",
        ErrorKind::Cursor => "Begin again without `cursor`.",
        ErrorKind::Denied => "This caller may not do it: another call will not help.",
        ErrorKind::NotFound => "Nothing was done. Look for the row with another tool.",
        ErrorKind::Conflict => "Nothing was done. Read the row again before another call.",
        ErrorKind::Taken => "Nothing was done. Choose another value.",
        ErrorKind::Overflow | ErrorKind::TooLarge => "Nothing was done. Give less.",
        ErrorKind::Limited => "Nothing was done. Wait until the window ends.",
        ErrorKind::Busy | ErrorKind::Unavailable | ErrorKind::Locked => {
            "Nothing was done. The same call may succeed in a moment."
        }
        ErrorKind::Indeterminate => {
            "It is not known whether it was done. Read the row before another call."
        }
        _ => "The same call will not succeed.",
    };
    let problem = capital(&Problem::from(error).sentence());
    CallToolResult::error(vec![ContentBlock::text(format!("{problem}. {advice}"))])
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyspace::model::StoreKind;

    const FILE: &str = r#"
[keyspace]
name = "tools"

[collection.notes]
key    = "user:{user_id: text}:notes | {note_id: text}"
owner  = "user_id"
fields = { title = "text" }
expect = { rows_per_group = 10 }

[collection.news]
key   = "news:{name: text}"
value = "text"

[pattern]
read_news  = { get = "news", allow = "public", about = "The news" }
no_words   = { get = "news", allow = "public" }
write_news = { put = "news", allow = "role:editor", about = "Write the news" }
add_note   = { insert = "notes", about = "A new note" }
drop_note  = { delete = "notes", about = "One note less" }
both       = { atomic = ["write_news", "add_note"], about = "Both" }
"#;

    fn names(caller: &Caller) -> Vec<String> {
        let read = keyspace::read(FILE);
        let keyspace = read.keyspace.unwrap_or_else(|| panic!("{:?}", read.diagnostics));
        let description = Description::new(&keyspace, StoreKind::Memory);
        of(&description, caller).into_iter().map(|tool| tool.name.to_string()).collect()
    }

    #[test]
    fn callers_see_what_they_might_call() {
        assert_eq!(names(&Caller::nobody()), ["read_news"]);
        let ann = Caller::user("ann");
        assert_eq!(names(&ann), ["read_news", "add_note", "drop_note"]);
        let editor = ann.with_role("editor");
        let all = ["read_news", "write_news", "add_note", "drop_note", "both"];
        assert_eq!(names(&editor), all);
        assert_eq!(names(&Caller::nobody().with_role("editor")), ["read_news", "write_news"]);
    }

    #[test]
    fn c7_names_of_tools_are_letters_that_every_client_takes() {
        let takes = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
        let editor = Caller::user("ann").with_role("editor");
        assert!(names(&editor).iter().all(|name| name.chars().all(takes)));
        let wrong = FILE.replace("read_news ", "\"read:news\"");
        assert!(keyspace::read(&wrong).keyspace.is_none());
    }

    #[test]
    fn hints_follow_from_the_verb() {
        let keyspace = keyspace::read(FILE).keyspace.unwrap();
        let hints = |name: &str| {
            let of = annotations(keyspace.pattern(name).unwrap());
            (of.read_only_hint, of.destructive_hint, of.idempotent_hint)
        };
        assert_eq!(hints("read_news"), (Some(true), Some(false), Some(true)));
        assert_eq!(hints("write_news"), (Some(false), Some(true), Some(true)));
        assert_eq!(hints("add_note"), (Some(false), Some(false), Some(false)));
        assert_eq!(hints("drop_note"), (Some(false), Some(true), Some(true)));
        assert_eq!(hints("both"), (Some(false), Some(true), Some(false)));
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let text = |error: Error| match refused(&error).content.first() {
            Some(content) => content.as_text().unwrap().text.clone(),
            None => String::new(),
        };
        let error = Error::new(ErrorKind::Argument, "a value is not of its type")
            .with("argument", "title")
            .with("expected", "text");
        assert_eq!(
            text(error),
            "A value is not of its type; argument: title; expected: text. Mend the arguments and \
             call again."
        );
        let inside = Error::new(ErrorKind::Internal, "a secret").with("key", "another's");
        assert!(!text(inside).contains("secret"));
    }
}
