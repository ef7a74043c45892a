//! What a shell remembers between two lines, and how it answers one.

use super::words::{COMMANDS, Line, line};
use crate::answer::{Answer, Form};
use crate::arguments::CallerOptions;
use crate::call::{Ready, Typed, prepared, signature};
use crate::failure::Failure;
use crate::json;
use crate::open::Opened;
use crate::shown::{refusal, shown};
use crate::table::{Table, list};
use crate::terminal;
use data::request::Answer as Answered;
use keyspace::model::{Keyspace, Pattern};
use keyspace::plan::{explain, plan};
use serde_json::json;
use std::sync::Arc;

/// A shell between two lines.
pub(super) struct Session {
    opened: Opened,
    caller: CallerOptions,
    form: Form,
    at_prompt: bool,
    /// The last list and where its next page begins.
    next: Option<(Ready, String)>,
}

impl Session {
    pub(super) fn new(
        opened: Opened,
        caller: CallerOptions,
        form: Form,
        at_prompt: bool,
    ) -> Session {
        Session { opened, caller, form, at_prompt, next: None }
    }

    pub(super) fn keyspace(&self) -> &Arc<Keyspace> {
        self.opened.keyway.keyspace()
    }

    /// What stands before a line.
    pub(super) fn prompt(&self) -> String {
        let caller = self.caller.user.as_ref().map(|user| format!(" ({user})"));
        format!("{}{}> ", self.keyspace().name.value, caller.unwrap_or_default())
    }

    pub(super) fn greeting(&self) -> String {
        let count = self.keyspace().patterns.len();
        format!("{}, {count} patterns; `help` lists the commands\n", self.address())
    }

    fn address(&self) -> String {
        self.opened.keyway.store().address
    }

    /// Lets go of the store.
    pub(super) fn close(self, answer: Answer) -> Answer {
        self.opened.close(answer)
    }

    /// Answers a line; nothing if it ends the shell.
    pub(super) fn line(&mut self, text: &str) -> Option<Answer> {
        let answer = match line(text) {
            Ok(Line::Command("quit" | "exit", _)) => return None,
            Ok(Line::Blank) => Ok(Answer::done("")),
            Ok(Line::Command(name, words)) => self.command(name, &words),
            Ok(Line::Call(pattern, typed)) => self.call(&pattern, &typed),
            Err(failure) => Err(failure),
        };
        Some(answer.unwrap_or_else(Answer::failed))
    }

    fn command(&mut self, name: &str, words: &[String]) -> Result<Answer, Failure> {
        match (name, words) {
            ("next", []) => self.next_page(),
            ("patterns", []) => Ok(self.patterns()),
            ("help", []) => Ok(self.help()),
            ("help", [pattern]) => self.help_of(pattern),
            ("explain", [pattern]) => self.explain(pattern),
            ("as", [] | [_]) => {
                self.caller.user = words.first().cloned();
                Ok(self.who())
            }
            ("tenant", [] | [_]) => {
                self.caller.tenant = words.first().cloned();
                Ok(self.who())
            }
            ("role", roles) => {
                self.caller.role = roles.to_vec();
                Ok(self.who())
            }
            ("store", []) => Ok(self.said(&json!({ "store": self.address() }), &self.address())),
            ("store", [url]) => {
                self.next = None;
                self.opened.on(url, self.form)?;
                Ok(self.remark(&format!("on {}", self.address())))
            }
            _ => {
                let known = COMMANDS.iter().find(|(known, _, _)| *known == name);
                let after = known.map(|(_, after, _)| *after).unwrap_or_default();
                let fix = format!("{name} {after}");
                Err(Failure::usage(format!("`{name}` is not used so"), fix.trim_end()))
            }
        }
    }

    fn call(&mut self, pattern: &str, typed: &[Typed]) -> Result<Answer, Failure> {
        if pattern.is_empty() {
            return Err(Failure::usage("there is no pattern to call", "call PATTERN …"));
        }
        let ready = Ready::new(&self.opened.keyway, pattern, typed, false)?;
        self.make(ready)
    }

    fn next_page(&mut self) -> Result<Answer, Failure> {
        let Some((ready, cursor)) = &self.next else {
            let fix = "call a list first; a short page is the last";
            return Err(Failure::usage("there is no next page", fix));
        };
        self.make(ready.after(cursor))
    }

