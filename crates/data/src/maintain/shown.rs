//! Keys as people read them, whatever lies under them.

use crate::schema::{Schema, Space};
use crate::store::Key;
use keyspace::model::Part;

/// The text of a row's or an entry's key; its bytes where they cannot be read.
pub fn key_shown(schema: &Schema, key: &Key) -> String {
    text(schema, key).unwrap_or_else(|| {
        let bytes = key.bytes().iter().map(|byte| format!("{byte:02x}"));
        format!("0x{}", bytes.collect::<String>())
    })
}

fn text(schema: &Schema, key: &Key) -> Option<String> {
    let space = schema.space(key.space()).ok()?;
    let model = match space {
        Space::Rows(collection) => &collection.model.key,
        Space::Entries(collection, index) => &collection.indexes.get(*index)?.model.key,
        Space::Slices(_) => return None,
    };
    let shape = space.key()?;
    let mut values = shape.decode(key).ok()?.into_iter().zip(&shape.types);
    let parts = model.parts.iter().map(|part| match part {
        Part::Literal(literal) => Some(literal.clone()),
        Part::Segment(_) => values.next().map(|(value, of)| value.to_text(of)),
    });
    let parts = parts.collect::<Option<Vec<_>>>()?;
    Some(parts.join(&schema.keyspace().separator.to_string()))
}
