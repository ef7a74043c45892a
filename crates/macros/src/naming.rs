//! Every name of the generated module, chosen before a line of it is written.
//!
//! ```text
//! keyspace ─▶ client, its caller │ a row a collection │ enums by member and words
//! ```

use crate::names::{Names, capitals, row};
use keyspace::model::{Argument, ArgumentRole, Collection, Keyspace, Pattern, Type};
use std::collections::BTreeMap;

/// The names of the module.
pub struct Naming {
    /// The type that a keyspace is opened as.
    pub client: String,
    /// The type on which patterns are called.
    pub caller: String,
    rows: BTreeMap<String, String>,
    enums: Vec<EnumNamed>,
    names: Names,
}

/// An enum of the file, named.
pub struct EnumNamed {
    /// The segment, field or argument it is the type of.
    pub member: String,
    /// Its words.
    pub words: Vec<String>,
    /// Its name.
    pub name: String,
}

impl Naming {
    /// Names for everything in a keyspace.
    pub fn new(keyspace: &Keyspace) -> Self {
        let mut naming = Naming {
            client: String::new(),
            caller: String::new(),
            rows: BTreeMap::new(),
            enums: Vec::new(),
            names: Names::default(),
        };
        naming.name_rows(keyspace);
        let client = capitals(&keyspace.name.value);
        naming.client = naming.claim(&[client.clone(), format!("{client}Client")]);
        naming.caller = naming.claim(&[format!("{}Caller", naming.client)]);
        naming.name_enums_of_members(keyspace);
        for pattern in &keyspace.patterns {
            naming.name_enums_of_arguments(pattern, &pattern.arguments);
        }
        naming
    }

    /// A type of the module that only one pattern uses: its name and an ending.
    pub fn of_pattern(&mut self, pattern: &Pattern, ending: &str) -> String {
        self.claim(&[format!("{}{ending}", capitals(&pattern.name.value))])
    }

    /// The struct of a collection's rows.
    pub fn row(&self, collection: &Collection) -> &str {
        self.rows.get(&collection.name.value).map(String::as_str).unwrap_or_default()
    }

    /// Every enum, in the order of the file.
    pub fn enums(&self) -> &[EnumNamed] {
        &self.enums
    }

    /// The Rust type of a member or argument.
    pub fn rust(&self, member: &str, of: &Type) -> String {
        match of {
            Type::Text => "::std::string::String".to_string(),
            Type::Bytes => "::keyway::Bytes".to_string(),
            Type::Bool => "bool".to_string(),
            Type::I64 => "i64".to_string(),
            Type::U64 => "u64".to_string(),
            Type::F64 => "f64".to_string(),
            Type::Uuid => "::keyway::Uuid".to_string(),
            Type::TimeUuid => "::keyway::TimeUuid".to_string(),
            Type::Ulid => "::keyway::Ulid".to_string(),
            Type::Timestamp => "::keyway::Timestamp".to_string(),
            Type::Date => "::keyway::Date".to_string(),
            Type::Json => "::keyway::Json".to_string(),
            Type::Duration => "::std::time::Duration".to_string(),
            Type::Path => "::std::vec::Vec<::std::string::String>".to_string(),
            Type::List(inner) => format!("::std::vec::Vec<{}>", self.rust(member, inner)),
            Type::Optional(inner) => {
                format!("::std::option::Option<{}>", self.rust(member, inner))
            }
            Type::Enum(words) => self.enum_of(member, words).unwrap_or_default().to_string(),
        }
    }

    fn claim(&mut self, wanted: &[String]) -> String {
        self.names.claim(wanted)
    }

    /// Rows are called like one of their collection, unless two collections would share a name.
    fn name_rows(&mut self, keyspace: &Keyspace) {
        let collections = runnable(keyspace);
        for collection in &collections {
            let name = &collection.name.value;
            let wanted = row(name);
            let alike = collections.iter().filter(|other| row(&other.name.value) == wanted);
            let claimed = match alike.count() {
                1 => self.claim(&[wanted, capitals(name)]),
                _ => self.claim(&[capitals(name)]),
            };
            self.rows.insert(name.clone(), claimed);
        }
    }

    fn name_enums_of_members(&mut self, keyspace: &Keyspace) {
        let mut found: Vec<(String, Vec<String>, Vec<String>)> = Vec::new();
        for collection in runnable(keyspace) {
            let row = self.row(collection).to_string();
            for (member, of) in members(collection) {
                let Some(words) = words_of(of) else { continue };
                let known =
                    found.iter_mut().find(|(name, known, _)| *name == member && known == words);
                match known {
                    Some((_, _, rows)) => rows.push(row.clone()),
                    None => found.push((member, words.to_vec(), vec![row.clone()])),
                }
            }
        }
        for (member, words, rows) in found {
            let own = capitals(&member);
            let wanted = match rows.as_slice() {
                [row] => vec![format!("{row}{own}")],
                _ => vec![own.clone(), format!("{own}Word")],
            };
            let name = self.claim(&wanted);
            self.enums.push(EnumNamed { member, words, name });
        }
    }

    /// Arguments share the enum of their member, or one of the same words; others have their own.
    fn name_enums_of_arguments(&mut self, pattern: &Pattern, arguments: &[Argument]) {
        for argument in arguments {
            if let ArgumentRole::Rows(each) = &argument.role {
                self.name_enums_of_arguments(pattern, each);
            }
            let Some(words) = words_of(&argument.argument_type) else { continue };
            if self.enum_of(&argument.name, words).is_some() {
                continue;
            }
            let (member, words) = (argument.name.clone(), words.to_vec());
            let ending = capitals(&member);
            let name = self.of_pattern(pattern, &ending);
            self.enums.push(EnumNamed { member, words, name });
        }
    }

    fn enum_of(&self, member: &str, words: &[String]) -> Option<&str> {
        let exact = self.enums.iter().find(|e| e.member == member && e.words == words);
        let found = exact.or_else(|| self.enums.iter().find(|e| e.words == words));
        found.map(|found| found.name.as_str())
    }
}

/// The collections whose rows can be read and written: histories cannot, yet.
pub fn runnable(keyspace: &Keyspace) -> Vec<&Collection> {
    let collections = keyspace.collections.iter().map(|collection| collection.as_ref());
    collections.filter(|collection| collection.history.is_none()).collect()
}

/// Everything a row has, in the order in which answers show it: segments, fields or value, body.
pub fn members(collection: &Collection) -> Vec<(String, &Type)> {
    use keyspace::model::{BodyType, Content};
    let segments = collection.key.segments().map(|s| (s.name.clone(), &s.segment_type));
    let fields = collection.fields().iter().map(|f| (f.name.clone(), &f.field_type));
    let value = match collection.content {
        Content::Json => Some(&Type::Json),
        Content::Text => Some(&Type::Text),
        Content::Bytes => Some(&Type::Bytes),
        Content::Counter | Content::Window { .. } => Some(&Type::I64),
        Content::Keys | Content::Fields(_) => None,
    };
    let body = collection.body.map(|body| match body {
        BodyType::Bytes => &Type::Bytes,
        BodyType::Text => &Type::Text,
    });
    let value = value.map(|of| ("value".to_string(), of));
    let body = body.filter(|_| value.is_none()).map(|of| ("body".to_string(), of));
    segments.chain(fields).chain(value).chain(body).collect()
}

/// The words of an enum, also inside a list or an optional.
fn words_of(of: &Type) -> Option<&[String]> {
    match of {
        Type::Enum(words) => Some(words),
        Type::List(inner) | Type::Optional(inner) => words_of(inner),
        _ => None,
    }
}
