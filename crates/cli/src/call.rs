//! A call as it is typed: `PATTERN name=value …`, made ready and made.
//!
//! ```text
//! title=Milk              a text, by the argument's type
//! tags=["a","b"]          JSON, where the type is a list, JSON or rows
//! picture=@cat.png        what a file holds; `@-` is standard input
//! note:=null  note:="@x"  JSON, whatever the type
//! ```

use crate::failure::Failure;
use data::request::{Call, Given, Prepared, Reply};
use data::store::CommitId;
use data::value::strict;
use data::{Caller, Value};
use keyspace::model::{Argument, ArgumentRole, Keyspace, Pattern, Type};
use keyway::Keyway;
use std::fs;
use std::io::{self, Read};
use std::sync::Arc;

/// An argument as it is typed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Typed {
    /// Its name, as people see it.
    pub(crate) name: String,
    /// What is given for it.
    pub(crate) value: TypedValue,
}

/// What is typed for an argument.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TypedValue {
    /// A text, read by the argument's type.
    Text(String),
    /// JSON.
    Json(serde_json::Value),
    /// What a file holds; `-` is standard input.
    File(String),
}

impl Typed {
    /// An argument from one word of a command line.
    pub(crate) fn from_word(word: &str) -> Result<Typed, Failure> {
        let Some((name, value)) = word.split_once('=') else {
            let problem = format!("`{word}` is no argument");
            return Err(Failure::usage(
                problem,
                "write name=value; keyway explain lists the names",
            ));
        };
        let value = match (name.strip_suffix(':'), value.strip_prefix('@')) {
            (Some(_), _) => TypedValue::Json(strict::in_text(value).map_err(|error| {
                let problem = format!("what follows `{name}=` is not JSON: {error}");
                Failure::usage(problem, "write a text with `=` alone")
            })?),
            (None, Some(path)) => TypedValue::File(path.to_string()),
            (None, None) => TypedValue::Text(value.to_string()),
        };
        Ok(Typed { name: name.strip_suffix(':').unwrap_or(name).to_string(), value })
    }
}

/// A call that can be made.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    /// The pattern.
    pub(crate) prepared: Arc<Prepared>,
    /// What is given for each argument.
    pub(crate) given: Vec<Given>,
    /// The id, where one is chosen.
    pub(crate) id: Option<CommitId>,
}

impl Ready {
    /// A call of a pattern with what is typed. `may_read_input` says whether `@-` is free.
    pub(crate) fn new(
        keyway: &Keyway,
        pattern: &str,
        typed: &[Typed],
        may_read_input: bool,
    ) -> Result<Ready, Failure> {
        let prepared = prepared(keyway, pattern)?;
        let keyspace = keyway.keyspace();
        let mut texts = Vec::new();
        let mut objects = serde_json::Map::new();
        for one in typed {
            if objects.contains_key(&one.name) || texts.iter().any(|(name, _)| *name == one.name) {
                let problem = format!("the argument `{}` is given twice", one.name);
                return Err(Failure::usage(problem, "give it once"));
            }
            match &one.value {
                TypedValue::Text(text) => texts.push((one.name.clone(), text.clone())),
                TypedValue::Json(json) => {
                    objects.insert(one.name.clone(), json.clone());
                }
                TypedValue::File(path) => {
                    let of = argument_type(keyspace, &prepared, &one.name);
                    texts.push((one.name.clone(), read(path, of, may_read_input)?));
                }
            }
        }
        let wrong = |error: data::Error| Failure::of_call(&error, keyspace, &prepared);
        let mut given = prepared.given_from_text(keyspace, &texts).map_err(wrong)?;
        let others = prepared.given_from_json(keyspace, &objects).map_err(wrong)?;
        for (slot, other) in given.iter_mut().zip(others) {
            if other != Given::Missing {
                *slot = other;
            }
        }
        Ok(Ready { prepared, given, id: None })
    }

    /// A call of a pattern with an object of arguments.
    pub(crate) fn from_object(
        keyway: &Keyway,
        prepared: &Arc<Prepared>,
        object: &serde_json::Map<String, serde_json::Value>,
    ) -> Result<Ready, Failure> {
        let keyspace = keyway.keyspace();
        let given = prepared.given_from_json(keyspace, object);
        let given = given.map_err(|error| Failure::of_call(&error, keyspace, prepared))?;
        Ok(Ready { prepared: prepared.clone(), given, id: None })
    }