    fn make(&mut self, ready: Ready) -> Result<Answer, Failure> {
        let keyway = &self.opened.keyway;
        let reply = self.opened.wait(ready.make(keyway, &self.caller.caller()))?;
        let schema = keyway.runtime().schema();
        let (status, failure) = refusal(&reply.answer);
        let mut answer = if self.form.json {
            Answer::done(json::line(&reply.answer.to_json(schema)?))
        } else {
            let shown = shown(&reply.answer, &ready.prepared, schema, terminal::width())?;
            Answer::done(shown.text)
        };
        if let Answered::Page { next, .. } = reply.answer {
            self.next = next.map(|next| (ready, next.into()));
            if self.next.is_some() && self.at_prompt && !self.form.json {
                answer.output.push_str("more rows follow: next\n");
            }
        }
        answer.failures.extend(failure);
        Ok(Answer { status, ..answer })
    }

    /// Something a person wants to be told, and a script does not.
    fn remark(&self, text: &str) -> Answer {
        match self.at_prompt && !self.form.json {
            true => Answer::done(format!("{text}\n")),
            false => Answer::done(""),
        }
    }

    fn said(&self, object: &serde_json::Value, text: &str) -> Answer {
        match self.form.json {
            true => Answer::done(json::line(object)),
            false => Answer::done(format!("{}\n", text.trim_end())),
        }
    }

    fn who(&self) -> Answer {
        let CallerOptions { user, tenant, role } = &self.caller;
        let mut text = format!("calling as {}", user.as_deref().unwrap_or("nobody"));
        if let Some(tenant) = tenant {
            text.push_str(&format!(", tenant {tenant}"));
        }
        if !role.is_empty() {
            text.push_str(&format!(", roles {}", role.join(" ")));
        }
        self.remark(&text)
    }

    fn patterns(&self) -> Answer {
        let keyspace = self.keyspace();
        let target = |pattern: &Pattern| match &pattern.target {
            Some(target) => format!("{} {}", pattern.verb, target.text()),
            None => pattern.verb.to_string(),
        };
        let patterns = || keyspace.patterns.iter();
        let objects = patterns().map(|one| {
            json!({
                "name": one.name.value,
                "does": target(one),
                "allow": one.allow.to_string(),
                "usage": signature(keyspace, one),
                "about": one.about,
            })
        });
        let object = json!({ "patterns": objects.collect::<Vec<_>>() });
        let rows = patterns().map(|one| {
            let about = one.about.clone().unwrap_or_default();
            vec![one.name.value.clone(), target(one), one.allow.to_string(), about]
        });
        let columns = ["pattern", "does", "allow", "about"].map(str::to_string).to_vec();
        let table = Table { columns, rows: rows.collect() };
        self.said(&object, &table.text(terminal::width()))
    }

    fn help(&self) -> Answer {
        let commands =
            || COMMANDS.iter().map(|(name, after, does)| (format!("{name} {after}"), *does));
        let objects =
            commands().map(|(usage, does)| json!({ "usage": usage.trim_end(), "does": does }));
        let object = json!({ "commands": objects.collect::<Vec<_>>() });
        let mut names = vec![("PATTERN name=value …".to_string(), "calls a pattern".to_string())];
        names.extend(commands().map(|(name, does)| (name, does.to_string())));
        let pairs: Vec<(&str, String)> =
            names.iter().map(|(name, does)| (name.as_str(), does.clone())).collect();
        let values = "\nA value is a text (\"with spaces\"), JSON (tags=[\"a\"]), a file (@FILE), \
                      or any JSON after `:=`.\n";
        self.said(&object, &format!("{}{values}", list(&pairs, None)))
    }

    fn help_of(&self, name: &str) -> Result<Answer, Failure> {
        let prepared = prepared(&self.opened.keyway, name)?;
        let pattern = &prepared.pattern;
        let usage = signature(self.keyspace(), pattern);
        let about = pattern.about.clone().unwrap_or_default();
        let object = json!({ "usage": usage, "about": pattern.about });
        Ok(self.said(&object, &format!("{usage}\n{about}")))
    }

    fn explain(&self, name: &str) -> Result<Answer, Failure> {
        let prepared = prepared(&self.opened.keyway, name)?;
        let keyspace = self.keyspace();
        let kind = self.opened.keyway.store().kind;
        let text = explain::text(keyspace, &plan(keyspace, &prepared.pattern), Some(kind));
        Ok(self.said(&json!({ "pattern": name, "text": text }), &text))
    }
}
