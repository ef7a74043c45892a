//! Example commands: what one write of each container looks like.
//!
//! They are for people and can be pasted into `redis-cli`. The store writes the same shapes from
//! one script, with its checks.

use super::super::{body_name, example, sortable};
use super::print::Page;
use super::{
    Container, EXPIRY, Expires, GRACE_MILLISECONDS, HELD, MemberForm, NULLS, PREVIOUS, ROW,
    RedisType, Role, SLICE, SliceForm, VERSION, extra_fields, has_trails, member_parts,
};
use crate::key::{Value, encode};
use crate::layout::engine::segment_shape;
use crate::model::{BodyType, Collection, Content, Index, Key, Part, Segment, Ttl, Type};
use std::fmt::Write;

impl Page<'_> {
    /// The commands that write an example.
    pub(super) fn commands(
        &self,
        collection: &Collection,
        index: Option<&Index>,
        held: &Container,
    ) -> Vec<String> {
        let raw = self.name(held, &|segment| match held.slice {
            Some(form) if segment.name == SLICE => slice_text(form, self.slice_start(held)),
            _ => example::part_text(self.keyspace, &Part::Segment(segment.clone())),
        });
        let name = quote(raw.as_bytes());
        let primary = self.key_example(&collection.key);
        let ends = ends(collection);
        let native = held.expires.map(|when| ends.native(when));
        let end = native.as_ref().map(|n| format!(" {}", n.option())).unwrap_or_default();
        let member = || quote(&self.member_example(held));
        let hash = |fields: String| {
            let expiry = native.as_ref().map(|native| native.command(&name));
            std::iter::once(format!("HSET {name}{fields}")).chain(expiry).collect()
        };
        match held.role {
            Role::Record => hash(self.record_example(collection)),
            Role::Value => vec![format!("SET {name} {}{end}", self.value_example(collection))],
            Role::Counter if held.expires.is_some() => vec![format!("SET {name} 1{end}")],
            Role::Counter => vec![format!("INCRBY {name} 1")],
            Role::Counters => vec![format!("HINCRBY {name} {} 1", member())],
            Role::Keys | Role::Entries | Role::Order => match held.redis_type {
                RedisType::Set => vec![format!("SADD {name} {}", member())],
                _ => vec![format!("ZADD {name} 0 {}", member())],
            },
            Role::Entry => {
                hash(self.kept_example(collection, index) + &self.told_example(collection, held))
            }
            Role::Claim if held.redis_type == RedisType::Hash => {
                let owner: String = collection.key.segments().fold(String::new(), |text, s| {
                    let value = example::scalar(&example::segment(self.keyspace, s));
                    format!("{text} {} {}", self.keyspace.shown(&s.name), quote(value.as_bytes()))
                });
                let kept = self.kept_example(collection, index);
                hash(owner + &kept + &self.told_example(collection, held))
            }
            Role::Claim => vec![format!("SET {name} {}{end}", quote(primary.as_bytes()))],
            Role::Slices => {
                let form = held.slice.unwrap_or(SliceForm::Day);
                vec![format!("ZADD {name} 0 {}", slice_text(form, self.slice_start(held)))]
            }
            Role::Versions => {
                let trail = match has_trails(self.keyspace, self.store, collection) {
                    true => quote(self.beside_example(collection).as_bytes()),
                    false => example::VERSION.to_string(),
                };
                vec![format!("HSET {name} {} {trail}", quote(primary.as_bytes()))]
            }
            Role::Expiries => {
                let member = match index {
                    Some(_) => self.key(held).map(|key| self.key_example(&key)),
                    None => Some(primary),
                };
                let member = quote(member.unwrap_or_default().as_bytes());
                vec![format!("ZADD {name} {} {member}", ends.instant())]
            }
        }
    }

    /// The text of an example key: without braces, on a cluster too.
    fn key_example(&self, key: &Key) -> String {
        example::key_text(self.keyspace, &key.parts)
    }

    fn record_example(&self, collection: &Collection) -> String {
        let mut text = String::new();
        for field in collection.fields() {
            let value = example::field(self.keyspace, field);
            let _ =
                write!(text, " {} {}", self.keyspace.shown(&field.name), quote(value.as_bytes()));
        }
        match collection.body {
            Some(BodyType::Bytes) => {
                let _ = write!(text, " {} \"\\x00\\xff\"", body_name(self.keyspace, collection));
            }
            Some(BodyType::Text) => {
                let body = example::text(self.keyspace, "body");
                let name = body_name(self.keyspace, collection);
                let _ = write!(text, " {name} {}", quote(body.as_bytes()));
            }
            None => {}
        }
        for extra in extra_fields(self.keyspace, self.store, collection) {
            let value = match extra {
                EXPIRY => ends(collection).instant().to_string(),
                ROW => "1".to_string(),
                PREVIOUS => "\"\"".to_string(),
                HELD => example::HELD.to_string(),
                // No field of the example is null.
                NULLS => continue,
                _ => example::VERSION.to_string(),
            };
            let _ = write!(text, " {extra} {value}");
        }
        text
    }

    fn value_example(&self, collection: &Collection) -> String {
        match collection.content {
            Content::Json => "'{\"any\":\"thing\"}'".to_string(),
            Content::Text => quote(example::text(self.keyspace, "value").as_bytes()),
            Content::Bytes => "\"\\x00\\xff\"".to_string(),
            _ => "\"\"".to_string(),
        }
    }

    fn kept_example(&self, collection: &Collection, index: Option<&Index>) -> String {
        let kept = index.map_or(&[][..], |index| &index.keep);
        kept.iter().fold(String::new(), |text, name| {
            let value = collection
                .member_type(&name.value)
                .map(|found| example::field_text(self.keyspace, &name.value, found))
                .unwrap_or_default();
            let shown = self.keyspace.shown(&name.value);
            format!("{text} {shown} {}", quote(value.as_bytes()))
        })
    }

    /// What an entry or a claim says of itself where its row cannot be asked.
    fn told_example(&self, collection: &Collection, held: &Container) -> String {
        let mut text = String::new();
        if has_trails(self.keyspace, self.store, collection) {
            if held.role == Role::Claim {
                let _ = write!(text, " {VERSION} {}", example::VERSION);
            }
            let _ = write!(text, " {PREVIOUS} {}", example::VERSION);
        }
        if self.cluster && collection.ttl.is_some() {
            let _ = write!(text, " {EXPIRY} {}", ends(collection).instant());
        }
        text
    }

    /// What is kept beside a group for a row that has no fields.
    fn beside_example(&self, collection: &Collection) -> String {
        let ends = collection.ttl.as_ref().map(|_| format!(" x{}", ends(collection).instant()));
        format!("{}{} p", example::VERSION, ends.unwrap_or_default())
    }

    /// The bytes of an example member.
    fn member_example(&self, container: &Container) -> Vec<u8> {
        let Some(key) = self.key(container) else { return Vec::new() };
        let rest = member_parts(&key);
        let separator = self.keyspace.separator.to_string();
        let values = || rest.iter().filter_map(Part::segment);
        let value = |segment: &Segment| example::segment(self.keyspace, segment);
        match (container.member, rest.as_slice()) {
            (Some(MemberForm::Sortable { .. }), _) => {
                let texts = rest.iter().map(|part| match part {
                    Part::Literal(literal) => literal.clone(),
                    Part::Segment(s) => sortable::text(&value(s)).unwrap_or_default(),
                });
                texts.collect::<Vec<_>>().join(&separator).into_bytes()
            }
            (Some(MemberForm::Encoded), _) => {
                let shape: Vec<_> = values().map(segment_shape).collect();
                let values: Vec<Value<'static>> = values().map(value).collect();
                let bytes = encode(0, &shape, &values).unwrap_or_default();
                bytes.into_iter().skip(2).collect()
            }
            // A field that is one segment is its raw text: `cache:hits`.
            (_, [Part::Segment(only)])
                if container.role == Role::Counters && only.segment_type != Type::Path =>
            {
                example::scalar(&value(only)).into_bytes()
            }
            _ => example::key_text(self.keyspace, &rest).into_bytes(),
        }
    }

    fn slice_start(&self, container: &Container) -> i64 {
        let collection = self.keyspace.collection(&container.serves.collection);
        let bucket = collection.and_then(|collection| match &container.serves.index {
            Some(name) => collection.index(name).and_then(|index| index.bucket.as_ref()),
            None => collection.bucket.as_ref(),
        });
        let every = bucket.and_then(|bucket| i64::try_from(bucket.every).ok()).unwrap_or(1).max(1);
        example::NOW - example::NOW.rem_euclid(every)
    }
}

