//! `keyway run`: one call of a pattern.

use crate::answer::{Answer, Form};
use crate::arguments::Run;
use crate::call::{Ready, Typed, TypedValue};
use crate::failure::{Failure, Status};
use crate::json;
use crate::open::{Opened, Wanted, open};
use crate::shown::{refusal, shown};
use crate::terminal;
use data::store::CommitId;

/// Makes a call.
pub(crate) fn run(options: &Run, form: Form) -> Answer {
    let (file, store) = (options.stored.file.as_str(), options.stored.store.as_deref());
    // What can be refused without a store is refused before one is made.
    let words = options.arguments.iter().map(|word| Typed::from_word(word));
    let typed = match words.collect::<Result<Vec<_>, _>>() {
        Ok(typed) => typed,
        Err(failure) => return Answer::failed(failure),
    };
    let opened =
        match open(Wanted { file, store, option: "--store", may_make: true, stays: false }, form) {
            Ok(opened) => opened,
            Err(answer) => return answer,
        };
    let answer = call(options, typed, &opened, form).unwrap_or_else(Answer::failed);
    opened.close(answer)
}

fn call(
    options: &Run,
    mut typed: Vec<Typed>,
    opened: &Opened,
    form: Form,
) -> Result<Answer, Failure> {
    let keyway = &opened.keyway;
    let may_read_input = options.stored.file != "-";
    if let Some(version) = &options.if_version {
        let name = keyway.keyspace().shown("if_version");
        typed.push(Typed { name, value: TypedValue::Text(version.clone()) });
    }
    let mut ready = Ready::new(keyway, &options.pattern, &typed, may_read_input)?;
    ready.id = options.id.as_deref().map(str::parse::<CommitId>).transpose()?;
    let reply = opened.wait(ready.make(keyway, &options.caller.caller()));
    let reply = reply.map_err(|failure| match failure.status {
        Status::Unknown => ask_again(failure),
        _ => failure,
    })?;
    let schema = keyway.runtime().schema();
    let (status, failure) = refusal(&reply.answer);
    let mut answer = if form.json {
        Answer::done(json::text(&reply.answer.to_json(schema)?))
    } else {
        let shown = shown(&reply.answer, &ready.prepared, schema, terminal::width())?;
        let next = shown.next.map(|next| format!("note: more rows follow: cursor={next}\n"));
        Answer { complaint: next.unwrap_or_default(), ..Answer::done(shown.text) }
    };
    answer.failures.extend(failure);
    Ok(Answer { status, ..answer })
}

/// How to find out what became of a change: the same command with its id.
fn ask_again(failure: Failure) -> Failure {
    ask_again_by(failure, std::env::args())
}

fn ask_again_by(failure: Failure, words: impl Iterator<Item = String>) -> Failure {
    let mut words: Vec<String> = words.map(|word| quoted(&word)).collect();
    if let (Some(id), false) = (failure.value("id"), words.iter().any(|word| word == "--id")) {
        words.push(format!("--id {id}"));
    }
    failure.with_fix(format!("ask again, which changes nothing twice:\n  {}", words.join(" ")))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_change_them() {
        assert_eq!(quoted("title=Milk"), "title=Milk");
        assert_eq!(quoted("it's [1]"), "'it'\\''s [1]'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn an_outcome_that_is_not_known_can_be_asked_for() {
        let error = data::Error::new(data::ErrorKind::Indeterminate, "the outcome is not known");
        let failure = Failure::from(error.with("id", "01a1"));
        assert_eq!(failure.status.number(), 5);
        let words = ["keyway", "run", "a b.toml", "view"].map(str::to_string).into_iter();
        let told = ask_again_by(failure, words).text();
        assert!(told.contains("\n  id: 01a1\n"), "{told}");
        assert!(told.ends_with(":\n  keyway run 'a b.toml' view --id 01a1\n"), "{told}");
    }
}
