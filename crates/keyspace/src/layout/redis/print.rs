//! Prints a Redis layout: every key with its type, what it is for, and a command that writes one.

use super::super::sheet::Sheet;
use super::{
    CALL, CALL_MILLISECONDS, Container, EXPIRY, MARKER, MARKER_FIELDS, MemberForm, NULLS, ROW,
    RedisType, Role, containers, entry_key, extra_fields, has_trails, member_parts,
};
use crate::model::{Collection, Content, Index, Key, Keyspace, Part, Segment, StoreKind};

/// The layout of a keyspace on one Redis server or on a cluster, as text.
pub fn print(keyspace: &Keyspace, store: StoreKind) -> String {
    let page = Page { keyspace, store, cluster: store == StoreKind::RedisCluster };
    let mut sheet = Sheet::new(keyspace, store);
    sheet.gap();
    page.legend(&mut sheet);
    let all = containers(keyspace, store);
    for collection in &keyspace.collections {
        sheet.collection(keyspace, collection);
        for container in all.iter().filter(|c| c.serves.collection == collection.name.value) {
            page.container(&mut sheet, collection, container);
        }
    }
    sheet.gap();
    sheet.line(0, "for the whole database (helpers)");
    sheet.line(1, &format!("{:<11} {MARKER}", RedisType::Hash));
    sheet.line(2, "the keyspace it belongs to, its numbers and places; another is refused");
    let [name, ..] = MARKER_FIELDS;
    sheet.line(2, &format!("> HSET {MARKER} {name} {}", keyspace.name.value));
    let separator = keyspace.separator;
    let place = if page.cluster { format!("{{<place>}}{separator}") } else { String::new() };
    let id = if page.cluster { "<id>" } else { "{id}" };
    sheet.line(1, &format!("{:<11} {CALL}{separator}{place}{id}", RedisType::String));
    let minutes = CALL_MILLISECONDS / 60_000;
    sheet.line(
        2,
        &format!("a call that was done, remembered for {minutes} minutes so that it is done once"),
    );
    sheet.finish()
}

/// What is printed, and for which of the two.
pub(super) struct Page<'a> {
    pub keyspace: &'a Keyspace,
    pub store: StoreKind,
    pub cluster: bool,
}