/// The start of a slice as it stands in names. Byte by byte, earlier ones stand first.
pub fn slice_text(form: SliceForm, start: i64) -> String {
    let text = sortable::text(&Value::Timestamp(start)).unwrap_or_default();
    // Before the year 0 and after 9999 it is a count, which sorts around the usual texts.
    if !text.contains('T') {
        return text;
    }
    let (day, time) = text.split_once('T').unwrap_or((&text, ""));
    let digits: Vec<&str> = time.split([':', '.']).collect();
    match (form, digits.as_slice()) {
        (SliceForm::Minute, [hour, minute, ..]) => format!("{day}T{hour}{minute}Z"),
        (SliceForm::Second, [hour, minute, second, ..]) => format!("{day}T{hour}{minute}{second}Z"),
        _ => day.to_string(),
    }
}

/// When an example row ends.
enum Ends {
    After(u64),
    At(i64),
}

fn ends(collection: &Collection) -> Ends {
    match (&collection.ttl, &collection.content) {
        (Some(Ttl::After(milliseconds)), _) => Ends::After(*milliseconds),
        (_, Content::Window { per, .. }) => Ends::After(per.unwrap_or(60_000)),
        _ => Ends::At(example::NOW + example::END_MILLISECONDS),
    }
}

impl Ends {
    /// When Redis ends it.
    fn native(&self, when: Expires) -> Ends {
        match (self, when) {
            (Ends::After(length), Expires::AfterGrace) => Ends::After(length + GRACE_MILLISECONDS),
            (Ends::At(instant), Expires::AfterGrace) => {
                Ends::At(instant.saturating_add_unsigned(GRACE_MILLISECONDS))
            }
            (Ends::After(length), Expires::AtEnd) => Ends::After(*length),
            (Ends::At(instant), Expires::AtEnd) => Ends::At(*instant),
        }
    }

