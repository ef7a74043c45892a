//! Encoded keys and the values of their segments, borrowed where nothing was escaped.
//!
//! ```text
//! 00 07 │ 31 61 00 01 │ e6 fa  ◀─▶  space 7: text "a", i64 5
//! ```

use data::schema::KeyShape;
use data::store::Key;
use data::{Error, ErrorKind, Result};
use keyspace::key::{self, Direction, KeyReader, KeyWriter, Segment, Value};

/// Bytes of a key for which room is made before its length is known.
const KEY_BYTES_USUAL: usize = 64;

/// The values of a key's segments; an attempt at its end is left out.
pub fn values<'k>(shape: &KeyShape, key: &'k [u8]) -> Result<Vec<Value<'k>>> {
    let mut reader = KeyReader::new(key).map_err(unreadable)?;
    let mut values = Vec::with_capacity(shape.segments.len());
    for segment in &shape.segments {
        values.push(reader.value(*segment).map_err(unreadable)?);
    }
    if shape.attempt {
        reader.uuid(Direction::Ascending).map_err(unreadable)?;
    }
    reader.finish().map_err(unreadable)?;
    Ok(values)
}

/// The key of these values, one for each segment.
pub fn encode(shape: &KeyShape, values: &[Value<'_>]) -> Result<Key> {
    if values.len() != shape.segments.len() {
        return Err(Error::new(ErrorKind::Internal, "a key has too few or too many values"));
    }
    let mut bytes = Vec::with_capacity(KEY_BYTES_USUAL);
    let mut writer = KeyWriter::new(&mut bytes, shape.space);
    for (segment, value) in shape.segments.iter().zip(values) {
        writer.value(*segment, value).map_err(Error::from)?;
    }
    Ok(Key::from(bytes))
}

/// The bytes by which a value sorts, whatever the direction of its segment.
pub fn sort_bytes(segment: Segment, value: &Value<'_>) -> Result<Vec<u8>> {
    let ascending = Segment { direction: Direction::Ascending, ..segment };
    let encoded = key::encode_front(0, &[ascending], std::slice::from_ref(value))?;
    // The number of a space says nothing here.
    Ok(encoded.get(2..).unwrap_or_default().to_vec())
}

/// The value of such bytes.
pub fn from_sort_bytes(segment: Segment, bytes: &[u8]) -> Result<Value<'static>> {
    let ascending = Segment { direction: Direction::Ascending, ..segment };
    let mut encoded = vec![0; 2];
    encoded.extend_from_slice(bytes);
    let (_, values) = key::decode(&encoded, &[ascending]).map_err(unreadable)?;
    let value = values.into_iter().next().map(Value::into_owned);
    value.ok_or_else(|| Error::new(ErrorKind::Internal, "a segment has no value"))
}

fn unreadable(error: key::Error) -> Error {
    Error::new(ErrorKind::Corrupt, "a stored key cannot be read").caused_by(error)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use keyspace::key::KeyType;

    #[test]
    fn a_path_has_one_form_in_both_directions() {
        let path = Value::path(&["a", "b\0", ""]);
        let (up, down) = (KeyType::Path.ascending(), KeyType::Path.descending());
        let bytes = sort_bytes(up, &path).unwrap();
        assert_eq!(sort_bytes(down, &path).unwrap(), bytes);
        assert_eq!(from_sort_bytes(down, &bytes).unwrap(), path);
        assert!(from_sort_bytes(up, &bytes[..bytes.len() - 1]).is_err());
    }
}