    /// The same call of a list, going on where a page ended.
    pub(crate) fn after(&self, cursor: &str) -> Ready {
        let mut next = self.clone();
        let arguments = &self.prepared.pattern.arguments;
        let place = arguments.iter().position(|argument| argument.name == "cursor");
        if let Some(slot) = place.and_then(|place| next.given.get_mut(place)) {
            *slot = Given::Value(Value::Text(cursor.to_string()));
        }
        next
    }

    /// Makes the call.
    pub(crate) async fn make(&self, keyway: &Keyway, caller: &Caller) -> Result<Reply, Failure> {
        let mut call = Call::new(&self.prepared, self.given.clone(), caller);
        call.id = self.id;
        let reply = keyway.runtime().call(call).await;
        reply.map_err(|error| Failure::of_call(&error, keyway.keyspace(), &self.prepared))
    }
}

/// The pattern of a name.
pub(crate) fn prepared(keyway: &Keyway, name: &str) -> Result<Arc<Prepared>, Failure> {
    let found = keyway.runtime().pattern(name).cloned();
    found.map_err(|_| Failure::no_pattern(keyway.keyspace(), name))
}

fn argument_type<'a>(keyspace: &Keyspace, prepared: &'a Prepared, name: &str) -> Option<&'a Type> {
    let mut arguments = prepared.pattern.arguments.iter();
    let argument = arguments.find(|argument| keyspace.shown(&argument.name) == name)?;
    Some(argument.argument_type.required())
}

/// What a file holds, as the text of a value of a type.
fn read(path: &str, of: Option<&Type>, may_read_input: bool) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = match path {
        "-" if !may_read_input => {
            let problem = "standard input is read for something else already";
            return Err(Failure::usage(problem, "give the value in a file: name=@FILE"));
        }
        "-" => io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes),
        _ => fs::read(path),
    };
    let bytes = read.map_err(|error| {
        let fix = "give a file that can be read; a text that begins with @ is name:='\"@…\"'";
        Failure::usage(format!("cannot read {path}: {error}"), fix)
    })?;
    if of == Some(&Type::Bytes) {
        return Ok(Value::Bytes(bytes.into()).to_text(&Type::Bytes));
    }
    String::from_utf8(bytes).map_err(|_| {
        let problem = format!("{path} is no text, and the argument takes no bytes");
        Failure::usage(problem, "give a file in UTF-8")
    })
}

/// How a pattern is called: `read_messages channel_id=timeuuid [limit=u64]`.
pub(crate) fn signature(keyspace: &Keyspace, pattern: &Pattern) -> String {
    let mut text = pattern.name.value.clone();
    let callers = |argument: &&Argument| argument.role != ArgumentRole::WindowRule;
    let (required, optional): (Vec<_>, Vec<_>) =
        pattern.arguments.iter().filter(callers).partition(|argument| argument.required);
    for argument in required {
        text.push_str(&format!(" {}", parameter(keyspace, argument)));
    }
    for argument in optional {
        text.push_str(&format!(" [{}]", parameter(keyspace, argument)));
    }
    text
}

fn parameter(keyspace: &Keyspace, argument: &Argument) -> String {
    let name = keyspace.shown(&argument.name);
    let ArgumentRole::Rows(each) = &argument.role else {
        return format!("{name}={}", argument.argument_type.required());
    };
    let member = |one: &Argument| {
        let mark = if one.required { "" } else { "?" };
        format!("{}{mark}: {}", keyspace.shown(&one.name), one.argument_type.required())
    };
    format!("{name}=[{{{}}}]", each.iter().map(member).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_arguments() {
        let typed = |word: &str| Typed::from_word(word).unwrap();
        let text = |text: &str| TypedValue::Text(text.to_string());
        assert_eq!(typed("a=b=c").value, text("b=c"));
        assert_eq!(typed("a=").value, text(""));
        assert_eq!(typed("url=http://x:=y").value, text("http://x:=y"));
        assert_eq!(typed("a=@f").value, TypedValue::File("f".to_string()));
        let json = typed("a:=[1]");
        assert_eq!((json.name.as_str(), json.value), ("a", TypedValue::Json([1].into())));
        assert!(Typed::from_word("a").unwrap_err().text().contains("name=value"));
        assert!(Typed::from_word("a:=x").unwrap_err().text().contains("`a:=`"));
    }
}
