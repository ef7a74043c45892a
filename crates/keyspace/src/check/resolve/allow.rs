//! Who may: `allow`, and what the caller then fills.

use super::Resolver;
use super::collections::members;
use super::keys::is_caller_type;
use crate::check::scope::Scope;
use crate::check::typing::Typer;
use crate::diagnostic::{Diagnostic, codes, listed};
use crate::model::{Allow, Argument, ArgumentRole, Collection, Member, Verb};
use crate::parse::AllowTree;
use crate::source::{Span, Spanned};

impl Resolver<'_> {
    /// What `allow` says, or the default of a collection.
    pub(super) fn allow(
        &mut self,
        written: Option<&AllowTree>,
        collection: Option<&Collection>,
        verb: Verb,
    ) -> Allow {
        // An owner that could not be resolved has been reported.
        let owned = collection.is_some_and(|collection| {
            let tree = self.tree.collections.iter();
            let mut named = tree.filter(|tree| tree.name.value == collection.name.value);
            collection.owner.is_some() || named.any(|tree| tree.owner.is_some())
        });
        let usual = if owned { Allow::Owner } else { Allow::User };
        match written {
            None => usual,
            Some(AllowTree::Word(word)) => self.allow_word(word, owned, verb).unwrap_or(usual),
            Some(AllowTree::Member { member, caller, condition, span }) => {
                let found = self.member(member.as_ref(), caller.as_ref(), *span);
                match found {
                    Some((collection, caller)) => {
                        if let Some(condition) = condition {
                            let scope = Scope {
                                members: Some(members(&collection)),
                                outside_world: true,
                                arguments: Some(Vec::new()),
                                ..Scope::default()
                            };
                            Typer { scope: &scope, problems: self.problems }.condition(condition);
                        }
                        Allow::Member(Member {
                            collection: collection.name.value.clone(),
                            caller,
                            condition: condition.clone(),
                        })
                    }
                    None => usual,
                }
            }
        }
    }

    fn allow_word(&mut self, word: &Spanned<String>, owned: bool, verb: Verb) -> Option<Allow> {
        let text = word.value.as_str();
        let allow = match text {
            "owner" => Allow::Owner,
            "user" => Allow::User,
            "public" => Allow::Public,
            "step" => Allow::Step,
            _ => match text.strip_prefix("role:") {
                Some(role) if is_role(role) => Allow::Role(role.to_string()),
                _ => {
                    let message = format!("`{text}` says nothing about who may");
                    let words = ["owner", "user", "public", "step"];
                    let problem = Diagnostic::new(&codes::BAD_ALLOW, word.span, message)
                        .suggest(word.span, text, words);
                    let problem = match is_role(text) && problem.fixes.is_empty() {
                        true => problem.replace("a role is", word.span, format!("role:{text}")),
                        false => problem,
                    };
                    self.report(
                        problem
                            .fix("write owner, user, role:NAME, public, step, or { member = … }"),
                    );
                    return None;
                }
            },
        };
        if allow == Allow::Public && !verb.is_read() {
            let message = format!("`{verb}` is a write, and writes are never public");
            self.report(Diagnostic::new(&codes::PUBLIC_WRITE, word.span, message).replace(
                "ask for a token",
                word.span,
                "user",
            ));
        }
        if allow == Allow::Owner && !owned && verb != Verb::Atomic {
            let message = "nobody owns these rows";
            self.report(
                Diagnostic::new(&codes::BAD_ALLOW, word.span, message)
                    .fix("declare the collection's `owner`")
                    .replace("or let any caller", word.span, "user"),
            );
        }
        Some(allow)
    }

    fn member(
        &mut self,
        member: Option<&Spanned<String>>,
        caller: Option<&Spanned<String>>,
        span: Span,
    ) -> Option<(std::sync::Arc<Collection>, String)> {
        let form = "write it as `{ member = \"guild_members\", caller = \"user_id\" }`";
        let (Some(member), Some(caller)) = (member, caller) else {
            let message = "a membership names a collection and the segment that is the caller";
            self.report(Diagnostic::new(&codes::BAD_MEMBER, span, message).fix(form));
            return None;
        };
        let found = self.collections.iter().find(|c| c.name.value == member.value).cloned();
        let Some(collection) = found else {
            let declared: Vec<&str> =
                self.tree.collections.iter().map(|tree| tree.name.value.as_str()).collect();
            if !declared.contains(&member.value.as_str()) {
                let message = format!("there is no collection `{}`", member.value);
                let problem = Diagnostic::new(&codes::BAD_MEMBER, member.span, message)
                    .suggest(member.span, &member.value, declared.iter().copied())
                    .fix(form);
                self.report(problem);
            }
            return None;
        };
        let Some(segment) = collection.key.segment(&caller.value) else {
            let names: Vec<&str> = collection.key.segments().map(|s| s.name.as_str()).collect();
            let message =
                format!("`{}` is no segment of the key of `{}`", caller.value, member.value);
            self.report(
                Diagnostic::new(&codes::BAD_MEMBER, caller.span, message)
                    .suggest(caller.span, &caller.value, names.iter().copied())
                    .fix(format!("its segments are {}", listed(names.iter().copied()))),
            );
            return None;
        };
        if !is_caller_type(&segment.segment_type) {
            let message =
                format!("`{}` is `{}`, no caller's id", segment.name, segment.segment_type);
            self.report(
                Diagnostic::new(&codes::BAD_MEMBER, caller.span, message)
                    .also(segment.span, "declared here")
                    .fix("name the segment that holds who calls"),
            );
            return None;
        }
        Some((collection, caller.value.clone()))
    }

    /// Reports a membership whose row cannot be found from the call.
    pub(super) fn check_member(
        &mut self,
        allow: &Allow,
        known: &[String],
        arguments: &[Argument],
        written: Option<&AllowTree>,
    ) {
        let Allow::Member(member) = allow else { return };
        let Some(AllowTree::Member { span, .. }) = written else { return };
        let Some(collection) =
            self.collections.iter().find(|c| c.name.value == member.collection).cloned()
        else {
            return;
        };
        for segment in collection.key.segments().filter(|segment| segment.name != member.caller) {
            // Only what leads to the row itself counts: an argument beside it could name any club.
            let given = known.contains(&segment.name)
                || arguments.iter().any(|a| a.name == segment.name && a.role == ArgumentRole::Key);
            if !given && segment.default.is_none() {
                let message = format!(
                    "a call does not say `{}`, which the row in `{}` needs",
                    segment.name, member.collection
                );
                self.report(
                    Diagnostic::new(&codes::BAD_MEMBER, *span, message)
                        .also(segment.span, "the segment")
                        .fix(format!(
                            "put `{{{}: {}}}` into the key of the rows it is about",
                            segment.name, segment.segment_type
                        ))
                        .fix("or allow a role: `allow = \"role:…\"`"),
                );
            }
        }
    }
}

fn is_role(role: &str) -> bool {
    !role.is_empty()
        && role.len() <= 48
        && role
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-')
}