    fn instant(&self) -> i64 {
        match self {
            Ends::After(length) => example::NOW.saturating_add_unsigned(*length),
            Ends::At(instant) => *instant,
        }
    }

    fn option(&self) -> String {
        match self {
            Ends::After(length) => format!("PX {length}"),
            Ends::At(instant) => format!("PXAT {instant}"),
        }
    }

    fn command(&self, name: &str) -> String {
        match self {
            Ends::After(length) => format!("PEXPIRE {name} {length}"),
            Ends::At(instant) => format!("PEXPIREAT {name} {instant}"),
        }
    }
}

/// A word as `redis-cli` reads it.
fn quote(bytes: &[u8]) -> String {
    let plain = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'\\');
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.is_empty() && bytes.iter().all(plain) => text.to_string(),
        Ok(text)
            if !text.is_empty()
                && !text.contains(['\'', '\\'])
                && !text.contains(char::is_control) =>
        {
            format!("'{text}'")
        }
        _ => {
            let mut quoted = String::from("\"");
            for byte in bytes {
                match byte {
                    b'"' | b'\\' => quoted.extend(['\\', char::from(*byte)]),
                    0x20..=0x7e => quoted.push(char::from(*byte)),
                    _ => {
                        let _ = write!(quoted, "\\x{byte:02x}");
                    }
                }
            }
            quoted.push('"');
            quoted
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_by_redis_cli_as_they_are() {
        assert_eq!(quote(b"user:u1"), "user:u1");
        assert_eq!(quote(b""), "\"\"");
        assert_eq!(quote(b"{\"a\":1}"), "'{\"a\":1}'");
        assert_eq!(quote(b"it's"), "\"it's\"");
        assert_eq!(quote(b"\x00a\xff\""), "\"\\x00a\\xff\\\"\"");
    }

    #[test]
    fn slices_are_written_as_no_time_of_a_key_is() {
        let start = example::NOW + 30 * 60_000 + 15_000;
        assert_eq!(slice_text(SliceForm::Day, start), "2026-11-15");
        assert_eq!(slice_text(SliceForm::Minute, start), "2026-11-15T1030Z");
        assert_eq!(slice_text(SliceForm::Second, start), "2026-11-15T103015Z");
    }

    #[test]
    fn slices_sort_as_their_starts_do() {
        let day = 86_400_000;
        let starts = [i64::MIN, -719_529 * day, -719_528 * day, 0, 2_932_896 * day, i64::MAX];
        for form in [SliceForm::Day, SliceForm::Minute, SliceForm::Second] {
            let texts: Vec<String> = starts.iter().map(|start| slice_text(form, *start)).collect();
            assert!(texts.is_sorted_by(|one, next| one < next), "{texts:?}");
        }
    }
}
