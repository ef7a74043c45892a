//! Structs of rows, and the enums their members have.

use crate::code::{Code, sentence, words};
use crate::names::{Names, capitals, identifier};
use crate::naming::{EnumNamed, Naming, members};
use keyspace::model::{Collection, Keyspace, Pattern, Type};

/// The struct of a collection's rows.
pub fn row(code: &mut Code, naming: &Naming, keyspace: &Keyspace, collection: &Collection) {
    let name = &collection.name.value;
    let template = collection.key.template(keyspace.separator);
    let mut docs = vec![format!("A row of `{name}`: `{template}`.")];
    docs.extend(collection.notes.as_deref().map(words));
    code.docs(docs);
    let segments = collection.key.segments().count();
    let place = |position| if position < segments { "segment" } else { "field" };
    fields(code, naming, (naming.row(collection), place), &members(collection));
}

/// The struct of the rows of a pattern that answers some members only.
pub fn partial(code: &mut Code, naming: &Naming, pattern: &Pattern, name: &str) {
    let Some(target) = &pattern.target else { return };
    let all = members(&target.collection);
    let asked = pattern.fields.iter().flatten();
    let asked = asked.filter_map(|field| all.iter().find(|(own, _)| *own == field.value));
    let asked: Vec<(String, &Type)> = asked.cloned().collect();
    code.docs([format!(
        "What `{}` answers of a row of `{}`.",
        pattern.name.value, target.collection.name.value
    )]);
    fields(code, naming, (name, |_| "any"), &asked);
}

/// A struct, and how it is made: `place` says where the member at a position comes from.
fn fields(
    code: &mut Code,
    naming: &Naming,
    (name, place): (&str, impl Fn(usize) -> &'static str),
    members: &[(String, &Type)],
) {
    let mut taken = Names::default();
    let named: Vec<(String, &str, &Type)> = members
        .iter()
        .map(|(member, of)| (taken.claim(&[identifier(member)]), member.as_str(), *of))
        .collect();
    code.line("#[allow(dead_code)]");
    code.line("#[derive(Clone, Debug, PartialEq)]");
    code.open(format!("pub struct {name} {{"));
    for (identifier, member, of) in &named {
        code.docs([format!("`{}`", member_text(member, of))]);
        code.line(format!("pub {identifier}: {},", naming.rust(member, of)));
    }
    code.close("}");
    code.line("");
    code.open(format!("impl ::keyway::typed::Row for {name} {{"));
    code.line("const IS_OF_MEMBERS: bool = true;");
    code.line("");
    code.line("#[inline(always)]");
    code.open("fn from_members<M: ::keyway::typed::Members>(");
    let members = if named.is_empty() { "_members" } else { "members" };
    code.line(format!("{members}: &mut M,"));
    code.line("_version: ::std::option::Option<::keyway::Version>,");
    code.turn(") -> ::std::result::Result<Self, M::Error> {");
    let all: Vec<String> = named
        .iter()
        .enumerate()
        .map(|(at, (identifier, _, _))| format!("{identifier}: members.{}()?", place(at)))
        .collect();
    match all.is_empty() {
        true => code.line(format!("::std::result::Result::Ok({name} {{}})")),
        false => {
            code.open(format!("::std::result::Result::Ok({name} {{"));
            all.iter().for_each(|one| code.line(format!("{one},")));
            code.close("})");
        }
    }
    code.close("}");
    code.close("}");
    code.line("");
}

/// `title: text`, as in the file.
fn member_text(member: &str, of: &Type) -> String {
    format!("{member}: {of}")
}

/// An enum: its words as variants, and the way to text and back.
pub fn enumeration(code: &mut Code, of: &EnumNamed) {
    let mut taken = Names::default();
    let variants: Vec<(String, &str)> =
        of.words.iter().map(|word| (taken.claim(&[capitals(word)]), word.as_str())).collect();
    let name = &of.name;
    code.docs([sentence(&format!("A value of `{}`", of.member))]);
    code.line("#[allow(dead_code)]");
    code.line("#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]");
    code.open(format!("pub enum {name} {{"));
    for (variant, word) in &variants {
        code.docs([format!("`{word}`")]);
        code.line(format!("{variant},"));
    }
    code.close("}");
    code.line("");
    code.open(format!("impl ::keyway::typed::Word for {name} {{"));
    code.line(format!("const NAME: &'static str = {:?};", of.member));
    code.open("const ALL: &'static [(Self, &'static str)] = &[");
    variants
        .iter()
        .for_each(|(variant, word)| code.line(format!("({name}::{variant}, {word:?}),")));
    code.close("];");
    code.close("}");
    code.line("");
    code.line(format!("::keyway::typed_word!({name});"));
    code.line("");
}
