//! What differs between a collection as it is stored and as the file has it now.
//!
//! A difference is what rows would have to be written anew for; whatever else changes is free and
//! not seen here. All differences are found, not only the first.

use super::essence::{
    CollectionEssence, FieldEssence, IndexEssence, KeyEssence, PartEssence, constant_default,
    is_widened,
};
use keyspace::model::{Collection, Field, Index, Keyspace, Type};
use std::sync::Arc;

/// Something of a file that does not fit what is stored.
pub(super) struct Difference {
    /// `collection`, `index` or `field`.
    pub place: &'static str,
    /// Where, what it was, what it is, and what can be done.
    pub text: String,
}

const BACK_OR_EMPTY: &str = "declare it as it was, or empty the collection";

impl Difference {
    pub(super) fn new(place: &'static str, name: &str, what: &str, fix: &str) -> Self {
        Difference { place, text: format!("{name}: {what}; {fix}") }
    }

    fn changed(place: &'static str, name: &str, what: &str, (was, is): (&str, &str)) -> Self {
        let what = format!("{what} was `{was}` and is `{is}`");
        Difference::new(place, name, &what, BACK_OR_EMPTY)
    }
}

/// Everything of a collection that its rows do not fit. New indexes are not among it.
pub(super) fn differences(
    keyspace: &Keyspace,
    collection: &Collection,
    stored: &CollectionEssence,
) -> Vec<Difference> {
    let name = collection.name.value.as_str();
    let now = CollectionEssence::of(keyspace, collection);
    let separator = keyspace.separator.to_string();
    let mut found = Vec::new();
    let mut changed = |what: &str, was: &str, is: &str| {
        if was != is {
            found.push(Difference::changed("collection", name, what, (was, is)));
        }
    };
    if !is_same_key(&stored.key, collection, &now.key) {
        changed("its key", &stored.key.template(&separator), &now.key.template(&separator));
    }
    let none = "none".to_string();
    let of = |text: &Option<String>| text.as_ref().unwrap_or(&none).clone();
    changed("its bucket", &of(&stored.bucket), &of(&now.bucket));
    changed("its content", &stored.content, &now.content);
    changed("its body", &of(&stored.body), &of(&now.body));
    if stored.mode != now.mode {
        changed("its mode", &mode(stored), &mode(&now));
    }
    for field in collection.fields() {
        let place = format!("{name}.{}", field.name);
        found.extend(match stored.fields.get(&field.name) {
            None => required_of_old_rows(&place, field),
            Some(known) => field_difference(&place, known, field, keyed_by(collection, field)),
        });
    }
    for (index, now) in &now.indexes {
        let Some(known) = stored.indexes.get(index) else { continue };
        let place = format!("{name}.{index}");
        found.extend(index_differences(&place, known, now, &separator));
    }
    found
}

/// Why an index cannot be added to rows that are there already.
pub(super) fn new_index(place: &str) -> Difference {
    let what = "it is new, and the rows that are stored have no entries in it";
    Difference::new("index", place, what, "leave it out, or empty the collection")
}

/// Equal, but for words added to the enums of its segments.
fn is_same_key(stored: &KeyEssence, collection: &Collection, now: &KeyEssence) -> bool {
    let mut types = collection.key.segments().map(|segment| &segment.segment_type);
    stored.0.len() == now.0.len()
        && stored.0.iter().zip(&now.0).all(|parts| match parts {
            (PartEssence::Segment(was), PartEssence::Segment(is)) => {
                let fits =
                    |of: &Type| was.segment_type.as_ref().is_some_and(|was| is_widened(was, of));
                was.name == is.name
                    && was.descending == is.descending
                    && types.next().is_some_and(fits)
            }
            (was, is) => was == is,
        })
}

fn mode(essence: &CollectionEssence) -> String {
    match &essence.because {
        Some(because) => format!("{}: {because}", essence.mode),
        None => essence.mode.clone(),
    }
}

/// A new field that rows without it could not answer.
fn required_of_old_rows(place: &str, field: &Field) -> Option<Difference> {
    let answers = field.field_type.is_optional() || !constant_default(field).is_null();
    (!answers).then(|| {
        let what =
            format!("it is new, a `{}`, and the rows that are stored lack it", field.field_type);
        let fix = "give it a constant default, make it optional with `?`, or empty the collection";
        Difference::new("field", place, &what, fix)
    })
}

/// The first index whose entries depend on a field: by its key, or by its condition.
fn keyed_by<'c>(collection: &'c Collection, field: &Field) -> Option<&'c str> {
    let depends = |index: &&Arc<Index>| {
        let sources = index.key.segments().filter_map(|segment| segment.source.as_ref());
        let mut names = sources.chain(&index.when).flat_map(|source| source.members());
        names.any(|name| name == field.name)
    };
    collection.indexes.iter().find(depends).map(|index| index.name.value.as_str())
}

fn field_difference(
    place: &str,
    known: &FieldEssence,
    field: &Field,
    keyed_by: Option<&str>,
) -> Option<Difference> {
    let (was, is) = (&known.field_type, field.field_type.to_string());
    let loosened = field.field_type.is_optional() && is_widened(was, field.field_type.required());
    let fits = is_widened(was, &field.field_type) || loosened && keyed_by.is_none();
    if !fits {
        let since = if known.removed { ", before it was removed" } else { "" };
        let depends = match keyed_by.filter(|_| loosened) {
            Some(index) => format!(", and the entries of `{index}` depend on it"),
            None => String::new(),
        };
        let what = format!("its type was `{was}`{since} and is `{is}`{depends}");
        let fix = match field.field_type.required() {
            Type::Enum(_) if was.contains('|') => "keep all of its words, or empty the collection",
            _ => "declare it as it was, give the field another name, or empty the collection",
        };
        return Some(Difference::new("field", place, &what, fix));
    }
    // While it was removed, rows may have been written without it.
    match known.removed && known.missing.is_null() {
        true => required_of_old_rows(place, field),
        false => None,
    }
}

fn index_differences(
    place: &str,
    was: &IndexEssence,
    is: &IndexEssence,
    separator: &str,
) -> Vec<Difference> {
    let kind = |unique: bool| if unique { "unique" } else { "not unique" };
    let list = |names: &[String]| match names {
        [] => "nothing".to_string(),
        names => names.join(", "),
    };
    let or = |text: &Option<String>, otherwise: &str| {
        text.clone().unwrap_or_else(|| otherwise.to_string())
    };
    let pairs = [
        ("its key", was.key.template(separator), is.key.template(separator)),
        ("the kind of its keys", kind(was.unique).to_string(), kind(is.unique).to_string()),
        ("what it keeps", list(&was.keep), list(&is.keep)),
        ("its condition", or(&was.when, "none"), or(&is.when, "none")),
        ("its bucket", or(&was.bucket, "none"), or(&is.bucket, "none")),
    ];
    let changed = pairs.into_iter().filter(|(_, was, is)| was != is);
    changed.map(|(what, was, is)| Difference::changed("index", place, what, (&was, &is))).collect()
}