impl Page<'_> {
    fn legend(&self, sheet: &mut Sheet) {
        let escaped = format!("`{}`, `%`, `{{`, `}}`", self.keyspace.separator);
        sheet.line(0, &format!("In names {escaped} and control bytes of a value are written %xx."));
        let has = |field: &str| {
            let mut collections = self.keyspace.collections.iter();
            collections.any(|c| extra_fields(self.keyspace, self.store, c).contains(&field))
        };
        let mut collections = self.keyspace.collections.iter();
        let trails = collections.any(|c| has_trails(self.keyspace, self.store, c));
        for (wanted, line) in [
            (true, "In Hashes null is absent, times are RFC 3339, lists JSON, bytes base64url."),
            (true, "~v is a row's version. Sorted sets have scores of 0 and sort as the key does."),
            (has(ROW), "~r keeps a record whose fields are all null: Redis has no empty Hash."),
            (has(NULLS), "~n names fields that are null and have a default, if there are any."),
            (
                has(EXPIRY),
                "~x is when a row with entries ends, in ms; Redis drops it an hour later.",
            ),
            (trails, "~p and ~h are how a row came to be and the entries that belong to it;"),
            (trails, "an entry or claim says in ~p what its attempt (~attempt, ~v) expects."),
            (trails, "A removed row stays for a day, with ~d and ~x, in no list."),
            (
                self.cluster,
                "A place stands in braces, the hash tag, and has one slot; <…> is a value.",
            ),
        ] {
            if wanted {
                sheet.line(0, line);
            }
        }
    }

    fn container(&self, sheet: &mut Sheet, collection: &Collection, container: &Container) {
        let name = self.name(container, &|segment| self.marked(&segment.name));
        let helper = if container.role.is_helper() { "  (helper)" } else { "" };
        sheet.line(1, &format!("{:<11} {name}{helper}", container.redis_type));
        let index = container.serves.index.as_deref().and_then(|name| collection.index(name));
        sheet.line(2, &self.about(collection, index.map(AsRef::as_ref), container));
        for command in self.commands(collection, index.map(AsRef::as_ref), container) {
            sheet.line(2, &format!("> {command}"));
        }
        if !container.role.is_helper() {
            sheet.patterns(self.keyspace, &container.serves);
        }
    }

    fn marked(&self, name: &str) -> String {
        if self.cluster { format!("<{name}>") } else { format!("{{{name}}}") }
    }

    /// A container's name, its segments written by `write`.
    pub(super) fn name(&self, container: &Container, write: &dyn Fn(&Segment) -> String) -> String {
        let mut name = String::new();
        for (number, part) in container.parts.iter().enumerate() {
            if number > 0 {
                name.push(self.keyspace.separator);
            }
            if self.cluster && number == container.tag.start {
                name.push('{');
            }
            match part {
                Part::Literal(literal) => name.push_str(literal),
                Part::Segment(segment) => name.push_str(&write(segment)),
            }
            if self.cluster && number + 1 == container.tag.end {
                name.push('}');
            }
        }
        name
    }

    fn about(&self, collection: &Collection, index: Option<&Index>, held: &Container) -> String {
        let index_name = index.map_or("", |index| index.name.value.as_str());
        match held.role {
            Role::Record => "a record".to_string(),
            Role::Value => value_about(&collection.content).to_string(),
            Role::Counter if matches!(collection.content, Content::Window { .. }) => {
                "a count that ends with its window".to_string()
            }
            Role::Counter if held.expires.is_some() => "a count that ends".to_string(),
            Role::Counter => "a count".to_string(),
            Role::Counters => {
                format!("the counters of a group, a field each: {}", self.member(held))
            }
            Role::Keys => format!("the keys of a group, a member each: {}", self.member(held)),
            Role::Entries => {
                format!("index {index_name}, a member an entry: {}", self.member(held))
            }
            Role::Entry if index.is_some_and(|index| index.keep.is_empty()) => {
                format!("index {index_name}, one entry: what it says of itself, if anything")
            }
            Role::Entry => format!("index {index_name}, one entry: the fields it keeps"),
            Role::Claim => {
                let unique = if index.is_some_and(|index| index.unique) { ", unique" } else { "" };
                let kept = index.is_some_and(|index| !index.keep.is_empty());
                let kept = if kept { " and the fields it keeps" } else { "" };
                format!("index {index_name}{unique}: the key of its row{kept}")
            }
            Role::Order => format!("the order of the rows, a member each: {}", self.member(held)),
            Role::Slices => "the time slices there are".to_string(),
            Role::Versions if has_trails(self.keyspace, self.store, collection) => {
                "versions and trails, by key".to_string()
            }
            Role::Versions => "versions, by key".to_string(),
            Role::Expiries => "when rows end, for the sweep: the score is ~x".to_string(),
        }
    }

    /// The key of what a container serves, as it lies there.
    pub(super) fn key(&self, container: &Container) -> Option<Key> {
        let collection = self.keyspace.collection(&container.serves.collection)?;
        match &container.serves.index {
            Some(name) => {
                let index = collection.index(name)?;
                Some(entry_key(self.keyspace, self.store, collection, index))
            }
            None => Some(collection.key.clone()),
        }
    }

    /// What a member is made of and how it is read.
    fn member(&self, container: &Container) -> String {
        let Some(key) = self.key(container) else { return String::new() };
        let rest: Vec<String> = member_parts(&key)
            .iter()
            .map(|part| match part {
                Part::Literal(literal) => literal.clone(),
                Part::Segment(segment) if segment.descending => {
                    self.marked(&format!("{} desc", segment.name))
                }
                Part::Segment(segment) => self.marked(&segment.name),
            })
            .collect();
        let template = rest.join(&self.keyspace.separator.to_string());
        match container.member {
            Some(MemberForm::Sortable { reverse: true }) => {
                format!("{template}, sortable text, read from the end")
            }
            Some(MemberForm::Sortable { reverse: false }) => format!("{template}, sortable text"),
            Some(MemberForm::Encoded) => format!("{template}, in the key encoding"),
            _ => template,
        }
    }
}

fn value_about(content: &Content) -> &'static str {
    match content {
        Content::Json => "a JSON value",
        Content::Text => "a text",
        Content::Bytes => "bytes",
        _ => "empty: the key is all there is",
    }
}
