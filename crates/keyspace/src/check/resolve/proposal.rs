//! Indexes as text to paste: whole, so that the checker has nothing more to say about them.

use crate::model::{Collection, Type};

/// An index that brings together the rows with the same values of some fields.
pub fn listing_index(
    collection: &Collection,
    by: &[&str],
    order: Option<&str>,
    separator: char,
) -> String {
    let index = format!("{}_by_{}", collection.name.value, by.join("_and_"));
    let mut parts = vec![index.clone()];
    parts.extend(by.iter().map(|field| segment(collection, field)));
    let group = parts.join(&separator.to_string());
    let rest = match order.filter(|order| !order.is_empty()) {
        Some(order) => format!(" | {{{order}}}"),
        // With one segment the whole key is the group; with several the bar says so.
        None if by.len() > 1 => " |".to_string(),
        None => String::new(),
    };
    format!("index.{index} = {{ key = \"{group}{rest}\", expect = {{ rows_per_group = 1_000 }} }}")
}

/// The same, named after its order too, where the collection itself has another.
pub fn ordered_index(
    collection: &Collection,
    by: &[&str],
    order: &str,
    separator: char,
) -> (String, String) {
    let plain = listing_index(collection, by, Some(order), separator);
    let field = order.split(' ').next().unwrap_or(order);
    let old = format!("{}_by_{}", collection.name.value, by.join("_and_"));
    let new = format!("{}_by_{field}", collection.name.value);
    (new.clone(), plain.replace(&old, &new))
}

/// An index through which one value leads to one row.
pub fn unique_index(collection: &Collection, field: &str, separator: char) -> String {
    let index = format!("{}_by_{field}", collection.name.value);
    let is_text = collection.field(field).is_some_and(|field| field.field_type.is_text());
    let segment = if is_text { format!("{{lower({field})}}") } else { segment(collection, field) };
    format!("index.{index} = {{ key = \"{index}{separator}{segment}\", unique = true }}")
}

fn segment(collection: &Collection, field: &str) -> String {
    match collection.member_type(field).map(Type::required) {
        Some(Type::List(_)) => format!("{{each({field})}}"),
        _ => format!("{{{field}}}"),
    }
}
